/*
 * Accepting and forgetting.  Runs in `doorward pins`, as the user; the
 * question was answered before, on what was read then, and under the lock it
 * has to be so still.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/alloc.h"
#include "proto/buf.h"

#include "order.h"
#include "pins.h"
#include "pins_decide.h"
#include "pins_model.h"

#define FILE_END ".pins"
#define FILE_LEN (32 + sizeof(FILE_END) - 1)
#define LOCK_WAIT_MS 5000
#define CHANGED                                                        \
	"the pins have changed since they were shown, so nothing was " \
	"%s: look again"

static int
by_server(const void *a, const void *b)
{
	const struct pins *x = a, *y = b;
	int r = strcmp(x->server, y->server);

	return r != 0 ? r : strcmp(x->package, y->package);
}

static void
add_fault(struct pins_list *l, char *why)
{
	l->faults =
	    xreallocarray(l->faults, l->nfaults + 1, sizeof(*l->faults));
	l->faults[l->nfaults++] = why;
}

static void
add_file(struct pins_list *l, const char *dir, int dirfd, const char *file)
{
	struct pins *p = pins_of_file(dir, file);
	char *why = NULL;
	int st = pins_load_at(p, dirfd, &why);

	if (st == PINS_OK) {
		l->v = xreallocarray(l->v, l->n + 1, sizeof(struct pins *));
		l->v[l->n++] = p;
		return;
	}
	pins_free(p);
	if (st == PINS_FAILED)
		add_fault(l, why);
}

static int
is_pins_file(const char *name)
{
	return strlen(name) == FILE_LEN &&
	       strspn(name, "0123456789abcdef") == 32 &&
	       strcmp(name + 32, FILE_END) == 0;
}

void
pins_list_read(struct pins_list *l, const char *dir)
{
	char *path = pins_dir(dir), *why = NULL;
	int fd = pins_open_dir(path, &why);
	struct dirent *e;
	DIR *d;

	memset(l, 0, sizeof(*l));
	if (fd == -1)
		add_fault(l, why);
	d = fd >= 0 ? opendir(path) : NULL;
	if (fd >= 0 && d == NULL)
		add_fault(l, xasprintf("%s: %s", path, strerror(errno)));
	while (d != NULL && (e = readdir(d)) != NULL)
		if (is_pins_file(e->d_name))
			add_file(l, dir, fd, e->d_name);
	if (d != NULL)
		closedir(d);
	if (fd >= 0)
		close(fd);
	free(path);
	order_sort((const void **)l->v, l->n, by_server);
}

void
pins_list_free(struct pins_list *l)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		pins_free(l->v[i]);
	for (i = 0; i < l->nfaults; i++)
		free(l->faults[i]);
	free(l->v);
	free(l->faults);
	memset(l, 0, sizeof(*l));
}

void
pins_choice_init(struct pins_choice *c, char *const *names, size_t n)
{
	size_t i;

	c->n = n;
	c->names = xcalloc(n + 1, sizeof(*c->names));
	for (i = 0; i < n; i++)
		c->names[i] = token_of_name(names[i], strlen(names[i]));
}

void
pins_choice_free(struct pins_choice *c)
{
	size_t i;

	for (i = 0; i < c->n; i++)
		free(c->names[i]);
	free(c->names);
	memset(c, 0, sizeof(*c));
}

int
pins_chosen(const struct pins_choice *c, const char *name)
{
	size_t i;

	for (i = 0; i < c->n; i++)
		if (strcmp(c->names[i], name) == 0)
			return 1;
	return c->n == 0;
}

const char *
pins_choice_unknown(const struct pins_choice *c, const struct pins *p)
{
	size_t i, j;

	for (i = 0; i < c->n; i++) {
		for (j = 0; j < p->d.nsets; j++)
			if (pins_find_entry(&p->d.sets[j], c->names[i]) != NULL)
				break;
		if (j == p->d.nsets)
			return c->names[i];
	}
	return NULL;
}

size_t
pins_waiting(const struct pins *p, const struct pins_choice *c)
{
	const struct pin_set *s;
	size_t i, j, n = 0;

	for (i = 0; c->n == 0 && i < PIN_KINDS; i++)
		n += p->d.values[i].wait.token != NULL;
	for (i = 0; i < p->d.nsets; i++) {
		s = &p->d.sets[i];
		for (j = 0; j < s->n; j++)
			n += s->e[j].wait != NULL &&
			     pins_chosen(c, s->e[j].name);
	}
	return n;
}

static int
same_def(const struct pin_def *a, const struct pin_def *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return strcmp(a->hash, b->hash) == 0;
}

static int
same_value(const struct pin_value *a, const struct pin_value *b)
{
	if (a->token == NULL || b->token == NULL)
		return a->token == b->token;
	return strcmp(a->token, b->token) == 0;
}

/* 1 if all that was shown waits still, in place of the same pins. */
static int
still_waits(const struct pins_data *shown, const struct pins_data *now,
	    const struct pins_choice *c)
{
	const struct pin_entry *a, *b;
	const struct pin_set *s;
	size_t i, j;

	for (i = 0; c->n == 0 && i < PIN_KINDS; i++)
		if (shown->values[i].wait.token != NULL &&
		    !same_value(&shown->values[i].wait, &now->values[i].wait))
			return 0;
	for (i = 0; i < shown->nsets; i++) {
		s = pins_find_set(now, shown->sets[i].era, shown->sets[i].caps);
		for (j = 0; j < shown->sets[i].n; j++) {
			a = &shown->sets[i].e[j];
			if (a->wait == NULL || !pins_chosen(c, a->name))
				continue;
			b = s != NULL ? pins_find_entry(s, a->name) : NULL;
			if (b == NULL || !same_def(a->wait, b->wait) ||
			    !same_def(a->pin, b->pin))
				return 0;
		}
	}
	return 1;
}

