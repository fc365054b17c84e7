/*
 * What else both sides of the split share: key sets, numbers, UTF-8, visible
 * text, buffers and the cursor over a peer's bytes.
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
#include "proto/keyset.h"
#include "proto/text.h"

static int
has_duplicate(size_t n, size_t same_a, size_t same_b)
{
	struct key_span *keys = calloc(n, sizeof(*keys));
	char(*names)[24] = calloc(n, sizeof(*names));
	size_t i, k;
	int r;

	assert_non_null(keys);
	assert_non_null(names);
	for (i = 0; i < n; i++) {
		k = i == same_b ? same_a : i;
		/* A common beginning, and an order unlike the numbers'. */
		snprintf(names[i], sizeof(names[i]), "key%zu",
			 k * 7919 % 100003);
		keys[i] =
		    (struct key_span){names[i], (uint32_t)strlen(names[i])};
	}
	r = keys_have_duplicate(keys, n);
	free(keys);
	free(names);
	return r;
}

static void
duplicates(void **state)
{
	size_t n;

	(void)state;
	assert_int_equal(keys_have_duplicate(NULL, 0), 0);
	for (n = 2; n < 40; n++) {
		assert_int_equal(has_duplicate(n, 0, 0), 0);
		assert_int_equal(has_duplicate(n, 0, n - 1), 1);
		assert_int_equal(has_duplicate(n, n / 2, n - 1),
				 n / 2 != n - 1);
	}
	assert_int_equal(has_duplicate(100000, 0, 0), 0);
	assert_int_equal(has_duplicate(100000, 5, 99999), 1);
}

static void
duplicates_by_length(void **state)
{
	struct key_span keys[] = {{"a\0b", 3}, {"a", 1}, {"a\0c", 3}, {"", 0}};

	(void)state;
	assert_int_equal(keys_have_duplicate(keys, 4), 0);
	keys[3] = (struct key_span){"a\0b", 3};
	assert_int_equal(keys_have_duplicate(keys, 4), 1);
}

static int
variant(const char *key, enum key_place place)
{
	return key_is_variant(key, strlen(key), place);
}

static void
variants(void **state)
{
	(void)state;
	assert_false(variant("id", KEYS_ENVELOPE));
	assert_true(variant("ID", KEYS_ENVELOPE));
	assert_true(variant("iD", KEYS_ENVELOPE));
	assert_true(variant("jsonRPC", KEYS_ENVELOPE));
	assert_true(variant("j\xc5\xbfonrpc", KEYS_ENVELOPE));
	assert_true(variant("PARAM\xc5\xbf", KEYS_ENVELOPE));
	assert_false(variant("name", KEYS_ENVELOPE));
	assert_false(variant("Name", KEYS_ENVELOPE));
	assert_true(variant("Name", KEYS_PARAMS));
	assert_true(variant("ta\xc5\xbf\xe2\x84\xaa", KEYS_PARAMS));
	assert_true(variant("ur\xc4\xb1", KEYS_PARAMS));
	assert_true(variant("\xc4\xb0"
			    "d",
			    KEYS_ENVELOPE));
	assert_true(variant("reque\xef\xac\x85State", KEYS_PARAMS));
	assert_true(variant("reque\xef\xac\x86State", KEYS_PARAMS));
	assert_false(variant("reque\xef\xac\x87State", KEYS_PARAMS));
	assert_true(variant("InputResponses", KEYS_PARAMS));
	assert_true(variant("inputresponses", KEYS_PARAMS));
	assert_false(variant("inputResponses", KEYS_PARAMS));
	assert_true(variant("_Meta", KEYS_PARAMS));
	assert_false(variant("names", KEYS_PARAMS));
	assert_false(variant("nam", KEYS_PARAMS));
	assert_false(variant("", KEYS_PARAMS));
	assert_false(
	    variant("an argument with a long name of its own", KEYS_PARAMS));
	assert_true(variant("Tools", KEYS_RESULT));
	assert_true(variant("INSTRUCTION\xc5\xbf", KEYS_RESULT));
	assert_true(variant("serverinfo", KEYS_RESULT));
	assert_true(variant("nextcursor", KEYS_RESULT));
	assert_false(variant("tools", KEYS_RESULT));
	assert_false(variant("Id", KEYS_RESULT));
	assert_false(key_is_variant("id\0", 3, KEYS_ENVELOPE));
	assert_false(key_is_variant("\xe2\x84", 2, KEYS_ENVELOPE));
}

static void
numbers(void **state)
{
	static const char *const good[] = {"0",   "-0",   "10",  "1.5",
					   "1e5", "1E+5", "1e-5"};
	static const char *const bad[] = {"",   "-",   "01",  "1.",  ".5",
					  "1e", "1e+", "+1",  "--1", "1-",
					  "1a", "-a",  "0.e1"};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(text_json_number(good[i], strlen(good[i])));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(text_json_number(bad[i], strlen(bad[i])));
}

