/*
 * What the client is shown of the server's own words on itself: lists of
 * tools, and its introduction.  Runs in the monitor on decoded results.  A
 * line passes as it is unless there is something in it to leave out; then
 * the monitor prints what is left.
 */
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "proto/alloc.h"
#include "proto/log.h"

#include "policy.h"

#include "call.h"
#include "answer.h"
#include "canon.h"
#include "jsonw.h"
#include "message.h"
#include "monitor.h"
#include "nametab.h"
#include "requests.h"
#include "toolset.h"

static void
send_instead(struct monitor *m, const struct request *r, const char *text)
{
	struct buf line = BUF_INIT;

	answer_error(&line, &r->id, ANSWER_CANNOT_JUDGE, text);
	send_client(m, &line);
	buf_free(&line);
}

static void
send_tree(struct monitor *m, const cJSON *told)
{
	struct buf line = BUF_INIT;

	jsonw_tree(&line, told);
	buf_putc(&line, '\n');
	send_client(m, &line);
	buf_free(&line);
}

/* 1 if no call of it could be anything but denied by a rule. */
static int
is_blocked(struct monitor *m, const char *name, size_t len,
	   const cJSON *definition)
{
	struct policy_opinion o = policy_tool(m->policy, name, len);
	struct policy_view *view;
	int spoken;

	if (o.action != ACTION_BLOCK)
		return 0;
	if (!o.by_default)
		return 1;
	view = tool_view(m, name, len, definition);
	spoken = strcmp(policy_view_from(view), "none") != 0;
	policy_view_free(view);
	return !spoken;
}

/*
 * What has no name, or its name twice, cannot be called in one way only.
 * Without a set (see TOOLSETS_MAX) there are no pins to compare with.
 */
static int
is_hidden(struct monitor *m, const struct toolset *s, const cJSON *definition,
	  const struct nametab *names)
{
	const char *name = tool_definition_name(definition);
	const struct tool *known;
	char hash[PIN_HASH_HEX];
	size_t len;

	if (name == NULL)
		return 1;
	len = strlen(name);
	known = s != NULL ? toolset_find(s, name, len) : NULL;
	if (nametab_get(names, name, len) != definition ||
	    (known != NULL && known->twice))
		return 1;
	if (!policy_pins_hide(m->policy))
		return 0;
	canon_hash(definition, hash);
	return is_blocked(m, name, len, definition) ||
	       (s == NULL ? m->pins != NULL
			  : pinning_refuses(m, s, name, len, hash));
}

/* Of each name its only definition, or something else if there are two. */
static struct nametab *
index_names(cJSON *tools)
{
	struct nametab *names = nametab_new();
	const char *name;
	cJSON *c;

	for (c = tools->child; c != NULL; c = c->next) {
		name = tool_definition_name(c);
		if (name == NULL)
			continue;
		if (nametab_put(names, name, strlen(name), c) != NULL)
			nametab_put(names, name, strlen(name), names);
	}
	return names;
}

static void
note_page(struct monitor *m, struct toolset *s, const cJSON *tools,
	  const struct nametab *names)
{
	struct pin_tool *seen;
	const char *name;
	const cJSON *c;
	size_t n = 0;

	if (s == NULL)
		return;
	seen = xcalloc((size_t)cJSON_GetArraySize(tools), sizeof(*seen));
	for (c = tools->child; c != NULL; c = c->next) {
		name = tool_definition_name(c);
		if (name != NULL && nametab_get(names, name, strlen(name)) == c)
			seen[n++] = (struct pin_tool){name, strlen(name), c};
	}
	pinning_note(m, s, seen, n);
	free(seen);
}

