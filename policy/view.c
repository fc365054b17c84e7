/*
 * What applies to one tool: entries of packs and files merged, or the
 * fallback.  Runs in the monitor, with names and schemas that the server
 * wrote, and in the commands; owns the merged entries and the fallback, and
 * borrows the rest from the policy.
 */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"

#include "policy.h"
#include "applies.h"
#include "call.h"
#include "entry.h"
#include "fallback.h"
#include "model.h"
#include "verbs.h"
#include "view.h"

struct policy_view {
	struct policy_layer *layers; /* bottom up */
	size_t nlayers;
	struct entry *merged;
	size_t nmerged;
	struct entry *fallback; /* NULL, or the only merged one */
	const char *from;
	struct verbs verbs; /* of the tool's name */
};

static void
add_layer(struct policy_view *v, const struct policy *p, const struct said *s,
	  const struct cJSON *schema, const char *const *command)
{
	struct policy_layer *layer;
	const struct policy_pack_info *k;

	v->layers =
	    xreallocarray(v->layers, v->nlayers + 1, sizeof(*v->layers));
	layer = &v->layers[v->nlayers++];
	memset(layer, 0, sizeof(*layer));
	layer->entry = &s->entry;
	layer->state = LAYER_APPLIES;
	if (s->pack == NO_PACK) {
		layer->file = p->files[s->file].name;
		layer->format = p->files[s->file].format;
		return;
	}
	k = &p->packs[s->pack];
	layer->file = k->file;
	layer->pack = k->name;
	layer->format = FORMAT_PACK;
	if (command != NULL)
		layer->by_command =
		    applies_to_command(k->match, k->match_count, command);
	if (!applies_to_schema(&s->entry, schema))
		layer->state = LAYER_NO_PARAM;
}

/* Of packs that apply, those that the command names alone, if there are any. */
static void
prefer_named(struct policy_view *v)
{
	struct policy_layer *layer;
	int named = 0;
	size_t i;

	for (i = 0; i < v->nlayers; i++)
		named |= v->layers[i].state == LAYER_APPLIES &&
			 v->layers[i].by_command;
	for (i = 0; named && i < v->nlayers; i++) {
		layer = &v->layers[i];
		if (layer->pack != NULL && layer->state == LAYER_APPLIES &&
		    !layer->by_command)
			layer->state = LAYER_OTHER_PACK;
	}
}

static void
cut_below(struct policy_view *v)
{
	size_t i, j;

	for (i = v->nlayers; i-- > 0;)
		if (v->layers[i].entry->replace)
			break;
	if (i == SIZE_MAX)
		return;
	for (j = 0; j < i; j++)
		if (v->layers[j].state == LAYER_APPLIES)
			v->layers[j].state = LAYER_CUT;
}

/* Each pack that applies begins an entry of its own; files lie on all. */
static void
merge(struct policy_view *v)
{
	const struct policy_layer *layer;
	size_t i, j;

	v->merged = xcalloc(v->nlayers + 1, sizeof(*v->merged));
	for (i = 0; i < v->nlayers; i++) {
		layer = &v->layers[i];
		if (layer->state != LAYER_APPLIES)
			continue;
		v->from = layer->pack != NULL ? "pack" : "file";
		if (layer->pack != NULL || v->nmerged == 0) {
			v->merged[v->nmerged++] = *layer->entry;
			continue;
		}
		for (j = 0; j < v->nmerged; j++)
			entry_merge(&v->merged[j], layer->entry);
	}
}

/*
 * Who wrote of destinations relied on a pack that says that the tool sends,
 * or the file would not have been taken; should that pack not apply, the tool
 * counts as sending all the same.
 */
static void
assume_sending(struct entry *e)
{
	static const enum entry_key keys[] = {
	    KEY_SINK_PARAMS, KEY_SINKS_OPTIONAL, KEY_TRUSTED_DESTINATIONS,
	    KEY_ON_UNPROVEN};
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (!entry_has(e, keys[i]) || entry_has(e, KEY_EXFILTRATING))
			continue;
		e->exfiltrating = 1;
		e->place[KEY_EXFILTRATING] = e->place[keys[i]];
	}
}

/* 1 if a pack that applies names the parameter. */
static int
is_named(const struct policy_view *v, const char *property)
{
	size_t i;

	for (i = 0; i < v->nlayers; i++)
		if (v->layers[i].state == LAYER_APPLIES &&
		    v->layers[i].pack != NULL &&
		    applies_names(v->layers[i].entry, property))
			return 1;
	return 0;
}

