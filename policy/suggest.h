/*
 * "Did you mean ...?" for keys and words of a policy file.
 */
#ifndef DW_POLICY_SUGGEST_H
#define DW_POLICY_SUGGEST_H

#include <stddef.h>

/*
 * The word of the NULL-terminated list that word (len bytes) was probably
 * meant to be: one that means the same elsewhere ("deny" for "block"), or
 * the nearest by edit distance.  NULL if nothing is near enough.
 */
const char *suggest(const char *word, size_t len, const char *const *list);

#endif
