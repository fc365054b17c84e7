/*
 * How a view came about, for who explains a policy.  Include policy.h and
 * call.h first.
 */
#ifndef DW_POLICY_VIEW_H
#define DW_POLICY_VIEW_H

#include <stddef.h>

struct entry;
struct policy_view;
struct verbs;

enum layer_state {
	LAYER_APPLIES,
	LAYER_CUT,        /* an entry above it replaces it whole */
	LAYER_NO_PARAM,   /* of a pack: the schema has none of its parameters */
	LAYER_OTHER_PACK, /* of a pack: the command names another's package */
};

struct policy_layer {
	const struct entry *entry; /* as it was written */
	const char *file;
	const char *pack; /* its name, NULL for a policy file */
	enum policy_format format;
	enum layer_state state;
	int by_command; /* of a pack: the command names its package */
};

/* Every entry for the tool, bottom up.  They live as long as the view. */
size_t policy_view_layer_count(const struct policy_view *v);
/* 1 if the fallback is judged, alone or beside packs that do not name all. */
int policy_view_has_fallback(const struct policy_view *v);

const struct policy_layer *policy_view_layer(const struct policy_view *v,
					     size_t i);

/* What the tool's name says that it does; found once, not with each call. */
const struct verbs *policy_view_verbs(const struct policy_view *v);

#endif
