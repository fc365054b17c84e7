/*
 * The strict scan and the envelope: what passes, what is refused, for which
 * reason and where.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>

#include "proto/buf.h"
#include "proto/frames.h"
#include "proto/limits.h"
#include "proto/tree.h"

#include "../../relay/emit.h"
#include "../../relay/envelope.h"
#include "../../relay/scan.h"

#define SUITE "tests/data/jsontestsuite/test_parsing"

static struct scan scan;
static struct reading reading;

static enum refusal
read_line(int server, const char *p, size_t n)
{
	enum refusal why =
	    scan_line(&scan, p, n, server ? SCAN_SERVER : SCAN_CLIENT);

	if (why != REFUSAL_NONE) {
		reading.offset = scan.fault;
		return why;
	}
	return envelope_read(&scan, server, &reading);
}

static enum refusal
client(const char *line)
{
	return read_line(0, line, strlen(line));
}

static enum refusal
server(const char *line)
{
	return read_line(1, line, strlen(line));
}

/* A line as a table row: what client and server side make of it. */
struct row {
	const char *line;
	enum refusal client, server;
};
#define OK REFUSAL_NONE
#define R(x) REFUSAL_##x
#define REQ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\""

static void
check_rows(const struct row *rows, size_t n)
{
	enum refusal c, s;
	size_t i;

	for (i = 0; i < n; i++) {
		c = client(rows[i].line);
		s = server(rows[i].line);
		if (c != rows[i].client || s != rows[i].server)
			fail_msg("%s: client %s (want %s), server %s (want %s)",
				 rows[i].line, refusal_word(c),
				 refusal_word(rows[i].client), refusal_word(s),
				 refusal_word(rows[i].server));
	}
}
#define CHECK_ROWS(rows) check_rows(rows, sizeof(rows) / sizeof((rows)[0]))

static void
grammar(void **state)
{
	static const struct row rows[] = {
	    {REQ "}", OK, OK},
	    {" \t" REQ " } \r", OK, OK},
	    {REQ ",\"params\":{}}", OK, OK},
	    {REQ ",}", R(GRAMMAR), R(GRAMMAR)},
	    {REQ "} x", R(GRAMMAR), R(GRAMMAR)},
	    {REQ "}{}", R(GRAMMAR), R(GRAMMAR)},
	    {REQ, R(GRAMMAR), R(GRAMMAR)},
	    {"", R(GRAMMAR), R(GRAMMAR)},
	    {"{", R(GRAMMAR), R(GRAMMAR)},
	    {"{\"a\"", R(GRAMMAR), R(GRAMMAR)},
	    {"{\"a\":", R(GRAMMAR), R(GRAMMAR)},
	    {"{\"a\":1", R(GRAMMAR), R(GRAMMAR)},
	    {"{\"a\":1,", R(GRAMMAR), R(GRAMMAR)},
	    {"{\"a\":1]", R(GRAMMAR), R(GRAMMAR)},
	    {"{a:1}", R(GRAMMAR), R(GRAMMAR)},
	    {"{'a':1}", R(GRAMMAR), R(GRAMMAR)},
	    {REQ ",\"v\":007}", R(GRAMMAR), R(GRAMMAR)},
	    {REQ ",\"v\":+1}", R(GRAMMAR), R(GRAMMAR)},
	    {REQ ",\"v\":.5}", R(GRAMMAR), R(GRAMMAR)},
	    {REQ ",\"v\":1.}", R(GRAMMAR), R(GRAMMAR)},
	    {REQ ",\"v\":1e}", R(GRAMMAR), R(GRAMMAR)},
	    {REQ ",\"v\":-}", R(GRAMMAR), R(GRAMMAR)},
	    {REQ ",\"v\":0x1}", R(GRAMMAR), R(GRAMMAR)},
	    {REQ ",\"v\":NaN}", R(GRAMMAR), R(GRAMMAR)},
	    {REQ ",\"v\":-0.5e+10}", OK, OK},
	    {REQ ",\"v\":1e400}", OK, OK},
	    {REQ ",\"v\":tru}", R(GRAMMAR), R(GRAMMAR)},
	    {REQ ",\"v\":TRUE}", R(GRAMMAR), R(GRAMMAR)},
	    {REQ ",\"v\":\"\t\"}", R(GRAMMAR), R(GRAMMAR)},
	    {REQ ",\"v\":\"\\x\"}", R(GRAMMAR), R(GRAMMAR)},
	    {REQ ",\"v\":\"\\u12g4\"}", R(GRAMMAR), R(GRAMMAR)},
	    {REQ ",\"v\":\"\x7f\"}", OK, OK},
	    {REQ ",\"v\":\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82\"}", OK, OK},
	    {REQ ",\"v\":\"\xff\"}", R(UTF8), R(UTF8)},
	    {REQ ",\"v\":\"\xc0\xaf\"}", R(UTF8), R(UTF8)},
	    {REQ ",\"v\":\"\xed\xa0\x80\"}", R(UTF8), R(UTF8)},
	    {REQ ",\"v\":\"\xf4\x90\x80\x80\"}", R(UTF8), R(UTF8)},
	    {REQ ",\"v\":\"\xe2\x82\"}", R(UTF8), R(UTF8)},
	    {"\xef\xbb\xbf" REQ "}", R(GRAMMAR), R(GRAMMAR)},
	    /* Not line ends, only text: U+2028, U+2029, U+0085. */
	    {REQ ",\"v\":\"\xe2\x80\xa8\xe2\x80\xa9\xc2\x85\"}", OK, OK},
	};

	(void)state;
	CHECK_ROWS(rows);
}

