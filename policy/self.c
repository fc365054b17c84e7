/*
 * The self contract.  Runs in the monitor for every string of every call: an
 * ordinary string costs one readlink(2), and all strings together are bounded
 * in steps.  Names are read in every way a server might (followed link by
 * link, and with ".." taken out first), since one of them is enough.  What is
 * asked is where a name could lead, so a part that cannot be looked at is
 * taken by its text.
 *
 * A guarded file that is a link itself (to a folder of dotfiles, say) is
 * known under both names as long as these end alike; a guarded directory is
 * known under its own.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <cjson/cJSON.h>

#include "proto/alloc.h"

#include "policy.h"
#include "entry.h"
#include "call.h"
#include "args.h"
#include "findings.h"
#include "guard.h"
#include "path.h"
#include "self.h"
#include "verbs.h"
#include "view.h"

enum hit {
	HIT_NOT,
	HIT_START,
	HIT_CLIENT,
	HIT_PROCESS,
	HIT_RING,
	HIT_OWN,
	HIT_ABOVE
};

struct self {
	const struct policy_places *places;
	struct findings *f;
	enum self_use use;
	int above;                     /* 1: ask, 2: deny what has ours in it */
	int cwd_known;                 /* cwd_guard is set */
	const struct guard *cwd_guard; /* the server's directory is in it */
	size_t starts;                 /* that a relative name has */
	size_t steps;                  /* calls of readlink */
	size_t passed;                 /* places */
	int exhausted;
	enum hit hit; /* the worst of this string */
	int unsure;   /* a ~user, which is ours or not: ask */
	size_t home_len;
	int home_known;
	/* What is large is not set before it is used: there is one of these
	 * for every call. */
	char home[PATH_BYTES_MAX + 1]; /* resolved */
	struct path_walk walk;
};

static struct self *
self_new(const struct policy_places *places, struct findings *f)
{
	struct self *s = xreallocarray(NULL, 1, sizeof(*s));

	memset(s, 0, offsetof(struct self, home));
	s->places = places;
	s->f = f;
	s->starts = 1 + places->base_count;
	if (s->starts > SELF_STARTS_MAX)
		s->starts = SELF_STARTS_MAX;
	return s;
}

static enum path_status
walk(struct self *s, struct path_walk *w, path_visit_fn *visit,
     const char *start, const char *text, size_t len)
{
	w->places = s->places;
	w->loose = 1;
	w->visit = visit;
	w->arg = s;
	w->steps = &s->steps;
	return path_walk(w, start, text, len);
}

/* Stops a walk that has no other end in sight. */
static int
visit_only(void *arg, const char *path, size_t len)
{
	struct self *s = arg;

	(void)path;
	(void)len;
	s->passed++;
	if (s->steps / s->starts > SELF_STEPS_MAX ||
	    s->passed / s->starts > SELF_PLACES_MAX)
		s->exhausted = 1;
	return s->exhausted;
}

/* A walk within a walk; only needed where a name looks guarded. */
static size_t
resolve_apart(struct self *s, const char *text, char *out, size_t size)
{
	struct path_walk *w = xcalloc(1, sizeof(*w));
	size_t n = 0;

	if (walk(s, w, visit_only, "/", text, strlen(text)) == PATH_RESOLVED &&
	    w->len < size) {
		memcpy(out, w->path, w->len + 1);
		n = w->len;
	}
	free(w);
	return n;
}

/* The person's home, resolved, or NULL. */
static const char *
home_of(struct self *s)
{
	if (!s->home_known) {
		s->home_known = 1;
		if (s->places->home != NULL && s->places->home[0] == '/')
			s->home_len = resolve_apart(s, s->places->home, s->home,
						    sizeof(s->home));
	}
	return s->home_len > 1 ? s->home : NULL;
}

static size_t
parts(const char *path, size_t len)
{
	size_t i, n = 0;

	for (i = 0; i < len; i++)
		n += path[i] == '/';
	return n;
}

