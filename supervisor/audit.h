/*
 * The audit log: audit.jsonl in the state directory, one JSON line an event,
 * appended by many monitors under a lock file of its own.  doorward-audit(5)
 * describes the lines.
 *
 * Lines are queued, then committed together.  A verdict is worth nothing
 * before its commit: the caller forwards only after AUDIT_OK.
 */
#ifndef DW_AUDIT_H
#define DW_AUDIT_H

#include <stddef.h>
#include <stdint.h>

struct audit;
struct buf;

enum audit_status {
	AUDIT_OK = 0,
	AUDIT_BUSY = 1,   /* somebody holds the lock: try again soon */
	AUDIT_FAILED = -1 /* nothing was written and the queue is empty */
};

#define AUDIT_DIGEST_HEX 65u /* with its NUL */

/*
 * Never fails: what cannot be opened is tried again at each commit.  dir is
 * copied; NULL for an audit that is to be disabled.  audit_close() frees
 * without committing.
 */
struct audit *audit_new(const char *dir);
void audit_close(struct audit *a);

/* From now on every commit fails, for this reason; nothing is opened. */
void audit_disable(struct audit *a, const char *why);

/* 0 if audit.key is missing, of a wrong size or open to others. */
int audit_has_key(const struct audit *a);

/* Members that every line carries; NULL leaves one as it is. */
void audit_identity(struct audit *a, const char *session, const char *server,
		    const char *client, const char *agent);

/*
 * Starts a line of the given event.  The caller adds members to the buffer
 * with jsonw_*() and calls audit_end().  One line at a time.
 */
struct buf *audit_begin(struct audit *a, const char *event);
void audit_end(struct audit *a);

/* Lines waiting for a commit. */
size_t audit_queued(const struct audit *a);

/* One try at writing all queued lines in one piece; never waits. */
enum audit_status audit_commit(struct audit *a);

/* Gives the queue up, as after AUDIT_BUSY for too long. */
void audit_drop(struct audit *a, const char *why);

/* Why the last commit failed, a short phrase. */
const char *audit_error(const struct audit *a);

/* Lines lost since the start. */
uint64_t audit_lost(const struct audit *a);

/*
 * Flushes to the disk what was written since the last time, if anything.
 * 0, or -1 if the disk would not have it.
 */
int audit_sync(struct audit *a);

/* With on, each commit flushes, and fails if that does. */
void audit_sync_each(struct audit *a, int on);

/*
 * Keyed BLAKE2b-256 of len bytes in hex, the key being the state directory's
 * audit.key.  Returns 0, or -1 when there is no key.
 */
int audit_digest(const struct audit *a, const void *p, size_t len,
		 char out[AUDIT_DIGEST_HEX]);

#endif
