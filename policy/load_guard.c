/*
 * MCP Guard's format: default_action, mode, rules, as its users have it.
 * Where Guard passes over a mistake, this does not.  Runs in the monitor and
 * in the commands while a policy is loaded; owns nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"

#include "policy.h"
#include "doc.h"
#include "model.h"
#include "schema.h"

static const char own_key[] =
    "a key of Doorward's own format; add \"version: 1\" to have that";

/* clang-format off */
static const struct spec guard_specs[] = {
	{.name = "default_action", .read = load_default_action},
	{.name = "mode", .read = load_mode},
	{.name = "rules", .read = load_rules},
	{.name = "packs", .read = load_packs},
	{.name = "version", .refused = own_key}, /* for the slip of it */
	{.name = "methods", .refused = own_key},
	{.name = "tools", .refused = own_key},
	{.name = "flows", .refused = own_key},
	{.name = "typed", .refused = own_key},
	{.name = "approval", .refused = own_key},
	{.name = "pins", .refused = own_key},
	{.name = "ledger", .refused = own_key},
	{.name = "server", .refused = own_key},
	{.name = "audit", .refused = own_key},
	{.name = "receipts", .refused = own_key},
	{.name = NULL},
};
/* clang-format on */

int
load_guard(struct load *l, const struct node *root)
{
	static const char *const required[] = {"default_action", "rules"};
	static const char *const example[] = {"default_action: allow",
					      "rules: []"};
	size_t i;

	if (check_section(l, root, guard_specs,
			  "an MCP Guard policy (a Doorward policy starts with "
			  "\"version: 1\")",
			  "") < 0)
		return -1;
	for (i = 0; i < 2; i++)
		if (node_get(root, required[i]) == NULL)
			return mistake(
			    l->err, root,
			    xasprintf("an MCP Guard policy needs \"%s\"; the "
				      "least is \"%s\"",
				      required[i], example[i]));
	return 0;
}
