/*
 * What MCP Guard's format and Doorward's own have in common: rules, mode,
 * default_action.  Runs in the monitor and in the commands while a policy is
 * loaded; owns nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"

#include "policy.h"
#include "doc.h"
#include "model.h"
#include "schema.h"

#define GLOB_MAX 256u /* bytes: bounds what one match can cost */

static const char *const action_words[] = {"allow", "require_approval", "block",
					   NULL};
static const char *const mode_words[] = {"enforce", "observe", NULL};
_Static_assert(ACTION_ALLOW == 0 && ACTION_ASK == 1 && ACTION_BLOCK == 2,
	       "action_words are in this order");
_Static_assert(POLICY_ENFORCE == 0 && POLICY_OBSERVE == 1,
	       "mode_words are in this order");

static key_fn read_id, read_tool, read_action, read_reason;

static const char guard_extra[] =
    "Doorward has no undoing, countdowns or spending caps, and will not act "
    "as if; leave it out";

static const struct spec own_rule[] = {
    {.name = "id", .read = read_id},
    {.name = "tool", .read = read_tool},
    {.name = "action", .read = read_action},
    {.name = "reason", .read = read_reason},
    {.name = NULL},
};

static const struct spec guard_rule[] = {
    {.name = "id", .read = read_id},
    {.name = "tool", .read = read_tool},
    {.name = "action", .read = read_action},
    {.name = "reason",
     .refused = "a key of Doorward's own format; add \"version: 1\" to the "
		"file to have that"},
    {.name = "reversibility", .refused = guard_extra},
    {.name = "countdown_seconds", .refused = guard_extra},
    {.name = "cap_usd", .refused = guard_extra},
    {.name = "verify_threshold", .refused = guard_extra},
    {.name = NULL},
};

static int
is_guard(const struct load *l)
{
	return l->format == FORMAT_GUARD;
}

static int
read_id(struct load *l, const struct node *key)
{
	const struct node *n = key->value;

	if (want_visible(l, n, "id") < 0)
		return -1;
	free(l->rule.id);
	l->rule.id = xmemdupz(n->text, n->len);
	return 0;
}

/* A regular expression would be taken for a name that nothing has. */
static void
warn_of_regex(struct load *l, const struct node *n)
{
	static const char *const quotes[] = {"\u201c", "\u201d", "\u2018",
					     "\u2019"};
	int odd = strpbrk(n->text, "()|[]^$+\\") != NULL ||
		  strstr(n->text, ".*") != NULL;
	struct shown s;
	size_t i;

	for (i = 0; i < sizeof(quotes) / sizeof(quotes[0]); i++)
		odd |= strstr(n->text, quotes[i]) != NULL;
	if (odd)
		policy_warn(
		    l->p,
		    xasprintf("%s:%zu:%zu: tool: %s is compared as it "
			      "stands; %s",
			      l->name, n->line, n->column, node_show(n, &s),
			      is_guard(l) ? "an MCP Guard policy has whole "
					    "names, no patterns"
					  : "a rule knows * and ?, no regular "
					    "expressions"));
}

static int
read_tool(struct load *l, const struct node *key)
{
	const struct node *n = key->value;
	int glob;

	if (want_string(l, n, "tool") < 0)
		return -1;
	glob = strpbrk(n->text, "*?") != NULL;
	if (glob && is_guard(l))
		policy_warn(l->p,
			    xasprintf("%s:%zu:%zu: tool: * and ? stand for "
				      "themselves in an MCP Guard policy, "
				      "which compares whole names",
				      l->name, n->line, n->column));
	else if (glob && n->len > GLOB_MAX)
		return mistake(l->err, n,
			       xasprintf("tool: a pattern of %zu bytes; at "
					 "most %u are taken",
					 n->len, GLOB_MAX));
	warn_of_regex(l, n);
	free(l->rule.tool);
	l->rule.tool = xmemdupz(n->text, n->len);
	l->rule.tool_len = n->len;
	l->rule.glob = glob && !is_guard(l);
	return 0;
}

