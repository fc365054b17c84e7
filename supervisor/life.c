/*
 * The life cycle: signals, children, and the steps of an ending.  Runs in
 * the monitor.  Every path ends with no process of ours left behind and an
 * answer for everything that was open.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/alloc.h"
#include "proto/limits.h"
#include "proto/log.h"

#include "answer.h"
#include "audit.h"
#include "calls.h"
#include "cmds.h"
#include "monitor.h"
#include "requests.h"
#include "table.h"
#include "toolset.h"

#define STEP_NS (DW_SHUTDOWN_STEP_MS * 1000000ull)
#define DRAIN_NS (DW_DRAIN_MS * 1000000ull)
#define REAP_WAIT_NS 200000000ull /* from a relay's EOF to its status */
#define CHILDREN_MAX 4096         /* bytes of their list that are read */

/* A step may begin after the turn's clock was read: that is no time at all. */
static uint64_t
since(uint64_t now, uint64_t then)
{
	return now > then ? now - then : 0;
}

/* Children of ours that are not the server's. */
static int
is_not_server(const struct monitor *m, pid_t pid)
{
	size_t i;

	for (i = 0; i < m->other_count; i++)
		if (m->others[i] == pid)
			return 1;
	return pid == m->channel[SIDE_CLIENT].pid ||
	       pid == m->channel[SIDE_SERVER].pid;
}

/*
 * Calls fn for each child that is not a relay; returns how many.  The kernel
 * puts a blank after each: without one the last number was cut short, and is
 * somebody else's.  Who calls again finds those that did not fit.
 */
static size_t
each_child(struct monitor *m, void (*fn)(struct monitor *, pid_t, int), int arg)
{
	char text[CHILDREN_MAX], *p, *end;
	size_t n = 0;
	ssize_t len;
	long pid;

	if (m->children_fd == -1 || lseek(m->children_fd, 0, SEEK_SET) != 0)
		return 0;
	len = read(m->children_fd, text, sizeof(text) - 1);
	if (len <= 0)
		return 0;
	text[len] = '\0';
	for (p = text; (pid = strtol(p, &end, 10)) > 0 && *end == ' ';
	     p = end) {
		if (is_not_server(m, (pid_t)pid) || pid == m->server_pid)
			continue;
		fn(m, (pid_t)pid, arg);
		n++;
	}
	return n;
}

static void
note_other(struct monitor *m, pid_t pid, int arg)
{
	(void)arg;
	if (m->other_count < sizeof(m->others) / sizeof(m->others[0]))
		m->others[m->other_count++] = pid;
}

/*
 * Before anything is started: these are our caller's, not the server's.  If
 * they are too many to remember, no orphan is looked for: rather one of the
 * server's is left than one of theirs killed.
 */
void
life_note_children(struct monitor *m)
{
	const size_t most = sizeof(m->others) / sizeof(m->others[0]);

	if (each_child(m, note_other, 0) <= most)
		return;
	warnf("too many child processes came with us: what the server leaves "
	      "behind will not be ended");
	close(m->children_fd);
	m->children_fd = -1;
}

static void
signal_one(struct monitor *m, pid_t pid, int sig)
{
	(void)m;
	if (sig != 0)
		kill(pid, sig);
}

/*
 * Sends sig to whatever is left of the server: its process group, and what
 * was orphaned to us (we are the subreaper).  Returns how many there are.
 */
static size_t
signal_server(struct monitor *m, int sig)
{
	size_t n = 0;

	if (m->server_pid != 0) {
		if (sig != 0)
			kill(-m->server_pid, sig);
		n++;
	}
	return n + each_child(m, signal_one, sig);
}

static void
forget_other(struct monitor *m, pid_t pid)
{
	size_t i;

	for (i = 0; i < m->other_count; i++)
		if (m->others[i] == pid)
			m->others[i] = m->others[--m->other_count];
}

static void
reap(struct monitor *m)
{
	int status;
	pid_t pid;
	size_t i;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		forget_other(m, pid);
		for (i = 0; i < SIDE_MAX; i++) {
			if (m->channel[i].pid == pid) {
				m->channel[i].pid = 0;
				m->channel[i].status = status;
				m->channel[i].dead_since = now_ns();
			}
		}
		if (pid == m->server_pid) {
			m->server_pid = 0;
			m->server_gone = 1;
			m->server_gone_since = now_ns();
			m->server_status = status;
			/* Its group may live on without it. */
			if (m->ending >= END_TERM)
				kill(-pid, SIGKILL);
		}
	}
}

