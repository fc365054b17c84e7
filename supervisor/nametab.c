/*
 * Names to pointers: open addressing under a keyed hash.  Runs in the
 * monitor, with names that a server or client chose.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "proto/alloc.h"

#include "nametab.h"

struct slot {
	uint64_t hash;
	char *name; /* NULL: empty */
	size_t len;
	void *value;
};

struct nametab {
	struct slot *slots;
	size_t room; /* a power of two */
	size_t count;
	unsigned char key[crypto_shorthash_KEYBYTES];
};

struct nametab *
nametab_new(void)
{
	struct nametab *t = xcalloc(1, sizeof(*t));

	t->room = 16;
	t->slots = xcalloc(t->room, sizeof(*t->slots));
	randombytes_buf(t->key, sizeof(t->key));
	return t;
}

void
nametab_free(struct nametab *t)
{
	size_t i;

	if (t == NULL)
		return;
	for (i = 0; i < t->room; i++)
		free(t->slots[i].name);
	free(t->slots);
	free(t);
}

size_t
nametab_count(const struct nametab *t)
{
	return t->count;
}

static uint64_t
hash_of(const struct nametab *t, const char *name, size_t len)
{
	unsigned char out[crypto_shorthash_BYTES];
	uint64_t h;

	crypto_shorthash(out, (const unsigned char *)name, len, t->key);
	memcpy(&h, out, sizeof(h));
	return h;
}

/* The slot of the name, or the empty one where it would go. */
static struct slot *
find(const struct nametab *t, uint64_t hash, const char *name, size_t len)
{
	size_t i = (size_t)hash & (t->room - 1);
	struct slot *s;

	for (;; i = (i + 1) & (t->room - 1)) {
		s = &t->slots[i];
		if (s->name == NULL || (s->hash == hash && s->len == len &&
					memcmp(s->name, name, len) == 0))
			return s;
	}
}

static void
grow(struct nametab *t)
{
	struct slot *old = t->slots;
	size_t i, n = t->room;

	t->room *= 2;
	t->slots = xcalloc(t->room, sizeof(*t->slots));
	for (i = 0; i < n; i++)
		if (old[i].name != NULL)
			*find(t, old[i].hash, old[i].name, old[i].len) = old[i];
	free(old);
}

void *
nametab_get(const struct nametab *t, const char *name, size_t len)
{
	const struct slot *s = find(t, hash_of(t, name, len), name, len);

	return s->name != NULL ? s->value : NULL;
}

void *
nametab_put(struct nametab *t, const char *name, size_t len, void *value)
{
	struct slot *s;
	void *old;

	if (t->count * 2 >= t->room)
		grow(t);
	s = find(t, hash_of(t, name, len), name, len);
	old = s->value;
	if (s->name == NULL) {
		*s = (struct slot){hash_of(t, name, len), xmemdupz(name, len),
				   len, NULL};
		t->count++;
	}
	s->value = value;
	return old;
}
