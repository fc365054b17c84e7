/*
 * Cases for a policy: a YAML file of calls with the verdicts that are
 * expected (doorward-policy(1)).
 */
#ifndef DW_CASES_H
#define DW_CASES_H

#include <stddef.h>
#include <stdint.h>

struct cJSON;
struct policy_error;

struct one_case {
	char *tool;
	size_t tool_len;
	struct cJSON *args;   /* an object, or NULL */
	struct cJSON *schema; /* or NULL */
	char *cwd;            /* or NULL */
	uint64_t attempt;
	int expect;   /* enum policy_action */
	char *rule;   /* or NULL */
	int contract; /* enum contract, or -1 */
	size_t line;
};

struct cases {
	struct one_case *v;
	size_t n;
};

/*
 * Reads a file.  0, or -1 with *err filled (the caller clears it).  The
 * caller frees with cases_free() in both cases.
 */
int cases_read(struct cases *c, const char *file, struct policy_error *err);
void cases_free(struct cases *c);

#endif
