/*
 * A relay in an attacker's hands, for the breach tests only.  The monitor of
 * the test build starts it in place of doorward-relay, once for each side.
 * On the side that the environment names it is a puppet, under no
 * confinement; on the other it becomes the real relay.
 *
 *	DOORWARD_TEST_EVIL_SIDE    client or server
 *	DOORWARD_TEST_REAL_RELAY   what to become on the other side
 *	DOORWARD_TEST_EVIL_ORDERS  a Unix socket to take orders from, or a file
 *	DOORWARD_TEST_EVIL_WATCH   the file that order U looks at
 *
 * An order is a letter, a number and the length of what follows (both
 * uint32_t, little-endian), then that many bytes:
 *
 *	W  write the bytes to the monitor
 *	F  the same, with N descriptors attached
 *	O  the same, the last byte out of band
 *	B  write them one byte at a time, N microseconds apart
 *	L  write them again and again, N times (0: for ever)
 *	P  pause for N milliseconds
 *	U  wait until the watched file has N bytes
 *	I  wait until the watched file has an own request of the monitor's
 *	A  take one line from the stream
 *	C  close the socket to the monitor
 *	S  shut its sending side down, and keep it
 *	H  fork: a child keeps the socket, the parent goes on without it
 *	D  read and throw away what the stream has, N bytes
 *	X  exit with status N
 *	K  die by signal N
 *
 * Over a socket each order is answered with a letter: k done, e the monitor
 * is gone.  After the last order the relay is silent and stays.
 *
 * The monitor's own requests have ids that cannot be guessed.  Orders I and
 * A look for one, and whatever is written after that has it in the place of
 * "doorward-" and 32 zeros.
 *
 * With "sink" as its argument it is a server instead: it copies stdin to the
 * watched file until it ends, and answers the monitor's own tools/list, and
 * nothing else, with the result in the file DOORWARD_TEST_EVIL_TOOLS.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/fdmap.h"

#define FDS_MAX 250 /* one message carries at most 253 */
#define CANNOT 99

/* The id of a request that the monitor itself makes. */
#define OWN "doorward-"
#define OWN_HEX 32u
#define OWN_LEN (sizeof(OWN) - 1 + OWN_HEX)
#define OWN_LINE_MAX 4096u

struct order {
	char letter;
	uint32_t n, len;
	char *p;
};

static int monitor = DW_FD_MONITOR;
static int orders = -1, answers;
static char own_id[OWN_LEN + 1]; /* empty until one was seen */

static _Noreturn void
cannot(const char *what)
{
	int fd = open("/dev/tty", O_WRONLY | O_CLOEXEC);

	if (fd != -1)
		dprintf(fd, "evil: %s\n", what);
	_exit(CANNOT);
}

/* The first own id in the text, or NULL. */
static const char *
find_own(const char *p, size_t n)
{
	const char *at = memmem(p, n, "\"" OWN, sizeof(OWN));

	if (at == NULL || n - (size_t)(at - p) < OWN_LEN + 2 ||
	    at[1 + OWN_LEN] != '"')
		return NULL;
	return at + 1;
}

static int
learn(const char *p, size_t n)
{
	const char *at = find_own(p, n);

	if (at == NULL)
		return -1;
	memcpy(own_id, at, OWN_LEN);
	return 0;
}

static void
answer_own(const char *line, size_t n)
{
	static char result[1 << 20];
	const char *path = getenv("DOORWARD_TEST_EVIL_TOOLS");
	const char *id = find_own(line, n);
	ssize_t len;
	int fd;

	if (id == NULL || path == NULL ||
	    memmem(line, n, "\"method\":\"tools/list\"", 21) == NULL)
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd == -1 ? -1 : read(fd, result, sizeof(result));
	if (len <= 0)
		_exit(CANNOT);
	close(fd);
	dprintf(STDOUT_FILENO,
		"{\"jsonrpc\":\"2.0\",\"id\":\"%.*s\",\"result\":%.*s}\n",
		(int)OWN_LEN, id, (int)len, result);
}

