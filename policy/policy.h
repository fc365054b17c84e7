/*
 * The policy: what the person wrote, in memory, and what it says of a call.
 * No MCP and no I/O after loading.  Runs in the monitor (before and after it
 * is confined: a reload reads the same files again) and in the commands.
 */
#ifndef DW_POLICY_POLICY_H
#define DW_POLICY_POLICY_H

#include <stddef.h>
#include <stdint.h>

struct policy;

enum policy_mode { POLICY_ENFORCE, POLICY_OBSERVE };
enum policy_action { ACTION_ALLOW, ACTION_ASK, ACTION_BLOCK };
enum policy_format { FORMAT_OWN, FORMAT_GUARD, FORMAT_BOUNCER, FORMAT_PACK };
enum policy_args { ARGS_FULL, ARGS_REDACTED, ARGS_NONE };
enum policy_sync { SYNC_NEVER, SYNC_INTERVAL, SYNC_ALWAYS };

/* A mistake, or NULL-terminated text for one: where, what, and what would
 * be right.  line and column count from 1; 0 where there is none. */
struct policy_error {
	char *file; /* as the user named it */
	size_t line, column;
	char *text;
};

void policy_error_clear(struct policy_error *e);

/* "FILE:LINE:COLUMN: TEXT", without the numbers that are 0.  Caller frees. */
char *policy_error_format(const struct policy_error *e);

/*
 * Loads n files, later ones on top, over the built-in packs and defaults (n
 * may be 0).  packs_dir is the directory of the packs, each a file NAME.yaml;
 * with NULL there are no packs.  It is opened only if packs are wanted.
 * Returns a policy that the caller frees with policy_free(), or NULL with
 * *err filled (the caller clears it).  All or nothing: a file that cannot be
 * read or has any mistake is an error.
 */
struct policy *policy_load(const char *const *files, size_t n,
			   const char *packs_dir, struct policy_error *err);

/* A policy that is in memory already: its name for messages, its bytes. */
struct policy_text {
	const char *name; /* with a NUL; copied */
	const char *bytes;
	size_t len;
};

/* As policy_load(), without files.  A pack's name is that of its file. */
struct policy *policy_load_text(const struct policy_text *texts, size_t n,
				const struct policy_text *packs, size_t npacks,
				struct policy_error *err);

void policy_free(struct policy *p);

/* Where a verdict came from. */
struct policy_source {
	const char *rule; /* the rule's id, or "default_action", "methods" */
	const char *file; /* NULL for a built-in default */
	size_t line;      /* 0 for a built-in default */
	enum policy_format format;
};

/* What a rule says of a tool or method.  Strings live as long as the policy */
struct policy_opinion {
	enum policy_action action;
	int by_default;     /* no rule spoke: default_action, methods.default */
	const char *reason; /* the user's words, or NULL */
	struct policy_source source;
};

/*
 * The first rule that matches the tool (name of len bytes, compared as
 * bytes; globs * and ? in the own format only), else default_action.
 */
struct policy_opinion policy_tool(const struct policy *p, const char *name,
				  size_t len);

/*
 * What methods: says of an MCP method other than tools/call.  named is set
 * to 1 if the method itself is listed (such calls are audited), else 0.
 */
struct policy_opinion policy_method(const struct policy *p, const char *name,
				    size_t len, int *named);

enum policy_mode policy_get_mode(const struct policy *p);
enum policy_args policy_get_args(const struct policy *p);
enum policy_sync policy_get_sync(const struct policy *p);

/* 1 if a value under this key is to be hidden in the audit: the key contains
 * one of the built-in words or of audit.redact's, in any ASCII case, with -
 * and _ left out of both. */
int policy_redacts(const struct policy *p, const char *key, size_t len);

/* What one file said by itself. */
struct policy_file_info {
	char *name; /* as the user named it; the policy's */
	enum policy_format format;
	size_t rules;
	int has_mode, has_default_action;
	enum policy_mode mode;             /* if has_mode */
	enum policy_action default_action; /* if has_default_action */
};

/* The files it was made of, in order; i is below the count. */
size_t policy_file_count(const struct policy *p);
const char *policy_file(const struct policy *p, size_t i);
const struct policy_file_info *policy_file_info(const struct policy *p,
						size_t i);

/*
 * SHA-256 in hex (64) over the files' contents in order, each after its
 * length as 8 bytes, least first.  Names do not count.  Without files it is
 * the hash of nothing (e3b0c442...).
 */
const char *policy_hash(const struct policy *p);

/*
 * Warnings that do not stop the start (shown by check and doctor), each with
 * its file and place.
 */
size_t policy_warning_count(const struct policy *p);
const char *policy_warning(const struct policy *p, size_t i);

const char *policy_action_name(enum policy_action a); /* allow, ask, block */
const char *policy_mode_name(enum policy_mode m);
const char *policy_format_name(enum policy_format f);

/*
 * Adds warnings that take time to find, or speak of all files together: rules
 * that no call can reach, an id in two files, methods that shut clients
 * out.  For `policy check`; call it once.
 */
void policy_lint(struct policy *p);

/* What policy_tool() says if no rule speaks. */
enum policy_action policy_get_default_action(const struct policy *p);

size_t policy_rule_count(const struct policy *p);

#endif
