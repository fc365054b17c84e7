/*
 * Entries: mistakes in each key with their places and advice, and beside each
 * the nearest thing that is right; Bouncer's format; pins.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "policy.h"
#include "call.h"
#include "entry.h"
#include "policy_help.h"

#define V1 "version: 1\n"
#define T(entry) V1 "tools: {t: {" entry "}}\n"
#define X(entry) T("exfiltrating: true, " entry)

static void
loads(const char *text)
{
	policy_free(good(text));
}

static void
test_names(void **state)
{
	(void)state;
	bad(V1 "tools: {\"delete_*\": {max_calls: 1}}\n",
	    "p.yaml:2:9: \"delete_*\": an entry is for one tool, by its whole "
	    "name; patterns are for rules: {id: ..., tool: \"...*\", action: "
	    "block}");
	bad(V1 "tools: {\"a?\": {}}\n",
	    "p.yaml:2:9: \"a?\": an entry is for one tool, by its whole name; "
	    "patterns are for rules: {id: ..., tool: \"...*\", action: block}");
	bad(V1 "tools: {t: {}, t: {}}\n",
	    "p.yaml:2:16: duplicate key \"t\"; it is in line 2 already, and "
	    "only one can hold");
	bad(V1 "tools: {t: }\n", "p.yaml:2:12: t: a mapping (lines of \"key: "
				 "value\", or {}) expected, not nothing");
	bad(V1 "tools: [t]\n",
	    "p.yaml:2:8: tools: a mapping (lines of \"key: value\", or {}) "
	    "expected, not a list");
	loads(V1 "tools: {a.b: {}, \"a b\": {}, T: {}, t: {}}\n");
}

static void
test_sinks(void **state)
{
	(void)state;
	bad(X("sink_params: to"),
	    "p.yaml:2:46: sink_params: a list (lines of \"- item\", or []) "
	    "expected, not \"to\"");
	bad(X("sink_params: [to, cc, to]"),
	    "p.yaml:2:55: sink_params: \"to\" is in the list twice");
	bad(X("sink_params: [to, {to: link}]"),
	    "p.yaml:2:52: sink_params: \"to\" is in the list twice");
	bad(X("sink_params: [\"\"]"),
	    "p.yaml:2:47: sink_params: a text expected, not \"\"");
	bad(X("sink_params: [[a]]"),
	    "p.yaml:2:47: sink_params: a text expected, not a list");
	bad(X("sink_params: {to: adress}"),
	    "p.yaml:2:51: to: address, container, link or opaque expected, "
	    "not \"adress\"; did you mean \"address\"?");
	bad(X("sink_params: {to: }"),
	    "p.yaml:2:51: to: address, container, link or opaque expected, "
	    "not nothing");
	loads(X("sink_params: [to, {cc: address, url: link}, {id: opaque}]"));
	loads(X("sink_params: [to.name, To]"));
}

static void
test_lists(void **state)
{
	(void)state;
	bad(T("write_params: [a, b, a]"),
	    "p.yaml:2:34: write_params: \"a\" is in the list twice");
	bad(T("write_params: [\"\"]"),
	    "p.yaml:2:28: write_params: a text expected, not \"\"");
	bad(T("write_params: [null]"),
	    "p.yaml:2:28: write_params: a text expected, not null");
	bad(T("read_params: [a]"),
	    "p.yaml:2:13: read_params: a key of packs (doorward-packs(5)); a "
	    "policy says it with max_calls, write_params or a rule");
	bad(T("deletes: [a]"),
	    "p.yaml:2:13: deletes: a key of packs (doorward-packs(5)); a "
	    "policy says it with max_calls, write_params or a rule");
	bad(T("changes: [a]"),
	    "p.yaml:2:13: changes: a key of packs (doorward-packs(5)); a "
	    "policy says it with max_calls, write_params or a rule");
	bad(T("plain: [a]"),
	    "p.yaml:2:13: plain: a key of packs (doorward-packs(5)); a "
	    "policy says it with max_calls, write_params or a rule");
}

static void
test_paths(void **state)
{
	(void)state;
	bad(T("allowed_path_prefixes: [out]"),
	    "p.yaml:2:37: allowed_path_prefixes: \"out\" is relative; an "
	    "absolute path (/...) expected");
	bad(T("allowed_path_prefixes: [~/out]"),
	    "p.yaml:2:37: allowed_path_prefixes: \"~/out\" starts with ~, "
	    "which is not expanded; write the directory out (/home/...)");
	bad(T("allowed_path_prefixes: [$HOME/out]"),
	    "p.yaml:2:37: allowed_path_prefixes: \"$HOME/out\" starts with a "
	    "variable, which is not expanded; write the directory out "
	    "(/home/...)");
	bad(T("allowed_path_prefixes: [/srv/notes/*]"),
	    "p.yaml:2:37: allowed_path_prefixes: \"/srv/notes/*\" has a *, "
	    "which stands for nothing here; all that is below a directory is "
	    "meant by its name: \"/srv/notes\"");
	bad(T("allowed_path_prefixes: [/srv/no*/x]"),
	    "p.yaml:2:37: allowed_path_prefixes: \"/srv/no*/x\" has a *, "
	    "which stands for nothing here; all that is below a directory is "
	    "meant by its name: \"/srv\"");
	bad(T("base: \"/*\""),
	    "p.yaml:2:19: base: \"/*\" has a *, which stands for nothing "
	    "here; all that is below a directory is meant by its name: \"/\"");
	bad(T("allowed_path_prefixes: [/a/./b]"),
	    "p.yaml:2:37: allowed_path_prefixes: \"/a/./b\" has \".\", "
	    "\"..\" or double slashes; without them it is \"/a/b\"");
	bad(T("allowed_path_prefixes: [/a/../../b/]"),
	    "p.yaml:2:37: allowed_path_prefixes: \"/a/../../b/\" has \".\", "
	    "\"..\" or double slashes; without them it is \"/b\"");
	bad(T("allowed_path_prefixes: [/a//b]"),
	    "p.yaml:2:37: allowed_path_prefixes: \"/a//b\" has \".\", "
	    "\"..\" or double slashes; without them it is \"/a/b\"");
	bad(T("allowed_path_prefixes: [//]"),
	    "p.yaml:2:37: allowed_path_prefixes: \"//\" has \".\", \"..\" or "
	    "double slashes; without them it is \"/\"");
	bad(T("allowed_path_prefixes: [/a, /a]"),
	    "p.yaml:2:41: allowed_path_prefixes: \"/a\" is in the list twice");
	bad(T("base: srv"),
	    "p.yaml:2:19: base: \"srv\" is relative; an absolute path (/...) "
	    "expected");
	bad(T("base: /srv/.."),
	    "p.yaml:2:19: base: \"/srv/..\" has \".\", \"..\" or double "
	    "slashes; without them it is \"/\"");
	bad(T("base: "), "p.yaml:2:19: base: a text expected, not nothing");
	loads(T("allowed_path_prefixes: [/, /a/, /a/..b, /a/.b]"));
}

