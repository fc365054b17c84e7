/*
 * What `doorward pins` prints.  Runs in the command, as the user.  Every text
 * of a server's is a token or a flattened line, which are safe to show.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"
#include "proto/buf.h"

#include "jsonw.h"
#include "pins_decide.h"
#include "pins_diff.h"
#include "pins_model.h"
#include "pins_parts.h"
#include "pins_show.h"

#define CAPS_SHOWN 8          /* digits of a set's hash */
#define INSTRUCTIONS_SHOWN 60 /* characters */

char *
show_name(const char *token)
{
	static const char plain[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	    "_.-@/";
	size_t len = strlen(token);

	if (len > 2 && token[0] == '"' && strspn(token + 1, plain) == len - 2)
		return xmemdupz(token + 1, len - 2);
	return xstrdup(token);
}

static void
put_set_name(struct buf *b, const struct pin_set *s)
{
	buf_printf(b, "%s %.*s", s->era, CAPS_SHOWN, s->caps);
}

/* The token; of instructions, which may be pages, what they begin with. */
static void
put_short(struct buf *b, const char *token, enum pin_kind kind)
{
	if (kind == PIN_INSTRUCTIONS)
		parts_clip(b, token, strlen(token), INSTRUCTIONS_SHOWN);
	else
		buf_puts(b, token);
}

static void
list_values(struct buf *b, const struct pin_values *v, enum pin_kind kind)
{
	size_t i;

	for (i = 0; i < v->n; i++) {
		buf_printf(b, "  %-12s ", pins_kind_name(kind));
		put_short(b, v->v[i].token, kind);
		buf_putc(b, '\n');
	}
	if (v->wait.token != NULL) {
		buf_printf(b, "  %-12s ", pins_kind_name(kind));
		put_short(b, v->wait.token, kind);
		buf_printf(b, ", waiting since %s\n", v->wait.time);
	}
}

static void
list_set(struct buf *b, const struct pin_set *s)
{
	size_t i, pinned = 0, fresh = 0, changed = 0;

	for (i = 0; i < s->n; i++) {
		pinned += s->e[i].pin != NULL;
		if (s->e[i].wait != NULL && s->e[i].wait_new)
			fresh++;
		else if (s->e[i].wait != NULL)
			changed++;
	}
	buf_puts(b, "  set          ");
	put_set_name(b, s);
	buf_printf(b, ": %zu tool%s pinned", pinned, pinned == 1 ? "" : "s");
	if (fresh > 0)
		buf_printf(b, ", %zu new waiting", fresh);
	if (changed > 0)
		buf_printf(b, ", %zu changed waiting", changed);
	buf_putc(b, '\n');
}

/* Each flagged definition once, under the first name that it has. */
static void
list_flagged(struct buf *b, const struct pins_data *d)
{
	const struct pin_entry *e;
	struct pin_def *defs[2];
	char *name;
	size_t i, j, k;

	for (i = 0; i < d->ndefs; i++)
		d->defs[i]->used = 0;
	for (i = 0; i < d->nsets; i++) {
		for (j = 0; j < d->sets[i].n; j++) {
			e = &d->sets[i].e[j];
			defs[0] = e->pin;
			defs[1] = e->wait;
			for (k = 0; k < 2; k++) {
				if (defs[k] == NULL || defs[k]->used ||
				    defs[k]->flagged == NULL)
					continue;
				defs[k]->used = 1;
				name = show_name(e->name);
				buf_printf(b, "  flagged      %s: %s\n", name,
					   defs[k]->flagged);
				free(name);
			}
		}
	}
}

static void
list_one(struct buf *b, const struct pins *p)
{
	char *server = show_name(p->server), *package = show_name(p->package);
	size_t i;

	buf_printf(b, "%s\n  package      %s\n", server, package);
	free(server);
	free(package);
	for (i = 0; i < PIN_KINDS; i++)
		list_values(b, &p->d.values[i], (enum pin_kind)i);
	for (i = 0; i < p->d.nsets; i++)
		list_set(b, &p->d.sets[i]);
	list_flagged(b, &p->d);
	buf_printf(b, "  file         %s\n", p->path);
}

void
show_list(struct buf *b, const struct pins_list *l)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		list_one(b, l->v[i]);
	if (l->n == 0 && l->nfaults == 0)
		buf_puts(b, "no pins\n");
}

