/*
 * What the server says.  Runs in the monitor on envelopes: the line itself
 * is only passed or dropped, never read.  A hostile server is expected, and
 * a fallen relay can do no more than one.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"
#include "proto/limits.h"
#include "proto/log.h"

#include "answer.h"
#include "audit.h"
#include "event.h"
#include "judge.h"
#include "monitor.h"
#include "requests.h"
#include "toolset.h"

#define NOTES_MAX 5u       /* dropped lines told on stderr */
#define DROP_LINES_MAX 32u /* dropped lines with an audit line of their own */

static void
drop(struct monitor *m, const char *why)
{
	m->count.dropped++;
	if (m->notes++ < NOTES_MAX)
		warnf("dropped a message of the server: %s", why);
}

/* What an answer says besides, learned from a relay: the session's state. */
static void
note_initialize(struct monitor *m, const struct request *r,
		const struct envelope *e)
{
	if (strcmp(r->method, "initialize") != 0)
		return;
	if (e->kind == KIND_RESULT)
		m->legacy = LEGACY_OPEN;
	else if (m->legacy == LEGACY_OPENING)
		m->legacy = LEGACY_NONE;
}

static const char *
outcome(const struct envelope *e)
{
	if (e->kind == KIND_ERROR || e->flags & ENVELOPE_IS_ERROR)
		return "error";
	return "ok";
}

/*
 * An answer passes only to a request that is open at the server.  After a
 * cancellation it is late: in a legacy session the client expects that it
 * may come, in 2026-07-28 it must not (MCP "Cancellation").
 */
static int
answer_passes(struct monitor *m, const struct envelope *e)
{
	struct request *r = requests_find(m->at_server, &e->id);
	int pass;

	if (r == NULL || !r->sent) {
		drop(m, "an answer to a request that is not open");
		return 0;
	}
	if (r->own) {
		listing_answer(m, r, e, m->channel[SIDE_SERVER].told);
		return 0;
	}
	pass = !(r->cancelled && r->modern);
	if (!pass)
		m->count.dropped++;
	note_initialize(m, r, e);
	if (pass)
		pass = told_passes(m, r, e, m->channel[SIDE_SERVER].told);
	if (r->audited && !r->cancelled)
		event_result(m, r, outcome(e), e->line_len);
	requests_remove(m->at_server, r, (e->flags & ENVELOPE_TASK) != 0);
	return pass;
}

static void
refuse_server(struct monitor *m, const struct scalar *id, int code,
	      const char *text)
{
	struct buf line = BUF_INIT;

	/* A server that does not read gets no more of these, and they alone
	 * never stop the client's side. */
	if (out_pending(&m->to_server) > DW_OUT_HIGH / 2)
		return;
	answer_error(&line, id, code, text);
	out_put(&m->to_server, buf_head(&line), buf_used(&line));
	buf_free(&line);
}

static int
judge_server(struct monitor *m, struct channel *c, const struct envelope *e,
	     struct verdict *v)
{
	struct subject s = {.from = "server",
			    .id = &e->id,
			    .method = e->method,
			    .method_len = e->method_len};

	judge_method(m->policy, e->method, e->method_len, NULL, NULL, v);
	/* The lists of methods that are always audited are the client's. */
	if (v->contract != NULL && strcmp(v->contract, "default") == 0 &&
	    v->action == ACTION_ALLOW)
		v->audited = 0;
	if (v->audited) {
		event_verdict(m, &s, v, now_ns());
		c->hold = 1;
		if (v->action == ACTION_ALLOW)
			m->count.allowed++;
		else if (monitor_observes(m))
			m->count.observed++;
		else
			m->count.denied++;
	}
	return v->action == ACTION_ALLOW || monitor_observes(m);
}

static int
request_passes(struct monitor *m, struct channel *c, const struct envelope *e)
{
	struct verdict v;
	struct request *r;
	int ping = e->method_len == 4 && memcmp(e->method, "ping", 4) == 0;

	if (m->legacy != LEGACY_OPEN &&
	    !(m->legacy == LEGACY_OPENING && ping)) {
		drop(m, "a request without a session that allows them");
		return 0;
	}
	if (requests_find(m->at_client, &e->id) != NULL) {
		drop(m, "a request under an id that is still open");
		return 0;
	}
	if (requests_open(m->at_client) >= DW_INFLIGHT_MAX) {
		refuse_server(m, &e->id, refusal_code(REFUSAL_TOO_MANY),
			      refusal_text(REFUSAL_TOO_MANY));
		return 0;
	}
	if (!judge_server(m, c, e, &v)) {
		refuse_server(
		    m, &e->id,
		    v.action == ACTION_ASK ? ANSWER_DECLINED : ANSWER_DENIED,
		    "[doorward denied] the policy does not let the server "
		    "ask this (rule methods)");
		verdict_clear(&v);
		return 0;
	}
	verdict_clear(&v);
	r = requests_add(m->at_client, &e->id, &(struct scalar){.p = ""});
	r->start_ns = now_ns();
	r->method = xmemdupz(e->method, e->method_len);
	r->sent = 1;
	c->held = c->hold ? r : NULL;
	return 1;
}