static void
test_patterns(void **state)
{
	(void)state;
	bad(T("arg_patterns: {p: \"a(b\"}"),
	    "p.yaml:2:31: p: not a regular expression: missing closing "
	    "parenthesis (at byte 3 of it)");
	bad(T("arg_patterns: {p: \"[z-a]\"}"),
	    "p.yaml:2:31: p: not a regular expression: range out of order in "
	    "character class (at byte 3 of it)");
	bad(T("arg_patterns: {p: \"*.md\"}"),
	    "p.yaml:2:31: p: not a regular expression: quantifier does not "
	    "follow a repeatable item (at byte 0 of it); * and ? alone stand "
	    "for nothing: did you mean '.*\\.md'?");
	bad(T("arg_patterns: {p: \"?a**\"}"),
	    "p.yaml:2:31: p: not a regular expression: quantifier does not "
	    "follow a repeatable item (at byte 0 of it); * and ? alone stand "
	    "for nothing: did you mean '.a.*.*'?");
	bad(T("arg_patterns: {p: \"*(\"}"),
	    "p.yaml:2:31: p: not a regular expression: quantifier does not "
	    "follow a repeatable item (at byte 0 of it)");
	bad(T("arg_patterns: {p: [a]}"),
	    "p.yaml:2:31: p: a text expected, not a list");
	bad(T("arg_patterns: {p: 1}"),
	    "p.yaml:2:31: p: a text expected, not the number 1; put it in "
	    "quotes: \"1\"");
	bad(T("arg_patterns: {p: a, p: b}"),
	    "p.yaml:2:34: duplicate key \"p\"; it is in line 2 already, and "
	    "only one can hold");
	loads(T("arg_patterns: {p: 'a|b', \"q.r\": '\\d+'}"));
}

