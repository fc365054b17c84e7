/*
 * Whole judgements: findings and their order, budgets, patterns, rules and
 * defaults, several entries at once, and two properties: a stricter policy
 * never allows more, and the order of unrelated rules does not matter.
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

#include "policy.h"
#include "entry.h"
#include "call.h"
#include "args.h"
#include "findings.h"
#include "judge_help.h"
#include "policy_help.h"

#define V1 "version: 1\n"

static const char *const tree[] = {"/srv",  "/srv/work",    "/home/me",
				   "/home", "/home/me/own", NULL};
static const char *const own[] = {"/home/me/own"};
static struct fake fake = {tree, 0};

struct result {
	struct findings f;
	enum policy_action action;
	char worst[512]; /* "contract rule param: reason" */
};

/* Judges by a policy that is loaded; the caller clears r->f. */
static void
judge_by(struct policy *p, const char *name, const char *schema_text,
	 const char *args_text, uint64_t attempt, struct result *r)
{
	struct policy_places places = {.cwd = "/home/me",
				       .home = "/home/me",
				       .own = own,
				       .own_count = 1,
				       .readlink = fake_readlink,
				       .arg = &fake};
	cJSON *schema = schema_text != NULL ? json(schema_text) : NULL;
	cJSON *args = args_text != NULL ? json(args_text) : NULL;
	struct policy_view *v =
	    policy_view_new(p, name, strlen(name), schema, NULL);
	struct policy_call c = {name, strlen(name), args, attempt, &places};
	const struct finding *w;

	memset(r, 0, sizeof(*r));
	policy_judge(p, v, &c, &r->f);
	w = findings_worst(&r->f);
	assert_non_null(w);
	r->action = w->action;
	snprintf(r->worst, sizeof(r->worst), "%s %s %s: %s",
		 contract_name(w->contract), w->rule,
		 w->param != NULL ? w->param : "-", w->reason);
	policy_view_free(v);
	cJSON_Delete(args);
	cJSON_Delete(schema);
}

static void
expect(const char *policy, const char *name, const char *args, uint64_t attempt,
       const char *said)
{
	struct policy *p = good(policy);
	struct result r;
	char out[600];

	judge_by(p, name, NULL, args, attempt, &r);
	policy_free(p);
	snprintf(out, sizeof(out), "%s %s", policy_action_name(r.action),
		 r.worst);
	if (strncmp(out, said, strlen(said)) != 0) {
		print_error("\"%s\"\nhas to start with\n\"%s\"\n", out, said);
		print_findings(&r.f);
		fail();
	}
	findings_clear(&r.f);
}

/* What is wrong with a path, and where it leads if that is another. */
static void
test_path_reasons(void **state)
{
	static const char policy[] =
	    V1 "tools: {w: {write_params: [path], "
	       "allowed_path_prefixes: [/srv/work]}}\n";
#define PATH_SAID "block path tools.w.allowed_path_prefixes path: "

	(void)state;
	expect(policy, "w", "{\"path\":\"/x\"}", 1,
	       PATH_SAID "\"/x\" is outside the allowed folders");
	expect(policy, "w", "{\"path\":\"/srv/work/../x\"}", 1,
	       PATH_SAID
	       "\"/srv/work/../x\" leads to /srv/x, which is outside");
	expect(policy, "w", "{\"path\":17}", 1,
	       PATH_SAID "a number where a path is expected");
	expect(policy, "w", "{\"path\":false}", 1,
	       PATH_SAID "true or false where a path is expected");
}

