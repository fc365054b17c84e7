/*
 * Files of cases: values become arguments as they look, and every mistake
 * has its place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cjson/cJSON.h>
#include <cmocka.h>

#include "proto/buf.h"

#include "policy.h"
#include "call.h"
#include "args.h"
#include "cases.h"

static char file[] = "/tmp/doorward-cases-XXXXXX";

static int
read_text(const char *text, struct cases *c, struct policy_error *err)
{
	FILE *f;

	strcpy(file + strlen(file) - 6, "XXXXXX");
	f = fdopen(mkstemp(file), "w");
	assert_non_null(f);
	assert_int_equal(fputs(text, f) >= 0, 1);
	assert_int_equal(fclose(f), 0);
	return cases_read(c, file, err);
}

static void
bad_case(const char *text, const char *message)
{
	struct policy_error err;
	struct cases c;
	char *said;

	assert_int_equal(read_text(text, &c, &err), -1);
	said = policy_error_format(&err);
	assert_memory_equal(said, file, strlen(file));
	assert_string_equal(said + strlen(file), message);
	free(said);
	policy_error_clear(&err);
	cases_free(&c);
	unlink(file);
}

static void
test_values(void **state)
{
	static const char text[] =
	    "cases:\n"
	    "- tool: t\n"
	    "  arguments: {a: 1.50, b: '2', c: yes, d: true, e: null, f: ~,\n"
	    "    g: [x, {h: -1e3}], i: \"\\u00e9\", j: TRUE, k: ''}\n"
	    "  expect: ask\n"
	    "  attempt: 12\n"
	    "  cwd: /srv\n"
	    "  rule: r\n"
	    "  contract: sink\n"
	    "- {tool: 'u', schema: {properties: {}}, expect: deny}\n";
	static const char want[] =
	    "{\"a\":1.50,\"b\":\"2\",\"c\":\"yes\",\"d\":true,\"e\":null,"
	    "\"f\":null,\"g\":[\"x\",{\"h\":-1e3}],\"i\":\"\xc3\xa9\","
	    "\"j\":true,\"k\":\"\"}";
	struct policy_error err;
	struct buf b = BUF_INIT;
	struct cases c;

	(void)state;
	assert_int_equal(read_text(text, &c, &err), 0);
	unlink(file);
	assert_int_equal(c.n, 2);
	assert_string_equal(c.v[0].tool, "t");
	assert_int_equal(args_json(&b, c.v[0].args, 4096), 0);
	assert_int_equal(buf_used(&b), strlen(want));
	assert_memory_equal(buf_head(&b), want, strlen(want));
	assert_int_equal(c.v[0].expect, ACTION_ASK);
	assert_int_equal(c.v[0].attempt, 12);
	assert_string_equal(c.v[0].cwd, "/srv");
	assert_string_equal(c.v[0].rule, "r");
	assert_int_equal(c.v[0].contract, CONTRACT_SINK);
	assert_int_equal(c.v[0].line, 2);
	assert_null(c.v[1].args);
	assert_non_null(c.v[1].schema);
	assert_int_equal(c.v[1].expect, ACTION_BLOCK);
	assert_int_equal(c.v[1].attempt, 1);
	assert_int_equal(c.v[1].contract, -1);
	assert_int_equal(c.v[1].line, 10);
	buf_free(&b);
	cases_free(&c);
}

static void
test_mistakes(void **state)
{
	(void)state;
	bad_case("", ": no cases; a file of cases has the one key cases: with "
		     "a list");
	bad_case("version: 1\n", ":1:1: no cases; a file of cases has the one "
				 "key cases: with a list");
	bad_case("cases: []\n", ":1:8: cases: the list is empty; nothing would "
				"be tested");
	bad_case("cases: x\n", ":1:8: cases: a list of cases expected");
	bad_case("cases: [x]\n", ":1:9: a case expected, with tool and expect, "
				 "not \"x\"");
	bad_case("more: 1\ncases: [x]\n", ":1:1: \"more\" is no key of a file "
					  "of cases; see doorward-policy(1)");
	bad_case("cases:\n- {expect: deny}\n", ":2:3: a case without tool");
	bad_case("cases:\n- {tool: t}\n",
		 ":2:3: a case without expect; it says "
		 "allow, ask or deny");
	bad_case("cases:\n- {tool: t, expect: block}\n",
		 ":2:21: expect: allow, ask or deny expected, not \"block\"");
	bad_case("cases:\n- {tool: 5, expect: deny}\n",
		 ":2:10: tool: a text expected, not the number 5");
	bad_case("cases:\n- {tool: t, args: {}, expect: deny}\n",
		 ":2:13: \"args\" is no key of a case; did you mean "
		 "\"arguments\"?");
	bad_case("cases:\n- {tool: t, zebra: {}, expect: deny}\n",
		 ":2:13: \"zebra\" is no key of a case; see "
		 "doorward-policy(1)");
	bad_case("cases:\n- {tool: t, contract: pin, expect: deny}\n",
		 ":2:23: contract: self, rule, budget, path, pattern, sink or "
		 "default expected, not \"pin\"");
	bad_case("cases:\n- {tool: t, arguments: [], expect: deny}\n",
		 ":2:24: arguments: a mapping expected, not a list");
	bad_case("cases:\n- {tool: t, arguments: {a: [0x1F]}, expect: deny}\n",
		 ":2:29: 0x1F is no number in JSON; write it in decimal, or "
		 "in quotes if it is a text");
	bad_case("cases:\n- {tool: t, attempt: 0, expect: deny}\n",
		 ":2:22: attempt: a whole number from 1 expected, not the "
		 "number 0");
	bad_case("cases:\n- {tool: t, attempt: 1.5, expect: deny}\n",
		 ":2:22: attempt: a whole number from 1 expected, not the "
		 "number 1.5");
	bad_case("cases:\n- {tool: t, cwd: here, expect: deny}\n",
		 ":2:18: cwd: an absolute path expected");
	bad_case("cases:\n- {tool: t, contract: paths, expect: deny}\n",
		 ":2:23: contract: self, rule, budget, path, pattern, sink or "
		 "default expected, not \"paths\"");
	bad_case("cases:\n- {tool: t, tool: u, expect: deny}\n",
		 ":2:13: duplicate key \"tool\"; it is in line 2 already, and "
		 "only one can hold");
}

static void
test_unreadable(void **state)
{
	struct policy_error err;
	struct cases c;

	(void)state;
	assert_int_equal(cases_read(&c, "/nowhere/cases.yaml", &err), -1);
	assert_string_equal(err.file, "/nowhere/cases.yaml");
	assert_string_equal(err.text,
			    "cannot be read: No such file or directory");
	policy_error_clear(&err);
	cases_free(&c);
	assert_int_equal(cases_read(&c, "/tmp", &err), -1);
	policy_error_clear(&err);
	cases_free(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_values),
	    cmocka_unit_test(test_mistakes),
	    cmocka_unit_test(test_unreadable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
