/*
 * Finding packs.  Runs in the commands; owns nothing.
 */
#include <string.h>

#include "policy.h"
#include "applies.h"
#include "pack_info.h"

size_t
policy_pack_named(const struct policy *p, const char *name)
{
	size_t i, n = policy_pack_count(p);

	for (i = 0; i < n; i++)
		if (strcmp(policy_pack(p, i)->name, name) == 0)
			break;
	return i;
}

size_t
policy_pack_for(const struct policy *p, const char *const *command, size_t from)
{
	size_t i, n = policy_pack_count(p);
	const struct policy_pack_info *k;

	for (i = from; i < n; i++) {
		k = policy_pack(p, i);
		if (applies_to_command(k->match, k->match_count, command))
			break;
	}
	return i;
}
