/*
 * Outputs: each kind of descriptor that a client may give, never waited for
 * and never changed.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#include "out.h"

#define BIG (3u * 1024 * 1024)

/* Byte i of what is sent: no two neighbouring KiB are alike. */
static char
byte_at(size_t i)
{
	return (char)('a' + (i ^ i >> 10) % 26);
}

static char *
pattern(size_t n)
{
	char *p = malloc(n);
	size_t i;

	assert_non_null(p);
	for (i = 0; i < n; i++)
		p[i] = byte_at(i);
	return p;
}

/* Reads what is there without waiting; each byte has to be the next. */
static size_t
drain(int fd, size_t at, size_t most)
{
	static char buf[65536];
	size_t n = 0, i;
	ssize_t r;

	while (n < most) {
		r = read(fd, buf,
			 most - n < sizeof(buf) ? most - n : sizeof(buf));
		if (r <= 0)
			break;
		for (i = 0; i < (size_t)r; i++)
			if (buf[i] != byte_at(at + n + i))
				fail_msg("byte %zu is wrong", at + n + i);
		n += (size_t)r;
	}
	return n;
}

/*
 * Much more than fits, then reading and flushing in turn: all of it arrives,
 * in order, and nobody waits (an alarm would end the test).
 */
static void
through(struct out *o, int reader)
{
	char *p = pattern(BIG);
	size_t got = 0, before;
	uint64_t moved;
	int rounds = 0;

	alarm(60);
	out_put(o, p, 10);
	assert_int_equal(out_pending(o), 10);
	assert_int_equal(o->moved, 0);
	/* What is pending goes first. */
	out_write(o, p + 10, 10);
	assert_int_equal(out_pending(o), 20);
	assert_int_equal(out_flush(o), 0);
	assert_int_equal(out_pending(o), 0);
	assert_true(o->moved > 0);
	out_write(o, p + 20, BIG / 2);
	assert_true(out_pending(o) > 0);
	assert_true(out_pending(o) < BIG / 2);
	out_put(o, p + 20 + BIG / 2, BIG - 20 - BIG / 2);
	moved = o->moved;
	before = out_pending(o);
	assert_int_equal(out_flush(o), 0);
	if (out_pending(o) == before)
		assert_int_equal(o->moved, moved);
	while (got < BIG && rounds++ < 100000) {
		got += drain(reader, got, 100000);
		assert_int_equal(out_flush(o), 0);
	}
	assert_int_equal(got, BIG);
	assert_int_equal(out_pending(o), 0);
	assert_true(o->moved > moved);
	assert_int_equal(o->dead, 0);
	alarm(0);
	free(p);
}

static void
nonblocking(int fd)
{
	assert_int_equal(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK),
			 0);
}

static void
pipes(void **state)
{
	struct out o;
	int fd[2], flags;

	(void)state;
	assert_int_equal(pipe(fd), 0);
	nonblocking(fd[0]);
	flags = fcntl(fd[1], F_GETFL);
	out_init(&o, fd[1]);
	assert_int_equal(o.way, OUT_NONBLOCK);
	assert_int_equal(o.own, 1);
	assert_int_not_equal(o.fd, fd[1]);
	assert_int_equal(fcntl(o.fd, F_GETFD), FD_CLOEXEC);
	through(&o, fd[0]);
	/* The client's own descriptor still waits, as it did. */
	assert_int_equal(fcntl(fd[1], F_GETFL), flags);
	assert_int_equal(flags & O_NONBLOCK, 0);
	out_close(&o);
	assert_int_equal(o.fd, -1);
	assert_int_equal(fcntl(fd[1], F_GETFL), flags);
	close(fd[0]);
	close(fd[1]);
}

