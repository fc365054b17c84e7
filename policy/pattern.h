/*
 * Whole-value patterns (arg_patterns): PCRE2 (pcre2pattern(3)) with bounds on
 * what a pattern may cost.  Only pattern.c knows PCRE2.
 */
#ifndef DW_POLICY_PATTERN_H
#define DW_POLICY_PATTERN_H

#include <stddef.h>

struct pattern;

#define PATTERN_TEXT_MAX 8192u     /* bytes of a pattern */
#define PATTERN_VALUE_MAX 1048576u /* bytes of a value that is matched */

enum pattern_result {
	PATTERN_MATCH,
	PATTERN_NO,
	PATTERN_LIMIT /* could not be decided within the bounds: a deny */
};

/*
 * Compiles len bytes of UTF-8.  The pattern has to match a value as a whole;
 * `.` does not match a newline unless the pattern says (?s), `$` only the
 * very end.  Returns a pattern that the caller frees with pattern_free(), or
 * NULL with *why (the caller frees it; what is wrong, in PCRE2's words) and
 * *offset, the byte where the mistake was seen.
 */
struct pattern *pattern_compile(const char *text, size_t len, char **why,
				size_t *offset);
void pattern_free(struct pattern *p);

/*
 * Matches n bytes, NUL included like any other, after that many other values
 * of the same call: from the ninth on each has fewer steps than the one
 * before it, so that a list of any length costs some tens of hopeless values
 * at most.  The same value in the same place always gives the same result:
 * the bounds count steps and bytes, not time.
 */
enum pattern_result pattern_match(const struct pattern *p, const char *value,
				  size_t n, size_t before);

#endif
