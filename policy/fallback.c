/*
 * The fallback: an entry from a tool's name and schema.  Runs in the monitor
 * when a tool is first seen, on a schema that the server wrote: the walk is
 * bounded in depth and nodes, references are followed inside the schema only
 * and never in a ring.
 */
#include <stdlib.h>
#include <string.h>
#include <cjson/cJSON.h>

#include "proto/alloc.h"

#include "policy.h"
#include "entry.h"
#include "fallback.h"
#include "fallback_names.h"
#include "verbs.h"

#define DEPTH_MAX 24u
#define NODES_MAX 20000u
#define WORK_MAX 1000000u /* keys passed, those passed again included */
#define PARAMS_MAX 128u   /* of one kind in one entry */
#define PLACE_MAX 512u    /* bytes of a parameter's dotted name */
#define DELETES_MAX 2u    /* calls of a deleting tool */

struct reading {
	const struct cJSON *root;
	struct entry *e;
	struct verbs verbs;
	struct words tool;
	struct name_context names;
	size_t nodes, work;
	int overrun; /* not everything was seen */
	char place[PLACE_MAX];
	size_t place_len;
	int fixed; /* below a key that nobody can name: place stays */
	const struct cJSON *refs[DEPTH_MAX]; /* being followed */
	size_t nrefs;
};

static void walk(struct reading *r, const struct cJSON *schema, size_t depth);

static void
give(struct entry *e, enum entry_key k)
{
	e->place[k].given = 1;
	e->place[k].format = FORMAT_PACK;
}

static void
add_sink(struct reading *r, enum sink_kind kind)
{
	struct entry *e = r->e;
	size_t i;

	for (i = 0; i < e->nsinks; i++)
		if (strcmp(e->sinks[i].param, r->place) == 0)
			return;
	if (e->nsinks == PARAMS_MAX) {
		r->overrun = 1;
		return;
	}
	e->sinks = xreallocarray(e->sinks, e->nsinks + 1, sizeof(*e->sinks));
	e->sinks[e->nsinks].param = xstrdup(r->place);
	e->sinks[e->nsinks++].kind = kind;
	e->exfiltrating = 1;
	give(e, KEY_EXFILTRATING);
	give(e, KEY_SINK_PARAMS);
}

static void
add_path(struct reading *r)
{
	struct strings *s = &r->e->write_params;
	size_t i;

	for (i = 0; i < s->n; i++)
		if (strcmp(s->v[i], r->place) == 0)
			return;
	if (s->n == PARAMS_MAX) {
		r->overrun = 1;
		return;
	}
	s->v = xreallocarray(s->v, s->n + 1, sizeof(*s->v));
	s->v[s->n++] = xstrdup(r->place);
	give(r->e, KEY_WRITE_PARAMS);
}

