/*
 * The judgement of one message: design.md section 4, as far as built.  Given
 * the same policy, history and call it gives the same verdict.
 */
#ifndef DW_JUDGE_H
#define DW_JUDGE_H

#include "policy.h"

struct message;

struct verdict {
	enum policy_action action;
	const char *contract; /* rule, method, default */
	struct policy_opinion opinion;
	char *reason; /* owned, safe to show */
	int audited;  /* gets a verdict line */
};

/* Judges a request or notification from either side; tool may be NULL for
 * other methods.  The caller frees with verdict_clear(). */
void judge_tool(const struct policy *p, const char *tool, struct verdict *v);
void judge_method(const struct policy *p, const char *method, size_t len,
		  struct verdict *v);
void verdict_clear(struct verdict *v);

/* 1 for methods that always get a verdict line. */
int method_is_audited(const char *method, size_t len);

#endif
