/*
 * Finding packs, for commands that show them.  Include policy.h first.
 */
#ifndef DW_POLICY_PACK_INFO_H
#define DW_POLICY_PACK_INFO_H

#include <stddef.h>

/* The pack of that name; policy_pack_count() if there is none. */
size_t policy_pack_named(const struct policy *p, const char *name);

/*
 * The first pack from number `from` on whose package the command (argv, ended
 * by NULL) names; policy_pack_count() if there is none.
 */
size_t policy_pack_for(const struct policy *p, const char *const *command,
		       size_t from);

#endif
