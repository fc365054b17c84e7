/*
 * What a policy says: rules, patterns, methods, layers, redaction.
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

#include "policy.h"
#include "policy_help.h"

#define V1 "version: 1\n"
#define GUARD "default_action: allow\nrules:\n"

/* 1 if a rule with this pattern takes the name. */
static int
takes(const char *pattern, const char *name, size_t len)
{
	char text[600];
	struct policy *p;
	struct policy_opinion o;

	snprintf(text, sizeof(text),
		 V1 "rules:\n- {id: r, tool: '%s', action: block}\n", pattern);
	p = good(text);
	o = policy_tool(p, name, len);
	assert_int_equal(o.action, o.by_default ? ACTION_ALLOW : ACTION_BLOCK);
	policy_free(p);
	return !o.by_default;
}

static void
test_defaults(void **state)
{
	struct policy_error err;
	struct policy *p = policy_load_text(NULL, 0, NULL, 0, &err);
	struct policy_opinion o;
	int named = -1;

	(void)state;
	assert_non_null(p);
	o = tool(p, "anything");
	assert_int_equal(o.action, ACTION_ALLOW);
	assert_int_equal(o.by_default, 1);
	assert_null(o.reason);
	assert_string_equal(o.source.rule, "default_action");
	assert_null(o.source.file);
	assert_int_equal(o.source.line, 0);
	assert_int_equal(o.source.format, FORMAT_OWN);
	o = policy_method(p, "ping", 4, &named);
	assert_int_equal(o.action, ACTION_ALLOW);
	assert_int_equal(o.by_default, 1);
	assert_int_equal(named, 0);
	assert_int_equal(policy_get_mode(p), POLICY_ENFORCE);
	assert_int_equal(policy_get_args(p), ARGS_REDACTED);
	assert_int_equal(policy_get_sync(p), SYNC_INTERVAL);
	assert_int_equal(policy_rule_count(p), 0);
	assert_int_equal(policy_file_count(p), 0);
	policy_free(p);
}

static void
test_first_match(void **state)
{
	struct policy *p =
	    good(V1 "default_action: require_approval\n"
		    "rules:\n"
		    "- {id: keep, tool: get_mail, action: allow}\n"
		    "- {id: no, tool: \"*_mail\", action: block, "
		    "reason: by post}\n"
		    "- {id: late, tool: send_mail, action: "
		    "allow}\n");
	struct policy_opinion o = tool(p, "get_mail");

	(void)state;
	assert_int_equal(o.action, ACTION_ALLOW);
	assert_int_equal(o.by_default, 0);
	assert_string_equal(o.source.rule, "keep");
	assert_string_equal(o.source.file, "p.yaml");
	assert_int_equal(o.source.line, 4);
	assert_int_equal(o.source.format, FORMAT_OWN);
	assert_null(o.reason);
	o = tool(p, "send_mail");
	assert_int_equal(o.action, ACTION_BLOCK);
	assert_string_equal(o.source.rule, "no");
	assert_int_equal(o.source.line, 5);
	assert_string_equal(o.reason, "by post");
	o = tool(p, "mail");
	assert_int_equal(o.action, ACTION_ASK);
	assert_int_equal(o.by_default, 1);
	assert_string_equal(o.source.rule, "default_action");
	assert_string_equal(o.source.file, "p.yaml");
	assert_int_equal(o.source.line, 2);
	policy_free(p);
}

static void
test_exact(void **state)
{
	(void)state;
	assert_true(takes("delete", "delete", 6));
	assert_false(takes("delete", "Delete", 6));
	assert_false(takes("delete", "delete ", 7));
	assert_false(takes("delete", "delet", 5));
	assert_false(takes("delete", "delete\0", 7));
	assert_false(takes("delete", "delete\0x", 8));
	assert_false(takes("delete", "", 0));
	assert_true(takes("l\xc3\xb6sche", "l\xc3\xb6sche", 7));
	/* The same letter in another form of Unicode is another name. */
	assert_false(takes("l\xc3\xb6sche", "lo\xcc\x88sche", 8));
	assert_true(takes("a.b-c/d", "a.b-c/d", 7));
	assert_false(takes("a.b", "axb", 3));
	assert_false(takes("[ab]", "a", 1));
	assert_true(takes("[ab]", "[ab]", 4));
}