static int
is_home(struct self *s, const char *path, size_t len)
{
	const char *home = home_of(s);

	if (home != NULL && s->home_len == len && memcmp(home, path, len) == 0)
		return 1;
	if (home != NULL && s->walk.missing > 0 &&
	    path_maybe_below(path, len, home) &&
	    parts(path, len) == parts(home, s->home_len))
		return 1;
	/* As it was given, too: a link on the way may be unreadable. */
	return s->places->home != NULL && strlen(s->places->home) == len &&
	       memcmp(s->places->home, path, len) == 0;
}

static void
note(struct self *s, enum hit hit)
{
	if (hit > s->hit)
		s->hit = hit;
}

static void
note_guard(struct self *s, const struct guard *g)
{
	if (g->what == GUARD_CLIENT)
		note(s, HIT_CLIENT);
	else if (s->use != SELF_READS)
		note(s, HIT_START);
}

/* One place on the way; not 0 if nothing worse can come. */
static int
visit(void *arg, const char *path, size_t len)
{
	struct self *s = arg;
	const struct guard *g = NULL;
	size_t i, root = 0;

	if (visit_only(arg, path, len))
		return 1;
	for (i = 0; i < s->places->own_count; i++)
		if (path_is_below(path, len, s->places->own[i],
				  strlen(s->places->own[i])) ||
		    (s->walk.missing > 0 &&
		     path_maybe_below(path, len, s->places->own[i])))
			note(s, HIT_OWN);
	if (guard_is_process(path, len))
		note(s, HIT_PROCESS);
	while ((g = guard_match(g, path, len, &root)) != NULL)
		if (g->where != GUARD_HOME || is_home(s, path, root))
			note_guard(s, g);
	return s->hit >= HIT_CLIENT;
}

/* 1 if the guarded name ends in base, but for a dot before it. */
static int
ends_like(const struct guard *g, const char *base, size_t n)
{
	const char *name = memrchr(g->name, '/', g->len);

	name = name == NULL ? g->name : name + 1;
	if (name[0] == '.' && base[0] != '.')
		name++;
	return strlen(name) == n && memcmp(name, base, n) == 0;
}

/* A guarded file of the home that is a link to what the walk has reached. */
static void
look_behind(struct self *s)
{
	char guarded[PATH_BYTES_MAX + 1], real[PATH_BYTES_MAX + 1];
	const struct path_walk *w = &s->walk;
	const char *base = memrchr(w->path, '/', w->len);
	const struct guard *g = NULL;
	size_t n;

	if (base == NULL || base[1] == '\0')
		return;
	base++;
	while ((g = guard_next(g)) != NULL) {
		n = w->len - (size_t)(base - w->path);
		if (g->where == GUARD_ROOT || !ends_like(g, base, n) ||
		    home_of(s) == NULL ||
		    s->home_len + 1 + g->len > PATH_BYTES_MAX)
			continue;
		memcpy(guarded, s->home, s->home_len);
		guarded[s->home_len] = '/';
		memcpy(guarded + s->home_len + 1, g->name, g->len + 1);
		n = resolve_apart(s, guarded, real, sizeof(real));
		if (n == w->len && memcmp(real, w->path, n) == 0)
			note_guard(s, g);
	}
}

/* A whole directory that has something of ours in it. */
static void
look_above(struct self *s)
{
	const struct path_walk *w = &s->walk;
	const struct guard *g = NULL;
	const char *home, *below;
	size_t i, n;

	for (i = 0; i < s->places->own_count; i++)
		if (path_is_below(s->places->own[i], strlen(s->places->own[i]),
				  w->path, w->len))
			note(s, HIT_ABOVE);
	home = home_of(s);
	if (home == NULL)
		return;
	if (path_is_below(home, s->home_len, w->path, w->len)) {
		note(s, HIT_ABOVE);
		return;
	}
	if (!path_is_below(w->path, w->len, home, s->home_len))
		return;
	below = w->path + s->home_len + 1;
	n = strlen(below);
	while ((g = guard_next(g)) != NULL)
		if (g->where != GUARD_ROOT && g->len > n &&
		    memcmp(g->name, below, n) == 0 && g->name[n] == '/')
			note(s,
			     g->what == GUARD_CLIENT ? HIT_ABOVE : HIT_START);
}

