/*
 * Storing what a server shows: what may be trusted at first sight is pinned,
 * what differs waits for a person.  Runs in the monitor.  Definitions, names
 * and texts are the server's; they are sorted, never compared each with each.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "proto/alloc.h"
#include "proto/buf.h"

#include "canon.h"
#include "order.h"
#include "pins.h"
#include "pins_model.h"

/* A definition on its way in. */
struct seen {
	char *name; /* token; becomes an entry's, or is freed */
	char hash[PINS_HEX];
	const struct cJSON *definition;
};

struct storing {
	struct pins_data *d;
	struct pin_set *set;
	int first;   /* what is seen first is trusted */
	int was;     /* the set was known before */
	int changed; /* there is something to write */
	char now[PINS_TIME];
	struct pin_entry *added; /* to be put into the set */
	size_t nadded;
};

static int
by_name(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int
by_hash(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	return strcmp(x->hash, y->hash);
}

static int
defs_by_hash(const void *a, const void *b)
{
	const struct pin_def *x = a, *y = b;

	return strcmp(x->hash, y->hash);
}

/* Definitions that are not there yet; those that nothing comes to refer to
 * are dropped afterwards. */
static void
add_defs(struct pins_data *d, const void **seen, size_t n)
{
	const struct seen *s, *last = NULL;
	struct pin_def *def;
	const size_t before = d->ndefs;
	size_t i, total = before;
	const void **v;

	order_sort(seen, n, by_hash);
	v = xcalloc(before + n + 1, sizeof(*v));
	for (i = 0; i < before; i++)
		v[i] = d->defs[i];
	for (i = 0; i < n; i++) {
		s = seen[i];
		if ((last != NULL && strcmp(last->hash, s->hash) == 0) ||
		    pins_find_def(d, s->hash) != NULL)
			continue;
		def = xcalloc(1, sizeof(*def));
		memcpy(def->hash, s->hash, sizeof(def->hash));
		def->source = s->definition;
		v[total++] = def;
		last = s;
	}
	order_sort(v, total, defs_by_hash);
	d->defs = xreallocarray(d->defs, total + 1, sizeof(struct pin_def *));
	memcpy(d->defs, v, total * sizeof(*v));
	d->ndefs = total;
	free(v);
}

static void
fill_def(struct pin_def *def)
{
	struct buf b = BUF_INIT;
	char *what;

	if (def->source == NULL)
		return;
	if (canon_flatten(&b, def->source, PINS_FLAT_MAX) == 0) {
		def->len = buf_used(&b);
		def->lines = xmemdupz(buf_head(&b), def->len);
	}
	if (pins_suspicious(def->source, &what)) {
		def->flagged = token_new(what, strlen(what), PINS_TEXT_MAX);
		free(what);
	}
	def->source = NULL;
	buf_free(&b);
}

/* Only of what is kept: a stranger's other definitions cost nothing. */
static void
fill_defs(struct pins_data *d)
{
	size_t i;

	for (i = 0; i < d->ndefs; i++)
		fill_def(d->defs[i]);
}

/* The set's entry of the name, or a new one that is put there at the end. */
static struct pin_entry *
entry_for(struct storing *st, struct seen *s)
{
	struct pin_entry *e = pins_find_entry(st->set, s->name);

	if (e != NULL)
		return e;
	e = &st->added[st->nadded++];
	*e = (struct pin_entry){.name = s->name};
	s->name = NULL;
	return e;
}

static void
wait_for_person(struct storing *st, struct seen *s, struct pin_def *def,
		int is_new)
{
	struct pin_entry *e = entry_for(st, s);

	if (e->wait == def)
		return;
	e->wait = def;
	e->wait_new = is_new;
	memcpy(e->time, st->now, sizeof(e->time));
	/* It was no more decided on than the rest of a set not seen. */
	if (e->pin == NULL && !st->was)
		e->open = 1;
	st->changed = 1;
}

static void
store_one(struct storing *st, struct seen *s)
{
	struct pin_def *def = pins_find_def(st->d, s->hash);
	struct pin_entry *e;

	switch ((enum pin_sight)pins_judge(st->d, st->set, s->name, s->hash)) {
	case PIN_SAME:
		break;
	case PIN_FIRST:
		if (!st->first)
			break;
		e = entry_for(st, s);
		e->pin = def;
		e->wait = NULL;
		e->open = 0;
		st->changed = 1;
		break;
	case PIN_NEW:
		wait_for_person(st, s, def, 1);
		break;
	case PIN_CHANGED:
		wait_for_person(st, s, def, 0);
		break;
	}
}

static int
entries_by_name(const void *a, const void *b)
{
	const struct pin_entry *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static void
put_added(struct storing *st)
{
	struct pin_set *s = st->set;
	struct pin_entry *all;
	const void **v;
	size_t i, n = s->n + st->nadded;

	if (st->nadded == 0)
		return;
	v = xcalloc(n, sizeof(*v));
	for (i = 0; i < n; i++)
		v[i] = i < s->n ? &s->e[i] : &st->added[i - s->n];
	order_sort(v, n, entries_by_name);
	all = xcalloc(n, sizeof(*all));
	for (i = 0; i < n; i++)
		all[i] = *(const struct pin_entry *)v[i];
	free(v);
	free(s->e);
	s->e = all;
	s->n = n;
}

/* The set of k, made if it is not there; NULL if there are too many. */
static struct pin_set *
set_for(struct storing *st, const struct pin_key *k)
{
	struct pins_data *d = st->d;
	struct pin_set *s = pins_find_set(d, k->era, k->caps);

	if (s != NULL || d->nsets == PINS_SETS_MAX)
		return s;
	d->sets = xreallocarray(d->sets, d->nsets + 1, sizeof(*s));
	s = &d->sets[d->nsets++];
	memset(s, 0, sizeof(*s));
	memcpy(s->era, k->era, strlen(k->era) + 1);
	memcpy(s->caps, k->caps, sizeof(s->caps));
	memcpy(s->time, st->now, sizeof(s->time));
	return s;
}

static void
store_value(struct storing *st, enum pin_kind kind, char *token)
{
	struct pin_values *v = &st->d->values[kind];
	struct pin_value *to = NULL;

	if (v->n == 0 && st->first) {
		v->v = xreallocarray(v->v, 1, sizeof(*v->v));
		to = &v->v[v->n++];
		to->token = NULL;
	} else if (v->n > 0 && !pins_value_known(v, token) &&
		   (v->wait.token == NULL ||
		    strcmp(v->wait.token, token) != 0)) {
		to = &v->wait;
	}
	if (to == NULL) {
		free(token);
		return;
	}
	free(to->token);
	to->token = token;
	memcpy(to->time, st->now, sizeof(to->time));
	st->changed = 1;
}

/*
 * That a server has no instructions is pinned as well: those that come later
 * are a change.  Those that go are none.
 */
static void
store_facts(struct storing *st, const struct pin_facts *f)
{
	const char *text = f->instructions != NULL ? f->instructions : "";
	size_t len = f->instructions != NULL ? f->instructions_len : 0;

	store_value(st, PIN_COMMAND, token_of_command(f->command));
	if (f->version != NULL && f->version_len > 0)
		store_value(
		    st, PIN_VERSION,
		    token_new(f->version, f->version_len, PINS_TEXT_MAX));
	if (len > 0 || st->d->values[PIN_INSTRUCTIONS].n == 0)
		store_value(st, PIN_INSTRUCTIONS,
			    token_new(text, len, PINS_TEXT_MAX));
}

/* An open set that says nothing is none. */
static void
drop_empty(struct pins_data *d)
{
	size_t i, left = 0;

	for (i = 0; i < d->nsets; i++) {
		if (d->sets[i].known || d->sets[i].n > 0)
			d->sets[left++] = d->sets[i];
		else
			free(d->sets[i].e);
	}
	d->nsets = left;
}

static int
merge(struct storing *st, const struct pin_key *k, struct seen *seen,
      const void **order, size_t n, char **why)
{
	size_t i;

	st->set = set_for(st, k);
	if (st->set == NULL) {
		*why = xasprintf("%s has pins for %u kinds of clients, and no "
				 "more are kept: forget it",
				 st->d->server, PINS_SETS_MAX);
		return -1;
	}
	st->was = st->set->known;
	if (st->first && !st->was)
		st->changed = 1;
	add_defs(st->d, order, n);
	st->added = xcalloc(n + 1, sizeof(*st->added));
	for (i = 0; i < n; i++)
		store_one(st, &seen[i]);
	put_added(st);
	free(st->added);
	st->set->known |= st->first;
	drop_empty(st->d);
	pins_drop_unused(st->d);
	fill_defs(st->d);
	return 0;
}

/* 0, or -1 with *why: two tools of one name, and who knows which is meant. */
static int
look_at(const struct pin_tool *tools, size_t n, struct seen *seen,
	const void **order, char **why)
{
	const struct seen *a, *b;
	size_t i;

	for (i = 0; i < n; i++) {
		seen[i].name = token_of_name(tools[i].name, tools[i].len);
		seen[i].definition = tools[i].definition;
		canon_hash(tools[i].definition, seen[i].hash);
		order[i] = &seen[i];
	}
	order_sort(order, n, by_name);
	for (i = 1; i < n; i++) {
		a = order[i - 1];
		b = order[i];
		if (strcmp(a->name, b->name) == 0) {
			*why = xasprintf("two tools are called %s", a->name);
			return -1;
		}
	}
	return 0;
}

static int
key_valid(const struct pin_key *k)
{
	return (strcmp(k->era, "legacy") == 0 ||
		strcmp(k->era, "modern") == 0) &&
	       strnlen(k->caps, PINS_HEX) == PINS_HEX - 1 &&
	       strspn(k->caps, "0123456789abcdef") == PINS_HEX - 1;
}

/* Under the lock. */
static int
store_at(struct pins *p, int dirfd, const struct pin_key *k, struct seen *seen,
	 const void **order, size_t n, const struct pin_facts *facts, int first,
	 char **why)
{
	struct storing st = {.d = &p->d, .first = first};
	char *ignored = NULL;
	int r = pins_load_at(p, dirfd, why);

	if (r == PINS_FAILED)
		return r;
	pins_now(st.now);
	store_facts(&st, facts);
	if (merge(&st, k, seen, order, n, why) == -1) {
		pins_load_at(p, dirfd, &ignored);
		free(ignored);
		return PINS_FAILED;
	}
	return st.changed ? pins_save_at(p, dirfd, why) : PINS_OK;
}

/* Under the lock, too. */
static int
store_tools(struct pins *p, int dirfd, const struct pin_key *k,
	    const struct pin_tool *tools, size_t n,
	    const struct pin_facts *facts, int first, char **why)
{
	struct seen *seen = xcalloc(n + 1, sizeof(*seen));
	const void **order = xcalloc(n + 1, sizeof(*order));
	int r = PINS_FAILED;
	size_t i;

	if (look_at(tools, n, seen, order, why) == 0)
		r = store_at(p, dirfd, k, seen, order, n, facts, first, why);
	for (i = 0; i < n; i++)
		free(seen[i].name);
	free(seen);
	free(order);
	return r;
}

enum pins_status
pins_store(struct pins *p, const struct pin_key *k,
	   const struct pin_tool *tools, size_t n,
	   const struct pin_facts *facts, int first, char **why)
{
	int dirfd, lockfd = -1, r;

	*why = NULL;
	if (!key_valid(k)) {
		*why = xstrdup("no such set of pins");
		return PINS_FAILED;
	}
	dirfd = pins_open_dir(p->dir, why);
	if (dirfd == -2)
		*why = xasprintf("%s is gone", p->dir);
	if (dirfd < 0)
		return PINS_FAILED;
	/* Who has to come again has not hashed all tools for nothing. */
	r = pins_lock(p->dir, dirfd, &lockfd, why);
	if (r == PINS_OK) {
		r = store_tools(p, dirfd, k, tools, n, facts, first, why);
		close(lockfd); /* and with it the lock */
	}
	close(dirfd);
	return (enum pins_status)r;
}
