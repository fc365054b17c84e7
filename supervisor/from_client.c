/*
 * What the client says: requests and notifications to be judged, answers to
 * the server's requests.  Runs in the monitor on decoded messages.
 */
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "proto/alloc.h"
#include "proto/limits.h"
#include "proto/log.h"

#include "answer.h"
#include "audit.h"
#include "bases.h"
#include "calls.h"
#include "event.h"
#include "judge.h"
#include "message.h"
#include "monitor.h"
#include "requests.h"
#include "toolset.h"

static void
refuse(struct monitor *m, enum refusal why, const struct scalar *id,
       uint64_t offset, int answer)
{
	struct buf line = BUF_INIT;
	char *text;

	m->count.refused++;
	event_refusal(m, "client", why, id, offset);
	debugf("refused a message of the client: %s (byte %llu)",
	       refusal_text(why), (unsigned long long)offset);
	if (!answer)
		return;
	text = offset > 0
		   ? xasprintf("[doorward refused] %s (byte %llu)",
			       refusal_text(why), (unsigned long long)offset)
		   : xasprintf("[doorward refused] %s", refusal_text(why));
	answer_error(&line, id, refusal_code(why), text);
	free(text);
	stage_answer(m, &line, 0);
	buf_free(&line);
}

/* A line that the relay refused.  What has no id by its own fault gets an
 * error with id null; a notification in disguise gets no answer at all. */
void
client_refused(struct monitor *m, const struct refuse *r)
{
	m->count.client_messages++;
	refuse(m, (enum refusal)r->reason, &r->id, r->offset,
	       r->reason != REFUSAL_CALL_WITHOUT_ID);
}

/* The name an agent is known by; a stranger's word, for the audit only. */
static void
note_client(struct monitor *m, const struct message *msg)
{
	const cJSON *info = message_member(msg->params, "clientInfo");
	const cJSON *meta, *name;

	if (info == NULL) {
		meta = message_member(msg->params, "_meta");
		info =
		    message_member(meta, "io.modelcontextprotocol/clientInfo");
	}
	name = message_member(info, "name");
	if (cJSON_IsString(name) && strlen(name->valuestring) <= 200)
		audit_identity(m->audit, NULL, NULL, name->valuestring, NULL);
}

/* Roots are where a file server lets names begin.  In 2026-07-28 they come
 * with the request that a server put off for them. */
static void
note_roots(struct monitor *m, const struct message *msg)
{
	const cJSON *responses = message_member(msg->params, "inputResponses");
	const cJSON *one = responses == NULL ? NULL : responses->child;

	bases_roots(m->bases, message_member(msg->root, "result"));
	for (; one != NULL; one = one->next)
		bases_roots(m->bases, one);
	m->places.base_count = m->bases->n;
}

static void
answer_of_client(struct monitor *m, struct message *msg)
{
	struct request *r = requests_find(m->at_client, &msg->id);

	if (r == NULL || r == m->channel[SIDE_SERVER].held) {
		m->count.dropped++;
		debugf("dropped an answer of the client to no open request");
		return;
	}
	requests_remove(m->at_client, r, 0);
	stage_forward(m, msg, 0, NULL, NULL);
}

static const char *
tool_name(const struct message *msg)
{
	const cJSON *name = message_member(msg->params, "name");
	const cJSON *args = message_member(msg->params, "arguments");

	if (!cJSON_IsString(name))
		return NULL;
	if (args != NULL && !cJSON_IsObject(args) && !cJSON_IsNull(args))
		return NULL;
	return name->valuestring;
}

/* What the session's end adds up a verdict under. */
uint64_t *
client_counter(struct monitor *m, const struct verdict *v)
{
	if (!v->audited)
		return NULL;
	if (v->action == ACTION_ALLOW)
		return &m->count.allowed;
	return client_passes(m, v) ? &m->count.observed : &m->count.denied;
}

static void
judge_message(struct monitor *m, const struct message *msg, struct verdict *v)
{
	uint64_t since = now_ns();
	struct subject s = {.from = "client",
			    .id = &msg->id,
			    .method = msg->method,
			    .method_len = strlen(msg->method),
			    .args = msg->params};
	uint64_t *n;

	judge_method(m->policy, msg->method, s.method_len, &m->places,
		     message_member(msg->params, "uri"), v);
	if (!v->audited)
		return;
	event_verdict(m, &s, v, since);
	n = client_counter(m, v);
	if (n != NULL)
		(*n)++;
}

int
client_passes(const struct monitor *m, const struct verdict *v)
{
	return v->action == ACTION_ALLOW || (monitor_observes(m) && !v->always);
}

/*
 * A cancellation reaches the server only for a request that is there; for
 * one that was denied it would name an id the server never saw.
 */