/* Only lines that are short can be the monitor's own. */
static void
look_for_own(const char *p, size_t n)
{
	static char line[OWN_LINE_MAX];
	static size_t len;
	size_t i;

	for (i = 0; i < n; i++) {
		if (p[i] != '\n') {
			if (len < sizeof(line))
				line[len] = p[i];
			len++;
			continue;
		}
		if (len <= sizeof(line))
			answer_own(line, len);
		len = 0;
	}
}

static int
sink(void)
{
	static char buf[65536];
	const char *path = getenv("DOORWARD_TEST_EVIL_WATCH");
	int fd =
	    path == NULL
		? -1
		: open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	ssize_t n;

	while (fd != -1 && (n = read(STDIN_FILENO, buf, sizeof(buf))) > 0) {
		if (write(fd, buf, (size_t)n) != n)
			return CANNOT;
		look_for_own(buf, (size_t)n);
	}
	return fd == -1 ? CANNOT : 0;
}

static int
dial(const char *path)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd == -1 || strlen(path) >= sizeof(sun.sun_path))
		cannot("socket");
	memcpy(sun.sun_path, path, strlen(path) + 1);
	if (connect(fd, (struct sockaddr *)&sun, sizeof(sun)) == -1)
		cannot("connect");
	return fd;
}

static void
open_orders(void)
{
	const char *path = getenv("DOORWARD_TEST_EVIL_ORDERS");
	struct stat st;

	if (path == NULL || stat(path, &st) == -1)
		cannot("no orders");
	answers = S_ISSOCK(st.st_mode);
	orders = answers ? dial(path) : open(path, O_RDONLY | O_CLOEXEC);
	if (orders == -1)
		cannot("orders");
}

/* 0 at a clean end. */
static int
take(void *p, size_t n)
{
	char *at = p;
	ssize_t got;

	while (n > 0) {
		got = read(orders, at, n);
		if (got == 0 && at == p)
			return 0;
		if (got <= 0)
			cannot("orders cut short");
		at += got;
		n -= (size_t)got;
	}
	return 1;
}

static int
next_order(struct order *o)
{
	unsigned char h[9];
	int i;

	if (!take(h, sizeof(h)))
		return 0;
	o->letter = (char)h[0];
	o->n = o->len = 0;
	for (i = 3; i >= 0; i--) {
		o->n = o->n << 8 | h[1 + i];
		o->len = o->len << 8 | h[5 + i];
	}
	o->p = malloc(o->len + 1u);
	if (o->p == NULL || (o->len > 0 && !take(o->p, o->len)))
		cannot("orders cut short");
	return 1;
}

static int
put(const char *p, size_t n, int flags)
{
	ssize_t w;

	while (n > 0) {
		w = send(monitor, p, n, MSG_NOSIGNAL | flags);
		if (w == -1 && errno == EINTR)
			continue;
		if (w <= 0)
			return -1;
		p += w;
		n -= (size_t)w;
	}
	return 0;
}

static int
put_with_fds(const struct order *o)
{
	_Alignas(
	    struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * FDS_MAX)];
	struct iovec iov = {o->p, o->len};
	struct msghdr msg = {
	    .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control};
	size_t n = o->n < FDS_MAX ? o->n : FDS_MAX, i;
	struct cmsghdr *c;
	int fd = STDERR_FILENO;

	memset(control, 0, sizeof(control));
	msg.msg_controllen = CMSG_SPACE(sizeof(int) * n);
	c = CMSG_FIRSTHDR(&msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int) * n);
	for (i = 0; i < n; i++)
		memcpy(CMSG_DATA(c) + i * sizeof(int), &fd, sizeof(int));
	return sendmsg(monitor, &msg, MSG_NOSIGNAL) == (ssize_t)o->len ? 0 : -1;
}

static int
put_slowly(const struct order *o)
{
	uint32_t i;

	for (i = 0; i < o->len; i++) {
		if (put(o->p + i, 1, 0) == -1)
			return -1;
		if (o->n > 0)
			usleep(o->n);
	}
	return 0;
}

static int
put_again(const struct order *o)
{
	uint32_t i;

	for (i = 0; o->n == 0 || i < o->n; i++)
		if (put(o->p, o->len, 0) == -1)
			return -1;
	return 0;
}

