/*
 * Reading frames from a relay.  Runs in the monitor; the bytes may come from
 * a relay that an attacker owns.  A frame is looked up in the table and its
 * length compared with its cell before any handler sees it.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/limits.h"

#include "monitor.h"
#include "table.h"

#define READ_STEP (256u * 1024)
#define KEEP (512u * 1024)

int
breach(struct monitor *m, const char *fmt, ...)
{
	va_list ap;

	if (m->breach[0] != '\0')
		return -1;
	va_start(ap, fmt);
	vsnprintf(m->breach, sizeof(m->breach), fmt, ap);
	va_end(ap);
	return -1;
}

void
channel_init(struct channel *c, enum relay_side side, int fd, pid_t pid)
{
	memset(c, 0, sizeof(*c));
	c->side = side;
	c->state = RELAY_START;
	c->fd = fd;
	c->pid = pid;
	c->partial_since = now_ns();
}

void
channel_close(struct channel *c)
{
	if (c->fd != -1)
		close(c->fd);
	c->fd = -1;
	buf_free(&c->in);
	buf_free(&c->tree);
}

/* 1 while the relay owes us the rest of something. */
int
channel_mid_message(const struct channel *c)
{
	return c->state == RELAY_START || c->state == RELAY_TREE ||
	       c->state == RELAY_RESULT || c->state == RELAY_TOLD ||
	       c->state == RELAY_LINE || buf_used(&c->in) > 0;
}

/*
 * Messages are numbered without a gap, and all frames of one carry its
 * number: no frame can be taken for part of another message.
 */
static int
check_call(struct monitor *m, struct channel *c, const struct frame_header *h)
{
	uint64_t want = 0;

	if (h->type != FRAME_HELLO && h->type != FRAME_NOTE &&
	    h->type != FRAME_EOI) {
		if (c->state == RELAY_IDLE)
			c->call++;
		want = c->call;
	}
	if (h->call != want)
		return breach(m, "%s carries call %llu instead of %llu",
			      frame_name(h->type), (unsigned long long)h->call,
			      (unsigned long long)want);
	return 0;
}

static int
dispatch(struct monitor *m, struct channel *c, const struct frame_header *h,
	 const char *body)
{
	const struct frame_rule *rule = table_rule(c->side, c->state, h->type);

	if (rule->handler == NULL)
		return breach(m, "%s in state %s", frame_name(h->type),
			      state_name(c->state));
	if (rule->once && (c->seen >> h->type & 1))
		return breach(m, "a second %s", frame_name(h->type));
	c->seen |= 1u << h->type;
	if (check_call(m, c, h) == -1)
		return -1;
	return rule->handler(m, c, h, body);
}

/* The length is checked as soon as the header is there, before the body. */
static int
check_header(struct monitor *m, struct channel *c, struct frame_header *h)
{
	const struct frame_rule *rule;

	if (frame_get_header(buf_head(&c->in), h) == -1)
		return breach(m, "no frame header in state %s",
			      state_name(c->state));
	rule = table_rule(c->side, c->state, h->type);
	if (rule->handler == NULL)
		return breach(m, "%s in state %s", frame_name(h->type),
			      state_name(c->state));
	if (h->len < rule->least || h->len > rule->most)
		return breach(m, "%s of %lu bytes", frame_name(h->type),
			      (unsigned long)h->len);
	return 0;
}

/*
 * A message of the server's may wait for its audit line; and what follows a
 * relay's HELLO waits until the other has said it, too.
 */
int
channel_waits(const struct monitor *m, const struct channel *c)
{
	return c->hold || (c->state != RELAY_START && !m->started);
}

int
channel_process(struct monitor *m, struct channel *c)
{
	struct frame_header h;
	size_t used;

	while (!channel_waits(m, c) &&
	       (used = buf_used(&c->in)) >= FRAME_HEADER_LEN) {
		if (check_header(m, c, &h) == -1)
			return -1;
		if (used - FRAME_HEADER_LEN < h.len)
			break;
		if (dispatch(m, c, &h, buf_head(&c->in) + FRAME_HEADER_LEN) ==
		    -1)
			return -1;
		buf_consume(&c->in, FRAME_HEADER_LEN + h.len);
		/* No number of NOTEs puts the HELLO off. */
		if (c->state != RELAY_START)
			c->partial_since = now_ns();
	}
	if (c->state == RELAY_ENDED && buf_used(&c->in) > 0)
		return breach(m, "bytes after the end of input");
	if (buf_used(&c->in) == 0)
		buf_reset(&c->in, KEEP);
	return 0;
}

/*
 * recvmsg with no room for control data: descriptors that a relay attaches
 * are closed by the kernel, and MSG_CTRUNC tells of the attempt.
 */
static ssize_t
receive(struct monitor *m, struct channel *c)
{
	struct iovec iov = {buf_reserve(&c->in, READ_STEP), READ_STEP};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	n = recvmsg(c->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n >= 0 && msg.msg_flags & MSG_CTRUNC)
		return breach(m, "a descriptor came with a frame");
	return n;
}

int
channel_read(struct monitor *m, struct channel *c)
{
	ssize_t n = receive(m, c);

	if (m->breach[0] != '\0')
		return -1;
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		if (c->state != RELAY_ENDED && c->eof_since == 0)
			c->eof_since = now_ns();
		close(c->fd);
		c->fd = -1;
		return 0;
	}
	if (buf_used(&c->in) == 0 && c->state != RELAY_START)
		c->partial_since = now_ns();
	c->in.len += (size_t)n;
	return channel_process(m, c);
}
