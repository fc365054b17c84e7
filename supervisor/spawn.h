/*
 * Starting the server and the relays.
 */
#ifndef DW_SPAWN_H
#define DW_SPAWN_H

#include <signal.h>
#include <sys/types.h>

/* How things were when the client started us; the server gets them back. */
struct inherited {
	sigset_t mask;
	struct sigaction pipe, xfsz, chld;
	int no_stdout; /* it was closed */
	int *fds;      /* descriptors over 2 that came with us, -1 at the end */
};

/*
 * To be called first: /dev/null into whichever of 0, 1, 2 is closed, notes
 * what was inherited, ignores SIGPIPE and SIGXFSZ, and
 * sees to it that children leave a status.
 */
void spawn_inherit(struct inherited *in);

/* Closes the descriptors that only the server was to inherit. */
void spawn_close_inherited(struct inherited *in);

struct server {
	pid_t pid;
	int in_fd;  /* write end of its stdin */
	int out_fd; /* read end of its stdout */
};

/*
 * Starts argv[0] by PATH with pipes for stdin and stdout, in a session of
 * its own, with parent-death signal, and otherwise as the client would have.
 * Returns 0, or an errno value if it could not be executed (child reaped).
 */
int spawn_server(struct server *s, char *const *argv,
		 const struct inherited *in);

/*
 * Starts a relay program for "client" or "server" on stream_fd.  Returns the
 * monitor's end of the socketpair, or -1 with errno.
 */
int spawn_relay(const char *program, const char *role, int stream_fd,
		pid_t *pid);

#endif