static void
add_entry(struct pin_set *s, const char *name, struct pin_def *def)
{
	size_t at = 0;

	while (at < s->n && strcmp(s->e[at].name, name) < 0)
		at++;
	s->e = xreallocarray(s->e, s->n + 1, sizeof(*s->e));
	memmove(&s->e[at + 1], &s->e[at], (s->n - at) * sizeof(*s->e));
	s->e[at] = (struct pin_entry){.name = xstrdup(name), .pin = def};
	s->n++;
}

static void
pin(struct pin_entry *e, struct pin_def *def)
{
	e->pin = def;
	e->open = 0;
	if (e->wait == def)
		e->wait = NULL;
}

/*
 * One definition that waited in a set.  Other sets that had the same pin for
 * it, or like this one none, get it, too: it is one server that has changed.
 */
static void
accept_tool(struct pins_data *d, const struct pin_set *in,
	    const struct pin_entry *shown)
{
	struct pin_def *def = pins_find_def(d, shown->wait->hash);
	struct pin_set *own = pins_find_set(d, in->era, in->caps), *s;
	struct pin_entry *e;
	size_t i;

	e = pins_find_entry(own, shown->name);
	pin(e, def);
	e->wait = NULL;
	for (i = 0; i < d->nsets; i++) {
		s = &d->sets[i];
		e = pins_find_entry(s, shown->name);
		if (s == own)
			continue;
		if (shown->pin != NULL && e != NULL &&
		    same_def(e->pin, shown->pin))
			pin(e, def);
		else if (shown->wait_new && s->known && e == NULL)
			add_entry(s, shown->name, def);
	}
}

static int
accept_values(struct pins_data *d, const struct pins_data *shown, char **why)
{
	struct pin_values *v;
	size_t i;

	for (i = 0; i < PIN_KINDS; i++) {
		v = &d->values[i];
		if (shown->values[i].wait.token == NULL)
			continue;
		if (v->n == PINS_VALUES_MAX) {
			*why = xasprintf("%s has %u accepted values for its "
					 "%s, and no more are kept: forget it",
					 d->server, PINS_VALUES_MAX,
					 pins_kind_name((enum pin_kind)i));
			return -1;
		}
		v->v = xreallocarray(v->v, v->n + 1, sizeof(*v->v));
		v->v[v->n++] = v->wait;
		v->wait.token = NULL;
	}
	return 0;
}

