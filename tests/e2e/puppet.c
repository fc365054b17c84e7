/*
 * A server for the tests that does nothing by itself.  Runs as the wrapped
 * server, with whatever privilege the test started it with.  It connects
 * twice to the Unix socket named in argv[1]: what it reads on stdin goes to
 * the first connection and what comes from there goes to stdout, byte for
 * byte, so that the test holds both ends of the wire.  The second connection
 * takes orders, one a line, and says what happened.
 *
 *	linger		stay when stdin ends (else exit with 0)
 *	ignore N	ignore signal N
 *	watch N		report signal N as "signal N" instead of dying
 *	pause, resume	stop and go on reading stdin
 *	stderr N	write N bytes to stderr, "stderr done" at the end
 *	spawn FLAGS	a child that sleeps: s own session, t ignores TERM,
 *			k keeps stdin and stdout; answers "spawned PID"
 *	closein		close stdin
 *	close		close stdout  } these three wait until everything
 *	exit N		exit          } that came on the first connection
 *	raise N		die by N      } has gone out
 */
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* At most this much goes into a pipe that poll() calls writable, so that no
 * write blocks although no flag of the descriptor is touched. */
#define CHUNK 4096
#define CONTROL_GONE 111

struct pending {
	char data[65536];
	size_t off, len;
};

static struct {
	int data, control, signals;
	int linger, paused, in_closed, out_closed, data_eof;
	size_t stderr_left;
	int stderr_busy;
	char action; /* 'c', 'e' or 'r', done when all is written */
	int action_arg;
	sigset_t watched;
	struct pending in, out;
	char order[256];
	size_t order_len;
} me;

static void __attribute__((format(printf, 1, 2))) say(const char *fmt, ...)
{
	char line[8192];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n < sizeof(line))
		(void)send(me.control, line, (size_t)n, MSG_NOSIGNAL);
}

static int
dial(const char *path)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd == -1 || strlen(path) >= sizeof(sun.sun_path))
		exit(CONTROL_GONE);
	memcpy(sun.sun_path, path, strlen(path) + 1);
	if (connect(fd, (struct sockaddr *)&sun, sizeof(sun)) == -1)
		exit(CONTROL_GONE);
	return fd;
}

/* "fds 0 1 2": what was open when the program started. */
static void
list_fds(char *out, size_t size)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;
	size_t len = 0;
	int n;

	out[0] = '\0';
	while (dir != NULL && (e = readdir(dir)) != NULL) {
		if (e->d_name[0] == '.' || atoi(e->d_name) == dirfd(dir))
			continue;
		n = snprintf(out + len, size - len, " %s", e->d_name);
		if (n < 0 || (size_t)n >= size - len)
			exit(CONTROL_GONE);
		len += (size_t)n;
	}
	if (dir != NULL)
		closedir(dir);
}

static void
spawn(const char *flags)
{
	pid_t pid = fork();

	if (pid != 0) {
		say("spawned %d\n", (int)pid);
		return;
	}
	close(me.data);
	close(me.control);
	if (strchr(flags, 's') != NULL)
		setsid();
	if (strchr(flags, 't') != NULL)
		signal(SIGTERM, SIG_IGN);
	if (strchr(flags, 'k') == NULL) {
		close(STDIN_FILENO);
		close(STDOUT_FILENO);
	}
	sleep(600);
	_exit(0);
}

static void
watch(int sig)
{
	sigaddset(&me.watched, sig);
	sigprocmask(SIG_BLOCK, &me.watched, NULL);
	me.signals = signalfd(me.signals, &me.watched, SFD_CLOEXEC);
}

static int
word(const char *line, const char *name, const char **arg)
{
	size_t n = strlen(name);

	if (strncmp(line, name, n) != 0 || (line[n] != '\0' && line[n] != ' '))
		return 0;
	*arg = line[n] == ' ' ? line + n + 1 : "";
	return 1;
}

static void
obey(const char *line)
{
	const char *arg;

	if (word(line, "linger", &arg)) {
		me.linger = 1;
	} else if (word(line, "ignore", &arg)) {
		signal(atoi(arg), SIG_IGN);
	} else if (word(line, "watch", &arg)) {
		watch(atoi(arg));
	} else if (word(line, "pause", &arg)) {
		me.paused = 1;
	} else if (word(line, "resume", &arg)) {
		me.paused = 0;
	} else if (word(line, "stderr", &arg)) {
		me.stderr_left = strtoul(arg, NULL, 10);
		me.stderr_busy = 1;
	} else if (word(line, "spawn", &arg)) {
		spawn(arg);
		return;
	} else if (word(line, "closein", &arg)) {
		close(STDIN_FILENO);
		me.in_closed = 1;
	} else if (word(line, "close", &arg) || word(line, "exit", &arg) ||
		   word(line, "raise", &arg)) {
		me.action = line[0];
		me.action_arg = atoi(arg);
	} else {
		say("what?\n");
		return;
	}
	say("ok\n");
}

static void
read_orders(void)
{
	ssize_t n = read(me.control, me.order + me.order_len,
			 sizeof(me.order) - me.order_len - 1);
	char *nl;

	if (n <= 0)
		_exit(CONTROL_GONE);
	me.order_len += (size_t)n;
	while ((nl = memchr(me.order, '\n', me.order_len)) != NULL) {
		*nl = '\0';
		obey(me.order);
		me.order_len -= (size_t)(nl + 1 - me.order);
		memmove(me.order, nl + 1, me.order_len);
	}
	if (me.order_len == sizeof(me.order) - 1)
		_exit(CONTROL_GONE);
}