static int
is_method(const struct envelope *e, const char *name)
{
	return e->method_len == strlen(name) &&
	       memcmp(e->method, name, e->method_len) == 0;
}

/*
 * A server may cancel what it asked the client, and in 2026-07-28 end a
 * subscription of the client's.
 */
static int
server_cancels(struct monitor *m, const struct envelope *e)
{
	struct request *r = requests_find(m->at_client, &e->token);

	if (r != NULL) {
		requests_remove(m->at_client, r, 0);
		return 1;
	}
	r = requests_find(m->at_server, &e->token);
	if (r != NULL && r->sent && !r->own &&
	    strcmp(r->method, "subscriptions/listen") == 0) {
		if (r->audited && !r->cancelled)
			event_result(m, r, "none", 0);
		requests_remove(m->at_server, r, 0);
		return 1;
	}
	m->count.dropped++;
	return 0;
}

static int
notification_passes(struct monitor *m, struct channel *c,
		    const struct envelope *e)
{
	struct verdict v;
	int pass;

	/* Also where the policy keeps it from the client. */
	if (is_method(e, "notifications/tools/list_changed"))
		listing_changed(m);
	if (is_method(e, "notifications/progress") &&
	    !requests_token_known(m->at_server, &e->token)) {
		m->count.unknown_tokens++;
		return 0;
	}
	pass = judge_server(m, c, e, &v);
	verdict_clear(&v);
	if (!pass) {
		m->count.dropped++;
		return 0;
	}
	if (is_method(e, "notifications/cancelled"))
		return server_cancels(m, e);
	return 1;
}

void
server_envelope(struct monitor *m, struct channel *c, const struct envelope *e)
{
	m->count.server_messages++;
	switch (e->kind) {
	case KIND_REQUEST:
		c->pass = request_passes(m, c, e);
		break;
	case KIND_NOTIFICATION:
		c->pass = notification_passes(m, c, e);
		break;
	case KIND_RESULT:
	case KIND_ERROR:
	default:
		c->pass = answer_passes(m, e);
		break;
	}
}

/*
 * The audit has, or has not, the line that a message of the server waited
 * for.  Without it the message is dropped.
 */
void
server_release(struct monitor *m, int audited)
{
	struct channel *c = &m->channel[SIDE_SERVER];

	c->hold = 0;
	if (!audited && !monitor_observes(m) && c->pass) {
		c->pass = 0;
		m->count.dropped++;
		if (c->held != NULL) {
			refuse_server(
			    m, &c->held->id, ANSWER_CANNOT_JUDGE,
			    "[doorward denied] the audit cannot be written "
			    "(rule audit)");
			requests_remove(m->at_client, c->held, 0);
		}
	}
	c->held = NULL;
}

static void
answer_in_its_place(struct monitor *m, const struct refuse *r)
{
	struct request *open = requests_find(m->at_server, &r->id);
	struct buf line = BUF_INIT;
	char *text;

	if (open == NULL || !open->sent)
		return;
	if (open->own) {
		listing_lost(m, open);
		return;
	}
	if (open->cancelled)
		return;
	text = xasprintf("[doorward] the server's answer was no valid "
			 "message: %s (byte %llu)",
			 refusal_text((enum refusal)r->reason),
			 (unsigned long long)r->offset);
	answer_error(&line, &r->id, ANSWER_CANNOT_JUDGE, text);
	free(text);
	send_client(m, &line);
	buf_free(&line);
	if (open->audited)
		event_result(m, open, "error", 0);
	requests_remove(m->at_server, open, 0);
}

void
server_refused(struct monitor *m, const struct refuse *r)
{
	m->count.server_messages++;
	m->count.dropped++;
	if (m->drop_lines++ < DROP_LINES_MAX)
		event_refusal(m, "server", (enum refusal)r->reason, &r->id,
			      r->offset);
	if (m->notes++ < NOTES_MAX)
		warnf("dropped a line of the server: %s: %.*s",
		      refusal_text((enum refusal)r->reason), (int)r->sample_len,
		      r->sample);
	answer_in_its_place(m, r);
}
