/*
 * Every key of the format: known, checked, and honest about not being built.
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

static void
warns(const char *text, const char *warning)
{
	struct policy *p = good(text);

	if (warning == NULL) {
		assert_int_equal(policy_warning_count(p), 0);
	} else {
		assert_int_equal(policy_warning_count(p), 1);
		assert_string_equal(policy_warning(p, 0), warning);
	}
	policy_free(p);
}

/* Values that are true of this version, though nothing is built for them. */
static void
test_silent(void **state)
{
	static const char *const texts[] = {
	    "packs: auto",
	    "packs: none",
	    "packs: []",
	    "tools: {}",
	    "flows: {}",
	    "flows: {private_to_public: off}",
	    "flows: {private_to_public: \"off\"}",
	    "typed: ignore",
	    "approval: {}",
	    "approval: {channels: []}",
	    "approval: {hold: false}",
	    "pins: {}",
	    "pins: {on_new: ask, on_changed: deny, hide: false}",
	    "tools: {t: {text_form: null, scan_text: [], vouches: []}}",
	    "ledger: {}",
	    "server: {}",
	    "server: {sandbox: null}",
	    "server: {sandbox: ~}",
	    "audit: {}",
	    "receipts: {file: null, stderr: false, endpoint: null}",
	};
	char text[128];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		snprintf(text, sizeof(text), V1 "%s\n", texts[i]);
		warns(text, NULL);
	}
}

/* Defaults that promise something which is not there yet. */
static void
test_idle_defaults(void **state)
{
	static const struct {
		const char *text, *where;
	} rows[] = {
	    {"approval: {channels: [elicitation, code]}",
	     "2:12: approval.channels"},
	    {"approval: {timeout: 50}", "2:12: approval.timeout"},
	    {"approval: {code_ttl: 300}", "2:12: approval.code_ttl"},
	    {"approval: {bind: call}", "2:12: approval.bind"},
	    {"ledger: {max_size: 128MiB}", "2:10: ledger.max_size"},
	    {"ledger: {max_size: 134217728}", "2:10: ledger.max_size"},
	    {"tools: {t: {on_tainted: deny}}", "2:13: on_tainted"},
	    {"tools: {t: {on_named: ask}}", "2:13: on_named"},
	    {"audit: {max_size: 64MiB}", "2:9: audit.max_size"},
	    {"audit: {max_size: 65536KiB}", "2:9: audit.max_size"},
	    {"audit: {keep: 10}", "2:9: audit.keep"},
	};
	char text[128], warning[128];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(text, sizeof(text), V1 "%s\n", rows[i].text);
		snprintf(warning, sizeof(warning),
			 "p.yaml:%s: not built yet, so it has no effect",
			 rows[i].where);
		warns(text, warning);
	}
}

