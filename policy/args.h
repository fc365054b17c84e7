/*
 * Walks over the arguments of a call: everything in a value, and a parameter
 * by its name.  Arguments are cJSON structs whose numbers are cJSON_Raw with
 * their literal; strings have no NUL inside.  Nothing here allocates but what
 * says so, and nothing recurses.
 */
#ifndef DW_POLICY_ARGS_H
#define DW_POLICY_ARGS_H

#include <stddef.h>

struct buf;
struct cJSON;

/* One more than a message can nest. */
#define ARGS_DEPTH_MAX 130u

struct args_step {
	const struct cJSON *at; /* a value on the way */
	size_t index;           /* its place, if it is an item of a list */
	int in_list;
};

/*
 * Every value in a tree, containers first, in order.
 */
struct args_walk {
	const struct cJSON *item; /* where it is */
	int too_deep;             /* something was not looked at */
	size_t depth;             /* steps in use; the last is item's */
	struct args_step step[ARGS_DEPTH_MAX];
	int begun;
};

void args_walk_init(struct args_walk *w, const struct cJSON *root);

/* 1 with item, or 0 after the last. */
int args_next(struct args_walk *w);

/*
 * The values of a parameter by the rule in entry.h.  Every reading of a name
 * with dots counts: {"a.b": 1, "a": {"b": 2}} has two values of a.b, so that
 * none hides the other.  Where a plain value stands in the way ("a": 3), it
 * is the parameter's value.
 */
struct args_find {
	const char *name;
	const struct cJSON *value; /* what was found */
	size_t depth;
	struct args_point {
		const struct cJSON *at; /* a container */
		const struct cJSON *child;
		size_t index;
		const char *rest; /* of the name, below at */
		const char *end;  /* objects: readings up to here are done */
	} point[ARGS_DEPTH_MAX];
	int too_deep;
};

/* name lives as long as the search. */
void args_find_init(struct args_find *f, const struct cJSON *args,
		    const char *name);

/* 1 with value (null is not passed over), or 0. */
int args_find_next(struct args_find *f);

/*
 * The place of what a walk has found, below what a search has found, as
 * "edits[0].path", safe to show.  f may be NULL.  Caller frees.
 */
char *args_place(const struct args_find *f, const struct args_walk *w);

/*
 * Appends the value's JSON text (RFC 8259) without blanks, keys in their
 * order.  0, or -1 if it would be longer than max bytes, is too deep, or has
 * a number without its literal.
 */
int args_json(struct buf *b, const struct cJSON *item, size_t max);

#endif