static void
trusted(const char *item, const char *message)
{
	char text[256], whole[512];

	snprintf(text, sizeof(text), X("trusted_destinations: [\"%s\"]"), item);
	snprintf(whole, sizeof(whole),
		 "p.yaml:2:56: trusted_destinations: \"%s\" %s", item,
		 message != NULL ? message : "");
	if (message != NULL)
		bad(text, whole);
	else
		loads(text);
}

#define NOTHING                                                             \
	"could be read in more than one way, and would trust nothing; "     \
	"\"https://host/path*\" expected, or \"host:NAME\", with hosts in " \
	"ASCII and without \"..\", \"#\" and escaped slashes"

static void
test_trusted(void **state)
{
	static const char *const right[] = {
	    "me@x.example",
	    "*@x.example",
	    "ME@X.EXAMPLE",
	    " me@x.example ",
	    "https://x.example/a",
	    "https://x.example/a*",
	    "https://x.example:8443/*",
	    "http://x.example/",
	    "https://x.example/a?b=*",
	    "https://x.example",
	    "HTTPS://x.example/a",
	    "https://x.example/@me",
	    "host:x.example",
	    "host:*.x.example",
	    "HOST:x.example",
	    "#general",
	    "C0123",
	    "+49 30 1234",
	    "@handle",
	    "owner/repository",
	};
	static const char *const rows[][2] = {
	    {"*", "trusts every destination; write \"exfiltrating: false\" if "
		  "that is meant"},
	    {"*@*", "has no domain after the @; \"*@example.com\" expected, "
		    "without a * in the domain"},
	    {"*@", "has no domain after the @; \"*@example.com\" expected, "
		   "without a * in the domain"},
	    {"*@*.x.example",
	     "has no domain after the @; \"*@example.com\" expected, without "
	     "a * in the domain"},
	    {"*.x.example", "could be hosts or mail domains; "
			    "\"host:*.example.com\" or \"*@example.com\" "
			    "expected"},
	    {"*x@x.example", "has a * where it stands for nothing; "
			     "\"*@domain\", \"https://host/path*\" and "
			     "\"host:*.name\" are taken"},
	    {"me@x.*", "has a * where it stands for nothing; \"*@domain\", "
		       "\"https://host/path*\" and \"host:*.name\" are taken"},
	    {"#gen*", "has a * where it stands for nothing; \"*@domain\", "
		      "\"https://host/path*\" and \"host:*.name\" are taken"},
	    {"@x.example", "names nobody before the @; \"*@domain\" trusts "
			   "everybody of a domain"},
	    {"mailto:me@x.example",
	     "has a scheme; write the mail address alone"},
	    {"host:", "has no host's name; \"host:example.com\" or "
		      "\"host:*.example.com\" expected"},
	    {"host:*", "has no host's name; \"host:example.com\" or "
		       "\"host:*.example.com\" expected"},
	    {"host:*.", "has no host's name; \"host:example.com\" or "
			"\"host:*.example.com\" expected"},
	    {"host:*x.example", "has no host's name; \"host:example.com\" or "
				"\"host:*.example.com\" expected"},
	    {"host:a.*.example", "has no host's name; \"host:example.com\" or "
				 "\"host:*.example.com\" expected"},
	    {"host:x.example/a", "has no host's name; \"host:example.com\" or "
				 "\"host:*.example.com\" expected"},
	    {"host:x.example:80", "has no host's name; \"host:example.com\" or "
				  "\"host:*.example.com\" expected"},
	    {"https://*.x.example/",
	     "has a * in its host; \"host:*.example.com\" trusts the hosts "
	     "below a name, \"https://example.com/*\" all paths of one host"},
	    {"https://x.example*",
	     "has a * in its host; \"host:*.example.com\" trusts the hosts "
	     "below a name, \"https://example.com/*\" all paths of one host"},
	    {"https://x.example/*/a",
	     "has a * before its end; only the last character may be one: "
	     "\"https://host/path*\""},
	    {"https://x.example/**",
	     "has a * before its end; only the last character may be one: "
	     "\"https://host/path*\""},
	    {"https://me@x.example/",
	     "has a user's name before its host; no URL with one is trusted, "
	     "so leave that part out"},
	    {"https:///a", "has no host; \"https://host/path*\" expected"},
	    {"https://x.example?a=*", NOTHING},
	    {"https://[::1]/a", NOTHING},
	    {"https://b\u00fccher.example/", NOTHING},
	    {"https://x.example/a/../b", NOTHING},
	    {"https://x.example/%2e%2e/b*", NOTHING},
	    {"https://x.example/a#b", NOTHING},
	    {"https://x.example:/a", NOTHING},
	    {"host:b\u00fccher.example", NOTHING},
	    {"*@b\u00fccher.example", NOTHING},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(right) / sizeof(right[0]); i++)
		trusted(right[i], NULL);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		trusted(rows[i][0], rows[i][1]);
	bad(X("trusted_destinations: [\"  \"]"),
	    "p.yaml:2:56: trusted_destinations: \"  \" is empty; a destination "
	    "expected");
	bad(X("trusted_destinations: [a, a]"),
	    "p.yaml:2:59: trusted_destinations: \"a\" is in the list twice");
	bad(X("trusted_destinations: a"),
	    "p.yaml:2:55: trusted_destinations: a list (lines of \"- item\", "
	    "or []) expected, not \"a\"");
}

