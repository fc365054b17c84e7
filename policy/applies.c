/*
 * Whether a pack's entry is about the tool that a server shows.  Runs in the
 * monitor, on schemas that the server wrote, and in the commands; owns
 * nothing.  What cannot be told counts as yes.
 */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "policy.h"
#include "applies.h"
#include "entry.h"

#define STEPS_MAX 4096u /* places of a schema that one parameter may cost */
#define DEPTH_MAX 8u    /* lists and alternatives within each other */

enum found { FOUND_NO, FOUND_YES, FOUND_UNTOLD };

struct search {
	const char *name; /* what is left of the parameter's name */
	size_t steps, depth;
};

static enum found find_in(const cJSON *schema, struct search s, size_t *steps);

/* The better of two answers: a yes, then "cannot be told". */
static enum found
better(enum found a, enum found b)
{
	if (a == FOUND_YES || b == FOUND_YES)
		return FOUND_YES;
	return a == FOUND_UNTOLD ? a : b;
}

/* By its whole name, else by the part before a dot, and below that. */
static enum found
find_property(const cJSON *properties, struct search s, size_t *steps)
{
	enum found result = FOUND_NO;
	const cJSON *p;
	size_t len;

	for (p = properties != NULL ? properties->child : NULL; p != NULL;
	     p = p->next) {
		if (p->string == NULL)
			continue;
		if (++*steps > STEPS_MAX)
			return FOUND_UNTOLD;
		if (strcmp(p->string, s.name) == 0)
			return FOUND_YES;
		len = strlen(p->string);
		if (strncmp(p->string, s.name, len) != 0 || s.name[len] != '.')
			continue;
		result = better(
		    result,
		    find_in(p, (struct search){s.name + len + 1, 0, s.depth},
			    steps));
	}
	return result;
}

static enum found
find_each(const cJSON *list, struct search s, size_t *steps)
{
	enum found result = FOUND_NO;
	const cJSON *item;

	for (item = list != NULL ? list->child : NULL; item != NULL;
	     item = item->next)
		result = better(result, find_in(item, s, steps));
	return result;
}

/*
 * FOUND_UNTOLD if nothing at this place of the schema says which parameters
 * there are.
 */
static enum found
find_in(const cJSON *schema, struct search s, size_t *steps)
{
	static const char *const within[] = {"items", "anyOf", "oneOf",
					     "allOf"};
	enum found result = FOUND_NO;
	const cJSON *part;
	size_t i, parts = 0;

	if (!cJSON_IsObject(schema))
		return FOUND_UNTOLD;
	if (++*steps > STEPS_MAX || ++s.depth > DEPTH_MAX)
		return FOUND_UNTOLD;
	part = cJSON_GetObjectItemCaseSensitive(schema, "properties");
	if (cJSON_IsObject(part)) {
		result = find_property(part, s, steps);
		parts++;
	}
	for (i = 0; i < sizeof(within) / sizeof(within[0]); i++) {
		part = cJSON_GetObjectItemCaseSensitive(schema, within[i]);
		if (cJSON_IsObject(part))
			result = better(result, find_in(part, s, steps));
		else if (cJSON_IsArray(part))
			result = better(result, find_each(part, s, steps));
		else
			continue;
		parts++;
	}
	return parts > 0 ? result : FOUND_UNTOLD;
}

static int
has_param(const cJSON *schema, const char *name)
{
	size_t steps = 0;

	return find_in(schema, (struct search){name, 0, 0}, &steps) != FOUND_NO;
}

static int
has_one(const cJSON *schema, const struct strings *names)
{
	size_t i;

	for (i = 0; i < names->n; i++)
		if (has_param(schema, names->v[i]))
			return 1;
	return 0;
}

#define LISTS 7

/* Every list of parameters that an entry may have, but sinks and patterns. */
static void
lists_of(const struct entry *e, const struct strings *lists[LISTS])
{
	lists[0] = &e->content_params;
	lists[1] = &e->scan_text;
	lists[2] = &e->write_params;
	lists[3] = &e->read_params;
	lists[4] = &e->deletes;
	lists[5] = &e->changes;
	lists[6] = &e->plain;
}

/* Itself, or something within it. */
static int
names_it(const char *named, const char *property)
{
	size_t len = strlen(property);

	return strncmp(named, property, len) == 0 &&
	       (named[len] == '\0' || named[len] == '.');
}

int
applies_names(const struct entry *e, const char *property)
{
	const struct strings *lists[LISTS];
	size_t i, j;

	lists_of(e, lists);
	for (i = 0; i < LISTS; i++)
		for (j = 0; j < lists[i]->n; j++)
			if (names_it(lists[i]->v[j], property))
				return 1;
	for (i = 0; i < e->nsinks; i++)
		if (names_it(e->sinks[i].param, property))
			return 1;
	for (i = 0; i < e->npatterns; i++)
		if (names_it(e->patterns[i].param, property))
			return 1;
	return 0;
}

int
applies_to_schema(const struct entry *e, const cJSON *schema)
{
	const struct strings *lists[LISTS];
	size_t i;

	if (schema == NULL || !entry_names_params(e))
		return 1;
	lists_of(e, lists);
	for (i = 0; i < LISTS; i++)
		if (has_one(schema, lists[i]))
			return 1;
	for (i = 0; i < e->nsinks; i++)
		if (has_param(schema, e->sinks[i].param))
			return 1;
	for (i = 0; i < e->npatterns; i++)
		if (has_param(schema, e->patterns[i].param))
			return 1;
	return 0;
}

/* 1 if name stands at p and ends there, but for a version: @1.2, ==1.2. */
static int
names(const char *p, const char *name)
{
	size_t len = strlen(name);

	return strncmp(p, name, len) == 0 &&
	       (p[len] == '\0' || p[len] == '@' || p[len] == ':' ||
		(p[len] == '=' && p[len + 1] == '='));
}

/* As names(), but more of a path may follow. */
static int
names_folder(const char *p, const char *name)
{
	return names(p, name) ||
	       (strncmp(p, name, strlen(name)) == 0 && p[strlen(name)] == '/');
}

static int
word_names(const char *word, const char *package)
{
	static const char *const folders[] = {"node_modules/",
					      "site-packages/"};
	const char *base = strrchr(word, '/'), *p;
	size_t i;

	/* --package=NAME */
	if (word[0] == '-' && strchr(word, '=') != NULL)
		word = strchr(word, '=') + 1;
	if (names(word, package) || (base != NULL && names(base + 1, package)))
		return 1;
	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		for (p = strstr(word, folders[i]); p != NULL;
		     p = strstr(p, folders[i])) {
			p += strlen(folders[i]);
			if (names_folder(p, package))
				return 1;
		}
	return 0;
}

int
applies_to_command(char *const *packages, size_t n, const char *const *command)
{
	size_t i, j;

	for (i = 0; command[i] != NULL; i++)
		for (j = 0; j < n; j++)
			if (word_names(command[i], packages[j]))
				return 1;
	return 0;
}