static void
comma(struct buf *b)
{
	const char last = b->data[b->len - 1];

	if (last != '[' && last != '{')
		buf_putc(b, ',');
}

/* The token's text; of one that was not kept, the token. */
static void
json_token(struct buf *b, const char *token)
{
	size_t len;
	char *text = token_text(token, &len);

	if (text != NULL)
		jsonw_string(b, text, len, 1);
	else
		jsonw_string(b, token, strlen(token), 1);
	free(text);
}

/* A command is a list of words, all else one text. */
static void
json_value(struct buf *b, const char *token, int command)
{
	size_t n = strlen(token), k;
	char *word;

	if (!command) {
		json_token(b, token);
		return;
	}
	buf_putc(b, '[');
	for (; n > 0 && (k = token_at(token, n)) > 0; token += k, n -= k) {
		comma(b);
		word = xmemdupz(token, k);
		json_token(b, word);
		free(word);
		k += k < n; /* the blank */
	}
	buf_putc(b, ']');
}

static void
json_values(struct buf *b, const struct pin_values *v, enum pin_kind kind)
{
	size_t i;

	jsonw_key(b, pins_kind_name(kind));
	buf_puts(b, "{\"pinned\":[");
	for (i = 0; i < v->n; i++) {
		comma(b);
		json_value(b, v->v[i].token, kind == PIN_COMMAND);
	}
	buf_puts(b, "],\"waiting\":");
	if (v->wait.token != NULL)
		json_value(b, v->wait.token, kind == PIN_COMMAND);
	else
		buf_puts(b, "null");
	buf_putc(b, '}');
}

static void
json_def(struct buf *b, const struct pin_def *def)
{
	buf_putc(b, '{');
	jsonw_str(b, "hash", def->hash);
	if (def->flagged != NULL) {
		jsonw_key(b, "flagged");
		json_token(b, def->flagged);
	}
	buf_putc(b, '}');
}

static void
json_tool(struct buf *b, const struct pin_entry *e)
{
	comma(b);
	buf_puts(b, "{\"name\":");
	json_token(b, e->name);
	jsonw_key(b, "pinned");
	if (e->pin != NULL)
		json_def(b, e->pin);
	else
		buf_puts(b, "null");
	jsonw_key(b, "waiting");
	if (e->wait == NULL) {
		buf_puts(b, "null}");
		return;
	}
	json_def(b, e->wait);
	b->len--; /* its brace: there is more */
	jsonw_str(b, "kind", e->wait_new ? "new" : "changed");
	jsonw_str(b, "since", e->time);
	buf_puts(b, "}}");
}

static void
json_one(struct buf *b, const struct pins *p)
{
	const struct pin_set *s;
	size_t i, j;

	comma(b);
	buf_puts(b, "{\"server\":");
	json_token(b, p->server);
	jsonw_key(b, "package");
	json_token(b, p->package);
	jsonw_str(b, "file", p->path);
	for (i = 0; i < PIN_KINDS; i++)
		json_values(b, &p->d.values[i], (enum pin_kind)i);
	jsonw_key(b, "sets");
	buf_putc(b, '[');
	for (i = 0; i < p->d.nsets; i++) {
		s = &p->d.sets[i];
		comma(b);
		buf_putc(b, '{');
		jsonw_str(b, "era", s->era);
		jsonw_str(b, "caps", s->caps);
		jsonw_key(b, "known");
		buf_puts(b, s->known ? "true" : "false");
		jsonw_str(b, "since", s->time);
		jsonw_key(b, "tools");
		buf_putc(b, '[');
		for (j = 0; j < s->n; j++)
			json_tool(b, &s->e[j]);
		buf_puts(b, "]}");
	}
	buf_puts(b, "]}");
}