/* Right values of features that are to come. */
static const struct {
	const char *text, *message;
} unbuilt[] = {
    {"flows: {private_to_public: ask}",
     "2:28: flows.private_to_public: \"ask\" is not built yet; only "
     "the default (off) is, so leave it out"},
    {"typed: trust", "2:8: typed: \"trust\" is not built yet; only the "
		     "default (ignore) is, so leave it out"},
    {"approval: {channels: [code]}",
     "2:22: approval.channels: this is not built yet; only the "
     "default (elicitation,code) is, so leave it out"},
    {"approval: {channels: [code, elicitation]}",
     "2:22: approval.channels: this is not built yet; only the "
     "default (elicitation,code) is, so leave it out"},
    {"approval: {hold: true}",
     "2:18: approval.hold: \"true\" is not built yet; only the "
     "default (false) is, so leave it out"},
    {"approval: {timeout: 60}",
     "2:21: approval.timeout: the number 60 is not built yet; only "
     "the default (50) is, so leave it out"},
    {"approval: {code_ttl: 0}",
     "2:22: approval.code_ttl: the number 0 is not built yet; only "
     "the default (300) is, so leave it out"},
    {"approval: {bind: destination}",
     "2:18: approval.bind: \"destination\" is not built yet; only the "
     "default (call) is, so leave it out"},
    {"ledger: {max_size: 1GiB}",
     "2:20: ledger.max_size: \"1GiB\" is not built yet; only the "
     "default (128MiB) is, so leave it out"},
    {"server: {sandbox: {read: [/usr], network: none}}",
     "2:19: server.sandbox: this is not built yet; only the "
     "default (null) is, so leave it out"},
    {"tools: {t: {content_params: [subject]}}",
     "2:29: content_params: this is not built yet; only the default ([]) "
     "is, so leave it out"},
    {"tools: {t: {scan_text: [body]}}",
     "2:24: scan_text: this is not built yet; only the default ([]) is, so "
     "leave it out"},
    {"tools: {t: {on_tainted: ask}}",
     "2:25: on_tainted: \"ask\" is not built yet; only the default (deny) "
     "is, so leave it out"},
    {"tools: {t: {on_named: deny}}",
     "2:23: on_named: \"deny\" is not built yet; only the default (ask) is, "
     "so leave it out"},
    {"tools: {t: {identity_fields: []}}",
     "2:13: identity_fields: not built yet; leave it out"},
    {"tools: {t: {text_form: headers}}",
     "2:24: text_form: \"headers\" is not built yet; only the default "
     "(null) is, so leave it out"},
    {"tools: {t: {reads: private}}",
     "2:13: reads: not built yet; leave it out"},
    {"tools: {t: {vouches: [\"$[*].email\"]}}",
     "2:13: vouches: not built yet; leave it out"},
    {"audit: {max_size: 1}",
     "2:19: audit.max_size: the number 1 is not built yet; only the "
     "default (64MiB) is, so leave it out"},
    {"audit: {keep: 11}",
     "2:15: audit.keep: the number 11 is not built yet; only the "
     "default (10) is, so leave it out"},
    {"receipts: {file: r.jsonl}",
     "2:18: receipts.file: \"r.jsonl\" is not built yet; only the "
     "default (null) is, so leave it out"},
    {"receipts: {stderr: true}",
     "2:20: receipts.stderr: \"true\" is not built yet; only the "
     "default (false) is, so leave it out"},
    {"receipts: {endpoint: \"https://x.example\"}",
     "2:22: receipts.endpoint: \"https://x.example\" is not built "
     "yet; only the default (null) is, so leave it out"},
};

static void
test_unbuilt(void **state)
{
	char text[128], message[256];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(unbuilt) / sizeof(unbuilt[0]); i++) {
		snprintf(text, sizeof(text), V1 "%s\n", unbuilt[i].text);
		snprintf(message, sizeof(message), "p.yaml:%s",
			 unbuilt[i].message);
		bad(text, message);
	}
}

/* A slip is named before a feature that is to come, wherever it stands. */
static void
test_slip_first(void **state)
{
	(void)state;
	bad(V1 "typed: trust\nledger: {max_size: 1}\nmode: x\n",
	    "p.yaml:4:7: mode: enforce or observe expected, not \"x\"");
	bad(V1 "typed: trust\nledger: {max_size: 1}\n",
	    "p.yaml:2:8: typed: \"trust\" is not built yet; only the default "
	    "(ignore) is, so leave it out");
	bad(V1 "tools:\n  a: {max_calls: 1}\n  b: {max_cals: 1}\n",
	    "p.yaml:4:7: unknown key \"max_cals\" in an entry of tools; did "
	    "you mean \"max_calls\"?");
	bad(V1 "tool_a:\n  max_calls: 1\n",
	    "p.yaml:2:1: unknown key \"tool_a\" in a Doorward policy; the "
	    "entries of tools go below \"tools:\"");
	bad(V1 "pin:\n  hide: true\n",
	    "p.yaml:2:1: unknown key \"pin\" in a Doorward policy; did you "
	    "mean \"pins\"?");
	bad(V1 "rules:\n- {id: a, tool: t, action: allow, max_calls: 1}\n",
	    "p.yaml:3:35: max_calls: a rule has no such key; it belongs in an "
	    "entry of the tool below \"tools:\"");
	bad("default_action: allow\nrules:\n- {id: a, tool: t, action: allow, "
	    "base: /srv}\n",
	    "p.yaml:3:35: base: a rule has no such key; it belongs in an entry "
	    "of the tool below \"tools:\", in a file with \"version: 1\"");
	bad(V1 "tools:\n  a:\n\u00a0\u00a0  max_calls: 1\n",
	    "p.yaml:4:1: the character U+00A0 before a key, which is no "
	    "ordinary blank; YAML indents with those alone");
	bad(V1 "\u3000mode: enforce\n",
	    "p.yaml:2:1: the character U+3000 before a key, which is no "
	    "ordinary blank; YAML indents with those alone");
	bad(V1 "server: {sandbox: {netwrk: none}}\n",
	    "p.yaml:2:20: unknown key \"netwrk\" in server.sandbox; did you "
	    "mean \"network\"?");
}

