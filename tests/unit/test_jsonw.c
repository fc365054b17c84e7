/*
 * The JSON writer: strings of every class of code point, ids, members.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "proto/buf.h"
#include "proto/frames.h"
#include "proto/text.h"

#include "jsonw.h"

static void
wrote(struct buf *b, const char *want)
{
	buf_putc(b, '\0');
	assert_string_equal(buf_head(b), want);
	b->len = 0;
}

static void
string_is(const char *p, size_t n, int safe, const char *want)
{
	struct buf b = BUF_INIT;

	jsonw_string(&b, p, n, safe);
	wrote(&b, want);
	buf_free(&b);
}

/* How a code point has to be written, told again from RFC 8259. */
static void
escaped(uint32_t cp, int escape, char *out)
{
	const char *names = "\"\\\b\f\n\r\t", *letters = "\"\\bfnrt", *at;
	char utf8[5] = "";

	at = cp > 0 && cp < 0x80 ? strchr(names, (int)cp) : NULL;
	if (at != NULL)
		sprintf(out, "\"\\%c\"", letters[at - names]);
	else if (cp < 0x20 || (escape && cp < 0x10000))
		sprintf(out, "\"\\u%04x\"", cp);
	else if (escape)
		sprintf(out, "\"\\u%04x\\u%04x\"", 0xd7c0 + (cp >> 10),
			0xdc00 + (cp & 0x3ff));
	else {
		utf8[text_utf8_put(cp, utf8)] = '\0';
		sprintf(out, "\"%s\"", utf8);
	}
}

static void
every_code_point(void **state)
{
	struct buf b = BUF_INIT;
	char utf8[4], want[32];
	uint32_t cp;
	size_t n;
	int safe;

	(void)state;
	for (cp = 0; cp <= 0x10ffff; cp++) {
		if (cp >= 0xd800 && cp <= 0xdfff)
			continue;
		n = text_utf8_put(cp, utf8);
		for (safe = 0; safe < 2; safe++) {
			jsonw_string(&b, utf8, n, safe);
			escaped(cp, safe && text_unsafe(cp), want);
			if (buf_used(&b) != strlen(want) ||
			    memcmp(buf_head(&b), want, strlen(want)) != 0)
				fail_msg("U+%04X, safe %d: not %s", cp, safe,
					 want);
			b.len = 0;
		}
	}
	buf_free(&b);
}

static void
strings(void **state)
{
	(void)state;
	string_is("", 0, 0, "\"\"");
	string_is("plain", 5, 0, "\"plain\"");
	string_is("a\"b\\c/d", 7, 0, "\"a\\\"b\\\\c/d\"");
	string_is("\b\f\n\r\t\x01\x1f", 7, 0,
		  "\"\\b\\f\\n\\r\\t\\u0001\\u001f\"");
	string_is("a\0b", 3, 0, "\"a\\u0000b\"");
	string_is("\x7f", 1, 0, "\"\x7f\"");
	string_is("\x7f", 1, 1, "\"\\u007f\"");
	/* A right-to-left override, a zero-width space, a tag, C1. */
	string_is("x\u202ey", 5, 0, "\"x\u202ey\"");
	string_is("x\u202ey", 5, 1, "\"x\\u202ey\"");
	string_is("\u200b", 3, 1, "\"\\u200b\"");
	string_is("\U000e0041", 4, 1, "\"\\udb40\\udc41\"");
	string_is("\xc2\x9b", 2, 1, "\"\\u009b\"");
	/* What only looks strange stays as it is. */
	string_is("\u00e9\u4e2d\U0001f600", 9, 1, "\"\u00e9\u4e2d\U0001f600\"");
	string_is("<a href='x'>&", 13, 1, "\"<a href='x'>&\"");
}

