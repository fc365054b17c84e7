/*
 * The canonical form: one definition, one hash, however it was written; two
 * definitions, two hashes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <cjson/cJSON.h>
#include <sodium.h>

#include "proto/alloc.h"
#include "proto/buf.h"
#include "proto/limits.h"

#include "canon.h"
#include "order.h"
#include "pins_help.h"

static char *
canonical(const char *json)
{
	cJSON *tree = tree_of(json);
	struct buf b = BUF_INIT;

	canon_print(&b, tree);
	buf_putc(&b, '\0');
	cJSON_Delete(tree);
	return b.data;
}

static void
prints(const char *json, const char *expected)
{
	char *text = canonical(json);

	assert_string_equal(text, expected);
	free(text);
}

static void
flattens(const char *json, const char *expected)
{
	cJSON *tree = tree_of(json);
	struct buf b = BUF_INIT;

	assert_int_equal(canon_flatten(&b, tree, SIZE_MAX), 0);
	buf_putc(&b, '\0');
	assert_string_equal(b.data, expected);
	cJSON_Delete(tree);
	buf_free(&b);
}

static int
same(const char *a, const char *b)
{
	cJSON *x = tree_of(a), *y = tree_of(b);
	char ha[65], hb[65];

	canon_hash(x, ha);
	canon_hash(y, hb);
	cJSON_Delete(x);
	cJSON_Delete(y);
	return strcmp(ha, hb) == 0;
}

/* RFC 8785 section 3.2.3. */
static void
rfc_order(void **state)
{
	(void)state;
	prints("{\"\\u20ac\":\"Euro Sign\",\"\\r\":\"Carriage Return\","
	       "\"\\ufb33\":\"Hebrew Letter Dalet With Dagesh\","
	       "\"1\":\"One\",\"\\ud83d\\ude00\":\"Emoji: Grinning Face\","
	       "\"\\u0080\":\"Control\","
	       "\"\\u00f6\":\"Latin Small Letter O With Diaeresis\"}",
	       "{\"\\r\":\"Carriage Return\",\"1\":\"One\","
	       "\"\xc2\x80\":\"Control\","
	       "\"\xc3\xb6\":\"Latin Small Letter O With Diaeresis\","
	       "\"\xe2\x82\xac\":\"Euro Sign\","
	       "\"\xf0\x9f\x98\x80\":\"Emoji: Grinning Face\","
	       "\"\xef\xac\xb3\":\"Hebrew Letter Dalet With Dagesh\"}");
}

/* Surrogates come before U+E000, among themselves by code point. */
static void
surrogates(void **state)
{
	(void)state;
	assert_true(canon_key_order("\xf0\x90\x80\x80", "\xee\x80\x80") < 0);
	assert_true(canon_key_order("\xef\xbf\xbf", "\xf4\x8f\xbf\xbf") > 0);
	assert_true(canon_key_order("\xed\x9f\xbf", "\xf0\x90\x80\x80") < 0);
	assert_true(canon_key_order("\xf0\x90\x80\x80", "\xf0\x90\x80\x81") <
		    0);
	assert_true(canon_key_order("\xee\x80\x80", "\xef\x80\x80") < 0);
	assert_true(canon_key_order("a\xef\xbf\xbf", "a\xf0\x90\x80\x80") > 0);
	/* As the second byte they are no lead bytes, and weigh as they are. */
	assert_true(canon_key_order("\xc3\xae", "\xc3\xb0") < 0);
	assert_true(canon_key_order("", "a") < 0);
	assert_true(canon_key_order("a", "aa") < 0);
	assert_true(canon_key_order("A", "a") < 0);
	assert_int_equal(canon_key_order("a", "a"), 0);
}