static void
test_rule_and_default(void **state)
{
	static const char rules[] =
	    V1 "default_action: block\n"
	       "rules:\n"
	       "- {id: no, tool: 'delete_*', action: block, reason: not here}\n"
	       "- {id: ask, tool: 'buy', action: require_approval}\n"
	       "- {id: yes, tool: 'look', action: allow}\n"
	       "tools:\n"
	       "  spoken: {max_calls: 2}\n"
	       "  look: {max_calls: 1}\n";

	(void)state;
	expect(rules, "delete_x", "{}", 1, "block rule no -: not here");
	expect(rules, "buy", "{}", 1,
	       "ask rule ask -: the tool \"buy\" needs a person");
	expect(rules, "look", "{}", 1, "allow rule yes -: ");
	expect(rules, "look", "{}", 2, "block budget tools.look.max_calls");
	expect(rules, "other", "{}", 1,
	       "block default default_action -: the tool \"other\" is blocked");
	/* Spoken of, so the default does not hold. */
	expect(rules, "spoken", "{}", 1, "allow default tools.spoken -: ");
	expect(V1, "other", NULL, 1, "allow default default_action");
	expect("rules: []\ndefault_action: require_approval\n", "x", "{}", 1,
	       "ask default default_action");
}

static void
test_budget(void **state)
{
	static const char text[] = V1 "tools:\n"
				      "  one: {max_calls: 1}\n"
				      "  none: {max_calls: 0}\n"
				      "  three: {max_calls: 3}\n";

	(void)state;
	expect(text, "three", "{}", 3, "allow");
	expect(text, "three", "{}", 4,
	       "block budget tools.three.max_calls -: max_calls: 3 calls a "
	       "run; this is call 4");
	expect(text, "one", "{}", 1, "allow");
	expect(text, "one", "{}", 2,
	       "block budget tools.one.max_calls -: max_calls: 1 call a run; "
	       "this is call 2");
	expect(text, "none", "{}", 1,
	       "block budget tools.none.max_calls -: max_calls: 0");
	expect("one:\n  max_calls: 1\n", "one", "{}", 2,
	       "block budget one.max_calls -: ");
}

static void
test_patterns(void **state)
{
	static const char text[] =
	    V1 "tools:\n"
	       "  t:\n"
	       "    arg_patterns:\n"
	       "      name: '[a-z]+'\n"
	       "      n: '[0-9]{1,3}'\n"
	       "      list: '\\[\"[a-z]\"(,\"[a-z]\")*\\]'\n"
	       "      flag: 'true'\n"
	       "      edits.path: '/srv/.*'\n"
	       "      slow: '(a+)+'\n";

	(void)state;
	expect(text, "t", "{}", 1, "allow");
	expect(text, "t", NULL, 1, "allow");
	expect(text, "t", "{\"name\":\"abc\"}", 1, "allow");
	expect(text, "t", "{\"name\":\"abc1\"}", 1,
	       "block pattern tools.t.arg_patterns name: the value does not "
	       "match the pattern [a-z]+");
	expect(text, "t", "{\"name\":null}", 1, "allow");
	expect(text, "t", "{\"name\":5}", 1, "block pattern");
	expect(text, "t", "{\"n\":null}", 1, "block pattern");
	expect(text, "t", "{\"n\":12}", 1, "allow");
	expect(text, "t", "{\"n\":1234}", 1, "block pattern");
	expect(text, "t", "{\"n\":1.5}", 1, "block pattern");
	expect(text, "t", "{\"list\":[\"a\",\"b\"]}", 1, "allow");
	expect(text, "t", "{\"list\":[\"a\",5]}", 1, "block pattern");
	expect(text, "t", "{\"flag\":true}", 1, "allow");
	expect(text, "t", "{\"flag\":false}", 1, "block pattern");
	expect(text, "t", "{\"edits\":[{\"path\":\"/srv/a\"},{}]}", 1, "allow");
	expect(text, "t", "{\"edits\":[{},{\"path\":\"/etc/a\"}]}", 1,
	       "block pattern tools.t.arg_patterns edits[1].path");
	expect(text, "t",
	       "{\"slow\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\"}", 1,
	       "block pattern tools.t.arg_patterns slow: the value is too "
	       "much");
}

