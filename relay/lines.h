/*
 * Framing (MCP, "stdio transport"): a message is what stands before a byte
 * 0x0A.  A carriage return before that byte, blank lines, and a byte order
 * mark before the first message are tolerated.
 */
#ifndef DW_RELAY_LINES_H
#define DW_RELAY_LINES_H

#include <stddef.h>
#include <sys/types.h>

#include "proto/buf.h"
#include "proto/limits.h"

#include "salvage.h"

enum line_event {
	LINE_NONE,      /* nothing more without more input */
	LINE_READY,     /* a whole line */
	LINE_TOO_LONG,  /* the end of a line over DW_MESSAGE_MAX */
	LINE_INCOMPLETE /* the input ended inside a line */
};

/*
 * p is valid until the next call.  For LINE_TOO_LONG it holds the first
 * bytes of the line, DW_SAMPLE_MAX at most, and salvage has read all of it.
 */
struct line {
	char *p;
	size_t len;
};

/* Zero it, then lines_init().  Owns the input buffer. */
struct lines {
	struct buf in;
	size_t taken;    /* bytes of the line last given out */
	size_t searched; /* bytes after those known to hold no newline */
	int begun;       /* a message was seen: no byte order mark any more */
	int skipping;    /* inside a line that is too long */
	size_t sample_len;
	char sample[DW_SAMPLE_MAX];
	struct salvage salvage;
};

void lines_init(struct lines *l);

/*
 * One read(2) from fd.  Its result: bytes, 0 at the end, -1 with errno.
 * Memory stays below DW_MESSAGE_MAX and one read, doubled at worst.
 */
ssize_t lines_fill(struct lines *l, int fd);

/* The next event of what was read. */
enum line_event lines_next(struct lines *l, struct line *line);

/* After the last line at the end of input: what was left, or LINE_NONE. */
enum line_event lines_end(struct lines *l, struct line *line);

#endif