/* RFC 8785 section 3.2.2.2; numbers are left alone. */
static void
escapes(void **state)
{
	(void)state;
	prints("{\"a\":\"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\""
	       "\\/\"}",
	       "{\"a\":\"\xe2\x82\xac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
	prints("{\"a\":\"\\b\\t\\f\\r\\u0008\\u007f\\u0001\"}",
	       "{\"a\":\"\\b\\t\\f\\r\\b\x7f\\u0001\"}");
	prints("{\"a\": [ 1.0, 1, 1e0, -0, 333333333.33333329, true, false , "
	       "null, [], {} ]}",
	       "{\"a\":[1.0,1,1e0,-0,333333333.33333329,true,false,null,[],"
	       "{}]}");
	prints("{}", "{}");
}

static void
order_of_writing(void **state)
{
	(void)state;
	assert_true(same("{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\","
			 "\"properties\":{\"b\":{},\"a\":{}}}}",
			 " { \"inputSchema\" : {\"properties\":{\"\\u0061\":{}"
			 ",\"b\":{}},\n\"type\":\"obj\\u0065ct\"},"
			 "\"n\\u0061me\":\"\\u0074\"}"));
	/* What is in a list stays where it is. */
	assert_false(same("{\"required\":[\"a\",\"b\"]}",
			  "{\"required\":[\"b\",\"a\"]}"));
}

#define TOOL(title, more)                                        \
	"{\"name\":\"t\",\"title\":\"" title                     \
	"\",\"description\":\"Read\",\"inputSchema\":{\"type\":" \
	"\"object\"}" more "}"

static void
every_member_counts(void **state)
{
	static const char *const all[] = {
	    TOOL("T", ""),
	    TOOL("T ", ""),
	    TOOL("\\u0422", ""),
	    TOOL("T", ",\"outputSchema\":{\"type\":\"object\"}"),
	    TOOL("T", ",\"outputSchema\":{\"type\":\"string\"}"),
	    TOOL("T", ",\"icons\":[]"),
	    TOOL("T", ",\"icons\":{}"),
	    TOOL("T", ",\"icons\":[{\"src\":\"a\"}]"),
	    TOOL("T", ",\"icons\":[\"src\",\"a\"]"),
	    TOOL("T", ",\"_meta\":{\"ui\":1}"),
	    TOOL("T", ",\"_meta\":{\"ui\":1.0}"),
	    TOOL("T", ",\"_meta\":{\"ui\":\"1\"}"),
	    TOOL("T", ",\"_meta\":{\"ui\":true}"),
	    TOOL("T", ",\"_meta\":{\"ui\":null}"),
	    TOOL("T", ",\"annotations\":{\"destructiveHint\":true}"),
	    TOOL("T", ",\"annotations\":{\"destructiveHint\":false}"),
	    TOOL("T", ",\"annotations\":{\"DestructiveHint\":false}"),
	    TOOL("e\\u0301", ""), /* no normalisation */
	    TOOL("\\u00e9", ""),
	    TOOL("T\\u200b", ""),
	};
	size_t i, j;

	(void)state;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (j = 0; j < sizeof(all) / sizeof(all[0]); j++)
			assert_int_equal(same(all[i], all[j]), i == j);
}

/* SHA-256 of the canonical text, as anybody else would compute it. */
static void
known_hash(void **state)
{
	cJSON *tree = tree_of("{\"b\":2,\"a\":1}");
	char hex[65];

	(void)state;
	canon_hash(tree, hex);
	assert_string_equal(hex,
			    "43258cff783fe7036d8a43033f830adfc60ec037382473"
			    "548ac742b888292777");
	cJSON_Delete(tree);
}

static void
lines(void **state)
{
	(void)state;
	flattens("{\"b\":[1,{\"x\":true},[]],\"a\":{\"k\":\"v\",\"e\":{}}}",
		 "/a/e\t{}\n/a/k\t\"v\"\n/b/0\t1\n/b/1/x\ttrue\n/b/2\t[]\n");
	flattens("{}", "\t{}\n");
	flattens("{\"\":null,\"a/b~c\":false}", "/\tnull\n/a~1b~0c\tfalse\n");
	/* No line can be forged, and nothing hides. */
	flattens("{\"a\\n/b\\t\\u0022\":\"x\\n/y\\t1\\u001b\\u202e\\u200b"
		 "\\u0085\\u2028\\udb40\\udc41\"}",
		 "/a\\n~1b\\t\\\"\t\"x\\n/y\\t1\\u001b\\u202e\\u200b\\u0085"
		 "\\u2028\\udb40\\udc41\"\n");
	flattens("{\"\\u202e\":\"\xc3\xa9\"}", "/\\u202e\t\"\xc3\xa9\"\n");
	/* An escape is no text that looks like one. */
	flattens("{\"a\":\"\\\\u202e\"}", "/a\t\"\\\\u202e\"\n");
}

static void
bounded(void **state)
{
	cJSON *tree = tree_of("{\"abc\":[1,2,3]}");
	struct buf b = BUF_INIT;
	const size_t whole = 3 * strlen("/abc/0\t1\n");

	(void)state;
	buf_puts(&b, "before");
	assert_int_equal(canon_flatten(&b, tree, whole - 1), -1);
	assert_int_equal(b.len, 6);
	assert_int_equal(canon_flatten(&b, tree, 0), -1);
	assert_int_equal(canon_flatten(&b, tree, whole), 0);
	assert_int_equal(b.len, 6 + whole);
	/* What was read away does not count. */
	buf_consume(&b, 6);
	assert_int_equal(canon_flatten(&b, tree, whole - 1), -1);
	assert_int_equal(buf_used(&b), whole);
	buf_free(&b);
	cJSON_Delete(tree);
}

/* A key above many leaves is repeated in each pointer: it must not be
 * multiplied in memory. */
static void
long_keys(void **state)
{
	struct buf json = BUF_INIT, out = BUF_INIT;
	cJSON *tree;
	size_t i;

	(void)state;
	buf_puts(&json, "{\"");
	for (i = 0; i < 1000000; i++)
		buf_putc(&json, 'k');
	buf_puts(&json, "\":[0");
	for (i = 0; i < 100000; i++)
		buf_puts(&json, ",0");
	buf_puts(&json, "]}");
	buf_putc(&json, '\0');
	tree = tree_of(json.data);
	assert_int_equal(canon_flatten(&out, tree, 4000000), -1);
	assert_true(out.cap < 32000000);
	cJSON_Delete(tree);
	buf_free(&json);
	buf_free(&out);
}

static void
deep(void **state)
{
	struct buf json = BUF_INIT, out = BUF_INIT;
	cJSON *tree;
	size_t i;

	(void)state;
	for (i = 0; i < DW_DEPTH_MAX; i++)
		buf_puts(&json, i + 1 < DW_DEPTH_MAX ? "{\"a\":" : "{}");
	for (i = 0; i + 1 < DW_DEPTH_MAX; i++)
		buf_putc(&json, '}');
	buf_putc(&json, '\0');
	tree = tree_of(json.data);
	canon_print(&out, tree);
	assert_int_equal(out.len, json.len - 1);
	assert_memory_equal(out.data, json.data, out.len);
	cJSON_Delete(tree);
	buf_free(&json);
	buf_free(&out);
}

/* A million members in the worst orders: seconds, not hours. */
static void
million(void **state)
{
	const size_t n = 900000;
	struct buf json = BUF_INIT;
	char a[65], b[65];
	clock_t begun;
	cJSON *tree;
	size_t i;

	(void)state;
	buf_putc(&json, '{');
	for (i = 0; i < n; i++)
		buf_printf(&json, "%s\"%07zu\":0", i ? "," : "", n - i);
	buf_puts(&json, "}");
	buf_putc(&json, '\0');
	tree = tree_of(json.data);
	begun = clock();
	canon_hash(tree, a);
	assert_true(clock() - begun < 20 * CLOCKS_PER_SEC);
	cJSON_Delete(tree);
	json.len = 0;
	buf_putc(&json, '{');
	for (i = 0; i < n; i++)
		buf_printf(&json, "%s\"%07zu\":0", i ? "," : "",
			   i % 2 ? n - i / 2 : i / 2 + 1);
	buf_puts(&json, "}");
	buf_putc(&json, '\0');
	tree = tree_of(json.data);
	canon_hash(tree, b);
	cJSON_Delete(tree);
	assert_string_equal(a, b);
	buf_free(&json);
}

struct item {
	unsigned key, place;
};

static int
item_order(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

/* Every length around the steps of the merge; equal ones keep their order. */
static void
sorting(void **state)
{
	static struct item items[300];
	static const void *v[300];
	const struct item *a, *b;
	size_t n, i;

	(void)state;
	for (n = 0; n <= 300; n++) {
		for (i = 0; i < n; i++) {
			items[i].key = randombytes_uniform(40);
			items[i].place = (unsigned)i;
			v[i] = &items[i];
		}
		order_sort(v, n, item_order);
		for (i = 1; i < n; i++) {
			a = v[i - 1];
			b = v[i];
			assert_true(a->key < b->key ||
				    (a->key == b->key && a->place < b->place));
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rfc_order),
	    cmocka_unit_test(surrogates),
	    cmocka_unit_test(escapes),
	    cmocka_unit_test(order_of_writing),
	    cmocka_unit_test(every_member_counts),
	    cmocka_unit_test(known_hash),
	    cmocka_unit_test(lines),
	    cmocka_unit_test(bounded),
	    cmocka_unit_test(long_keys),
	    cmocka_unit_test(deep),
	    cmocka_unit_test(million),
	    cmocka_unit_test(sorting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
