/*
 * Bouncer's format: a mapping of tools to their entries, as its users have
 * it.  Runs in the monitor and in the commands while a policy is loaded; owns
 * nothing.
 */
#include <stdlib.h>

#include "proto/alloc.h"

#include "policy.h"
#include "doc.h"
#include "model.h"
#include "suggest.h"

/* Looks as an entry of this format does: no slip to be put right. */
static int
is_entry(const struct node *key)
{
	static const char *const keys[] = {
	    "exfiltrating", "sink_params", "trusted_destinations",
	    "write_params", "max_calls",   "allowed_path_prefixes",
	    "arg_patterns"};
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (node_get(key->value, keys[i]) != NULL)
			return 1;
	return 0;
}

/*
 * A file of another format that lacks the key which tells it would otherwise
 * be a Bouncer file with a tool called "rule", and so allow everything.
 */
static int
check_slip(struct load *l, const struct node *key)
{
	static const char *const ours[] = {
	    "version",  "mode",     "default_action", "packs",
	    "rules",    "tools",    "methods",        "flows",
	    "approval", "pins",     "ledger",         "server",
	    "audit",    "receipts", "typed",          NULL};
	const char *near = suggest(key->text, key->len, ours);
	struct shown s;

	if (near == NULL || is_entry(key))
		return 0;
	if (node_equals(key, near))
		return mistake(l->err, key,
			       xasprintf("\"%s\" without \"version: 1\"; a "
					 "Doorward policy needs that line",
					 near));
	/* Some word near ours that is a tool's without controls. */
	if (key->value->kind == NODE_MAPPING && key->value->child == NULL)
		return 0;
	return mistake(l->err, key,
		       xasprintf("unknown key %s; did you mean \"%s\"? (a "
				 "Doorward policy starts with \"version: 1\")",
				 node_show(key, &s), near));
}

int
load_bouncer(struct load *l, const struct node *root)
{
	const struct node *key;
	struct shown s;

	for (key = root->child; key != NULL; key = key->next) {
		if (check_slip(l, key) < 0)
			return -1;
		if (key->value->kind != NODE_MAPPING)
			return mistake(
			    l->err, key,
			    xasprintf("%s: %s is no entry of a tool, which a "
				      "Bouncer policy has at its top; a "
				      "Doorward policy starts with \"version: "
				      "1\"",
				      node_show(key, &s),
				      key->value->kind == NODE_SEQUENCE
					  ? "a list"
					  : "this"));
	}
	return load_entries(l, root);
}
