/*
 * Names taken apart into words, and what the words of a tool's name say that
 * it does.  Pure functions; one table (verbs.c).
 */
#ifndef DW_POLICY_VERBS_H
#define DW_POLICY_VERBS_H

#include <stddef.h>

#define WORDS_MAX 24u  /* of one name; what follows is left out */
#define WORD_BYTES 24u /* longer words are cut */

struct words {
	char word[WORDS_MAX][WORD_BYTES]; /* lower-case ASCII */
	size_t n;
};

/* camelCase, snake_case, kebab-case, dots and blanks; digits are words. */
void words_split(struct words *w, const char *name, size_t len);

/* 1 if the name has this word. */
int words_have(const struct words *w, const char *word);

/* What a tool does, as far as its name says. */
struct verbs {
	int known;  /* some verb is known */
	int reads;  /* nothing but reading */
	int sends;  /* what it is given goes to somebody: send, post, reply */
	int makes;  /* create, update, add, push, ... */
	int writes; /* writes or changes files, if it has paths */
	int moves;  /* removes a place or gives it another name */
	int deletes;
	int fetches; /* opens what a URL names */
};

void verbs_of(struct verbs *v, const char *tool, size_t len);

#endif
