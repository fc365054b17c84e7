/*
 * The path contract: every path of a write parameter inside a prefix.  Runs
 * in the monitor for every call that an entry with prefixes speaks of.
 */
#include <stdlib.h>
#include <string.h>
#include <cjson/cJSON.h>

#include "proto/alloc.h"

#include "policy.h"
#include "entry.h"
#include "call.h"
#include "args.h"
#include "findings.h"
#include "guard.h"
#include "path.h"

#define STEPS_MAX 200000u /* calls of readlink for one entry */

/* Where one argument leads. */
struct target {
	char *path; /* resolved */
	size_t len;
	char *param; /* its place */
	char *given; /* the argument, safe to show */
	int same;    /* given and path are one text */
	int inside, is_prefix;
};

struct check {
	const struct entry *e;
	const struct policy_call *call;
	struct findings *f;
	struct target *v;
	size_t n, room;
	size_t steps;
	int broken; /* a prefix could not be followed */
	struct path_walk walk;
};

static void
deny(struct check *k, char *param, char *reason)
{
	findings_of_entry(k->f, CONTRACT_PATH, ACTION_BLOCK, k->e,
			  KEY_ALLOWED_PATH_PREFIXES, param, reason);
}

static void
deny_text(struct check *k, const struct args_find *at,
	  const struct args_walk *w, const char *text, const char *why)
{
	struct shown_text s;

	deny(k, args_place(at, w),
	     xasprintf("the path \"%s\" is ambiguous: %s",
		       shown(&s, text, strlen(text)), why));
}

/* Another process sees something else there, or the same process later. */
static int
stop_at_process(void *arg, const char *path, size_t len)
{
	struct check *k = arg;

	if (k->steps > STEPS_MAX)
		return 1;
	return guard_is_process(path, len);
}

/* The name followed from the root; NULL, or why it cannot be. */
static const char *
resolve(struct check *k, const char *text, size_t len)
{
	struct path_walk *w = &k->walk;

	w->places = k->call->places;
	w->loose = 0;
	w->visit = stop_at_process;
	w->arg = k;
	w->steps = &k->steps;
	switch (path_walk(w, "/", text, len)) {
	case PATH_RESOLVED:
		return NULL;
	case PATH_REFUSED:
		return w->why;
	case PATH_STOPPED:
		break;
	}
	if (k->steps > STEPS_MAX)
		return "too much to follow in one call";
	return "it leads through what belongs to one process";
}

static void
add_target(struct check *k, const struct args_find *at,
	   const struct args_walk *w, const char *given)
{
	struct shown_text s;
	struct target *t;

	if (k->n == k->room) {
		k->room = k->room == 0 ? 8 : k->room * 2;
		k->v = xreallocarray(k->v, k->room, sizeof(*k->v));
	}
	t = &k->v[k->n++];
	memset(t, 0, sizeof(*t));
	t->path = xmemdupz(k->walk.path, k->walk.len);
	t->len = k->walk.len;
	t->param = args_place(at, w);
	t->given = xstrdup(shown(&s, given, strlen(given)));
	t->same = strcmp(t->path, given) == 0;
}

/* An absolute name; both ways of reading its ".." have to be inside. */
static void
take_absolute(struct check *k, const struct args_find *at,
	      const struct args_walk *w, const char *given, const char *path,
	      size_t len)
{
	char plain[PATH_BYTES_MAX + 1];
	const char *why = resolve(k, path, len);
	size_t n;

	if (why == NULL)
		add_target(k, at, w, given);
	if (why == NULL && path_has_dotdot(path, len)) {
		n = path_lexical(path, len, plain, sizeof(plain));
		why = n == 0 ? "too long" : resolve(k, plain, n);
		if (why == NULL)
			add_target(k, at, w, given);
	}
	if (why != NULL)
		deny_text(k, at, w, given, why);
}

static void
take_string(struct check *k, const struct args_find *at,
	    const struct args_walk *w, const char *given)
{
	char path[2 * (PATH_BYTES_MAX + 1)];
	const char *text = given, *why = NULL, *base = k->e->base;
	size_t len = strlen(given), n = 0;
	int url = path_from_url(given, len, path, PATH_BYTES_MAX, &n, &why);

	if (url > 0) {
		text = path;
		len = n;
	}
	if (url >= 0)
		why = path_ambiguity(text, len);
	if (why == NULL && text[0] != '/') {
		if (base == NULL || base[0] != '/')
			why = "relative, and the entry has no base";
		else if (strlen(base) > PATH_BYTES_MAX)
			why = "too long";
	}
	if (why != NULL) {
		deny_text(k, at, w, given, why);
		return;
	}
	if (text[0] != '/') {
		n = strlen(base);
		memcpy(path, base, n);
		path[n++] = '/';
		memcpy(path + n, text, len);
		text = path;
		len += n;
	}
	take_absolute(k, at, w, given, text, len);
}

