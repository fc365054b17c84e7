/*
 * Judgement of tools and methods, and the answers that come of it.
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

#include "proto/buf.h"
#include "proto/text.h"

#include "policy.h"

#include "answer.h"
#include "judge.h"
#include "message.h"
#include "policy_help.h"
#include "requests.h"
#include "tree_help.h"

#define RULES(reason)                                         \
	"rules:\n"                                            \
	"- {id: no, tool: del, action: block" reason "}\n"    \
	"- {id: who, tool: mail, action: require_approval}\n" \
	"- {id: yes, tool: read, action: allow}\n"
#define OWN "version: 1\n" RULES(", reason: \"not \\\"here\\\"\"")
#define GUARD "default_action: block\n" RULES("")

/* A call without arguments, of a tool that nothing is known of. */
static void
judge_tool(const struct policy *p, const char *name, struct verdict *v)
{
	struct policy_view *view =
	    policy_view_new(p, name, strlen(name), NULL, NULL);
	struct policy_places places = {0};
	struct policy_call call = {name, strlen(name), NULL, 1, &places};

	memset(v, 0, sizeof(*v));
	judge_call(p, view, &call, v);
	policy_view_free(view);
}

static void
judged(const struct policy *p, const char *name, enum policy_action action,
       const char *contract, const char *rule, const char *reason)
{
	struct verdict v;

	judge_tool(p, name, &v);
	assert_int_equal(v.action, action);
	assert_string_equal(v.contract, contract);
	assert_string_equal(v.rule, rule);
	assert_string_equal(v.reason, reason);
	assert_int_equal(v.audited, 1); /* every tool, whatever the verdict */
	verdict_clear(&v);
	assert_null(v.reason);
}

/* The mode is none of the judge's business: it says what it thinks. */
static void
tools(void **state)
{
	static const char *const texts[] = {OWN, "mode: observe\n" OWN};
	struct policy *p;
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		p = good(texts[i]);
		judged(p, "del", ACTION_BLOCK, "rule", "no", "not \"here\"");
		judged(p, "mail", ACTION_ASK, "rule", "who",
		       "the tool \"mail\" needs a person's approval, and "
		       "there is nobody to ask");
		judged(p, "read", ACTION_ALLOW, "rule", "yes",
		       "the tool \"read\" is allowed by the policy");
		judged(p, "other", ACTION_ALLOW, "default", "default_action",
		       "the tool \"other\" is allowed by default, since "
		       "nothing speaks of it");
		judged(p, "DEL", ACTION_ALLOW, "default", "default_action",
		       "the tool \"DEL\" is allowed by default, since "
		       "nothing speaks of it");
		judged(p, "", ACTION_ALLOW, "default", "default_action",
		       "the tool \"\" is allowed by default, since "
		       "nothing speaks of it");
		policy_free(p);
	}
	p = good("version: 1\ntools: {t: {max_calls: 3}}\n");
	judged(p, "t", ACTION_ALLOW, "default", "tools.t",
	       "an entry of the policy knows the tool, and nothing is against "
	       "the call");
	policy_free(p);
	p = good("version: 1\ndefault_action: allow\n");
	judged(p, "t", ACTION_ALLOW, "default", "default_action",
	       "the tool \"t\" is allowed by the policy");
	policy_free(p);
	p = good("version: 1\ndefault_action: block\n");
	judged(p, "other", ACTION_BLOCK, "default", "default_action",
	       "the tool \"other\" is blocked by the policy");
	policy_free(p);
}

