/*
 * The id of a line that cannot be read as a message, for the error that
 * answers it.
 */
#ifndef DW_RELAY_SALVAGE_H
#define DW_RELAY_SALVAGE_H

#include <stddef.h>
#include <stdint.h>

#include "proto/frames.h"
#include "proto/limits.h"

/* A literal as long as an id can be written: every byte as \u00NN. */
#define SALVAGE_LITERAL_MAX (6u * DW_ID_MAX + 2)

/*
 * Fed with a line in pieces of any size; memory does not grow.  Inside, it
 * knows strings, escapes and how deep the brackets are, and nothing else of
 * JSON's grammar.
 */
struct salvage {
	uint8_t state;
	uint8_t in_string;
	uint8_t escaped; /* the last byte was a backslash in a string */
	uint8_t odd;     /* something that makes any id a guess */
	uint64_t depth;
	size_t len; /* of literal; may say more than it holds */
	char literal[SALVAGE_LITERAL_MAX];
	struct scalar id;
	char store[DW_ID_MAX];
};

void salvage_init(struct salvage *s);
void salvage_feed(struct salvage *s, const char *p, size_t n);

/*
 * The id of what was fed: of the one key "id" in the outermost object whose
 * value was a whole string or integer; several must agree.  SCALAR_NONE
 * where there is none, or two, or anything odd about it.  Points into s.
 */
struct scalar salvage_id(const struct salvage *s);

#endif
