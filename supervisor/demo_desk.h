/*
 * What the demonstration looks at afterwards: the helpdesk's directory and
 * the audit log, on the disk, whatever anybody answered.
 */
#ifndef DW_DEMO_DESK_H
#define DW_DEMO_DESK_H

#include <stddef.h>

/* A file of at most 1 MiB, NUL added; NULL with errno.  Caller frees. */
char *desk_read(const char *path, size_t *len);

/* 0, or -1 with errno. */
int desk_write(const char *path, const char *text);

/* 1 if dir/name is there. */
int desk_has(const char *dir, const char *name);

/*
 * How many files of the directory contain the text ("" counts all), or -1
 * with errno if it cannot be read: not the same as none.
 */
int desk_count(const char *dir, const char *text);

/*
 * The first line of the len bytes at text that has all n needles; NULL if
 * there is none.
 */
const char *desk_find_line(const char *text, size_t len,
			   const char *const *needles, size_t n,
			   size_t *line_len);

/* Removes a directory and all below it.  0, or -1 with errno. */
int desk_remove(const char *dir);

#endif
