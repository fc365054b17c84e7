/*
 * Building audit lines.  Runs in the monitor.  Everything a peer wrote goes
 * through jsonw_*() with the characters escaped that a terminal must not
 * see; arguments go through the policy's redaction first.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "proto/buf.h"
#include "proto/limits.h"

#include "audit.h"
#include "event.h"
#include "judge.h"
#include "jsonw.h"
#include "monitor.h"
#include "policy.h"
#include "requests.h"
#include "table.h"

/* More than this of one call's arguments is not repeated in the audit: the
 * digest covers all of it. */
#define ARGS_MAX (1024u * 1024)
#define OTHERS_MAX 16u /* findings beside the one that decides */

static void
put_redacted(struct buf *b, const cJSON *item, const struct policy *p)
{
	const cJSON *c;
	int object = cJSON_IsObject(item);

	if (cJSON_IsString(item)) {
		jsonw_string(b, item->valuestring, strlen(item->valuestring),
			     1);
		return;
	}
	if (!object && !cJSON_IsArray(item)) {
		jsonw_tree(b, item);
		return;
	}
	buf_putc(b, object ? '{' : '[');
	for (c = item->child; c != NULL; c = c->next) {
		if (c != item->child)
			buf_putc(b, ',');
		if (object) {
			jsonw_string(b, c->string, strlen(c->string), 1);
			buf_putc(b, ':');
		}
		if (p != NULL && object &&
		    policy_redacts(p, c->string, strlen(c->string)))
			buf_puts(b, "\"[redacted]\"");
		else if (buf_used(b) > ARGS_MAX)
			buf_puts(b, "null"); /* will be thrown away */
		else
			put_redacted(b, c, p);
	}
	buf_putc(b, object ? '}' : ']');
}

static void
put_args(struct monitor *m, struct buf *b, const cJSON *args)
{
	enum policy_args how = policy_get_args(m->policy);
	char digest[AUDIT_DIGEST_HEX];
	struct buf text = BUF_INIT;

	if (args == NULL)
		return;
	if (how != ARGS_NONE) {
		put_redacted(&text, args,
			     how == ARGS_REDACTED ? m->policy : NULL);
		jsonw_key(b, "args");
		if (buf_used(&text) <= ARGS_MAX)
			buf_put(b, buf_head(&text), buf_used(&text));
		else
			buf_puts(b, "\"[too long for the audit]\"");
		buf_reset(&text, SIZE_MAX);
	}
	jsonw_tree(&text, args);
	jsonw_u64(b, "args_bytes", buf_used(&text));
	if (audit_digest(m->audit, buf_head(&text), buf_used(&text), digest) ==
	    0)
		jsonw_str(b, "args_digest", digest);
	buf_free(&text);
}

static void
put_subject(struct buf *b, const struct subject *s)
{
	jsonw_str(b, "from", s->from);
	jsonw_key(b, "id");
	jsonw_scalar(b, s->id, 1);
	jsonw_strn(b, "method", s->method, s->method_len);
	if (s->tool != NULL)
		jsonw_str(b, "tool", s->tool);
}

static void
put_rule(struct buf *b, const char *id, const char *file, size_t line)
{
	jsonw_key(b, "rule");
	buf_putc(b, '{');
	jsonw_str(b, "id", id);
	if (file != NULL) {
		jsonw_str(b, "file", file);
		jsonw_u64(b, "line", line);
	}
	buf_putc(b, '}');
}

static const char *
verdict_word(enum policy_action a)
{
	switch (a) {
	case ACTION_ALLOW:
		return "allow";
	case ACTION_ASK:
		return "ask";
	case ACTION_BLOCK:
	default:
		return "deny";
	}
}

/* What else was found against the message, beside what decided. */
static void
put_others(struct buf *b, const struct verdict *v)
{
	const struct finding *f;
	size_t i, n = 0;

	for (i = 0; i < v->findings.n; i++) {
		f = &v->findings.v[i];
		if (f->action == ACTION_ALLOW || f->reason == v->reason)
			continue;
		if (n == OTHERS_MAX)
			break;
		if (n++ == 0)
			jsonw_key(b, "others");
		buf_putc(b, n == 1 ? '[' : ',');
		buf_putc(b, '{');
		jsonw_str(b, "verdict", verdict_word(f->action));
		jsonw_str(b, "reason", f->reason);
		put_rule(b, f->rule, f->file, f->line);
		jsonw_str(b, "contract", contract_name(f->contract));
		if (f->param != NULL)
			jsonw_str(b, "param", f->param);
		buf_putc(b, '}');
	}
	if (n > 0)
		buf_putc(b, ']');
}

