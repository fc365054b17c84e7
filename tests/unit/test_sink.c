/*
 * Destinations by trust alone: what an entry trusts, and what is a
 * destination at all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cjson/cJSON.h>
#include <cmocka.h>

#include "policy.h"
#include "entry.h"
#include "call.h"
#include "sink.h"
#include "judge_help.h"

static const struct {
	const char *entry, *value;
	int trusted;
} trust[] = {
    /* mail addresses */
    {"me@corp.example", "me@corp.example", 1},
    {"me@corp.example", "ME@Corp.Example", 1},
    {"Me@Corp.example", " me@corp.example\t", 1},
    {"me@corp.example", "you@corp.example", 0},
    {"me@corp.example", "xme@corp.example", 0},
    {"me@corp.example", "me@corp.example.evil", 0},
    {"me@corp.example", "me@corp.example, x@evil.example", 0},
    {"me@corp.example", "Me <me@corp.example>", 0},
    {"me@corp.example", "mailto:me@corp.example", 0},
    {"me@corp.example", "me@corp.example.", 0},
    {"me@corp.example", "me+x@corp.example", 0},
    {"*@corp.example", "any.body@CORP.example", 1},
    {"*@corp.example", "any+tag@corp.example", 1},
    {"*@corp.example", "a@b@corp.example", 0},
    {"*@corp.example", "a@evil.example@corp.example", 0},
    {"*@corp.example", "a@evil.example,b@corp.example", 0},
    {"*@corp.example", "\"a@evil.example\"@corp.example", 0},
    {"*@corp.example", "a%evil.example@corp.example", 0},
    {"*@corp.example", "evil.example!a@corp.example", 0},
    {"*@corp.example", "a(x)@corp.example", 0},
    {"*@corp.example", "<a@evil.example> x@corp.example", 0},
    {"*@corp.example", "a@x.corp.example", 0},
    {"*@corp.example", "a@notcorp.example", 0},
    {"*@corp.example", "@corp.example", 0},
    {"*@corp.example", "a;b@corp.example", 0},
    {"*@corp.example", "a b@corp.example", 0},
    {"*@corp.example", "a@corp.example\nBcc: x@evil.example", 0},
    {"*@corp.example", ".a@corp.example", 0},
    {"*@corp.example", "\xd0\xb0@corp.example", 0},
    {"*@corp.example", "a@c\xd0\xberp.example", 0},
    {"*@corp.example", "https://a@corp.example", 0},
    {"*@corp.example", "http://evil.example/x@corp.example", 0},
    /* hosts (case 058) */
    {"host:example.com", "https://example.com@evil.example.net/", 0},
    {"host:example.com", "https://example.com:80@evil.example.net/", 0},
    {"host:example.com", "http://evil.example.net\\@example.com/", 0},
    {"host:example.com", "http://example.com\\@evil.example.net/", 0},
    {"host:example.com", "https://exa\tmple.com/", 0},
    {"host:example.com", "https://evil.example.net#@example.com/", 0},
    {"host:example.com", "https:evil.example.net", 0},
    {"host:example.com", "//evil.example.net/x", 0},
    {"host:example.com", "https:///evil.example.net/", 0},
    {"host:example.com", "javascript:fetch(\"//evil.example.net\")", 0},
    {"host:example.com", "https://example.com.evil.example.net/", 0},
    {"host:example.com", "https://evil-example.com/", 0},
    {"host:example.com", "HTTPS://EXAMPLE.COM:443/ok", 1},
    {"host:example.com", "https://docs.example.com./ok", 0},
    {"host:*.example.com", "https://docs.example.com/ok", 1},
    {"host:*.example.com", "https://a.b.example.com/ok", 1},
    {"host:*.example.com", "https://example.com/ok", 0},
    {"host:*.example.com", "https://evilexample.com/", 0},
    {"host:*.example.com", "https://.example.com/", 0},
    {"host:example.com", "http://example.com", 1},
    {"host:example.com", "example.com", 1},
    {"host:example.com", "Example.Com", 1},
    {"host:example.com", "example.com/x", 0},
    {"host:example.com", "https://example.com:8443/", 0},
    {"host:example.com:8443", "https://example.com:8443/", 1},
    {"host:example.com:8443", "https://example.com/", 0},
    {"host:example.com", "https://example.com:/", 0},
    {"host:example.com", "https://example.com:x/", 0},
    {"host:example.com", "https://example.com/#x", 0},
    {"host:example.com", "https://example.com?q=1", 1},
    {"host:example.com", "ftp://example.com/", 0},
    {"host:example.com", "https://user@example.com/", 0},
    {"host:example.com", "https://example.com/a b", 0},
    {"host:example.com", "https://example.com/@x", 1},
    /* case 060 */
    {"host:*.example.com", "https://evil.example.net%00.docs.example.com/", 0},
    {"host:*.example.com", "https://evil.example.net%2f.docs.example.com/", 0},
    {"host:127.0.0.1", "http://0177.0.0.1/", 0},
    {"host:127.0.0.1", "http://2130706433/", 0},
    {"host:127.0.0.1", "http://127.0.0.1/", 1},
    /* URLs */
    {"https://h.example/hook", "https://h.example/hook", 1},
    {"https://h.example/hook", "HTTPS://H.example:443/hook", 1},
    {"https://h.example/hook", "https://h.example/Hook", 0},
    {"https://h.example/hook", "http://h.example/hook", 0},
    {"https://h.example/hook", "https://h.example/hook2", 0},
    {"https://h.example/hook", "https://h.example/hook?x=1", 0},
    {"https://h.example/hook", "https://u@h.example/hook", 0},
    {"https://h.example/hook", "https://h.example:444/hook", 0},
    {"https://h.example:444/hook", "https://h.example:444/hook", 1},
    {"https://h.example", "https://h.example/", 1},
    {"https://h.example/", "https://h.example", 1},
    {"https://h.example/", "https://h.example/x", 0},
    {"https://h.example/hook/*", "https://h.example/hook/a/b?c=d", 1},
    {"https://h.example/hook/*", "https://h.example/hook/", 1},
    {"https://h.example/hook/*", "https://h.example/hook", 0},
    {"https://h.example/hook/*", "https://h.example/hook/../x", 0},
    {"https://h.example/hook/*", "https://h.example/hook/%2e%2e/x", 0},
    {"https://h.example/hook/*", "https://h.example/hook/a%2f..", 0},
    {"https://h.example/hook/*", "https://h.example/hook/./x", 0},
    {"https://h.example/hook/*", "https://h.example/hook/a?u=../x", 1},
    {"https://h.example/hook*", "https://h.example/hooks", 1},
    {"https://h.example*", "https://h.example.evil/", 0},
    {"https://h.example*", "https://h.example/x", 0},
    {"https://h.example/*", "https://h.example.evil/", 0},
    /* anything else, as a whole */
    {"#general", "#General", 1},
    {"C0123", "c0123", 1},
    {"C0123", " C0123 ", 1},
    {"C0123", "C01234", 0},
    {"C0123", "C0123,C9", 0},
    {"4711", "4711", 1},
    {"a\\b", "a\\b", 0},
    {"caf\xc3\xa9", "caf\xc3\xa9", 1},
    {"cafe", "caf\xc3\xa9", 0},
    {"general",
     "gen\xe2\x80\x8b"
     "eral",
     0},
    {"example.com", "https://example.com/", 0},
    {"*", "anything", 0},
    {"@bob", "@bob", 1},
};

