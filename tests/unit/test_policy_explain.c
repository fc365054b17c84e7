/*
 * doorward policy explain: which rule, which entry of which file and line,
 * what it shadows, which packs and why.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "proto/alloc.h"

#include "policy.h"
#include "cmds.h"
#include "command_help.h"
#include "paths.h"

#define V1 "version: 1\n"

static char out[16384], err[16384];

static int
explain(const char *below, const char *above, const char *name)
{
	const char *argv[] = {"policy",   "explain", "--policy", below,
			      "--policy", above,     name};

	return run(7, argv, out, err, sizeof(out));
}

static void
says(const char *text)
{
	if (strstr(out, text) == NULL)
		print_error("no \"%s\" in:\n%s", text, out);
	assert_non_null(strstr(out, text));
}

static void
test_layers(void **state)
{
	char *a = put("a.yaml", V1 "rules:\n- {id: no, tool: \"del*\", action: "
				   "block, reason: \"why not\"}\n"
				   "tools:\n"
				   "  write_file: {max_calls: 5,\n"
				   "    allowed_path_prefixes: [/srv]}\n"
				   "  b: {max_calls: 1}\n");
	char *b = put("b.yaml", V1 "default_action: require_approval\n"
				   "tools:\n  write_file: {max_calls: 7}\n"
				   "pins: {hide: false}\n");
	char *packs = paths_packs(), *wanted;

	(void)state;
	assert_int_equal(explain(a, b, "write_file"), 0);
	assert_string_equal(err, "");
	says("tool: write_file\nschema: not known without a command: packs are "
	     "taken by name alone, and there is no fallback\n");
	wanted = xasprintf("rule: none matches; default_action "
			   "require_approval (%s:2) does not hold, since an "
			   "entry speaks of the tool\n"
			   "entries, the uppermost first:\n"
			   "  %s:4 (merged key by key): applies\n"
			   "  %s:5 (merged key by key): applies\n"
			   "  %s/filesystem.yaml:",
			   b, b, a, packs);
	says(wanted);
	free(wanted);
	says(" (pack filesystem): applies, by the tool's name\n");
	wanted = xasprintf("  max_calls              7\n"
			   "                         from %s:4, shadows %s:5\n",
			   b, a);
	says(wanted);
	free(wanted);
	wanted = xasprintf("  allowed_path_prefixes  [/srv]\n"
			   "                         from %s:6\n",
			   a);
	says(wanted);
	free(wanted);
	says("  write_params           [path]\n"
	     "                         from pack filesystem, ");
	wanted = xasprintf("budget: 7 calls in one run, by %s:4\n"
			   "pins: on_new deny (built in), on_changed deny "
			   "(built in), hide false (%s:5)\nmode: enforce\n"
			   "otherwise: allow (an entry knows the tool)\n",
			   b, b);
	says(wanted);
	free(wanted);
	assert_int_equal(explain(a, b, "delete_all"), 0);
	wanted = xasprintf("rule: \"no\" matches first: block (%s:3), \"why "
			   "not\"\nentries, the uppermost first: none\n"
			   "fallback: needs the tool's schema\n",
			   a);
	says(wanted);
	free(wanted);
	says("mode: enforce\notherwise: block (rule \"no\")\n");
	assert_int_equal(explain(a, b, "zebra"), 0);
	says("mode: enforce\notherwise: ask (default_action), unless the "
	     "fallback knows the tool by its schema\n");
	wanted = xasprintf("default_action require_approval (%s:2) holds\n", b);
	says(wanted);
	free(wanted);
	free(packs);
	free(a);
	free(b);
}

static void
test_replaced(void **state)
{
	char *a = put("a.yaml", V1 "tools: {write_file: {base: /srv}}\n");
	char *b = put("b.yaml", "write_file: {write_params: [path]}\n");
	char *wanted;

	(void)state;
	assert_int_equal(explain(a, b, "write_file"), 0);
	wanted = xasprintf("  %s:1 (Bouncer's format, replaces): applies\n"
			   "  %s:2 (merged key by key): replaced whole by an "
			   "entry above it\n",
			   b, a);
	says(wanted);
	free(wanted);
	says("(pack filesystem): replaced whole by an entry above it\n");
	wanted = xasprintf("from %s:1, shadows pack filesystem, ", b);
	says(wanted);
	free(wanted);
	assert_null(strstr(out, "  base  "));
	says("budget: none\n");
	free(a);
	free(b);
}

static void
test_no_packs(void **state)
{
	char *a = put("a.yaml", V1 "packs: none\n");

	(void)state;
	assert_int_equal(explain(a, a, "write_file"), 0);
	says("entries, the uppermost first: none\nfallback: off, by packs: "
	     "none\n");
	says("otherwise: allow (default_action)\n");
	free(a);
}

/* What a name carries is made visible. */
static void
test_visible(void **state)
{
	char *a = put("a.yaml", V1);

	(void)state;
	assert_int_equal(explain(a, a, "x\x1b[2J\n"), 0);
	says("tool: x\\x1b[2J\\x0a\n");
	free(a);
}

static int
runs(int argc, const char *const *argv, const char *message)
{
	int status = run(argc, argv, out, err, sizeof(out));

	assert_string_equal(out, "");
	if (strstr(err, message) == NULL)
		print_error("%s", err);
	assert_non_null(strstr(err, message));
	return status;
}

static void
test_mistakes(void **state)
{
	char *bad = put("bad.yaml", V1 "mode: x\n"), *good = put("g.yaml", V1);
	const char *none[] = {"policy", "explain"};
	const char *two[] = {"policy", "explain", "a", "b"};
	const char *option[] = {"policy", "explain", "--yaml", "a"};
	const char *dashes[] = {"policy", "explain", "a", "--"};
	const char *file[] = {"policy", "explain", "--policy", bad, "a"};
	const char *last[] = {"policy", "explain", "a", "--policy"};
	const char *command[] = {"policy", "explain", "--policy",      good,
				 "a",      "--",      "/nonexistent/x"};
	const char *help[] = {"policy", "explain", "--help"};

	(void)state;
	assert_int_equal(runs(2, none, "usage: doorward policy explain"), 2);
	assert_int_equal(runs(4, two,
			      "doorward: policy explain: unexpected "
			      "argument \"b\""),
			 2);
	assert_int_equal(runs(4, option, "unknown option \"--yaml\""), 2);
	assert_int_equal(runs(4, last, "nothing after \"--policy\""), 2);
	assert_int_equal(runs(4, dashes, "usage: doorward policy explain"), 2);
	assert_int_equal(runs(5, file,
			      ":2:7: mode: enforce or observe "
			      "expected, not \"x\""),
			 2);
	assert_int_equal(runs(7, command, "doorward: policy explain: "), 2);
	assert_int_equal(run(3, help, out, err, sizeof(out)), 0);
	says("usage: doorward policy explain");
	free(bad);
	free(good);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_layers),   cmocka_unit_test(test_replaced),
	    cmocka_unit_test(test_no_packs), cmocka_unit_test(test_visible),
	    cmocka_unit_test(test_mistakes),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
