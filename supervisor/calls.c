/*
 * tools/call.  Runs in the monitor on decoded messages.  The first call makes
 * the monitor list the server's tools; what waits for that is bounded by what
 * may be in flight, and by not reading the client while much waits.
 */
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "proto/alloc.h"
#include "proto/log.h"

#include "policy.h"
#include "entry.h"

#include "answer.h"
#include "calls.h"
#include "clock.h"
#include "event.h"
#include "judge.h"
#include "message.h"
#include "monitor.h"
#include "nametab.h"
#include "requests.h"
#include "toolset.h"

struct held {
	struct message msg; /* owned */
	char *tool;
	struct toolset *set;
	uint64_t attempt;    /* 0: not judged yet */
	uint64_t lock_since; /* ns; waits for the pins' lock */
	struct held *next;
};

struct calls {
	struct held *first, **last;
	size_t count, bytes;
	struct nametab *attempts; /* tool name -> uint64_t */
};

struct calls *
calls_new(void)
{
	struct calls *c = xcalloc(1, sizeof(*c));

	c->last = &c->first;
	c->attempts = nametab_new();
	return c;
}

size_t
call_held(const struct monitor *m)
{
	return m->calls->count;
}

size_t
call_held_bytes(const struct monitor *m)
{
	return m->calls->bytes;
}

static int
has_budget(const struct policy_view *view)
{
	const struct entry *e;
	size_t i;

	for (i = 0; i < policy_view_count(view); i++) {
		e = policy_view_entry(view, i);
		if (entry_has(e, KEY_MAX_CALLS) || e->deletes.n > 0)
			return 1;
	}
	return 0;
}

/*
 * Every attempt at a tool with a budget uses a slot, whatever comes of it.
 * Other names are not counted: a client could make up any number of them.
 */
static uint64_t
take_attempt(struct monitor *m, const struct policy_view *view,
	     const char *tool)
{
	size_t len = strlen(tool);
	uint64_t *n;

	if (!has_budget(view))
		return 1;
	n = nametab_get(m->calls->attempts, tool, len);
	if (n == NULL) {
		n = xcalloc(1, sizeof(*n));
		nametab_put(m->calls->attempts, tool, len, n);
	}
	return ++*n;
}

static void
hold(struct monitor *m, struct message *msg, const char *tool,
     struct toolset *s, uint64_t attempt)
{
	struct calls *c = m->calls;
	struct held *h = xcalloc(1, sizeof(*h));

	h->tool = xstrdup(tool);
	h->msg = *msg;
	memset(msg, 0, sizeof(*msg));
	h->set = s;
	h->attempt = attempt;
	c->count++;
	c->bytes += h->msg.bytes;
	*c->last = h;
	c->last = &h->next;
}

static void
unlink_held(struct calls *c, struct held **at)
{
	struct held *h = *at;

	*at = h->next;
	if (c->last == &h->next)
		c->last = at;
	c->count--;
	c->bytes -= h->msg.bytes;
	h->next = NULL;
}

static void
free_held(struct held *h)
{
	message_free(&h->msg);
	free(h->tool);
	free(h);
}

static void
finish(struct monitor *m, const struct message *msg, const char *tool,
       struct verdict *v, uint64_t since, int answer)
{
	struct subject s = {.from = "client",
			    .id = &msg->id,
			    .method = msg->method,
			    .method_len = strlen(msg->method),
			    .tool = tool,
			    .args = message_member(msg->params, "arguments")};
	struct buf line = BUF_INIT;
	uint64_t *n = client_counter(m, v);

	event_verdict(m, &s, v, since);
	if (n != NULL)
		(*n)++;
	if (client_passes(m, v)) {
		client_forward(m, msg, tool, v);
	} else if (answer) {
		answer_verdict(&line, msg, v);
		stage_answer(m, &line, 1);
		buf_free(&line);
	}
}

/* What deny means for a call that will never be judged. */
static void
deny(struct monitor *m, struct held *h, const char *why, int answer)
{
	struct verdict v;
	struct finding *f;

	memset(&v, 0, sizeof(v));
	f = findings_add(&v.findings, CONTRACT_PIN, ACTION_BLOCK);
	f->always = 1;
	f->reason = xstrdup(why);
	f->rule = xstrdup("held");
	verdict_settle(&v);
	v.audited = 1;
	finish(m, &h->msg, h->tool, &v, now_ns(), answer);
	verdict_clear(&v);
}

static void
add_pins_failure(struct verdict *v, const char *why)
{
	struct finding *f =
	    findings_add(&v->findings, CONTRACT_PIN, ACTION_BLOCK);

	f->reason = xasprintf("the pins cannot be written, so nothing is "
			      "trusted by first sight: %s",
			      why);
	f->rule = xstrdup("pins");
	verdict_settle(v);
}

/*
 * The first call that is to be forwarded makes what was seen so far the pins.
 * Another session may have been first: then its pins hold, and are asked
 * again.  PINS_BUSY if somebody has their lock.  A list that could not be had
 * (observe mode forwards all the same) is no sight of anything.
 */