static void
sockets(void **state)
{
	struct out o;
	int fd[2], flags;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	nonblocking(fd[0]);
	flags = fcntl(fd[1], F_GETFL);
	out_init(&o, fd[1]);
	assert_int_equal(o.way, OUT_SOCKET);
	assert_int_equal(o.fd, fd[1]);
	assert_int_equal(o.own, 0);
	through(&o, fd[0]);
	assert_int_equal(fcntl(fd[1], F_GETFL), flags);
	out_close(&o);
	/* It was not ours to close. */
	assert_int_equal(fcntl(fd[1], F_GETFL), flags);
	close(fd[0]);
	close(fd[1]);
}

static void
terminals(void **state)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), fd, flags;
	struct termios t;
	struct out o;

	(void)state;
	assert_int_not_equal(master, -1);
	assert_int_equal(grantpt(master), 0);
	assert_int_equal(unlockpt(master), 0);
	fd = open(ptsname(master), O_RDWR | O_NOCTTY);
	assert_int_not_equal(fd, -1);
	assert_int_equal(tcgetattr(fd, &t), 0);
	cfmakeraw(&t);
	assert_int_equal(tcsetattr(fd, TCSANOW, &t), 0);
	nonblocking(master);
	flags = fcntl(fd, F_GETFL);
	out_init(&o, fd);
	assert_int_equal(o.way, OUT_NONBLOCK);
	assert_int_equal(o.own, 1);
	through(&o, master);
	assert_int_equal(fcntl(fd, F_GETFL), flags);
	/* The terminal hangs up. */
	close(master);
	out_put(&o, "x", 1);
	assert_int_equal(out_flush(&o), -1);
	assert_int_equal(o.dead, 1);
	out_close(&o);
	close(fd);
}

/* A file's offset is shared with whoever else has it open. */
static void
files(void **state)
{
	char path[] = "/tmp/doorward-out.XXXXXX", text[32] = "";
	struct out o;
	int fd = mkstemp(path), flags;

	(void)state;
	assert_int_not_equal(fd, -1);
	flags = fcntl(fd, F_GETFL);
	assert_int_equal(write(fd, "before ", 7), 7);
	out_init(&o, fd);
	assert_int_equal(o.fd, fd);
	assert_int_equal(o.own, 0);
	out_put(&o, "one ", 4);
	assert_int_equal(out_flush(&o), 0);
	assert_int_equal(write(fd, "between ", 8), 8);
	out_write(&o, "two", 3);
	assert_int_equal(out_pending(&o), 0);
	assert_int_equal(fcntl(fd, F_GETFL), flags);
	out_close(&o);
	assert_int_equal(pread(fd, text, sizeof(text), 0), 22);
	assert_string_equal(text, "before one between two");
	close(fd);
	assert_int_equal(unlink(path), 0);
}

static void
null_and_full(void **state)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct out o;

	(void)state;
	out_init(&o, fd);
	out_write(&o, "x", 1);
	assert_int_equal(out_pending(&o), 0);
	assert_int_equal(out_flush(&o), 0);
	out_close(&o);
	close(fd);
	fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	out_init(&o, fd);
	out_write(&o, "x", 1);
	assert_int_equal(o.dead, 1);
	assert_int_equal(out_flush(&o), -1);
	out_close(&o);
	close(fd);
}

/* Dead once nobody reads, and for good; nothing piles up after that. */
static void
dies(struct out *o)
{
	out_put(o, "some", 4);
	out_put(o, "more", 4);
	assert_int_equal(out_flush(o), -1);
	assert_int_equal(o->dead, 1);
	assert_int_equal(out_flush(o), -1);
	assert_int_equal(out_pending(o), 0);
	out_put(o, "x", 1);
	out_write(o, "x", 1);
	assert_int_equal(out_pending(o), 0);
	assert_int_equal(out_flush(o), -1);
	out_close(o);
	out_close(o);
	assert_int_equal(out_flush(o), -1);
}

