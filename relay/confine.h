/*
 * How a relay gives up everything but its stream and its socket.
 */
#ifndef DW_RELAY_CONFINE_H
#define DW_RELAY_CONFINE_H

struct hello;

/*
 * What not to use of what the kernel has.  Only tests ask for less than
 * {CONFINE_ANY_ABI, 0}.
 */
struct confine_limits {
	int landlock_abi; /* highest ABI to use; 0: no Landlock */
	int no_namespaces;
};
#define CONFINE_ANY_ABI 0x7fff

/*
 * Confines the calling process for good and fills h with the layers that are
 * on.  Has to be called with one thread, descriptors 0 to 3 open, and no more
 * of the C library in use afterwards than memory, poll, read and writev.
 * 0; or -1 with *what naming the step that failed and errno, in a state
 * between free and confined: the caller has to exit.  Fails where seccomp or
 * no_new_privs do, or any layer that the kernel has and then refuses; not
 * for namespaces, which many systems keep from their users.
 */
int confine_relay(const struct confine_limits *limits, struct hello *h,
		  const char **what);

/*
 * The Landlock layer by itself, for the tests: behind the filter nothing
 * could tell whether it is there.  A ruleset that names all that the ABI
 * (most, or the kernel's if that is lower) can forbid, and allows none of
 * it.  Needs no_new_privs.  0, also without Landlock; -1 with errno.
 */
int confine_landlock(int most, struct hello *h);

#endif
