/*
 * The monitor of one `doorward run`: its state, in one struct, and what its
 * files call of each other.  Only on_* functions see what a relay sent.
 */
#ifndef DW_MONITOR_H
#define DW_MONITOR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/buf.h"
#include "proto/frames.h"

#include "policy.h"

#include "call.h"
#include "clock.h"
#include "out.h"
#include "pins.h"

struct audit;
struct bases;
struct calls;
struct message;
struct monitor;
struct nametab;
struct request;
struct requests;
struct toolset;
struct verdict;

enum relay_side { SIDE_CLIENT = 0, SIDE_SERVER = 1, SIDE_MAX = 2 };

/* Where a relay stands; the rows of the frame table. */
enum relay_state {
	RELAY_START = 0, /* no HELLO yet */
	RELAY_IDLE,      /* between messages */
	RELAY_TREE,      /* within a message from the client */
	RELAY_RESULT,    /* within the tree of a result */
	RELAY_TOLD,      /* that tree is whole, its ENVELOPE comes */
	RELAY_LINE,      /* within the raw line of a server's message */
	RELAY_ENDED,     /* said EOI */
	RELAY_STATE_MAX
};

/* The monitor's end of one relay. */
struct channel {
	enum relay_side side;
	enum relay_state state;
	int fd;     /* -1 when closed */
	pid_t pid;  /* 0 when reaped */
	int status; /* of waitpid(2), once reaped */
	struct buf in;
	uint64_t call;          /* messages so far; the next has call + 1 */
	uint32_t seen;          /* bit a frame type, for those that come once */
	uint64_t partial_since; /* ns; an incomplete frame or message */
	int paused;             /* it waits for us, and no clock runs */
	int ended; /* it has closed its end; there may be more to read */
	uint64_t eof_since;  /* ns; closed without EOI */
	uint64_t dead_since; /* ns; reaped */
	struct hello hello;
	struct buf tree;      /* parts so far */
	uint32_t line_len;    /* bytes of the raw line */
	uint32_t line_left;   /* of these, still to come */
	int pass;             /* the line goes to the client */
	int hold;             /* waits for the audit before its line */
	struct request *held; /* the server's request that waits, or NULL */
	struct cJSON *told;   /* a result as a tree, until its ENVELOPE */
};

/* What is to happen once the audit has the lines of a batch. */
enum staged_to { STAGED_SERVER, STAGED_CLIENT };

struct staged {
	enum staged_to to;
	int audited;             /* must not happen without its line */
	size_t len;              /* bytes in stage_text */
	struct request *request; /* forwarded request, borrowed, or NULL */
	uint64_t *counted;       /* what its verdict was added to, or NULL */
};

enum legacy_state { LEGACY_NONE, LEGACY_OPENING, LEGACY_OPEN };

struct counters {
	uint64_t client_messages, server_messages;
	uint64_t allowed, denied, observed;
	uint64_t refused, dropped, unknown_tokens;
	uint64_t hidden; /* tools left out of listings */
};

enum ending {
	END_NOT = 0,
	END_STDIN, /* the server's stdin is closed */
	END_TERM,  /* SIGTERM was sent */
	END_KILL   /* SIGKILL was sent */
};

struct monitor {
	/* set up by cmd_run.c */
	struct policy *policy;
	const char *const *policy_files;
	size_t policy_file_count;
	const char *packs_dir; /* for reading the policy again */
	long processors;       /* that this process may run on */
	int mode_override;     /* enum policy_mode, or -1 */
	struct audit *audit;
	const char *no_state; /* why there is no state directory, or NULL */
	const char *server_name;
	char session[33];
	uint32_t layers; /* of the monitor itself */
	int landlock_abi;

	struct channel channel[SIDE_MAX];
	struct out to_server, to_client, to_stderr;
	struct buf late; /* answers made while a server's line is under way */
	struct requests *at_server; /* asked by the client */
	struct requests *at_client; /* asked by the server */

	/* one batch of the client's messages */
	struct staged *staged;
	size_t staged_count, staged_room;
	struct buf stage_text;
	uint64_t commit_since; /* ns; waiting for the audit's lock */
	int audit_failing;

	enum legacy_state legacy;
	char legacy_caps[PIN_HASH_HEX]; /* of what initialize said */

	struct calls *calls; /* tools/call that wait, and budgets */
	struct toolset *toolsets;
	struct pins *pins;     /* NULL without a state directory */
	int withheld;          /* something a person could allow was refused */
	char *pins_broken;     /* why they cannot be read, or NULL */
	struct nametab *noted; /* what was told of them once */
	char *version, *instructions; /* of the server; NULL: not said */
	struct policy_places places;
	struct bases *bases; /* places points into it */