static void
test_order(void **state)
{
	static const char text[] =
	    V1 "rules:\n"
	       "- {id: ask, tool: send, action: require_approval}\n"
	       "tools:\n"
	       "  send: {exfiltrating: true, sink_params: [to], max_calls: 1,\n"
	       "         write_params: [path],\n"
	       "         allowed_path_prefixes: [/srv/work],\n"
	       "         arg_patterns: {path: '.*[.]md'}}\n";
	struct policy *p = good(text);
	struct result r;

	(void)state;
	judge_by(p, "send", NULL, "{\"to\":\"x\",\"path\":\"/home/me/own/x\"}",
		 2, &r);
	/* Everything is said; self comes first, then budget. */
	assert_memory_equal(r.worst, "self self path: ", 16);
	assert_int_equal(r.f.n, 6);
	findings_clear(&r.f);
	judge_by(p, "send", NULL, "{\"to\":\"x\",\"path\":\"/etc/x\"}", 2, &r);
	assert_memory_equal(r.worst, "budget tools.send.max_calls", 27);
	findings_clear(&r.f);
	judge_by(p, "send", NULL, "{\"to\":\"x\",\"path\":\"/etc/x\"}", 1, &r);
	assert_memory_equal(r.worst, "path tools.send.allowed", 23);
	findings_clear(&r.f);
	judge_by(p, "send", NULL, "{\"to\":\"x\",\"path\":\"/srv/work/x\"}", 1,
		 &r);
	assert_memory_equal(r.worst, "pattern tools.send.arg", 22);
	findings_clear(&r.f);
	/* Two asks: the rule is the earlier one. */
	judge_by(p, "send", NULL, "{\"to\":\"x\",\"path\":\"/srv/work/x.md\"}",
		 1, &r);
	assert_int_equal(r.action, ACTION_ASK);
	assert_memory_equal(r.worst, "rule ask", 8);
	assert_int_equal(r.f.n, 2);
	findings_clear(&r.f);
	policy_free(p);
}

/* Two packs that know a tool; the command tells neither. */
static void
test_two_packs(void **state)
{
	static const struct policy_text packs[] = {
	    {"a.yaml",
	     "pack: a\nabout: A\nmatch: [a]\nchecked: {a: '1'}\ntools:\n"
	     "  put: {max_calls: 5, read_params: [x]}\n",
	     0},
	    {"b.yaml",
	     "pack: b\nabout: B\nmatch: [b]\nchecked: {b: '1'}\ntools:\n"
	     "  put: {max_calls: 3, deletes: [x]}\n",
	     0},
	};
	struct policy_text texts[2];
	struct policy_error err;
	struct policy *p;
	struct result r;
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		texts[i] = packs[i];
		texts[i].len = strlen(packs[i].bytes);
	}
	p = policy_load_text(NULL, 0, texts, 2, &err);
	if (p == NULL)
		print_error("%s\n", policy_error_format(&err));
	assert_non_null(p);
	judge_by(p, "put", NULL, "{\"x\":\"1\"}", 3, &r);
	assert_int_equal(r.action, ACTION_ALLOW);
	findings_clear(&r.f);
	judge_by(p, "put", NULL, "{\"x\":\"1\"}", 4, &r);
	assert_memory_equal(r.worst, "budget pack.b.put.max_calls", 27);
	findings_clear(&r.f);
	judge_by(p, "put", NULL, "{\"x\":\"1\"}", 6, &r);
	assert_int_equal(r.f.n, 3); /* both budgets, and the default */
	findings_clear(&r.f);
	policy_free(p);
}

static void
test_fallback(void **state)
{
	static const char schema[] = "{\"properties\":{\"id\":{\"type\":"
				     "\"string\"}}}";
	struct policy_error err;
	struct policy *p;
	struct result r;

	(void)state;
	p = policy_load_text(NULL, 0, NULL, 0, &err);
	assert_non_null(p);
	judge_by(p, "delete_it", schema, "{\"id\":\"1\"}", 2, &r);
	assert_int_equal(r.action, ACTION_ALLOW);
	findings_clear(&r.f);
	judge_by(p, "delete_it", schema, "{\"id\":\"1\"}", 3, &r);
	assert_int_equal(r.action, ACTION_BLOCK);
	assert_memory_equal(r.worst, "budget fallback.delete_it.max_calls", 35);
	findings_clear(&r.f);
	policy_free(p);
}

