/*
 * The policy in memory, for the files of policy/ alone.  Include policy.h
 * first.
 */
#ifndef DW_POLICY_MODEL_H
#define DW_POLICY_MODEL_H

#include <stddef.h>

struct node;
struct policy_error;

struct rule {
	char *id;     /* no NUL inside */
	char *tool;   /* tool_len bytes, no NUL inside */
	char *reason; /* NULL: none */
	size_t tool_len;
	int glob; /* the tool has * or ?, and they mean something */
	enum policy_action action;
	size_t file; /* index into the policy's files */
	size_t line;
};

struct method {
	char *name;
	size_t len;
	enum policy_action action;
	size_t file, line;
};

/* A value that the uppermost file that speaks of it gives. */
struct setting {
	int value;
	int given; /* 0: the built-in default */
	size_t file, line;
};

struct policy {
	struct policy_file_info *files; /* in the order they were named */
	size_t nfiles;
	struct rule *rules; /* in the order of judgement */
	size_t nrules;
	struct method *methods;
	size_t nmethods;
	struct setting mode, default_action, methods_default, args, sync;
	char **redact; /* folded, as redact.c compares them */
	size_t nredact;
	char **warnings;
	size_t nwarnings;
	char hash[65];
};

/* The state of reading one file. */
struct load {
	struct policy *p;
	struct policy_error *err;
	size_t file;          /* its index in p->files */
	size_t methods_below; /* p->nmethods before this file */
	/*
	 * The first key that is right but whose feature is not built yet.
	 * Kept until the file is read, so that a plain mistake is named first.
	 */
	struct policy_error unbuilt;
	int quiet;        /* inside a value that is reported as a whole */
	struct rule rule; /* being read */
};

/* Loaders of one format; root is a mapping.  0, or -1 with l->err filled. */
int load_own(struct load *l, const struct node *root);
int load_guard(struct load *l, const struct node *root);

/* rules: of both formats. */
int load_rules(struct load *l, const struct node *key);
int load_mode(struct load *l, const struct node *key);
int load_default_action(struct load *l, const struct node *key);

void rule_clear(struct rule *r);

/* Takes text over. */
void policy_warn(struct policy *p, char *text);

#define REDACT_MAX 256u /* words: each is looked for in every key */

/*
 * Adds a word to what the audit hides; the number of words then, or 0 if
 * nothing is left of it.
 */
size_t redact_add(struct policy *p, const char *word, size_t len);
void redact_add_defaults(struct policy *p);

#endif