/* Blanks around a destination do not count, in an entry either. */
static void
test_trusted_blanks(void **state)
{
	struct policy *p =
	    good(X("trusted_destinations: [\"\\t me@x.example \"]"));
	struct policy_view *v = policy_view_new(p, "t", 1, NULL, NULL);

	(void)state;
	assert_string_equal(policy_view_entry(v, 0)->trusted.v[0],
			    "me@x.example");
	policy_view_free(v);
	policy_free(p);
}

#define MISSING \
	" has no effect on \"send\" without \"exfiltrating: true\", which "
#define NEITHER                                                               \
	MISSING "neither a pack nor a file below has; add that, or leave it " \
		"out"

/* What needs exfiltrating may have it from below. */
static void
test_exfiltrating(void **state)
{
	static const char mail[] =
	    "pack: mail\ntools: {send: {exfiltrating: true}, list: {}}\n";
	static const char with[] =
	    V1 "tools:\n  send: {trusted_destinations: [a]}\n";
	static const char sends[] = V1 "tools: {send: {exfiltrating: true}}\n";

	(void)state;
	policy_free(good_layers(&(struct layers){{"mail.yaml", mail}, {with}}));
	policy_free(good_layers(&(struct layers){{0}, {sends, with}}));
	policy_free(good_layers(&(struct layers){
	    {0}, {sends, V1 "tools: {send: {max_calls: 1}}\n", with}}));
	bad_layers(&(struct layers){{0}, {with}},
		   "a.yaml:3:10: trusted_destinations:" NEITHER);
	bad_layers(
	    &(struct layers){{"mail.yaml", mail}, {V1 "packs: none\n", with}},
	    "b.yaml:3:10: trusted_destinations:" NEITHER);
	bad_layers(
	    &(struct layers){
		{"mail.yaml", mail},
		{V1 "tools: {send: {exfiltrating: false}}\n", with}},
	    "b.yaml:3:10: trusted_destinations:" NEITHER);
	bad_layers(
	    &(struct layers){
		{"mail.yaml", mail},
		{V1 "tools: {send: {replace: true, sink_params: [to]}}\n"}},
	    "a.yaml:2:31: sink_params:" MISSING
	    "\"replace: true\" cuts off; add that, or leave it out");
	bad_layers(&(struct layers){{"mail.yaml", mail},
				    {V1 "tools: {list: {on_unproven: ask}}\n"}},
		   "a.yaml:2:16: on_unproven: has no effect on \"list\" "
		   "without \"exfiltrating: true\", which neither a pack nor a "
		   "file below has; add that, or leave it out");
	bad(T("sinks_optional: true"),
	    "p.yaml:2:13: sinks_optional: has no effect on \"t\" without "
	    "\"exfiltrating: true\", which neither a pack nor a file below "
	    "has; add that, or leave it out");
	/* A file above cannot complete one below. */
	bad_layers(&(struct layers){{0}, {with, sends}},
		   "a.yaml:3:10: trusted_destinations:" NEITHER);
}

/* Only mistakes that hold for a file alone are told of it alone. */
static void
test_layered(void **state)
{
	static const struct {
		const char *text;
		int layered;
	} rows[] = {
	    {T("sink_params: [a]"), 1},
	    {T("replace: true, sink_params: [a]"), 0},
	    {V1 "packs: [zebra]\n", 1},
	    {T("max_cals: 1"), 0},
	    {"t: {sink_params: [a]}\n", 0},
	};
	static const struct policy_text pack = {"x.yaml", "pack: y\n", 8};
	struct policy_error err;
	struct policy_text t;
	size_t i;

	(void)state;
	assert_null(policy_load_text(NULL, 0, &pack, 1, &err));
	assert_int_equal(err.layered, 1);
	policy_error_clear(&err);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		t = (struct policy_text){"p", rows[i].text,
					 strlen(rows[i].text)};
		assert_null(policy_load_text(&t, 1, NULL, 0, &err));
		assert_int_equal(err.layered, rows[i].layered);
		policy_error_clear(&err);
	}
}

