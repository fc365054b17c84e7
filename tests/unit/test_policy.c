/*
 * Mistakes in policy files: each kind with its exact place and advice, and
 * beside it the nearest thing that is right.
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
#include "policy_help.h"

#define V1 "version: 1\n"
#define RULE(id, tool, action) \
	V1 "rules:\n  - {id: " id ", tool: " tool ", action: " action "}\n"

static void
loads(const char *text)
{
	policy_free(good(text));
}

static void
test_empty(void **state)
{
	static const char empty[] =
	    "p.yaml:1:1: an empty policy; the least is \"version: 1\"";

	(void)state;
	bad("", empty);
	bad("\n\n", empty);
	bad("# only a remark\n", empty);
	bad("---\n", empty);
	bad("null\n", empty);
	bad("{}\n", empty);
	loads(V1);
	loads("---\nversion: 1\n...\n");
	loads("%YAML 1.2\n---\nversion: 1\n");
	loads("\xef\xbb\xbfversion: 1\n");
	loads("version: 1\r\nmode: observe\r\n");
	loads("{\"version\": 1, \"rules\": [{\"id\": \"a\", \"tool\": \"t\", "
	      "\"action\": \"allow\"}]}");
}

static void
test_root(void **state)
{
	(void)state;
	bad("- version: 1\n",
	    "p.yaml:1:1: a policy is a mapping, not a list; it starts with "
	    "\"version: 1\"");
	bad("# x\n  hello\n",
	    "p.yaml:2:3: a policy is a mapping, not \"hello\"; it starts "
	    "with \"version: 1\"");
	bad("version:1\n",
	    "p.yaml:1:1: a policy is a mapping, not \"version:1\"; it starts "
	    "with \"version: 1\"");
}

static void
test_version(void **state)
{
	(void)state;
	bad("version: 2\nnew_key: 1\n",
	    "p.yaml:1:10: version 2 is newer than this Doorward knows; it "
	    "knows version 1");
	bad("new_key: 1\nversion: 10\n",
	    "p.yaml:2:10: version 10 is newer than this Doorward knows; it "
	    "knows version 1");
	bad("version: \"1\"\n",
	    "p.yaml:1:10: version: the number 1 expected, not \"1\"");
	bad("version: 1.0\n",
	    "p.yaml:1:10: version: the number 1 expected, not the number 1.0");
	bad("version: 0\n",
	    "p.yaml:1:10: version: the number 1 expected, not the number 0");
	bad("version: 01\n",
	    "p.yaml:1:10: version: the number 1 expected, not the number 01");
	bad("version: -1\n",
	    "p.yaml:1:10: version: the number 1 expected, not the number -1");
	bad("version:\n",
	    "p.yaml:1:9: version: the number 1 expected, not nothing");
	bad("version: [1]\n",
	    "p.yaml:1:10: version: the number 1 expected, not a list");
}

static void
test_unknown_keys(void **state)
{
	(void)state;
	bad(V1 "defualt_action: block\n",
	    "p.yaml:2:1: unknown key \"defualt_action\" in a Doorward policy; "
	    "did you mean \"default_action\"?");
	bad(V1 "Mode: observe\n",
	    "p.yaml:2:1: unknown key \"Mode\" in a Doorward policy; did you "
	    "mean \"mode\"?");
	bad(V1 "default-action: block\n",
	    "p.yaml:2:1: unknown key \"default-action\" in a Doorward policy; "
	    "did you mean \"default_action\"?");
	bad(V1 "zebra: 1\n",
	    "p.yaml:2:1: unknown key \"zebra\" in a Doorward policy; its keys "
	    "are version, mode, default_action, packs, rules, methods, tools, "
	    "flows, typed, approval, pins, ledger, server, audit and "
	    "receipts");
	bad(V1 "audit: {synch: never}\n",
	    "p.yaml:2:9: unknown key \"synch\" in audit; did you mean "
	    "\"sync\"?");
	bad(V1 "rules:\n- id: a\n  tol: t\n  action: allow\n",
	    "p.yaml:4:3: unknown key \"tol\" in a rule; did you mean "
	    "\"tool\"?");
	bad(V1 "rules:\n- name: a\n",
	    "p.yaml:3:3: unknown key \"name\" in a rule; did you mean "
	    "\"id\"?");
	bad(V1 "\"mo\\u202ede\": observe\n",
	    "p.yaml:2:1: unknown key \"mo\\u{202e}de\" in a Doorward policy; "
	    "its "
	    "keys are version, mode, default_action, packs, rules, methods, "
	    "tools, flows, typed, approval, pins, ledger, server, audit and "
	    "receipts");
}

static void
test_words(void **state)
{
	(void)state;
	bad(V1 "mode: enfroce\n",
	    "p.yaml:2:7: mode: enforce or observe expected, not \"enfroce\"; "
	    "did you mean \"enforce\"?");
	bad(V1 "mode: Observe\n",
	    "p.yaml:2:7: mode: enforce or observe expected, not \"Observe\"; "
	    "did you mean \"observe\"?");
	bad(V1 "mode: x\n",
	    "p.yaml:2:7: mode: enforce or observe expected, not \"x\"");
	bad(V1 "mode:\n",
	    "p.yaml:2:6: mode: enforce or observe expected, not nothing");
	bad(V1 "mode: [observe]\n",
	    "p.yaml:2:7: mode: enforce or observe expected, not a list");
	bad(V1 "default_action: deny\n",
	    "p.yaml:2:17: default_action: allow, require_approval or block "
	    "expected, not \"deny\"; did you mean \"block\"?");
	bad(V1 "default_action: ask\n",
	    "p.yaml:2:17: default_action: allow, require_approval or block "
	    "expected, not \"ask\"; did you mean \"require_approval\"?");
	bad(V1 "audit: {args: off}\n",
	    "p.yaml:2:15: args: full, redacted or none expected, not "
	    "\"off\"; did you mean \"none\"?");
	bad(V1 "audit: {sync: true}\n",
	    "p.yaml:2:15: sync: never, interval or always expected, not "
	    "\"true\"");
	bad(V1 "typed: trusted\n",
	    "p.yaml:2:8: typed: ignore, ask or trust expected, not "
	    "\"trusted\"; did you mean \"trust\"?");
	loads(V1 "mode: observe\ndefault_action: require_approval\n");
	loads(V1 "mode: \"observe\"\n");
}

static void
test_duplicates(void **state)
{
	(void)state;
	bad(V1 "mode: observe\nmode: enforce\n",
	    "p.yaml:3:1: duplicate key \"mode\"; it is in line 2 already, and "
	    "only one can hold");
	bad(V1 "\"mode\": observe\nmode: observe\n",
	    "p.yaml:3:1: duplicate key \"mode\"; it is in line 2 already, and "
	    "only one can hold");
	bad("version: 1\nversion: 1\n",
	    "p.yaml:2:1: duplicate key \"version\"; it is in line 1 already, "
	    "and only one can hold");
	bad(V1 "methods: {a: allow, b: allow, c: block, b: block}\n",
	    "p.yaml:2:41: duplicate key \"b\"; it is in line 2 already, and "
	    "only one can hold");
	/* Among many keys, too. */
	bad(V1 "methods: {a: ask, b: ask, c: ask, d: ask, e: ask, f: ask, "
	       "g: ask, h: ask, i: ask, j: ask, i: ask, b: ask}\n",
	    "p.yaml:2:91: duplicate key \"i\"; it is in line 2 already, and "
	    "only one can hold");
	loads(V1 "methods: {a: allow, A: allow}\n");
}

