/*
 * Patterns: whole values, bounds, and the SQL of case 050.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "pattern.h"

static struct pattern *
compile(const char *text)
{
	char *why = NULL;
	size_t offset = 0;
	struct pattern *p = pattern_compile(text, strlen(text), &why, &offset);

	if (p == NULL)
		print_error("%s: %s at %zu\n", text, why, offset);
	assert_non_null(p);
	assert_null(why);
	return p;
}

static enum pattern_result
match_bytes(const char *text, const char *value, size_t n)
{
	struct pattern *p = compile(text);
	enum pattern_result result = pattern_match(p, value, n, 0);

	/* The same value, the same result. */
	assert_int_equal(pattern_match(p, value, n, 0), result);
	pattern_free(p);
	return result;
}

static enum pattern_result
match(const char *text, const char *value)
{
	return match_bytes(text, value, strlen(value));
}

static void
test_whole_value(void **state)
{
	(void)state;
	assert_int_equal(match("abc", "abc"), PATTERN_MATCH);
	assert_int_equal(match("abc", "abcd"), PATTERN_NO);
	assert_int_equal(match("abc", "xabc"), PATTERN_NO);
	assert_int_equal(match("abc", "abc\n"), PATTERN_NO);
	assert_int_equal(match("abc$", "abc\n"), PATTERN_NO);
	assert_int_equal(match("^abc$", "abc"), PATTERN_MATCH);
	/* Each branch is whole, without brackets around them. */
	assert_int_equal(match("a|bc", "a"), PATTERN_MATCH);
	assert_int_equal(match("a|bc", "bc"), PATTERN_MATCH);
	assert_int_equal(match("a|bc", "ac"), PATTERN_NO);
	assert_int_equal(match("a|ab", "ab"), PATTERN_MATCH);
	assert_int_equal(match("a|b", "a\nb"), PATTERN_NO);
	assert_int_equal(match("(?m)^a$", "x\na\ny"), PATTERN_NO);
	assert_int_equal(match("a(*ACCEPT)b", "axyz"), PATTERN_NO);
	assert_int_equal(match("x*?", "xxx"), PATTERN_MATCH);
	assert_int_equal(match("", ""), PATTERN_MATCH);
	assert_int_equal(match("", "a"), PATTERN_NO);
	assert_int_equal(match("foo\\Kbar", "foobar"), PATTERN_MATCH);
}

static void
test_dot_and_newline(void **state)
{
	(void)state;
	assert_int_equal(match(".*\\.md", "a.md"), PATTERN_MATCH);
	assert_int_equal(match(".*\\.md", "a\nb.md"), PATTERN_NO);
	assert_int_equal(match("(?s).*\\.md", "a\nb.md"), PATTERN_MATCH);
	assert_int_equal(match(".*\\.(md|txt)", "/a/b.txt.exe"), PATTERN_NO);
}

static void
test_utf(void **state)
{
	(void)state;
	assert_int_equal(match("..", "\xc3\xa9\xc3\xa9"), PATTERN_MATCH);
	assert_int_equal(match("\xc3\xa9", "\xc3\xa9"), PATTERN_MATCH);
	/* What is not UTF-8 cannot be decided. */
	assert_int_equal(match(".*", "\xff"), PATTERN_LIMIT);
	assert_int_equal(match_bytes("a.b", "a\0b", 3), PATTERN_MATCH);
	assert_int_equal(match_bytes("a", "a\0b", 3), PATTERN_NO);
}

static void
refused(const char *text, size_t len, size_t at)
{
	char *why = NULL;
	size_t offset = 99;

	assert_null(pattern_compile(text, len, &why, &offset));
	assert_non_null(why);
	assert_int_not_equal(why[0], '\0');
	assert_int_equal(offset, at);
	free(why);
}

static void
test_mistakes(void **state)
{
	char *big = malloc(PATTERN_TEXT_MAX + 2);

	(void)state;
	refused("a(b", 3, 3);
	refused("a[b", 3, 3);
	refused("*", 1, 0);
	refused("a\\Cb", 4, 3);
	refused("(?<=a*)b", 8, 0);
	refused("\xff", 1, 0);
	assert_non_null(big);
	memset(big, 'a', PATTERN_TEXT_MAX + 1);
	refused(big, PATTERN_TEXT_MAX + 1, 0);
	/* Groups nested too deep, and a program that would be too large. */
	memset(big, '(', 200);
	memset(big + 200, ')', 200);
	big[400] = '\0';
	refused(big, 400, 101);
	free(big);
}

