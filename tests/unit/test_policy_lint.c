/*
 * Warnings of entries: each with its place, and beside it what brings none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "proto/alloc.h"

#include "policy.h"
#include "policy_help.h"

#define V1 "version: 1\n"

static const char files_pack[] =
    "pack: files\ntools:\n  write: {write_params: [path]}\n"
    "  send: {exfiltrating: true, sink_params: [to]}\n";

/* The one warning of the layers, NULL for none. */
static void
warns_layers(const struct layers *l, const char *warning)
{
	struct policy *p = good_layers(l);

	policy_lint(p);
	if (warning == NULL) {
		if (policy_warning_count(p) > 0)
			print_error("%s\n", policy_warning(p, 0));
		assert_int_equal(policy_warning_count(p), 0);
	} else {
		assert_int_equal(policy_warning_count(p), 1);
		assert_string_equal(policy_warning(p, 0), warning);
	}
	policy_free(p);
}

static void
warns(const char *text, const char *warning)
{
	warns_layers(&(struct layers){{"files.yaml", files_pack}, {text}},
		     warning);
}

static void
test_unconfined(void **state)
{
	(void)state;
	warns(V1 "tools: {w: {write_params: [p]}}\n",
	      "a.yaml:2: \"w\": write_params: without allowed_path_prefixes it "
	      "may write anywhere");
	warns("w: {write_params: [p]}\n",
	      "a.yaml:1: \"w\": write_params: without allowed_path_prefixes it "
	      "may write anywhere");
	warns("w: {write_params: [p], allowed_path_prefixes: []}\n",
	      "a.yaml:1: \"w\": write_params: without allowed_path_prefixes it "
	      "may write anywhere");
	warns(V1 "tools: {w: {write_params: [p], allowed_path_prefixes: []}}\n",
	      NULL);
	warns(V1 "tools: {w: {write_params: []}}\n", NULL);
	warns(V1 "tools: {w: {write_params: [p], allowed_path_prefixes: "
		 "[/usr]}}\n",
	      NULL);
	warns(V1 "tools: {write: {allowed_path_prefixes: [/usr]}}\n", NULL);
	warns(V1 "tools: {w: {allowed_path_prefixes: [/usr]}}\n",
	      "a.yaml:2: \"w\": allowed_path_prefixes: without write_params it "
	      "confines nothing");
	/* Prefixes below, from another file. */
	warns_layers(&(struct layers){{0},
				      {V1 "tools: {w: {write_params: [q], "
					  "allowed_path_prefixes: [/usr]}}\n",
				       V1 "tools: {w: {write_params: [p]}}\n"}},
		     NULL);
}

static void
test_prefixes(void **state)
{
	char dir[] = "/tmp/doorward-lint-XXXXXX";
	char *link, *text, *wanted;

	(void)state;
	assert_non_null(mkdtemp(dir));
	link = xasprintf("%s/link", dir);
	assert_int_equal(symlink("/usr", link), 0);
	text = xasprintf(V1 "tools:\n  w:\n    write_params: [p]\n"
			    "    allowed_path_prefixes: [%s, %s/lib]\n",
			 dir, link);
	wanted = xasprintf("a.yaml:5: \"w\": allowed_path_prefixes: "
			   "\"%s/lib\": \"%s\" is a link; what it leads to at "
			   "the time of a call counts",
			   link, link);
	warns(text, wanted);
	free(text);
	free(wanted);
	text = xasprintf(V1 "tools: {w: {write_params: [p], "
			    "allowed_path_prefixes: [%s/no/where]}}\n",
			 dir);
	wanted = xasprintf("a.yaml:2: \"w\": allowed_path_prefixes: "
			   "\"%s/no/where\": \"%s/no\" is not there, so that "
			   "nothing is inside",
			   dir, dir);
	warns(text, wanted);
	free(text);
	free(wanted);
	text = xasprintf(V1 "tools: {w: {write_params: [p], "
			    "allowed_path_prefixes: [%s/no]}}\n",
			 dir);
	wanted = xasprintf("a.yaml:2: \"w\": allowed_path_prefixes: "
			   "\"%s/no\" is not there, so that nothing is inside",
			   dir);
	warns(text, wanted);
	free(text);
	free(wanted);
	/* Nothing is confined: whether it is there does not matter. */
	warns(V1 "tools: {w: {allowed_path_prefixes: [/no/where]}}\n",
	      "a.yaml:2: \"w\": allowed_path_prefixes: without write_params it "
	      "confines nothing");
	unlink(link);
	free(link);
	rmdir(dir);
}

static void
test_destinations(void **state)
{
	(void)state;
	warns(V1 "tools: {send: {trusted_destinations: "
		 "[\"Me <me@x.example>\"]}}\n",
	      "a.yaml:2: \"send\": trusted_destinations: no destination is "
	      "ever \"Me <me@x.example>\"; write each mail address alone");
	warns(V1 "tools: {send: {trusted_destinations: [\"a@x.example, "
		 "b@x.example\"]}}\n",
	      "a.yaml:2: \"send\": trusted_destinations: no destination is "
	      "ever \"a@x.example, b@x.example\"; write each mail address "
	      "alone");
	warns(V1 "tools: {send: {trusted_destinations: [a@x.example, "
		 "\"*@y.example\", \"https://x.example/@a,b\", \"a b\"]}}\n",
	      NULL);
	warns(V1 "tools: {t: {exfiltrating: true, on_unproven: deny}}\n",
	      "a.yaml:2: \"t\": on_unproven: without sink_params it holds for "
	      "every argument that looks like a destination");
	warns(V1 "tools: {send: {on_unproven: deny}}\n", NULL);
}