static void
test_yaml_features(void **state)
{
	(void)state;
	bad(V1 "mode: &m observe\n",
	    "p.yaml:2:7: YAML anchors (&name) are not taken; a text that "
	    "starts with & has to be in quotes");
	bad(V1 "rules: &r []\n",
	    "p.yaml:2:8: YAML anchors (&name) are not taken; a text that "
	    "starts with & has to be in quotes");
	bad(V1 "mode: *m\n",
	    "p.yaml:2:7: YAML aliases (*name) are not taken; a text that "
	    "starts with * has to be in quotes");
	bad(V1 "mode: !!str observe\n",
	    "p.yaml:2:7: YAML tags (!name) are not taken; a text that starts "
	    "with ! has to be in quotes");
	bad(V1 "audit: !x {}\n",
	    "p.yaml:2:8: YAML tags (!name) are not taken; a text that starts "
	    "with ! has to be in quotes");
	bad(V1 "methods: {<<: {a: allow}}\n",
	    "p.yaml:2:11: merge keys (<<) are not taken; write the keys out");
	bad("version: 1\n---\nmode: observe\n",
	    "p.yaml:2:1: a second document (---) in one file; give each "
	    "policy a file of its own");
	bad("version: 1\n...\n---\n",
	    "p.yaml:3:1: a second document (---) in one file; give each "
	    "policy a file of its own");
	bad("? [version]\n: 1\n",
	    "p.yaml:1:3: a list as a key; a key is a word");
	bad("? {a: b}\n: 1\n",
	    "p.yaml:1:3: a mapping as a key; a key is a word");
	bad(V1 "methods: {12: allow}\n",
	    "p.yaml:2:11: the number 12 as a key; a name that looks like "
	    "something else has to be in quotes");
	bad(V1 "methods: {null: allow}\n",
	    "p.yaml:2:11: null as a key; a name that looks like something "
	    "else has to be in quotes");
	bad(V1 "methods: {\"\": allow}\n",
	    "p.yaml:2:11: an empty key; a key is a word");
	loads(V1 "methods: {\"12\": allow, \"null\": allow, \"<<\": allow}\n");
}

