/*
 * Finding two equal keys among an object's keys, in both sides of the split:
 * the relay to refuse a line, the monitor since a fallen relay would not.
 */
#ifndef DW_PROTO_KEYSET_H
#define DW_PROTO_KEYSET_H

#include <stddef.h>
#include <stdint.h>

struct key_span {
	const char *p; /* unescaped bytes, not owned */
	uint32_t len;
};

/*
 * 1 if two of the n keys have the same bytes.  Sorts the array; n log n
 * comparisons at worst, no allocation, no recursion.
 */
int keys_have_duplicate(struct key_span *keys, size_t n);

/* Where a key stands: in the message itself, or right within one of these. */
enum key_place { KEYS_ENVELOPE, KEYS_PARAMS, KEYS_RESULT };

/*
 * 1 if the key equals one of the keys there that somebody acts on but for
 * ASCII case or letters that decoders fold to ASCII (U+017F, U+212A, U+0130,
 * U+0131, U+FB05, U+FB06), and is not that key.  Of a result these are what a
 * server says of itself and its tools.
 */
int key_is_variant(const char *p, size_t len, enum key_place place);

#endif
