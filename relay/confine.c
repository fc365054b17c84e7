/*
 * The confinement of a relay.  Runs once, with whatever privilege doorward
 * was started with, before a byte of the stream is read; afterwards the
 * process can wait, read its stream, write to the monitor, and manage
 * memory.  Nothing here can be undone by the code that follows.
 *
 * The order matters.  Namespaces need the capabilities (their own ones, if
 * need be) that go next; a change of credentials forgets the parent-death
 * signal, so that comes after it; Landlock needs no_new_privs and one free
 * descriptor, which the limits take away; the filter forbids all of it.
 */
#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/fdmap.h"
#include "proto/frames.h"
#include "proto/landlock.h"

#include "confine.h"

/*
 * The largest message, the buffer that grew to hold it, its keys and the
 * room to unescape them come to about 300 MiB of addresses at the worst.
 */
#define ADDRESS_SPACE_MAX (512ul * 1024 * 1024)

/*
 * Puts an empty read-only filesystem in the place of the root.  The mount
 * covers a directory that every system has, and then takes over.
 */
static int
empty_root(void)
{
	unsigned long flags = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("none", "/tmp", "tmpfs", flags, "size=4k,mode=0555") != 0 ||
	    chdir("/tmp") != 0)
		return -1;
	if (syscall(SYS_pivot_root, ".", ".") != 0 ||
	    umount2(".", MNT_DETACH) != 0 || chdir("/") != 0)
		return -1;
	return 0;
}

/*
 * A new user namespace gives the right to make the others.  It maps no ids:
 * the relay needs none.  Where it cannot be had, root may do without.
 */
static void
enter_namespaces(struct hello *h)
{
	if (unshare(CLONE_NEWUSER) == 0)
		h->layers |= LAYER_USER_NS;
	if (unshare(CLONE_NEWNET) == 0)
		h->layers |= LAYER_NET_NS;
	if (unshare(CLONE_NEWIPC) == 0)
		h->layers |= LAYER_IPC_NS;
	unshare(CLONE_NEWUTS);
	if (unshare(CLONE_NEWNS) == 0 && empty_root() == 0)
		h->layers |= LAYER_MOUNT_NS;
}

/* The bounding set needs CAP_SETPCAP to shrink: root has it, or our own ns. */
static int
drop_bounding(void)
{
	cap_value_t cap;
	int left = 0;

	for (cap = 0; cap_get_bound(cap) >= 0; cap++) {
		cap_drop_bound(cap);
		left += cap_get_bound(cap) != 0;
	}
	return left == 0 ? 0 : -1;
}

static int
drop_capabilities(struct hello *h)
{
	cap_t none = cap_init(), now = NULL;
	int r = -1;

	if (none == NULL)
		return -1;
	if (drop_bounding() == 0)
		h->layers |= LAYER_BOUNDING;
	if (cap_reset_ambient() != 0 || cap_set_proc(none) != 0)
		goto out;
	now = cap_get_proc();
	if (now == NULL || cap_compare(now, none) != 0)
		goto out;
	h->layers |= LAYER_NO_CAPS;
	r = 0;
out:
	cap_free(none);
	if (now != NULL)
		cap_free(now);
	return r;
}

/* parent is who started us; whoever else is our parent now adopted us. */
static int
die_with_parent(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		return -1;
	if (getppid() != parent) {
		errno = ESRCH;
		return -1;
	}
	return 0;
}

static int
forbid_dumps(struct hello *h)
{
	if (prctl(PR_SET_DUMPABLE, 0) != 0 || prctl(PR_GET_DUMPABLE) != 0)
		return -1;
	h->layers |= LAYER_NOT_DUMPABLE;
	return 0;
}

static int
forbid_new_privileges(struct hello *h)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return -1;
	h->layers |= LAYER_NO_NEW_PRIVS;
	return 0;
}

int
confine_landlock(int most, struct hello *h)
{
	int abi = dw_landlock_abi(), fd, r;
	struct dw_landlock_ruleset all;

	if (abi > most)
		abi = most;
	if (abi <= 0)
		return 0;
	all = dw_landlock_all(abi);
	fd = dw_landlock_create(&all, abi);
	if (fd < 0)
		return -1;
	r = dw_landlock_restrict(fd);
	close(fd);
	if (r != 0)
		return -1;
	h->landlock_abi = (uint16_t)abi;
	h->layers |= LAYER_LANDLOCK;
	return 0;
}

static int
set_limits(struct hello *h)
{
	static const struct {
		int resource;
		rlim_t max;
	} limits[] = {
#ifndef DOORWARD_SANITIZE
	    /* A sanitizer's shadow memory is address space too. */
	    {RLIMIT_AS, ADDRESS_SPACE_MAX},
#endif
	    {RLIMIT_FSIZE, 0},
	    {RLIMIT_NOFILE, DW_FD_FIRST_FREE},
	    {RLIMIT_NPROC, 0},
	    {RLIMIT_CORE, 0},
	    {RLIMIT_MEMLOCK, 0},
	    {RLIMIT_MSGQUEUE, 0},
	    {RLIMIT_RTPRIO, 0},
	};
	struct rlimit rl;
	size_t i;

	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (getrlimit(limits[i].resource, &rl) != 0)
			return -1;
		if (rl.rlim_max > limits[i].max)
			rl.rlim_max = limits[i].max;
		rl.rlim_cur = rl.rlim_max;
		if (setrlimit(limits[i].resource, &rl) != 0)
			return -1;
	}
	h->layers |= LAYER_RLIMITS;
	return 0;
}