static void
test_trust(void **state)
{
	struct strings s;
	size_t i;
	char *one;
	int got;

	(void)state;
	for (i = 0; i < sizeof(trust) / sizeof(trust[0]); i++) {
		one = strdup(trust[i].entry);
		s.v = &one;
		s.n = 1;
		got = sink_trusted(&s, trust[i].value, strlen(trust[i].value));
		free(one);
		if (got == trust[i].trusted)
			continue;
		print_error("\"%s\" by \"%s\": %d\n", trust[i].value,
			    trust[i].entry, got);
		fail();
	}
	s.n = 0;
	assert_int_equal(sink_trusted(&s, "a@b", 3), 0);
}

static size_t
asked(struct entry *e, const char *text)
{
	cJSON *args = json(text);
	struct policy_call c = {"send", 4, args, 1, NULL};
	struct findings f = {NULL, 0, 0};
	size_t i, n;

	sink_judge(e, &c, &f);
	for (i = 0; i < f.n; i++) {
		assert_int_equal(f.v[i].contract, CONTRACT_SINK);
		assert_int_equal(f.v[i].action, e->on_unproven);
		assert_int_equal(f.v[i].always, 0);
	}
	n = f.n;
	findings_clear(&f);
	cJSON_Delete(args);
	return n;
}

