/*
 * Requests that are open at a peer, by id and by progress token.  One table
 * for what the client asked the server, one for what the server asked the
 * client.
 */
#ifndef DW_REQUESTS_H
#define DW_REQUESTS_H

#include <stddef.h>
#include <stdint.h>

#include "proto/frames.h"

struct requests;
struct toolset;

struct request {
	struct scalar id;    /* bytes owned by the request */
	struct scalar token; /* likewise; none if it gave no token */
	uint64_t start_ns;   /* when it was forwarded, CLOCK_MONOTONIC */
	char *method;        /* owned */
	char *tool;          /* owned; NULL but for tools/call */
	uint8_t modern;      /* carries its own protocol version */
	uint8_t sent;        /* has left; before that no answer is one */
	uint8_t audited;     /* has a verdict line, gets a result line */
	uint8_t cancelled;   /* the client has given it up */
	uint8_t task;        /* asked for as a task (2025-11-25) */
	uint8_t own;         /* the monitor's: its answer is nobody else's */
	uint8_t wants_tools; /* a stream that tells of changed tools */
	struct toolset *set; /* of a listing or introduction; else NULL */
	size_t bucket, token_bucket;
	struct request *next, *token_next; /* within the buckets */
	struct request *newer, *older;     /* in order of arrival */
};

struct requests *requests_new(void);
void requests_free(struct requests *rs);

/* 1 if they are the same id: type and bytes, and -0 is 0. */
int scalar_same(const struct scalar *a, const struct scalar *b);

/* How many are open, cancelled ones not counted. */
size_t requests_open(const struct requests *rs);

/* The open or cancelled request with this id, or NULL.  Ids are compared
 * with their type; -0 is 0. */
struct request *requests_find(struct requests *rs, const struct scalar *id);

/*
 * 1 if the token belongs to a request that is at the peer, or to a task that
 * outlived its request.
 */
int requests_token_known(struct requests *rs, const struct scalar *token);

/*
 * Adds a request; id and token are copied.  A cancelled one under the same
 * id is removed first.  The id must not be open.  The caller sets the other
 * fields; method and tool are freed with the request.
 */
struct request *requests_add(struct requests *rs, const struct scalar *id,
			     const struct scalar *token);

/*
 * Marks as cancelled: no longer counted.  The oldest such that were sent are
 * forgotten; r may be one of them, and is not to be used any more.
 */
void requests_cancel(struct requests *rs, struct request *r);

/* Removes and frees.  keep_token: the token goes on for a task. */
void requests_remove(struct requests *rs, struct request *r, int keep_token);

/* The oldest, for walking: requests_oldest() then ->newer. */
struct request *requests_oldest(struct requests *rs);

#endif
