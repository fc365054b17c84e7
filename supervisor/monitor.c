/*
 * The event loop of the monitor.  One thread, no peer and no lock ever
 * waited for; what cannot be written waits in a buffer, and the side that
 * fills a buffer is not read while it is full.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/limits.h"
#include "proto/log.h"

#include "audit.h"
#include "calls.h"
#include "monitor.h"
#include "policy.h"
#include "requests.h"

#define SPIN_NS 50000u

enum {
	POLL_SIGNAL,
	POLL_RELOAD,
	POLL_CLIENT,
	POLL_SERVER,
	POLL_TO_SERVER,
	POLL_TO_CLIENT,
	POLL_COUNT
};

int
monitor_observes(const struct monitor *m)
{
	if (m->mode_override >= 0)
		return m->mode_override == (int)POLICY_OBSERVE;
	return policy_get_mode(m->policy) == POLICY_OBSERVE;
}

#define LINT_RULES 1000u /* each is compared with each */

size_t
monitor_policy_warnings(struct monitor *m)
{
	size_t i, n;

	if (policy_rule_count(m->policy) <= LINT_RULES)
		policy_lint(m->policy);
	n = policy_warning_count(m->policy);
	for (i = 0; i < n; i++)
		warnf("%s", policy_warning(m->policy, i));
	return n;
}

/* A relay is read only while there is room for what it leads to. */
static int
may_read(const struct monitor *m, const struct channel *c)
{
	size_t waiting;

	if (c->fd == -1 || channel_waits(m, c))
		return 0;
	/* What an ended relay left behind is no more than a socket holds. */
	if (c->state == RELAY_START || (c->ended && m->commit_since == 0))
		return 1;
	waiting = out_pending(&m->to_client) + buf_used(&m->late);
	if (c->side == SIDE_SERVER)
		return waiting < DW_OUT_HIGH;
	return waiting < DW_ANSWERS_HIGH && m->commit_since == 0 &&
	       call_held_bytes(m) < DW_OUT_HIGH &&
	       out_pending(&m->to_server) < DW_OUT_HIGH;
}

static void
fill(struct monitor *m, struct pollfd *p)
{
	struct channel *c;
	size_t i;

	for (i = 0; i < POLL_COUNT; i++)
		p[i] = (struct pollfd){.fd = -1};
	p[POLL_SIGNAL].fd = m->signal_fd;
	p[POLL_SIGNAL].events = POLLIN;
	p[POLL_RELOAD].fd = m->reload_fd;
	p[POLL_RELOAD].events = POLLIN;
	for (i = 0; i < SIDE_MAX; i++) {
		c = &m->channel[i];
		if (!may_read(m, c)) {
			/* That it ends is worth knowing also while what it
			 * said has to wait. */
			c->paused = 1;
			p[POLL_CLIENT + i].fd = c->ended ? -1 : c->fd;
			continue;
		}
		if (c->paused)
			c->partial_since = now_ns();
		c->paused = 0;
		p[POLL_CLIENT + i].fd = c->fd;
		p[POLL_CLIENT + i].events = POLLIN;
	}
	if (m->to_server.fd != -1 && !m->to_server.dead) {
		p[POLL_TO_SERVER].fd = m->to_server.fd;
		p[POLL_TO_SERVER].events =
		    out_pending(&m->to_server) > 0 ? POLLOUT : 0;
	}
	if (m->to_client.fd != -1 && !m->to_client.dead) {
		p[POLL_TO_CLIENT].fd = m->to_client.fd;
		p[POLL_TO_CLIENT].events =
		    out_pending(&m->to_client) > 0 ? POLLOUT : 0;
	}
}

static void
read_relay(struct monitor *m, enum relay_side side, const struct pollfd *p)
{
	struct channel *c = &m->channel[side];

	if (p->revents == 0 || c->fd == -1)
		return;
	if (c->paused) {
		c->ended = (p->revents & POLLHUP) != 0;
		return;
	}
	if (channel_read(m, c) == -1)
		life_breach(m, side);
}

/*
 * Frames that came behind a held one are in the buffer already, so no
 * readiness will tell of them.
 */
static void
resume(struct monitor *m, enum relay_side side)
{
	struct channel *c = &m->channel[side];

	if (channel_waits(m, c) || m->breached || buf_used(&c->in) == 0)
		return;
	if (channel_process(m, c) == -1)
		life_breach(m, side);
}

/* Or never will: it was closed before, and the session ends as it began. */
static int
has_reported(const struct channel *c)
{
	return c->state != RELAY_START || c->fd == -1;
}

/* The session's own line comes before any other, also where it ends early. */
void
monitor_start(struct monitor *m)
{
	if (m->started)
		return;
	m->started = 1;
	event_session_start(m, m->command);
}

