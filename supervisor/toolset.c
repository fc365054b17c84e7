/*
 * Sets of tools, one for each era and capabilities of the client.  Runs in
 * the monitor; the definitions are a server's, decoded and held to limits.
 */
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "proto/alloc.h"
#include "proto/buf.h"
#include "proto/limits.h"

#include "policy.h"

#include "call.h"
#include "canon.h"
#include "jsonw.h"
#include "message.h"
#include "monitor.h"
#include "nametab.h"
#include "toolset.h"

#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"

static struct toolset *
get(struct monitor *m, const char *era, const char *caps)
{
	struct toolset *s, **end = &m->toolsets;
	size_t n = 0;

	for (s = m->toolsets; s != NULL; s = s->next, n++) {
		if (strcmp(s->key.era, era) == 0 &&
		    strcmp(s->key.caps, caps) == 0)
			return s;
		end = &s->next;
	}
	if (n == TOOLSETS_MAX)
		return NULL;
	s = xcalloc(1, sizeof(*s));
	s->key.era = era;
	memcpy(s->key.caps, caps, sizeof(s->key.caps));
	s->by_name = nametab_new();
	s->stored = m->pins != NULL && pins_has_set(m->pins, &s->key);
	*end = s;
	return s;
}

/* What is absent is hashed as null, which no client's capabilities are. */
static void
hash_capabilities(const cJSON *caps, char hex[PIN_HASH_HEX])
{
	cJSON *none;

	if (caps != NULL) {
		canon_hash(caps, hex);
		return;
	}
	none = cJSON_CreateNull();
	canon_hash(none, hex);
	cJSON_Delete(none);
}

void
toolset_note_initialize(struct monitor *m, const struct message *msg)
{
	hash_capabilities(message_member(msg->params, "capabilities"),
			  m->legacy_caps);
}

/*
 * _meta as the client sends it, so that a server cannot tell our request from
 * the client's; without the token, whose progress nobody would follow.
 */
static char *
print_meta(const cJSON *meta)
{
	struct buf b = BUF_INIT;
	const cJSON *c;
	char *text;
	int first = 1;

	buf_putc(&b, '{');
	for (c = meta->child; c != NULL; c = c->next) {
		if (strcmp(c->string, "progressToken") == 0)
			continue;
		if (!first)
			buf_putc(&b, ',');
		first = 0;
		jsonw_string(&b, c->string, strlen(c->string), 0);
		buf_putc(&b, ':');
		jsonw_tree(&b, c);
	}
	buf_putc(&b, '}');
	text = xmemdupz(buf_head(&b), buf_used(&b));
	buf_free(&b);
	return text;
}

struct toolset *
toolset_of(struct monitor *m, const struct message *msg)
{
	const cJSON *meta = message_member(msg->params, "_meta");
	char caps[PIN_HASH_HEX], *text;
	struct toolset *s;

	if (!msg->modern) {
		if (m->legacy_caps[0] == '\0')
			hash_capabilities(NULL, m->legacy_caps);
		return get(m, "legacy", m->legacy_caps);
	}
	text = print_meta(meta);
	hash_capabilities(message_member(meta, META_CAPABILITIES), caps);
	s = strlen(text) <= META_MAX ? get(m, "modern", caps) : NULL;
	if (s == NULL) {
		free(text);
		return NULL;
	}
	free(s->meta);
	s->meta = text;
	return s;
}

struct tool *
toolset_find(const struct toolset *s, const char *name, size_t len)
{
	return nametab_get(s->by_name, name, len);
}

const char *
tool_definition_name(const cJSON *definition)
{
	const cJSON *name = message_member(definition, "name");

	if (!cJSON_IsString(name) || name->valuestring[0] == '\0' ||
	    strlen(name->valuestring) > DW_METHOD_MAX)
		return NULL;
	return name->valuestring;
}

static void
empty(struct toolset *s)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		policy_view_free(s->tools[i].view);
		cJSON_Delete(s->tools[i].definition);
		free(s->tools[i].name);
	}
	free(s->tools);
	nametab_free(s->by_name);
	s->tools = NULL;
	s->n = 0;
	s->by_name = nametab_new();
}

void
toolset_fill(struct toolset *s, cJSON **definitions, size_t n)
{
	const char *name;
	struct tool *t, *other;
	size_t i;

	empty(s);
	s->tools = xcalloc(n, sizeof(*s->tools));
	for (i = 0; i < n; i++) {
		name = tool_definition_name(definitions[i]);
		t = &s->tools[s->n++];
		t->definition = definitions[i];
		canon_hash(t->definition, t->hash);
		if (name == NULL)
			continue; /* cannot be called */
		t->len = strlen(name);
		t->name = xmemdupz(name, t->len);
		other = nametab_put(s->by_name, name, t->len, t);
		if (other != NULL)
			t->twice = other->twice = 1;
	}
}

/* A tool that says nothing of its parameters can still be told by its name. */
struct policy_view *
tool_view(struct monitor *m, const char *name, size_t len,
	  const cJSON *definition)
{
	static const cJSON none = {.type = cJSON_Object};
	const cJSON *schema = message_member(definition, "inputSchema");

	return policy_view_new(m->policy, name, len,
			       schema != NULL ? schema : &none,
			       (const char *const *)m->command);
}

const struct policy_view *
toolset_view(struct monitor *m, struct tool *t)
{
	if (t->view == NULL)
		t->view = tool_view(m, t->name, t->len, t->definition);
	return t->view;
}

void
toolset_drop_views(struct monitor *m)
{
	struct toolset *s;
	size_t i;

	for (s = m->toolsets; s != NULL; s = s->next) {
		for (i = 0; i < s->n; i++) {
			policy_view_free(s->tools[i].view);
			s->tools[i].view = NULL;
		}
	}
}
