/*
 * Judgement.  Runs in the monitor on a decoded tree.  What is unclear ends
 * in ask or block, never in allow.
 */
#include <string.h>

#include "proto/alloc.h"
#include "proto/log.h"
#include "proto/text.h"

#include "judge.h"

#define NAME_SHOWN 200

static void
decide_by(struct verdict *v, const struct finding *f)
{
	v->action = f->action;
	v->always = f->always;
	v->contract = contract_name(f->contract);
	v->reason = f->reason;
	v->rule = f->rule;
	v->file = f->file;
	v->line = f->line;
	v->format = f->format;
	v->param = f->param;
}

void
verdict_settle(struct verdict *v)
{
	const struct finding *f = findings_worst(&v->findings);

	if (f != NULL)
		decide_by(v, f);
	else
		fatal("a verdict without a finding");
}

void
verdict_clear(struct verdict *v)
{
	findings_clear(&v->findings);
	memset(v, 0, sizeof(*v));
}

void
judge_call(const struct policy *p, const struct policy_view *view,
	   const struct policy_call *call, struct verdict *v)
{
	policy_judge(p, view, call, &v->findings);
	v->audited = 1;
	verdict_settle(v);
}

int
method_is_audited(const char *method, size_t len)
{
	static const char *const names[] = {
	    "tools/call", "resources/read", "resources/subscribe",
	    "subscriptions/listen", "prompts/get"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == len &&
		    memcmp(names[i], method, len) == 0)
			return 1;
	return 0;
}

static char *
say(enum policy_action a, const char *name, size_t len)
{
	char shown[NAME_SHOWN];

	text_visible(name, len, shown, sizeof(shown));
	switch (a) {
	case ACTION_ALLOW:
		return xasprintf("the method \"%s\" is allowed by the policy",
				 shown);
	case ACTION_ASK:
		return xasprintf("the method \"%s\" needs a person's "
				 "approval, and there is nobody to ask",
				 shown);
	case ACTION_BLOCK:
	default:
		return xasprintf("the method \"%s\" is blocked by the policy",
				 shown);
	}
}

void
judge_method(const struct policy *p, const char *method, size_t len,
	     const struct policy_places *places, const struct cJSON *uri,
	     struct verdict *v)
{
	int named = 0, audited = method_is_audited(method, len);
	struct policy_opinion o;
	struct finding *f;

	memset(v, 0, sizeof(*v));
	if (audited && places != NULL && uri != NULL)
		policy_judge_self(places, uri, 0, &v->findings);
	o = policy_method(p, method, len, &named);
	f = findings_add(&v->findings,
			 o.by_default ? CONTRACT_DEFAULT : CONTRACT_METHOD,
			 o.action);
	f->reason = say(o.action, method, len);
	f->rule = xstrdup(o.source.rule);
	f->file = o.source.file != NULL ? xstrdup(o.source.file) : NULL;
	f->line = o.source.line;
	f->format = o.source.format;
	verdict_settle(v);
	v->audited = named || v->action != ACTION_ALLOW || audited;
}
