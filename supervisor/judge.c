/*
 * Judgement.  Runs in the monitor on a decoded tree.  What is unclear ends
 * in ask or block, never in allow.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"
#include "proto/text.h"

#include "judge.h"

#define NAME_SHOWN 200

static char *
say(const struct policy_opinion *o, const char *what, const char *name,
    size_t len)
{
	char shown[NAME_SHOWN];

	if (o->reason != NULL)
		return xstrdup(o->reason);
	text_visible(name, len, shown, sizeof(shown));
	switch (o->action) {
	case ACTION_ALLOW:
		return xasprintf("%s \"%s\" is allowed by the policy", what,
				 shown);
	case ACTION_ASK:
		return xasprintf("%s \"%s\" needs a person's approval, and "
				 "there is nobody to ask",
				 what, shown);
	case ACTION_BLOCK:
	default:
		return xasprintf("%s \"%s\" is blocked by the policy", what,
				 shown);
	}
}

static void
fill(struct verdict *v, const char *contract, const char *what,
     const char *name, size_t len)
{
	v->action = v->opinion.action;
	v->contract = v->opinion.by_default ? "default" : contract;
	v->reason = say(&v->opinion, what, name, len);
}

void
judge_tool(const struct policy *p, const char *tool, struct verdict *v)
{
	size_t len = strlen(tool);

	memset(v, 0, sizeof(*v));
	v->opinion = policy_tool(p, tool, len);
	v->audited = 1;
	fill(v, "rule", "the tool", tool, len);
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

void
judge_method(const struct policy *p, const char *method, size_t len,
	     struct verdict *v)
{
	int named = 0;

	memset(v, 0, sizeof(*v));
	v->opinion = policy_method(p, method, len, &named);
	fill(v, "method", "the method", method, len);
	v->audited = named || v->action != ACTION_ALLOW ||
		     method_is_audited(method, len);
}

void
verdict_clear(struct verdict *v)
{
	free(v->reason);
	memset(v, 0, sizeof(*v));
}