static void
test_syntax(void **state)
{
	(void)state;
	bad(V1 "mode: observe\n\trules: []\n",
	    "p.yaml:3:1: not YAML: found a tab character that violates "
	    "indentation; indent with blanks, not tabs");
	bad(V1 "mode: a: b\n",
	    "p.yaml:2:8: not YAML: mapping values are not allowed in this "
	    "context; a text with a colon and a blank in it has to be in "
	    "quotes; else look at the indentation");
	bad(RULE("a", "*_x", "allow"),
	    "p.yaml:3:19: YAML aliases (*name) are not taken; a text that "
	    "starts with * has to be in quotes");
	bad(RULE("a", "*.x", "allow"),
	    "p.yaml:3:19: not YAML: did not find expected alphabetic or "
	    "numeric character; a text that starts with * has to be in "
	    "quotes");
	bad(V1 "mode: @x\n",
	    "p.yaml:2:7: not YAML: found character that cannot start any "
	    "token; a text that starts with this character has to be in "
	    "quotes, and lines are indented with blanks, not tabs");
	bad(V1 "mode: \"a\\qb\"\n",
	    "p.yaml:2:9: not YAML: found unknown escape character; in double "
	    "quotes a backslash is written twice; in single quotes it stands "
	    "for itself");
	bad(V1 "mode: \"observe\n",
	    "p.yaml:2:7: not YAML: found unexpected end of stream; a closing "
	    "quote is missing");
	bad(V1 "rules: [a, b\n",
	    "p.yaml:2:8: not YAML: did not find expected ',' or ']'; a list "
	    "that starts with [ ends with ], with commas between");
	bad(V1 "audit: {sync: never\n",
	    "p.yaml:2:8: not YAML: did not find expected ',' or '}'; a "
	    "mapping that starts with { ends with }, with commas between");
	bad(V1 "audit:\n    sync: never\n  args: full\n",
	    "p.yaml:4:3: not YAML: did not find expected key; keys of one "
	    "mapping start in the same column: look at the indentation");
}

static void
test_bytes(void **state)
{
	static const char nul[] = "version: 1\nmode\0: observe\n";

	(void)state;
	bad_bytes(nul, sizeof(nul) - 1,
		  "p.yaml:2:5: a NUL byte; a policy is a text file in UTF-8");
	bad(V1 "mode: \"a\\0b\"\n",
	    "p.yaml:2:7: a NUL character in a text; no name has one, so leave "
	    "it out");
	bad(V1 "# \xc3\xa4\xc3\n",
	    "p.yaml:2:4: the byte 0xc3 is not UTF-8; save the file as UTF-8");
	bad("\xff\xfev\n",
	    "p.yaml:1:1: the byte 0xff is not UTF-8; save the file as UTF-8");
	bad(V1 "\xed\xa0\x80\n",
	    "p.yaml:2:1: the byte 0xed is not UTF-8; save the file as UTF-8");
	bad(V1 "# \x1b[31m\n",
	    "p.yaml:2:3: the character U+001B may not stand in a policy; "
	    "leave it out, or write it as an escape in double quotes");
	bad(V1 "# \xe2\x80\xae\n",
	    "p.yaml:2:3: the character U+202E may not stand in a policy; "
	    "leave it out, or write it as an escape in double quotes");
	bad(V1 "# a\xe2\x80\xa8mode: observe\n",
	    "p.yaml:2:4: the character U+2028 may not stand in a policy; "
	    "leave it out, or write it as an escape in double quotes");
	/* Columns count characters, not bytes. */
	bad(V1 "methods: {\"\xc3\xa4\xe2\x82\xac\": deny}\n",
	    "p.yaml:2:17: \xc3\xa4\xe2\x82\xac: allow, ask or block expected, "
	    "not \"deny\"; did you mean \"block\"?");
	loads(V1 "# \xe2\x9a\xa0\xef\xb8\x8f careful\n");
}