/* A stranger's name cannot imitate us, nor reach a terminal as it is. */
static void
names_in_reasons(void **state)
{
	struct policy *p = good("version: 1\ndefault_action: block\n");
	char longest[5000];
	struct verdict v;
	size_t i, k;
	uint32_t cp;

	(void)state;
	judged(p, "a\nb\x1b[31m\u202e\u200b\x7f", ACTION_BLOCK, "default",
	       "default_action",
	       "the tool \"a\\x0ab\\x1b[31m\\u{202e}\\u{200b}\\x7f\" is "
	       "blocked by the policy");
	memset(longest, 'n', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	judge_tool(p, longest, &v);
	assert_true(strlen(v.reason) < 300);
	assert_non_null(strstr(v.reason, "nnn...\" is blocked by the policy"));
	verdict_clear(&v);
	for (i = 0; i + 4 < sizeof(longest); i += k)
		k = text_utf8_put(i % 3 ? 0x9b : 0x2066, longest + i);
	longest[i] = '\0';
	judge_method(p, longest, i, NULL, NULL, &v);
	for (i = 0; v.reason[i] != '\0'; i += k) {
		k = text_utf8_next(v.reason + i, strlen(v.reason + i), &cp);
		assert_true(k > 0);
		assert_false(text_unsafe(cp));
	}
	verdict_clear(&v);
	policy_free(p);
}

static void
method_is(const struct policy *p, const char *name, enum policy_action action,
	  const char *contract, int audited)
{
	struct verdict v;

	judge_method(p, name, strlen(name), NULL, NULL, &v);
	if (v.action != action || strcmp(v.contract, contract) != 0 ||
	    v.audited != audited)
		fail_msg("%s: %d by %s, audited %d", name, v.action, v.contract,
			 v.audited);
	verdict_clear(&v);
}

static void
methods(void **state)
{
	static const char *const always[] = {
	    "resources/read", "resources/subscribe", "subscriptions/listen",
	    "prompts/get", "tools/call"};
	static const char *const never[] = {"tools/list",
					    "ping",
					    "initialize",
					    "tools/callx",
					    "tools/cal",
					    "Tools/call",
					    "prompts/list",
					    "resources/unsubscribe",
					    ""};
	struct policy *p = good("version: 1\n");
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(always) / sizeof(always[0]); i++) {
		assert_int_equal(
		    method_is_audited(always[i], strlen(always[i])), 1);
		method_is(p, always[i], ACTION_ALLOW, "default", 1);
	}
	for (i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		assert_int_equal(method_is_audited(never[i], strlen(never[i])),
				 0);
		method_is(p, never[i], ACTION_ALLOW, "default", 0);
	}
	/* By the whole length, not up to a NUL. */
	assert_int_equal(method_is_audited("prompts/get\0", 12), 0);
	policy_free(p);
	/* Whatever methods: names has a line, allowed or not. */
	p = good("version: 1\nmethods: {sampling/createMessage: block, "
		 "ping: allow, roots/list: ask, prompts/get: block}\n");
	method_is(p, "sampling/createMessage", ACTION_BLOCK, "method", 1);
	method_is(p, "ping", ACTION_ALLOW, "method", 1);
	method_is(p, "roots/list", ACTION_ASK, "method", 1);
	method_is(p, "prompts/get", ACTION_BLOCK, "method", 1);
	method_is(p, "tools/list", ACTION_ALLOW, "default", 0);
	policy_free(p);
	p = good("version: 1\nmethods: {default: block, tools/list: allow}\n");
	method_is(p, "tools/list", ACTION_ALLOW, "method", 1);
	method_is(p, "anything", ACTION_BLOCK, "default", 1);
	policy_free(p);
}

static void
wrote(struct buf *b, const char *want)
{
	size_t i;

	for (i = 0; i + 1 < buf_used(b); i++)
		assert_true((unsigned char)buf_head(b)[i] >= 0x20);
	buf_putc(b, '\0');
	assert_string_equal(buf_head(b), want);
	b->len = 0;
}

