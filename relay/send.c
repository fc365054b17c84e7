/*
 * The stubs.  Run in a relay and are the only place that writes.  File-scope
 * state, since a process has one monitor.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "proto/buf.h"
#include "proto/limits.h"

#include "send.h"

/* Pending bytes that make a write worth while before the batch is over. */
#define PENDING_HIGH (256u * 1024)

/* Lines above this go from where they are, without a copy. */
#define LINE_COPY_MAX (16u * 1024)

static int monitor = -1;
static struct buf out;
static uint64_t call; /* number of the message being sent */

static struct {
	size_t head; /* where in out the open part's header is */
	enum frame_type part, end;
} tree;

void
mon_open(int fd)
{
	monitor = fd;
}

/*
 * The monitor has gone, or closed its end because the session is over:
 * nothing that could still be said would be heard.
 */
static _Noreturn void
gone(void)
{
	_exit(0);
}

static void
wait_writable(void)
{
	struct pollfd pfd = {monitor, POLLOUT, 0};

	while (poll(&pfd, 1, -1) < 0)
		if (errno != EINTR)
			gone();
}

static void
write_all(struct iovec *iov, int n)
{
	ssize_t put;
	size_t done;

	while (n > 0) {
		put = writev(monitor, iov, n);
		if (put < 0) {
			if (errno == EAGAIN)
				wait_writable();
			else if (errno != EINTR)
				gone();
			continue;
		}
		for (done = (size_t)put; n > 0 && done >= iov->iov_len; n--)
			done -= (iov++)->iov_len;
		if (n > 0) {
			iov->iov_base = (char *)iov->iov_base + done;
			iov->iov_len -= done;
		}
	}
}

void
mon_flush(void)
{
	struct iovec iov = {buf_head(&out), buf_used(&out)};

	if (iov.iov_len == 0)
		return;
	write_all(&iov, 1);
	buf_reset(&out, 2 * PENDING_HIGH);
}

static void
flush_if_much(void)
{
	if (buf_used(&out) >= PENDING_HIGH)
		mon_flush();
}

/* The length is not known before the body is there. */
static size_t
frame_begin(enum frame_type type, uint64_t number)
{
	size_t head = buf_used(&out);

	frame_put_header(&out, type, number, 0);
	return head;
}

static void
frame_end(size_t head)
{
	size_t len = buf_used(&out) - head - FRAME_HEADER_LEN, i;
	char *p = buf_head(&out) + head;

	for (i = 0; i < 4; i++)
		p[i] = (char)(len >> (8 * i) & 0xff);
}

void
mon_hello(const struct hello *h)
{
	size_t head = frame_begin(FRAME_HELLO, 0);

	hello_put(&out, h);
	frame_end(head);
	mon_flush();
}

void
mon_eoi(void)
{
	frame_put_header(&out, FRAME_EOI, 0, 0);
	mon_flush();
}

void
mon_log_sink(enum log_level level, const char *text, size_t len)
{
	size_t n = len < DW_NOTE_MAX ? len : DW_NOTE_MAX;

	/*
	 * A fatal line may come in the middle of a frame, or since there is
	 * no memory: what was pending is lost with the relay, and the buffer
	 * that it leaves is room enough.
	 */
	if (level == LOG_LEVEL_ERROR)
		out.off = out.len = 0;
	frame_put_header(&out, FRAME_NOTE, 0, n);
	buf_put(&out, text, n);
	if (level == LOG_LEVEL_ERROR)
		mon_flush();
}

void
mon_message(void)
{
	call++;
}

void
mon_refuse(const struct refuse *r)
{
	size_t head = frame_begin(FRAME_REFUSE, call);

	refuse_put(&out, r);
	frame_end(head);
	flush_if_much();
}

void
mon_tree_begin(enum tree_frames frames)
{
	int tools = frames == TREE_OF_RESULT;

	tree.part = tools ? FRAME_RESULT_PART : FRAME_TREE_PART;
	tree.end = tools ? FRAME_RESULT_END : FRAME_TREE_END;
	tree.head = frame_begin(tree.end, call);
}

/* Closes a part that turned out not to be the last, and begins another. */
static void
tree_cut(void)
{
	char *p = buf_head(&out) + tree.head;

	frame_end(tree.head);
	p[4] = (char)tree.part;
	flush_if_much();
	tree.head = frame_begin(tree.end, call);
}

void
mon_tree_put(void *unused, const void *p, size_t n)
{
	const char *at = p;
	size_t used, room, k;

	(void)unused;
	while (n > 0) {
		used = buf_used(&out) - tree.head - FRAME_HEADER_LEN;
		room = DW_PART_MAX - used;
		if (room == 0) {
			tree_cut();
			continue;
		}
		k = n < room ? n : room;
		buf_put(&out, at, k);
		at += k;
		n -= k;
	}
}

void
mon_tree_end(void)
{
	frame_end(tree.head);
	flush_if_much();
}

static void
send_part(const char *p, size_t n)
{
	struct iovec iov[2];

	frame_put_header(&out, FRAME_LINE_PART, call, n);
	if (n <= LINE_COPY_MAX) {
		buf_put(&out, p, n);
		flush_if_much();
		return;
	}
	iov[0] = (struct iovec){buf_head(&out), buf_used(&out)};
	iov[1] = (struct iovec){(char *)(uintptr_t)p, n};
	write_all(iov, 2);
	buf_reset(&out, 2 * PENDING_HIGH);
}

void
mon_line(const struct envelope *e, const char *line)
{
	size_t left = e->line_len, head = frame_begin(FRAME_ENVELOPE, call), n;

	envelope_put(&out, e);
	frame_end(head);
	for (; left > 0; left -= n, line += n) {
		n = left < DW_PART_MAX ? left : DW_PART_MAX;
		send_part(line, n);
	}
}