static void
test_globs(void **state)
{
	(void)state;
	assert_true(takes("*", "", 0));
	assert_true(takes("*", "x", 1));
	assert_true(takes("*", "a\0b", 3));
	assert_true(takes("delete_*", "delete_", 7));
	assert_true(takes("delete_*", "delete_all", 10));
	assert_false(takes("delete_*", "xdelete_all", 11));
	assert_false(takes("delete_*", "delete", 6));
	assert_false(takes("delete_*", "Delete_all", 10));
	assert_false(takes("DELETE_*", "delete_all", 10));
	assert_false(takes("delete_*",
			   "delete\x7f"
			   "all",
			   10));
	assert_true(takes("*_mail", "send_mail", 9));
	assert_true(takes("*_mail", "send_mail_mail", 14));
	assert_false(takes("*_mail", "send_mails", 10));
	assert_true(takes("a*b*c", "abc", 3));
	assert_true(takes("a*b*c", "a__b__b_c", 9));
	assert_false(takes("a*b*c", "acb", 3));
	assert_true(takes("a**c", "ac", 2));
	assert_true(takes("?", "x", 1));
	assert_false(takes("?", "", 0));
	assert_false(takes("?", "xy", 2));
	assert_true(takes("?", "\0", 1));
	assert_true(takes("a?c", "abc", 3));
	assert_false(takes("a?c", "ac", 2));
	assert_true(takes("*?", "x", 1));
	assert_false(takes("*?", "", 0));
	/* ? is one byte, not one character. */
	assert_false(takes("?", "\xc3\xb6", 2));
	assert_true(takes("??", "\xc3\xb6", 2));
	assert_true(takes("*a?b*", "xxaayabbx", 9));
}

/* The worst pattern against a long name stays cheap. */
static void
test_glob_cost(void **state)
{
	size_t len = 1024 * 1024;
	char *name = malloc(len);
	clock_t start = clock();

	(void)state;
	assert_non_null(name);
	memset(name, 'a', len);
	assert_false(
	    takes("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", name, len));
	assert_true(
	    takes("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a", name, len));
	assert_true((clock() - start) / CLOCKS_PER_SEC < 10);
	free(name);
}

static void
test_guard(void **state)
{
	struct policy *p = good(
	    GUARD "- {id: a, tool: delete_x, action: block}\n"
		  "- {id: b, tool: \"delete_*\", action: require_approval}\n"
		  "- {id: c, tool: delete_x, action: allow}\n");
	struct policy_opinion o = tool(p, "delete_x");

	(void)state;
	assert_int_equal(o.action, ACTION_BLOCK);
	assert_string_equal(o.source.rule, "a");
	assert_int_equal(o.source.format, FORMAT_GUARD);
	assert_int_equal(o.source.line, 3);
	/* Whole names only. */
	o = tool(p, "delete_y");
	assert_int_equal(o.action, ACTION_ALLOW);
	assert_int_equal(o.by_default, 1);
	assert_int_equal(o.source.format, FORMAT_GUARD);
	assert_int_equal(o.source.line, 1);
	o = tool(p, "delete_*");
	assert_int_equal(o.action, ACTION_ASK);
	assert_int_equal(policy_get_mode(p), POLICY_ENFORCE);
	assert_int_equal(policy_warning_count(p), 1);
	assert_string_equal(policy_warning(p, 0),
			    "p.yaml:4:17: tool: * and ? stand for themselves "
			    "in an MCP Guard policy, which compares whole "
			    "names");
	policy_free(p);
	p = good("{\"mode\": \"observe\", \"rules\": [], "
		 "\"default_action\": \"block\"}");
	assert_int_equal(policy_get_mode(p), POLICY_OBSERVE);
	assert_int_equal(tool(p, "x").action, ACTION_BLOCK);
	policy_free(p);
}

/* Guard takes an id twice, and ids of any look. */
static void
test_guard_ids(void **state)
{
	struct policy *p = good(GUARD "- {id: a, tool: t, action: block}\n"
				      "- {id: a, tool: u, action: allow}\n");

	(void)state;
	assert_int_equal(policy_rule_count(p), 2);
	assert_int_equal(policy_warning_count(p), 1);
	assert_string_equal(policy_warning(p, 0),
			    "p.yaml:4:8: id: \"a\" is the id of the rule in "
			    "line 3 already");
	policy_free(p);
}

static void
method_is(const struct policy *p, const char *name, enum policy_action action,
	  int wants_named, size_t line)
{
	int named = -1;
	struct policy_opinion o = policy_method(p, name, strlen(name), &named);

	assert_int_equal(o.action, action);
	assert_int_equal(named, wants_named);
	assert_int_equal(o.by_default, !wants_named);
	assert_string_equal(o.source.rule, "methods");
	assert_int_equal(o.source.line, line);
}

