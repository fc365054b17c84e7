/*
 * From a tree to a message: what is taken, everything that only a fallen
 * relay could have sent.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "proto/buf.h"
#include "proto/limits.h"

#include "jsonw.h"
#include "message.h"
#include "tree_help.h"

#define V "\"jsonrpc\":\"2.0\","

/* Decodes from a block of its own, so that a byte too far is seen. */
static int
decode(struct message *m, const struct buf *b)
{
	char *copy = malloc(buf_used(b) + 1);
	int r;

	assert_non_null(copy);
	if (buf_used(b) > 0)
		memcpy(copy, buf_head(b), buf_used(b));
	r = message_decode(m, copy, buf_used(b));
	free(copy);
	return r;
}

static int
decode_json(struct message *m, const char *json)
{
	struct buf b = BUF_INIT;
	int r;

	put_json(&b, json);
	r = decode(m, &b);
	buf_free(&b);
	return r;
}

static void
refused(const char *json)
{
	struct message m;

	if (decode_json(&m, json) != -1)
		fail_msg("taken: %s", json);
	assert_null(m.root);
}

/* Taken, and printed as it was. */
static void
taken(struct message *m, const char *json)
{
	struct buf out = BUF_INIT;

	if (decode_json(m, json) != 0)
		fail_msg("refused: %s", json);
	jsonw_tree(&out, m->root);
	buf_putc(&out, '\0');
	assert_string_equal(buf_head(&out), json);
	buf_free(&out);
}

static void
is_scalar(const struct scalar *s, int type, const char *text)
{
	assert_int_equal(s->type, type);
	assert_int_equal(s->len, strlen(text));
	assert_memory_equal(s->p, text, s->len);
}

static void
requests(void **state)
{
	struct message m;

	(void)state;
	taken(&m, "{" V "\"id\":1,\"method\":\"tools/call\",\"params\":{"
		  "\"name\":\"send\",\"arguments\":{\"n\":1.0}}}");
	assert_int_equal(m.kind, KIND_REQUEST);
	is_scalar(&m.id, SCALAR_NUMBER, "1");
	assert_string_equal(m.method, "tools/call");
	assert_non_null(m.params);
	assert_string_equal(message_member(m.params, "name")->valuestring,
			    "send");
	is_scalar(&m.token, SCALAR_NONE, "");
	is_scalar(&m.cancels, SCALAR_NONE, "");
	assert_int_equal(m.modern, 0);
	message_free(&m);
	assert_null(m.root);

	taken(&m, "{\"method\":\"ping\",\"id\":\"1\"," V "\"x\":null}");
	assert_int_equal(m.kind, KIND_REQUEST);
	is_scalar(&m.id, SCALAR_STRING, "1");
	assert_null(m.params);
	message_free(&m);

	taken(&m, "{" V "\"id\":-0,\"method\":\"x\",\"params\":{\"_meta\":{"
		  "\"progressToken\":\"t\",\"io.modelcontextprotocol/"
		  "protocolVersion\":\"2026-07-28\"}}}");
	is_scalar(&m.id, SCALAR_NUMBER, "-0");
	is_scalar(&m.token, SCALAR_STRING, "t");
	assert_int_equal(m.modern, 1);
	message_free(&m);

	taken(&m, "{" V "\"id\":\"\",\"method\":\"\"}");
	is_scalar(&m.id, SCALAR_STRING, "");
	assert_string_equal(m.method, "");
	message_free(&m);
}

static void
notifications_and_answers(void **state)
{
	struct message m;

	(void)state;
	taken(&m, "{" V "\"method\":\"notifications/cancelled\",\"params\":{"
		  "\"requestId\":12345678901234567890}}");
	assert_int_equal(m.kind, KIND_NOTIFICATION);
	is_scalar(&m.id, SCALAR_NONE, "");
	is_scalar(&m.cancels, SCALAR_NUMBER, "12345678901234567890");
	message_free(&m);

	taken(&m, "{" V "\"id\":7,\"result\":null}");
	assert_int_equal(m.kind, KIND_RESULT);
	assert_null(m.method);
	message_free(&m);

	taken(&m, "{" V "\"id\":7,\"error\":{\"code\":-1}}");
	assert_int_equal(m.kind, KIND_ERROR);
	message_free(&m);

	taken(&m, "{" V "\"error\":{\"code\":-1}}");
	assert_int_equal(m.kind, KIND_ERROR);
	is_scalar(&m.id, SCALAR_NONE, "");
	message_free(&m);
}