/* Every code point there and back; nothing else is well-formed. */
static void
utf8(void **state)
{
	uint32_t cp, back;
	char out[4];
	size_t n;
	int ok;

	(void)state;
	for (cp = 0; cp < 0x110000; cp++) {
		n = text_utf8_put(cp, out);
		ok = cp < 0xd800 || cp > 0xdfff;
		assert_int_equal(text_utf8_next(out, n, &back), ok ? n : 0);
		if (ok)
			assert_int_equal(back, cp);
		assert_int_equal(text_utf8_next(out, n - 1, NULL), 0);
	}
	assert_false(text_utf8_valid("\xf4\x90\x80\x80", 4));
	assert_false(text_utf8_valid("\xc0\x80", 2));
	assert_false(text_utf8_valid("\xe0\x80\x80", 3));
	assert_false(text_utf8_valid("\x80", 1));
	assert_true(text_utf8_valid("twenty bytes of text", 20));
	assert_false(text_utf8_valid("twenty bytes of te\xfft", 20));
	assert_true(text_utf8_valid("", 0));
}

static void
seen(const char *in, size_t len, size_t size, const char *want)
{
	char *out = malloc(size);

	assert_non_null(out);
	assert_int_equal(text_visible(in, len, out, size), strlen(want));
	assert_string_equal(out, want);
	free(out);
}

static void
visible(void **state)
{
	(void)state;
	seen("plain", 5, 64, "plain");
	seen("", 0, 1, "");
	seen("a\x1b[31m", 6, 64, "a\\x1b[31m");
	seen("a\0b\n", 4, 64, "a\\x00b\\x0a");
	seen("\xc2\x9b", 2, 64, "\\x9b");
	seen("\xe2\x80\xae", 3, 64, "\\u{202e}");
	seen("\xef\xbb\xbf", 3, 64, "\\u{feff}");
	seen("\xf3\xa0\x81\x81", 4, 64, "\\u{e0041}");
	seen("\xff", 1, 64, "\\xff");
	seen("\xc3\xa9", 2, 64, "\xc3\xa9");
	seen("abcdefgh", 8, 9, "abcdefgh");
	seen("abcdefgh", 8, 8, "abcd...");
	seen("abc\xc3\xa9\xc3\xa9\xc3\xa9", 9, 8, "abc...");
	seen("abcdefgh", 8, 3, "");
}

static void
buffers(void **state)
{
	struct buf b = BUF_INIT;
	struct cur c;

	(void)state;
	buf_put_u8(&b, 0xfe);
	buf_put_u16(&b, 0x0102);
	buf_put_u32(&b, 0x03040506);
	buf_put_u64(&b, 0x0708090a0b0c0d0e);
	buf_puts(&b, "xy");
	cur_init(&c, buf_head(&b), buf_used(&b));
	assert_int_equal(cur_u8(&c), 0xfe);
	assert_int_equal(cur_u16(&c), 0x0102);
	assert_int_equal(cur_u32(&c), 0x03040506);
	assert_true(cur_u64(&c) == 0x0708090a0b0c0d0e);
	assert_false(cur_done(&c));
	assert_memory_equal(cur_bytes(&c, 2), "xy", 2);
	assert_true(cur_done(&c));
	assert_int_equal(cur_u8(&c), 0);
	assert_false(cur_done(&c));

	buf_consume(&b, 15);
	assert_int_equal(buf_used(&b), 2);
	buf_reserve(&b, 10000);
	assert_memory_equal(buf_head(&b), "xy", 2);
	buf_consume(&b, 2);
	assert_int_equal(b.off, 0);
	buf_reset(&b, 0);
	assert_null(b.data);
	buf_printf(&b, "%d-%s", 5, "six");
	assert_int_equal(buf_used(&b), 5);
	buf_free(&b);
}

static void
short_reads(void **state)
{
	struct cur c;

	(void)state;
	cur_init(&c, "abc", 3);
	assert_int_equal(cur_u32(&c), 0);
	/* After one short read nothing more is given out. */
	assert_int_equal(cur_u8(&c), 0);
	assert_false(cur_done(&c));
	cur_init(&c, "abc", 3);
	cur_bytes(&c, SIZE_MAX);
	assert_false(cur_done(&c));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(duplicates),
	    cmocka_unit_test(duplicates_by_length),
	    cmocka_unit_test(variants),
	    cmocka_unit_test(numbers),
	    cmocka_unit_test(utf8),
	    cmocka_unit_test(visible),
	    cmocka_unit_test(buffers),
	    cmocka_unit_test(short_reads),
	};

	return cmocka_run_group_tests_name("proto", tests, NULL, NULL);
}