static int
pass_list(struct monitor *m, const struct request *r, cJSON *told)
{
	cJSON *tools = message_member(message_member(told, "result"), "tools");
	struct nametab *names;
	cJSON *c, *next;
	size_t hidden = 0;

	if (!cJSON_IsArray(tools)) {
		warnf("the server's list of tools was withheld: it cannot be "
		      "read in one way only");
		if (monitor_observes(m))
			return 1;
		send_instead(m, r,
			     "[doorward] the server's list of tools cannot be "
			     "read in one way only");
		return 0;
	}
	names = index_names(tools);
	note_page(m, r->set, tools, names);
	for (c = tools->child; c != NULL && !monitor_observes(m); c = next) {
		next = c->next;
		if (!is_hidden(m, r->set, c, names))
			continue;
		cJSON_Delete(cJSON_DetachItemViaPointer(tools, c));
		hidden++;
	}
	nametab_free(names);
	if (hidden == 0)
		return 1;
	debugf("%zu tools are hidden from the client", hidden);
	m->count.hidden += hidden;
	send_tree(m, told);
	return 0;
}

static void
keep(char **where, const cJSON *item)
{
	if (!cJSON_IsString(item))
		return;
	free(*where);
	*where = xstrdup(item->valuestring);
}

/*
 * The server's introduction: its version is noted, its instructions, which
 * clients show to the model, are pinned.
 */
static int
pass_introduction(struct monitor *m, const struct request *r,
		  const struct envelope *e, cJSON *told)
{
	cJSON *result = message_member(told, "result"), *text;

	if (e->flags & ENVELOPE_UNREADABLE) {
		warnf("the server's introduction was withheld: it cannot be "
		      "read in one way only");
		if (monitor_observes(m))
			return 1;
		send_instead(m, r,
			     "[doorward] the server's introduction cannot be "
			     "read in one way only");
		return 0;
	}
	if (result == NULL)
		return 1;
	text = message_member(result, "instructions");
	keep(&m->version,
	     message_member(message_member(result, "serverInfo"), "version"));
	keep(&m->instructions, text);
	if (r->set != NULL)
		pinning_note(m, r->set, NULL, 0);
	if (text == NULL || m->pins == NULL || monitor_observes(m) ||
	    (m->pins_broken == NULL && cJSON_IsString(text) &&
	     pins_instructions_same(m->pins, text->valuestring,
				    strlen(text->valuestring))))
		return 1;
	if (m->pins_broken == NULL)
		warnf("the server's instructions were withheld from the "
		      "client: they are not what was pinned (see doorward "
		      "pins diff %s)",
		      m->server_name);
	m->withheld = 1;
	cJSON_Delete(cJSON_DetachItemViaPointer(result, text));
	send_tree(m, told);
	return 0;
}

int
told_passes(struct monitor *m, const struct request *r,
	    const struct envelope *e, cJSON *told)
{
	if (e->kind != KIND_RESULT)
		return 1;
	if (strcmp(r->method, "tools/list") == 0)
		return pass_list(m, r, told);
	if (strcmp(r->method, "initialize") == 0 ||
	    strcmp(r->method, "server/discover") == 0)
		return pass_introduction(m, r, e, told);
	return 1;
}

/*
 * What a client may see has changed by a person's word.  In 2026-07-28 it is
 * told only in streams that it opened for that (MCP "Subscriptions").
 */
void
told_list_changed(struct monitor *m)
{
	static const char method[] = "notifications/tools/list_changed";
	struct buf line = BUF_INIT;
	struct request *r;

	if (m->legacy == LEGACY_OPEN) {
		buf_puts(&line, "{\"jsonrpc\":\"2.0\"");
		jsonw_str(&line, "method", method);
		buf_puts(&line, "}\n");
	}
	for (r = requests_oldest(m->at_server); r != NULL; r = r->newer) {
		if (!r->wants_tools || !r->sent || r->cancelled)
			continue;
		buf_puts(&line, "{\"jsonrpc\":\"2.0\"");
		jsonw_str(&line, "method", method);
		buf_puts(&line, ",\"params\":{\"_meta\":{"
				"\"io.modelcontextprotocol/subscriptionId\":");
		jsonw_scalar(&line, &r->id, 0);
		buf_puts(&line, "}}}\n");
	}
	if (buf_used(&line) > 0)
		send_client(m, &line);
	buf_free(&line);
}