static void
event_decision(struct monitor *m, const struct subject *s)
{
	struct buf *b = audit_begin(m->audit, "decision");

	put_subject(b, s);
	jsonw_str(b, "decision", "deny");
	jsonw_key(b, "channel");
	buf_puts(b, "null");
	jsonw_str(b, "why", "no_channel");
	jsonw_u64(b, "waited_ms", 0);
	audit_end(m->audit);
}

void
event_verdict(struct monitor *m, const struct subject *s,
	      const struct verdict *v, uint64_t since_ns)
{
	struct buf *b = audit_begin(m->audit, "verdict");
	int observed = client_passes(m, v) && v->action != ACTION_ALLOW;

	put_subject(b, s);
	jsonw_str(b, "verdict", observed ? "allow" : verdict_word(v->action));
	jsonw_str(b, "reason", v->reason);
	put_rule(b, v->rule, v->file, v->line);
	jsonw_str(b, "contract", v->contract);
	if (v->param != NULL)
		jsonw_str(b, "param", v->param);
	put_others(b, v);
	jsonw_str(b, "mode", monitor_observes(m) ? "observe" : "enforce");
	if (observed)
		jsonw_str(b, "would", verdict_word(v->action));
	put_args(m, b, s->args);
	jsonw_u64(b, "latency_us", (now_ns() - since_ns) / 1000);
	audit_end(m->audit);
	if (v->action == ACTION_ASK && !observed)
		event_decision(m, s);
}

void
event_result(struct monitor *m, const struct request *r, const char *outcome,
	     uint64_t bytes)
{
	struct buf *b = audit_begin(m->audit, "result");

	jsonw_key(b, "id");
	jsonw_scalar(b, &r->id, 1);
	jsonw_str(b, "method", r->method);
	if (r->tool != NULL)
		jsonw_str(b, "tool", r->tool);
	jsonw_str(b, "result", outcome);
	jsonw_u64(b, "ms", (now_ns() - r->start_ns) / 1000000);
	jsonw_u64(b, "bytes", bytes);
	audit_end(m->audit);
}

void
event_refusal(struct monitor *m, const char *from, enum refusal why,
	      const struct scalar *id, uint64_t offset)
{
	struct buf *b = audit_begin(m->audit, "refusal");

	jsonw_str(b, "from", from);
	jsonw_key(b, "id");
	jsonw_scalar(b, id, 1);
	jsonw_str(b, "verdict", "deny");
	jsonw_str(b, "reason", refusal_word(why));
	jsonw_str(b, "text", refusal_text(why));
	jsonw_u64(b, "offset", offset);
	audit_end(m->audit);
}

void
event_breach(struct monitor *m, enum relay_side side)
{
	struct buf *b = audit_begin(m->audit, "breach");

	jsonw_str(b, "relay", side_name(side));
	jsonw_str(b, "state", state_name(m->channel[side].state));
	jsonw_str(b, "reason", m->breach);
	jsonw_u64(b, "call", m->channel[side].call);
	audit_end(m->audit);
}

static void
put_policy(struct monitor *m, struct buf *b)
{
	size_t i;

	jsonw_key(b, "policy");
	buf_putc(b, '{');
	jsonw_key(b, "files");
	buf_putc(b, '[');
	for (i = 0; i < policy_file_count(m->policy); i++) {
		if (i > 0)
			buf_putc(b, ',');
		jsonw_string(b, policy_file(m->policy, i),
			     strlen(policy_file(m->policy, i)), 1);
	}
	buf_putc(b, ']');
	jsonw_str(b, "hash", policy_hash(m->policy));
	buf_putc(b, '}');
}