/* A directory that names are relative to may be in a guarded one. */
static const struct guard *
guard_around(struct self *s, const char *dir)
{
	const struct guard *g, *found = NULL;
	size_t i, root = 0;

	for (i = 1; i <= strlen(dir); i++) {
		if (dir[i] != '/' && dir[i] != '\0')
			continue;
		g = NULL;
		while ((g = guard_match(g, dir, i, &root)) != NULL)
			if (g->where != GUARD_HOME || is_home(s, dir, root))
				found = g;
	}
	return found;
}

/* Follows one reading of a name. */
static void
follow(struct self *s, const char *start, const char *text, size_t len)
{
	struct path_walk *w = &s->walk;

	if (s->exhausted)
		return;
	switch (walk(s, w, visit, start, text, len)) {
	case PATH_STOPPED:
		return;
	case PATH_REFUSED:
		/* A ring of links is no ordinary name, and leads the kernel
		 * nowhere, but a server with a realpath of its own perhaps. */
		if (w->links > PATH_LINKS_MAX)
			note(s, HIT_RING);
		return;
	case PATH_RESOLVED:
		break;
	}
	/* Where it began, for "." and for what ends in "..". */
	if (visit(s, w->path, w->len))
		return;
	if (w->missing == 0)
		look_behind(s);
	if (s->above > 0)
		look_above(s);
}

/*
 * A name below start, in both readings.  One that is longer than a path can
 * be is none, but what is left of it without its ".." may be one.
 */
static void
check_name(struct self *s, const char *start, const char *text, size_t len)
{
	char plain[PATH_BYTES_MAX + 1];
	char *whole;
	size_t n, start_len = strlen(start);

	if (len <= PATH_BYTES_MAX)
		follow(s, start, text, len);
	if (len <= PATH_BYTES_MAX && !path_has_dotdot(text, len))
		return;
	if (text[0] == '/')
		start_len = 0;
	/* A long text fits no better with something before it. */
	if (path_lexical(text, len, plain, sizeof(plain)) == 0)
		return;
	whole = xasprintf("%.*s/%.*s", (int)start_len, start, (int)len, text);
	n = path_lexical(whole, strlen(whole), plain, sizeof(plain));
	free(whole);
	if (n > 0)
		follow(s, "/", plain, n);
}

static int
starts(const char *text, size_t len, const char *with)
{
	size_t n = strlen(with);

	return len >= n && memcmp(text, with, n) == 0 &&
	       (len == n || text[n] == '/');
}

/* "~", "~/x", "~user/x", "$HOME/x": how long the part is that stands for a
 * home; 0 if there is none. */
static size_t
home_part(const char *text, size_t len, int *unsure)
{
	size_t n;

	*unsure = 0;
	if (starts(text, len, "$HOME"))
		return 5;
	if (starts(text, len, "${HOME}"))
		return 7;
	if (text[0] != '~')
		return 0;
	for (n = 1; n < len && text[n] != '/'; n++)
		if (text[n] <= ' ' || n > 64)
			return 0;
	*unsure = n > 1;
	return n;
}

/*
 * A relative name, from everywhere that the server may start at: a file
 * server takes names below the directories it was given, not below its own.
 */
static void
check_relative(struct self *s, const char *text, size_t len)
{
	const struct policy_places *p = s->places;
	const struct guard *g;
	size_t i;

	if (p->cwd != NULL && p->cwd[0] == '/') {
		if (!s->cwd_known)
			s->cwd_guard = guard_around(s, p->cwd);
		s->cwd_known = 1;
		if (s->cwd_guard != NULL)
			note_guard(s, s->cwd_guard);
		check_name(s, p->cwd, text, len);
	}
	for (i = 0; i < p->base_count && s->hit < HIT_CLIENT; i++) {
		g = guard_around(s, p->bases[i]);
		if (g != NULL)
			note_guard(s, g);
		check_name(s, p->bases[i], text, len);
	}
}