/* A token that cannot be one matches nothing, but is no fault. */
static void
unfit_tokens(void **state)
{
	static const char *const tokens[] = {"null", "true", "1.5",    "1e3",
					     "[]",   "{}",   "[1,[2]]"};
	char json[200];
	struct message m;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
		snprintf(json, sizeof(json),
			 "{" V "\"method\":\"x\",\"params\":{\"_meta\":{"
			 "\"progressToken\":%s},\"requestId\":%s}}",
			 tokens[i], tokens[i]);
		taken(&m, json);
		is_scalar(&m.token, SCALAR_NONE, "");
		is_scalar(&m.cancels, SCALAR_NONE, "");
		message_free(&m);
	}
	taken(&m, "{" V "\"method\":\"x\",\"params\":{\"_meta\":[]}}");
	is_scalar(&m.token, SCALAR_NONE, "");
	message_free(&m);
	taken(&m, "{" V "\"method\":\"x\",\"params\":{\"_meta\":{\"io."
		  "modelcontextprotocol/protocolVersion\":2}}}");
	assert_int_equal(m.modern, 0);
	message_free(&m);
}

static void
no_messages(void **state)
{
	(void)state;
	refused("{}");
	refused("[]");
	refused("null");
	refused("{" V "\"id\":1}");
	refused("{\"id\":1,\"method\":\"x\"}");
	refused("{\"jsonrpc\":\"2.1\",\"id\":1,\"method\":\"x\"}");
	refused("{\"jsonrpc\":\"2.00\",\"id\":1,\"method\":\"x\"}");
	refused("{\"jsonrpc\":2.0,\"id\":1,\"method\":\"x\"}");
	refused("{\"jsonrpc\":null,\"id\":1,\"method\":\"x\"}");
	refused("{" V "\"id\":1,\"method\":null}");
	refused("{" V "\"id\":1,\"method\":7}");
	refused("{" V "\"id\":1,\"method\":[\"x\"]}");
	/* Both of two, and all three. */
	refused("{" V "\"id\":1,\"result\":1,\"error\":{}}");
	refused("{" V "\"id\":1,\"result\":null,\"error\":null}");
	refused("{" V "\"id\":1,\"method\":\"x\",\"result\":1}");
	refused("{" V "\"id\":1,\"method\":\"x\",\"error\":1}");
	refused("{" V "\"method\":\"x\",\"error\":1,\"result\":1}");
	refused("{" V "\"result\":1}");
	/* What has to have an id. */
	refused("{" V "\"method\":\"tools/call\"}");
	refused("{" V "\"method\":\"tools/call\",\"params\":{\"name\":\"x\"}}");
	/* params of another type */
	refused("{" V "\"id\":1,\"method\":\"x\",\"params\":null}");
	refused("{" V "\"id\":1,\"method\":\"x\",\"params\":[]}");
	refused("{" V "\"id\":1,\"method\":\"x\",\"params\":\"\"}");
	refused("{" V "\"method\":\"x\",\"params\":1}");
}

