/*
 * Frame records and the tree's reader: the decoders meet every truncation
 * and every single changed byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/buf.h"
#include "proto/frames.h"
#include "proto/limits.h"
#include "proto/tree.h"

static const struct scalar none = {SCALAR_NONE, 0, ""};

static struct scalar
number(const char *s)
{
	return (struct scalar){SCALAR_NUMBER, (uint16_t)strlen(s), s};
}

static struct scalar
string(const char *s)
{
	return (struct scalar){SCALAR_STRING, (uint16_t)strlen(s), s};
}

static void
assert_same(const struct scalar *a, const struct scalar *b)
{
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->len, b->len);
	assert_memory_equal(a->p, b->p, a->len);
}

static void
headers(void **state)
{
	struct buf b = BUF_INIT;
	struct frame_header h;
	int type;

	(void)state;
	frame_put_header(&b, FRAME_REFUSE, 0x1122334455667788, DW_BODY_MAX);
	assert_int_equal(b.len, FRAME_HEADER_LEN);
	assert_memory_equal(b.data, "\0\0\x10\0\x06\0\0\0\x88\x77\x66\x55\x44",
			    13);
	assert_int_equal(frame_get_header(b.data, &h), 0);
	assert_int_equal(h.len, DW_BODY_MAX);
	assert_int_equal(h.type, FRAME_REFUSE);
	assert_true(h.call == 0x1122334455667788);
	for (type = 0; type < 0x10000; type++) {
		b.data[4] = (char)(type & 0xff);
		b.data[5] = (char)(type >> 8);
		assert_int_equal(
		    frame_get_header(b.data, &h),
		    type > FRAME_NONE && type < FRAME_TYPE_MAX ? 0 : -1);
	}
	b.len = 0;
	frame_put_header(&b, FRAME_REFUSE, 1, DW_BODY_MAX + 1);
	assert_int_equal(frame_get_header(b.data, &h), -1);
	b.len = 0;
	frame_put_header(&b, FRAME_REFUSE, 1, 0);
	b.data[6] = 1;
	assert_int_equal(frame_get_header(b.data, &h), -1);
	buf_free(&b);
}

static void
hellos(void **state)
{
	struct hello in = {FRAME_PROTOCOL, 7, LAYER_ALL}, out;
	struct buf b = BUF_INIT;
	size_t n;

	(void)state;
	hello_put(&b, &in);
	assert_int_equal(b.len, HELLO_LEN);
	assert_int_equal(hello_get(b.data, b.len, &out), 0);
	assert_int_equal(out.landlock_abi, 7);
	assert_int_equal(out.layers, LAYER_ALL);
	for (n = 0; n < b.len; n++)
		assert_int_equal(hello_get(b.data, n, &out), -1);
	buf_putc(&b, 0);
	assert_int_equal(hello_get(b.data, b.len, &out), -1);
	b.len = 0;
	in.protocol = FRAME_PROTOCOL + 1;
	hello_put(&b, &in);
	assert_int_equal(hello_get(b.data, b.len, &out), -1);
	b.len = 0;
	in = (struct hello){FRAME_PROTOCOL, 0, LAYER_ALL + 1};
	hello_put(&b, &in);
	assert_int_equal(hello_get(b.data, b.len, &out), -1);
	buf_free(&b);
}

static void
layers(void **state)
{
	uint32_t bit;

	(void)state;
	for (bit = 1; bit < LAYER_ALL; bit <<= 1)
		assert_non_null(layer_name(bit));
	assert_null(layer_name(LAYER_ALL + 1));
	assert_null(layer_name(0));
	assert_string_equal(layer_name(LAYER_SECCOMP), "seccomp");
	assert_string_equal(layer_name(LAYER_IPC_NS), "ipc_ns");
}

static void
refusals(void **state)
{
	int r, code;

	(void)state;
	for (r = REFUSAL_NONE + 1; r < REFUSAL_MAX; r++) {
		code = refusal_code((enum refusal)r);
		assert_true(code == -32700 || code == -32600 || code == -32602);
		assert_true(strlen(refusal_text((enum refusal)r)) > 5);
		assert_null(strchr(refusal_word((enum refusal)r), ' '));
	}
	assert_int_equal(refusal_code(REFUSAL_GRAMMAR), -32700);
	assert_string_equal(refusal_word(REFUSAL_CALL_WITHOUT_ID),
			    "call_without_id");
	assert_string_equal(refusal_word(REFUSAL_MAX), "unknown");
}

static void
scalars(void **state)
{
	static const char *const good[] = {"0", "-0", "-1", "9007199254740993"};
	static const char *const bad[] = {"",   "1.0", "1e2", "01", "+1",
					  " 1", "-",   "0x1", "1 "};
	static char big[DW_ID_MAX + 1];
	struct scalar s;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		s = number(good[i]);
		assert_true(scalar_valid(&s));
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		s = number(bad[i]);
		assert_false(scalar_valid(&s));
	}
	s = string("");
	assert_true(scalar_valid(&s));
	s = string("\xff");
	assert_false(scalar_valid(&s));
	s = string("\xed\xa0\x80");
	assert_false(scalar_valid(&s));
	s = (struct scalar){SCALAR_STRING, 3, "a\0b"};
	assert_false(scalar_valid(&s));
	s = (struct scalar){SCALAR_NONE, 1, "a"};
	assert_false(scalar_valid(&s));
	s = (struct scalar){3, 0, ""};
	assert_false(scalar_valid(&s));
	memset(big, '1', sizeof(big));
	s = (struct scalar){SCALAR_NUMBER, DW_ID_MAX, big};
	assert_true(scalar_valid(&s));
	s.len++;
	assert_false(scalar_valid(&s));
}

static void
refuses(void **state)
{
	struct refuse in = {REFUSAL_UTF8, 1ull << 40, string("id"), 4,
			    "a\0\xff"
			    "b"},
		      out;
	struct buf b = BUF_INIT;
	size_t n;
	int r;

	(void)state;
	refuse_put(&b, &in);
	assert_int_equal(refuse_get(b.data, b.len, &out), 0);
	assert_int_equal(out.reason, REFUSAL_UTF8);
	assert_true(out.offset == 1ull << 40);
	assert_same(&out.id, &in.id);
	assert_int_equal(out.sample_len, 4);
	assert_memory_equal(out.sample, in.sample, 4);
	for (n = 0; n < b.len; n++)
		assert_int_equal(refuse_get(b.data, n, &out), -1);
	buf_putc(&b, 0);
	assert_int_equal(refuse_get(b.data, b.len, &out), -1);
	b.len--;
	for (r = 0; r < 0x10000; r++) {
		b.data[0] = (char)(r & 0xff);
		b.data[1] = (char)(r >> 8);
		assert_int_equal(refuse_get(b.data, b.len, &out),
				 r > REFUSAL_NONE && r < REFUSAL_MAX ? 0 : -1);
	}
	buf_free(&b);
}

static void
long_sample(void **state)
{
	static char text[DW_SAMPLE_MAX + 1];
	struct refuse in = {REFUSAL_UTF8, 0, none, DW_SAMPLE_MAX, text}, out;
	struct buf b = BUF_INIT;

	(void)state;
	refuse_put(&b, &in);
	assert_int_equal(refuse_get(b.data, b.len, &out), 0);
	b.len = 0;
	in.sample_len++;
	refuse_put(&b, &in);
	assert_int_equal(refuse_get(b.data, b.len, &out), -1);
	buf_free(&b);
}

static int
envelope_passes(const struct envelope *in)
{
	struct envelope out;
	struct buf b = BUF_INIT;
	int r;

	envelope_put(&b, in);
	r = envelope_get(b.data, b.len, &out);
	if (r == 0) {
		assert_same(&in->id, &out.id);
		assert_same(&in->token, &out.token);
		assert_int_equal(in->kind, out.kind);
		assert_int_equal(in->flags, out.flags);
		assert_int_equal(in->line_len, out.line_len);
		assert_int_equal(in->method_len, out.method_len);
		assert_memory_equal(in->method, out.method, in->method_len);
	}
	buf_free(&b);
	return r == 0;
}

static void
envelopes(void **state)
{
	struct envelope e = {KIND_REQUEST, 0, 1, string("x"), none, 1,
			     "m",          0, ""};

	(void)state;
	assert_true(envelope_passes(&e));
	e.id = none;
	assert_false(envelope_passes(&e));
	e.kind = KIND_NOTIFICATION;
	assert_true(envelope_passes(&e));
	e.token = number("5");
	assert_true(envelope_passes(&e));
	e.flags = ENVELOPE_IS_ERROR;
	assert_false(envelope_passes(&e));
	e.kind = KIND_RESULT;
	e.method_len = 0;
	assert_false(envelope_passes(&e));
	e.id = number("5");
	/* A tree came, or could not: not both. */
	e.flags = ENVELOPE_ALL;
	assert_false(envelope_passes(&e));
	e.flags = ENVELOPE_ALL & ~ENVELOPE_RESULT;
	assert_true(envelope_passes(&e));
	e.flags = ENVELOPE_ALL & ~ENVELOPE_UNREADABLE;
	assert_true(envelope_passes(&e));
	e.flags = ENVELOPE_ALL + 1;
	assert_false(envelope_passes(&e));
	e.flags = 0;
	e.method_len = 1;
	assert_false(envelope_passes(&e));
	e.kind = KIND_ERROR;
	assert_false(envelope_passes(&e));
	e.method_len = 0;
	e.id = none;
	assert_true(envelope_passes(&e));
	e.kind = 0;
	assert_false(envelope_passes(&e));
	e.kind = KIND_ERROR + 1;
	assert_false(envelope_passes(&e));
}

