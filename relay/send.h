/*
 * All that a relay can say to the monitor: one function a frame.  They write
 * to the socketpair in batches, wait until it takes them, and end the
 * process when nobody is left at its other end.
 */
#ifndef DW_RELAY_SEND_H
#define DW_RELAY_SEND_H

#include <stddef.h>

#include "proto/frames.h"
#include "proto/log.h"

/* The socket to write to; not closed by anything here. */
void mon_open(int fd);

/* Writes what is pending.  Call when no more input is at hand. */
void mon_flush(void);

/* Sent at once, since either may be the last thing that is said. */
void mon_hello(const struct hello *h);
void mon_eoi(void);

/* Log lines become NOTEs; fatal ones overtake what is pending. */
void mon_log_sink(enum log_level level, const char *text, size_t len);

/* Begins the next message: all frames up to the next call carry its number. */
void mon_message(void);

void mon_refuse(const struct refuse *r);

/*
 * A tree: begin, put as often as need be (an emit_put_fn), end.  Parts are
 * cut at DW_PART_MAX wherever that falls.
 */
enum tree_frames { TREE_OF_CLIENT, TREE_OF_RESULT };
void mon_tree_begin(enum tree_frames frames);
void mon_tree_put(void *unused, const void *p, size_t n);
void mon_tree_end(void);

/* An envelope and the e->line_len bytes of its line, at least one. */
void mon_line(const struct envelope *e, const char *line);

#endif