/* A key is a path for some servers ({"/a/b": "content"}). */
static void
take_key(struct check *k, const struct args_find *at, const struct args_walk *w)
{
	const struct args_step *s = &w->step[w->depth - 1];
	const char *key = s->at->string;

	if (w->depth < 2 || s->in_list || key == NULL)
		return;
	if (strchr(key, '/') != NULL || key[0] == '~' || strcmp(key, "..") == 0)
		take_string(k, at, w, key);
}

static void
take_value(struct check *k, const struct args_find *at)
{
	struct args_walk w;

	args_walk_init(&w, at->value);
	while (args_next(&w)) {
		if (findings_full(k->f, CONTRACT_PATH, ACTION_BLOCK))
			return;
		if (k->n >= PATH_TARGETS_MAX) {
			deny(k, args_place(at, &w),
			     xasprintf("more than %u paths in one call",
				       PATH_TARGETS_MAX));
			return;
		}
		take_key(k, at, &w);
		if (cJSON_IsString(w.item))
			take_string(k, at, &w, w.item->valuestring);
		else if (!cJSON_IsNull(w.item) && !cJSON_IsObject(w.item) &&
			 !cJSON_IsArray(w.item))
			deny(k, args_place(at, &w),
			     xasprintf("%s where a path is expected, which is "
				       "a text",
				       cJSON_IsBool(w.item) ? "true or false"
							    : "a number"));
	}
	if (w.too_deep)
		deny(k, args_place(at, &w), xstrdup("nested too deep"));
}

static void
take_params(struct check *k)
{
	struct args_find at;
	size_t i;

	for (i = 0; i < k->e->write_params.n; i++) {
		args_find_init(&at, k->call->args, k->e->write_params.v[i]);
		while (args_find_next(&at))
			take_value(k, &at);
		if (at.too_deep)
			deny(k, xstrdup(k->e->write_params.v[i]),
			     xstrdup("nested too deep"));
	}
}

/* Prefixes are followed now, as the paths are: one may be a link. */
static void
compare(struct check *k)
{
	const struct strings *prefixes = &k->e->prefixes;
	struct target *t;
	size_t i, j;

	k->steps = 0;
	for (i = 0; i < prefixes->n; i++) {
		if (resolve(k, prefixes->v[i], strlen(prefixes->v[i])) !=
		    NULL) {
			k->broken = 1;
			continue;
		}
		for (j = 0; j < k->n; j++) {
			t = &k->v[j];
			if (!path_is_below(t->path, t->len, k->walk.path,
					   k->walk.len))
				continue;
			t->inside = 1;
			if (t->len == k->walk.len)
				t->is_prefix = 1;
		}
	}
}

static void
judge_target(struct check *k, const struct target *t)
{
	struct shown_text s;
	const char *where = shown(&s, t->path, t->len);
	const char *broken =
	    k->broken ? " (one of them cannot be followed)" : "";

	if (t->inside && !t->is_prefix)
		return;
	if (t->is_prefix)
		deny(k, xstrdup(t->param),
		     xasprintf("\"%s\" is an allowed folder itself; only "
			       "what is in it may be written",
			       t->given));
	else if (t->same)
		deny(k, xstrdup(t->param),
		     xasprintf("\"%s\" is outside the allowed folders%s",
			       t->given, broken));
	else
		deny(k, xstrdup(t->param),
		     xasprintf("\"%s\" leads to %s, which is outside the "
			       "allowed folders%s",
			       t->given, where, broken));
}

void
path_judge(const struct entry *e, const struct policy_call *c,
	   struct findings *f)
{
	struct check *k;
	size_t i;

	/* A list that was given and is empty allows nothing; Bouncer's default
	 * is an empty list. */
	if (e->prefixes.n == 0 &&
	    (!entry_has(e, KEY_ALLOWED_PATH_PREFIXES) ||
	     e->place[KEY_ALLOWED_PATH_PREFIXES].format == FORMAT_BOUNCER))
		return;
	if (c->args == NULL || e->write_params.n == 0)
		return;
	if (c->places == NULL || c->places->readlink == NULL) {
		findings_of_entry(f, CONTRACT_PATH, ACTION_BLOCK, e,
				  KEY_ALLOWED_PATH_PREFIXES, NULL,
				  xstrdup("paths cannot be followed here"));
		return;
	}
	k = xcalloc(1, sizeof(*k));
	k->e = e;
	k->call = c;
	k->f = f;
	take_params(k);
	if (k->n > 0)
		compare(k);
	for (i = 0; i < k->n; i++) {
		judge_target(k, &k->v[i]);
		free(k->v[i].path);
		free(k->v[i].param);
		free(k->v[i].given);
	}
	free(k->v);
	free(k);
}