static void
strings(void **state)
{
	static const struct row rows[] = {
	    {REQ ",\"v\":\"\\u0000\"}", R(NUL), OK},
	    {REQ ",\"v\\u0000\":1}", R(NUL), OK},
	    {REQ ",\"v\":\"\\ud83d\"}", R(SURROGATE), OK},
	    {REQ ",\"v\":\"\\ude00\"}", R(SURROGATE), OK},
	    {REQ ",\"v\":\"\\ud83d\\ude00\"}", OK, OK},
	    {REQ ",\"v\":\"\\ud83d\\ud83d\\ude00\"}", R(SURROGATE), OK},
	    {REQ ",\"v\":\"\\ud83dx\\ude00\"}", R(SURROGATE), OK},
	    {REQ ",\"v\":\"\\ud83d\\u0041\"}", R(SURROGATE), OK},
	    {REQ ",\"v\":\"\\ud83d\\ue000\"}", R(SURROGATE), OK},
	    {REQ ",\"v\":\"\\ud83d\\u12\"}", R(GRAMMAR), R(GRAMMAR)},
	    {REQ ",\"v\":\"\\ud83d\\n\"}", R(SURROGATE), OK},
	    /* The order: a surrogate before a NUL, wherever they stand. */
	    {REQ ",\"v\":\"\\u0000\",\"w\":\"\\ud800\"}", R(SURROGATE), OK},
	};

	(void)state;
	CHECK_ROWS(rows);
}

/* Each byte at each place of the eight that are looked at together. */
static void
every_byte(void **state)
{
	char line[] = REQ ",\"v\":\"abcdefghijklmnopqrstuvwx\"}";
	char *text = strstr(line, "abc");
	enum refusal want;
	int i, c;

	(void)state;
	for (i = 0; i < 24; i++)
		for (c = 0; c < 256; c++) {
			char was = text[i];

			want = c >= 0x80 ? R(UTF8) : OK;
			/* After a quote the rest of the text is wrong. */
			if (c < 0x20 || c == '"')
				want = R(GRAMMAR);
			if (c == '\\') /* may be an escape or not */
				continue;
			text[i] = (char)c;
			assert_int_equal(read_line(0, line, sizeof(line) - 1),
					 want);
			text[i] = was;
		}
}

