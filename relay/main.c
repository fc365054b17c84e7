/*
 * doorward-relay: one direction's parser.  Started by the monitor with the
 * descriptors of proto/fdmap.h and the privilege doorward has, which it
 * gives up before it reads; from then on it holds a stream that a stranger
 * writes to and a socket to the monitor, and nothing else.
 *
 *	doorward-relay client|server [--debug]
 */
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/buf.h"
#include "proto/fdmap.h"
#include "proto/limits.h"
#include "proto/log.h"

#include "confine.h"
#include "emit.h"
#include "envelope.h"
#include "lines.h"
#include "salvage.h"
#include "scan.h"
#include "send.h"

#define LARGE_LINE (1024u * 1024)

static int from_server;
static struct lines lines;
static struct scan scan;
static struct reading reading;
static struct salvage salvage;

#ifdef DOORWARD_SANITIZE
/* A leak check would want to stop the process and look at it. */
const char *__asan_default_options(void);
const char *
__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

static void
refuse(enum refusal why, size_t offset, struct scalar id, const char *p,
       size_t n)
{
	struct refuse r;

	debugf("refused: %s at byte %zu", refusal_word(why), offset);
	memset(&r, 0, sizeof(r));
	r.reason = (uint16_t)why;
	r.offset = offset;
	r.id = id;
	/* A client's line holds what its user would not want in a log. */
	if (from_server)
		r.sample_len =
		    (uint16_t)(n < DW_SAMPLE_MAX ? n : DW_SAMPLE_MAX);
	r.sample = p;
	mon_refuse(&r);
}

static void
refuse_line(enum refusal why, size_t offset, const char *p, size_t n)
{
	salvage_init(&salvage);
	salvage_feed(&salvage, p, n);
	refuse(why, offset, salvage_id(&salvage), p, n);
}

/*
 * A list of tools, and what a server says of itself, also travel as a tree,
 * for the monitor to look into.  What a tree cannot express, or what two
 * readers would read in two ways, is left out: a single tool becomes null,
 * anything else leaves the whole unreadable.
 */
static void
send_told(const char *p, size_t n)
{
	if (scan_line(&scan, p, n, SCAN_WHOLE) != REFUSAL_NONE ||
	    scan.outer_fault) {
		reading.e.flags |= ENVELOPE_UNREADABLE;
		return;
	}
	mon_tree_begin(TREE_OF_RESULT);
	emit_tree_tools(p, n, scan.tool, reading.tools ? scan.tools : 0,
			mon_tree_put, NULL);
	mon_tree_end();
	reading.e.flags |= ENVELOPE_RESULT;
}

/*
 * Between tokens a carriage return is white space to JSON, and the end of a
 * line to clients that read lines as Java and .NET do: what stands behind it
 * would be a message of its own, which nobody has looked at.
 */
static void
blank_returns(char *p, size_t n)
{
	char *end = p + n;

	while ((p = memchr(p, '\r', (size_t)(end - p))) != NULL)
		*p++ = ' ';
}

static void
take_line(char *p, size_t n)
{
	enum refusal why;
	size_t offset;

	mon_message();
	why = scan_line(&scan, p, n, from_server ? SCAN_SERVER : SCAN_CLIENT);
	offset = scan.fault;
	if (why == REFUSAL_NONE) {
		why = envelope_read(&scan, from_server, &reading);
		offset = reading.offset;
	}
	if (why != REFUSAL_NONE) {
		refuse_line(why, offset, p, n);
	} else if (!from_server) {
		mon_tree_begin(TREE_OF_CLIENT);
		emit_tree(p, n, mon_tree_put, NULL);
		mon_tree_end();
	} else {
		if (reading.told)
			send_told(p, n);
		blank_returns(p, n);
		reading.e.line_len = (uint32_t)n;
		mon_line(&reading.e, p);
	}
	if (n > LARGE_LINE)
		scan_trim(&scan);
}

