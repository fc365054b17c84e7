/*
 * tools/call, from its arrival to its verdict.  A call that came before its
 * tool is known waits here; nothing of it has left the monitor.
 */
#ifndef DW_CALLS_H
#define DW_CALLS_H

#include <stddef.h>
#include <stdint.h>

struct calls;
struct message;
struct monitor;
struct scalar;
struct toolset;

struct calls *calls_new(void);

/* Judges the call or holds it; a held message is taken over, and *msg is
 * empty then. */
void call_request(struct monitor *m, struct message *msg, const char *tool);

/* The calls that have waited for this set are judged, in their order. */
void call_release(struct monitor *m, struct toolset *s);

/*
 * A held call under this id is denied (answer: and told so).  1 if there was
 * one, else 0.
 */
int call_give_up(struct monitor *m, const struct scalar *id, const char *why,
		 int answer);

/* All of them: nobody is left to serve, or nothing left to serve them. */
void call_deny_held(struct monitor *m, const char *why);

/* Tries again what waited for the pins' lock. */
void call_tick(struct monitor *m, uint64_t now);
int call_waits_for_lock(const struct monitor *m);

size_t call_held(const struct monitor *m);
size_t call_held_bytes(const struct monitor *m);

#endif
