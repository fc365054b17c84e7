/*
 * What the name of a parameter says: a destination, a path, a text.  One
 * table.  Include policy.h, entry.h and verbs.h first.
 */
#ifndef DW_POLICY_FALLBACK_NAMES_H
#define DW_POLICY_FALLBACK_NAMES_H

#include <stddef.h>

struct verbs;
struct words;

/* What else is known when a name is looked at. */
struct name_context {
	const struct verbs *verbs;
	const struct words *tool;
	int beside_from;  /* the object has a "from", "since" or "start", too */
	int with_content; /* the tool takes a text or data */
};

/* 1 if the name is that of a destination, with its kind. */
int name_is_sink(const struct words *name, const struct name_context *c,
		 enum sink_kind *kind);

/* 1 for the owner in "owner, repo": half of a destination. */
int name_completes(const struct words *name);

int name_is_path(const struct words *name, const struct name_context *c);
int name_is_content(const struct words *name);

/* 1 for what holds a question ("criteria", "filter"), not a destination. */
int name_is_question(const struct words *name);

#endif
