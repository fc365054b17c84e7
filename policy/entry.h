/*
 * What is said of one tool: an entry of tools:, of a Bouncer file, of a pack,
 * or made from the tool's schema (the fallback).  For the files of policy/
 * and who explains a policy; include policy.h first.
 */
#ifndef DW_POLICY_ENTRY_H
#define DW_POLICY_ENTRY_H

#include <stddef.h>
#include <stdint.h>

struct pattern;

enum entry_key {
	KEY_EXFILTRATING,
	KEY_SINK_PARAMS,
	KEY_SINKS_OPTIONAL,
	KEY_CONTENT_PARAMS,
	KEY_SCAN_TEXT,
	KEY_TRUSTED_DESTINATIONS,
	KEY_ON_TAINTED,
	KEY_ON_NAMED,
	KEY_ON_UNPROVEN,
	KEY_MAX_CALLS,
	KEY_WRITE_PARAMS,
	KEY_ALLOWED_PATH_PREFIXES,
	KEY_BASE,
	KEY_ARG_PATTERNS,
	KEY_IDENTITY_FIELDS,
	KEY_TEXT_FORM,
	KEY_READS,
	KEY_VOUCHES,
	KEY_READ_PARAMS, /* these four in packs and the fallback only */
	KEY_DELETES,
	KEY_CHANGES,
	KEY_PLAIN,
	ENTRY_KEY_MAX
};

/* "max_calls" */
const char *entry_key_name(enum entry_key k);

/* Where a key was given; file NULL for the fallback, and if it was not. */
struct entry_place {
	const char *file; /* the policy's */
	const char *pack; /* the pack's name, NULL in a policy file */
	size_t line;
	enum policy_format format;
	int given;
};

struct strings {
	char **v;
	size_t n;
};

enum sink_kind {
	SINK_BY_VALUE = 0, /* not said: by name and value */
	SINK_ADDRESS,
	SINK_CONTAINER,
	SINK_LINK,
	SINK_OPAQUE
};

struct sink {
	char *param;
	enum sink_kind kind;
};

struct arg_pattern {
	char *param;
	char *text;
	struct pattern *re;
};

enum entry_reads { READS_UNSAID = 0, READS_UNTRUSTED, READS_PRIVATE };

/*
 * A parameter is named by its key, or by keys joined with dots ("file.path"):
 * lists on the way are walked through, each item by itself.  A key that has a
 * dot itself is found first by its whole name.
 *
 * Merging copies structs shallowly: a merged entry borrows everything from the
 * entries it was made of, and only those are cleared.
 */
struct entry {
	char *tool; /* its name, without NUL inside */
	size_t tool_len;
	size_t line; /* of the entry itself */
	int replace; /* own format: nothing below shows through */
	struct entry_place place[ENTRY_KEY_MAX];

	int exfiltrating;
	struct sink *sinks;
	size_t nsinks;
	int sinks_optional;
	struct strings content_params, scan_text, trusted;
	enum policy_action on_tainted, on_named, on_unproven;
	uint64_t max_calls;
	struct strings write_params, prefixes;
	char *base; /* NULL: relative paths are refused */
	struct arg_pattern *patterns;
	size_t npatterns;
	struct strings identity_fields;
	char *text_form;
	enum entry_reads reads;
	struct strings vouches, read_params, deletes, changes, plain;
};

static inline int
entry_has(const struct entry *e, enum entry_key k)
{
	return e->place[k].given;
}

/* The defaults: nothing given, on_* as doorward.yaml(5) has them. */
void entry_init(struct entry *e);
void entry_clear(struct entry *e);

/* Lays over on top of *under, key by key: *under borrows from both. */
void entry_merge(struct entry *under, const struct entry *over);

/* 1 if some key of the entry names a parameter. */
int entry_names_params(const struct entry *e);

#endif