static void
keys(void **state)
{
	static const struct row rows[] = {
	    {REQ ",\"method\":\"y\"}", R(DUPLICATE), R(DUPLICATE)},
	    {REQ ",\"m\\u0065thod\":\"y\"}", R(DUPLICATE), R(DUPLICATE)},
	    {REQ ",\"params\":{\"a\":1,\"a\":1}}", R(DUPLICATE), OK},
	    {REQ ",\"params\":{\"a\":[{\"b\":1,\"\\u0062\":2}]}}", R(DUPLICATE),
	     OK},
	    {REQ ",\"params\":{\"a\":1,\"a\\u0000\":1}}", R(NUL), OK},
	    {REQ ",\"params\":{\"a\":{\"a\":{\"a\":1}},\"b\":{\"a\":1}}}", OK,
	     OK},
	    {REQ ",\"params\":{\"1\":0,\"2\":0,\"3\":0,\"4\":0,\"5\":0,"
		 "\"6\":0,\"7\":0,\"8\":0,\"9\":0,\"10\":0,\"\\u0031\":0}}",
	     R(DUPLICATE), OK},
	    {REQ ",\"ID\":2}", R(KEY_CASE), R(KEY_CASE)},
	    {REQ ",\"\\u0049d\":2}", R(KEY_CASE), R(KEY_CASE)},
	    {REQ ",\"param\xc5\xbf\":{}}", R(KEY_CASE), R(KEY_CASE)},
	    {REQ ",\"params\":{\"Name\":1}}", R(KEY_CASE), OK},
	    {REQ ",\"params\":{\"ta\xc5\xbf\xe2\x84\xaa\":1}}", R(KEY_CASE),
	     OK},
	    {REQ ",\"params\":{\"arguments\":{\"Name\":1,\"ID\":2}}}", OK, OK},
	    {REQ ",\"params\":{\"Id\":1}}", OK, OK},
	    {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
	     "\"params\":{\"progressToken\":1,\"progressToken\":2}}",
	     R(DUPLICATE), R(DUPLICATE)},
	    {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
	     "\"params\":{\"requestId\":1,\"request\\u0049d\":2}}",
	     R(DUPLICATE), R(DUPLICATE)},
	    {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\","
	     "\"params\":{\"data\":1,\"data\":2}}",
	     R(DUPLICATE), OK},
	};

	(void)state;
	CHECK_ROWS(rows);
}

#define V "{\"jsonrpc\":\"2.0\","