static void
test_limits(void **state)
{
	size_t n = PATTERN_VALUE_MAX;
	char *value = malloc(n + 2);

	(void)state;
	assert_non_null(value);
	/* Backtracking without end. */
	memset(value, 'a', 40);
	value[40] = '!';
	assert_int_equal(match_bytes("(a+)+", value, 41), PATTERN_LIMIT);
	assert_int_equal(match_bytes("(a|aa)+", value, 41), PATTERN_LIMIT);
	assert_int_equal(match_bytes("a+", value, 40), PATTERN_MATCH);
	/* Memory: a step for each byte. */
	memset(value, 'a', n + 1);
	assert_int_equal(match_bytes("(?:a|b)*c", value, n), PATTERN_LIMIT);
	assert_int_equal(match_bytes("a*", value, n), PATTERN_MATCH);
	assert_int_equal(match_bytes("a*", value, n + 1), PATTERN_LIMIT);
	/* A pattern can lower a limit, never raise it. */
	memset(value, 'a', 40);
	value[40] = '!';
	assert_int_equal(
	    match_bytes("(*LIMIT_MATCH=4000000000)(a+)+", value, 41),
	    PATTERN_LIMIT);
	free(value);
}

/* Each of many values is cheap enough, and all of them together are not. */
static void
test_many_values(void **state)
{
	const char *text = "(a?){14}a{14}", *value = "aaaaaaaaaaaaaa";
	size_t offset, i, decided = 0;
	struct pattern *p;
	char *why;
	clock_t start;

	(void)state;
	p = pattern_compile(text, strlen(text), &why, &offset);
	assert_non_null(p);
	start = clock();
	for (i = 0; i < 50000; i++)
		decided += pattern_match(p, value, 14, i) == PATTERN_MATCH;
	assert_true(clock() - start < 10 * CLOCKS_PER_SEC);
	assert_in_range(decided, 8, 1000);
	pattern_free(p);
	/* Those of plain patterns are all looked at. */
	text = "/[a-z/]*\\.(md|txt)";
	p = pattern_compile(text, strlen(text), &why, &offset);
	assert_non_null(p);
	for (i = 0; i < 10000; i++)
		assert_int_equal(
		    pattern_match(p, "/home/ana/notes/some.txt", 24, i),
		    PATTERN_MATCH);
	pattern_free(p);
}

/* No word that writes, wherever it stands. */
#define READ_ONLY                                                     \
	"(?is)(?!.*\\b(insert|update|delete|drop|alter|create|grant|" \
	"copy|merge|call|do)\\b).*"

static void
test_case_050(void **state)
{
	(void)state;
	assert_int_equal(
	    match(READ_ONLY, "select * from support_messages where ticket=1"),
	    PATTERN_MATCH);
	assert_int_equal(match(READ_ONLY, "select * from integration_tokens"),
			 PATTERN_MATCH);
	assert_int_equal(match(READ_ONLY,
			       "WITH x AS (SELECT 1)\nINSERT/**/INTO "
			       "support_messages(ticket,body) SELECT 1, token "
			       "FROM integration_tokens"),
			 PATTERN_NO);
	assert_int_equal(match(READ_ONLY, "InSeRt into t values (1)"),
			 PATTERN_NO);
	/* The false alarm that the manual names. */
	assert_int_equal(match(READ_ONLY, "select 'insert' as word"),
			 PATTERN_NO);
	/* What tests the first word alone misses call 3. */
	assert_int_equal(match("(?is)(?!(insert|update)\\b).*",
			       "WITH x AS (SELECT 1)\nINSERT/**/INTO t"),
			 PATTERN_MATCH);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_whole_value),
	    cmocka_unit_test(test_dot_and_newline),
	    cmocka_unit_test(test_utf),
	    cmocka_unit_test(test_mistakes),
	    cmocka_unit_test(test_limits),
	    cmocka_unit_test(test_many_values),
	    cmocka_unit_test(test_case_050),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