static void
test_destinations(void **state)
{
	struct entry e;

	(void)state;
	test_entry(&e, "send");
	test_strings(&e, KEY_TRUSTED_DESTINATIONS, &e.trusted,
		     "ana@x.example 42");
	/* Not a sending tool. */
	assert_int_equal(asked(&e, "{\"to\":\"x@evil.example\"}"), 0);
	test_sink(&e, "to");
	test_sink(&e, "action.forward");
	assert_int_equal(asked(&e, "{\"to\":\"ana@x.example\"}"), 0);
	assert_int_equal(asked(&e, "{\"to\":\"x@evil.example\"}"), 1);
	assert_int_equal(asked(&e, "{\"to\":[\"ana@x.example\",\"b\"]}"), 1);
	assert_int_equal(asked(&e, "{\"to\":{\"a\":[[\"b\"],\"c\"]}}"), 2);
	assert_int_equal(asked(&e, "{\"to\":\"ana@x.example\","
				   "\"action\":{\"forward\":\"b\"}}"),
			 1);
	assert_int_equal(asked(&e, "{\"to\":\"\"}"), 1);
	assert_int_equal(asked(&e, "{\"to\":42}"), 0);
	assert_int_equal(asked(&e, "{\"to\":43}"), 1);
	assert_int_equal(asked(&e, "{\"to\":true}"), 1);
	assert_int_equal(asked(&e, "{\"to\":{\"b@evil.example\":null}}"), 1);
	/* What is no sink may be anything. */
	assert_int_equal(asked(&e, "{\"to\":\"ana@x.example\","
				   "\"body\":\"x@evil.example\"}"),
			 0);
	entry_clear(&e);
}

static void
test_absent_sinks(void **state)
{
	struct entry e;

	(void)state;
	test_entry(&e, "send");
	test_strings(&e, KEY_TRUSTED_DESTINATIONS, &e.trusted, "ana");
	test_sink(&e, "to");
	/* None there: each argument is one. */
	assert_int_equal(asked(&e, "{\"body\":\"x\",\"a\":[\"ana\",\"y\"]}"),
			 2);
	assert_int_equal(asked(&e, "{\"to\":null,\"body\":\"x\"}"), 1);
	assert_int_equal(asked(&e, "{\"to\":[],\"body\":\"x\"}"), 1);
	assert_int_equal(asked(&e, "{\"n\":1}"), 1);
	assert_int_equal(asked(&e, "{}"), 0);
	e.sinks_optional = 1;
	assert_int_equal(asked(&e, "{\"body\":\"x\"}"), 0);
	assert_int_equal(asked(&e, "{\"to\":\"x\"}"), 1);
	entry_clear(&e);
	/* None declared. */
	test_entry(&e, "send");
	e.exfiltrating = 1;
	test_given(&e, KEY_EXFILTRATING);
	assert_int_equal(asked(&e, "{\"body\":\"x\"}"), 1);
	entry_clear(&e);
}

static void
test_what_is_said(void **state)
{
	cJSON *args = json("{\"to\":[\"x\\u001b[1m\"]}");
	struct policy_call c = {"send", 4, args, 1, NULL};
	struct findings f = {NULL, 0, 0};
	struct entry e;

	(void)state;
	test_entry(&e, "send");
	test_sink(&e, "to");
	sink_judge(&e, &c, &f);
	assert_int_equal(f.n, 1);
	assert_string_equal(f.v[0].rule, "tools.send.sink_params");
	assert_string_equal(f.v[0].param, "to[0]");
	assert_non_null(strstr(f.v[0].reason, "\"x\\x1b[1m\""));
	assert_non_null(strstr(f.v[0].reason, "trusts alone"));
	findings_clear(&f);
	e.on_unproven = ACTION_BLOCK;
	test_given(&e, KEY_ON_UNPROVEN);
	sink_judge(&e, &c, &f);
	assert_int_equal(f.v[0].action, ACTION_BLOCK);
	assert_string_equal(f.v[0].rule, "tools.send.on_unproven");
	findings_clear(&f);
	cJSON_Delete(args);
	entry_clear(&e);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_trust),
	    cmocka_unit_test(test_destinations),
	    cmocka_unit_test(test_absent_sinks),
	    cmocka_unit_test(test_what_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
