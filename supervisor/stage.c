/*
 * Between judgement and the outside: what a batch of messages leads to waits
 * here until its audit lines are in the file (promise P4).  The monitor's
 * own; nothing in it came unjudged.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"
#include "proto/limits.h"
#include "proto/log.h"

#include "answer.h"
#include "audit.h"
#include "calls.h"
#include "jsonw.h"
#include "message.h"
#include "monitor.h"
#include "requests.h"

#define KEEP (256u * 1024)

static struct staged *
next(struct monitor *m)
{
	if (m->staged_count == m->staged_room) {
		m->staged_room = m->staged_room ? m->staged_room * 2 : 64;
		m->staged = xreallocarray(m->staged, m->staged_room,
					  sizeof(*m->staged));
	}
	memset(&m->staged[m->staged_count], 0, sizeof(*m->staged));
	return &m->staged[m->staged_count++];
}

void
stage_forward(struct monitor *m, const struct message *msg, int audited,
	      struct request *r, uint64_t *counted)
{
	struct staged *s = next(m);
	size_t before = buf_used(&m->stage_text);

	jsonw_tree(&m->stage_text, msg->root);
	buf_putc(&m->stage_text, '\n');
	s->to = STAGED_SERVER;
	s->audited = audited;
	s->len = buf_used(&m->stage_text) - before;
	s->request = r;
	s->counted = counted;
}

void
stage_own(struct monitor *m, const struct buf *line, struct request *r)
{
	struct staged *s = next(m);

	s->to = STAGED_SERVER;
	s->len = buf_used(line);
	s->request = r;
	buf_put(&m->stage_text, buf_head(line), s->len);
}

void
stage_answer(struct monitor *m, const struct buf *line, int audited)
{
	struct staged *s = next(m);

	s->to = STAGED_CLIENT;
	s->audited = audited;
	s->len = buf_used(line);
	buf_put(&m->stage_text, buf_head(line), s->len);
}

/*
 * An answer of Doorward's own must not cut a server's line in two: while one
 * is on its way, the answer waits.
 */
void
send_client(struct monitor *m, const struct buf *line)
{
	const struct channel *c = &m->channel[SIDE_SERVER];

	if (c->state == RELAY_LINE && c->pass)
		buf_put(&m->late, buf_head(line), buf_used(line));
	else
		out_put(&m->to_client, buf_head(line), buf_used(line));
}

static void
send_raw(struct monitor *m, const char *p, size_t n)
{
	struct buf b = {(char *)(uintptr_t)p, 0, n, n};

	send_client(m, &b);
}

/* The audit could not take its line: the call is denied after all. */
static void
deny_unaudited(struct monitor *m, struct staged *s)
{
	struct buf line = BUF_INIT;

	/* A cancellation that falls with its call had no verdict. */
	if (s->counted != NULL) {
		(*s->counted)--;
		m->count.denied++;
	}
	if (s->request == NULL)
		return;
	if (!s->request->cancelled) {
		answer_unaudited(&line, s->request, audit_error(m->audit));
		send_client(m, &line);
		buf_free(&line);
	}
	requests_remove(m->at_server, s->request, 0);
}

static void
forward(struct monitor *m, struct staged *s, const char *p)
{
	out_put(&m->to_server, p, s->len);
	if (s->request != NULL)
		s->request->sent = 1;
}

static void
release(struct monitor *m, int written)
{
	const char *p = buf_head(&m->stage_text);
	struct staged *s;
	size_t i;

	for (i = 0; i < m->staged_count; i++) {
		s = &m->staged[i];
		if (s->to == STAGED_CLIENT)
			send_raw(m, p, s->len);
		else if (!s->audited || written || monitor_observes(m))
			forward(m, s, p);
		else
			deny_unaudited(m, s);
		p += s->len;
	}
	m->staged_count = 0;
	buf_reset(&m->stage_text, KEEP);
	m->commit_since = 0;
	if (m->started && m->channel[SIDE_SERVER].hold)
		server_release(m, written);
}

static void
tell(struct monitor *m, int failed)
{
	if (failed && !m->audit_failing)
		warnf("the audit cannot be written (%s): %s",
		      audit_error(m->audit),
		      monitor_observes(m)
			  ? "observing, calls go on without evidence"
			  : "calls are denied");
	else if (!failed && m->audit_failing)
		warnf("the audit can be written again; %llu lines were lost",
		      (unsigned long long)audit_lost(m->audit));
	m->audit_failing = failed;
}

int
stage_commit(struct monitor *m)
{
	enum audit_status st = AUDIT_OK;
	int had_lines = audit_queued(m->audit) > 0;
	uint64_t now;

	if (had_lines)
		st = audit_commit(m->audit);
	if (st == AUDIT_BUSY) {
		now = now_ns();
		if (m->commit_since == 0)
			m->commit_since = now;
		if (now - m->commit_since < DW_AUDIT_LOCK_WAIT_MS * 1000000ull)
			return 0;
		audit_drop(m->audit, "another process holds the audit's lock");
		st = AUDIT_FAILED;
	}
	if (had_lines)
		tell(m, st != AUDIT_OK);
	release(m, st == AUDIT_OK);
	return 1;
}

/*
 * Nobody is left to serve: nothing that waits for its audit line is forwarded
 * any more.  A refusal or denial stands, and the client is told of it.
 */
void
stage_abandon(struct monitor *m)
{
	const char *p;
	size_t i;

	call_deny_held(m, "the session ended before the call was judged");
	p = buf_head(&m->stage_text);
	for (i = 0; i < m->staged_count; i++) {
		if (m->staged[i].to == STAGED_CLIENT)
			send_raw(m, p, m->staged[i].len);
		p += m->staged[i].len;
	}
	m->staged_count = 0;
	buf_reset(&m->stage_text, 0);
}
