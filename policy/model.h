/*
 * The policy in memory, for the files of policy/ alone.  Include policy.h
 * first.
 */
#ifndef DW_POLICY_MODEL_H
#define DW_POLICY_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "entry.h"

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

#define NO_PACK SIZE_MAX

/* An entry of one file or pack. */
struct said {
	struct entry entry;
	size_t pack;   /* its index, or NO_PACK */
	size_t file;   /* index of the file, if there is no pack */
	size_t column; /* of the entry itself */
	size_t sink_line, sink_column; /* first key that needs exfiltrating */
	const char *sink_key;          /* NULL: there is none */
	size_t above; /* the next for this tool, or NOT_FOUND */
};

/* A pack that a file names. */
struct wanted {
	char *name;
	size_t line, column;
};

#define NOT_FOUND SIZE_MAX

/* Names to numbers, for names that do not change any more. */
struct index_slot {
	const char *name; /* NULL: free; borrowed */
	size_t len, value;
};

struct index {
	struct index_slot *slots;
	size_t size; /* a power of two, or 0 */
};

void index_init(struct index *ix, size_t names); /* room for that many */
void index_free(struct index *ix);

/* The name's number; it gets this one if it has none yet. */
size_t *index_add(struct index *ix, const char *name, size_t len, size_t value);
size_t index_find(const struct index *ix, const char *name, size_t len);

struct policy {
	struct policy_file_info *files; /* in the order they were named */
	size_t nfiles;
	struct rule *rules; /* in the order of judgement */
	size_t nrules;
	struct index rule_index; /* the first rule of each name */
	size_t *globs;           /* rules that are patterns, in order */
	size_t nglobs;
	struct said *said; /* bottom up: packs by name, then files */
	size_t nsaid;
	struct index said_index; /* the undermost for each tool */
	struct policy_pack_info *packs;
	size_t npacks;
	struct wanted *wanted; /* if packs.value is PACKS_NAMED */
	size_t nwanted;
	struct method *methods;
	size_t nmethods;
	struct setting mode, default_action, methods_default, args, sync;
	struct setting packs_setting, pins[PINS_MAX];
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
	const char *name; /* of the file, the policy's */
	enum policy_format format;
	size_t file;          /* its index in p->files, unless it is a pack */
	size_t pack;          /* its index in p->packs, or NO_PACK */
	size_t methods_below; /* p->nmethods before this file */
	/*
	 * The first key that is right but whose feature is not built yet.
	 * Kept until the file is read, so that a plain mistake is named first.
	 */
	struct policy_error unbuilt;
	int quiet;        /* inside a value that is reported as a whole */
	struct rule rule; /* being read */
	struct said said; /* being read */
};

/* Loaders of one format; root is a mapping.  0, or -1 with l->err filled. */
int load_own(struct load *l, const struct node *root);
int load_guard(struct load *l, const struct node *root);
int load_bouncer(struct load *l, const struct node *root);
int load_pack(struct load *l, const struct node *root);

/* rules: of both formats. */
int load_rules(struct load *l, const struct node *key);
int load_mode(struct load *l, const struct node *key);
int load_default_action(struct load *l, const struct node *key);
int load_packs(struct load *l, const struct node *key); /* packs: itself */

/* tools: of the own format and of packs, or the root of a Bouncer file. */
int load_entries(struct load *l, const struct node *mapping);

/* 1 if an entry of a policy has a key of this name. */
int is_entry_key(const struct node *key);

/* The shape of a destination that is trusted; text is n's without the blanks
 * around it.  0, or -1 with l->err filled. */
int check_trusted(struct load *l, const struct node *n, const char *text);

/* NULL if text is an absolute path without `.`, `..` and double slashes; else
 * what is wrong and what would be right, for the caller to free. */
char *path_mistake(const char *text);

/* Of a directory that bounds paths: NULL if text has no *; else as above. */
char *prefix_mistake(const char *text);

/*
 * The two halves of loading: the files alone; then the packs below them, those
 * of their own choice, sorted.  NULL or -1 with *err filled.
 */
struct policy *policy_begin(const struct policy_text *texts, size_t n,
			    struct policy_error *err);
int policy_finish(struct policy *p, const struct policy_text *texts, size_t n,
		  const struct policy_text *packs, size_t npacks,
		  struct policy_error *err);

/* The pack's name by its file's.  Caller frees. */
char *pack_name(const char *file);

/* 1 if the policy wants packs at all. */
int packs_wanted(const struct policy *p);

/*
 * Of the n packs that there are, those that the policy wants, sorted by name:
 * their number goes to *count.  0, or -1 with *err filled (its file, too) if
 * one that it names is not there.
 */
int packs_choose(const struct policy *p, const struct policy_text *known,
		 size_t n, struct policy_text *chosen, size_t *count,
		 struct policy_error *err);

/*
 * What can only be said of all files together: 0, or -1 with *err filled, its
 * file included.
 */
int entries_check(const struct policy *p, struct policy_error *err);

/* Puts packs below files, and makes the indexes. */
void policy_arrange(struct policy *p);

/* Frees the names that packs: has in a file below. */
void policy_forget_wanted(struct policy *p);

void rule_clear(struct rule *r);

/* The half of policy_lint() that is about rules and methods. */
void lint_rules(struct policy *p);

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