static int
read_action(struct load *l, const struct node *key)
{
	int i = read_word(l, key, action_words);

	if (i < 0)
		return -1;
	l->rule.action = (enum policy_action)i;
	return 0;
}

static int
read_reason(struct load *l, const struct node *key)
{
	if (want_visible(l, key->value, "reason") < 0)
		return -1;
	free(l->rule.reason);
	l->rule.reason = xmemdupz(key->value->text, key->value->len);
	return 0;
}

/*
 * The audit names a rule by its id, so two of one file are one too many; a
 * Guard file may have them, as Guard takes them.
 */
static int
check_id(struct load *l, const struct node *item)
{
	const struct policy *p = l->p;
	const struct node *n = node_get(item, "id");
	struct shown s;
	size_t i;

	for (i = 0; i < p->nrules; i++) {
		if (p->rules[i].file != l->file ||
		    strcmp(p->rules[i].id, l->rule.id) != 0)
			continue;
		if (!is_guard(l))
			return mistake(
			    l->err, n,
			    xasprintf("id: %s is the id of the rule in line "
				      "%zu already; each needs its own",
				      node_show(n, &s), p->rules[i].line));
		policy_warn(l->p,
			    xasprintf("%s:%zu:%zu: id: %s is the id of the "
				      "rule in line %zu already",
				      l->name, n->line, n->column,
				      node_show(n, &s), p->rules[i].line));
		break;
	}
	return 0;
}

/* A contract of a tool, written where only its verdict can stand. */
static int
check_no_entry(struct load *l, const struct node *item)
{
	const struct node *key;

	for (key = item->child; key != NULL; key = key->next)
		if (is_entry_key(key))
			return mistake(
			    l->err, key,
			    xasprintf("%s: a rule has no such key; it belongs "
				      "in an entry of the tool below "
				      "\"tools:\"%s",
				      key->text,
				      is_guard(l) ? ", in a file with "
						    "\"version: 1\""
						  : ""));
	return 0;
}

static int
load_rule(struct load *l, const struct node *item)
{
	static const char *const required[] = {"id", "tool", "action"};
	struct shown s;
	size_t i;

	if (item->kind != NODE_MAPPING)
		return mistake(l->err, item,
			       xasprintf("rules: a rule is a mapping with id, "
					 "tool and action, not %s",
					 node_show(item, &s)));
	if (check_no_entry(l, item) < 0 ||
	    check_section(l, item, is_guard(l) ? guard_rule : own_rule,
			  "a rule", "rules") < 0)
		return -1;
	for (i = 0; i < 3; i++)
		if (node_get(item, required[i]) == NULL)
			return mistake(
			    l->err, item,
			    xasprintf("a rule without \"%s\"; it needs id, "
				      "tool and action",
				      required[i]));
	return check_id(l, item);
}

int
load_rules(struct load *l, const struct node *key)
{
	struct policy *p = l->p;
	const struct node *item;

	if (want_list(l, key) < 0)
		return -1;
	p->rules = xreallocarray(p->rules, p->nrules + key->value->count,
				 sizeof(*p->rules));
	for (item = key->value->child; item != NULL; item = item->next) {
		if (load_rule(l, item) < 0)
			return -1;
		l->rule.file = l->file;
		l->rule.line = item->line;
		p->rules[p->nrules++] = l->rule;
		p->files[l->file].rules++;
		memset(&l->rule, 0, sizeof(l->rule));
	}
	return 0;
}

int
load_mode(struct load *l, const struct node *key)
{
	struct policy_file_info *f = &l->p->files[l->file];
	int i = read_word(l, key, mode_words);

	if (i < 0)
		return -1;
	l->p->mode = (struct setting){i, 1, l->file, key->line};
	f->has_mode = 1;
	f->mode = (enum policy_mode)i;
	return 0;
}

int
load_default_action(struct load *l, const struct node *key)
{
	struct policy_file_info *f = &l->p->files[l->file];
	int i = read_word(l, key, action_words);

	if (i < 0)
		return -1;
	l->p->default_action = (struct setting){i, 1, l->file, key->line};
	f->has_default_action = 1;
	f->default_action = (enum policy_action)i;
	return 0;
}