static void
ids(void **state)
{
	static const char *const bad[] = {
	    "null", "true", "false", "[]", "{}",  "1.0", "0.5",
	    "1e0",  "1E2",  "-1.5",  "01", "+1",  "1.",  "-",
	    ".5",   "--1",  "0x1",   "1a", "Inf", "-00"};
	static const char *const good[] = {"0", "-1", "9007199254740993"};
	char json[100], text[DW_ID_MAX + 2];
	struct message m;
	struct buf b = BUF_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(json, sizeof(json),
			 "{" V "\"id\":%s,\"method\":\"x\"}", bad[i]);
		refused(json);
		snprintf(json, sizeof(json), "{" V "\"id\":%s,\"error\":{}}",
			 bad[i]);
		refused(json);
	}
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		snprintf(json, sizeof(json),
			 "{" V "\"id\":%s,\"method\":\"x\"}", good[i]);
		taken(&m, json);
		is_scalar(&m.id, SCALAR_NUMBER, good[i]);
		message_free(&m);
	}
	memset(text, '1', sizeof(text));
	for (i = 0; i < 4; i++) {
		put_json(&b, "{" V "\"method\":\"x\",\"id\":");
		put_text(&b, i < 2 ? '"' : '0', text, DW_ID_MAX + i % 2);
		buf_putc(&b, '.');
		assert_int_equal(decode(&m, &b), i % 2 == 0 ? 0 : -1);
		message_free(&m);
		b.len = 0;
	}
	buf_free(&b);
}

static void
key_variants(void **state)
{
	static const char *const top[] = {
	    "Jsonrpc", "JSONRPC", "j\u017fonrpc", "ID",    "iD",
	    "Method",  "PARAMS",  "Result",       "Error", "re\u017fult"};
	static const char *const inside[] = {
	    "Name",         "ARGUMENTS", "argument\u017f", "Uri",
	    "CURSOR",       "ta\u017fk", "tas\u212a",      "inputresponses",
	    "requeststate", "_META"};
	/* Only the protocol's own, and only where they mean something. */
	static const char *const fine[] = {
	    "{" V "\"method\":\"x\",\"Name\":1,\"TASK\":1}",
	    "{" V "\"method\":\"x\",\"params\":{\"ID\":1,\"Method\":2}}",
	    "{" V "\"method\":\"x\",\"params\":{\"arguments\":{\"Name\":1,"
	    "\"ID\":2,\"name\":3}}}",
	    "{" V "\"method\":\"x\",\"ids\":1,\"methods\":2,\"i\":3}"};
	char json[200];
	struct message m;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(top) / sizeof(top[0]); i++) {
		snprintf(json, sizeof(json),
			 "{" V "\"id\":1,\"method\":\"x\",\"%s\":1}", top[i]);
		refused(json);
		snprintf(json, sizeof(json),
			 "{\"%s\":1," V "\"id\":1,\"result\":1}", top[i]);
		refused(json);
	}
	for (i = 0; i < sizeof(inside) / sizeof(inside[0]); i++) {
		snprintf(json, sizeof(json),
			 "{" V "\"id\":1,\"method\":\"x\",\"params\":{"
			 "\"%s\":1}}",
			 inside[i]);
		refused(json);
	}
	for (i = 0; i < sizeof(fine) / sizeof(fine[0]); i++) {
		taken(&m, fine[i]);
		message_free(&m);
	}
}

static void
duplicates(void **state)
{
	static const char *const bad[] = {
	    "{" V V "\"method\":\"x\"}",
	    "{" V "\"method\":\"x\",\"method\":\"y\"}",
	    "{" V "\"method\":\"x\",\"a\":1,\"b\":2,\"a\":1}",
	    "{" V "\"method\":\"x\",\"params\":{\"name\":1,\"name\":1}}",
	    "{" V "\"method\":\"x\",\"\":1,\"\":2}",
	    "{" V "\"id\":1,\"result\":[[[{\"a\":1,\"a\":1}]]]}",
	    "{" V "\"id\":1,\"result\":{\"a\":{\"b\":[1,{\"c\":{},\"d\":[],"
	    "\"c\":{}}]}}}"};
	struct message m;
	struct buf b = BUF_INIT;
	char key[24];
	size_t i, dup, n;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refused(bad[i]);
	taken(&m, "{" V "\"id\":1,\"result\":{\"a\":{\"a\":{\"a\":1}},\"A\":1,"
		  "\"aa\":[{\"a\":1},{\"a\":1}]}}");
	message_free(&m);
	/* Around the size where keys are no longer compared on the stack. */
	for (n = 1; n < 40; n++) {
		for (dup = 0; dup < 2; dup++) {
			put_json(&b, "{" V "\"id\":1,\"result\":{");
			for (i = 0; i < n; i++) {
				snprintf(key, sizeof(key), "k%zu",
					 dup && i == n - 1 ? n / 3 : i);
				put_text(&b, ':', key, strlen(key));
				buf_putc(&b, 'n');
			}
			buf_puts(&b, "..");
			assert_int_equal(decode(&m, &b),
					 dup && n - 1 != n / 3 ? -1 : 0);
			message_free(&m);
			b.len = 0;
		}
	}
	buf_free(&b);
}