static void
errors(void **state)
{
	static const struct {
		struct scalar id;
		const char *want;
	} ids[] = {
	    {{SCALAR_NONE, 0, ""}, "null"},
	    {{SCALAR_NUMBER, 1, "1"}, "1"},
	    {{SCALAR_NUMBER, 2, "-0"}, "-0"},
	    {{SCALAR_NUMBER, 16, "9007199254740993"}, "9007199254740993"},
	    {{SCALAR_STRING, 1, "1"}, "\"1\""},
	    {{SCALAR_STRING, 0, ""}, "\"\""},
	    {{SCALAR_STRING, 3, "a\"\n"}, "\"a\\\"\\n\""},
	    /* An id goes back as it came, or it would be another's. */
	    {{SCALAR_STRING, 3, "\u202e"}, "\"\u202e\""},
	};
	struct buf b = BUF_INIT;
	char want[200];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		answer_error(&b, &ids[i].id, ANSWER_DENIED, "no\n\u202e");
		snprintf(want, sizeof(want),
			 "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":"
			 "1001,\"message\":\"no\\n\\u202e\"}}\n",
			 ids[i].want);
		wrote(&b, want);
		answer_tool_error(&b, &ids[i].id, 0, "t\"");
		snprintf(want, sizeof(want),
			 "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{"
			 "\"content\":[{\"type\":\"text\",\"text\":\"t\\\"\"}],"
			 "\"isError\":true}}\n",
			 ids[i].want);
		wrote(&b, want);
	}
	answer_tool_error(&b, &ids[1].id, 1, "t");
	wrote(&b, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":"
		  "\"complete\",\"content\":[{\"type\":\"text\",\"text\":"
		  "\"t\"}],\"isError\":true}}\n");
	answer_error(&b, &ids[1].id, ANSWER_GUARD_HELD, "x");
	wrote(&b, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32002,"
		  "\"message\":\"x\"}}\n");
	buf_free(&b);
}

/* Judges a message as it would be judged, and compares the answer. */
static void
answered(const struct policy *p, const char *json, const char *want)
{
	struct buf tree = BUF_INIT, b = BUF_INIT;
	const cJSON *name;
	struct message m;
	struct verdict v;

	put_json(&tree, json);
	assert_int_equal(message_decode(&m, buf_head(&tree), buf_used(&tree)),
			 0);
	name = message_member(m.params, "name");
	if (strcmp(m.method, "tools/call") == 0)
		judge_tool(p, name->valuestring, &v);
	else
		judge_method(p, m.method, strlen(m.method), NULL, NULL, &v);
	answer_verdict(&b, &m, &v);
	wrote(&b, want);
	verdict_clear(&v);
	message_free(&m);
	buf_free(&tree);
	buf_free(&b);
}

#define V "{\"jsonrpc\":\"2.0\",\"id\":7,"
#define CALL(tool, more)                                                     \
	V "\"method\":\"tools/call\",\"params\":{\"name\":\"" tool "\"" more \
	  "}}"
#define MODERN                                                            \
	",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-" \
	"07-28\"}"
#define TASK ",\"task\":{\"ttl\":1}"
#define RESULT(first, text)                                                \
	V "\"result\":{" first "\"content\":[{\"type\":\"text\",\"text\":" \
	  "\"[doorward denied] " text "\"}],\"isError\":true}}\n"
#define COMPLETE "\"resultType\":\"complete\","
#define ERROR(code, text) \
	V "\"error\":{\"code\":" code ",\"message\":\"" text "\"}}\n"
#define NO "not \\\"here\\\""
#define BLOCKED "\\\"del\\\" is blocked by the policy"
#define NOBODY \
	"\\\"mail\\\" needs a person's approval, and there is nobody to ask"