void
event_policy(struct monitor *m, const char *outcome, const char *detail)
{
	struct buf *b = audit_begin(m->audit, "policy");

	jsonw_str(b, "outcome", outcome);
	if (detail != NULL)
		jsonw_str(b, "reason", detail);
	put_policy(m, b);
	audit_end(m->audit);
}

static void
put_pin_key(struct buf *b, const struct pin_key *k)
{
	jsonw_str(b, "era", k->era);
	jsonw_str(b, "capabilities", k->caps);
}

void
event_pins(struct monitor *m, const struct pin_key *k, size_t n)
{
	struct buf *b = audit_begin(m->audit, "pin");

	jsonw_str(b, "what", "pinned");
	put_pin_key(b, k);
	jsonw_u64(b, "tools", n);
	audit_end(m->audit);
}

void
event_pin(struct monitor *m, const struct pin_key *k, const char *what,
	  const char *tool, const char *hash, const char *detail)
{
	struct buf *b = audit_begin(m->audit, "pin");

	jsonw_str(b, "what", what);
	put_pin_key(b, k);
	if (tool != NULL)
		jsonw_str(b, "tool", tool);
	if (hash != NULL)
		jsonw_str(b, "hash", hash);
	if (detail != NULL)
		jsonw_str(b, "detail", detail);
	audit_end(m->audit);
}

static void
put_layers(struct buf *b, const char *key, uint32_t layers, int abi)
{
	uint32_t bit;
	int first = 1;

	jsonw_key(b, key);
	buf_putc(b, '[');
	for (bit = 1; layer_name(bit) != NULL; bit <<= 1) {
		if ((layers & bit) == 0)
			continue;
		buf_printf(b, "%s\"%s", first ? "" : ",", layer_name(bit));
		if (bit == LAYER_LANDLOCK)
			buf_printf(b, ":%d", abi);
		buf_putc(b, '"');
		first = 0;
	}
	buf_putc(b, ']');
}

void
event_session_start(struct monitor *m, char *const *argv)
{
	struct buf *b = audit_begin(m->audit, "session_start");
	const struct hello *c = &m->channel[SIDE_CLIENT].hello;
	const struct hello *s = &m->channel[SIDE_SERVER].hello;
	size_t i;

	jsonw_str(b, "version", DW_VERSION);
	jsonw_u64(b, "pid", (uint64_t)getpid());
	jsonw_key(b, "command");
	buf_putc(b, '[');
	for (i = 0; argv[i] != NULL; i++) {
		if (i > 0)
			buf_putc(b, ',');
		jsonw_string(b, argv[i], strlen(argv[i]), 1);
	}
	buf_putc(b, ']');
	put_policy(m, b);
	jsonw_str(b, "mode", monitor_observes(m) ? "observe" : "enforce");
	jsonw_key(b, "layers");
	buf_putc(b, '{');
	put_layers(b, "monitor", m->layers, m->landlock_abi);
	put_layers(b, "relay_client", c->layers, c->landlock_abi);
	put_layers(b, "relay_server", s->layers, s->landlock_abi);
	buf_putc(b, '}');
	audit_end(m->audit);
}

void
event_session_end(struct monitor *m, int status)
{
	struct buf *b = audit_begin(m->audit, "session_end");

	jsonw_u64(b, "status", (uint64_t)status);
	if (m->server_gone && WIFSIGNALED(m->server_status))
		jsonw_u64(b, "server_signal",
			  (uint64_t)WTERMSIG(m->server_status));
	else if (m->server_gone)
		jsonw_u64(b, "server_status",
			  (uint64_t)WEXITSTATUS(m->server_status));
	jsonw_u64(b, "client_messages", m->count.client_messages);
	jsonw_u64(b, "server_messages", m->count.server_messages);
	jsonw_u64(b, "allowed", m->count.allowed);
	jsonw_u64(b, "denied", m->count.denied);
	jsonw_u64(b, "observed", m->count.observed);
	jsonw_u64(b, "refused", m->count.refused);
	jsonw_u64(b, "dropped", m->count.dropped);
	jsonw_u64(b, "unknown_tokens", m->count.unknown_tokens);
	jsonw_u64(b, "hidden", m->count.hidden);
	jsonw_u64(b, "audit_lost", audit_lost(m->audit));
	audit_end(m->audit);
}
