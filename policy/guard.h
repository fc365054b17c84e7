/*
 * The table of files that no tool should reach, or not write: what starts
 * servers, and what is run by itself.
 */
#ifndef DW_POLICY_GUARD_H
#define DW_POLICY_GUARD_H

#include <stddef.h>

enum guard_where {
	GUARD_HOME,     /* below the person's home */
	GUARD_ANYWHERE, /* in any directory: a project's */
	GUARD_ROOT      /* below / */
};

enum guard_what {
	GUARD_CLIENT, /* tells a client which servers to start, and how */
	GUARD_START   /* is run when the person logs in, works or sleeps */
};

struct guard {
	const char *name; /* a file, or a directory with all that is in it */
	size_t len;
	enum guard_where where;
	enum guard_what what;
};

/*
 * The entries that the end of an absolute path names, one after another:
 * pass NULL first.  *root is the length of the path before the entry's name,
 * without a slash.  The caller checks that it is a home, for GUARD_HOME.
 */
const struct guard *guard_match(const struct guard *last, const char *path,
				size_t len, size_t *root);

/* All entries, one after another: pass NULL first. */
const struct guard *guard_next(const struct guard *last);

/*
 * 1 if the path (absolute) is one of /proc's names that lead into a process:
 * root, cwd, fd, mem, map_files, environ of a PID, of its tasks, of self and
 * thread-self.
 */
int guard_is_process(const char *path, size_t len);

#endif
