/*
 * Framing.  Runs in a relay, confined.  Owns the only copy of what a stranger
 * wrote; every byte is searched for a newline once.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lines.h"

#define READ_FIRST (64u * 1024)
#define READ_LONG (256u * 1024) /* once a line has outgrown READ_FIRST */
#define KEEP_BYTES (1024u * 1024)

/* A byte order mark and a carriage return do not count. */
#define ROOM_MAX ((size_t)DW_MESSAGE_MAX + 4)

void
lines_init(struct lines *l)
{
	salvage_init(&l->salvage);
}

/* A long line leaves a large buffer behind; what follows moves to a new one. */
static void
give_back(struct lines *l)
{
	struct buf fresh = BUF_INIT;

	if (l->in.cap <= KEEP_BYTES || buf_used(&l->in) > READ_FIRST)
		return;
	buf_reserve(&fresh, READ_FIRST);
	buf_put(&fresh, buf_head(&l->in), buf_used(&l->in));
	buf_reset(&l->in, 0);
	l->in = fresh;
}

static void
consume(struct lines *l)
{
	if (l->taken == 0)
		return;
	buf_consume(&l->in, l->taken);
	l->taken = 0;
	give_back(l);
}

ssize_t
lines_fill(struct lines *l, int fd)
{
	size_t room;
	ssize_t n;
	char *p;

	consume(l);
	room = buf_used(&l->in) < READ_FIRST ? READ_FIRST : READ_LONG;
	p = buf_reserve(&l->in, room);
	do
		n = read(fd, p, room);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		l->in.len += (size_t)n;
	return n;
}

/* Without byte order mark and carriage return; 0 if nothing is left then. */
static int
strip(struct lines *l, struct line *line)
{
	size_t i;

	if (!l->begun && line->len >= 3 &&
	    memcmp(line->p, "\xef\xbb\xbf", 3) == 0) {
		line->p += 3;
		line->len -= 3;
		l->begun = 1;
	}
	if (line->len > 0 && line->p[line->len - 1] == '\r')
		line->len--;
	for (i = 0; i < line->len; i++)
		if (line->p[i] != ' ' && line->p[i] != '\t' &&
		    line->p[i] != '\r')
			break;
	if (i == line->len)
		return 0;
	l->begun = 1;
	return 1;
}

/* Takes n bytes of a line that is too long; keeps a sample and its id. */
static void
skip(struct lines *l, size_t n)
{
	struct line line = {buf_head(&l->in), n};

	if (!l->skipping) {
		salvage_init(&l->salvage);
		strip(l, &line);
		l->sample_len =
		    line.len < DW_SAMPLE_MAX ? line.len : DW_SAMPLE_MAX;
		memcpy(l->sample, line.p, l->sample_len);
		l->skipping = 1;
	}
	salvage_feed(&l->salvage, line.p, line.len);
	l->taken = n;
	l->searched = 0;
	consume(l);
}

static enum line_event
skipped(struct lines *l, struct line *line)
{
	l->skipping = 0;
	line->p = l->sample;
	line->len = l->sample_len;
	return LINE_TOO_LONG;
}

/* The line of n bytes before a newline. */
static enum line_event
take(struct lines *l, size_t n, struct line *line)
{
	line->p = buf_head(&l->in);
	line->len = n;
	if (!l->skipping) {
		l->taken = n + 1;
		if (!strip(l, line))
			return LINE_NONE;
		if (line->len <= DW_MESSAGE_MAX)
			return LINE_READY;
	}
	skip(l, n + 1);
	return skipped(l, line);
}

enum line_event
lines_next(struct lines *l, struct line *line)
{
	enum line_event event = LINE_NONE;
	const char *head, *nl;
	size_t used;

	while (event == LINE_NONE) {
		consume(l);
		head = buf_head(&l->in);
		used = buf_used(&l->in);
		nl = used > l->searched
			 ? memchr(head + l->searched, '\n', used - l->searched)
			 : NULL;
		if (nl == NULL) {
			l->searched = used;
			if (l->skipping || used > ROOM_MAX)
				skip(l, used);
			return LINE_NONE;
		}
		l->searched = 0;
		event = take(l, (size_t)(nl - head), line);
	}
	return event;
}

enum line_event
lines_end(struct lines *l, struct line *line)
{
	consume(l);
	if (l->skipping)
		return skipped(l, line);
	line->p = buf_head(&l->in);
	line->len = buf_used(&l->in);
	if (line->len == 0)
		return LINE_NONE;
	l->taken = line->len;
	l->searched = 0;
	return strip(l, line) ? LINE_INCOMPLETE : LINE_NONE;
}
