/*
 * What the monitor reads from a relay: headers, records and trees of any
 * bytes at all.  The first byte says which.  What is accepted has to be in
 * bounds and to come out the same when it is written again.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "proto/buf.h"
#include "proto/frames.h"
#include "proto/limits.h"
#include "proto/tree.h"

#include "../../supervisor/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(cond)                                             \
	do {                                                    \
		if (!(cond)) {                                  \
			fprintf(stderr, "failed: %s\n", #cond); \
			abort();                                \
		}                                               \
	} while (0)

static void
check_same(struct buf *b, const char *p, size_t n)
{
	CHECK(b->len == n && memcmp(b->data, p, n) == 0);
	buf_free(b);
}

static void
read_header(const char *p, size_t n)
{
	struct frame_header h;
	struct buf b = BUF_INIT;

	if (n < FRAME_HEADER_LEN || frame_get_header(p, &h) != 0)
		return;
	CHECK(h.len <= DW_BODY_MAX && h.type < FRAME_TYPE_MAX);
	frame_put_header(&b, (enum frame_type)h.type, h.call, h.len);
	check_same(&b, p, FRAME_HEADER_LEN);
}

static void
read_hello(const char *p, size_t n)
{
	struct hello h;
	struct buf b = BUF_INIT;

	if (hello_get(p, n, &h) != 0)
		return;
	hello_put(&b, &h);
	check_same(&b, p, n);
}

static void
read_refuse(const char *p, size_t n)
{
	struct refuse r;
	struct buf b = BUF_INIT;

	if (refuse_get(p, n, &r) != 0)
		return;
	CHECK(scalar_valid(&r.id) && r.sample_len <= DW_SAMPLE_MAX);
	CHECK(refusal_code((enum refusal)r.reason) != 0);
	refuse_put(&b, &r);
	check_same(&b, p, n);
}

static void
read_envelope(const char *p, size_t n)
{
	struct envelope e;
	struct buf b = BUF_INIT;

	if (envelope_get(p, n, &e) != 0)
		return;
	CHECK(scalar_valid(&e.id) && scalar_valid(&e.token));
	CHECK(e.line_len >= 1 && e.line_len <= DW_MESSAGE_MAX);
	envelope_put(&b, &e);
	check_same(&b, p, n);
}

static void
write_token(struct buf *b, const struct tree_token *t)
{
	buf_put_u8(b, t->tag);
	if (t->tag != TREE_NUMBER && t->tag != TREE_STRING &&
	    t->tag != TREE_KEY)
		return;
	buf_put_u32(b, t->len);
	buf_put(b, t->p, t->len);
}

static void
read_tree(const char *p, size_t n)
{
	struct buf b = BUF_INIT;
	struct tree_reader r;
	struct tree_token t;
	enum tree_status s;
	struct message m;
	cJSON *tree;

	tree_reader_init(&r, p, n);
	while ((s = tree_next(&r, &t)) == TREE_OK)
		write_token(&b, &t);
	CHECK(tree_next(&r, &t) == s);
	tree = message_tree(p, n, 0);
	CHECK((tree != NULL) == (s == TREE_DONE));
	cJSON_Delete(tree);
	if (message_decode(&m, p, n) == 0) {
		CHECK(s == TREE_DONE);
		message_free(&m);
	}
	if (s == TREE_DONE)
		check_same(&b, p, n);
	buf_free(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *p = (const char *)data + 1;

	if (size < 1)
		return 0;
	switch (data[0]) {
	case 'h':
		read_header(p, size - 1);
		break;
	case 'o':
		read_hello(p, size - 1);
		break;
	case 'r':
		read_refuse(p, size - 1);
		break;
	case 'e':
		read_envelope(p, size - 1);
		break;
	default:
		read_tree(p, size - 1);
		break;
	}
	return 0;
}
