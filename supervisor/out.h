/*
 * Writing to a descriptor that somebody else holds, without ever waiting for
 * him and without changing its flags, which are his as well.
 */
#ifndef DW_OUT_H
#define DW_OUT_H

#include <stddef.h>
#include <stdint.h>

#include "proto/buf.h"

enum out_way {
	OUT_NONBLOCK, /* a description of our own, O_NONBLOCK */
	OUT_SOCKET,   /* MSG_DONTWAIT */
	OUT_SMALL     /* ask poll(2), then at most PIPE_BUF bytes */
};

struct out {
	int fd; /* -1 when closed */
	enum out_way way;
	int own;        /* fd is ours to close */
	int dead;       /* nobody reads any more */
	uint64_t moved; /* ns; when bytes last left, CLOCK_MONOTONIC */
	struct buf buf;
};

/*
 * Chooses the way for fd.  A pipe or terminal is opened anew through /proc
 * for a description of our own; where that is not possible small writes
 * after poll(2) do.  fd stays the caller's; o may hold another.
 */
void out_init(struct out *o, int fd);

/* For a descriptor that is ours alone (a pipe we made): sets O_NONBLOCK. */
void out_init_own(struct out *o, int fd);

/* Bytes not yet written. */
size_t out_pending(const struct out *o);

/* Appends; forgotten if dead. */
void out_put(struct out *o, const void *p, size_t n);

/* Writes what can be written now.  0, or -1 once nobody reads. */
int out_flush(struct out *o);

/*
 * Writes p at once as far as it goes if nothing is pending, queues the rest:
 * saves the copy of large messages.
 */
void out_write(struct out *o, const void *p, size_t n);

void out_close(struct out *o);

#endif
