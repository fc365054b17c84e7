/*
 * Starting and ending what a probe needs.  Runs in a command with the user's
 * privilege; while it lasts the process is a subreaper, so that what the
 * server leaves behind (npx and its node) becomes ours to end.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/alloc.h"
#include "proto/limits.h"
#include "proto/log.h"

#include "clock.h"
#include "paths.h"
#include "probe_child.h"

#define TICK_MS 20

/* Calls fn for each child (the kernel lists those of the only thread); how
 * often it said 1. */
static size_t
each_child(struct probe_child *c, int (*fn)(struct probe_child *, pid_t))
{
	char path[64];
	size_t n = 0;
	long pid;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%ld/children",
		 (long)syscall(SYS_gettid));
	f = fopen(path, "re");
	while (f != NULL && fscanf(f, "%ld", &pid) == 1)
		n += (size_t)fn(c, (pid_t)pid);
	if (f != NULL)
		fclose(f);
	return n;
}

static int
note_other(struct probe_child *c, pid_t pid)
{
	if (c->other_count == PROBE_OTHERS_MAX)
		c->too_many = 1;
	else
		c->others[c->other_count++] = pid;
	return 1;
}

/* ---- the start ---- */

static void
hold_signals(struct probe_child *c)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &c->mask);
	c->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (c->signal_fd == -1)
		fatal("cannot watch for signals");
}

/* As everything was before the start. */
static void
restore(struct probe_child *c)
{
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	sigaction(SIGPIPE, &c->inherited.pipe, NULL);
	sigaction(SIGXFSZ, &c->inherited.xfsz, NULL);
	sigaction(SIGCHLD, &c->inherited.chld, NULL);
	free(c->inherited.fds);
	close(c->signal_fd);
	sigprocmask(SIG_SETMASK, &c->mask, NULL);
}

static char *
cannot_run(const char *program, int err)
{
	const char *path = getenv("PATH");

	if (strchr(program, '/') == NULL)
		return xasprintf("cannot run the server \"%s\": %s (searched "
				 "in PATH: %s)",
				 program, strerror(err),
				 path != NULL ? path : "not set");
	return xasprintf("cannot run the server \"%s\": %s", program,
			 strerror(err));
}

static char *
relay_program(void)
{
#ifdef DOORWARD_TESTING
	if (getenv("DOORWARD_TEST_RELAY") != NULL)
		return xstrdup(getenv("DOORWARD_TEST_RELAY"));
#endif
	return paths_program("doorward-relay");
}

static int
start_relay(struct probe_child *c, int stream, char **why)
{
	char *program = relay_program();

	if (program == NULL || access(program, X_OK) == -1) {
		*why = xasprintf("cannot run %s: %s",
				 program != NULL ? program : "doorward-relay",
				 program != NULL ? strerror(errno)
						 : "/proc is not there");
		free(program);
		return -1;
	}
	c->relay_fd = spawn_relay(program, "server", stream, &c->relay_pid);
	if (c->relay_fd == -1)
		*why =
		    xasprintf("cannot start %s: %s", program, strerror(errno));
	free(program);
	return c->relay_fd == -1 ? -1 : 0;
}

int
probe_child_start(struct probe_child *c, char *const *argv, char **why)
{
	struct server s;
	int err, r;

	memset(c, 0, sizeof(*c));
	c->relay_fd = -1;
	spawn_inherit(&c->inherited);
	each_child(c, note_other);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	hold_signals(c);
	err = spawn_server(&s, argv, &c->inherited);
	if (err != 0) {
		*why = cannot_run(argv[0], err);
		restore(c);
		return -1;
	}
	c->server_pid = s.pid;
	out_init_own(&c->to_server, s.in_fd);
	r = start_relay(c, s.out_fd, why);
	close(s.out_fd);
	if (r == -1)
		probe_child_end(c);
	return r;
}

/* ---- the end ---- */

static int
is_known(const struct probe_child *c, pid_t pid)
{
	size_t i;

	if (c->too_many || pid == c->relay_pid || pid == c->server_pid)
		return 1;
	for (i = 0; i < c->other_count; i++)
		if (c->others[i] == pid)
			return 1;
	return 0;
}

/* Its last words are taken and dropped, so that it can say them and end. */
static void
drain(struct probe_child *c, int ms)
{
	struct pollfd p = {c->relay_fd, POLLIN, 0};
	char waste[4096];

	if (poll(&p, 1, ms) != 1)
		return;
	if (recv(c->relay_fd, waste, sizeof(waste), MSG_DONTWAIT) == 0) {
		close(c->relay_fd);
		c->relay_fd = -1;
	}
}

/* Not reaped: as long as it is there its group's number is nobody else's. */
static int
has_ended(const struct probe_child *c)
{
	siginfo_t si = {0};

	return waitid(P_PID, (id_t)c->server_pid, &si,
		      WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       si.si_pid == c->server_pid;
}

static void
end_server(struct probe_child *c)
{
	static const int steps[] = {0, SIGTERM, SIGKILL};
	uint64_t until;
	size_t i;

	out_close(&c->to_server);
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (steps[i] != 0)
			kill(-c->server_pid, steps[i]);
		until = now_ns() + DW_SHUTDOWN_STEP_MS * 1000000ull;
		while (!has_ended(c) && now_ns() < until)
			drain(c, TICK_MS);
		if (has_ended(c))
			break;
	}
	kill(-c->server_pid, SIGKILL);
	if (has_ended(c))
		waitpid(c->server_pid, NULL, 0);
	else
		warnf("the server cannot be ended");
}

static int
kill_orphan(struct probe_child *c, pid_t pid)
{
	if (is_known(c, pid))
		return 0;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, WNOHANG);
	return 1;
}

/* Each death may hand us the next generation. */
static void
end_orphans(struct probe_child *c)
{
	uint64_t until = now_ns() + DW_SHUTDOWN_STEP_MS * 1000000ull;

	while (each_child(c, kill_orphan) > 0 && now_ns() < until)
		poll(NULL, 0, TICK_MS);
}

void
probe_child_end(struct probe_child *c)
{
	end_server(c);
	if (c->relay_fd != -1)
		close(c->relay_fd);
	if (c->relay_pid > 0) {
		kill(c->relay_pid, SIGKILL);
		waitpid(c->relay_pid, NULL, 0);
	}
	end_orphans(c);
	restore(c);
}
