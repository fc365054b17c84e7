/*
 * The client side of the demonstration: pipes, deadlines, reaping.  Runs in
 * `doorward demo` as the user, unconfined, and talks only to the program it
 * started.  It looks for substrings in bounded lines; there is no JSON
 * parser here.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "proto/alloc.h"

#include "demo_agent.h"

#define ANSWER_MS 20000
#define END_MS 15000
#define STOP_MS 6000   /* after a signal of ours */
#define HEAD_BYTES 256 /* of a line, where its id has to be */

volatile int demo_interrupted;

static long long
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* 1 when fd is ready, 0 when the time is up or somebody pressed ^C. */
static int
wait_for(int fd, short events, long long until)
{
	struct pollfd p = {fd, events, 0};
	long long left;
	int n;

	for (;;) {
		left = until - now_ms();
		if (left <= 0 || demo_interrupted)
			return 0;
		n = poll(&p, 1, (int)left);
		if (n > 0)
			return 1;
		if (n < 0 && errno != EINTR)
			return 0;
	}
}

static _Noreturn void
become(char *const argv[], int in, int out, const char *log)
{
	int err = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	signal(SIGPIPE, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	if (err < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		_exit(126);
	/* A process group of its own: ^C is for us to handle, once. */
	setpgid(0, 0);
	execv("/proc/self/exe", argv);
	_exit(127);
}

int
agent_start(struct agent *a, char *const argv[], const char *log)
{
	int down[2] = {-1, -1}, up[2] = {-1, -1};

	memset(a, 0, sizeof(*a));
	a->pid = -1;
	a->to = a->from = -1;
	if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0)
		goto out;
	a->pid = fork();
	if (a->pid == 0)
		become(argv, down[0], up[1], log);
	if (a->pid < 0)
		goto out;
	a->to = down[1];
	a->from = up[0];
	down[1] = up[0] = -1;
	a->buf = xcalloc(AGENT_LINE_MAX, 1);
	fcntl(a->to, F_SETFL, O_NONBLOCK);
	fcntl(a->from, F_SETFL, O_NONBLOCK);
out:
	if (down[0] >= 0)
		close(down[0]);
	if (down[1] >= 0)
		close(down[1]);
	if (up[0] >= 0)
		close(up[0]);
	if (up[1] >= 0)
		close(up[1]);
	return a->pid > 0 ? 0 : -1;
}

int
agent_send(struct agent *a, const char *message)
{
	char *line = xasprintf("%s\n", message);
	size_t n = strlen(line), off = 0;
	long long until = now_ms() + ANSWER_MS;

	while (off < n && wait_for(a->to, POLLOUT, until)) {
		ssize_t w = write(a->to, line + off, n - off);

		if (w > 0)
			off += (size_t)w;
		else if (w < 0 && errno != EINTR && errno != EAGAIN)
			break;
	}
	free(line);
	return off == n ? 0 : -1;
}

/* The next line, or NULL. */
static const char *
next_line(struct agent *a, size_t *len, long long until)
{
	ssize_t n;
	char *nl;

	memmove(a->buf, a->buf + a->used, a->len - a->used);
	a->len -= a->used;
	a->used = 0;
	while ((nl = memchr(a->buf, '\n', a->len)) == NULL) {
		if (a->len == AGENT_LINE_MAX ||
		    !wait_for(a->from, POLLIN, until))
			return NULL;
		n = read(a->from, a->buf + a->len, AGENT_LINE_MAX - a->len);
		if (n > 0)
			a->len += (size_t)n;
		else if (n == 0 || (errno != EINTR && errno != EAGAIN))
			return NULL;
	}
	*len = (size_t)(nl - a->buf);
	a->used = *len + 1;
	return a->buf;
}

const char *
agent_answer(struct agent *a, int id, size_t *len)
{
	long long until = now_ms() + ANSWER_MS;
	char *want = xasprintf("\"id\":%d,", id);
	const char *line;

	do {
		line = next_line(a, len, until);
	} while (line != NULL &&
		 memmem(line, *len < HEAD_BYTES ? *len : HEAD_BYTES, want,
			strlen(want)) == NULL);
	free(want);
	return line;
}

const char *
agent_line(struct agent *a, size_t *len)
{
	return next_line(a, len, now_ms() + ANSWER_MS);
}

int
agent_end(struct agent *a)
{
	long long until = now_ms() + END_MS;
	struct timespec nap = {0, 10 * 1000 * 1000};
	int status = 0, ended = 0, told = 0;

	if (a->to >= 0)
		close(a->to);
	while (a->pid > 0 && !ended && now_ms() < until) {
		if (demo_interrupted && !told) {
			kill(a->pid, SIGTERM);
			until = now_ms() + STOP_MS;
			told = 1;
		}
		ended = waitpid(a->pid, &status, WNOHANG) == a->pid;
		if (!ended)
			nanosleep(&nap, NULL);
	}
	if (a->pid > 0 && !ended) {
		kill(a->pid, SIGKILL);
		while (waitpid(a->pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	if (a->from >= 0)
		close(a->from);
	free(a->buf);
	if (!ended)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