static void
test_methods(void **state)
{
	struct policy *p = good(V1 "methods:\n"
				   "  sampling/createMessage: block\n"
				   "  default: ask\n"
				   "  ping: allow\n");
	int named;

	(void)state;
	method_is(p, "sampling/createMessage", ACTION_BLOCK, 1, 3);
	method_is(p, "ping", ACTION_ALLOW, 1, 5);
	method_is(p, "Ping", ACTION_ASK, 0, 4);
	method_is(p, "default", ACTION_ASK, 0, 4);
	method_is(p, "", ACTION_ASK, 0, 4);
	policy_method(p, "ping\0", 5, &named);
	assert_int_equal(named, 0);
	policy_free(p);
	p = good(V1 "methods: {ping: block}\n");
	method_is(p, "roots/list", ACTION_ALLOW, 0, 0);
	policy_free(p);
}

static void
test_layers_rules(void **state)
{
	struct policy *p =
	    two(V1 "default_action: block\nmode: observe\nrules:\n"
		   "- {id: a1, tool: x, action: block}\n"
		   "- {id: a2, tool: y, action: block}\n",
		V1 "rules:\n"
		   "- {id: b1, tool: x, action: allow}\n"
		   "- {id: b2, tool: \"x*\", action: require_approval}\n");

	(void)state;
	assert_int_equal(policy_rule_count(p), 4);
	assert_string_equal(tool(p, "x").source.rule, "b1");
	assert_string_equal(tool(p, "x").source.file, "b.yaml");
	assert_string_equal(tool(p, "xx").source.rule, "b2");
	assert_string_equal(tool(p, "y").source.rule, "a2");
	assert_string_equal(tool(p, "y").source.file, "a.yaml");
	/* What the file above does not speak of stays. */
	assert_int_equal(tool(p, "z").action, ACTION_BLOCK);
	assert_string_equal(tool(p, "z").source.file, "a.yaml");
	assert_int_equal(policy_get_mode(p), POLICY_OBSERVE);
	assert_int_equal(policy_file_info(p, 0)->rules, 2);
	assert_int_equal(policy_file_info(p, 0)->has_mode, 1);
	assert_int_equal(policy_file_info(p, 1)->has_mode, 0);
	policy_free(p);
}

static void
test_layers_settings(void **state)
{
	struct policy *p = two(V1 "mode: observe\ndefault_action: block\n"
				  "audit: {args: full, sync: always, redact: "
				  "[pin]}\n"
				  "methods: {ping: block, default: block, "
				  "roots/list: ask}\n",
			       V1 "mode: enforce\n"
				  "default_action: require_approval\n"
				  "audit: {args: none, redact: [iban]}\n"
				  "methods: {ping: ask, x/y: allow}\n");

	(void)state;
	assert_int_equal(policy_get_mode(p), POLICY_ENFORCE);
	assert_int_equal(tool(p, "x").action, ACTION_ASK);
	assert_string_equal(tool(p, "x").source.file, "b.yaml");
	assert_int_equal(policy_get_args(p), ARGS_NONE);
	assert_int_equal(policy_get_sync(p), SYNC_ALWAYS);
	assert_true(policy_redacts(p, "pin", 3));
	assert_true(policy_redacts(p, "iban", 4));
	assert_true(policy_redacts(p, "token", 5));
	method_is(p, "ping", ACTION_ASK, 1, 5);
	method_is(p, "roots/list", ACTION_ASK, 1, 5);
	method_is(p, "x/y", ACTION_ALLOW, 1, 5);
	method_is(p, "other", ACTION_BLOCK, 0, 5);
	policy_free(p);
}

/* Rules of both formats, each with its own meaning. */
static void
test_layers_formats(void **state)
{
	struct policy *p =
	    two(GUARD "- {id: g, tool: \"del_*\", action: block}\n",
		V1 "rules:\n- {id: o, tool: \"get_*\", action: block}\n");
	struct policy_opinion o;

	(void)state;
	assert_int_equal(tool(p, "del_x").by_default, 1);
	assert_int_equal(tool(p, "del_x").source.format, FORMAT_GUARD);
	o = tool(p, "get_x");
	assert_int_equal(o.source.format, FORMAT_OWN);
	assert_int_equal(o.action, ACTION_BLOCK);
	o = tool(p, "del_*");
	assert_int_equal(o.source.format, FORMAT_GUARD);
	assert_string_equal(o.source.file, "a.yaml");
	policy_free(p);
	/* Guard's mode is left as it was below if its file has none. */
	p = two(V1 "mode: observe\n", "default_action: block\nrules: []\n");
	assert_int_equal(policy_get_mode(p), POLICY_OBSERVE);
	assert_int_equal(tool(p, "x").action, ACTION_BLOCK);
	assert_int_equal(tool(p, "x").source.format, FORMAT_GUARD);
	policy_free(p);
}

