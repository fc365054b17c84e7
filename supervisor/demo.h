/*
 * What the parts of the demonstration share: the script that is played, and
 * the checks that are made of it.  Nothing here is used by anything else.
 */
#ifndef DW_DEMO_H
#define DW_DEMO_H

#include <stddef.h>

/* How Doorward meets a call under the demonstration's policy. */
enum demo_fate {
	FATE_ALLOWED,
	FATE_DENIED,
	FATE_ASKED,    /* a person is needed and nobody is there: denied */
	FATE_FORBIDDEN /* denied in any mode */
};

struct demo_step {
	const char *title;
	const char *tool;
	const char *params; /* of tools/call, JSON; filled by demo_fill() */
	enum demo_fate fate;
	const char *contract; /* that denies it; NULL: the wire refuses it */
	const char *rule;     /* its rule, or the refusal's reason */
	const char *proof;    /* part of the server's own answer */
	const char *show;     /* behind this the answer is worth printing */
};

struct demo {
	char *dir;               /* the temporary directory; owned */
	char *helpdesk;          /* the server's program; owned */
	const char *policy_file; /* --policy */
	char *policy;            /* its text; NULL for the demo's own; owned */
	const char *state;       /* --state: where the directory goes */
	int colour;
	int failures;
	size_t audit_from; /* where this session's audit lines begin */
};

/* One session, and what is to be found after it. */
struct demo_round {
	const char *title;
	const char *desk;   /* directory of the server; also names it */
	const char *update; /* put there before; NULL: makes the directory */
	const char *hidden; /* tool that is left out of the list, or NULL */
	const struct demo_step *steps;
	size_t n;
	int observe;
	void (*look)(struct demo *d, const char *desk);
};

/* demo_script.c.  Strings in which @DESK@ stands for the server's directory
 * go through demo_fill(). */
#define DEMO_EVIL "collect@evil.example"
#define DEMO_KEY ".ssh/authorized_keys"
#define DEMO_UPDATE "update.txt"
#define DEMO_ROUNDS 3u
#define DEMO_STEPS_MAX 32u

extern const struct demo_round demo_rounds[DEMO_ROUNDS];
extern const char demo_policy[];
extern const char demo_policy_told[];
extern const char *const demo_tools[]; /* of the server; NULL after the last */

/* text with each @DESK@ replaced by desk, as it stands within a quoted string
 * of JSON or YAML.  Caller frees. */
char *demo_fill(const char *text, const char *desk);

/* demo_play.c */

/* Plays a round's session on the desk.  0 if it came to its end, else -1. */
int demo_play(struct demo *d, const struct demo_round *r, const char *desk);

/* Shows what `doorward pins diff` says of the round's server, and checks
 * that it is the round's update. */
void demo_diff(struct demo *d, const struct demo_round *r);

/* demo_look.c: what the disk says, whatever anybody answered. */
void demo_look_enforced(struct demo *d, const char *desk);
void demo_look_updated(struct demo *d, const char *desk);
void demo_look_observed(struct demo *d, const char *desk);
void demo_look_audit(struct demo *d, const struct demo_round *r);

/* demo_tell.c: everything that is printed about a check. */
void demo_failed(struct demo *d, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void demo_expect(struct demo *d, int ok, const char *good, const char *bad);
void demo_tell(const struct demo *d, const char *title, const char *word);

/*
 * Prints the len bytes at p from behind the first occurrence of start to the
 * end of their JSON string, as one paragraph.  Somebody else wrote them.
 */
void demo_show_after(const char *p, size_t len, const char *start);

/* The same of a whole line that is no JSON, with its blanks. */
void demo_show_line(const char *indent, const char *p, size_t len);

/* 1 if what occurs in the n bytes at p. */
int demo_has(const char *p, size_t n, const char *what);

#endif