/* Each key of an entry that is built, with each form of its value. */
static void
test_entry_keys(void **state)
{
	static const char *const fit[] = {
	    "replace: true",
	    "exfiltrating: false",
	    "exfiltrating: true, sink_params: [to, cc, bcc]",
	    "exfiltrating: true, sink_params: []",
	    "exfiltrating: true, sink_params: {to: address, room: container}",
	    "exfiltrating: true, sink_params: [to, {url: link, k: opaque}]",
	    "exfiltrating: true, sinks_optional: true",
	    "exfiltrating: true, trusted_destinations: [\"*@corp.example\"]",
	    "exfiltrating: true, on_unproven: deny",
	    "max_calls: 0",
	    "write_params: [path, file.path]",
	    "allowed_path_prefixes: [/home/me/out, /, /srv/]",
	    "base: null",
	    "base: /home/me",
	    "arg_patterns: {path: '.*\\.(md|txt)'}",
	    "",
	};
	char text[256];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(fit) / sizeof(fit[0]); i++) {
		snprintf(text, sizeof(text), V1 "tools: {t: {%s}}\n", fit[i]);
		warns(text, NULL);
	}
}

static void
test_entry_mistakes(void **state)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
	    {"replace: yes", "replace: true or false expected, not \"yes\""},
	    {"exfiltrating: \"true\"",
	     "exfiltrating: true or false expected, not \"true\""},
	    {"sinks_optional: 1",
	     "sinks_optional: true or false expected, not the number 1"},
	    {"max_calls: -1", "max_calls: a whole number (0, 1, 2, ...) "
			      "expected, not the number -1"},
	    {"max_calls: 1.5", "max_calls: a whole number (0, 1, 2, ...) "
			       "expected, not the number 1.5"},
	    {"max_calls: \"5\"", "max_calls: a whole number (0, 1, 2, ...) "
				 "expected, not \"5\""},
	    {"max_calls: 0x10", "max_calls: a whole number (0, 1, 2, ...) "
				"expected, not the number 0x10"},
	    {"max_calls: 010", "max_calls: a whole number (0, 1, 2, ...) "
			       "expected, not the number 010"},
	    {"max_calls: 9999999999999999999",
	     "max_calls: a whole number (0, 1, 2, ...) expected, not the "
	     "number 9999999999999999999"},
	    {"on_tainted: allow", "on_tainted: deny or ask expected, not "
				  "\"allow\""},
	    {"on_named: block", "on_named: deny or ask expected, not "
				"\"block\"; did you mean \"deny\"?"},
	    {"reads: publik", "reads: untrusted or private expected, not "
			      "\"publik\""},
	    {"base: out", "base: \"out\" is relative; an absolute path (/...) "
			  "expected"},
	    {"write_params: path",
	     "write_params: a list (lines of \"- item\", or []) expected, not "
	     "\"path\""},
	    {"arg_patterns: [a]",
	     "arg_patterns: a mapping (lines of \"key: value\", or {}) "
	     "expected, not a list"},
	};
	char text[256], message[256];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(text, sizeof(text), V1 "tools: {t: {%s}}\n",
			 rows[i].text);
		snprintf(message, sizeof(message), "p.yaml:2:%zu: %s",
			 13 + strcspn(rows[i].text, ":") + 2, rows[i].message);
		bad(text, message);
	}
}