/* The mistake of a file above is its own, with its name. */
static void
test_layers_mistake(void **state)
{
	struct policy_text t[2] = {{"a.yaml", V1, strlen(V1)},
				   {"b.yaml", "mode: x\n", 8}};
	struct policy_error err;

	(void)state;
	assert_null(policy_load_text(t, 2, NULL, 0, &err));
	assert_string_equal(err.file, "b.yaml");
	assert_int_equal(err.line, 1);
	assert_int_equal(err.column, 7);
	policy_error_clear(&err);
}

/* Rules that speak of different tools may stand in any order. */
static void
test_order_of_unrelated(void **state)
{
	static const char *const rules[] = {
	    "- {id: r0, tool: alpha, action: block}\n",
	    "- {id: r1, tool: \"b*\", action: require_approval}\n",
	    "- {id: r2, tool: \"c?\", action: allow}\n",
	    "- {id: r3, tool: delta, action: block}\n"};
	static const char *const names[] = {"alpha", "b",     "beta", "cc",
					    "ccc",   "delta", "",     "*"};
	struct policy *base, *p;
	char text[512];
	size_t order, i;

	(void)state;
	snprintf(text, sizeof(text),
		 V1 "default_action: block\nrules:\n%s%s%s%s", rules[0],
		 rules[1], rules[2], rules[3]);
	base = good(text);
	for (order = 0; order < 256; order++) {
		size_t a = order & 3, b = order >> 2 & 3, c = order >> 4 & 3,
		       d = order >> 6 & 3;

		if ((1u << a | 1u << b | 1u << c | 1u << d) != 15u)
			continue;
		snprintf(text, sizeof(text),
			 V1 "default_action: block\nrules:\n%s%s%s%s", rules[a],
			 rules[b], rules[c], rules[d]);
		p = good(text);
		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			assert_int_equal(tool(p, names[i]).action,
					 tool(base, names[i]).action);
			assert_string_equal(tool(p, names[i]).source.rule,
					    tool(base, names[i]).source.rule);
		}
		policy_free(p);
	}
	policy_free(base);
}