static void
envelope_bounds(void **state)
{
	static char text[DW_METHOD_MAX + 1];
	struct envelope e = {KIND_NOTIFICATION,
			     0,
			     DW_MESSAGE_MAX,
			     none,
			     none,
			     DW_METHOD_MAX,
			     text,
			     0,
			     ""};

	(void)state;
	memset(text, 'm', sizeof(text));
	assert_true(envelope_passes(&e));
	e.method_len++;
	assert_false(envelope_passes(&e));
	e.method_len = 1;
	e.line_len = DW_MESSAGE_MAX + 1;
	assert_false(envelope_passes(&e));
	e.line_len = 0;
	assert_false(envelope_passes(&e));
	e.line_len = 1;
	e.method = "\xff";
	assert_false(envelope_passes(&e));
	e.method = "m";
	e.version = text;
	e.version_len = ENVELOPE_VERSION_MAX;
	assert_true(envelope_passes(&e));
	e.version_len++;
	assert_false(envelope_passes(&e));
}

/* Whatever one byte is changed to, the decoders stay inside the record. */
static void
mutated_records(void **state)
{
	struct envelope e = {
	    KIND_REQUEST, 0, 5, string("abc"), number("12"), 3, "m/n", 2, "20"};
	struct refuse r = {REFUSAL_NUL, 7, number("99"), 3, "xyz"};
	struct envelope e2;
	struct refuse r2;
	struct buf b = BUF_INIT, c = BUF_INIT;
	char *copy, old;
	size_t i;
	int v;

	(void)state;
	envelope_put(&b, &e);
	refuse_put(&c, &r);
	copy = malloc(b.len > c.len ? b.len : c.len);
	assert_non_null(copy);
	for (i = 0; i < b.len + c.len; i++) {
		struct buf *src = i < b.len ? &b : &c;
		size_t at = i < b.len ? i : i - b.len;
		/* An exact copy lets a sanitizer see any byte too far. */
		char *exact = realloc(copy, src->len);

		assert_non_null(exact);
		copy = exact;
		memcpy(copy, src->data, src->len);
		old = copy[at];
		for (v = 0; v < 256; v++) {
			copy[at] = (char)v;
			if (src == &b)
				envelope_get(copy, src->len, &e2);
			else
				refuse_get(copy, src->len, &r2);
		}
		copy[at] = old;
	}
	free(copy);
	buf_free(&b);
	buf_free(&c);
}

