/*
 * What a pack says, held against what a server lists.  For `doorward packs
 * verify`; pure.
 */
#ifndef DW_PACK_CHECK_H
#define DW_PACK_CHECK_H

#include <stddef.h>

struct entry;
struct policy;
struct probe;

/* One finding: a line without its newline, safe to show. */
typedef void pack_finding_fn(void *arg, const char *text);

/*
 * Compares pack number pack of the policy with the server's tools: tools that
 * only one of them has; parameters of an inputSchema (JSON Schema: properties,
 * through items, anyOf, oneOf and allOf; a $ref is not followed) that the
 * entry names in none of its keys; names that the schema does not have.
 * Returns how many findings there were.
 */
size_t pack_compare(const struct policy *p, size_t pack, const struct probe *s,
		    pack_finding_fn *fn, void *arg);

/* A parameter that an entry names, and where. */
struct named_param {
	const char *key;   /* "sink_params" */
	const char *param; /* NULL after the last */
};

/*
 * The n-th name in an entry, over all keys that name parameters, from 0.
 */
struct named_param named_param(const struct entry *e, size_t n);

#endif