static enum pins_status
freeze(struct monitor *m, struct toolset *s, const struct tool *t,
       const char *tool, struct verdict *v)
{
	char *why = NULL;
	enum pins_status st;

	if (s == NULL || s->state != SET_KNOWN || s->stored ||
	    !client_passes(m, v))
		return PINS_OK;
	st = pinning_freeze(m, s, &why);
	if (st == PINS_FAILED)
		add_pins_failure(v, why);
	free(why);
	if (st == PINS_OK) {
		pinning_judge(m, s, t, tool, &v->findings);
		verdict_settle(v);
	}
	return st;
}

/* 0, or 1 if it has to wait for the pins' lock. */
static int
decide(struct monitor *m, const struct message *msg, const char *tool,
       struct toolset *s, uint64_t *attempt, int last_try)
{
	size_t len = strlen(tool);
	struct tool *t = s != NULL ? toolset_find(s, tool, len) : NULL;
	struct policy_view *own = NULL;
	const struct policy_view *view;
	uint64_t since = now_ns();
	struct policy_call call;
	enum pins_status st;
	struct verdict v;

	memset(&v, 0, sizeof(v));
	if (t == NULL)
		own = policy_view_new(m->policy, tool, len, NULL,
				      (const char *const *)m->command);
	view = t != NULL ? toolset_view(m, t) : own;
	if (*attempt == 0)
		*attempt = take_attempt(m, view, tool);
	pinning_judge(m, s, t, tool, &v.findings);
	call = (struct policy_call){tool, len,
				    message_member(msg->params, "arguments"),
				    *attempt, &m->places};
	judge_call(m->policy, view, &call, &v);
	st = freeze(m, s, t, tool, &v);
	if (st == PINS_BUSY && last_try)
		add_pins_failure(&v, "another process holds their lock");
	if (st != PINS_BUSY || last_try)
		finish(m, msg, tool, &v, since, 1);
	verdict_clear(&v);
	policy_view_free(own);
	return st == PINS_BUSY && !last_try;
}

void
call_request(struct monitor *m, struct message *msg, const char *tool)
{
	struct toolset *s = toolset_of(m, msg);
	uint64_t attempt = 0;

	/* Without an audit it cannot be forwarded, whatever the tool is. */
	if (m->no_state != NULL && !monitor_observes(m)) {
		decide(m, msg, tool, NULL, &attempt, 1);
		return;
	}
	if (s != NULL && !listing_ready(m, s)) {
		hold(m, msg, tool, s, 0);
		return;
	}
	if (decide(m, msg, tool, s, &attempt, 0))
		hold(m, msg, tool, s, attempt);
}

void
call_release(struct monitor *m, struct toolset *s)
{
	struct held **at = &m->calls->first, *h;

	while ((h = *at) != NULL) {
		if (h->set != s ||
		    decide(m, &h->msg, h->tool, s, &h->attempt, 0)) {
			at = &h->next;
			continue;
		}
		unlink_held(m->calls, at);
		free_held(h);
	}
}

/* One that waits for its listing is not looked at. */
static int
waits_for_lock(const struct held *h)
{
	return h->attempt != 0 && h->set->state != SET_LISTING;
}

void
call_tick(struct monitor *m, uint64_t now)
{
	struct held **at = &m->calls->first, *h;
	int last, busy = 0;

	while ((h = *at) != NULL) {
		/* Meanwhile the tools may have changed. */
		if (!waits_for_lock(h) ||
		    (h->set->stale && !listing_ready(m, h->set))) {
			at = &h->next;
			continue;
		}
		if (h->lock_since == 0)
			h->lock_since = now;
		last = now - h->lock_since >= PINS_LOCK_WAIT_MS * 1000000ull;
		/* It is the same lock for all of them. */
		if ((busy && !last) ||
		    decide(m, &h->msg, h->tool, h->set, &h->attempt, last)) {
			busy = 1;
			at = &h->next;
			continue;
		}
		unlink_held(m->calls, at);
		free_held(h);
	}
}

int
call_waits_for_lock(const struct monitor *m)
{
	const struct held *h;

	for (h = m->calls->first; h != NULL; h = h->next)
		if (waits_for_lock(h))
			return 1;
	return 0;
}

int
call_give_up(struct monitor *m, const struct scalar *id, const char *why,
	     int answer)
{
	struct held **at = &m->calls->first, *h;

	for (; (h = *at) != NULL; at = &h->next) {
		if (!scalar_same(&h->msg.id, id))
			continue;
		unlink_held(m->calls, at);
		deny(m, h, why, answer);
		free_held(h);
		return 1;
	}
	return 0;
}

void
call_deny_held(struct monitor *m, const char *why)
{
	struct held *h;

	while ((h = m->calls->first) != NULL) {
		unlink_held(m->calls, &m->calls->first);
		deny(m, h, why, 1);
		free_held(h);
	}
}