static int
accept_all(struct pins_data *d, const struct pins_data *shown,
	   const struct pins_choice *c, char **why)
{
	const struct pin_set *s;
	size_t i, j;

	if (c->n == 0 && accept_values(d, shown, why) == -1)
		return -1;
	for (i = 0; i < shown->nsets; i++) {
		s = &shown->sets[i];
		for (j = 0; j < s->n; j++)
			if (s->e[j].wait != NULL &&
			    pins_chosen(c, s->e[j].name))
				accept_tool(d, s, &s->e[j]);
	}
	return 0;
}

/* Directory and lock for a change; the caller closes both. */
static int
begin(const struct pins *p, int *dirfd, int *lockfd, char **why)
{
	*lockfd = -1;
	*dirfd = pins_open_dir(p->dir, why);
	if (*dirfd == -2)
		*why = xasprintf("%s is gone", p->dir);
	if (*dirfd < 0)
		return -1;
	if (pins_lock_wait(p->dir, *dirfd, lockfd, LOCK_WAIT_MS, why) !=
	    PINS_OK)
		return -1;
	pins_sweep(*dirfd);
	return 0;
}

static void
end(int dirfd, int lockfd)
{
	if (lockfd != -1)
		close(lockfd);
	if (dirfd >= 0)
		close(dirfd);
}

/* The same server's pins; nothing is read yet. */
static struct pins *
again(const struct pins *shown)
{
	struct pins *p = xcalloc(1, sizeof(*p));

	p->dir = xstrdup(shown->dir);
	p->file = xstrdup(shown->file);
	p->path = xstrdup(shown->path);
	p->server = xstrdup(shown->server);
	p->package = xstrdup(shown->package);
	return p;
}

int
pins_accept(const struct pins *shown, const struct pins_choice *c, char **why)
{
	struct pins *p = again(shown);
	int dirfd, lockfd, r = -1, st;

	*why = NULL;
	if (begin(p, &dirfd, &lockfd, why) == 0) {
		st = pins_load_at(p, dirfd, why);
		if (st == PINS_NONE ||
		    (st == PINS_OK && !still_waits(&shown->d, &p->d, c)))
			*why = xasprintf(CHANGED, "accepted");
		else if (st == PINS_OK &&
			 accept_all(&p->d, &shown->d, c, why) == 0 &&
			 pins_save_at(p, dirfd, why) == PINS_OK)
			r = 0;
	}
	end(dirfd, lockfd);
	pins_free(p);
	return r;
}

/* In a set that is known the name is left open, so that it is trusted at
 * next sight; from others it goes. */
static void
forget_names(struct pins_data *d, const struct pins_choice *c)
{
	struct pin_set *s;
	struct pin_entry *e;
	size_t i, j, left;

	for (i = 0; i < d->nsets; i++) {
		s = &d->sets[i];
		for (j = left = 0; j < s->n; j++) {
			e = &s->e[j];
			if (pins_chosen(c, e->name)) {
				e->pin = e->wait = NULL;
				e->open = 1;
			}
			if (!s->known && e->pin == NULL && e->wait == NULL)
				free(e->name);
			else
				s->e[left++] = *e;
		}
		s->n = left;
	}
}

static int
forget_file(const struct pins *p, int dirfd, char **why)
{
	if (unlinkat(dirfd, p->file, 0) == 0 && fsync(dirfd) == 0)
		return PINS_OK;
	*why = xasprintf("cannot remove %s: %s", p->path, strerror(errno));
	return PINS_FAILED;
}

int
pins_forget(const struct pins *shown, const struct pins_choice *c, char **why)
{
	struct pins *p = again(shown);
	int dirfd, lockfd, r = -1, st;

	*why = NULL;
	if (begin(p, &dirfd, &lockfd, why) == 0) {
		st = pins_load_at(p, dirfd, why);
		if (st == PINS_NONE ||
		    (st == PINS_OK && strcmp(p->digest, shown->digest) != 0)) {
			*why = xasprintf(CHANGED, "forgotten");
			st = PINS_FAILED;
		} else if (st == PINS_OK && c->n == 0) {
			st = forget_file(p, dirfd, why);
		} else if (st == PINS_OK) {
			forget_names(&p->d, c);
			st = pins_save_at(p, dirfd, why);
		}
		r = st == PINS_OK ? 0 : -1;
	}
	end(dirfd, lockfd);
	pins_free(p);
	return r;
}