static void
act_when_drained(void)
{
	int waiting = 0;

	if (me.action == '\0' || me.out.len > 0)
		return;
	if (!me.data_eof && ioctl(me.data, FIONREAD, &waiting) == 0 &&
	    waiting > 0)
		return;
	if (me.action == 'e')
		_exit(me.action_arg);
	if (me.action == 'r') {
		signal(me.action_arg, SIG_DFL);
		kill(getpid(), me.action_arg);
		pause();
	}
	close(STDOUT_FILENO);
	me.out_closed = 1;
	me.action = '\0';
}

static void
end_of_input(void)
{
	if (!me.linger)
		_exit(0);
	me.in_closed = 1;
	say("eof\n");
}

static void
fill(int fd, struct pending *p, int *ended)
{
	ssize_t n = read(fd, p->data, sizeof(p->data));

	if (n > 0) {
		p->off = 0;
		p->len = (size_t)n;
	} else if (n == 0 || errno != EINTR) {
		*ended = 1;
	}
}

static void
drain(int fd, struct pending *p, int is_socket)
{
	size_t want = is_socket ? p->len : (p->len < CHUNK ? p->len : CHUNK);
	ssize_t n;

	if (is_socket)
		n = send(fd, p->data + p->off, want,
			 MSG_DONTWAIT | MSG_NOSIGNAL);
	else
		n = write(fd, p->data + p->off, want);
	if (n > 0) {
		p->off += (size_t)n;
		p->len -= (size_t)n;
	} else if (n == -1 && errno != EAGAIN && errno != EINTR) {
		p->len = 0; /* nobody is left to read it */
	}
}

static void
complain(void)
{
	static char noise[CHUNK];
	size_t want = me.stderr_left < CHUNK ? me.stderr_left : CHUNK;
	ssize_t n;

	memset(noise, 'w', sizeof(noise));
	n = write(STDERR_FILENO, noise, want);
	if (n > 0)
		me.stderr_left -= (size_t)n;
	if (me.stderr_left == 0 && me.stderr_busy) {
		me.stderr_busy = 0;
		say("stderr done\n");
	}
}

static void
report_signal(void)
{
	struct signalfd_siginfo si;

	if (read(me.signals, &si, sizeof(si)) == (ssize_t)sizeof(si))
		say("signal %u\n", si.ssi_signo);
}

static void
turn(int out_is_socket)
{
	enum { IN, OUT, ERR, DATA, CONTROL, SIGNALS, N };
	struct pollfd p[N];
	int ended = 0;
	size_t i;

	for (i = 0; i < N; i++)
		p[i] = (struct pollfd){-1, 0, 0};
	if (!me.in_closed && !me.paused && me.in.len == 0)
		p[IN] = (struct pollfd){STDIN_FILENO, POLLIN, 0};
	if (!me.out_closed && me.out.len > 0)
		p[OUT] = (struct pollfd){STDOUT_FILENO, POLLOUT, 0};
	if (me.stderr_busy)
		p[ERR] = (struct pollfd){STDERR_FILENO, POLLOUT, 0};
	if (me.out.len == 0 && !me.data_eof)
		p[DATA] = (struct pollfd){me.data, POLLIN, 0};
	if (me.in.len > 0) {
		p[DATA].fd = me.data;
		p[DATA].events |= POLLOUT;
	}
	p[CONTROL] = (struct pollfd){me.control, POLLIN, 0};
	p[SIGNALS] = (struct pollfd){me.signals, POLLIN, 0};
	act_when_drained();
	if (poll(p, N, me.action != '\0' ? 5 : -1) == -1)
		return;
	if (p[CONTROL].revents != 0)
		read_orders();
	if (p[SIGNALS].revents != 0)
		report_signal();
	if (p[IN].revents != 0 && !me.in_closed && !me.paused) {
		fill(STDIN_FILENO, &me.in, &ended);
		if (ended)
			end_of_input();
	}
	if ((p[DATA].revents & (POLLIN | POLLHUP)) != 0 && me.out.len == 0)
		fill(me.data, &me.out, &me.data_eof);
	if ((p[DATA].revents & POLLOUT) != 0)
		drain(me.data, &me.in, 1);
	if (p[OUT].revents != 0)
		drain(STDOUT_FILENO, &me.out, out_is_socket);
	if (p[ERR].revents != 0)
		complain();
}

int
main(int argc, char **argv)
{
	char fds[4096];
	int type, out_is_socket;
	socklen_t len = sizeof(type);

	if (argc < 2)
		return CONTROL_GONE;
	list_fds(fds, sizeof(fds));
	out_is_socket =
	    getsockopt(STDOUT_FILENO, SOL_SOCKET, SO_TYPE, &type, &len) == 0;
	me.signals = -1;
	sigemptyset(&me.watched);
	me.data = dial(argv[1]);
	me.control = dial(argv[1]);
	say("pid %d fds%s\n", (int)getpid(), fds);
	for (;;)
		turn(out_is_socket);
}