void
show_list_json(struct buf *b, const struct pins_list *l)
{
	size_t i;

	buf_puts(b, "{\"servers\":[");
	for (i = 0; i < l->n; i++)
		json_one(b, l->v[i]);
	buf_putc(b, ']');
	if (l->nfaults > 0)
		jsonw_key(b, "unusable");
	for (i = 0; i < l->nfaults; i++) {
		buf_putc(b, i == 0 ? '[' : ',');
		jsonw_string(b, l->faults[i], strlen(l->faults[i]), 1);
	}
	buf_puts(b, l->nfaults > 0 ? "]}\n" : "}\n");
}

static void
waiting_value(struct buf *b, const char *server, const struct pin_values *v,
	      const char *kind)
{
	const char *now = v->wait.token, *last;
	size_t i;

	if (now == NULL)
		return;
	buf_printf(b, "%s: %s changed (seen %s)\n", server, kind, v->wait.time);
	last = v->n > 0 ? v->v[v->n - 1].token : NULL;
	for (i = 0; i + 1 < v->n; i++)
		parts_put(b, 2, i == 0 ? "was " : " or ", v->v[i].token,
			  strlen(v->v[i].token));
	if (last == NULL) {
		parts_put(b, 2, "now ", now, strlen(now));
		return;
	}
	if (v->n > 1)
		buf_puts(b, "  or, with which it is compared:\n");
	parts_diff(b, 2, last, strlen(last), now, strlen(now));
}

/* The set, before this one, where just the same waits; NULL if none. */
static const struct pin_set *
as_before(const struct pins_data *d, size_t at, const struct pin_entry *e,
	  const struct pin_def *was)
{
	const struct pin_entry *o;
	size_t i;

	for (i = 0; i < at; i++) {
		o = pins_find_entry(&d->sets[i], e->name);
		if (o != NULL && o->wait == e->wait &&
		    pins_pinned(d, &d->sets[i], e->name) == was)
			return &d->sets[i];
	}
	return NULL;
}

static void
waiting_tool(struct buf *b, const char *server, const struct pins_data *d,
	     size_t at, const struct pin_entry *e)
{
	const struct pin_def *was =
	    e->wait_new ? NULL : pins_pinned(d, &d->sets[at], e->name);
	const struct pin_set *before =
	    as_before(d, at, e, pins_pinned(d, &d->sets[at], e->name));
	char *name = show_name(e->name);

	buf_printf(b, "%s: %s %s (set ", server, name,
		   e->wait_new ? "is new" : "changed");
	put_set_name(b, &d->sets[at]);
	buf_printf(b, ", seen %s)\n", e->time);
	free(name);
	if (before != NULL) {
		buf_puts(b, "  as in set ");
		put_set_name(b, before);
		buf_putc(b, '\n');
		return;
	}
	if (e->wait->flagged != NULL)
		buf_printf(b, "  flagged: %s\n", e->wait->flagged);
	diff_print(b, was, e->wait, 2);
}

void
show_waiting(struct buf *b, const struct pins *p, const struct pins_choice *c)
{
	const size_t n = pins_waiting(p, c);
	char *server = show_name(p->server);
	const struct pin_set *s;
	size_t i, j;

	for (i = 0; c->n == 0 && i < PIN_KINDS; i++)
		waiting_value(b, server, &p->d.values[i],
			      pins_kind_name((enum pin_kind)i));
	for (i = 0; i < p->d.nsets; i++) {
		s = &p->d.sets[i];
		for (j = 0; j < s->n; j++)
			if (s->e[j].wait != NULL &&
			    pins_chosen(c, s->e[j].name))
				waiting_tool(b, server, &p->d, i, &s->e[j]);
	}
	if (n > 0)
		buf_printf(b, "%s: %zu change%s wait%s for a decision\n",
			   server, n, n == 1 ? "" : "s", n == 1 ? "s" : "");
	free(server);
}

void
show_forgetting(struct buf *b, const struct pins *p,
		const struct pins_choice *c)
{
	char *server = show_name(p->server), *name;
	size_t i;

	if (c->n == 0)
		buf_printf(b, "%s: all its pins will be forgotten\n", server);
	for (i = 0; i < c->n; i++) {
		name = show_name(c->names[i]);
		buf_printf(b, "%s: %s will be forgotten\n", server, name);
		free(name);
	}
	buf_puts(b, "What is forgotten is trusted as it is when it is seen "
		    "next.\n");
	free(server);
}
