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
enum policy_packs { PACKS_AUTO, PACKS_NONE, PACKS_NAMED };
enum policy_pins { PINS_ON_NEW, PINS_ON_CHANGED, PINS_HIDE, PINS_MAX };

/* A mistake, or NULL-terminated text for one: where, what, and what would
 * be right.  line and column count from 1; 0 where there is none. */
struct policy_error {
	char *file; /* as the user named it */
	size_t line, column;
	char *text;
	int layered; /* the file may be right over other files or packs */
};

void policy_error_clear(struct policy_error *e);

/* "FILE:LINE:COLUMN: TEXT", without the numbers that are 0.  Caller frees. */
char *policy_error_format(const struct policy_error *e);

/*
 * Loads n files, later ones on top, over the built-in packs and defaults (n
 * may be 0).  packs_dir is the directory of the packs, each a file NAME.yaml;
 * with NULL there are no packs.  It is opened only if packs are wanted.
 * Returns a policy that the caller frees with policy_free(), or NULL with
 * *err filled (the caller clears it); err is not to be NULL.  All or nothing:
 * a file that cannot be read or has any mistake is an error.
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
	size_t rules, entries;
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
 * length as 8 bytes, least first.  If packs are in force, eight bytes 0xff
 * follow, and then the packs' contents in the order of their names, in the
 * same way.  File names do not count.  Without files and packs it is the hash
 * of nothing (e3b0c442...).
 */
const char *policy_hash(const struct policy *p);

/*
 * What packs: says, by the uppermost file that has it; without, none if every
 * file is MCP Guard's and there is one, else auto.  The fallback is on unless
 * it is PACKS_NONE.
 */
enum policy_packs policy_get_packs(const struct policy *p);

/* A pack that is in force.  All of it is the policy's. */
struct policy_checked {
	char *package, *version; /* the tools/list it was compared with */
};

struct policy_pack_info {
	char *name, *file, *about; /* about "" if it says nothing */
	char **match;              /* names of packages */
	size_t match_count;
	struct policy_checked *checked;
	size_t checked_count;
	size_t first, entries; /* for policy_pack_entry() */
};

/* In the order of their names; i is below the count. */
size_t policy_pack_count(const struct policy *p);
const struct policy_pack_info *policy_pack(const struct policy *p, size_t i);

/* Entry j (below entries) of pack i, in the order of its file. */
struct entry;
const struct entry *policy_pack_entry(const struct policy *p, size_t i,
				      size_t j);

/* pins: deny is ACTION_BLOCK. */
enum policy_action policy_pins_on_new(const struct policy *p);
enum policy_action policy_pins_on_changed(const struct policy *p);
int policy_pins_hide(const struct policy *p);

/* Where the setting was made; its rule is "pins.on_new" or the like. */
struct policy_source policy_pins_source(const struct policy *p,
					enum policy_pins which);

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
 * out, entries that do less than they seem to.  Looks at the directories that
 * are named as prefixes.  For `policy check` and doctor; call it once.
 */
void policy_lint(struct policy *p);

/* What policy_tool() says if no rule speaks. */
enum policy_action policy_get_default_action(const struct policy *p);

size_t policy_rule_count(const struct policy *p);
size_t policy_entry_count(const struct policy *p); /* of files, not packs */

#endif