static void
begin(struct monitor *m, enum ending stage)
{
	m->ending = stage;
	m->ending_since = now_ns();
}

void
life_end(struct monitor *m, const char *why)
{
	if (m->ending != END_NOT)
		return;
	debugf("the session ends: %s", why);
	out_close(&m->to_server);
	channel_close(&m->channel[SIDE_CLIENT]);
	begin(m, END_STDIN);
}

/* Nobody reads our answers: nothing more may reach the server (P7). */
void
life_client_gone(struct monitor *m)
{
	stage_abandon(m);
	if (m->ending == END_NOT)
		buf_reset(&m->to_server.buf, 0);
	life_end(m, "nobody is left at the client's stdout");
}

void
life_signals(struct monitor *m)
{
	struct signalfd_siginfo si;

	while (read(m->signal_fd, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		if (si.ssi_signo == SIGCHLD)
			continue;
		debugf("signal %u is passed on to the server",
		       (unsigned)si.ssi_signo);
		stage_abandon(m);
		/* First the signal: at the end of input it might be gone. */
		signal_server(m, (int)si.ssi_signo);
		life_end(m, "a signal");
		if (m->ending < END_TERM)
			begin(m, END_TERM);
	}
	reap(m);
}

static char *
how_it_ended(const struct monitor *m)
{
	if (!m->server_gone)
		return xstrdup("the server closed its output");
	if (WIFSIGNALED(m->server_status))
		return xasprintf("the server was killed by signal %d",
				 WTERMSIG(m->server_status));
	return xasprintf("the server exited with status %d",
			 WEXITSTATUS(m->server_status));
}

/* Everything still open gets an error, under its own id and type. */
static void
answer_all(struct monitor *m, const char *why)
{
	struct request *r;
	struct buf line = BUF_INIT;

	listing_abandon(m);
	while ((r = requests_oldest(m->at_server)) != NULL) {
		if (!r->cancelled && !r->own) {
			answer_error(&line, &r->id, ANSWER_CANNOT_JUDGE, why);
			send_client(m, &line);
			buf_reset(&line, SIZE_MAX);
			if (r->audited)
				event_result(m, r, "none", 0);
		}
		requests_remove(m->at_server, r, 0);
	}
	buf_free(&line);
}

/* A line that will not be finished must not swallow what follows it. */
static void
cut_line(struct monitor *m)
{
	struct channel *c = &m->channel[SIDE_SERVER];

	if (c->state == RELAY_LINE && c->pass && c->line_left < c->line_len)
		out_put(&m->to_client, "\n", 1);
	c->pass = 0;
	out_put(&m->to_client, buf_head(&m->late), buf_used(&m->late));
	buf_reset(&m->late, 0);
}

static void
server_is_done(struct monitor *m)
{
	char *how = how_it_ended(m);
	char *text = xasprintf("[doorward] %s before it answered", how);

	channel_close(&m->channel[SIDE_SERVER]);
	cut_line(m);
	stage_abandon(m);
	answer_all(m, text);
	life_end(m, how);
	if (m->server_gone && m->ending < END_TERM) {
		signal_server(m, SIGTERM);
		begin(m, END_TERM);
	}
	free(text);
	free(how);
}

static void
kill_relay(struct channel *c)
{
	channel_close(c);
	if (c->pid > 0)
		kill(c->pid, SIGKILL);
}

void
life_breach(struct monitor *m, enum relay_side side)
{
	struct channel *c = &m->channel[SIDE_SERVER];

	if (m->breached)
		return;
	m->breached = 1;
	warnf("breach: the relay of the %s broke the protocol: %s",
	      side_name(side), m->breach);
	monitor_start(m);
	event_breach(m, side);
	cut_line(m);
	stage_abandon(m);
	buf_reset(&m->to_server.buf, 0);
	kill_relay(&m->channel[SIDE_CLIENT]);
	kill_relay(c);
	answer_all(m, "[doorward] the session was ended: a relay broke its "
		      "protocol (see the audit)");
	life_end(m, "breach");
}

/*
 * A relay that died, also after its end of input or while somebody else has
 * its socket; or that closed it without a word, and we wait for its status.
 */
static void
check_relay(struct monitor *m, struct channel *c, uint64_t now)
{
	int killed = c->pid == 0 && WIFSIGNALED(c->status);
	int closed_by_us =
	    c->fd == -1 && c->eof_since == 0 && c->state != RELAY_ENDED;

	if (m->breached || closed_by_us || (!killed && c->eof_since == 0))
		return;
	if (c->pid != 0 && since(now, c->eof_since) < REAP_WAIT_NS)
		return;
	/* What it said before is read first. */
	if (killed && c->fd != -1 && since(now, c->dead_since) < REAP_WAIT_NS)
		return;
	if (killed)
		breach(m, "killed by signal %d in state %s",
		       WTERMSIG(c->status), state_name(c->state));
	else
		breach(m, "ended in state %s without end of input",
		       state_name(c->state));
	life_breach(m, c->side);
}

static void
check_slow(struct monitor *m, struct channel *c, uint64_t now)
{
	uint64_t limit =
	    c->state == RELAY_START ? DW_HELLO_TIMEOUT_MS : DW_FRAME_TIMEOUT_MS;

	if (m->breached || c->fd == -1 || !channel_mid_message(c) || c->paused)
		return;
	if (since(now, c->partial_since) < limit * 1000000ull)
		return;
	breach(m, "nothing whole for %llu ms in state %s",
	       (unsigned long long)limit, state_name(c->state));
	life_breach(m, c->side);
}

static void
client_is_done(struct monitor *m, uint64_t now)
{
	struct channel *c = &m->channel[SIDE_CLIENT];

	if (m->ending != END_NOT || c->state != RELAY_ENDED ||
	    m->staged_count > 0 || m->commit_since != 0 || call_held(m) > 0)
		return;
	if (m->client_done_since == 0)
		m->client_done_since = now;
	if (out_pending(&m->to_server) == 0 ||
	    (since(now, m->client_done_since) >= STEP_NS &&
	     since(now, m->to_server.moved) >= STEP_NS))
		life_end(m, "the client's end of input");
}

static void
check_server(struct monitor *m, uint64_t now)
{
	struct channel *c = &m->channel[SIDE_SERVER];

	if (c->fd == -1 && c->state == RELAY_ENDED) {
		if (requests_oldest(m->at_server) != NULL || call_held(m) > 0 ||
		    m->ending == END_NOT)
			server_is_done(m);
		return;
	}
	/*
	 * Somebody else may hold its output open.  While lines still come, or
	 * wait for a slow client, they are read on.
	 */
	if (m->server_gone && c->fd != -1 && !c->paused &&
	    c->state != RELAY_LINE &&
	    since(now, m->server_gone_since) >= DRAIN_NS &&
	    since(now, c->partial_since) >= DRAIN_NS)
		server_is_done(m);
}

static void
escalate(struct monitor *m, uint64_t now)
{
	if (m->ending == END_NOT || since(now, m->ending_since) < STEP_NS)
		return;
	if (m->ending == END_STDIN) {
		signal_server(m, SIGTERM);
		begin(m, END_TERM);
	} else if (m->ending == END_TERM) {
		signal_server(m, SIGKILL);
		begin(m, END_KILL);
	} else if (!m->gave_up &&
		   (!m->server_gone ||
		    since(now, m->to_client.moved) >= 2 * STEP_NS)) {
		/* It became somebody whom we may not signal; or it is gone,
		 * and its last lines are for a client that takes none. */
		m->gave_up = 1;
		if (signal_server(m, 0) > 0)
			warnf("what is left of the server cannot be ended");
		server_is_done(m);
	}
}

void
life_tick(struct monitor *m, uint64_t now)
{
	size_t i;

	for (i = 0; i < SIDE_MAX; i++) {
		check_relay(m, &m->channel[i], now);
		check_slow(m, &m->channel[i], now);
	}
	listing_tick(m, now);
	call_tick(m, now);
	client_is_done(m, now);
	check_server(m, now);
	escalate(m, now);
	/* Each death may orphan the next generation to us. */
	if (m->ending == END_KILL)
		signal_server(m, SIGKILL);
}

static uint64_t
later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void
sooner(int *timeout, uint64_t now, uint64_t at)
{
	uint64_t ms = at > now ? (at - now) / 1000000 + 1 : 0;

	if (*timeout == -1 || ms < (uint64_t)*timeout)
		*timeout = (int)ms;
}

/* Milliseconds until the next deadline; -1 if there is none. */
int
life_timeout(const struct monitor *m, uint64_t now)
{
	const struct channel *c;
	int t = -1;
	size_t i;

	if (m->commit_since != 0)
		sooner(&t, now, now + 2000000);
	else if (m->staged_count > 0 || audit_queued(m->audit) > 0)
		return 0; /* came after this turn's commit */
	if (call_waits_for_lock(m))
		sooner(&t, now, now + 2000000);
	if (listing_deadline(m) != 0)
		sooner(&t, now, listing_deadline(m));
	if (m->finished_since != 0)
		sooner(&t, now, m->finished_since + REAP_WAIT_NS);
	if (m->ending != END_NOT)
		sooner(&t, now,
		       m->ending == END_KILL || m->server_gone
			   ? now + 20000000
			   : m->ending_since + STEP_NS);
	c = &m->channel[SIDE_SERVER];
	if (m->server_gone && c->fd != -1 && c->state != RELAY_LINE)
		sooner(&t, now,
		       later(m->server_gone_since, c->partial_since) +
			   DRAIN_NS);
	if (m->client_done_since != 0 && m->ending == END_NOT)
		sooner(&t, now, m->client_done_since + STEP_NS);
	if (m->sync_since != 0)
		sooner(&t, now, m->sync_since + 1000000000ull);
	for (i = 0; i < SIDE_MAX; i++) {
		c = &m->channel[i];
		if (c->eof_since != 0 && !m->breached)
			sooner(&t, now, c->eof_since + REAP_WAIT_NS);
		if (c->fd != -1 && c->pid == 0 && WIFSIGNALED(c->status))
			sooner(&t, now, c->dead_since + REAP_WAIT_NS);
		if (c->fd != -1 && !c->paused && channel_mid_message(c))
			sooner(&t, now,
			       c->partial_since +
				   DW_FRAME_TIMEOUT_MS * 1000000ull);
	}
	return t;
}

/* It ended without a word; only its status says what that was. */
static int
is_unexplained(const struct monitor *m, const struct channel *c)
{
	return c->eof_since != 0 && !m->breached;
}

/* Relays end with their sockets; a moment later they are made to. */
static int
relays_linger(struct monitor *m, uint64_t now)
{
	if (m->channel[SIDE_CLIENT].pid == 0 &&
	    m->channel[SIDE_SERVER].pid == 0)
		return 0;
	if (m->finished_since == 0)
		m->finished_since = now;
	return since(now, m->finished_since) < REAP_WAIT_NS;
}

int
life_finished(struct monitor *m, uint64_t now)
{
	if (m->ending == END_NOT || (m->server_pid != 0 && !m->gave_up))
		return 0;
	if (m->channel[SIDE_SERVER].fd != -1 ||
	    requests_oldest(m->at_server) != NULL || m->commit_since != 0 ||
	    is_unexplained(m, &m->channel[SIDE_CLIENT]) ||
	    is_unexplained(m, &m->channel[SIDE_SERVER]))
		return 0;
	if (!m->gave_up && signal_server(m, 0) > 0)
		return 0;
	/* A slow client gets its last answers as long as it takes some. */
	if (out_pending(&m->to_client) > 0 && !m->to_client.dead &&
	    (since(now, m->ending_since) < 2 * STEP_NS ||
	     since(now, m->to_client.moved) < 2 * STEP_NS))
		return 0;
	return !relays_linger(m, now);
}

int
life_status(const struct monitor *m)
{
	if (m->breached)
		return EXIT_BREACH;
	if (!m->server_gone)
		return EXIT_FINDING;
	if (WIFSIGNALED(m->server_status))
		return 128 + WTERMSIG(m->server_status);
	return WEXITSTATUS(m->server_status);
}