static void
messages(void **state)
{
	static const struct row rows[] = {
	    {"[]", R(ARRAY), R(ARRAY)},
	    {"[{\"a\":1,\"a\":\"\\u0000\"}]", R(ARRAY), R(ARRAY)},
	    {"[\"\\ud800\"]", R(ARRAY), R(ARRAY)},
	    {"42", R(NOT_OBJECT), R(NOT_OBJECT)},
	    {"null", R(NOT_OBJECT), R(NOT_OBJECT)},
	    {"\"x\"", R(NOT_OBJECT), R(NOT_OBJECT)},
	    {"{}", R(JSONRPC), R(JSONRPC)},
	    {"{\"status\":200,\"message\":\"ok\"}", R(JSONRPC), R(JSONRPC)},
	    {"{\"jsonrpc\":2.0,\"id\":1,\"method\":\"x\"}", R(JSONRPC),
	     R(JSONRPC)},
	    {"{\"jsonrpc\":\"2.0 \",\"id\":1,\"method\":\"x\"}", R(JSONRPC),
	     R(JSONRPC)},
	    {"{\"jsonrpc\":\"\\u0032.0\",\"id\":1,\"method\":\"x\"}", OK, OK},
	    {V "\"id\":null,\"method\":\"x\"}", R(ID_NULL), R(ID_NULL)},
	    {V "\"id\":null,\"result\":{}}", R(ID_NULL), R(ID_NULL)},
	    {V "\"id\":null,\"error\":{}}", R(ID_NULL), OK},
	    {V "\"error\":{}}", OK, OK},
	    {V "\"result\":{}}", R(ID_TYPE), R(ID_TYPE)},
	    {V "\"id\":1.5,\"method\":\"x\"}", R(ID_TYPE), R(ID_TYPE)},
	    {V "\"id\":1.0,\"method\":\"x\"}", R(ID_TYPE), R(ID_TYPE)},
	    {V "\"id\":1e2,\"method\":\"x\"}", R(ID_TYPE), R(ID_TYPE)},
	    {V "\"id\":true,\"method\":\"x\"}", R(ID_TYPE), R(ID_TYPE)},
	    {V "\"id\":{},\"method\":\"x\"}", R(ID_TYPE), R(ID_TYPE)},
	    {V "\"id\":[1],\"method\":\"x\"}", R(ID_TYPE), R(ID_TYPE)},
	    {V "\"id\":\"\",\"method\":\"x\"}", OK, OK},
	    {V "\"id\":-1,\"method\":\"x\"}", OK, OK},
	    {V "\"id\":9007199254740993,\"method\":\"x\"}", OK, OK},
	    {V "\"id\":\"\\ud800\",\"method\":\"x\"}", R(SURROGATE),
	     R(ID_TYPE)},
	    {V "\"id\":\"\\u0000\",\"method\":\"x\"}", R(NUL), R(ID_TYPE)},
	    {V "\"id\":1,\"method\":5}", R(METHOD_TYPE), R(METHOD_TYPE)},
	    {V "\"id\":1,\"method\":null}", R(METHOD_TYPE), R(METHOD_TYPE)},
	    {V "\"id\":1,\"method\":\"\\u0000\"}", R(NUL), R(METHOD_TYPE)},
	    {V "\"id\":1,\"method\":\"\\ud800\"}", R(SURROGATE),
	     R(METHOD_TYPE)},
	    {REQ ",\"params\":[]}", R(PARAMS_TYPE), R(PARAMS_TYPE)},
	    {REQ ",\"params\":null}", R(PARAMS_TYPE), R(PARAMS_TYPE)},
	    {V "\"id\":1,\"result\":{},\"params\":1}", R(PARAMS_TYPE), OK},
	    {V "\"id\":1}", R(NO_METHOD), R(NO_METHOD)},
	    {V "\"id\":1,\"result\":{},\"error\":{}}", R(MIXED), R(MIXED)},
	    {REQ ",\"result\":{}}", R(MIXED), R(MIXED)},
	    {REQ ",\"error\":null}", R(MIXED), R(MIXED)},
	    {V "\"id\":1,\"result\":null}", OK, OK},
	    {V "\"method\":\"tools/call\",\"params\":{}}", R(CALL_WITHOUT_ID),
	     OK},
	    {V "\"id\":1,\"method\":\"tools/call\",\"params\":{}}", OK, OK},
	    {V "\"method\":\"tools\\/call\"}", R(CALL_WITHOUT_ID), OK},
	    {V "\"method\":\"tools/list\"}", OK, OK},
	};

	(void)state;
	CHECK_ROWS(rows);
}

static char *
repeat(const char *before, const char *what, size_t n, const char *after)
{
	struct buf b = BUF_INIT;

	buf_puts(&b, before);
	while (n-- > 0)
		buf_puts(&b, what);
	buf_puts(&b, after);
	buf_putc(&b, '\0');
	return b.data;
}

static void
check_both(char *line, enum refusal want)
{
	assert_int_equal(client(line), want);
	assert_int_equal(server(line), want);
	free(line);
}

