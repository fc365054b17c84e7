/*
 * The policy in memory: who frees what, and the small questions to it.  Runs
 * in the monitor and in the commands; owns the policy.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"

#include "policy.h"
#include "model.h"

void
rule_clear(struct rule *r)
{
	free(r->id);
	free(r->tool);
	free(r->reason);
	memset(r, 0, sizeof(*r));
}

void
policy_free(struct policy *p)
{
	size_t i;

	if (p == NULL)
		return;
	for (i = 0; i < p->nrules; i++)
		rule_clear(&p->rules[i]);
	for (i = 0; i < p->nmethods; i++)
		free(p->methods[i].name);
	for (i = 0; i < p->nfiles; i++)
		free(p->files[i].name);
	for (i = 0; i < p->nredact; i++)
		free(p->redact[i]);
	for (i = 0; i < p->nwarnings; i++)
		free(p->warnings[i]);
	free(p->rules);
	free(p->methods);
	free(p->files);
	free(p->redact);
	free(p->warnings);
	free(p);
}

void
policy_warn(struct policy *p, char *text)
{
	p->warnings =
	    xreallocarray(p->warnings, p->nwarnings + 1, sizeof(*p->warnings));
	p->warnings[p->nwarnings++] = text;
}

enum policy_mode
policy_get_mode(const struct policy *p)
{
	return (enum policy_mode)p->mode.value;
}

enum policy_action
policy_get_default_action(const struct policy *p)
{
	return (enum policy_action)p->default_action.value;
}

enum policy_args
policy_get_args(const struct policy *p)
{
	return (enum policy_args)p->args.value;
}

enum policy_sync
policy_get_sync(const struct policy *p)
{
	return (enum policy_sync)p->sync.value;
}

size_t
policy_file_count(const struct policy *p)
{
	return p->nfiles;
}

const char *
policy_file(const struct policy *p, size_t i)
{
	return p->files[i].name;
}

const struct policy_file_info *
policy_file_info(const struct policy *p, size_t i)
{
	return &p->files[i];
}

const char *
policy_hash(const struct policy *p)
{
	return p->hash;
}

size_t
policy_warning_count(const struct policy *p)
{
	return p->nwarnings;
}

const char *
policy_warning(const struct policy *p, size_t i)
{
	return p->warnings[i];
}

size_t
policy_rule_count(const struct policy *p)
{
	return p->nrules;
}

const char *
policy_action_name(enum policy_action a)
{
	switch (a) {
	case ACTION_ALLOW:
		return "allow";
	case ACTION_ASK:
		return "ask";
	case ACTION_BLOCK:
		break;
	}
	return "block";
}

const char *
policy_mode_name(enum policy_mode m)
{
	return m == POLICY_OBSERVE ? "observe" : "enforce";
}

const char *
policy_format_name(enum policy_format f)
{
	switch (f) {
	case FORMAT_OWN:
		return "own";
	case FORMAT_GUARD:
		return "guard";
	case FORMAT_PACK:
		return "pack";
	case FORMAT_BOUNCER:
		break;
	}
	return "bouncer";
}
