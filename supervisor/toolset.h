/*
 * What the monitor knows of the server's tools: a set for each protocol era
 * and capabilities of the client, since honest servers vary their tools by
 * them.  A set is filled by the monitor's own listing, never by the client's.
 */
#ifndef DW_TOOLSET_H
#define DW_TOOLSET_H

#include <stddef.h>
#include <stdint.h>

#include "pins.h"

struct buf;
struct cJSON;
struct envelope;
struct message;
struct monitor;
struct nametab;
struct policy;
struct policy_view;
struct request;

#define TOOLSETS_MAX 32u        /* capabilities that one session shows */
#define META_MAX 65536u         /* bytes of _meta that a listing repeats */
#define LISTING_PAGES_MAX 1000u /* of one listing */
#define LISTING_ROUNDS_MAX 5u   /* that a change while listing begins anew */
#define LISTING_WAIT_MS 10000u  /* for all pages */
#define LISTING_BYTES_MAX 67108864u /* memory for all lists of a session */
#define PINS_LOCK_WAIT_MS 2000u     /* for the pins' lock, then deny */

struct tool {
	char *name;
	size_t len;
	struct cJSON *definition;
	char hash[PIN_HASH_HEX];
	int twice;                /* the listing has two of this name */
	struct policy_view *view; /* made when first needed */
};

enum set_state { SET_UNKNOWN, SET_LISTING, SET_KNOWN, SET_FAILED };

struct listing {
	struct request *asked; /* the page on its way, or NULL */
	struct cJSON **tools;  /* definitions so far, owned */
	size_t n, room;
	size_t bytes; /* that they take */
	unsigned pages, rounds;
	uint64_t deadline; /* ns, CLOCK_MONOTONIC */
	struct nametab *cursors;
};

struct toolset {
	struct pin_key key;
	enum set_state state;
	int stale;      /* the server has said that its tools changed */
	int unrecorded; /* what differs could not be written for a person */
	int stored;     /* these pins are in the file: no more first sights */
	char *why;      /* SET_FAILED: a phrase */
	char *meta;     /* modern: what our own requests carry as _meta */
	struct tool *tools;
	size_t n;
	size_t bytes; /* that these take */
	struct nametab *by_name;
	struct listing listing;
	struct toolset *next;
};

/*
 * The set that the message's era and capabilities belong to; made if need
 * be.  NULL if the session has shown too many, or the message says more in
 * its _meta than a listing of ours repeats.
 */
struct toolset *toolset_of(struct monitor *m, const struct message *msg);

/* What initialize said of the client: the legacy session's set. */
void toolset_note_initialize(struct monitor *m, const struct message *msg);

struct tool *toolset_find(const struct toolset *s, const char *name,
			  size_t len);

/* Takes the definitions over (n pointers; the array stays the caller's). */
void toolset_fill(struct toolset *s, struct cJSON **definitions, size_t n);

/* What the policy has for a tool of this definition; the caller frees. */
struct policy_view *tool_view(struct monitor *m, const char *name, size_t len,
			      const struct cJSON *definition);

/* The view of a tool, made when first asked for. */
const struct policy_view *toolset_view(struct monitor *m, struct tool *t);

/* Before a policy is freed: the views borrow from it. */
void toolset_drop_views(struct monitor *m);

/* The name of a definition, or NULL if it has none that could be called. */
const char *tool_definition_name(const struct cJSON *definition);

/* listing.c: the monitor's own tools/list. */
int listing_ready(struct monitor *m, struct toolset *s); /* 1: go on */
void listing_answer(struct monitor *m, struct request *r,
		    const struct envelope *e, struct cJSON *told);
void listing_lost(struct monitor *m, struct request *r);
void listing_abandon(struct monitor *m); /* its requests are removed next */
void listing_changed(struct monitor *m); /* the server said so */
void listing_tick(struct monitor *m, uint64_t now);
uint64_t listing_deadline(const struct monitor *m); /* ns; 0: none */

/* pinning.c: what the pins say. */
struct findings;
void pinning_setup(struct monitor *m, const char *dir);
void pinning_judge(struct monitor *m, const struct toolset *s,
		   const struct tool *t, const char *name, struct findings *f);
enum pins_status pinning_freeze(struct monitor *m, struct toolset *s,
				char **why);
void pinning_note(struct monitor *m, struct toolset *s,
		  const struct pin_tool *tools, size_t n);
void pinning_listed(struct monitor *m, struct toolset *s);
int pinning_refuses(struct monitor *m, const struct toolset *s,
		    const char *name, size_t len,
		    const char hash[PIN_HASH_HEX]);
void pinning_refresh(struct monitor *m);

/* told.c: what the client is shown of a server's results.  1 to pass the
 * line as it is, 0 if it was dropped or another was sent in its place. */
void told_list_changed(struct monitor *m); /* to the client */
int told_passes(struct monitor *m, const struct request *r,
		const struct envelope *e, struct cJSON *told);

#endif