static void
take_event(enum line_event event, const struct line *line)
{
	switch (event) {
	case LINE_READY:
		take_line(line->p, line->len);
		break;
	case LINE_TOO_LONG:
		mon_message();
		refuse(REFUSAL_TOO_LONG, DW_MESSAGE_MAX,
		       salvage_id(&lines.salvage), line->p, line->len);
		break;
	case LINE_INCOMPLETE:
		mon_message();
		refuse_line(REFUSAL_INCOMPLETE, line->len, line->p, line->len);
		break;
	case LINE_NONE:
		break;
	}
}

/* 1 if there is something to read, or an end to find. */
static int
wait_readable(void)
{
	struct pollfd pfd[2] = {{DW_FD_STREAM, POLLIN, 0},
				{DW_FD_MONITOR, POLLRDHUP, 0}};

	while (poll(pfd, 2, -1) < 0)
		if (errno != EINTR && errno != EAGAIN)
			fatal("poll: %s", strerror(errno));
	if (pfd[1].revents != 0)
		_exit(0);
	return pfd[0].revents != 0;
}

/*
 * Any error is the end: a terminal whose other end was closed says EIO, a
 * socket ECONNRESET.  Not the want of data on a stream that somebody else
 * made non-blocking.
 */
static int
at_end(ssize_t n)
{
	return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
}

static void
run(void)
{
	enum line_event event;
	struct line line;
	int end = 0;

	while (!end) {
		if (!wait_readable())
			continue;
		end = at_end(lines_fill(&lines, DW_FD_STREAM));
		while ((event = lines_next(&lines, &line)) != LINE_NONE)
			take_event(event, &line);
		mon_flush();
	}
	take_event(lines_end(&lines, &line), &line);
	debugf("end of input");
	mon_eoi();
}

/* By hand there is no monitor: say so where a person can read it. */
static _Noreturn void
refuse_by_hand(void)
{
	static const char text[] = "doorward-relay: started by doorward run, "
				   "not by hand\n";

	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(3);
	_exit(2);
}

static void
check_start(int argc, char **argv)
{
	int type = 0;
	socklen_t len = sizeof(type);

	if (getsockopt(DW_FD_MONITOR, SOL_SOCKET, SO_TYPE, &type, &len) != 0 ||
	    type != SOCK_STREAM || argc < 2 || argc > 3)
		refuse_by_hand();
	if (strcmp(argv[1], "server") == 0)
		from_server = 1;
	else if (strcmp(argv[1], "client") != 0)
		refuse_by_hand();
	if (argc == 3) {
		if (strcmp(argv[2], "--debug") != 0)
			refuse_by_hand();
		log_set_debug(1);
	}
}

/*
 * A terminal's or a group's signals are the monitor's to act on.  The relay
 * lives until its stream ends or the monitor does.
 */
static void
ignore_signals(void)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
	size_t i;

	setsid();
	for (i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
}

/*
 * What the C library does only once, it has to do now: the first malloc
 * asks for random bytes.  A fixed threshold keeps large buffers in mappings
 * of their own, which go back to the kernel when they are freed.
 */
static void
settle_libc(void)
{
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
	free(malloc(1));
	lines_init(&lines);
}

static struct confine_limits
limits(void)
{
	struct confine_limits l = {CONFINE_ANY_ABI, 0};
#ifdef DOORWARD_TESTING
	const char *abi = getenv("DOORWARD_TEST_LANDLOCK_ABI");

	if (abi != NULL)
		l.landlock_abi = (int)strtol(abi, NULL, 10);
	l.no_namespaces = getenv("DOORWARD_TEST_NO_NAMESPACES") != NULL;
#endif
	return l;
}

int
main(int argc, char **argv)
{
	struct confine_limits l = limits();
	const char *what = "";
	struct hello hello;

	check_start(argc, argv);
	ignore_signals();
	if (close_range(DW_FD_FIRST_FREE, UINT_MAX, 0) != 0)
		refuse_by_hand();
	mon_open(DW_FD_MONITOR);
	log_set_sink(mon_log_sink);
	settle_libc();
	if (confine_relay(&l, &hello, &what) != 0)
		fatal("cannot confine the relay: %s: %s", what,
		      strerror(errno));
	mon_hello(&hello);
	run();
	_exit(0);
}