static void
test_findings(void **state)
{
	struct findings f = {NULL, 0, 0};
	size_t i;

	(void)state;
	assert_null(findings_worst(&f));
	findings_say(&f, CONTRACT_DEFAULT, ACTION_ALLOW, "a", NULL,
		     strdup("x"));
	findings_say(&f, CONTRACT_SINK, ACTION_ASK, "b", NULL, strdup("x"));
	findings_say(&f, CONTRACT_RULE, ACTION_ASK, "c", NULL, strdup("x"));
	assert_string_equal(findings_worst(&f)->rule, "c");
	/* The same again is not said again. */
	findings_say(&f, CONTRACT_RULE, ACTION_ASK, "c", NULL, strdup("x"));
	assert_int_equal(f.n, 3);
	/* Asks fill up; a deny still gets in. */
	for (i = 0; i < 100; i++) {
		char name[16];

		snprintf(name, sizeof(name), "s%zu", i);
		findings_say(&f, CONTRACT_SINK, ACTION_ASK, name, strdup("p"),
			     strdup("x"));
	}
	assert_int_equal(f.n, 2 + FINDINGS_PER_CONTRACT);
	findings_say(&f, CONTRACT_SINK, ACTION_BLOCK, "deny", NULL,
		     strdup("x"));
	assert_string_equal(findings_worst(&f)->rule, "deny");
	findings_clear(&f);
	assert_int_equal(f.n, 0);
}

static void
test_json_text(void **state)
{
	static const char *const all[] = {
	    "{}",
	    "[]",
	    "[[],{}]",
	    "{\"a\":[1,2.50,{\"b\":null}],\"c\":true}",
	    "\"a\\\"b\\\\c\\n\\t\\u0001\"",
	    "[false,\"\"]",
	    "{\"k\\n\":{\"x\":{}}}"};
	struct buf b = BUF_INIT;
	cJSON *v;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		v = cJSON_Parse(all[i]);
		assert_non_null(v);
		if (strcmp(all[i],
			   "{\"a\":[1,2.50,{\"b\":null}],\"c\":true}") == 0) {
			/* A number keeps its literal. */
			cJSON *a = cJSON_GetObjectItem(v, "a");

			cJSON_ReplaceItemInArray(a, 0, cJSON_CreateRaw("1"));
			cJSON_ReplaceItemInArray(a, 1, cJSON_CreateRaw("2.50"));
		}
		buf_reset(&b, 0);
		assert_int_equal(args_json(&b, v, 1000), 0);
		assert_int_equal(buf_used(&b), strlen(all[i]));
		assert_memory_equal(buf_head(&b), all[i], strlen(all[i]));
		assert_int_equal(args_json(&b, v, strlen(all[i]) - 1), -1);
		cJSON_Delete(v);
	}
	/* A number that has lost its digits has no text. */
	v = cJSON_CreateNumber(1);
	buf_reset(&b, 0);
	assert_int_equal(args_json(&b, v, 1000), -1);
	cJSON_Delete(v);
	buf_free(&b);
}

/* What makes a policy stricter, in pieces; each may be there or not. */
static const char *const stricter_rules[] = {
    /* The first rule that matches speaks: the stricter one comes first. */
    "- {id: r1, tool: write_file, action: block}\n",
    "- {id: r2, tool: 'w*', action: require_approval}\n",
};
static const char *const stricter_keys[] = {
    "max_calls: 2",
    "allowed_path_prefixes: [/srv/work]",
    "arg_patterns: {path: '/srv/.*'}",
    "exfiltrating: true, sink_params: [to]",
};
static const char *const calls[] = {
    "{}",
    "{\"path\":\"/srv/work/a\"}",
    "{\"path\":\"/etc/a\"}",
    "{\"path\":\"/srv/x\",\"to\":\"ana@x.example\"}",
    "{\"path\":\"~/a\"}",
    "{\"path\":\"/home/me/own/x\"}",
    "{\"to\":\"x@evil.example\",\"path\":\"/srv/work/b\"}",
};