static void
reader_gone(void **state)
{
	struct out o;
	int fd[2], i;

	(void)state;
	for (i = 0; i < 4; i++) {
		if (i % 2 == 0)
			assert_int_equal(pipe(fd), 0);
		else
			assert_int_equal(
			    socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
		/* It goes before we look, or after. */
		if (i < 2)
			close(fd[0]);
		out_init(&o, fd[1]);
		assert_int_equal(o.dead, 0);
		if (i >= 2)
			close(fd[0]);
		dies(&o);
		close(fd[1]);
	}
}

static void
reader_goes_in_the_middle(void **state)
{
	char *p = pattern(BIG);
	struct out o;
	int fd[2];

	(void)state;
	assert_int_equal(pipe(fd), 0);
	nonblocking(fd[0]);
	out_init(&o, fd[1]);
	out_write(&o, p, BIG);
	assert_true(out_pending(&o) > 0);
	assert_int_equal(drain(fd[0], 0, 5000), 5000);
	close(fd[0]);
	dies(&o);
	close(fd[1]);
	free(p);
}

static void
no_descriptor(void **state)
{
	struct out o;
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	(void)state;
	close(fd);
	out_init(&o, fd);
	assert_int_equal(o.dead, 1);
	dies(&o);
	o = (struct out){.fd = -1};
	out_put(&o, "x", 1);
	out_write(&o, "x", 1);
	assert_int_equal(out_pending(&o), 0);
	assert_int_equal(out_flush(&o), -1);
}

static void
own_pipe(void **state)
{
	struct out o;
	int fd[2];

	(void)state;
	assert_int_equal(pipe(fd), 0);
	nonblocking(fd[0]);
	out_init_own(&o, fd[1]);
	assert_int_equal(o.way, OUT_NONBLOCK);
	assert_int_equal(o.fd, fd[1]);
	assert_int_equal(fcntl(fd[1], F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	through(&o, fd[0]);
	out_close(&o);
	assert_int_equal(fcntl(fd[1], F_GETFL), -1);
	assert_int_equal(errno, EBADF);
	close(fd[0]);
}

/* Where /proc cannot be used: small writes, each after poll(2). */
static void
small_writes(void **state)
{
	struct out o;
	int fd[2], flags;

	(void)state;
	assert_int_equal(pipe(fd), 0);
	nonblocking(fd[0]);
	flags = fcntl(fd[1], F_GETFL);
	o = (struct out){.fd = fd[1], .way = OUT_SMALL};
	through(&o, fd[0]);
	assert_int_equal(fcntl(fd[1], F_GETFL), flags);
	close(fd[0]);
	dies(&o);
	/* A full pipe without a reader is dead as well. */
	assert_int_equal(close(fd[1]), 0);
	assert_int_equal(pipe(fd), 0);
	o = (struct out){.fd = fd[1], .way = OUT_SMALL};
	while (out_pending(&o) == 0)
		out_write(&o, "0123456789012345678901234567890123456789", 40);
	assert_int_equal(out_flush(&o), 0);
	close(fd[0]);
	dies(&o);
	close(fd[1]);
}

/* out_init() comes to that by itself when it may open nothing more. */
static void
no_more_descriptors(void **state)
{
	struct rlimit old, rl;
	struct out o;
	int fd[2];

	(void)state;
	assert_int_equal(pipe(fd), 0);
	nonblocking(fd[0]);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	rl = (struct rlimit){0, old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &rl), 0);
	out_init(&o, fd[1]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(o.way, OUT_SMALL);
	assert_int_equal(o.own, 0);
	assert_int_equal(o.fd, fd[1]);
	through(&o, fd[0]);
	out_close(&o);
	assert_int_not_equal(fcntl(fd[1], F_GETFL), -1);
	close(fd[0]);
	close(fd[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(pipes),
	    cmocka_unit_test(sockets),
	    cmocka_unit_test(terminals),
	    cmocka_unit_test(files),
	    cmocka_unit_test(null_and_full),
	    cmocka_unit_test(reader_gone),
	    cmocka_unit_test(reader_goes_in_the_middle),
	    cmocka_unit_test(no_descriptor),
	    cmocka_unit_test(own_pipe),
	    cmocka_unit_test(small_writes),
	    cmocka_unit_test(no_more_descriptors),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
