/*
 * The tree reader.  It runs in the monitor on what a relay sent, which may
 * be anything at all.  No recursion, no allocation.
 */
#include <string.h>

#include "buf.h"
#include "limits.h"
#include "text.h"
#include "tree.h"

_Static_assert(DW_DEPTH_MAX <= sizeof(((struct tree_reader *)0)->kind) * 8,
	       "one bit a level");

void
tree_reader_init(struct tree_reader *r, const void *p, size_t n)
{
	memset(r, 0, sizeof(*r));
	r->p = p;
	r->n = n;
}

static int
in_object(const struct tree_reader *r)
{
	uint32_t d = r->depth - 1;

	return r->depth > 0 && (r->kind[d / 8] >> (d % 8) & 1);
}

static int
push(struct tree_reader *r, int object)
{
	uint32_t d = r->depth;
	uint8_t bit;

	if (d >= DW_DEPTH_MAX)
		return -1;
	bit = (uint8_t)(1u << (d % 8));
	if (object)
		r->kind[d / 8] |= bit;
	else
		r->kind[d / 8] &= (uint8_t)~bit;
	r->depth++;
	return 0;
}

static int
take_text(struct tree_reader *r, struct tree_token *t)
{
	struct cur c;

	cur_init(&c, r->p, r->n);
	t->len = cur_u32(&c);
	t->p = cur_bytes(&c, t->len);
	if (c.bad)
		return -1;
	r->p = c.p;
	r->n = c.n;
	if (t->tag == TREE_NUMBER)
		return text_json_number(t->p, t->len) ? 0 : -1;
	if (t->len > 0 && memchr(t->p, 0, t->len) != NULL)
		return -1;
	return text_utf8_valid(t->p, t->len) ? 0 : -1;
}

/* A value may start here: after a key, in an array, or as the root. */
static int
value_allowed(struct tree_reader *r, uint8_t tag)
{
	if (r->depth == 0 && tag != TREE_OBJECT)
		return 0;
	if (in_object(r) && !r->want_value)
		return 0;
	r->want_value = 0;
	return ++r->nodes <= DW_NODES_MAX;
}

static int
take_end(struct tree_reader *r)
{
	if (r->depth == 0 || r->want_value)
		return -1;
	if (--r->depth == 0)
		r->done = 1;
	return 0;
}

static int
take(struct tree_reader *r, struct tree_token *t)
{
	switch (t->tag) {
	case TREE_KEY:
		if (!in_object(r) || r->want_value)
			return -1;
		r->want_value = 1;
		return take_text(r, t);
	case TREE_END:
		return take_end(r);
	case TREE_NULL:
	case TREE_TRUE:
	case TREE_FALSE:
		return value_allowed(r, t->tag) ? 0 : -1;
	case TREE_NUMBER:
	case TREE_STRING:
		return value_allowed(r, t->tag) ? take_text(r, t) : -1;
	case TREE_ARRAY:
	case TREE_OBJECT:
		if (!value_allowed(r, t->tag))
			return -1;
		return push(r, t->tag == TREE_OBJECT);
	default:
		return -1;
	}
}

enum tree_status
tree_next(struct tree_reader *r, struct tree_token *t)
{
	memset(t, 0, sizeof(*t));
	t->p = "";
	if (r->n == 0)
		return r->done == 1 ? TREE_DONE : TREE_BAD;
	if (r->done == 0) {
		t->tag = (uint8_t)r->p[0];
		r->p++;
		r->n--;
		if (take(r, t) == 0)
			return TREE_OK;
	}
	r->done =
	    2; /* bad for ever: bytes are left, or there never was an end */
	r->n = 0;
	return TREE_BAD;
}
