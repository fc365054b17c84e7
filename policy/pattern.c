/*
 * Patterns, by PCRE2.  Runs in the monitor (compiled before or after it is
 * confined: memory is all it needs) and in the commands.  The patterns are
 * the user's, the values a stranger's: so a match is bounded in steps, depth
 * and memory, the just-in-time compiler, which needs writable code, stays
 * off, and what cannot be decided is no match.
 */
#include <stdint.h>
#include <stdlib.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "proto/alloc.h"

#include "pattern.h"

/*
 * A hopeless pattern costs some hundredths of a second and gives its memory
 * back afterwards.
 */
#define MATCH_STEPS 500000u
#define MATCH_ALL_STEPS (8 * MATCH_STEPS)
#define MATCH_DEPTH 100000u
#define MATCH_HEAP_KIB 32768u
#define NESTED_GROUPS 100u

struct pattern {
	pcre2_code *code;
	pcre2_general_context *memory;
	pcre2_match_context *limits;
};

static void *
take(size_t n, void *unused)
{
	(void)unused;
	return xreallocarray(NULL, 1, n);
}

static void
give(void *p, void *unused)
{
	(void)unused;
	free(p);
}

static pcre2_code *
compile(const char *text, size_t len, int *code, size_t *offset)
{
	pcre2_general_context *memory;
	pcre2_compile_context *how;
	pcre2_code *result;

	memory = pcre2_general_context_create(take, give, NULL);
	how = pcre2_compile_context_create(memory);
	pcre2_set_newline(how, PCRE2_NEWLINE_LF);
	pcre2_set_bsr(how, PCRE2_BSR_UNICODE);
	pcre2_set_parens_nest_limit(how, NESTED_GROUPS);
	result =
	    pcre2_compile((PCRE2_SPTR)text, len,
			  PCRE2_UTF | PCRE2_ANCHORED | PCRE2_ENDANCHORED |
			      PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C,
			  code, offset, how);
	pcre2_compile_context_free(how);
	pcre2_general_context_free(memory);
	return result;
}

struct pattern *
pattern_compile(const char *text, size_t len, char **why, size_t *offset)
{
	struct pattern *p;
	PCRE2_UCHAR words[256];
	pcre2_code *code;
	int error = 0;

	*why = NULL;
	*offset = 0;
	if (len > PATTERN_TEXT_MAX) {
		*why = xasprintf("longer than %u bytes", PATTERN_TEXT_MAX);
		return NULL;
	}
	code = compile(text, len, &error, offset);
	if (code == NULL) {
		if (pcre2_get_error_message(error, words, sizeof(words)) < 0)
			words[0] = '\0';
		*why = xstrdup((const char *)words);
		return NULL;
	}
	p = xcalloc(1, sizeof(*p));
	p->code = code;
	p->memory = pcre2_general_context_create(take, give, NULL);
	p->limits = pcre2_match_context_create(p->memory);
	pcre2_set_depth_limit(p->limits, MATCH_DEPTH);
	pcre2_set_heap_limit(p->limits, MATCH_HEAP_KIB);
	return p;
}

void
pattern_free(struct pattern *p)
{
	if (p == NULL)
		return;
	pcre2_match_context_free(p->limits);
	pcre2_general_context_free(p->memory);
	pcre2_code_free(p->code);
	free(p);
}

enum pattern_result
pattern_match(const struct pattern *p, const char *value, size_t n,
	      size_t before)
{
	const size_t share = MATCH_ALL_STEPS / (before + 1);

	/* Made anew each time: it would keep the memory of the worst match. */
	pcre2_match_data *match;
	int found;

	if (n > PATTERN_VALUE_MAX)
		return PATTERN_LIMIT;
	pcre2_set_match_limit(p->limits, share < MATCH_STEPS ? (uint32_t)share
							     : MATCH_STEPS);
	match = pcre2_match_data_create(1, p->memory);
	found =
	    pcre2_match(p->code, (PCRE2_SPTR)value, n, 0, 0, match, p->limits);
	pcre2_match_data_free(match);
	if (found >= 0)
		return PATTERN_MATCH;
	return found == PCRE2_ERROR_NOMATCH ? PATTERN_NO : PATTERN_LIMIT;
}
