/*
 * The self contract (design.md section 4, item 0): no tool's argument leads
 * into what Doorward and the clients that start it depend on.  Include
 * policy.h, entry.h and call.h first.
 */
#ifndef DW_POLICY_SELF_H
#define DW_POLICY_SELF_H

#include <stddef.h>

struct cJSON;
struct findings;
struct policy_call;
struct policy_places;
struct policy_view;

/* For one call, and for each directory that relative names may start at, as
 * long as there are few. */
#define SELF_STEPS_MAX 100000u   /* calls of readlink */
#define SELF_PLACES_MAX 1000000u /* places passed on the way */
#define SELF_STARTS_MAX 4u

/* What the call may do with a string. */
enum self_use {
	SELF_READS,
	SELF_WRITES,
	SELF_MOVES /* also whole directories: deletes, renames */
};

/* Every string and key of the call's arguments. */
void self_judge(const struct policy_view *v, const struct policy_call *c,
		struct findings *f);

/* Every string of one value, used in one way. */
void self_judge_value(const struct policy_places *places,
		      const struct cJSON *value, enum self_use use,
		      struct findings *f);

#endif