static const struct cJSON *
get(const struct cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

/*
 * Counts the keys of an object that is about to be searched.  One schema may
 * be referred to from thousands of places.
 */
static int
look_into(struct reading *r, const struct cJSON *object)
{
	const struct cJSON *c = object != NULL ? object->child : NULL;

	for (; c != NULL && r->work <= WORK_MAX; c = c->next)
		r->work++;
	if (r->work > WORK_MAX)
		r->overrun = 1;
	return !r->overrun;
}

static int
is_word(const struct cJSON *item, const char *word)
{
	return cJSON_IsString(item) && strcmp(item->valuestring, word) == 0;
}

/* 1 for a type that no address, path or name of anything has. */
static int
is_plain_type(const struct cJSON *type, int numbers)
{
	return is_word(type, "boolean") || is_word(type, "null") ||
	       (!numbers &&
		(is_word(type, "number") || is_word(type, "integer")));
}

/* 1 unless the schema says that it is nothing but true, false or null, or
 * (numbers: 0) a number.  A type that JSON Schema does not know may be any. */
static int
takes_text(const struct cJSON *schema, int numbers)
{
	const struct cJSON *type = get(schema, "type"), *one;

	if (!cJSON_IsArray(type))
		return type == NULL || !is_plain_type(type, numbers);
	for (one = type->child; one != NULL; one = one->next)
		if (!is_plain_type(one, numbers))
			return 1;
	return 0;
}

/* A choice among fixed words, or a time, is nobody's address. */
static int
is_fixed(const struct cJSON *schema)
{
	const struct cJSON *format = get(schema, "format");

	return get(schema, "const") != NULL || get(schema, "enum") != NULL ||
	       is_word(format, "date") || is_word(format, "time") ||
	       is_word(format, "date-time");
}

/* An unescaped step of a JSON pointer (RFC 6901) without ~0 and ~1. */
static const struct cJSON *
step(const struct cJSON *at, const char **pointer)
{
	const char *end = strchr(*pointer, '/');
	size_t n = end == NULL ? strlen(*pointer) : (size_t)(end - *pointer);
	const struct cJSON *c;

	if (!cJSON_IsObject(at))
		return NULL;
	for (c = at->child; c != NULL; c = c->next)
		if (c->string != NULL && strlen(c->string) == n &&
		    memcmp(c->string, *pointer, n) == 0)
			break;
	*pointer += n + (end != NULL);
	return c;
}

/* What "#/$defs/NAME" refers to, or NULL. */
static const struct cJSON *
find_ref(struct reading *r, const char *ref)
{
	const struct cJSON *at = r->root;
	size_t steps;

	if (strcmp(ref, "#") == 0)
		return at;
	if (strncmp(ref, "#/", 2) != 0)
		return NULL;
	ref += 2;
	for (steps = 0; *ref != '\0' && at != NULL && steps < DEPTH_MAX;
	     steps++)
		at = look_into(r, at) ? step(at, &ref) : NULL;
	return *ref == '\0' ? at : NULL;
}

static void
walk_ref(struct reading *r, const struct cJSON *ref, size_t depth)
{
	const struct cJSON *to;
	size_t i;

	to = find_ref(r, ref->valuestring);
	/* Elsewhere, or nowhere: what it takes is not known. */
	if (to == NULL) {
		r->overrun = 1;
		return;
	}
	for (i = 0; i < r->nrefs; i++)
		if (r->refs[i] == to)
			return;
	if (r->nrefs == DEPTH_MAX) {
		r->overrun = 1;
		return;
	}
	r->refs[r->nrefs++] = to;
	walk(r, to, depth + 1);
	r->nrefs--;
}

/* A reference says the type of what is named. */
static const struct cJSON *
behind_ref(struct reading *r, const struct cJSON *schema)
{
	const struct cJSON *ref = get(schema, "$ref"), *to = NULL;

	if (cJSON_IsString(ref))
		to = find_ref(r, ref->valuestring);
	return cJSON_IsObject(to) ? to : schema;
}

static int
has_from(const struct cJSON *properties)
{
	static const char *const names[] = {"from", "since", "start"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (get(properties, names[i]) != NULL)
			return 1;
	return 0;
}

/* 1 with the name put to the place. */
static int
enter(struct reading *r, const char *name, size_t *before)
{
	size_t n = strlen(name), dot = r->place_len > 0;
	size_t room = sizeof(r->place) - 1 - r->place_len;

	*before = r->place_len;
	if (r->fixed)
		return 1;
	if (room < dot || room - dot < n) {
		r->overrun = 1;
		return 0;
	}
	if (dot)
		r->place[r->place_len++] = '.';
	memcpy(r->place + r->place_len, name, n + 1);
	r->place_len += n;
	return 1;
}

static void
leave(struct reading *r, size_t before)
{
	r->place_len = before;
	r->place[before] = '\0';
}

static int
take_name(struct reading *r, const struct words *name,
	  const struct cJSON *schema)
{
	const struct cJSON *shape = behind_ref(r, schema);
	enum sink_kind kind = SINK_BY_VALUE;
	int taken = 0;

	if (is_fixed(shape))
		return 0;
	if (name_is_path(name, &r->names) && takes_text(shape, 0)) {
		add_path(r);
		taken = 1;
	}
	if ((!r->verbs.deletes || r->verbs.sends) &&
	    name_is_sink(name, &r->names, &kind) &&
	    takes_text(shape, kind == SINK_CONTAINER)) {
		add_sink(r, kind);
		taken = 1;
	}
	return taken;
}

static void
walk_property(struct reading *r, const struct cJSON *p, size_t depth)
{
	struct words name;
	size_t before;

	if (cJSON_IsFalse(p) || p->string == NULL || !look_into(r, p) ||
	    !enter(r, p->string, &before))
		return;
	words_split(&name, p->string, strlen(p->string));
	if (!name_is_question(&name) && !take_name(r, &name, p))
		walk(r, p, depth + 1);
	leave(r, before);
}

/* Who names a repository names its owner beside it. */
static void
complete(struct reading *r, const struct cJSON *properties, size_t before)
{
	const struct cJSON *p;
	struct words name;
	size_t at;

	if (r->e->nsinks == before ||
	    r->e->sinks[r->e->nsinks - 1].kind != SINK_CONTAINER)
		return;
	for (p = properties->child; p != NULL; p = p->next) {
		if (!cJSON_IsObject(p) || p->string == NULL)
			continue;
		words_split(&name, p->string, strlen(p->string));
		if (!name_completes(&name) || !takes_text(p, 0) ||
		    !enter(r, p->string, &at))
			continue;
		add_sink(r, SINK_CONTAINER);
		leave(r, at);
	}
}

static void
walk_properties(struct reading *r, const struct cJSON *properties, size_t depth)
{
	int outer = r->names.beside_from;
	size_t before = r->e->nsinks;
	const struct cJSON *p;
	int inner;

	if (properties == NULL || !look_into(r, properties))
		return;
	inner = has_from(properties);
	for (p = properties->child; p != NULL && !r->overrun; p = p->next) {
		r->names.beside_from = inner;
		walk_property(r, p, depth);
	}
	complete(r, properties, before);
	r->names.beside_from = outer;
}

static void
walk_each(struct reading *r, const struct cJSON *list, size_t depth)
{
	const struct cJSON *one;

	if (!cJSON_IsArray(list) && !cJSON_IsObject(list))
		return;
	for (one = list->child; one != NULL; one = one->next)
		walk(r, one, depth + 1);
}

/* Keys that nobody can name: the place stays where it is. */
static void
walk_unnamed(struct reading *r, const struct cJSON *schema, size_t depth,
	     int many)
{
	int before = r->fixed;

	if (!cJSON_IsObject(schema))
		return;
	r->fixed = r->place_len > 0;
	if (many)
		walk_each(r, schema, depth);
	else
		walk(r, schema, depth + 1);
	r->fixed = before;
}

static void
walk(struct reading *r, const struct cJSON *schema, size_t depth)
{
	static const char *const same[] = {"items",
					   "then",
					   "else",
					   "if",
					   "additionalItems",
					   "contains",
					   "unevaluatedItems"};
	static const char *const lists[] = {
	    "anyOf",       "oneOf", "allOf", "prefixItems", "dependentSchemas",
	    "dependencies"};
	const struct cJSON *item;
	size_t i;

	if (!cJSON_IsObject(schema) || r->overrun)
		return;
	if (depth > DEPTH_MAX || ++r->nodes > NODES_MAX ||
	    !look_into(r, schema)) {
		r->overrun = 1;
		return;
	}
	item = get(schema, "$ref");
	if (cJSON_IsString(item))
		walk_ref(r, item, depth);
	/* They refer to what only whoever validates can know. */
	if (get(schema, "$dynamicRef") != NULL ||
	    get(schema, "$recursiveRef") != NULL)
		r->overrun = 1;
	item = get(schema, "properties");
	if (cJSON_IsObject(item))
		walk_properties(r, item, depth);
	else if (item != NULL && item->child != NULL)
		r->overrun = 1; /* an empty list is PHP's empty object */
	for (i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		item = get(schema, same[i]);
		if (cJSON_IsArray(item))
			walk_each(r, item, depth);
		else
			walk(r, item, depth + 1);
	}
	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		walk_each(r, get(schema, lists[i]), depth);
	walk_unnamed(r, get(schema, "additionalProperties"), depth, 0);
	walk_unnamed(r, get(schema, "unevaluatedProperties"), depth, 0);
	walk_unnamed(r, get(schema, "patternProperties"), depth, 1);
}

/* 1 if one of the tool's own parameters is a text or data. */
static int
has_content(const struct cJSON *schema)
{
	const struct cJSON *p = get(schema, "properties");
	struct words name;

	if (!cJSON_IsObject(p))
		return 0;
	for (p = p->child; p != NULL; p = p->next) {
		if (p->string == NULL)
			continue;
		words_split(&name, p->string, strlen(p->string));
		if (name_is_content(&name) &&
		    (!cJSON_IsObject(p) || takes_text(p, 0)))
			return 1;
	}
	return 0;
}

static struct entry *
new_entry(const char *tool, size_t len)
{
	struct entry *e = xcalloc(1, sizeof(*e));

	entry_init(e);
	e->tool = xmemdupz(tool, len);
	e->tool_len = len;
	return e;
}

struct entry *
fallback_entry(const char *tool, size_t len, const struct cJSON *schema)
{
	struct reading *r = xcalloc(1, sizeof(*r));
	struct entry *e = new_entry(tool, len);

	r->root = schema;
	r->e = e;
	verbs_of(&r->verbs, tool, len);
	words_split(&r->tool, tool, len);
	r->names.verbs = &r->verbs;
	r->names.tool = &r->tool;
	r->names.with_content = has_content(schema);
	walk(r, schema, 0);
	if (r->overrun) {
		/* Without its sinks, so that every argument is one. */
		while (e->nsinks > 0)
			free(e->sinks[--e->nsinks].param);
		e->place[KEY_SINK_PARAMS].given = 0;
		e->exfiltrating = 1;
		give(e, KEY_EXFILTRATING);
	}
	if (r->verbs.deletes) {
		e->max_calls = DELETES_MAX;
		give(e, KEY_MAX_CALLS);
	}
	free(r);
	if (!entry_has(e, KEY_EXFILTRATING) &&
	    !entry_has(e, KEY_WRITE_PARAMS) && !entry_has(e, KEY_MAX_CALLS)) {
		entry_clear(e);
		free(e);
		return NULL;
	}
	return e;
}