/* Mistakes inside lists and mappings of an entry: their own places. */
static void
test_entry_items(void **state)
{
	(void)state;
	bad(V1 "tools: {t: {allowed_path_prefixes: [/a, b]}}\n",
	    "p.yaml:2:41: allowed_path_prefixes: \"b\" is relative; an "
	    "absolute path (/...) expected");
	bad(V1 "tools: {t: {sink_params: [to, {url: lnk}]}}\n",
	    "p.yaml:2:37: url: address, container, link or opaque expected, "
	    "not \"lnk\"; did you mean \"link\"?");
	bad(V1 "tools: {t: {sink_params: [to, 3]}}\n",
	    "p.yaml:2:31: sink_params: a text expected, not the number 3; put "
	    "it in quotes: \"3\"");
	bad(V1 "tools: {t: {vouches: [email]}}\n",
	    "p.yaml:2:23: vouches: \"email\" is no JSONPath; one that starts "
	    "with $ expected");
	bad(V1 "tools: {t: {arg_patterns: {path: 3}}}\n",
	    "p.yaml:2:34: path: a text expected, not the number 3; put it in "
	    "quotes: \"3\"");
	bad(V1 "tools: {t: allow}\n",
	    "p.yaml:2:12: t: a mapping (lines of \"key: value\", or {}) "
	    "expected, not \"allow\"");
	bad(V1 "approval: {channels: [code, sms]}\n",
	    "p.yaml:2:29: channels: elicitation, code or page expected, not "
	    "\"sms\"");
	bad(V1 "approval: {channels: [code, code]}\n",
	    "p.yaml:2:29: channels: \"code\" is in the list twice");
	bad(V1 "approval: {channels: [[]]}\n",
	    "p.yaml:2:23: channels: elicitation, code or page expected, not a "
	    "list");
	bad(V1 "approval: {channels: code}\n",
	    "p.yaml:2:22: channels: a list (lines of \"- item\", or []) "
	    "expected, not \"code\"");
	bad(V1 "server: {sandbox: {read: [usr]}}\n",
	    "p.yaml:2:27: read: \"usr\" is relative; an absolute path (/...) "
	    "expected");
	bad(V1 "server: {sandbox: {network: all}}\n",
	    "p.yaml:2:29: network: none expected, not \"all\"");
	bad(V1 "server: {sandbox: off}\n",
	    "p.yaml:2:19: sandbox: a mapping (lines of \"key: value\", or {}) "
	    "expected, not \"off\"");
}

static void
test_sizes(void **state)
{
	static const char *const wrong[] = {
	    "64MB", "64 MiB", "64mib",  "-1", "1.5GiB",
	    "MiB",  "[]",     "064KiB", "~",  "\"64MiB\""};
	char text[64];
	struct policy_text t;
	struct policy_error err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(text, sizeof(text), V1 "audit: {max_size: %s}\n",
			 wrong[i]);
		t.name = "p.yaml";
		t.bytes = text;
		t.len = strlen(text);
		assert_null(policy_load_text(&t, 1, NULL, 0, &err));
		assert_int_equal(err.line, 2);
		assert_int_equal(err.column, 19);
		assert_non_null(strstr(err.text,
				       "max_size: a size (bytes, or a number "
				       "with KiB, MiB or GiB: 64MiB) "
				       "expected, not "));
		policy_error_clear(&err);
	}
	bad(V1 "audit: {max_size: 999999999999999999GiB}\n",
	    "p.yaml:2:19: max_size: a size (bytes, or a number with KiB, MiB "
	    "or GiB: 64MiB) expected, not \"999999999999999999GiB\"");
	bad(V1 "pins: []\n", "p.yaml:2:7: pins: a mapping (lines of \"key: "
			     "value\", or {}) expected, not a list");
	bad(V1 "pins:\n", "p.yaml:2:6: pins: a mapping (lines of \"key: "
			  "value\", or {}) expected, not nothing");
}

static void
test_method_slip(void **state)
{
	(void)state;
	warns(V1 "methods: {sampling/createMesage: block}\n",
	      "p.yaml:2:11: \"sampling/createMesage\" is no method of MCP; did "
	      "you mean \"sampling/createMessage\"?");
	warns(V1 "methods: {sampling/createMessage: block, x/y: ask}\n", NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_silent),
	    cmocka_unit_test(test_idle_defaults),
	    cmocka_unit_test(test_unbuilt),
	    cmocka_unit_test(test_slip_first),
	    cmocka_unit_test(test_entry_keys),
	    cmocka_unit_test(test_entry_mistakes),
	    cmocka_unit_test(test_entry_items),
	    cmocka_unit_test(test_sizes),
	    cmocka_unit_test(test_method_slip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