static void
test_bouncer(void **state)
{
	static const char whole[] = "# a whole file\n"
				    "send_email:\n"
				    "  exfiltrating: true\n"
				    "  sink_params: [to, cc]\n"
				    "  trusted_destinations: [me@x.example]\n"
				    "  max_calls: 20\n"
				    "write_file:\n"
				    "  write_params: [path]\n"
				    "  allowed_path_prefixes: [/home/me/out]\n"
				    "  arg_patterns: {path: '.*\\.md'}\n"
				    "delete_file: {max_calls: 0}\n"
				    "read_file: {}\n"
				    "tool: {}\n";
	struct policy *p = good(whole);
	struct policy_view *v =
	    policy_view_new(p, "send_email", 10, NULL, NULL);
	const struct entry *e = policy_view_entry(v, 0);

	(void)state;
	assert_int_equal(policy_file_info(p, 0)->format, FORMAT_BOUNCER);
	assert_int_equal(policy_file_info(p, 0)->entries, 5);
	assert_int_equal(policy_get_packs(p), PACKS_AUTO);
	assert_int_equal(policy_get_default_action(p), ACTION_ALLOW);
	assert_int_equal(policy_get_mode(p), POLICY_ENFORCE);
	assert_int_equal(e->place[KEY_MAX_CALLS].format, FORMAT_BOUNCER);
	assert_int_equal(e->place[KEY_MAX_CALLS].line, 6);
	assert_int_equal(e->max_calls, 20);
	assert_int_equal(e->nsinks, 2);
	assert_int_equal(e->on_tainted, ACTION_BLOCK);
	assert_int_equal(e->on_unproven, ACTION_ASK);
	policy_view_free(v);
	policy_free(p);
}

static void
test_bouncer_mistakes(void **state)
{
	(void)state;
	bad("t:\n  exfiltratin: true\n",
	    "p.yaml:2:3: unknown key \"exfiltratin\" in an entry of a Bouncer "
	    "policy; did you mean \"exfiltrating\"?");
	bad("t: {zebra: 1}\n",
	    "p.yaml:1:5: unknown key \"zebra\" in an entry of a Bouncer "
	    "policy; its keys are exfiltrating, sink_params, "
	    "trusted_destinations, write_params, allowed_path_prefixes, "
	    "arg_patterns and max_calls");
	bad("t: {exfiltrating: yes}\n", "p.yaml:1:19: exfiltrating: true or "
					"false expected, not \"yes\"");
	bad("t: {max_calls: \"5\"}\n",
	    "p.yaml:1:16: max_calls: a whole number (0, 1, 2, ...) expected, "
	    "not \"5\"");
	bad("t: {sink_params: [to]}\n",
	    "p.yaml:1:5: sink_params: has no effect on \"t\" without "
	    "\"exfiltrating: true\"; add that, or leave it out");
	bad("t: {max_calls: 1, trusted_destinations: [a]}\n",
	    "p.yaml:1:19: trusted_destinations: has no effect on \"t\" "
	    "without \"exfiltrating: true\"; add that, or leave it out");
	bad("t: {exfiltrating: false, trusted_destinations: [a]}\n",
	    "p.yaml:1:26: trusted_destinations: has no effect on \"t\" "
	    "without \"exfiltrating: true\"; add that, or leave it out");
	bad("t: {exfiltrating: true, sink_params: {to: address}}\n",
	    "p.yaml:1:38: sink_params: kinds of destinations are of "
	    "Doorward's own format; a Bouncer policy has a list of names");
	bad("t: {exfiltrating: true, on_unproven: deny}\n",
	    "p.yaml:1:25: on_unproven: a key of Doorward's own format; to "
	    "have it, add \"version: 1\" and put the entries below "
	    "\"tools:\"");
	bad("t: {allowed_path_prefixes: [out]}\n",
	    "p.yaml:1:29: allowed_path_prefixes: \"out\" is relative; an "
	    "absolute path (/...) expected");
	bad("\"t*\": {max_calls: 1}\n",
	    "p.yaml:1:1: \"t*\": an entry is for one tool, by its whole name; "
	    "patterns are for rules: {id: ..., tool: \"...*\", action: block}");
	bad("t:\n",
	    "p.yaml:1:1: \"t\": this is no entry of a tool, which a Bouncer "
	    "policy has at its top; a Doorward policy starts with \"version: "
	    "1\"");
	bad("t: [a]\n",
	    "p.yaml:1:1: \"t\": a list is no entry of a tool, which a Bouncer "
	    "policy has at its top; a Doorward policy starts with \"version: "
	    "1\"");
	/* Nothing below makes up for what is missing, as in Bouncer. */
	bad_layers(&(struct layers){{0},
				    {V1 "tools: {t: {exfiltrating: true}}\n",
				     "t: {sink_params: [a]}\n"}},
		   "b.yaml:1:5: sink_params: has no effect on \"t\" without "
		   "\"exfiltrating: true\"; add that, or leave it out");
}