static void
answers(void **state)
{
	struct policy *p = good(OWN "methods: {roots/list: ask, ping: block}\n"
				    "default_action: block\n");

	(void)state;
	answered(p, CALL("del", ""), RESULT("", NO " (rule no)"));
	answered(p, CALL("del", MODERN), RESULT(COMPLETE, NO " (rule no)"));
	answered(p, CALL("mail", ""),
		 RESULT("", "the tool " NOBODY " (rule who)"));
	answered(p, CALL("x", ""),
		 RESULT("", "the tool \\\"x\\\" is blocked by the policy "
			    "(rule default_action)"));
	/* A task was asked for, and a result is none. */
	answered(p, CALL("del", TASK),
		 ERROR("1001", "[doorward denied] " NO " (rule no)"));
	answered(
	    p, CALL("mail", TASK),
	    ERROR("1002", "[doorward denied] the tool " NOBODY " (rule who)"));
	answered(p, CALL("del", TASK MODERN),
		 RESULT(COMPLETE, NO " (rule no)"));
	/* Other methods */
	answered(p, V "\"method\":\"ping\"}",
		 ERROR("1001", "[doorward denied] the method \\\"ping\\\" is "
			       "blocked by the policy (rule methods)"));
	answered(p, V "\"method\":\"roots/list\"}",
		 ERROR("1002", "[doorward denied] the method \\\"roots/list"
			       "\\\" needs a person's approval, and there is "
			       "nobody to ask (rule methods)"));
	policy_free(p);
}

static void
answers_of_guard(void **state)
{
	struct policy *p = good(GUARD);

	(void)state;
	answered(p, CALL("del", ""),
		 ERROR("-32001", "Blocked: the tool " BLOCKED " (rule no)"));
	answered(p, CALL("mail", ""),
		 ERROR("-32002",
		       "Held for approval: the tool " NOBODY " (rule who)"));
	answered(p, CALL("other", ""),
		 ERROR("-32001",
		       "Blocked: the tool \\\"other\\\" is blocked by the "
		       "policy (rule default_action)"));
	answered(p, CALL("del", TASK),
		 ERROR("-32001", "Blocked: the tool " BLOCKED " (rule no)"));
	/* Guard knows no other era. */
	answered(p, CALL("del", MODERN),
		 RESULT(COMPLETE, "the tool " BLOCKED " (rule no)"));
	answered(p, CALL("mail", MODERN),
		 RESULT(COMPLETE, "the tool " NOBODY " (rule who)"));
	policy_free(p);
	/* The own format's rule on top is answered in the own way. */
	p = two(GUARD, "version: 1\nrules:\n- {id: top, tool: mail, action: "
		       "block}\n");
	answered(p, CALL("mail", ""),
		 RESULT("", "the tool \\\"mail\\\" is blocked by the policy "
			    "(rule top)"));
	answered(p, CALL("del", ""),
		 ERROR("-32001", "Blocked: the tool " BLOCKED " (rule no)"));
	policy_free(p);
}

static void
unaudited(void **state)
{
	struct request r = {.id = {SCALAR_STRING, 1, "a"}};
	struct buf b = BUF_INIT;
	char tool[] = "del";

	(void)state;
#define WHY                                                                    \
	"the audit cannot be written, so nothing is forwarded: disk \\\"x\\\"" \
	" (rule audit)"
	answer_unaudited(&b, &r, "disk \"x\"");
	wrote(&b, "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"error\":{\"code\":1003,"
		  "\"message\":\"[doorward denied] " WHY "\"}}\n");
	r.tool = tool;
	r.id = (struct scalar){SCALAR_NUMBER, 1, "7"};
	answer_unaudited(&b, &r, "disk \"x\"");
	wrote(&b, RESULT("", WHY));
	r.modern = 1;
	answer_unaudited(&b, &r, "disk \"x\"");
	wrote(&b, RESULT(COMPLETE, WHY));
	r.modern = 0;
	r.task = 1;
	answer_unaudited(&b, &r, "disk \"x\"");
	wrote(&b, ERROR("1003", "[doorward denied] " WHY));
	buf_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(tools),     cmocka_unit_test(names_in_reasons),
	    cmocka_unit_test(methods),   cmocka_unit_test(errors),
	    cmocka_unit_test(answers),   cmocka_unit_test(answers_of_guard),
	    cmocka_unit_test(unaudited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
