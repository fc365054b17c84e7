/*
 * fork and execve.  Runs in the monitor before it confines itself, with the
 * user's privilege.  The server must find everything as the client left it
 * (promise P9); a relay must find nothing at all.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/alloc.h"
#include "proto/fdmap.h"
#include "proto/log.h"

#include "spawn.h"

#define SERVER_PIPE_BYTES (256 * 1024)

static void
fill_standard_fds(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
		if (fd == -1)
			fatal("cannot open /dev/null");
	} while (fd <= STDERR_FILENO);
	close(fd);
}

static void
note_fds(struct inherited *in)
{
	size_t n = 0, room = 16;
	struct dirent *e;
	DIR *d = opendir("/proc/self/fd");
	int fd;

	in->fds = xcalloc(room, sizeof(int));
	while (d != NULL && (e = readdir(d)) != NULL) {
		fd = atoi(e->d_name);
		if (fd <= STDERR_FILENO || fd == dirfd(d))
			continue;
		if (n + 1 == room) {
			room *= 2;
			in->fds = xreallocarray(in->fds, room, sizeof(int));
		}
		in->fds[n++] = fd;
	}
	in->fds[n] = -1;
	if (d != NULL)
		closedir(d);
}

void
spawn_inherit(struct inherited *in)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	struct sigaction plain = {.sa_handler = SIG_DFL};

	in->no_stdout = fcntl(STDOUT_FILENO, F_GETFD) == -1;
	fill_standard_fds();
	note_fds(in);
	sigprocmask(SIG_SETMASK, NULL, &in->mask);
	sigaction(SIGPIPE, &ignore, &in->pipe);
	/* A file size limit must be an error to handle, not a death. */
	sigaction(SIGXFSZ, &ignore, &in->xfsz);
	/* Inherited as ignored, it would swallow the children's statuses. */
	sigaction(SIGCHLD, &plain, &in->chld);
}

void
spawn_close_inherited(struct inherited *in)
{
	size_t i;

	for (i = 0; in->fds != NULL && in->fds[i] != -1; i++)
		close(in->fds[i]);
	free(in->fds);
	in->fds = NULL;
}

static void
die_with_parent(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
}

static _Noreturn void
exec_server(char *const *argv, const struct inherited *in, int rfd, int wfd,
	    int report, pid_t parent)
{
	int err;

	die_with_parent(parent);
	setsid();
	dup2(rfd, STDIN_FILENO);
	dup2(wfd, STDOUT_FILENO);
	sigaction(SIGPIPE, &in->pipe, NULL);
	sigaction(SIGXFSZ, &in->xfsz, NULL);
	sigaction(SIGCHLD, &in->chld, NULL);
	sigprocmask(SIG_SETMASK, &in->mask, NULL);
	execvp(argv[0], argv);
	err = errno;
	while (write(report, &err, sizeof(err)) == -1 && errno == EINTR)
		;
	_exit(127);
}

static void
close_two(int fds[2])
{
	close(fds[0]);
	close(fds[1]);
}

int
spawn_server(struct server *s, char *const *argv, const struct inherited *in)
{
	int rd[2], wr[2], report[2], err = 0;
	pid_t parent = getpid();
	ssize_t n;

	if (pipe2(rd, O_CLOEXEC) == -1 || pipe2(wr, O_CLOEXEC) == -1 ||
	    pipe2(report, O_CLOEXEC) == -1)
		fatal("cannot make pipes for the server");
	/* Fewer wake-ups for a large result; no matter where it is refused. */
	(void)fcntl(wr[1], F_SETPIPE_SZ, SERVER_PIPE_BYTES);
	s->pid = fork();
	if (s->pid == -1)
		fatal("cannot fork for the server");
	if (s->pid == 0)
		exec_server(argv, in, rd[0], wr[1], report[1], parent);
	close(rd[0]);
	close(wr[1]);
	close(report[1]);
	while ((n = read(report[0], &err, sizeof(err))) == -1 && errno == EINTR)
		;
	close(report[0]);
	s->in_fd = rd[1];
	s->out_fd = wr[0];
	if (n != (ssize_t)sizeof(err))
		return 0;
	waitpid(s->pid, NULL, 0);
	close_two((int[2]){rd[1], wr[0]});
	return err;
}

static _Noreturn void
exec_relay(const char *program, const char *role, int stream, int sock,
	   pid_t parent)
{
	char *argv[4] = {(char *)(uintptr_t)program, (char *)(uintptr_t)role,
			 NULL, NULL};
	char *empty[1] = {NULL}, **env = empty;
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	sigset_t none;
	int null;

	die_with_parent(parent);
	/* A terminal's signals are the monitor's to act on, from the first
	 * moment: the relay ends when its socket does. */
	setsid();
	sigaction(SIGINT, &ignore, NULL);
	sigaction(SIGTERM, &ignore, NULL);
	sigaction(SIGHUP, &ignore, NULL);
	if (log_debug_on())
		argv[2] = (char *)(uintptr_t) "--debug";
#ifdef DOORWARD_TESTING
	env = environ; /* its test-only switches; not in an installed binary */
#endif
	/* Out of the way of the low numbers first. */
	stream = fcntl(stream, F_DUPFD_CLOEXEC, 10);
	sock = fcntl(sock, F_DUPFD_CLOEXEC, 10);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (stream == -1 || sock == -1 || null == -1 ||
	    dup2(stream, DW_FD_STREAM) == -1 ||
	    dup2(null, DW_FD_NULL_1) == -1 || dup2(null, DW_FD_NULL_2) == -1 ||
	    dup2(sock, DW_FD_MONITOR) == -1 ||
	    close_range(DW_FD_FIRST_FREE, ~0u, 0) == -1)
		_exit(EXIT_FAILURE);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execve(program, argv, env);
	_exit(127);
}

int
spawn_relay(const char *program, const char *role, int stream_fd, pid_t *pid)
{
	pid_t parent = getpid();
	int sv[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) == -1)
		return -1;
	*pid = fork();
	if (*pid == -1) {
		close_two(sv);
		return -1;
	}
	if (*pid == 0)
		exec_relay(program, role, stream_fd, sv[1], parent);
	close(sv[1]);
	return sv[0];
}