	struct counters count;
	unsigned notes;      /* dropped lines told on stderr */
	unsigned drop_lines; /* dropped lines with an audit line */

	/* life */
	char *const *command;
	int signal_fd, reload_fd, children_fd; /* -1 if not there */
	int run_watch, pins_watch;             /* of reload_fd; -1 */
	pid_t others[64]; /* children that came with us through execve */
	size_t other_count;
	int session_fd;        /* our file in the runtime directory, locked */
	const char *run_dir;   /* NULL if there is none */
	const char *state_dir; /* likewise */
	int started;           /* both relays have said HELLO */
	pid_t server_pid;      /* 0 when reaped */
	int server_status;
	int server_gone;
	uint64_t server_gone_since;
	enum ending ending;
	uint64_t ending_since;
	int gave_up; /* something of the server outlives SIGKILL */
	uint64_t client_done_since; /* its end of input was handled */
	int breached;
	char breach[160];
	uint64_t finished_since; /* only the relays are left */
	uint64_t sync_since;
};

/* monitor.c: runs to the end; the exit status. */
int monitor_run(struct monitor *m);
int monitor_observes(const struct monitor *m);
void monitor_start(struct monitor *m);
/* Says what is odd about the policy in force; how much that is. */
size_t monitor_policy_warnings(struct monitor *m);

/*
 * channel.c.  channel_read() takes what is there and hands each frame to its
 * handler; -1 for a breach, which m->breach then names.
 */
void channel_init(struct channel *c, enum relay_side side, int fd, pid_t pid);
int channel_read(struct monitor *m, struct channel *c);
int channel_process(struct monitor *m, struct channel *c);
void channel_close(struct channel *c);
int channel_waits(const struct monitor *m, const struct channel *c);
int channel_mid_message(const struct channel *c);

/* Words for a breach; always returns -1. */
int breach(struct monitor *m, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* stage.c: the batch between judgement and audit. */
void stage_forward(struct monitor *m, const struct message *msg, int audited,
		   struct request *r, uint64_t *counted);
void stage_answer(struct monitor *m, const struct buf *line, int audited);
/* A request of the monitor's own, in its place behind what waits. */
void stage_own(struct monitor *m, const struct buf *line, struct request *r);
int stage_commit(struct monitor *m);   /* 1 when done, 0 to wait */
void stage_abandon(struct monitor *m); /* forwards nothing more */
void send_client(struct monitor *m, const struct buf *line);

/* from_client.c, from_server.c: what the handlers do with a message. */
void client_message(struct monitor *m, struct message *msg);
void client_refused(struct monitor *m, const struct refuse *r);
int client_passes(const struct monitor *m, const struct verdict *v);
uint64_t *client_counter(struct monitor *m, const struct verdict *v);
void client_forward(struct monitor *m, const struct message *msg,
		    const char *tool, const struct verdict *v);
void server_envelope(struct monitor *m, struct channel *c,
		     const struct envelope *e);
void server_refused(struct monitor *m, const struct refuse *r);
void server_release(struct monitor *m, int audited);

/* event.c: audit lines. */
void event_session_start(struct monitor *m, char *const *argv);
void event_session_end(struct monitor *m, int status);
void event_refusal(struct monitor *m, const char *from, enum refusal why,
		   const struct scalar *id, uint64_t offset);
void event_result(struct monitor *m, const struct request *r,
		  const char *outcome, uint64_t bytes);
void event_breach(struct monitor *m, enum relay_side side);
void event_policy(struct monitor *m, const char *outcome, const char *detail);
/* The first sight of n tools, which are the pins from now on. */
void event_pins(struct monitor *m, const struct pin_key *k, size_t n);
/* Something that differs from the pins; each of the last three may be NULL. */
void event_pin(struct monitor *m, const struct pin_key *k, const char *what,
	       const char *tool, const char *hash, const char *detail);

/* life.c: signals, children, the end. */
void life_note_children(struct monitor *m);
void life_signals(struct monitor *m);
void life_tick(struct monitor *m, uint64_t now);
int life_timeout(const struct monitor *m, uint64_t now);
void life_end(struct monitor *m, const char *why);
void life_client_gone(struct monitor *m);
void life_breach(struct monitor *m, enum relay_side side);
int life_finished(struct monitor *m, uint64_t now);
int life_status(const struct monitor *m);

/* reload.c: our file in the runtime directory, and requests there. */
void reload_setup(struct monitor *m);
void reload_ready(struct monitor *m);
void reload_teardown(struct monitor *m);

#endif