static int
wait_for_bytes(uint32_t n)
{
	const char *path = getenv("DOORWARD_TEST_EVIL_WATCH");
	struct stat st;

	while (path != NULL && (stat(path, &st) == -1 || st.st_size < n))
		usleep(1000);
	return 0;
}

static int
learn_from_file(void)
{
	static char buf[65536];
	const char *path = getenv("DOORWARD_TEST_EVIL_WATCH");
	ssize_t n;
	int fd;

	for (;;) {
		fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
		n = fd == -1 ? -1 : read(fd, buf, sizeof(buf));
		if (fd != -1)
			close(fd);
		if (n > 0 && learn(buf, (size_t)n) == 0)
			return 0;
		usleep(1000);
	}
}

/* What the relay has in hand, and may now tell of as it likes. */
static int
take_line(void)
{
	static char line[1 << 20];
	size_t n = 0;

	while (n < sizeof(line) && read(DW_FD_STREAM, line + n, 1) == 1) {
		if (line[n++] != '\n')
			continue;
		learn(line, n);
		return 0;
	}
	return -1;
}

static void
put_in_own_id(char *p, size_t n)
{
	static const char place[] = OWN "00000000000000000000000000000000";
	char *at;

	if (own_id[0] == '\0')
		return;
	while ((at = memmem(p, n, place, OWN_LEN)) != NULL) {
		memcpy(at, own_id, OWN_LEN);
		n -= (size_t)(at - p) + OWN_LEN;
		p = at + OWN_LEN;
	}
}

static int
drain(uint32_t n)
{
	static char buf[65536];
	ssize_t got;

	while (n > 0) {
		got =
		    read(DW_FD_STREAM, buf, n < sizeof(buf) ? n : sizeof(buf));
		if (got <= 0)
			return -1;
		n -= (uint32_t)got;
	}
	return 0;
}

static int
leave_a_child(void)
{
	pid_t pid = fork();

	if (pid == -1)
		cannot("fork");
	if (pid == 0) {
		close(orders);
		for (;;)
			pause();
	}
	return 0;
}

static int
die(uint32_t sig)
{
	sigset_t none;

	sigemptyset(&none);
	signal((int)sig, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	raise((int)sig);
	return -1;
}

static int
obey(const struct order *o)
{
	switch (o->letter) {
	case 'W':
		return put(o->p, o->len, 0);
	case 'F':
		return put_with_fds(o);
	case 'O':
		return put(o->p, o->len, MSG_OOB);
	case 'B':
		return put_slowly(o);
	case 'L':
		return put_again(o);
	case 'P':
		return usleep(o->n * 1000u);
	case 'U':
		return wait_for_bytes(o->n);
	case 'I':
		return learn_from_file();
	case 'A':
		return take_line();
	case 'C':
		return close(monitor);
	case 'S':
		return shutdown(monitor, SHUT_WR);
	case 'H':
		return leave_a_child();
	case 'D':
		return drain(o->n);
	case 'X':
		_exit((int)o->n);
	case 'K':
		return die(o->n);
	default:
		cannot("an unknown order");
	}
}

static void
become_the_real_one(char **argv)
{
	const char *side = getenv("DOORWARD_TEST_EVIL_SIDE");
	char *real = getenv("DOORWARD_TEST_REAL_RELAY");

	if (side != NULL && strcmp(side, argv[1]) == 0)
		return;
	if (real == NULL)
		cannot("no real relay");
	argv[0] = real;
	execv(real, argv);
	cannot("cannot become the real relay");
}

int
main(int argc, char **argv)
{
	struct order o;
	int r;

	if (argc == 2 && strcmp(argv[1], "sink") == 0)
		return sink();
	if (argc < 2)
		return CANNOT;
	become_the_real_one(argv);
	open_orders();
	while (next_order(&o)) {
		put_in_own_id(o.p, o.len);
		r = obey(&o);
		free(o.p);
		if (answers &&
		    send(orders, r == 0 ? "k" : "e", 1, MSG_NOSIGNAL) != 1)
			break;
	}
	for (;;)
		pause();
}
