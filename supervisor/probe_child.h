/*
 * The processes of a probe: a server, and a confined relay at its output.
 */
#ifndef DW_PROBE_CHILD_H
#define DW_PROBE_CHILD_H

#include <signal.h>
#include <sys/types.h>

#include "out.h"
#include "spawn.h"

#define PROBE_OTHERS_MAX 64 /* children that the process has already */

struct probe_child {
	struct out to_server; /* its stdin */
	int relay_fd;
	int signal_fd; /* readable once we are to end; never to be read */
	pid_t server_pid, relay_pid;

	struct inherited inherited;
	sigset_t mask;
	pid_t others[PROBE_OTHERS_MAX];
	size_t other_count;
	int too_many; /* others that were not noted: no orphan is ended */
};

/*
 * Starts both.  0, or -1 with *why a sentence (caller frees) and nothing left
 * running.  From here to probe_child_end() SIGINT, SIGTERM and SIGHUP wait.
 */
int probe_child_start(struct probe_child *c, char *const *argv, char **why);

/*
 * Ends the server as a session does (end of input, SIGTERM, SIGKILL), with its
 * process group and whatever it left behind, and the relay.  A signal that
 * waited acts when this returns.
 */
void probe_child_end(struct probe_child *c);

#endif
