/*
 * Checked allocation for every program of Doorward.  None of these returns
 * NULL: running out of memory is fatal(), since a process that guards a door
 * and cannot think must not guess.
 */
#ifndef DW_PROTO_ALLOC_H
#define DW_PROTO_ALLOC_H

#include <stddef.h>

/* Zeroed memory for n objects of size bytes; overflow is fatal. */
void *xcalloc(size_t n, size_t size);

/* As reallocarray(3); the new part is not cleared. */
void *xreallocarray(void *p, size_t n, size_t size);

/* A copy of len bytes with a NUL put after them.  Caller frees. */
char *xmemdupz(const void *p, size_t len);

char *xstrdup(const char *s);

/* As asprintf(3); caller frees. */
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