static enum policy_action
verdict_of(unsigned pieces, const char *args, uint64_t attempt)
{
	char text[1024] = V1 "rules:\n- {id: r0, tool: zzz, action: allow}\n";
	struct policy *p;
	struct result r;
	unsigned i;

	for (i = 0; i < 2; i++)
		if (pieces & (1u << i))
			strcat(text, stricter_rules[i]);
	strcat(text, "tools:\n  write_file: {write_params: [path]");
	for (i = 0; i < 4; i++) {
		if ((pieces & (4u << i)) == 0)
			continue;
		strcat(text, ", ");
		strcat(text, stricter_keys[i]);
	}
	strcat(text, "}\n");
	p = good(text);
	judge_by(p, "write_file", NULL, args, attempt, &r);
	findings_clear(&r.f);
	policy_free(p);
	return r.action;
}

/* Each piece put on top of each set of pieces never loosens a verdict. */
static void
test_stricter_never_allows_more(void **state)
{
	enum policy_action before, after;
	unsigned set, piece;
	size_t i;

	(void)state;
	for (set = 0; set < 64; set++) {
		for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
			before = verdict_of(set, calls[i], 3);
			for (piece = 1; piece < 64; piece <<= 1) {
				after = verdict_of(set | piece, calls[i], 3);
				assert_true(after >= before);
			}
		}
	}
}

/* Rules that match no call in common may stand in any order. */
static void
test_order_of_unrelated_rules(void **state)
{
	static const char *const a = "- {id: a, tool: 'x*', action: block}\n";
	static const char *const b =
	    "- {id: b, tool: 'y*', action: require_approval}\n";
	static const char *const c = "- {id: c, tool: z, action: allow}\n";
	static const char *const names[] = {"x", "xy", "y1", "z", "other"};
	const char *orders[6][3] = {{a, b, c}, {a, c, b}, {b, a, c},
				    {b, c, a}, {c, a, b}, {c, b, a}};
	char text[512], first[5][512];
	struct policy *p;
	struct result r;
	size_t i, j;

	(void)state;
	for (i = 0; i < 6; i++) {
		snprintf(text, sizeof(text),
			 V1 "default_action: require_approval\nrules:\n"
			    "%s%s%s",
			 orders[i][0], orders[i][1], orders[i][2]);
		p = good(text);
		for (j = 0; j < 5; j++) {
			judge_by(p, names[j], NULL, "{}", 1, &r);
			if (i == 0)
				strcpy(first[j], r.worst);
			assert_string_equal(r.worst, first[j]);
			findings_clear(&r.f);
		}
		policy_free(p);
	}
}

/* The same call twice has the same findings, word for word. */
static void
test_same_call_same_findings(void **state)
{
	struct policy *p = good(V1 "tools:\n  t: {write_params: [a, b], "
				   "allowed_path_prefixes: [/srv]}\n");
	struct result r[2];
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++)
		judge_by(p, "t", NULL,
			 "{\"a\":[\"/x\",\"~\",\"/srv\"],\"b\":{\"c\":1}}", 1,
			 &r[i]);
	assert_int_equal(r[0].f.n, r[1].f.n);
	/* self, default, and four of path */
	assert_int_equal(r[0].f.n, 6);
	for (i = 0; i < r[0].f.n; i++)
		assert_string_equal(r[0].f.v[i].reason, r[1].f.v[i].reason);
	findings_clear(&r[0].f);
	findings_clear(&r[1].f);
	policy_free(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rule_and_default),
	    cmocka_unit_test(test_path_reasons),
	    cmocka_unit_test(test_budget),
	    cmocka_unit_test(test_patterns),
	    cmocka_unit_test(test_order),
	    cmocka_unit_test(test_two_packs),
	    cmocka_unit_test(test_fallback),
	    cmocka_unit_test(test_findings),
	    cmocka_unit_test(test_json_text),
	    cmocka_unit_test(test_stricter_never_allows_more),
	    cmocka_unit_test(test_order_of_unrelated_rules),
	    cmocka_unit_test(test_same_call_same_findings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