/* What came behind the HELLOs has waited until both relays had reported. */
static void
start(struct monitor *m)
{
	if (m->started || m->breached ||
	    !has_reported(&m->channel[SIDE_CLIENT]) ||
	    !has_reported(&m->channel[SIDE_SERVER]))
		return;
	monitor_start(m);
	resume(m, SIDE_SERVER);
	resume(m, SIDE_CLIENT);
}

static void
flush_outputs(struct monitor *m)
{
	if (out_flush(&m->to_client) == -1 && m->to_client.fd != -1)
		life_client_gone(m);
	if (m->to_server.fd != -1 && out_flush(&m->to_server) == -1)
		life_end(m, "the server closed its input");
}

static void
look_for_hangups(struct monitor *m, const struct pollfd *p)
{
	const short gone = POLLERR | POLLHUP | POLLNVAL;

	if (p[POLL_TO_CLIENT].revents & gone)
		m->to_client.dead = 1;
	if (p[POLL_TO_SERVER].revents & gone)
		m->to_server.dead = 1;
}

static void
commit(struct monitor *m)
{
	int had = audit_queued(m->audit) > 0;

	audit_sync_each(m->audit, policy_get_sync(m->policy) == SYNC_ALWAYS);
	if (!stage_commit(m) || !had)
		return;
	if (m->sync_since == 0 && policy_get_sync(m->policy) == SYNC_INTERVAL)
		m->sync_since = now_ns();
}

static void
sync_if_due(struct monitor *m, uint64_t now)
{
	if (m->sync_since == 0 || now < m->sync_since + 1000000000ull)
		return;
	if (audit_sync(m->audit) == -1)
		warnf("%s", audit_error(m->audit));
	m->sync_since = 0;
}

static void
turn(struct monitor *m, struct pollfd *p)
{
	uint64_t now;

	if (p[POLL_SIGNAL].revents)
		life_signals(m);
	look_for_hangups(m, p);
	read_relay(m, SIDE_SERVER, &p[POLL_SERVER]);
	/* Answers leave before the audit is written: they need no line. */
	if (out_flush(&m->to_client) == -1 && m->to_client.fd != -1)
		life_client_gone(m);
	read_relay(m, SIDE_CLIENT, &p[POLL_CLIENT]);
	start(m);
	if (p[POLL_RELOAD].revents)
		reload_ready(m);
	commit(m);
	resume(m, SIDE_SERVER);
	resume(m, SIDE_CLIENT);
	flush_outputs(m);
	now = now_ns();
	life_tick(m, now);
	sync_if_due(m, now);
}

static void
last_lines(struct monitor *m)
{
	uint64_t until = now_ns() + DW_AUDIT_LOCK_WAIT_MS * 1000000ull;

	monitor_start(m);
	event_session_end(m, life_status(m));
	while (!stage_commit(m) && now_ns() < until)
		poll(NULL, 0, 2);
	if (audit_sync(m->audit) == -1)
		warnf("%s", audit_error(m->audit));
}

/* The relays ended with their sockets; if not, they are made to. */
static void
end_relays(struct monitor *m)
{
	size_t i;

	for (i = 0; i < SIDE_MAX; i++) {
		channel_close(&m->channel[i]);
		if (m->channel[i].pid > 0) {
			kill(m->channel[i].pid, SIGKILL);
			waitpid(m->channel[i].pid, NULL, 0);
		}
	}
}

/*
 * Waking a process on an idle processor costs more than judging a call, so
 * after something has happened the monitor looks for what follows for a
 * moment before it sleeps.  Not on a machine with one processor, where it
 * would only keep the peer from answering.
 */
static int
wait_for_events(struct monitor *m, struct pollfd *p, int *awake)
{
	uint64_t until = now_ns() + SPIN_NS;
	int n = 0, timeout = life_timeout(m, now_ns());

	if (*awake && m->processors > 1 && timeout != 0)
		do
			n = poll(p, POLL_COUNT, 0);
		while (n == 0 && now_ns() < until);
	if (n == 0)
		n = poll(p, POLL_COUNT, timeout);
	*awake = n > 0;
	return n;
}

int
monitor_run(struct monitor *m)
{
	struct pollfd p[POLL_COUNT];
	int awake = 0;

	while (!life_finished(m, now_ns())) {
		fill(m, p);
		if (wait_for_events(m, p, &awake) < 0) {
			if (errno != EINTR && errno != EAGAIN)
				fatal("cannot wait for events: %s",
				      strerror(errno));
			continue;
		}
		turn(m, p);
	}
	last_lines(m);
	out_flush(&m->to_client);
	end_relays(m);
	reload_teardown(m);
	return life_status(m);
}
