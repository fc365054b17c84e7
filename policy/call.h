/*
 * Judging one call by a policy: what applies to its tool, and what each
 * contract says of its arguments.  No I/O but readlink, given by the caller.
 * Runs in the monitor, confined; in the commands; and in the library to come.
 * Include policy.h first.
 */
#ifndef DW_POLICY_CALL_H
#define DW_POLICY_CALL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cJSON;
struct entry;

/* In the order of judgement (design: self first, default last). */
enum contract {
	CONTRACT_SELF,
	CONTRACT_PIN,
	CONTRACT_RULE,
	CONTRACT_BUDGET,
	CONTRACT_PATH,
	CONTRACT_PATTERN,
	CONTRACT_SINK,
	CONTRACT_FLOW,
	CONTRACT_METHOD,
	CONTRACT_DEFAULT
};

const char *contract_name(enum contract c); /* "self", "pin", ... */

/* One thing that one contract says against a call (or, the last resort, for
 * it).  All strings are the finding's own. */
struct finding {
	enum contract contract;
	enum policy_action action;
	int always;   /* holds in observe mode, too (self) */
	char *reason; /* one line, safe to show */
	char *rule;   /* id: a rule's, "default_action", "self",
			 "tools.write_file.max_calls", "pins.on_changed" */
	char *file;   /* NULL: built in */
	size_t line;
	enum policy_format format; /* of the file, if there is one */
	char *param;               /* the argument's place, or NULL */
};

struct findings {
	struct finding *v;
	size_t n, room;
};

/* Adds an empty finding, to be filled by the caller. */
struct finding *findings_add(struct findings *f, enum contract contract,
			     enum policy_action action);
void findings_clear(struct findings *f);

/*
 * The strictest; of equally strict ones the first in order of judgement, then
 * of being added.  NULL if there is none.
 */
const struct finding *findings_worst(const struct findings *f);

/*
 * What applies to a tool: the rule that matches, the entries of files and
 * packs merged, or the fallback.  Borrows from the policy: to be freed before
 * it.
 */
struct policy_view;

/*
 * schema is the tool's inputSchema (numbers as cJSON_Raw), NULL if unknown:
 * then a pack's entry applies by its name alone and there is no fallback.
 * command is the server's argv, NULL if unknown.
 */
struct policy_view *policy_view_new(const struct policy *p, const char *tool,
				    size_t len, const struct cJSON *schema,
				    const char *const *command);
void policy_view_free(struct policy_view *v);

/*
 * The merged entries that apply; more than one where two packs know the tool
 * and the command tells neither: then each is judged and the strictest
 * verdict wins.
 */
size_t policy_view_count(const struct policy_view *v);
const struct entry *policy_view_entry(const struct policy_view *v, size_t i);

/* "file", "pack", "fallback", "none": the uppermost that speaks. */
const char *policy_view_from(const struct policy_view *v);

/* Where things are, for path and self. */
typedef ssize_t policy_readlink_fn(void *arg, const char *path, char *buf,
				   size_t n); /* as readlink(2), errno too */

struct policy_places {
	/* The server's directory, absolute and resolved, as getcwd(3) has it;
	 * NULL: unknown, and then relative names are not looked at by self. */
	const char *cwd;
	const char *home; /* the person's; NULL: unknown */
	/* What is Doorward's own: directories and files, absolute and resolved;
	 * everything below a directory counts. */
	const char *const *own;
	size_t own_count;
	policy_readlink_fn *readlink;
	void *arg;
	/* Further directories, absolute, that the server may take relative
	 * names from; looked at by self alone. */
	const char *const *bases;
	size_t base_count;
};

struct policy_call {
	const char *tool;
	size_t tool_len;
	const struct cJSON *args; /* an object, or NULL */
	uint64_t attempt;         /* of this tool in this run, from 1 */
	/* NULL: there is no self, and a path with prefixes is denied. */
	const struct policy_places *places;
};

/*
 * All that self, rule, budget, path, pattern, sink and default say, added to
 * f.  There is always at least one finding of rule or default, also where it
 * allows.  Same policy, same call, same places: same findings.
 */
void policy_judge(const struct policy *p, const struct policy_view *v,
		  const struct policy_call *c, struct findings *f);

/* self alone: for strings of other methods (uris of resources/read). */
void policy_judge_self(const struct policy_places *places,
		       const struct cJSON *value, int writes,
		       struct findings *f);

#endif
