/*
 * The monitor's own confinement, once its children run.
 */
#ifndef DW_CONFINE_H
#define DW_CONFINE_H

#include <stddef.h>
#include <stdint.h>

/* A directory the monitor goes on using. */
struct confine_dir {
	const char *path;
	int writable;
};

/*
 * No capabilities, not dumpable, no_new_privs, Landlock over everything but
 * the directories given, and a seccomp allowlist without execve or socket.
 * Returns the layers that are on (enum layer) and sets *abi to Landlock's,
 * 0 if there is none.  Returns 0 if seccomp or no_new_privs cannot be had,
 * with *why a phrase: the caller must not go on.
 */
uint32_t confine_monitor(const struct confine_dir *dirs, size_t n, int *abi,
			 const char **why);

#endif