static char *
repeated(const char *first, const char *s, size_t n, const char *last)
{
	size_t size = strlen(first) + strlen(s) * n + strlen(last) + 1, i;
	char *out = malloc(size), *at;

	assert_non_null(out);
	at = stpcpy(out, first);
	for (i = 0; i < n; i++)
		at = stpcpy(at, s);
	stpcpy(at, last);
	return out;
}

static void
bad_repeated(const char *first, const char *s, size_t n, const char *last,
	     const char *message)
{
	char *text = repeated(first, s, n, last);

	bad(text, message);
	free(text);
}

static void
test_limits(void **state)
{
	char *text;

	(void)state;
	bad_repeated("methods: ", "[", 31, "",
		     "p.yaml:2:1: not YAML: did not find expected node "
		     "content; a value or a closing bracket is missing");
	bad_repeated("methods: ", "[", 32, "]",
		     "p.yaml:1:41: more than 32 levels of lists and mappings; "
		     "no policy needs so many");
	bad_repeated("methods: ", "[", 1000000, "",
		     "p.yaml:1:41: more than 32 levels of lists and mappings; "
		     "no policy needs so many");
	bad_repeated(V1 "audit: {redact: [", "a,", 65529, "a]}",
		     "p.yaml:2:131076: more than 65536 keys and values in one "
		     "file; split it");
	text = repeated(V1 "audit: {redact: [", "a,", 65528, "a]}");
	loads(text);
	free(text);
	text = repeated(V1, "#\n", (1024 * 1024 - strlen(V1)) / 2, "\n");
	assert_int_equal(strlen(text), 1024 * 1024);
	loads(text);
	free(text);
	bad_repeated(V1, "#\n", (1024 * 1024 - strlen(V1)) / 2, "\n\n",
		     "p.yaml: a policy of more than 1048576 bytes; split it");
}

