/*
 * Comparing a pack with a server's tools.  Runs in `doorward packs verify`
 * with the user's privilege; the schemas are a stranger's, no deeper than
 * DW_DEPTH_MAX, and nothing here follows a reference.
 */
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "proto/alloc.h"
#include "proto/text.h"

#include "policy.h"
#include "entry.h"

#include "message.h"
#include "pack_check.h"
#include "probe.h"

/* Where else the properties of a parameter may stand. */
static const char *const within[] = {"items", "prefixItems", "anyOf", "oneOf",
				     "allOf"};
#define WITHIN (sizeof(within) / sizeof(within[0]))

struct compare {
	const struct entry *entry;
	pack_finding_fn *fn;
	void *arg;
	size_t found;
	char **told; /* parameters of this tool: alternatives repeat them */
	size_t ntold;
};

struct named_param
named_param(const struct entry *e, size_t n)
{
	const struct {
		enum entry_key key;
		const struct strings *s;
	} lists[] = {
	    {KEY_CONTENT_PARAMS, &e->content_params},
	    {KEY_SCAN_TEXT, &e->scan_text},
	    {KEY_WRITE_PARAMS, &e->write_params},
	    {KEY_READ_PARAMS, &e->read_params},
	    {KEY_DELETES, &e->deletes},
	    {KEY_CHANGES, &e->changes},
	    {KEY_PLAIN, &e->plain},
	};
	size_t i;

	if (n < e->nsinks)
		return (struct named_param){entry_key_name(KEY_SINK_PARAMS),
					    e->sinks[n].param};
	n -= e->nsinks;
	if (n < e->npatterns)
		return (struct named_param){entry_key_name(KEY_ARG_PATTERNS),
					    e->patterns[n].param};
	n -= e->npatterns;
	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		if (n < lists[i].s->n)
			return (struct named_param){
			    entry_key_name(lists[i].key), lists[i].s->v[n]};
		n -= lists[i].s->n;
	}
	return (struct named_param){NULL, NULL};
}

/* ---- findings ---- */

static void
tell(struct compare *c, char *text)
{
	c->found++;
	c->fn(c->arg, text);
	free(text);
}

/* Caller frees. */
static char *
shown(const char *name)
{
	char text[200];

	return xmemdupz(text,
			text_visible(name, strlen(name), text, sizeof(text)));
}

static void
tell_param(struct compare *c, const char *param)
{
	char *tool, *name;
	size_t i;

	for (i = 0; i < c->ntold; i++)
		if (strcmp(c->told[i], param) == 0)
			return;
	c->told = xreallocarray(c->told, c->ntold + 1, sizeof(char *));
	c->told[c->ntold++] = xstrdup(param);
	tool = shown(c->entry->tool);
	name = shown(param);
	tell(c, xasprintf("%s: the pack does not name the parameter \"%s\"",
			  tool, name));
	free(tool);
	free(name);
}

/* ---- parameters that no key names ---- */

enum named { NAMED_NOT, NAMED_BELOW, NAMED_ITSELF };

static enum named
is_named(const struct entry *e, const char *path)
{
	enum named best = NAMED_NOT;
	size_t len = strlen(path), i;
	const char *param;

	for (i = 0; (param = named_param(e, i).param) != NULL; i++) {
		if (strncmp(param, path, len) != 0)
			continue;
		if (param[len] == '\0')
			return NAMED_ITSELF;
		if (param[len] == '.')
			best = NAMED_BELOW;
	}
	return best;
}

/*
 * All schemas of what one parameter may be: itself, items of lists,
 * alternatives.
 */
struct schemas {
	const cJSON **v;
	size_t n;
};

static void
gather(struct schemas *all, const cJSON *schema)
{
	const cJSON *sub, *item;
	size_t i;

	if (!cJSON_IsObject(schema))
		return;
	all->v = xreallocarray(all->v, all->n + 1, sizeof(const cJSON *));
	all->v[all->n++] = schema;
	for (i = 0; i < WITHIN; i++) {
		sub = message_member(schema, within[i]);
		if (!cJSON_IsArray(sub)) {
			gather(all, sub);
			continue;
		}
		for (item = sub->child; item != NULL; item = item->next)
			gather(all, item);
	}
}

static const cJSON *
first_property(const cJSON *schema)
{
	const cJSON *properties = message_member(schema, "properties");

	return cJSON_IsObject(properties) ? properties->child : NULL;
}

static int
has_properties(const cJSON *schema)
{
	struct schemas all = {NULL, 0};
	size_t i;
	int has = 0;

	gather(&all, schema);
	for (i = 0; i < all.n && !has; i++)
		has = first_property(all.v[i]) != NULL;
	free(all.v);
	return has;
}