static void
test_rules(void **state)
{
	(void)state;
	warns(V1 "rules: [{id: no, tool: \"se*\", action: block}]\n"
		 "tools: {send: {max_calls: 1}}\n",
	      "a.yaml:3: \"send\": rule \"no\" (a.yaml:2) blocks the tool, so "
	      "that its entry changes nothing");
	warns(V1 "rules: [{id: no, tool: \"se*\", action: require_approval}]\n"
		 "tools: {send: {max_calls: 1}}\n",
	      NULL);
	warns(V1 "default_action: block\npacks: none\n"
		 "tools: {t: {max_calls: 1}}\n",
	      NULL);
	warns(V1 "default_action: allow\ntools: {send: {max_calls: 1}}\n",
	      NULL);
}

static void
test_shadowed(void **state)
{
	(void)state;
	warns_layers(
	    &(struct layers){
		{0},
		{V1 "tools: {t: {max_calls: 1}}\n", "t: {max_calls: 2}\n"}},
	    "a.yaml:2: \"t\": the entry in b.yaml:1 replaces this one whole, "
	    "as in Bouncer");
	warns_layers(&(struct layers){{0},
				      {"t: {max_calls: 2}\n",
				       V1 "tools: {t: {max_calls: 1}}\n"}},
		     NULL);
}

static void
test_empty(void **state)
{
	(void)state;
	warns(V1 "tools: {t: {}}\n",
	      "a.yaml:2: \"t\": an entry without keys checks nothing; it only "
	      "keeps default_action from the tool");
	warns(V1 "tools: {send: {}}\n", NULL);
	warns(V1 "tools: {send: {replace: true}}\n",
	      "a.yaml:2: \"send\": an entry without keys: nothing is checked, "
	      "not even what the fallback would");
}

/* A list takes the pack's place, slips included. */
static void
test_left_out(void **state)
{
	(void)state;
	warns(
	    V1 "tools: {write: {write_params: [file], "
	       "allowed_path_prefixes: [/]}}\n",
	    "a.yaml:2: \"write\": write_params: it leaves out \"path\", which "
	    "the pack files names");
	warns(V1 "tools: {write: {write_params: [path, file], "
		 "allowed_path_prefixes: [/]}}\n",
	      NULL);
	warns(
	    V1 "tools: {send: {sink_params: [cc]}}\n",
	    "a.yaml:2: \"send\": sink_params: it leaves out \"to\", which the "
	    "pack files names");
	warns(V1 "tools: {send: {sink_params: {to: address, cc: address}}}\n",
	      NULL);
	/* Who replaces has said so. */
	warns(V1 "tools: {send: {replace: true, exfiltrating: true, "
		 "sink_params: [cc]}}\n",
	      NULL);
	warns(V1 "tools: {other: {exfiltrating: true, sink_params: [cc]}}\n",
	      NULL);
}

static void
test_regex(void **state)
{
	static const char *const odd[] = {"(a|b)", "a.*",  "[a-z]", "^a",
					  "a$",    "a\\w", "a+"};
	char text[256], want[256];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		snprintf(text, sizeof(text),
			 V1 "rules: [{id: r, tool: '%s', action: allow}]\n",
			 odd[i]);
		snprintf(
		    want, sizeof(want),
		    "a.yaml:2:23: tool: \"%s\" is compared as it stands; a "
		    "rule knows * and ?, no regular expressions",
		    odd[i]);
		warns(text, want);
	}
	warns(V1 "rules: [{id: r, tool: 'a.b-c_*?/:d', action: allow}]\n",
	      NULL);
	warns("default_action: allow\nrules: [{id: r, tool: 'a(b)', action: "
	      "block}]\n",
	      "a.yaml:2:23: tool: \"a(b)\" is compared as it stands; an MCP "
	      "Guard policy has whole names, no patterns");
}

static void
test_default_action(void **state)
{
	static const char uncovered[] =
	    "a.yaml:2: default_action: it does not hold for tools that a pack "
	    "or the fallback speaks of; for all tools, put a last rule: {id: "
	    "rest, tool: \"*\", action: block}";

	(void)state;
	warns(V1 "default_action: block\n", uncovered);
	warns(V1 "default_action: block\npacks: []\n", uncovered);
	warns(V1 "default_action: block\npacks: none\n", NULL);
	warns(V1 "default_action: block\nrules:\n- {id: rest, tool: \"*\", "
		 "action: block}\n",
	      NULL);
	warns(V1 "default_action: block\nrules:\n- {id: rest, tool: \"*a\", "
		 "action: block}\n",
	      uncovered);
	warns("default_action: block\nrules: []\n", NULL);
	warns(V1 "default_action: require_approval\n",
	      "a.yaml:2: default_action: it does not hold for tools that a "
	      "pack or the fallback speaks of; for all tools, put a last rule: "
	      "{id: rest, tool: \"*\", action: require_approval}");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_unconfined),
	    cmocka_unit_test(test_prefixes),
	    cmocka_unit_test(test_destinations),
	    cmocka_unit_test(test_rules),
	    cmocka_unit_test(test_shadowed),
	    cmocka_unit_test(test_empty),
	    cmocka_unit_test(test_left_out),
	    cmocka_unit_test(test_regex),
	    cmocka_unit_test(test_default_action),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