static void
test_rule_mistakes(void **state)
{
	(void)state;
	bad(V1 "rules: {a: b}\n",
	    "p.yaml:2:8: rules: a list (lines of \"- item\", or []) expected, "
	    "not a mapping");
	bad(V1 "rules:\n",
	    "p.yaml:2:7: rules: a list (lines of \"- item\", or []) expected, "
	    "not nothing");
	bad(V1 "rules: [a]\n",
	    "p.yaml:2:9: rules: a rule is a mapping with id, tool and action, "
	    "not \"a\"");
	bad(V1 "rules:\n  - {id: a, tool: t}\n",
	    "p.yaml:3:5: a rule without \"action\"; it needs id, tool and "
	    "action");
	bad(V1 "rules:\n  - {id: a, action: block}\n",
	    "p.yaml:3:5: a rule without \"tool\"; it needs id, tool and "
	    "action");
	bad(V1 "rules:\n  - {tool: a, action: block}\n",
	    "p.yaml:3:5: a rule without \"id\"; it needs id, tool and action");
	bad(RULE("a", "t", "ask"),
	    "p.yaml:3:30: action: allow, require_approval or block expected, "
	    "not \"ask\"; did you mean \"require_approval\"?");
	bad(RULE("a", "12", "block"),
	    "p.yaml:3:19: tool: a text expected, not the number 12; put it in "
	    "quotes: \"12\"");
	bad(RULE("a", "0x1F", "block"),
	    "p.yaml:3:19: tool: a text expected, not the number 0x1F; put it "
	    "in quotes: \"0x1F\"");
	bad(RULE("a", "-1.5e3", "block"),
	    "p.yaml:3:19: tool: a text expected, not the number -1.5e3; put "
	    "it in quotes: \"-1.5e3\"");
	bad(RULE("a", "true", "block"),
	    "p.yaml:3:19: tool: a text expected, not \"true\"; put it in "
	    "quotes: \"true\"");
	bad(RULE("a", "null", "block"),
	    "p.yaml:3:19: tool: a text expected, not null");
	bad(RULE("a", "\"\"", "block"),
	    "p.yaml:3:19: tool: a text expected, not \"\"");
	bad(RULE("a", "[t, u]", "block"),
	    "p.yaml:3:19: tool: a text expected, not a list");
	bad(RULE("~", "t", "block"),
	    "p.yaml:3:10: id: a text expected, not null");
	bad(RULE("7", "t", "block"),
	    "p.yaml:3:10: id: a text expected, not the number 7; put it in "
	    "quotes: \"7\"");
	bad(RULE("\"a\\nb\"", "t", "block"),
	    "p.yaml:3:10: id: a control or invisible character (a newline is "
	    "one); it is one line of visible text");
	bad(RULE("a", "t", "block, reason: \"x\\e[2Jy\""),
	    "p.yaml:3:45: reason: a control or invisible character (a "
	    "newline is one); it is one line of visible text");
	bad(RULE("a", "t", "block, reason: \"x\\ny\""),
	    "p.yaml:3:45: reason: a control or invisible character (a "
	    "newline is one); it is one line of visible text");
	bad(RULE("a", "t", "block, reason: 3"),
	    "p.yaml:3:45: reason: a text expected, not the number 3; put it "
	    "in quotes: \"3\"");
	bad(RULE("a", "t", "block") "  - {id: a, tool: u, action: allow}\n",
	    "p.yaml:4:10: id: \"a\" is the id of the rule in line 3 already; "
	    "each needs its own");
	loads(RULE("a", "t", "block") "  - {id: b, tool: t, action: allow}\n");
	loads(RULE("yes", "no", "block, reason: on"));
	loads(RULE("'7'", "\"12\"", "block"));
}

static void
test_glob_limit(void **state)
{
	char name[300], text[600];

	(void)state;
	memset(name, 'a', sizeof(name));
	name[256] = '*';
	name[257] = '\0';
	snprintf(text, sizeof(text), RULE("a", "%s", "block"), name);
	bad(text, "p.yaml:3:19: tool: a pattern of 257 bytes; at most 256 are "
		  "taken");
	snprintf(text, sizeof(text), RULE("a", "%s", "block"), name + 1);
	loads(text);
	name[256] = 'a'; /* a whole name may be longer */
	snprintf(text, sizeof(text), RULE("a", "%s", "block"), name);
	loads(text);
}

static void
test_method_mistakes(void **state)
{
	(void)state;
	bad(V1 "methods: {tools/call: block}\n",
	    "p.yaml:2:11: methods: tools/call is judged by rules: and "
	    "default_action:, so write it there");
	bad(V1 "methods: {\"*\": block}\n",
	    "p.yaml:2:11: methods: no patterns are taken here; name each "
	    "method, and the rest with default:");
	bad(V1 "methods: {ping: allow, sampling/?: block}\n",
	    "p.yaml:2:24: methods: no patterns are taken here; name each "
	    "method, and the rest with default:");
	bad(V1 "methods: {ping: deny}\n",
	    "p.yaml:2:17: ping: allow, ask or block expected, not \"deny\"; "
	    "did you mean \"block\"?");
	bad(V1 "methods: {ping: require_approval}\n",
	    "p.yaml:2:17: ping: allow, ask or block expected, not "
	    "\"require_approval\"; did you mean \"ask\"?");
	bad(V1 "methods: {default: denied}\n",
	    "p.yaml:2:20: default: allow, ask or block expected, not "
	    "\"denied\"");
	bad(V1 "methods: [ping]\n",
	    "p.yaml:2:10: methods: a mapping (lines of \"key: value\", or {}) "
	    "expected, not a list");
	loads(V1 "methods: {}\n");
	loads(V1 "methods: {default: ask, ping: allow, x-y/z: block}\n");
}

