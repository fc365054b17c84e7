/*
 * Tables of the keys that a policy file may have, and the walk over a tree
 * that holds it to them.  Include policy.h first.
 */
#ifndef DW_POLICY_SCHEMA_H
#define DW_POLICY_SCHEMA_H

#include <stddef.h>
#include <stdint.h>

struct load;
struct node;
struct setting;
struct spec;

enum want {
	WANT_WORD,    /* one of words */
	WANT_BOOL,    /* true or false */
	WANT_COUNT,   /* a whole number from 0 */
	WANT_SIZE,    /* bytes: a number, or one with KiB, MiB, GiB */
	WANT_STRING,  /* a text */
	WANT_PATH,    /* an absolute path */
	WANT_STRINGS, /* a list of texts */
	WANT_PATHS,   /* a list of absolute paths */
	WANT_WORDS,   /* a list of some of words, each at most once */
	WANT_SECTION, /* a mapping with the keys of sub */
	WANT_CHECK    /* whatever check says */
};

/* A key's own reader or checker; 0, or -1 with l->err filled. */
typedef int key_fn(struct load *l, const struct node *key);

struct spec {
	const char *name;
	enum want want;
	int may_be_null;
	const char *const *words;
	const struct spec *sub; /* WANT_SECTION */
	const char *dflt;       /* a list's items are joined by commas */
	int off; /* the default is that the feature is off, as it is now */
	/*
	 * A key whose feature is built has read, which does everything.  Of
	 * the others the value is checked and then has to be the default.
	 */
	key_fn *read;
	key_fn *check;
	const char *refused; /* a key we know and do not take: why */
};

/*
 * Walks over a mapping: every key has to be in specs (ended by a NULL name),
 * each value fit for it.  what names the place ("a rule"), path is put before
 * the keys ("audit"), or "".  Recurses only as deep as the tables do.
 */
int check_section(struct load *l, const struct node *mapping,
		  const struct spec *specs, const char *what, const char *path);

/*
 * Checks the value of one key whose feature is not built; path is its name in
 * messages.  The default is taken with a warning, anything else kept for
 * not_built().  0, or -1 with l->err filled.
 */
int check_unbuilt(struct load *l, const struct node *key,
		  const struct spec *spec, const char *path);

/* The key's value as one of words; its index, or -1 with l->err filled. */
int read_word(struct load *l, const struct node *key, const char *const *words);

/* true or false, and a whole number; 0, or -1 with l->err filled. */
int read_bool(struct load *l, const struct node *key, int *v);
int read_count(struct load *l, const struct node *key, uint64_t *v);

/* As read_word(), with its place kept in the setting; 0 or -1. */
int read_setting(struct load *l, const struct node *key,
		 const char *const *words, struct setting *s);

/* Checks for kinds of values; 0, or -1 with l->err filled. */
int want_mapping(struct load *l, const struct node *key);
int want_list(struct load *l, const struct node *key);
int want_string(struct load *l, const struct node *n, const char *name);
int want_path(struct load *l, const struct node *n, const char *name);

/* A text that is shown to the model and in the terminal: on one line. */
int want_visible(struct load *l, const struct node *n, const char *what);

/* A list of texts, each at most once. */
int want_strings(struct load *l, const struct node *key);

/* The value is fit, but its feature is not built: kept for the end. */
void not_built(struct load *l, const struct node *at, char *text);

#endif