static void
look_for_unnamed(struct compare *c, const cJSON *schema, const char *prefix)
{
	struct schemas all = {NULL, 0};
	const cJSON *k;
	enum named named;
	char *path;
	size_t i;

	gather(&all, schema);
	for (i = 0; i < all.n; i++) {
		for (k = first_property(all.v[i]); k != NULL; k = k->next) {
			path = xasprintf("%s%s", prefix, k->string);
			named = is_named(c->entry, path);
			if (named == NAMED_NOT ||
			    (named == NAMED_BELOW && !has_properties(k)))
				tell_param(c, path);
			free(path);
			if (named != NAMED_BELOW)
				continue;
			path = xasprintf("%s%s.", prefix, k->string);
			look_for_unnamed(c, k, path);
			free(path);
		}
	}
	free(all.v);
}

/* ---- names that no schema has ---- */

/* 1 also where a $ref hides what there is. */
static int
has_path(const cJSON *schema, const char *path)
{
	struct schemas all = {NULL, 0};
	const cJSON *k;
	size_t i, len;
	int has = 0;

	gather(&all, schema);
	for (i = 0; i < all.n && !has; i++) {
		has = message_member(all.v[i], "$ref") != NULL;
		for (k = first_property(all.v[i]); k != NULL && !has;
		     k = k->next) {
			len = strlen(k->string);
			if (strncmp(path, k->string, len) != 0)
				continue;
			has = path[len] == '\0' ||
			      (path[len] == '.' && has_path(k, path + len + 1));
		}
	}
	free(all.v);
	return has;
}

static void
look_for_unknown(struct compare *c, const cJSON *schema)
{
	struct named_param n;
	char *tool, *name;
	size_t i;

	for (i = 0; (n = named_param(c->entry, i)).param != NULL; i++) {
		if (has_path(schema, n.param))
			continue;
		tool = shown(c->entry->tool);
		name = shown(n.param);
		tell(c, xasprintf("%s: the pack names \"%s\" (%s), which the "
				  "server's schema does not have",
				  tool, name, n.key));
		free(tool);
		free(name);
	}
}

/* ---- tools ---- */

static void
compare_tool(struct compare *c, const cJSON *tool)
{
	const cJSON *schema = message_member(tool, "inputSchema");
	char *name;
	size_t i;

	if (!cJSON_IsObject(schema)) {
		name = shown(c->entry->tool);
		tell(c, xasprintf("%s: the server gives no inputSchema", name));
		free(name);
		return;
	}
	look_for_unnamed(c, schema, "");
	look_for_unknown(c, schema);
	for (i = 0; i < c->ntold; i++)
		free(c->told[i]);
	free(c->told);
	c->told = NULL;
	c->ntold = 0;
}

static const struct entry *
find_entry(const struct policy *p, size_t pack, const char *tool)
{
	size_t n = policy_pack(p, pack)->entries, i;
	const struct entry *e;

	for (i = 0; i < n; i++) {
		e = policy_pack_entry(p, pack, i);
		if (strcmp(e->tool, tool) == 0)
			return e;
	}
	return NULL;
}

static void
look_for_gone(struct compare *c, const struct policy *p, size_t pack,
	      const struct probe *s)
{
	size_t n = policy_pack(p, pack)->entries, i;
	const struct entry *e;
	char *name;

	for (i = 0; i < n; i++) {
		e = policy_pack_entry(p, pack, i);
		if (probe_find(s, e->tool, e->tool_len) != NULL)
			continue;
		name = shown(e->tool);
		tell(c, xasprintf("%s: the server has no such tool", name));
		free(name);
	}
}

size_t
pack_compare(const struct policy *p, size_t pack, const struct probe *s,
	     pack_finding_fn *fn, void *arg)
{
	struct compare c = {.fn = fn, .arg = arg};
	const char *tool;
	char *name;
	size_t i;

	for (i = 0; i < probe_tool_count(s); i++) {
		tool = message_member(probe_tool(s, i), "name")->valuestring;
		c.entry = find_entry(p, pack, tool);
		if (c.entry != NULL) {
			compare_tool(&c, probe_tool(s, i));
			continue;
		}
		name = shown(tool);
		tell(&c, xasprintf("%s: the pack does not speak of this tool",
				   name));
		free(name);
	}
	if (probe_unreadable(s) > 0)
		tell(&c, xasprintf("%zu tool%s of the server cannot be read "
				   "(a NUL, a lone surrogate, or a key that is "
				   "there twice)",
				   probe_unreadable(s),
				   probe_unreadable(s) == 1 ? "" : "s"));
	look_for_gone(&c, p, pack, s);
	return c.found;
}