/* The nine built-in words and 247 more. */
static void
test_redact_limit(void)
{
	char text[4096];
	size_t len, i;

	len = (size_t)snprintf(text, sizeof(text), V1 "audit: {redact: [");
	for (i = 0; i < 247; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"w%03zu,", i);
	snprintf(text + len, sizeof(text) - len, "]}\n");
	loads(text);
	snprintf(text + len, sizeof(text) - len, "more]}\n");
	bad(text, "p.yaml:2:1253: redact: more than 256 words, the built-in "
		  "ones counted; take shorter ones, which match more");
}

static void
test_redact_mistakes(void **state)
{
	(void)state;
	bad(V1 "audit: {redact: password}\n",
	    "p.yaml:2:17: redact: a list (lines of \"- item\", or []) "
	    "expected, not \"password\"");
	bad(V1 "audit: {redact: [\"_-\"]}\n",
	    "p.yaml:2:18: redact: \"_-\" has nothing but - and _, which do "
	    "not count; a word expected");
	bad(V1 "audit: {redact: [a, 1]}\n",
	    "p.yaml:2:21: redact: a text expected, not the number 1; put it "
	    "in quotes: \"1\"");
	loads(V1 "audit: {redact: []}\n");
	test_redact_limit();
}

static void
test_guard_mistakes(void **state)
{
	(void)state;
	bad("default_action: allow\n",
	    "p.yaml:1:1: an MCP Guard policy needs \"rules\"; the least is "
	    "\"rules: []\"");
	bad("# x\nrules: []\n",
	    "p.yaml:2:1: an MCP Guard policy needs \"default_action\"; the "
	    "least is \"default_action: allow\"");
	bad("mode: observe\n",
	    "p.yaml:1:1: an MCP Guard policy needs \"default_action\"; the "
	    "least is \"default_action: allow\"");
	bad("default_action: allow\nrules: []\nrulez: []\n",
	    "p.yaml:3:1: unknown key \"rulez\" in an MCP Guard policy (a "
	    "Doorward policy starts with \"version: 1\"); did you mean "
	    "\"rules\"?");
	bad("verison: 1\nrules: []\n",
	    "p.yaml:1:1: unknown key \"verison\" in an MCP Guard policy (a "
	    "Doorward policy starts with \"version: 1\"); did you mean "
	    "\"version\"?");
	bad("default_action: allow\nrules: []\nmethods: {}\n",
	    "p.yaml:3:1: methods: a key of Doorward's own format; add "
	    "\"version: 1\" to have that");
	bad("default_action: allow\nrules:\n- id: a\n  tool: t\n  action: "
	    "block\n  reason: no\n",
	    "p.yaml:6:3: reason: a key of Doorward's own format; add "
	    "\"version: 1\" to the file to have that");
	bad("default_action: allow\nrules:\n- {id: a, tool: t, action: "
	    "require_approval, countdown_seconds: 600}\n",
	    "p.yaml:3:46: countdown_seconds: Doorward has no undoing, "
	    "countdowns or spending caps, and will not act as if; leave it "
	    "out");
	bad("default_action: yolo\nrules: []\n",
	    "p.yaml:1:17: default_action: allow, require_approval or block "
	    "expected, not \"yolo\"");
	bad("default_action: allow\nmode:\nrules: []\n",
	    "p.yaml:2:6: mode: enforce or observe expected, not nothing");
	bad("default_action: allow\nrules: []\npacks: on\n",
	    "p.yaml:3:8: packs: auto, none or a list of names "
	    "([gmail, slack]) expected, not \"on\"");
	loads("default_action: allow\nrules: []\npacks: auto\n");
	loads("default_action: allow\nrules: []\npacks: none\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_empty),
	    cmocka_unit_test(test_root),
	    cmocka_unit_test(test_version),
	    cmocka_unit_test(test_unknown_keys),
	    cmocka_unit_test(test_words),
	    cmocka_unit_test(test_duplicates),
	    cmocka_unit_test(test_yaml_features),
	    cmocka_unit_test(test_syntax),
	    cmocka_unit_test(test_bytes),
	    cmocka_unit_test(test_limits),
	    cmocka_unit_test(test_rule_mistakes),
	    cmocka_unit_test(test_glob_limit),
	    cmocka_unit_test(test_method_mistakes),
	    cmocka_unit_test(test_redact_mistakes),
	    cmocka_unit_test(test_guard_mistakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