static void
malformed(void **state)
{
	static const struct {
		const char *p;
		size_t n;
		const char *want;
	} cases[] = {
	    {"\x80", 1, "\"\\ufffd\""},
	    {"a\xffz", 3, "\"a\\ufffdz\""},
	    {"\xc3", 1, "\"\\ufffd\""},            /* cut short */
	    {"\xc3\"", 2, "\"\\ufffd\\\"\""},      /* must not eat a quote */
	    {"\xe2\x82", 2, "\"\\ufffd\\ufffd\""}, /* cut short */
	    {"\xc0\x80", 2, "\"\\ufffd\\ufffd\""}, /* NUL, overlong */
	    {"\xc0\xa2", 2, "\"\\ufffd\\ufffd\""}, /* a quote, overlong */
	    {"\xed\xa0\x80", 3, "\"\\ufffd\\ufffd\\ufffd\""}, /* surrogate */
	    {"\xf4\x90\x80\x80", 4, "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		string_is(cases[i].p, cases[i].n, 0, cases[i].want);
		string_is(cases[i].p, cases[i].n, 1, cases[i].want);
	}
}

/* No byte of the output depends on how the input was cut into runs. */
static void
long_string(void **state)
{
	struct buf in = BUF_INIT, out = BUF_INIT, want = BUF_INIT;
	int i;

	(void)state;
	buf_putc(&want, '"');
	for (i = 0; i < 20000; i++) {
		buf_printf(&in, "%0*d\n\u00e9", i % 40 + 1, i);
		buf_printf(&want, "%0*d\\n\u00e9", i % 40 + 1, i);
	}
	buf_putc(&want, '"');
	jsonw_string(&out, buf_head(&in), buf_used(&in), 1);
	assert_int_equal(buf_used(&out), buf_used(&want));
	assert_memory_equal(buf_head(&out), buf_head(&want), buf_used(&want));
	buf_free(&in);
	buf_free(&out);
	buf_free(&want);
}

static void
scalar_is(uint8_t type, const char *text, int safe, const char *want)
{
	struct scalar s = {type, (uint16_t)strlen(text), text};
	struct buf b = BUF_INIT;

	jsonw_scalar(&b, &s, safe);
	wrote(&b, want);
	buf_free(&b);
}

static void
scalars(void **state)
{
	(void)state;
	scalar_is(SCALAR_NONE, "", 0, "null");
	scalar_is(SCALAR_NUMBER, "1", 0, "1");
	scalar_is(SCALAR_NUMBER, "-0", 0, "-0");
	scalar_is(SCALAR_NUMBER, "123456789012345678901234567890", 1,
		  "123456789012345678901234567890");
	scalar_is(SCALAR_STRING, "", 0, "\"\"");
	scalar_is(SCALAR_STRING, "1", 0, "\"1\"");
	scalar_is(SCALAR_STRING, "a\"\n", 0, "\"a\\\"\\n\"");
	scalar_is(SCALAR_STRING, "\u202e", 0, "\"\u202e\"");
	scalar_is(SCALAR_STRING, "\u202e", 1, "\"\\u202e\"");
}

static void
members(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	buf_puts(&b, "{");
	jsonw_str(&b, "a", "1{");
	jsonw_u64(&b, "b", 0);
	jsonw_u64(&b, "c", UINT64_MAX);
	jsonw_strn(&b, "d", "x\0y\x1b", 4);
	jsonw_key(&b, "e\"");
	buf_puts(&b, "[{");
	jsonw_str(&b, "f", "[");
	jsonw_str(&b, "g", "\u202e");
	buf_puts(&b, "}]}");
	wrote(&b, "{\"a\":\"1{\",\"b\":0,\"c\":18446744073709551615,"
		  "\"d\":\"x\\u0000y\\u001b\",\"e\\\"\":[{\"f\":\"[\","
		  "\"g\":\"\\u202e\"}]}");
	/* At the very start there is nothing to separate from. */
	jsonw_u64(&b, "a", 1);
	wrote(&b, "\"a\":1");
	/* A comma where something was read off the front, too. */
	buf_puts(&b, "xx{");
	buf_consume(&b, 2);
	jsonw_u64(&b, "a", 1);
	jsonw_u64(&b, "b", 2);
	wrote(&b, "{\"a\":1,\"b\":2");
	buf_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_code_point), cmocka_unit_test(strings),
	    cmocka_unit_test(malformed),        cmocka_unit_test(long_string),
	    cmocka_unit_test(scalars),          cmocka_unit_test(members),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