static void
limits(void **state)
{
	char *line;

	(void)state;
	check_both(
	    repeat(V "\"method\":\"x\",\"id\":\"", "i", DW_ID_MAX, "\"}"), OK);
	check_both(
	    repeat(V "\"method\":\"x\",\"id\":\"", "i", DW_ID_MAX + 1, "\"}"),
	    R(ID_LONG));
	check_both(
	    repeat(V "\"method\":\"x\",\"id\":\"", "\\u0061", DW_ID_MAX, "\"}"),
	    OK);
	check_both(repeat(V "\"method\":\"x\",\"id\":\"", "\\u0061",
			  DW_ID_MAX + 1, "\"}"),
		   R(ID_LONG));
	check_both(
	    repeat(V "\"id\":1,\"method\":\"", "\\n", DW_METHOD_MAX + 1, "\"}"),
	    R(METHOD_LONG));
	check_both(repeat(V "\"method\":\"x\",\"id\":", "7", DW_ID_MAX, "}"),
		   OK);
	check_both(
	    repeat(V "\"method\":\"x\",\"id\":", "7", DW_ID_MAX + 1, "}"),
	    R(ID_LONG));
	check_both(
	    repeat(V "\"id\":1,\"method\":\"", "m", DW_METHOD_MAX, "\"}"), OK);
	check_both(
	    repeat(V "\"id\":1,\"method\":\"", "m", DW_METHOD_MAX + 1, "\"}"),
	    R(METHOD_LONG));
	check_both(repeat(V "\"method\":\"notifications/progress\",\"params\":{"
			    "\"progressToken\":\"",
			  "t", DW_ID_MAX + 1, "\"}}"),
		   R(ID_LONG));
	check_both(repeat(V
			  "\"method\":\"notifications/cancelled\",\"params\":{"
			  "\"requestId\":",
			  "1", DW_ID_MAX + 1, "}}"),
		   R(ID_LONG));
	line = repeat(REQ ",\"params\":{\"_meta\":{\"progressToken\":\"", "t",
		      DW_ID_MAX + 1, "\"}}}");
	assert_int_equal(client(line), R(ID_LONG));
	assert_int_equal(server(line), OK);
	free(line);
}

/* The message's own object is the first level. */
static char *
nested(size_t levels)
{
	struct buf b = BUF_INIT;
	size_t i;

	buf_puts(&b, REQ ",\"v\":");
	for (i = 0; i < levels; i++)
		buf_putc(&b, '[');
	for (i = 0; i < levels; i++)
		buf_putc(&b, ']');
	buf_puts(&b, "}");
	buf_putc(&b, '\0');
	return b.data;
}

static void
depth_and_nodes(void **state)
{
	/* Five values besides: the object, three members and the array. */
	size_t most = DW_NODES_MAX - 5;

	(void)state;
	check_both(nested(DW_DEPTH_MAX - 1), OK);
	check_both(nested(DW_DEPTH_MAX), R(DEPTH));
	check_both(nested(100000), R(DEPTH));
	check_both(repeat(REQ ",\"v\":[", "1,", most - 1, "1]}"), OK);
	check_both(repeat(REQ ",\"v\":[", "1,", most, "1]}"), R(NODES));
}

static void
offsets(void **state)
{
	(void)state;
	assert_int_equal(client("{\"a\":tru}"), R(GRAMMAR));
	assert_int_equal(reading.offset, 5);
	assert_int_equal(client("{\"a\":\"x\xff\"}"), R(UTF8));
	assert_int_equal(reading.offset, 7);
	assert_int_equal(client(V "\"id\":1.5,\"method\":\"x\"}"), R(ID_TYPE));
	assert_int_equal(reading.offset, sizeof(V) - 1 + 5);
	assert_int_equal(client("{\"a\":{\"b\":1,\"b\":2}}"), R(DUPLICATE));
	assert_int_equal(reading.offset, 5);
	assert_int_equal(client(REQ ",\"ID\":2}"), R(KEY_CASE));
	assert_int_equal(reading.offset, sizeof(REQ) - 1 + 1);
}

static void
assert_scalar(const struct scalar *s, int type, const char *text)
{
	assert_int_equal(s->type, type);
	assert_int_equal(s->len, strlen(text));
	assert_memory_equal(s->p, text, s->len);
}