static void
client_cancels(struct monitor *m, struct message *msg, const struct verdict *v)
{
	struct request *r = requests_find(m->at_server, &msg->cancels);
	int with;

	if (r == NULL || r->cancelled || r->own) {
		m->count.dropped++;
		return;
	}
	if (r->audited)
		event_result(m, r, "cancelled", 0);
	/* What is not sent yet is not sent at all if the audit cannot be
	 * written; nor is, then, its cancellation. */
	with = !r->sent && r->audited;
	requests_cancel(m->at_server, r);
	stage_forward(m, msg, v->audited || with, NULL, client_counter(m, v));
}

static void
notification(struct monitor *m, struct message *msg)
{
	int cancels = strcmp(msg->method, "notifications/cancelled") == 0;
	struct verdict v;

	judge_message(m, msg, &v);
	/* What is held is given up whatever the policy lets the server hear. */
	if (cancels &&
	    call_give_up(m, &msg->cancels, "the client cancelled it", 0))
		;
	else if (!client_passes(m, &v))
		m->count.dropped++;
	else if (cancels)
		client_cancels(m, msg, &v);
	else
		stage_forward(m, msg, v.audited, NULL, client_counter(m, &v));
	verdict_clear(&v);
}

/* Answers to these are looked into, and streams may be told of more. */
static void
note_sent(struct monitor *m, const struct message *msg, struct request *r)
{
	const cJSON *wants;

	if (strcmp(msg->method, "initialize") == 0) {
		if (m->legacy == LEGACY_NONE)
			m->legacy = LEGACY_OPENING;
		toolset_note_initialize(m, msg);
		r->set = toolset_of(m, msg);
	} else if (strcmp(msg->method, "tools/list") == 0 ||
		   strcmp(msg->method, "server/discover") == 0) {
		r->set = toolset_of(m, msg);
	} else if (strcmp(msg->method, "subscriptions/listen") == 0) {
		wants =
		    message_member(message_member(msg->params, "notifications"),
				   "toolsListChanged");
		r->wants_tools = cJSON_IsTrue(wants);
	}
}

void
client_forward(struct monitor *m, const struct message *msg, const char *tool,
	       const struct verdict *v)
{
	struct request *r;

	r = requests_add(m->at_server, &msg->id, &msg->token);
	r->start_ns = now_ns();
	r->method = xstrdup(msg->method);
	r->tool = tool != NULL ? xstrdup(tool) : NULL;
	r->modern = (uint8_t)msg->modern;
	r->audited = (uint8_t)v->audited;
	r->task = (uint8_t)msg->task;
	note_sent(m, msg, r);
	stage_forward(m, msg, v->audited, r, client_counter(m, v));
}

static void
request(struct monitor *m, struct message *msg)
{
	struct request *open = requests_find(m->at_server, &msg->id);
	struct buf line = BUF_INIT;
	const char *tool = NULL;
	struct verdict v;

	if (call_give_up(m, &msg->id, "another request came under its id", 1) ||
	    (open != NULL && !(open->cancelled && open->sent))) {
		refuse(m, REFUSAL_IN_FLIGHT, &msg->id, 0, 1);
		return;
	}
	if (requests_open(m->at_server) + call_held(m) >= DW_INFLIGHT_MAX) {
		refuse(m, REFUSAL_TOO_MANY, &msg->id, 0, 1);
		return;
	}
	if (strcmp(msg->method, "tools/call") == 0) {
		tool = tool_name(msg);
		if (tool == NULL) {
			refuse(m, REFUSAL_CALL_PARAMS, &msg->id, 0, 1);
			return;
		}
		/* Each audit line repeats it, and each open request. */
		if (strlen(tool) > DW_METHOD_MAX) {
			refuse(m, REFUSAL_TOOL_LONG, &msg->id, 0, 1);
			return;
		}
	}
	if (tool != NULL) {
		call_request(m, msg, tool);
		return;
	}
	judge_message(m, msg, &v);
	if (client_passes(m, &v)) {
		client_forward(m, msg, NULL, &v);
	} else {
		answer_verdict(&line, msg, &v);
		stage_answer(m, &line, v.audited);
		buf_free(&line);
	}
	verdict_clear(&v);
}

void
client_message(struct monitor *m, struct message *msg)
{
	m->count.client_messages++;
	note_roots(m, msg);
	switch (msg->kind) {
	case KIND_REQUEST:
		note_client(m, msg);
		request(m, msg);
		break;
	case KIND_NOTIFICATION:
		notification(m, msg);
		break;
	case KIND_RESULT:
	case KIND_ERROR:
		answer_of_client(m, msg);
		break;
	}
}
