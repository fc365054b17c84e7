/*
 * A table from names (bytes, NUL is one of them) to pointers.  The names are
 * a stranger's, so the hash is keyed.
 */
#ifndef DW_NAMETAB_H
#define DW_NAMETAB_H

#include <stddef.h>

struct nametab;

struct nametab *nametab_new(void);
/* The values stay their owner's. */
void nametab_free(struct nametab *t);

size_t nametab_count(const struct nametab *t);

/* NULL if the name is not there. */
void *nametab_get(const struct nametab *t, const char *name, size_t len);

/* Adds or replaces; value is not NULL.  The name is copied.  The value that
 * was there, or NULL. */
void *nametab_put(struct nametab *t, const char *name, size_t len, void *value);

#endif