/*
 * The filter, as data.  What is not here kills the process: an attacker gets
 * one guess, and the monitor sees it.  Two conditions of one row have to
 * hold together; fds are compared in all 64 bits.  There is no call that
 * could carry a descriptor, and none that could write to the stream.
 */
struct row {
	int nr;
	unsigned conditions;
	struct scmp_arg_cmp arg[2];
};

/* clang-format off */
#define ANY(call) {SCMP_SYS(call), 0, {{0}}}
#define ONE(call, a) {SCMP_SYS(call), 1, {a}}
#define BOTH(call, a, b) {SCMP_SYS(call), 2, {a, b}}
#define IS(arg, value) {arg, SCMP_CMP_EQ, (scmp_datum_t)(value), 0}
#define ONLY_BITS(arg, bits) \
	{arg, SCMP_CMP_MASKED_EQ, ~(scmp_datum_t)(bits), 0}

static const struct row allowed[] = {
	/* waiting */
	ANY(poll),
	ANY(ppoll),
	ANY(restart_syscall), /* a poll that was stopped and continued */
	/* the stream and the monitor */
	ONE(read, IS(0, DW_FD_STREAM)),
	ONE(write, IS(0, DW_FD_MONITOR)),
	ONE(writev, IS(0, DW_FD_MONITOR)),
	/* memory: never executable, never a file's */
	ANY(brk),
	ANY(munmap),
	BOTH(mmap, ONLY_BITS(2, PROT_READ | PROT_WRITE),
	     IS(3, MAP_PRIVATE | MAP_ANONYMOUS)),
	ONE(mremap, ONLY_BITS(3, MREMAP_MAYMOVE)),
	ONE(madvise, IS(2, MADV_DONTNEED)),
	/* the end */
	ANY(exit_group),
#ifdef DOORWARD_SANITIZE
	/*
	 * How a sanitizer's runtime manages its own memory.  It cannot print
	 * a report from in here; it dies of the attempt, and that is seen.
	 */
	BOTH(mmap, ONLY_BITS(2, PROT_READ | PROT_WRITE),
	     IS(3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)),
	BOTH(mmap, ONLY_BITS(2, PROT_READ | PROT_WRITE),
	     IS(3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED)),
	BOTH(mmap, ONLY_BITS(2, PROT_READ | PROT_WRITE),
	     IS(3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE)),
	ONE(madvise, IS(2, MADV_NOHUGEPAGE)),
	ONE(madvise, IS(2, MADV_DONTDUMP)),
	ANY(sigaltstack),
#endif
};
/* clang-format on */

static int
add_rows(scmp_filter_ctx filter)
{
	const struct row *r;
	size_t i;
	int e;

	for (i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
		r = &allowed[i];
		e = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, r->nr,
					   r->conditions, r->arg);
		if (e != 0)
			return e;
	}
	/*
	 * malloc asks for a random number where it can do without; a C
	 * library that asks again later need not die for it.
	 */
	return seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS),
				SCMP_SYS(getrandom), 0);
}

/* libseccomp returns negative errno values and leaves errno alone. */
static int
enter_seccomp(struct hello *h)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int e;

	if (filter == NULL) {
		errno = ENOMEM;
		return -1;
	}
	e = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH,
			     SCMP_ACT_KILL_PROCESS);
	if (e == 0)
		e = add_rows(filter);
	if (e == 0)
		e = seccomp_load(filter);
	seccomp_release(filter);
	if (e != 0) {
		errno = -e;
		return -1;
	}
	h->layers |= LAYER_SECCOMP;
	return 0;
}

static int
failed(const char **what, const char *step)
{
	*what = step;
	return -1;
}

int
confine_relay(const struct confine_limits *limits, struct hello *h,
	      const char **what)
{
	pid_t parent = getppid();

	memset(h, 0, sizeof(*h));
	h->protocol = FRAME_PROTOCOL;
	umask(077);
	if (chdir("/") != 0)
		return failed(what, "chdir");
	if (!limits->no_namespaces)
		enter_namespaces(h);
	if (drop_capabilities(h) != 0)
		return failed(what, "capabilities");
	if (die_with_parent(parent) != 0)
		return failed(what, "parent-death signal");
	if (forbid_dumps(h) != 0)
		return failed(what, "dumpable");
	if (forbid_new_privileges(h) != 0)
		return failed(what, "no_new_privs");
	if (confine_landlock(limits->landlock_abi, h) != 0)
		return failed(what, "Landlock");
	if (set_limits(h) != 0)
		return failed(what, "resource limits");
	if (enter_seccomp(h) != 0)
		return failed(what, "seccomp");
	return 0;
}