/*
 * A tool of another server that has its name from one that packs know: what
 * none of them names, nobody has looked at.  Where the command tells that it
 * is a pack's server, its word is enough.
 */
static int
is_stray(const struct policy_view *v, const struct cJSON *schema)
{
	static const char *const elsewhere[] = {"anyOf", "oneOf", "allOf",
						"$ref", "patternProperties"};
	const struct cJSON *p;
	size_t i, packs = 0;

	for (i = 0; i < v->nlayers; i++) {
		if (v->layers[i].state != LAYER_APPLIES ||
		    v->layers[i].pack == NULL)
			continue;
		if (v->layers[i].by_command)
			return 0;
		packs++;
	}
	/* More parameters than stand in plain sight. */
	for (i = 0; packs > 0 && i < sizeof(elsewhere) / sizeof(elsewhere[0]);
	     i++)
		if (cJSON_GetObjectItemCaseSensitive(schema, elsewhere[i]))
			return 1;
	p = cJSON_GetObjectItemCaseSensitive(schema, "properties");
	for (p = packs > 0 && p != NULL ? p->child : NULL; p != NULL;
	     p = p->next)
		if (p->string != NULL && !is_named(v, p->string))
			return 1;
	return 0;
}

/*
 * 1 if files alone speak of the tool, in the own format: as they would lie on
 * a pack, they lie on the fallback, so that a budget switches no check off.
 * An entry that replaces (all of Bouncer's do) stands alone.
 */
static int
is_only_laid_on(const struct policy_view *v)
{
	size_t i;

	for (i = 0; i < v->nlayers; i++)
		if (v->layers[i].state == LAYER_APPLIES &&
		    (v->layers[i].pack != NULL || v->layers[i].entry->replace))
			return 0;
	return 1;
}

/* As if it were a pack: what files say lies on top. */
static void
add_fallback(struct policy_view *v)
{
	struct entry *e = &v->merged[v->nmerged++];
	size_t i;

	*e = *v->fallback;
	for (i = 0; i < v->nlayers; i++)
		if (v->layers[i].state == LAYER_APPLIES &&
		    v->layers[i].pack == NULL)
			entry_merge(e, v->layers[i].entry);
	assume_sending(e);
}

struct policy_view *
policy_view_new(const struct policy *p, const char *tool, size_t len,
		const struct cJSON *schema, const char *const *command)
{
	struct policy_view *v = xcalloc(1, sizeof(*v));
	size_t i = index_find(&p->said_index, tool, len);
	int alone;

	v->from = "none";
	verbs_of(&v->verbs, tool, len);
	for (; i != NOT_FOUND; i = p->said[i].above)
		add_layer(v, p, &p->said[i], schema, command);
	prefer_named(v);
	cut_below(v);
	merge(v);
	for (i = 0; i < v->nmerged; i++)
		assume_sending(&v->merged[i]);
	alone = is_only_laid_on(v);
	if (schema == NULL || policy_get_packs(p) == PACKS_NONE ||
	    (!alone && !is_stray(v, schema)))
		return v;
	v->fallback = fallback_entry(tool, len, schema);
	if (v->fallback == NULL)
		return v;
	if (v->nmerged == 0)
		v->from = "fallback";
	if (alone)
		v->nmerged = 0;
	add_fallback(v);
	return v;
}

const struct verbs *
policy_view_verbs(const struct policy_view *v)
{
	return &v->verbs;
}

void
policy_view_free(struct policy_view *v)
{
	if (v == NULL)
		return;
	if (v->fallback != NULL)
		entry_clear(v->fallback);
	free(v->fallback);
	free(v->merged);
	free(v->layers);
	free(v);
}

size_t
policy_view_count(const struct policy_view *v)
{
	return v->nmerged;
}

const struct entry *
policy_view_entry(const struct policy_view *v, size_t i)
{
	return &v->merged[i];
}

const char *
policy_view_from(const struct policy_view *v)
{
	return v->from;
}

int
policy_view_has_fallback(const struct policy_view *v)
{
	return v->fallback != NULL;
}

size_t
policy_view_layer_count(const struct policy_view *v)
{
	return v->nlayers;
}

const struct policy_layer *
policy_view_layer(const struct policy_view *v, size_t i)
{
	return &v->layers[i];
}
