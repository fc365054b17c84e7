/*
 * Judging one call: every contract says what it has to say, in the order of
 * design.md section 4, and the strictest wins.  Runs in the monitor for every
 * call, confined; asks nothing of the system but readlink(2).
 */
#include <stdlib.h>
#include <string.h>
#include <cjson/cJSON.h>

#include "proto/alloc.h"
#include "proto/buf.h"

#include "policy.h"
#include "entry.h"
#include "call.h"
#include "args.h"
#include "findings.h"
#include "path.h"
#include "pattern.h"
#include "self.h"
#include "sink.h"
#include "view.h"

#define DELETES_BUDGET 2u /* of a tool that deletes, unless it has its own */

/* A rule's words, or default_action; nothing is said twice. */
static void
say_opinion(struct findings *f, const struct policy_opinion *o, char *reason)
{
	struct finding *one;

	one = findings_add(f, o->by_default ? CONTRACT_DEFAULT : CONTRACT_RULE,
			   o->action);
	one->reason = reason;
	one->rule = xstrdup(o->source.rule);
	one->line = o->source.line;
	one->format = o->source.format;
	if (o->source.file != NULL)
		one->file = xstrdup(o->source.file);
}

static char *
opinion_reason(const struct policy_opinion *o, const struct policy_call *c)
{
	struct shown_text s;

	if (o->reason != NULL)
		return xstrdup(shown(&s, o->reason, strlen(o->reason)));
	shown(&s, c->tool, c->tool_len);
	switch (o->action) {
	case ACTION_ALLOW:
		if (o->by_default && o->source.file == NULL)
			return xasprintf("the tool \"%s\" is allowed by "
					 "default, since nothing speaks of it",
					 s.text);
		return xasprintf("the tool \"%s\" is allowed by the policy",
				 s.text);
	case ACTION_ASK:
		return xasprintf("the tool \"%s\" needs a person's approval, "
				 "and there is nobody to ask",
				 s.text);
	case ACTION_BLOCK:
		break;
	}
	return xasprintf("the tool \"%s\" is blocked by the policy", s.text);
}

/* The uppermost entry that speaks, as a place; the fallback has none. */
static void
place_of(const struct policy_view *v, struct entry_place *place)
{
	const struct policy_layer *layer;
	size_t i;

	memset(place, 0, sizeof(*place));
	for (i = 0; i < policy_view_layer_count(v); i++) {
		layer = policy_view_layer(v, i);
		if (layer->state != LAYER_APPLIES)
			continue;
		place->file = layer->file;
		place->pack = layer->pack;
		place->format = layer->format;
		place->line = layer->entry->line;
	}
}

/* An entry speaks of the tool, and no rule does. */
static void
say_spoken_of(struct findings *f, const struct policy_view *v)
{
	struct entry_place place;
	struct shown_text s;
	struct finding *one;

	place_of(v, &place);
	one = findings_add(f, CONTRACT_DEFAULT, ACTION_ALLOW);
	if (place.pack != NULL)
		shown(&s, place.pack, strlen(place.pack));
	one->reason =
	    xasprintf("%s%s knows the tool, and nothing is against the call",
		      place.pack != NULL   ? "the pack "
		      : place.file != NULL ? "an entry of the policy"
					   : "the fallback",
		      place.pack != NULL ? s.text : "");
	one->rule =
	    entry_rule_id(policy_view_entry(v, 0), &place, ENTRY_KEY_MAX);
	one->line = place.line;
	one->format = place.format;
	if (place.file != NULL)
		one->file = xstrdup(place.file);
}

static void
judge_rule(const struct policy *p, const struct policy_view *v,
	   const struct policy_call *c, struct findings *f)
{
	struct policy_opinion o = policy_tool(p, c->tool, c->tool_len);

	if (!o.by_default || policy_view_count(v) == 0)
		say_opinion(f, &o, opinion_reason(&o, c));
	else
		say_spoken_of(f, v);
}

