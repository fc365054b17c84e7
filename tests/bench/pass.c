/*
 * The bench's yardstick: a pipe that does nothing.  One process, two
 * threads, stdin to the child's stdin and the child's stdout to stdout.  An
 * ordinary process of the user's.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHUNK (64u << 10)

struct lane {
	int from, to;
};

/* Copies until the end of input, then closes the other side. */
static void *
copy(void *arg)
{
	const struct lane *lane = arg;
	char *buf = malloc(CHUNK);
	ssize_t n, w, off;

	while (buf != NULL) {
		n = read(lane->from, buf, CHUNK);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		for (off = 0; off < n; off += w) {
			w = write(lane->to, buf + off, (size_t)(n - off));
			if (w < 0 && errno == EINTR)
				w = 0;
			else if (w <= 0)
				goto out;
		}
	}
out:
	free(buf);
	close(lane->to);
	return NULL;
}

static pid_t
start(char **argv, int *to, int *from)
{
	int down[2], up[2];
	pid_t pid;

	if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		if (dup2(down[0], 0) < 0 || dup2(up[1], 1) < 0)
			_exit(127);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(down[0]);
	close(up[1]);
	*to = down[1];
	*from = up[0];
	return pid;
}

int
main(int argc, char **argv)
{
	static struct lane down, up;
	pthread_t thread;
	int status;
	pid_t pid;

	if (argc < 2) {
		fprintf(stderr, "usage: pass command [argument ...]\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	pid = start(argv + 1, &down.to, &up.from);
	if (pid < 0) {
		perror("pass");
		return 1;
	}
	down.from = 0;
	up.to = 1;
	if (pthread_create(&thread, NULL, copy, &down) != 0)
		return 1;
	copy(&up);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
