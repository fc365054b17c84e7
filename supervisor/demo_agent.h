/*
 * The demonstration's agent: an MCP client over pipes that sends what it is
 * told and waits for the answer, never longer than a deadline.
 */
#ifndef DW_DEMO_AGENT_H
#define DW_DEMO_AGENT_H

#include <stddef.h>
#include <sys/types.h>

#define AGENT_LINE_MAX (1u << 20)

struct agent {
	pid_t pid;
	int to, from; /* the program's stdin and stdout */
	char *buf;    /* owned; lines as they come in */
	size_t len, used;
};

/* Set by a signal: every wait ends early.  Owned by the command. */
extern volatile int demo_interrupted;

/*
 * Starts the program with its stderr in the file log.  0, or -1 with errno;
 * the caller calls agent_end() in either case.
 */
int agent_start(struct agent *a, char *const argv[], const char *log);

/* Sends a message and its newline.  0, or -1 if nobody reads in time. */
int agent_send(struct agent *a, const char *message);

/*
 * The answer to the request of this id: a line without its newline (not
 * NUL-terminated), good until the next call.  Whatever else comes is
 * skipped.  NULL at the end of input or when the time is up.
 */
const char *agent_answer(struct agent *a, int id, size_t *len);

/* The next line, whatever it is; else as agent_answer(). */
const char *agent_line(struct agent *a, size_t *len);

/*
 * Closes the program's stdin, waits for its end and reaps it; kills it when
 * the time is up.  Returns its exit status (128+N for a signal), or -1.
 */
int agent_end(struct agent *a);

#endif