/* 1 if the entry bounds its calls, with the bound and who says so. */
static int
budget_of(const struct entry *e, uint64_t *max, enum entry_key *key)
{
	if (entry_has(e, KEY_MAX_CALLS)) {
		*max = e->max_calls;
		*key = KEY_MAX_CALLS;
		return 1;
	}
	if (e->deletes.n > 0) {
		*max = DELETES_BUDGET;
		*key = KEY_DELETES;
		return 1;
	}
	return 0;
}

/* Every attempt has used a slot, this one too. */
static void
judge_budget(const struct entry *e, const struct policy_call *c,
	     struct findings *f)
{
	enum entry_key key = KEY_MAX_CALLS;
	uint64_t max = 0;

	if (!budget_of(e, &max, &key) || c->attempt <= max)
		return;
	if (max == 0) {
		findings_of_entry(f, CONTRACT_BUDGET, ACTION_BLOCK, e, key,
				  NULL,
				  xstrdup("max_calls: 0, no call is allowed"));
		return;
	}
	findings_of_entry(
	    f, CONTRACT_BUDGET, ACTION_BLOCK, e, key, NULL,
	    xasprintf("max_calls: %llu call%s a run; this is call %llu",
		      (unsigned long long)max, max == 1 ? "" : "s",
		      (unsigned long long)c->attempt));
}

static enum pattern_result
match_value(const struct arg_pattern *a, const struct cJSON *value,
	    size_t before)
{
	struct buf b = BUF_INIT;
	enum pattern_result result = PATTERN_LIMIT;

	if (cJSON_IsString(value))
		return pattern_match(a->re, value->valuestring,
				     strlen(value->valuestring), before);
	if (args_json(&b, value, PATTERN_VALUE_MAX) == 0)
		result =
		    pattern_match(a->re, buf_head(&b), buf_used(&b), before);
	buf_free(&b);
	return result;
}

static void
judge_pattern(const struct entry *e, const struct arg_pattern *a,
	      const struct policy_call *c, struct findings *f)
{
	struct shown_text s;
	struct args_walk none;
	struct args_find at;
	enum pattern_result result;
	size_t before = 0;

	args_walk_init(&none, NULL);
	args_find_init(&at, c->args, a->param);
	while (args_find_next(&at) &&
	       !findings_full(f, CONTRACT_PATTERN, ACTION_BLOCK)) {
		result = match_value(a, at.value, before++);
		if (result == PATTERN_MATCH)
			continue;
		shown(&s, a->text, strlen(a->text));
		findings_of_entry(
		    f, CONTRACT_PATTERN, ACTION_BLOCK, e, KEY_ARG_PATTERNS,
		    args_place(&at, &none),
		    result == PATTERN_NO
			? xasprintf("the value does not match the pattern %s",
				    s.text)
			: xasprintf("the value is too much for the pattern %s "
				    "to decide",
				    s.text));
	}
	if (at.too_deep)
		findings_of_entry(f, CONTRACT_PATTERN, ACTION_BLOCK, e,
				  KEY_ARG_PATTERNS, xstrdup(a->param),
				  xstrdup("nested too deep"));
}

/* What one entry that applies says. */
static void
judge_entry(const struct entry *e, const struct policy_call *c,
	    struct findings *f)
{
	size_t i;

	judge_budget(e, c, f);
	path_judge(e, c, f);
	for (i = 0; i < e->npatterns; i++)
		judge_pattern(e, &e->patterns[i], c, f);
	sink_judge(e, c, f);
}

void
policy_judge(const struct policy *p, const struct policy_view *v,
	     const struct policy_call *c, struct findings *f)
{
	size_t i;

	self_judge(v, c, f);
	judge_rule(p, v, c, f);
	for (i = 0; i < policy_view_count(v); i++)
		judge_entry(policy_view_entry(v, i), c, f);
}
