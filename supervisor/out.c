/*
 * Outputs of the monitor: the server's stdin, the client's stdout, stderr.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "out.h"

#define KEEP (256u * 1024)

void
out_init(struct out *o, int fd)
{
	char path[64];
	struct stat st;
	int nfd;

	*o = (struct out){.fd = fd, .way = OUT_SMALL};
	if (fstat(fd, &st) == -1) {
		o->dead = 1;
		return;
	}
	if (S_ISSOCK(st.st_mode)) {
		o->way = OUT_SOCKET;
		return;
	}
	if (S_ISREG(st.st_mode)) {
		/* A file never makes us wait, and its offset is shared. */
		o->way = OUT_NONBLOCK;
		return;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	nfd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (nfd == -1)
		return;
	o->fd = nfd;
	o->own = 1;
	o->way = OUT_NONBLOCK;
}

void
out_init_own(struct out *o, int fd)
{
	int flags = fcntl(fd, F_GETFL);

	*o = (struct out){.fd = fd, .own = 1, .way = OUT_SMALL};
	if (flags != -1 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0)
		o->way = OUT_NONBLOCK;
}

size_t
out_pending(const struct out *o)
{
	return buf_used(&o->buf);
}

static ssize_t
write_some(struct out *o, const char *p, size_t n)
{
	struct pollfd pfd = {.fd = o->fd, .events = POLLOUT};

	switch (o->way) {
	case OUT_SOCKET:
		return send(o->fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	case OUT_SMALL:
		if (poll(&pfd, 1, 0) != 1 || !(pfd.revents & POLLOUT)) {
			errno =
			    pfd.revents & (POLLERR | POLLNVAL) ? EPIPE : EAGAIN;
			return -1;
		}
		return write(o->fd, p, n < PIPE_BUF ? n : PIPE_BUF);
	case OUT_NONBLOCK:
	default:
		return write(o->fd, p, n);
	}
}

/* Bytes written, 0 if it would have to wait; sets dead. */
static size_t
push(struct out *o, const char *p, size_t n)
{
	size_t done = 0;
	ssize_t w;

	while (done < n) {
		w = write_some(o, p + done, n - done);
		if (w > 0) {
			done += (size_t)w;
		} else if (w == -1 && errno == EINTR) {
			continue;
		} else if (w == -1 &&
			   (errno == EAGAIN || errno == EWOULDBLOCK ||
			    errno == ENOBUFS)) {
			break;
		} else {
			o->dead = 1;
			break;
		}
	}
	if (done > 0)
		o->moved = now_ns();
	return done;
}

int
out_flush(struct out *o)
{
	size_t n = buf_used(&o->buf);

	if (o->fd == -1 || o->dead) {
		buf_reset(&o->buf, KEEP);
		return -1;
	}
	if (n > 0) {
		buf_consume(&o->buf, push(o, buf_head(&o->buf), n));
		if (buf_used(&o->buf) == 0)
			buf_reset(&o->buf, KEEP);
	}
	return o->dead ? -1 : 0;
}

void
out_put(struct out *o, const void *p, size_t n)
{
	if (o->fd != -1 && !o->dead)
		buf_put(&o->buf, p, n);
}

void
out_write(struct out *o, const void *p, size_t n)
{
	size_t done = 0;

	if (o->fd == -1 || o->dead)
		return;
	if (buf_used(&o->buf) == 0)
		done = push(o, p, n);
	out_put(o, (const char *)p + done, n - done);
}

void
out_close(struct out *o)
{
	if (o->own && o->fd != -1)
		close(o->fd);
	o->fd = -1;
	buf_free(&o->buf);
}
