/*
 * Names to numbers: a hash table that is built once, so that a verdict costs
 * the same under one entry or ten thousand.  Runs in the monitor and in the
 * commands; owns its slots, the names are the policy's.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"

#include "policy.h"
#include "model.h"

/*
 * FNV-1a.  No key: the names in the table are the policy's own, and a client
 * that looks for others can make us walk over no more than those.
 */
static size_t
hash(const char *name, size_t len)
{
	uint64_t h = 0xcbf29ce484222325u;
	size_t i;

	for (i = 0; i < len; i++)
		h = (h ^ (unsigned char)name[i]) * 0x100000001b3u;
	return (size_t)(h ^ (h >> 32));
}

void
index_init(struct index *ix, size_t names)
{
	size_t size = 8;

	while (size / 2 < names)
		size *= 2;
	ix->slots = xcalloc(size, sizeof(*ix->slots));
	ix->size = size;
}

void
index_free(struct index *ix)
{
	free(ix->slots);
	ix->slots = NULL;
	ix->size = 0;
}

/* The name's slot, or the free one where it belongs. */
static struct index_slot *
slot(const struct index *ix, const char *name, size_t len)
{
	size_t i = hash(name, len) & (ix->size - 1);
	struct index_slot *s = &ix->slots[i];

	while (s->name != NULL &&
	       (s->len != len || memcmp(s->name, name, len) != 0)) {
		i = (i + 1) & (ix->size - 1);
		s = &ix->slots[i];
	}
	return s;
}

size_t *
index_add(struct index *ix, const char *name, size_t len, size_t value)
{
	struct index_slot *s = slot(ix, name, len);

	if (s->name == NULL)
		*s = (struct index_slot){name, len, value};
	return &s->value;
}

size_t
index_find(const struct index *ix, const char *name, size_t len)
{
	const struct index_slot *s;

	if (ix->size == 0)
		return NOT_FOUND;
	s = slot(ix, name, len);
	return s->name != NULL ? s->value : NOT_FOUND;
}
