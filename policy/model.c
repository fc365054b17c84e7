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

static void
pack_clear(struct policy_pack_info *k)
{
	size_t i;

	for (i = 0; i < k->match_count; i++)
		free(k->match[i]);
	for (i = 0; i < k->checked_count; i++) {
		free(k->checked[i].package);
		free(k->checked[i].version);
	}
	free(k->match);
	free(k->checked);
	free(k->name);
	free(k->file);
	free(k->about);
}

void
policy_forget_wanted(struct policy *p)
{
	size_t i;

	for (i = 0; i < p->nwanted; i++)
		free(p->wanted[i].name);
	free(p->wanted);
	p->wanted = NULL;
	p->nwanted = 0;
}

static void
free_entries(struct policy *p)
{
	size_t i;

	for (i = 0; i < p->nsaid; i++)
		entry_clear(&p->said[i].entry);
	for (i = 0; i < p->npacks; i++)
		pack_clear(&p->packs[i]);
	policy_forget_wanted(p);
	index_free(&p->said_index);
	index_free(&p->rule_index);
	free(p->globs);
	free(p->said);
	free(p->packs);
}

void
policy_free(struct policy *p)
{
	size_t i;

	if (p == NULL)
		return;
	free_entries(p);
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

size_t
policy_entry_count(const struct policy *p)
{
	size_t i, n = 0;

	for (i = 0; i < p->nfiles; i++)
		n += p->files[i].entries;
	return n;
}

enum policy_packs
policy_get_packs(const struct policy *p)
{
	size_t i;

	if (p->packs_setting.given)
		return (enum policy_packs)p->packs_setting.value;
	for (i = 0; i < p->nfiles; i++)
		if (p->files[i].format != FORMAT_GUARD)
			return PACKS_AUTO;
	return p->nfiles > 0 ? PACKS_NONE : PACKS_AUTO;
}

size_t
policy_pack_count(const struct policy *p)
{
	return p->npacks;
}

const struct policy_pack_info *
policy_pack(const struct policy *p, size_t i)
{
	return &p->packs[i];
}

const struct entry *
policy_pack_entry(const struct policy *p, size_t i, size_t j)
{
	return &p->said[p->packs[i].first + j].entry;
}

enum policy_action
policy_pins_on_new(const struct policy *p)
{
	return (enum policy_action)p->pins[PINS_ON_NEW].value;
}

enum policy_action
policy_pins_on_changed(const struct policy *p)
{
	return (enum policy_action)p->pins[PINS_ON_CHANGED].value;
}

int
policy_pins_hide(const struct policy *p)
{
	return p->pins[PINS_HIDE].value;
}

struct policy_source
policy_pins_source(const struct policy *p, enum policy_pins which)
{
	static const char *const names[PINS_MAX] = {
	    "pins.on_new", "pins.on_changed", "pins.hide"};
	const struct setting *s = &p->pins[which];
	struct policy_source source = {names[which], NULL, 0, FORMAT_OWN};

	if (s->given) {
		source.file = p->files[s->file].name;
		source.line = s->line;
		source.format = p->files[s->file].format;
	}
	return source;
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