/* A name that is no URL. */
static void
check_plain(struct self *s, const char *text, size_t len)
{
	char out[PATH_SHORT_MAX];
	size_t n = 0;

	if (len == 0)
		return;
	if (text[0] == '/') {
		check_name(s, "/", text, len);
		return;
	}
	n = home_part(text, len, &s->unsure);
	if (n > 0 && home_of(s) != NULL) {
		while (n < len && text[n] == '/')
			n++;
		check_name(s, s->home, text + n, len - n);
		if (s->hit != HIT_NOT)
			return;
	}
	s->unsure = 0;
	if (len > PATH_BYTES_MAX) { /* once, not from each start anew */
		len = path_shorten(text, len, out);
		text = out;
	}
	if (len > 0)
		check_relative(s, text, len);
}

/* Decoded, and as those take it who only cut off what it starts with. */
static void
check_url(struct self *s, const char *text)
{
	size_t n, end;
	char *path = path_of_url(text, &end);

	n = strlen(path);
	check_name(s, "/", path, n);
	if (end > 0 && end < n)
		check_name(s, "/", path, end);
	free(path);
	if (s->hit < HIT_CLIENT)
		check_plain(s, text, strlen(text));
	if (s->hit < HIT_CLIENT && strncmp(text, "//", 2) == 0)
		check_plain(s, text + 2, strlen(text + 2));
}

static void
check_reading(struct self *s, const char *text, size_t len)
{
	char *url = path_tidy_url(text, len);

	if (url != NULL)
		check_url(s, url);
	free(url);
	if (s->hit < HIT_CLIENT)
		check_plain(s, text, len);
}

/* The text as it is, and as a server that tidies it up takes it. */
static void
check_spelling(struct self *s, const char *text)
{
	size_t len = strlen(text), n = len;
	const char *p = path_trim(text, &n);

	if (n < len && len <= PATH_BYTES_MAX)
		check_reading(s, text, len);
	if (s->hit < HIT_CLIENT)
		check_reading(s, p, n);
}

static void
check_string(struct self *s, const char *text)
{
	char *other;

	s->hit = HIT_NOT;
	s->unsure = 0;
	check_spelling(s, text);
	if (s->hit >= HIT_CLIENT || strlen(text) > PATH_BYTES_MAX)
		return;
	other = path_in_ascii(text);
	if (other != NULL)
		check_spelling(s, other);
	free(other);
}

static const char *
hit_reason(enum hit hit)
{
	switch (hit) {
	case HIT_OWN:
		return "leads into Doorward's own files";
	case HIT_ABOVE:
		return "has Doorward's own or a client's files in it";
	case HIT_CLIENT:
		return "is a file in which a client keeps its servers";
	case HIT_PROCESS:
		return "leads into a process";
	case HIT_RING:
		return "leads from link to link without an end";
	case HIT_START:
		return "is run by itself when you log in or work";
	case HIT_NOT:
		break;
	}
	return "is guarded";
}

static void
say(struct self *s, enum policy_action action, int always, char *param,
    char *reason)
{
	size_t before = s->f->n;

	findings_say(s->f, CONTRACT_SELF, action, "self", param, reason);
	if (s->f->n > before)
		s->f->v[s->f->n - 1].always = always;
}

static void
report(struct self *s, const struct args_find *at, const struct args_walk *w,
       const char *text)
{
	int ask = s->unsure || s->hit == HIT_START ||
		  (s->hit == HIT_ABOVE && s->above < 2);
	struct shown_text t;

	if (s->hit == HIT_NOT)
		return;
	say(s, ask ? ACTION_ASK : ACTION_BLOCK, !ask, args_place(at, w),
	    xasprintf("\"%s\" %s", shown(&t, text, strlen(text)),
		      hit_reason(s->hit)));
}

/* A key that may be meant as a path.  Those of the call itself are names of
 * parameters, unless they look otherwise. */
