/*
 * The judgement of one message: design.md section 4, as far as built.  Given
 * the same policy, history and call it gives the same verdict.
 */
#ifndef DW_JUDGE_H
#define DW_JUDGE_H

#include "policy.h"
#include "call.h"

struct message;

/*
 * What the contracts found, and the one of them that decides: the strictest,
 * of equally strict ones the first.  Everything is the verdict's own, so that
 * it may outlive the policy.
 */
struct verdict {
	enum policy_action action;
	int always;           /* holds in observe mode, too */
	int audited;          /* gets a verdict line */
	const char *contract; /* of what decides, as the rest here; borrowed
				 from the findings */
	const char *reason;
	const char *rule;
	const char *file; /* NULL for what is built in */
	size_t line;
	enum policy_format format;
	const char *param; /* NULL if it is about no argument */
	struct findings findings;
};

/* Picks what decides; there has to be a finding. */
void verdict_settle(struct verdict *v);
void verdict_clear(struct verdict *v);

/*
 * A tools/call: v holds what the pins had to say (zeroed if nothing), view
 * what applies to the tool.  Settles v.
 */
void judge_call(const struct policy *p, const struct policy_view *view,
		const struct policy_call *call, struct verdict *v);

/*
 * Another request or notification, from either side.  places and uri are NULL
 * where there is no URI of a resource to look at.
 */
void judge_method(const struct policy *p, const char *method, size_t len,
		  const struct policy_places *places, const struct cJSON *uri,
		  struct verdict *v);

/* 1 for methods that always get a verdict line. */
int method_is_audited(const char *method, size_t len);

#endif