static void
put_nested(struct buf *b, size_t depth)
{
	size_t i;

	put_json(b, "{" V "\"id\":1,\"result\":");
	for (i = 1; i < depth; i++)
		if (i % 2)
			buf_putc(b, '[');
		else
			put_json(b, "{\"a\":");
	buf_putc(b, 'n');
	for (i = 0; i < depth; i++)
		buf_putc(b, '.');
}

static void
limits(void **state)
{
	struct message m;
	struct buf b = BUF_INIT;
	size_t i, extra;

	(void)state;
	put_nested(&b, DW_DEPTH_MAX);
	assert_int_equal(decode(&m, &b), 0);
	message_free(&m);
	b.len = 0;
	put_nested(&b, DW_DEPTH_MAX + 1);
	assert_int_equal(decode(&m, &b), -1);
	/* Four values are there already: root, version, id, list. */
	for (extra = 0; extra < 2; extra++) {
		b.len = 0;
		put_json(&b, "{" V "\"id\":1,\"result\":[");
		for (i = 4; i < DW_NODES_MAX + extra; i++)
			buf_putc(&b, 't');
		buf_puts(&b, "..");
		assert_int_equal(decode(&m, &b), extra ? -1 : 0);
		message_free(&m);
	}
	b.len = 0;
	put_json(&b, "{" V "\"id\":1,\"method\":");
	i = b.len;
	for (extra = 0; extra < 2; extra++) {
		b.len = i;
		buf_putc(&b, '"');
		buf_put_u32(&b, (uint32_t)(DW_METHOD_MAX + extra));
		memset(buf_reserve(&b, DW_METHOD_MAX + extra), 'm',
		       DW_METHOD_MAX + extra);
		b.len += DW_METHOD_MAX + extra;
		buf_putc(&b, '.');
		assert_int_equal(decode(&m, &b), extra ? -1 : 0);
		message_free(&m);
	}
	buf_free(&b);
}

/* A message whose one long string prints to the given number of bytes. */
static void
put_printing(struct buf *b, size_t printed, char fill, size_t each)
{
	const char *before = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"";
	size_t n = printed - strlen(before) - 2, i;

	b->len = 0;
	put_json(b, "{" V "\"id\":1,\"result\":");
	buf_putc(b, '"');
	buf_put_u32(b, (uint32_t)(n / each + n % each));
	for (i = 0; i < n / each; i++)
		buf_putc(b, fill);
	for (i = 0; i < n % each; i++)
		buf_putc(b, 'x');
	buf_putc(b, '.');
}

/*
 * What no line of 64 MiB can have said is refused, and nothing else: one
 * that is as long as it may be, with and without escapes.
 */
static void
more_than_a_line(void **state)
{
	static const struct {
		char fill;
		size_t each;
	} kinds[] = {{'x', 1}, {'\n', 2}, {'"', 2}, {'\x01', 6}};
	struct message m;
	struct buf b = BUF_INIT, out = BUF_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		put_printing(&b, DW_MESSAGE_MAX, kinds[i].fill, kinds[i].each);
		assert_int_equal(message_decode(&m, buf_head(&b), buf_used(&b)),
				 0);
		out.len = 0;
		jsonw_tree(&out, m.root);
		assert_int_equal(buf_used(&out), DW_MESSAGE_MAX);
		message_free(&m);
		put_printing(&b, DW_MESSAGE_MAX + 1, kinds[i].fill,
			     kinds[i].each);
		assert_int_equal(message_decode(&m, buf_head(&b), buf_used(&b)),
				 -1);
	}
	buf_reset(&b, 0);
	buf_reset(&out, 0);
}