static void
test_redacts(void **state)
{
	static const char *const hidden[] = {
	    "password",   "Password",      "PASSWORD_2",  "user-passwd",
	    "token",      "api_token",     "secret",      "clientSecret",
	    "api_key",    "apiKey",        "API-KEY",     "APIKEY",
	    "x-api-key",  "Authorization", "private_key", "Private_Key",
	    "privateKey", "credentials",   "Cookie",      "set-cookie",
	    "pass_word",  "to-ken"};
	static const char *const shown[] = {"",     "key",  "user",   "pass",
					    "toke", "note", "url",    "card",
					    "api",  "p4ss", "tok en", "pwd"};
	struct policy *p = good(V1), *more;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		assert_true(policy_redacts(p, hidden[i], strlen(hidden[i])));
	for (i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		assert_false(policy_redacts(p, shown[i], strlen(shown[i])));
	assert_true(policy_redacts(p, "a\0token", 7));
	assert_false(policy_redacts(p, "to\0ken", 6));
	/* A list adds to the built-in words. */
	more = good(V1 "audit: {redact: [Card_Number, pin]}\n");
	assert_true(policy_redacts(more, "cardnumber", 10));
	assert_true(policy_redacts(more, "CARD-NUMBER", 11));
	assert_true(policy_redacts(more, "pin", 3));
	assert_true(policy_redacts(more, "token", 5));
	assert_false(policy_redacts(p, "pin", 3));
	policy_free(more);
	policy_free(p);
}

static void
test_redacts_long_key(void **state)
{
	struct policy *p = good(V1);
	size_t len = 4 * 1024 * 1024, i;
	char *key = malloc(len);

	(void)state;
	assert_non_null(key);
	memset(key, 'p', len);
	assert_false(policy_redacts(p, key, len));
	memset(key, '-', len);
	for (i = 0; i < 5; i++)
		key[len - 5 + i] = "TOKEN"[i];
	assert_true(policy_redacts(p, key, len));
	free(key);
	policy_free(p);
}

static void
lint_is(const char *rules, const char *warning)
{
	char text[512];
	struct policy *p;

	snprintf(text, sizeof(text), V1 "rules:\n%s", rules);
	p = good(text);
	policy_lint(p);
	if (warning == NULL) {
		assert_int_equal(policy_warning_count(p), 0);
	} else {
		assert_int_equal(policy_warning_count(p), 1);
		assert_string_equal(policy_warning(p, 0), warning);
	}
	policy_free(p);
}

#define LINT(t1, t2)                                 \
	"- {id: a, tool: '" t1 "', action: block}\n" \
	"- {id: b, tool: '" t2 "', action: allow}\n"
#define NEVER                                                          \
	"p.yaml:4: rule \"b\": rule \"a\" (p.yaml:3) comes first and " \
	"matches all of it, so that it is never reached"

static void
test_unreachable(void **state)
{
	(void)state;
	lint_is(LINT("x", "x"), NEVER);
	lint_is(LINT("*", "x"), NEVER);
	lint_is(LINT("*", "?*"), NEVER);
	lint_is(LINT("a*", "ab*"), NEVER);
	lint_is(LINT("*b", "a*b"), NEVER);
	lint_is(LINT("a?c*", "abcd"), NEVER);
	lint_is(LINT("a?c", "a?c"), NEVER);
	lint_is(LINT("a*", "a?"), NEVER);
	lint_is(LINT("x", "y"), NULL);
	lint_is(LINT("x", "*"), NULL);
	lint_is(LINT("ab*", "a*"), NULL);
	lint_is(LINT("a?", "a*"), NULL);
	lint_is(LINT("ab", "a?"), NULL);
	lint_is(LINT("?", "*"), NULL);
	lint_is(LINT("?*", "*"), NULL);
}

static void
test_lint_layers(void **state)
{
	struct policy *p =
	    two(V1 "rules:\n- {id: r, tool: x, action: block}\n",
		V1 "rules:\n- {id: r, tool: \"*\", action: allow}\n");

	(void)state;
	policy_lint(p);
	assert_int_equal(policy_warning_count(p), 2);
	assert_string_equal(policy_warning(p, 0),
			    "a.yaml:3: rule \"r\": rule \"r\" (b.yaml:3) has "
			    "the same id");
	assert_string_equal(policy_warning(p, 1),
			    "a.yaml:3: rule \"r\": rule \"r\" (b.yaml:3) "
			    "comes first and matches all of it, so that it is "
			    "never reached");
	policy_free(p);
	p = good(V1 "methods: {default: block, initialize: allow}\n");
	policy_lint(p);
	assert_int_equal(policy_warning_count(p), 1);
	assert_string_equal(policy_warning(p, 0),
			    "p.yaml:2: methods: with default: block and no "
			    "line for tools/list most clients will not work");
	policy_free(p);
}

static void
test_lint_named_methods(void **state)
{
	static const char *const wanted[] = {
	    "p.yaml:3: methods: initialize: block shuts out clients of every "
	    "version before 2026-07-28",
	    "p.yaml:4: methods: notifications/initialized: ask shuts out "
	    "clients of every version before 2026-07-28",
	    "p.yaml:5: methods: ping: block shuts out clients that ask "
	    "whether the server still answers",
	    "p.yaml:6: methods: server/discover: ask shuts out clients of "
	    "version 2026-07-28"};
	struct policy *p = good(V1 "methods:\n  initialize: block\n"
				   "  notifications/initialized: ask\n"
				   "  ping: block\n  server/discover: ask\n"
				   "  tools/list: allow\n  x: block\n");
	size_t i;

	(void)state;
	policy_lint(p);
	assert_int_equal(policy_warning_count(p), 4);
	for (i = 0; i < 4; i++)
		assert_string_equal(policy_warning(p, i), wanted[i]);
	policy_free(p);
	/* What holds of all files together is what counts. */
	p = two(V1 "methods: {ping: block, server/discover: allow}\n",
		V1 "methods: {ping: allow}\n");
	policy_lint(p);
	assert_int_equal(policy_warning_count(p), 0);
	policy_free(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_defaults),
	    cmocka_unit_test(test_first_match),
	    cmocka_unit_test(test_exact),
	    cmocka_unit_test(test_globs),
	    cmocka_unit_test(test_glob_cost),
	    cmocka_unit_test(test_guard),
	    cmocka_unit_test(test_guard_ids),
	    cmocka_unit_test(test_methods),
	    cmocka_unit_test(test_layers_rules),
	    cmocka_unit_test(test_layers_settings),
	    cmocka_unit_test(test_layers_formats),
	    cmocka_unit_test(test_layers_mistake),
	    cmocka_unit_test(test_order_of_unrelated),
	    cmocka_unit_test(test_redacts),
	    cmocka_unit_test(test_redacts_long_key),
	    cmocka_unit_test(test_unreachable),
	    cmocka_unit_test(test_lint_layers),
	    cmocka_unit_test(test_lint_named_methods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