static void
envelopes(void **state)
{
	struct envelope *e = &reading.e;

	(void)state;
	assert_int_equal(
	    server("{\"jsonrpc\":\"2.0\",\"m\\u0065thod\":\"a\\/b\","
		   "\"id\":\"\\u00e9\"}"),
	    OK);
	assert_int_equal(e->kind, KIND_REQUEST);
	assert_scalar(&e->id, SCALAR_STRING, "\xc3\xa9");
	assert_int_equal(e->method_len, 3);
	assert_memory_equal(e->method, "a/b", 3);

	assert_int_equal(
	    server(V "\"method\":\"notifications/progress\","
		     "\"params\":{\"progressToken\":\"t\",\"requestId\":4}}"),
	    OK);
	assert_int_equal(e->kind, KIND_NOTIFICATION);
	assert_int_equal(e->id.type, SCALAR_NONE);
	assert_scalar(&e->token, SCALAR_STRING, "t");
	assert_int_equal(
	    server(V "\"method\":\"notifications/cancelled\","
		     "\"params\":{\"progressToken\":\"t\",\"requestId\":4}}"),
	    OK);
	assert_scalar(&e->token, SCALAR_NUMBER, "4");
	assert_int_equal(server(V "\"method\":\"other\","
				  "\"params\":{\"progressToken\":\"t\"}}"),
			 OK);
	assert_int_equal(e->token.type, SCALAR_NONE);
	assert_int_equal(server(V "\"method\":\"notifications/progress\","
				  "\"params\":{\"progressToken\":1.5}}"),
			 OK);
	assert_int_equal(e->token.type, SCALAR_NONE);

	assert_int_equal(server(V "\"id\":null,\"error\":{\"code\":1}}"), OK);
	assert_int_equal(e->kind, KIND_ERROR);
	assert_int_equal(e->id.type, SCALAR_NONE);
}

static uint8_t
flags_of(const char *result)
{
	char line[256];

	snprintf(line, sizeof(line), V "\"id\":1,\"result\":%s}", result);
	assert_int_equal(server(line), OK);
	assert_int_equal(reading.e.kind, KIND_RESULT);
	return reading.e.flags;
}

static void
results(void **state)
{
	(void)state;
	assert_int_equal(flags_of("{}"), 0);
	assert_int_equal(flags_of("[{\"isError\":true}]"), 0);
	assert_int_equal(flags_of("{\"isError\":true}"), ENVELOPE_IS_ERROR);
	assert_int_equal(flags_of("{\"isError\":\"true\"}"), 0);
	assert_int_equal(flags_of("{\"x\":{\"isError\":true}}"), 0);
	assert_int_equal(flags_of("{\"task\":{}}"), ENVELOPE_TASK);
	assert_int_equal(flags_of("{\"task\":1}"), 0);
	assert_int_equal(flags_of("{\"resultType\":\"t\\u0061sk\"}"),
			 ENVELOPE_TASK);
	assert_int_equal(flags_of("{\"resultType\":\"input_required\"}"),
			 ENVELOPE_INPUT);
	flags_of("{\"protocolVersion\":\"2025-11-25\"}");
	assert_int_equal(reading.e.version_len, 10);
	assert_memory_equal(reading.e.version, "2025-11-25", 10);
	flags_of("{\"protocolVersion\":\"123456789012345678901234567890123\"}");
	assert_int_equal(reading.e.version_len, 0);
	flags_of("{\"protocolVersion\":\"a\\u0000b\"}");
	assert_int_equal(reading.e.version_len, 0);
}

static void
tools(void **state)
{
	char *line;

	(void)state;
	flags_of("{\"tools\":[]}");
	assert_true(reading.tools);
	assert_true(reading.told);
	flags_of("{\"tools\":{}}");
	assert_false(reading.tools);
	assert_false(reading.told);
	flags_of("{\"instructions\":1}");
	assert_true(reading.told);
	flags_of("{\"s\\u0065rverInfo\":null}");
	assert_true(reading.told);
	flags_of("{\"x\":{\"tools\":[]}}");
	assert_false(reading.tools);
	line = repeat(V "\"id\":1,\"result\":{\"tools\":[", "{\"n\":[1,2]},",
		      DW_TOOLS_MAX - 1, "{}]}}");
	check_both(line, OK);
	line = repeat(V "\"id\":1,\"result\":{\"tools\":[", "{\"n\":[1,2]},",
		      DW_TOOLS_MAX, "{}]}}");
	assert_int_equal(server(line), R(TOOLS));
	assert_int_equal(client(line), OK);
	free(line);
}