static void
broken_trees(void **state)
{
	static const struct {
		const char *p;
		size_t n;
	} cases[] = {
	    {"", 0},
	    {"{", 1},
	    {".", 1},
	    {"{..", 3},
	    {"{.n", 3},
	    {"{n.", 3},
	    {"n", 1},
	    {"[.", 2},
	    {"\0", 1},
	    {"\xff", 1},
	    {"{:", 2},
	    {"{.{.", 4},
	    {"{:\xff\xff\xff\xff"
	     "a",
	     7},                                        /* length too long */
	    {"{:\1\0\0\0a.", 8},                        /* no value */
	    {"{:\1\0\0\0a:\1\0\0\0bn.", 14},            /* key for value */
	    {"{\"\1\0\0\0an.", 9},                      /* string for key */
	    {"{:\1\0\0\0a\"\1\0\0\0\0.", 14},           /* NUL */
	    {"{:\3\0\0\0a\0bn.", 11},                   /* NUL in a key */
	    {"{:\1\0\0\0\xffn.", 9},                    /* not UTF-8 */
	    {"{:\1\0\0\0a\"\3\0\0\0\xed\xa0\x80.", 16}, /* a surrogate */
	    {"{:\1\0\0\0a"
	     "0\0\0\0\0.",
	     13}, /* empty number */
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cJSON *root = message_tree(cases[i].p, cases[i].n, 1);

		if (root != NULL)
			fail_msg("tree %zu was taken", i);
	}
}

/* Every beginning of a good tree, and every one with a bit turned. */
static void
cut_and_bent(void **state)
{
	struct message m;
	struct buf b = BUF_INIT, cut = BUF_INIT;
	size_t i, bit;

	(void)state;
	put_json(&b, "{" V "\"id\":1,\"method\":\"tools/call\",\"params\":{"
		     "\"name\":\"a\",\"arguments\":{\"l\":[1,true,null,{}],"
		     "\"s\":\"text\"},\"_meta\":{\"progressToken\":2}}}");
	assert_int_equal(decode(&m, &b), 0);
	message_free(&m);
	for (i = 0; i < buf_used(&b); i++) {
		cut.len = 0;
		buf_put(&cut, buf_head(&b), i);
		assert_int_equal(decode(&m, &cut), -1);
	}
	for (i = 0; i < buf_used(&b) * 8; i++) {
		bit = 1u << i % 8;
		buf_head(&b)[i / 8] ^= (char)bit;
		if (decode(&m, &b) == 0) {
			assert_string_equal(
			    message_member(m.root, "jsonrpc")->valuestring,
			    "2.0");
			message_free(&m);
		}
		buf_head(&b)[i / 8] ^= (char)bit;
	}
	buf_putc(&b, 'n');
	assert_int_equal(decode(&m, &b), -1);
	buf_free(&b);
	buf_free(&cut);
}

static void
members(void **state)
{
	struct buf b = BUF_INIT;
	cJSON *root;

	(void)state;
	put_json(&b, "{\"a\":1,\"A\":2,\"l\":[1],\"\":3,\"a\":4}");
	assert_null(message_tree(buf_head(&b), buf_used(&b), 1));
	root = message_tree(buf_head(&b), buf_used(&b), 0);
	assert_non_null(root);
	assert_string_equal(message_member(root, "a")->valuestring, "1");
	assert_string_equal(message_member(root, "A")->valuestring, "2");
	assert_string_equal(message_member(root, "")->valuestring, "3");
	assert_null(message_member(root, "L"));
	assert_null(message_member(root, "b"));
	assert_null(message_member(message_member(root, "l"), "a"));
	assert_null(message_member(NULL, "a"));
	cJSON_Delete(root);
	buf_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(requests),
	    cmocka_unit_test(notifications_and_answers),
	    cmocka_unit_test(unfit_tokens),
	    cmocka_unit_test(no_messages),
	    cmocka_unit_test(ids),
	    cmocka_unit_test(key_variants),
	    cmocka_unit_test(duplicates),
	    cmocka_unit_test(limits),
	    cmocka_unit_test(more_than_a_line),
	    cmocka_unit_test(broken_trees),
	    cmocka_unit_test(cut_and_bent),
	    cmocka_unit_test(members),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
