/*
 * A line, read as a relay reads it, from the client and from the server.
 * What is accepted has to be accepted by the monitor's decoders as well, to
 * print as JSON that reads the same, and to have the id that salvage finds;
 * what is refused has to make a refusal that the monitor takes.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/buf.h"
#include "proto/frames.h"
#include "proto/limits.h"
#include "proto/tree.h"

#include "../../relay/emit.h"
#include "../../relay/envelope.h"
#include "../../relay/salvage.h"
#include "../../relay/scan.h"
#include "../../supervisor/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct scan scan;
static struct reading reading;
static struct salvage salvage;

#define CHECK(cond)                                             \
	do {                                                    \
		if (!(cond)) {                                  \
			fprintf(stderr, "failed: %s\n", #cond); \
			abort();                                \
		}                                               \
	} while (0)

static void
put(void *arg, const void *p, size_t n)
{
	buf_put(arg, p, n);
}

static struct scalar
salvaged(const char *p, size_t n)
{
	size_t half = n / 2;

	salvage_init(&salvage);
	salvage_feed(&salvage, p, half);
	salvage_feed(&salvage, p + half, n - half);
	return salvage_id(&salvage);
}

static void
refused(enum refusal why, size_t offset, const char *p, size_t n)
{
	struct refuse r = {(uint16_t)why, offset, salvaged(p, n), 0, p}, out;
	struct buf b = BUF_INIT;

	CHECK(offset <= n);
	r.sample_len = (uint16_t)(n < DW_SAMPLE_MAX ? n : DW_SAMPLE_MAX);
	refuse_put(&b, &r);
	CHECK(refuse_get(b.data, b.len, &out) == 0);
	buf_free(&b);
}

static void
same_id(const char *p, size_t n)
{
	struct scalar id = salvaged(p, n);

	CHECK(id.type == reading.e.id.type && id.len == reading.e.id.len &&
	      memcmp(id.p, reading.e.id.p, id.len) == 0);
}

static void
print_text(struct buf *out, const struct tree_token *t)
{
	size_t i;

	buf_putc(out, '"');
	for (i = 0; i < t->len; i++)
		if (t->p[i] == '"' || t->p[i] == '\\' ||
		    (unsigned char)t->p[i] < 0x20)
			buf_printf(out, "\\u%04x", t->p[i]);
		else
			buf_putc(out, t->p[i]);
	buf_putc(out, '"');
}

/* One token as JSON; kinds has a byte a level, first says no comma yet. */
static void
print_token(struct buf *out, const struct tree_token *t, char *kinds,
	    size_t *depth, int *first)
{
	if (t->tag == TREE_END) {
		buf_putc(out, kinds[--*depth] == '{' ? '}' : ']');
		*first = 0;
		return;
	}
	if (!*first)
		buf_putc(out, ',');
	*first =
	    t->tag == TREE_KEY || t->tag == TREE_OBJECT || t->tag == TREE_ARRAY;
	if (t->tag == TREE_STRING || t->tag == TREE_KEY)
		print_text(out, t);
	else if (t->tag == TREE_NUMBER)
		buf_put(out, t->p, t->len);
	else if (*first)
		buf_putc(out, (char)t->tag);
	else
		buf_puts(out, t->tag == TREE_NULL   ? "null"
			      : t->tag == TREE_TRUE ? "true"
						    : "false");
	if (t->tag == TREE_KEY)
		buf_putc(out, ':');
	else if (*first)
		kinds[(*depth)++] = (char)t->tag;
}

/* The tree is one that the monitor reads; prints it. */
static void
print_tree(const struct buf *tree, struct buf *out)
{
	char kinds[DW_DEPTH_MAX];
	struct tree_reader r;
	struct tree_token t;
	enum tree_status s;
	size_t depth = 0;
	int first = 1;

	tree_reader_init(&r, tree->data, tree->len);
	while ((s = tree_next(&r, &t)) == TREE_OK)
		print_token(out, &t, kinds, &depth, &first);
	CHECK(s == TREE_DONE);
}

static void
round_trip(const char *p, size_t n, enum scan_rules rules)
{
	struct buf tree = BUF_INIT, again = BUF_INIT, text = BUF_INIT;

	emit_tree(p, n, put, &tree);
	print_tree(&tree, &text);
	CHECK(scan_line(&scan, text.data, text.len, rules) == REFUSAL_NONE);
	CHECK(scan.nul == 0 && scan.surrogate == 0 && scan.duplicate == 0);
	emit_tree(text.data, text.len, put, &again);
	CHECK(tree.len == again.len &&
	      memcmp(tree.data, again.data, tree.len) == 0);
	buf_free(&tree);
	buf_free(&again);
	buf_free(&text);
}

static void
from_client(const char *p, size_t n)
{
	enum refusal why = scan_line(&scan, p, n, SCAN_CLIENT);
	size_t offset = scan.fault;
	struct buf tree = BUF_INIT;
	struct message m;

	if (why == REFUSAL_NONE) {
		why = envelope_read(&scan, 0, &reading);
		offset = reading.offset;
	}
	if (why != REFUSAL_NONE) {
		refused(why, offset, p, n);
		return;
	}
	same_id(p, n);
	emit_tree(p, n, put, &tree);
	CHECK(message_decode(&m, tree.data, tree.len) == 0);
	CHECK(m.kind == reading.e.kind);
	message_free(&m);
	buf_free(&tree);
	round_trip(p, n, SCAN_CLIENT);
}

static void
from_server(const char *p, size_t n)
{
	enum refusal why = scan_line(&scan, p, n, SCAN_SERVER);
	size_t offset = scan.fault;
	struct buf b = BUF_INIT;
	struct envelope out;

	if (why == REFUSAL_NONE) {
		why = envelope_read(&scan, 1, &reading);
		offset = reading.offset;
	}
	if (why != REFUSAL_NONE) {
		refused(why, offset, p, n);
		return;
	}
	if (reading.e.id.type != SCALAR_NONE)
		same_id(p, n);
	reading.e.line_len = (uint32_t)n;
	envelope_put(&b, &reading.e);
	CHECK(envelope_get(b.data, b.len, &out) == 0);
	buf_free(&b);
	CHECK(scan_line(&scan, p, n, SCAN_WHOLE) == REFUSAL_NONE);
	if (scan.nul == 0 && scan.surrogate == 0 && scan.duplicate == 0)
		round_trip(p, n, SCAN_WHOLE);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	from_client((const char *)data, size);
	from_server((const char *)data, size);
	return 0;
}