/* Trees are written as text here: ':' key, '"' string, '0' number follow. */
static void
put_text(struct buf *b, enum tree_tag tag, const char *text)
{
	buf_put_u8(b, (uint8_t)tag);
	buf_put_u32(b, (uint32_t)strlen(text));
	buf_puts(b, text);
}

static int
tree_passes(const struct buf *b)
{
	struct tree_reader r;
	struct tree_token t;
	enum tree_status s;

	tree_reader_init(&r, b->data, b->len);
	while ((s = tree_next(&r, &t)) == TREE_OK)
		;
	assert_int_equal(tree_next(&r, &t), s);
	return s == TREE_DONE;
}

static void
tags_pass(const char *tags, int want)
{
	struct buf b = BUF_INIT;
	const char *t;

	for (t = tags; *t != '\0'; t++)
		if (*t == TREE_KEY || *t == TREE_STRING || *t == TREE_NUMBER)
			put_text(&b, (enum tree_tag)(*t),
				 *t == TREE_NUMBER ? "1" : "k");
		else
			buf_putc(&b, *t);
	if (tree_passes(&b) != want)
		fail_msg("%s: want %d", tags, want);
	buf_free(&b);
}

static void
tree_shapes(void **state)
{
	static const char *const good[] = {
	    "{.", "{:n.", "{:t:f:0:\".", "{:[.:{..", "{:[nt0\"[.{..:n.",
	};
	static const char *const bad[] = {
	    "{",    "[.",    "n",    "\"",   "{n.",     "{:.",   "{::n.",
	    "{:n",  "{:n..", "{.{.", "{[..", "{:[:n..", "{:nn.", ".",
	    "{:[n", "x",     "{x.",  "{:x.", "{:n]",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		tags_pass(good[i], 1);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tags_pass(bad[i], 0);
}

static void
text_passes(enum tree_tag tag, const char *text, size_t len, int want)
{
	struct buf b = BUF_INIT;

	buf_putc(&b, '{');
	if (tag != TREE_KEY)
		put_text(&b, TREE_KEY, "k");
	buf_put_u8(&b, (uint8_t)tag);
	buf_put_u32(&b, (uint32_t)len);
	buf_put(&b, text, len);
	buf_puts(&b, tag == TREE_KEY ? "n." : ".");
	assert_int_equal(tree_passes(&b), want);
	buf_free(&b);
}

static void
tree_texts(void **state)
{
	static const enum tree_tag tags[] = {TREE_KEY, TREE_STRING};
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		text_passes(tags[i], "", 0, 1);
		text_passes(tags[i], "\xc3\xa9", 2, 1);
		text_passes(tags[i], "\xc3", 1, 0);
		text_passes(tags[i], "a\0b", 3, 0);
		text_passes(tags[i], "\xed\xa0\x80", 3, 0);
		text_passes(tags[i], "\n", 1, 1);
	}
	text_passes(TREE_NUMBER, "-1.5e+7", 7, 1);
	text_passes(TREE_NUMBER, "", 0, 0);
	text_passes(TREE_NUMBER, "01", 2, 0);
	text_passes(TREE_NUMBER, "1 ", 2, 0);
	text_passes(TREE_NUMBER, "NaN", 3, 0);
}

