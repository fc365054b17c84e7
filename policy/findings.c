/*
 * The list of what the contracts say of one call.  Runs in the monitor for
 * every call; the findings own their strings, since they outlive the policy
 * when it is read again.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"
#include "proto/text.h"

#include "policy.h"
#include "entry.h"
#include "call.h"
#include "findings.h"

const char *
contract_name(enum contract c)
{
	static const char *const names[] = {
	    [CONTRACT_SELF] = "self",     [CONTRACT_PIN] = "pin",
	    [CONTRACT_RULE] = "rule",     [CONTRACT_BUDGET] = "budget",
	    [CONTRACT_PATH] = "path",     [CONTRACT_PATTERN] = "pattern",
	    [CONTRACT_SINK] = "sink",     [CONTRACT_FLOW] = "flow",
	    [CONTRACT_METHOD] = "method", [CONTRACT_DEFAULT] = "default",
	};

	return names[c];
}

const char *
shown(struct shown_text *s, const char *p, size_t len)
{
	text_visible(p, len, s->text, sizeof(s->text));
	return s->text;
}

struct finding *
findings_add(struct findings *f, enum contract contract,
	     enum policy_action action)
{
	struct finding *one;

	if (f->n == f->room) {
		f->room = f->room == 0 ? 4 : f->room * 2;
		f->v = xreallocarray(f->v, f->room, sizeof(*f->v));
	}
	one = &f->v[f->n++];
	memset(one, 0, sizeof(*one));
	one->contract = contract;
	one->action = action;
	return one;
}

static void
finding_clear(struct finding *one)
{
	free(one->reason);
	free(one->rule);
	free(one->file);
	free(one->param);
}

void
findings_clear(struct findings *f)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		finding_clear(&f->v[i]);
	free(f->v);
	memset(f, 0, sizeof(*f));
}

static int
strictness(enum policy_action a)
{
	switch (a) {
	case ACTION_ALLOW:
		return 0;
	case ACTION_ASK:
		return 1;
	case ACTION_BLOCK:
		break;
	}
	return 2;
}

const struct finding *
findings_worst(const struct findings *f)
{
	const struct finding *worst = NULL, *one;
	size_t i;

	for (i = 0; i < f->n; i++) {
		one = &f->v[i];
		if (worst == NULL ||
		    strictness(one->action) > strictness(worst->action) ||
		    (one->action == worst->action &&
		     one->contract < worst->contract))
			worst = one;
	}
	return worst;
}

static int
same_text(const char *a, const char *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return strcmp(a, b) == 0;
}

/* Two packs that know a tool say much the same of it. */
static int
said_before(const struct findings *f, const struct finding *new)
{
	const struct finding *old;
	size_t i;

	for (i = 0; i + 1 < f->n; i++) {
		old = &f->v[i];
		if (old->contract == new->contract &&
		    old->action ==
			new->action &&same_text(old->rule, new->rule) &&
		    same_text(old->param, new->param) &&
		    same_text(old->reason, new->reason))
			return 1;
	}
	return 0;
}

/*
 * Enough is said by equally strict findings alone: a deny is never kept out
 * by the asks before it.
 */
int
findings_full(const struct findings *f, enum contract contract,
	      enum policy_action action)
{
	size_t i, n = 0;

	for (i = 0; i < f->n; i++)
		if (f->v[i].contract == contract &&
		    strictness(f->v[i].action) >= strictness(action))
			n++;
	return n >= FINDINGS_PER_CONTRACT;
}

static void
drop_last_if_said(struct findings *f)
{
	if (!said_before(f, &f->v[f->n - 1]))
		return;
	finding_clear(&f->v[f->n - 1]);
	f->n--;
}

char *
entry_rule_id(const struct entry *e, const struct entry_place *place,
	      enum entry_key key)
{
	struct shown_text s;
	const char *name = shown(&s, e->tool, e->tool_len);
	const char *dot = key < ENTRY_KEY_MAX ? "." : "";
	const char *word = key < ENTRY_KEY_MAX ? entry_key_name(key) : "";

	if (place->pack != NULL)
		return xasprintf("pack.%s.%s%s%s", place->pack, name, dot,
				 word);
	if (place->file == NULL)
		return xasprintf("fallback.%s%s%s", name, dot, word);
	if (place->format == FORMAT_BOUNCER)
		return xasprintf("%s%s%s", name, dot, word);
	return xasprintf("tools.%s%s%s", name, dot, word);
}

void
findings_of_entry(struct findings *f, enum contract contract,
		  enum policy_action action, const struct entry *e,
		  enum entry_key key, char *param, char *reason)
{
	const struct entry_place *place = &e->place[key];
	struct finding *one;

	if (findings_full(f, contract, action)) {
		free(param);
		free(reason);
		return;
	}
	one = findings_add(f, contract, action);
	one->reason = reason;
	one->rule = entry_rule_id(e, place, key);
	one->param = param;
	one->format = place->format;
	one->line = place->line;
	if (place->file != NULL)
		one->file = xstrdup(place->file);
	drop_last_if_said(f);
}

void
findings_say(struct findings *f, enum contract contract,
	     enum policy_action action, const char *rule, char *param,
	     char *reason)
{
	struct finding *one;

	if (findings_full(f, contract, action)) {
		free(param);
		free(reason);
		return;
	}
	one = findings_add(f, contract, action);
	one->reason = reason;
	one->rule = xstrdup(rule);
	one->param = param;
	drop_last_if_said(f);
}