static const char *
key_of(const struct args_walk *w, const struct args_find *at)
{
	const char *key = w->item->string;

	if (w->depth < 2 || w->step[w->depth - 1].in_list || key == NULL)
		return NULL;
	if (at == NULL && w->depth == 2 && key[0] != '.' && key[0] != '~' &&
	    strchr(key, '/') == NULL)
		return NULL;
	return key;
}

/* Every string and key in a value. */
static void
check_value(struct self *s, const struct args_find *at,
	    const struct cJSON *value)
{
	struct args_walk w;
	const char *key;

	args_walk_init(&w, value);
	while (!s->exhausted &&
	       !findings_full(s->f, CONTRACT_SELF, ACTION_BLOCK) &&
	       args_next(&w)) {
		key = key_of(&w, at);
		if (key != NULL) {
			check_string(s, key);
			report(s, at, &w, key);
		}
		if (cJSON_IsString(w.item)) {
			check_string(s, w.item->valuestring);
			report(s, at, &w, w.item->valuestring);
		}
	}
	if (w.too_deep)
		say(s, ACTION_BLOCK, 1, args_place(at, &w),
		    xstrdup("nested too deep"));
	if (s->exhausted)
		say(s, ACTION_BLOCK, 1, NULL,
		    xstrdup("more paths in one call than can be followed"));
}

static int
has_places(const struct policy_places *places)
{
	return places != NULL && places->readlink != NULL;
}

void
self_judge_value(const struct policy_places *places, const struct cJSON *value,
		 enum self_use use, struct findings *f)
{
	struct self *s;

	if (!has_places(places) || value == NULL)
		return;
	s = self_new(places, f);
	s->use = use;
	s->above = use == SELF_MOVES ? 2 : 0;
	check_value(s, NULL, value);
	free(s);
}

void
policy_judge_self(const struct policy_places *places, const struct cJSON *value,
		  int writes, struct findings *f)
{
	self_judge_value(places, value, writes ? SELF_WRITES : SELF_READS, f);
}

/* The parameters that an entry names. */
static void
check_params(struct self *s, const struct strings *names,
	     const struct cJSON *args, enum self_use use)
{
	struct args_find at;
	size_t i;

	s->use = use;
	s->above = use == SELF_MOVES ? 2 : 1;
	for (i = 0; i < names->n; i++) {
		args_find_init(&at, args, names->v[i]);
		while (args_find_next(&at))
			check_value(s, &at, at.value);
	}
}

/* 1 if an entry says what its tool does with paths. */
static int
speaks_of_paths(const struct entry *e)
{
	return entry_has(e, KEY_WRITE_PARAMS) ||
	       entry_has(e, KEY_READ_PARAMS) || entry_has(e, KEY_DELETES) ||
	       entry_has(e, KEY_PLAIN);
}

/* What is done with a string that no entry calls written. */
static enum self_use
use_of_others(const struct policy_view *v, const struct verbs *verbs)
{
	size_t i, n = policy_view_count(v);

	for (i = 0; i < n; i++)
		if (!speaks_of_paths(policy_view_entry(v, i)))
			break;
	if (n > 0 && i == n)
		return SELF_READS;
	return verbs->reads ? SELF_READS : SELF_WRITES;
}

void
self_judge(const struct policy_view *v, const struct policy_call *c,
	   struct findings *f)
{
	const struct entry *e;
	const struct verbs *verbs = policy_view_verbs(v);
	struct self *s;
	size_t i;

	if (!has_places(c->places) || c->args == NULL)
		return;
	s = self_new(c->places, f);
	for (i = 0; i < policy_view_count(v); i++) {
		e = policy_view_entry(v, i);
		check_params(s, &e->write_params, c->args,
			     verbs->moves ? SELF_MOVES : SELF_WRITES);
		check_params(s, &e->deletes, c->args, SELF_MOVES);
	}
	s->use = use_of_others(v, verbs);
	s->above = s->use != SELF_READS && verbs->moves ? 2 : 0;
	check_value(s, NULL, c->args);
	free(s);
}