/* A Doorward policy that lacks its version is none of Bouncer's. */
static void
test_bouncer_slips(void **state)
{
	(void)state;
	bad("methods: {ping: block}\n",
	    "p.yaml:1:1: \"methods\" without \"version: 1\"; a Doorward policy "
	    "needs that line");
	bad("tools: {t: {max_calls: 1}}\n",
	    "p.yaml:1:1: \"tools\" without \"version: 1\"; a Doorward policy "
	    "needs that line");
	bad("packs: {}\n", "p.yaml:1:1: \"packs\" without \"version: 1\"; a "
			   "Doorward policy needs that line");
	bad("defualt_action: block\n",
	    "p.yaml:1:1: unknown key \"defualt_action\"; did you mean "
	    "\"default_action\"? (a Doorward policy starts with \"version: "
	    "1\")");
	bad("t: {max_calls: 1}\nrulez: []\n",
	    "p.yaml:2:1: unknown key \"rulez\"; did you mean \"rules\"? (a "
	    "Doorward policy starts with \"version: 1\")");
	/* Tools of these names, with controls that are Bouncer's. */
	loads("tool: {exfiltrating: true}\n");
	loads("audit: {max_calls: 1}\n");
	loads("servers: {}\n");
}

static void
test_pins(void **state)
{
	struct policy *p = good(V1);
	struct policy_source s = policy_pins_source(p, PINS_HIDE);

	(void)state;
	assert_int_equal(policy_pins_on_new(p), ACTION_BLOCK);
	assert_int_equal(policy_pins_on_changed(p), ACTION_BLOCK);
	assert_int_equal(policy_pins_hide(p), 1);
	assert_string_equal(s.rule, "pins.hide");
	assert_null(s.file);
	assert_int_equal(s.line, 0);
	policy_free(p);
	p = two(V1 "pins: {on_new: ask, hide: false}\n",
		V1 "pins:\n  on_changed: ask\n  on_new: deny\n");
	assert_int_equal(policy_pins_on_new(p), ACTION_BLOCK);
	assert_int_equal(policy_pins_on_changed(p), ACTION_ASK);
	assert_int_equal(policy_pins_hide(p), 0);
	s = policy_pins_source(p, PINS_ON_NEW);
	assert_string_equal(s.rule, "pins.on_new");
	assert_string_equal(s.file, "b.yaml");
	assert_int_equal(s.line, 4);
	s = policy_pins_source(p, PINS_HIDE);
	assert_string_equal(s.file, "a.yaml");
	policy_free(p);
	bad(V1 "pins: {on_new: allow}\n",
	    "p.yaml:2:16: on_new: deny or ask expected, not \"allow\"");
	bad(V1 "pins: {on_changed: block}\n",
	    "p.yaml:2:20: on_changed: deny or ask expected, not \"block\"; did "
	    "you mean \"deny\"?");
	bad(V1 "pins: {hide: yes}\n",
	    "p.yaml:2:14: hide: true or false expected, not \"yes\"");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_names),
	    cmocka_unit_test(test_sinks),
	    cmocka_unit_test(test_lists),
	    cmocka_unit_test(test_paths),
	    cmocka_unit_test(test_patterns),
	    cmocka_unit_test(test_trusted),
	    cmocka_unit_test(test_trusted_blanks),
	    cmocka_unit_test(test_exfiltrating),
	    cmocka_unit_test(test_layered),
	    cmocka_unit_test(test_bouncer),
	    cmocka_unit_test(test_bouncer_mistakes),
	    cmocka_unit_test(test_bouncer_slips),
	    cmocka_unit_test(test_pins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
