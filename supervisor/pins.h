/*
 * Pins: which definitions of a server's tools a person has trusted, by first
 * sight or by word.  One file a server in the state directory's pins/, changed
 * only under a lock and by renaming a new file into place.  Used by the
 * monitor (confined) and by `doorward pins`.
 */
#ifndef DW_PINS_H
#define DW_PINS_H

#include <stddef.h>
#include <stdint.h>

struct cJSON;
struct pins;

#define PIN_HASH_HEX 65u /* SHA-256 in hex with its NUL */

enum pins_status {
	PINS_OK = 0,
	PINS_NONE = 1,   /* load: this server has no pins yet */
	PINS_BUSY = 2,   /* store: somebody holds the lock, try again soon */
	PINS_FAILED = -1 /* *why (caller frees) says what is wrong */
};

/* Which set of definitions: honest servers vary theirs by these. */
struct pin_key {
	const char *era;         /* "legacy" or "modern" */
	char caps[PIN_HASH_HEX]; /* hash of the client's capabilities */
};

/* What the store says of a definition that a server shows. */
enum pin_sight {
	PIN_SAME,   /* pinned just so in this set */
	PIN_FIRST,  /* the server, or this set, was never seen before, and
		       no other set contradicts: may be trusted */
	PIN_NEW,    /* this set is known, and has no such name */
	PIN_CHANGED /* pinned otherwise */
};

/*
 * The pins of the server called name, whose program or package is pkg; both
 * together are the key.  dir is the state directory.  Never NULL; nothing is
 * read before pins_load().
 */
struct pins *pins_new(const char *dir, const char *name, const char *pkg);
void pins_free(struct pins *p);

/* Makes DIR/pins (0700), before confinement.  0, or -1 with *why. */
int pins_make_dir(const char *dir, char **why);
char *pins_dir(const char *dir); /* caller frees */

/*
 * Reads the file (again).  A file that is damaged, newer than we know, or
 * not private is PINS_FAILED, and everything is to be refused: a file that
 * cannot be read is never "no pins".
 */
enum pins_status pins_load(struct pins *p, char **why);

/* 1 unless the file is still the one that was read or stored last. */
int pins_changed_on_disk(const struct pins *p);

enum pin_sight pins_sight(const struct pins *p, const struct pin_key *k,
			  const char *tool, size_t len,
			  const char hash[PIN_HASH_HEX]);

/* The command, instructions (len may be 0 for none) and version: 1 if they
 * are as pinned, or nothing is pinned yet; 0 if they differ.  None at all
 * differs from nothing: it can say nothing.  Of each several may have been
 * accepted. */
int pins_command_same(const struct pins *p, const char *const *command);
int pins_instructions_same(const struct pins *p, const char *text, size_t len);
int pins_version_same(const struct pins *p, const char *text, size_t len);

/* 1 if this set was stored at some time. */
int pins_has_set(const struct pins *p, const struct pin_key *k);

/* A definition as it was seen. */
struct pin_tool {
	const char *name; /* borrowed */
	size_t len;
	const struct cJSON *definition; /* the whole tool object; borrowed */
};

/* All that a monitor knows of its server when it stores. */
struct pin_facts {
	const char *const *command;
	const char *version; /* serverInfo.version, or NULL: not said */
	size_t version_len;
	const char *instructions; /* or NULL: none */
	size_t instructions_len;
};

/*
 * Under the lock: reads the file anew, adds the set if it is not there (a
 * first sight), or leaves what is pinned and records what differs as waiting
 * for a person (new, changed; also a changed command, instructions, version),
 * and puts the new file in place.  p is what the file says afterwards, so that
 * another session's earlier sight wins.  One waiting definition a name and
 * set is kept: the last seen.  first: trust what is PIN_FIRST; without it
 * such names are recorded as nothing.
 */
enum pins_status pins_store(struct pins *p, const struct pin_key *k,
			    const struct pin_tool *tools, size_t n,
			    const struct pin_facts *facts, int first,
			    char **why);

/* What changed, in one line, e.g. "description; inputSchema/properties gained
 * callback_url (widened)".  Caller frees.  NULL if nothing is pinned. */
char *pins_difference(const struct pins *p, const struct pin_key *k,
		      const char *tool, size_t len,
		      const struct cJSON *definition);

/*
 * 1 if something in a definition must not be shown as it is, or hides: an
 * invisible, bidi or control character in any key or text (but a newline or
 * tab in a description, and what makes an emoji), or a name that is not 1 to
 * 128 of A-Z a-z 0-9 _ . - (MCP 2025-11-25, tools).  *what (caller frees) is
 * then the first place, safe to show: "description at byte 5: U+001B".
 */
int pins_suspicious(const struct cJSON *definition, char **what);

#endif
