/*
 * A JSON message as a tree in tag-length-value form: how it travels from the
 * client-side relay to the monitor (and a tools/list result from the other).
 *
 *	null, true, false	tag
 *	number			tag, u32 length, literal text
 *	string			tag, u32 length, UTF-8 bytes
 *	array			tag, values, end
 *	object			tag, (key, value)..., end
 *	key			tag, u32 length, UTF-8 bytes
 *
 * The root is an object.
 */
#ifndef DW_PROTO_TREE_H
#define DW_PROTO_TREE_H

#include <stddef.h>
#include <stdint.h>

enum tree_tag {
	TREE_NULL = 'n',
	TREE_TRUE = 't',
	TREE_FALSE = 'f',
	TREE_NUMBER = '0',
	TREE_STRING = '"',
	TREE_ARRAY = '[',
	TREE_OBJECT = '{',
	TREE_KEY = ':',
	TREE_END = '.'
};

/* Length of a tag with its u32, where there is one. */
#define TREE_HEAD_LEN 5u

enum tree_status { TREE_OK = 0, TREE_DONE = 1, TREE_BAD = -1 };

struct tree_token {
	uint8_t tag;
	uint32_t len;  /* of text: number, string, key */
	const char *p; /* into the input; not owned, no NUL after it */
};

/*
 * Reads a tree token by token and holds it to the whole grammar, whatever
 * its sender was: root object, keys where keys belong, depth and node
 * limits, numbers by RFC 8259, well-formed UTF-8 without NUL, nothing after
 * the root.  It keeps no memory but a bit a level.  Duplicate keys are the
 * caller's to find.
 */
struct tree_reader {
	const char *p;
	size_t n;
	uint32_t depth;
	uint32_t nodes;
	uint8_t want_value; /* a key was read, its value comes next */
	uint8_t done;
	uint8_t kind[16]; /* one bit a level: 1 for an object */
};

void tree_reader_init(struct tree_reader *r, const void *p, size_t n);

/*
 * TREE_OK with the next token, TREE_DONE after the end of the root with
 * nothing left, TREE_BAD for anything else (and ever after).
 */
enum tree_status tree_next(struct tree_reader *r, struct tree_token *t);

#endif