static void
tree_length_lies(void **state)
{
	struct buf b = BUF_INIT;
	size_t n;

	(void)state;
	buf_putc(&b, '{');
	put_text(&b, TREE_KEY, "key");
	put_text(&b, TREE_STRING, "value");
	buf_putc(&b, '.');
	assert_true(tree_passes(&b));
	for (n = b.len; n-- > 0;) {
		struct buf cut = {b.data, 0, n, n};

		assert_false(tree_passes(&cut));
	}
	memset(b.data + 2, 0xff, 4);
	assert_false(tree_passes(&b));
	buf_free(&b);
}

static void
tree_depth(size_t depth, int want)
{
	struct buf b = BUF_INIT;
	size_t i;

	buf_putc(&b, '{');
	put_text(&b, TREE_KEY, "k");
	for (i = 1; i < depth; i++)
		buf_putc(&b, '[');
	for (i = 0; i < depth; i++)
		buf_putc(&b, '.');
	assert_int_equal(tree_passes(&b), want);
	buf_free(&b);
}

static void
tree_nodes(size_t nodes, int want)
{
	struct buf b = BUF_INIT;
	size_t i;

	buf_putc(&b, '{');
	put_text(&b, TREE_KEY, "k");
	buf_putc(&b, '[');
	for (i = 2; i < nodes; i++)
		buf_putc(&b, 'n');
	buf_puts(&b, "..");
	assert_int_equal(tree_passes(&b), want);
	buf_free(&b);
}

static void
tree_limits(void **state)
{
	(void)state;
	tree_depth(DW_DEPTH_MAX, 1);
	tree_depth(DW_DEPTH_MAX + 1, 0);
	tree_depth(100000, 0);
	tree_nodes(DW_NODES_MAX, 1);
	tree_nodes(DW_NODES_MAX + 1, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(headers),
	    cmocka_unit_test(hellos),
	    cmocka_unit_test(layers),
	    cmocka_unit_test(refusals),
	    cmocka_unit_test(scalars),
	    cmocka_unit_test(refuses),
	    cmocka_unit_test(long_sample),
	    cmocka_unit_test(envelopes),
	    cmocka_unit_test(envelope_bounds),
	    cmocka_unit_test(mutated_records),
	    cmocka_unit_test(tree_shapes),
	    cmocka_unit_test(tree_texts),
	    cmocka_unit_test(tree_length_lies),
	    cmocka_unit_test(tree_limits),
	};

	return cmocka_run_group_tests_name("frames", tests, NULL, NULL);
}