/* Nothing of one line may be seen in the next. */
static void
no_memory_of_before(void **state)
{
	(void)state;
	assert_int_equal(client("{\"v\":\"\\u0000\",\"ID\":1,\"a\":1,\"a\":2}"),
			 R(NUL));
	assert_int_equal(client(REQ "}"), OK);
	assert_int_equal(server(V "\"id\":1,\"result\":{\"isError\":true}}"),
			 OK);
	assert_int_equal(server(V "\"id\":1,\"result\":{}}"), OK);
	assert_int_equal(reading.e.flags, 0);
	scan_trim(&scan);
	assert_int_equal(client(REQ "}"), OK);
}

/* Refused from the client on purpose, though they are JSON. */
static const char *const on_purpose[] = {
    "y_object_duplicated_key.json",
    "y_object_duplicated_key_and_value.json",
    "y_object_escaped_null_in_key.json",
    "y_string_null_escape.json",
};

static int
is_on_purpose(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(on_purpose) / sizeof(on_purpose[0]); i++)
		if (strcmp(name, on_purpose[i]) == 0)
			return 1;
	return 0;
}

static void
put_tree(void *arg, const void *p, size_t n)
{
	buf_put(arg, p, n);
}

/* What was accepted has to be a tree that the monitor accepts. */
static void
check_tree(const char *name, const struct buf *line)
{
	struct tree_reader r;
	struct tree_token t;
	struct buf tree = BUF_INIT;
	enum tree_status s;

	emit_tree(line->data, line->len, put_tree, &tree);
	tree_reader_init(&r, tree.data, tree.len);
	while ((s = tree_next(&r, &t)) == TREE_OK)
		;
	if (s != TREE_DONE)
		fail_msg("%s: the tree is refused", name);
	buf_free(&tree);
}

static void
wrap_file(const char *name, struct buf *line)
{
	char path[512];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", SUITE, name);
	f = fopen(path, "rb");
	assert_non_null(f);
	buf_reset(line, 1 << 20);
	buf_puts(line, REQ ",\"params\":{\"v\":");
	do {
		n = fread(buf_reserve(line, 65536), 1, 65536, f);
		line->len += n;
	} while (n > 0);
	fclose(f);
	buf_puts(line, "}}");
}

static void
one_file(const char *name, struct buf *line)
{
	enum refusal c, s;

	wrap_file(name, line);
	c = read_line(0, line->data, line->len);
	s = read_line(1, line->data, line->len);
	if (name[0] == 'n' && (c == OK || s == OK))
		fail_msg("%s was accepted", name);
	if (name[0] == 'y') {
		if (s != OK)
			fail_msg("%s: server: %s", name, refusal_word(s));
		if ((c == OK) == is_on_purpose(name))
			fail_msg("%s: client: %s", name, refusal_word(c));
	}
	/* Server and client differ only in what is said to be different. */
	if (c != s && c != R(DUPLICATE) && c != R(NUL) && c != R(SURROGATE))
		fail_msg("%s: client %s, server %s", name, refusal_word(c),
			 refusal_word(s));
	if (c == OK)
		check_tree(name, line);
}

static void
suite(void **state)
{
	struct buf line = BUF_INIT;
	struct dirent *d;
	size_t n = 0;
	DIR *dir;

	(void)state;
	dir = opendir(SUITE);
	assert_non_null(dir);
	while ((d = readdir(dir)) != NULL)
		if (d->d_name[0] != '.') {
			one_file(d->d_name, &line);
			n++;
		}
	closedir(dir);
	assert_true(n > 300);
	buf_free(&line);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(grammar),
	    cmocka_unit_test(strings),
	    cmocka_unit_test(every_byte),
	    cmocka_unit_test(keys),
	    cmocka_unit_test(messages),
	    cmocka_unit_test(limits),
	    cmocka_unit_test(depth_and_nodes),
	    cmocka_unit_test(offsets),
	    cmocka_unit_test(envelopes),
	    cmocka_unit_test(results),
	    cmocka_unit_test(tools),
	    cmocka_unit_test(no_memory_of_before),
	    cmocka_unit_test(suite),
	};

	return cmocka_run_group_tests_name("scan", tests, NULL, NULL);
}
