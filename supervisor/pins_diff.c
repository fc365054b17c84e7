/*
 * The difference between a pinned definition and another.  Runs in the
 * monitor and in `doorward pins`; the lines come from a server, are sorted
 * and merged, and are safe to show as they are.
 */
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "proto/alloc.h"
#include "proto/buf.h"
#include "proto/text.h"

#include "canon.h"
#include "order.h"
#include "pins.h"
#include "pins_diff.h"
#include "pins_model.h"
#include "pins_parts.h"

#define CLIP 100u   /* bytes of a place or value in a sentence */
#define REASON 300u /* bytes of the one-line form */
#define TOO_LARGE "the definition is too large to be compared"
#define SAME_LINES "the same values in another structure"

static int
order_of(const char *a, size_t alen, const char *b, size_t blen)
{
	int r = memcmp(a, b, alen < blen ? alen : blen);

	return r != 0 ? r : (alen > blen) - (alen < blen);
}

static int
by_pointer(const void *a, const void *b)
{
	const struct diff_line *x = a, *y = b;

	return order_of(x->p, x->plen, y->p, y->plen);
}

static void
read_side(struct diff_side *s, const char *p, size_t len)
{
	const char *end = len > 0 ? p + len : p, *nl, *tab;
	struct diff_line *l;
	size_t i, room = 0;

	for (i = 0; i < len; i++)
		room += p[i] == '\n';
	s->all = xcalloc(room + 1, sizeof(*s->all));
	s->v = xcalloc(room + 1, sizeof(*s->v));
	for (; len > 0 && p < end; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		tab = nl != NULL ? memchr(p, '\t', (size_t)(nl - p)) : NULL;
		if (tab == NULL)
			break;
		l = &s->all[s->n];
		s->v[s->n++] = l;
		l->p = p;
		l->plen = (size_t)(tab - p);
		l->v = tab + 1;
		l->vlen = (size_t)(nl - l->v);
	}
	order_sort(s->v, s->n, by_pointer);
}

void
diff_init(struct diff *d, const char *was, size_t was_len, const char *now,
	  size_t now_len)
{
	memset(d, 0, sizeof(*d));
	read_side(&d->was, was, was != NULL ? was_len : 0);
	read_side(&d->now, now, now != NULL ? now_len : 0);
}

static void
free_notes(struct diff_notes *n)
{
	size_t i;

	for (i = 0; i < n->n; i++)
		free(n->v[i]);
	free(n->v);
}

void
diff_free(struct diff *d)
{
	free(d->was.all);
	free(d->was.v);
	free(d->now.all);
	free(d->now.v);
	free_notes(&d->widened);
	free_notes(&d->plain);
	memset(d, 0, sizeof(*d));
}

size_t
diff_from(const struct diff_side *s, const char *p, size_t len)
{
	const struct diff_line *l;
	size_t from = 0, to = s->n, mid;

	while (from < to) {
		mid = from + (to - from) / 2;
		l = s->v[mid];
		if (order_of(l->p, l->plen, p, len) < 0)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

const struct diff_line *
diff_at(const struct diff_side *s, const char *p, size_t len)
{
	size_t i = diff_from(s, p, len);
	const struct diff_line *l = i < s->n ? s->v[i] : NULL;

	return l != NULL && order_of(l->p, l->plen, p, len) == 0 ? l : NULL;
}

int
diff_has(const struct diff_side *s, const char *p, size_t len)
{
	const struct diff_line *l;
	char *below;
	size_t i;
	int r;

	if (diff_at(s, p, len) != NULL)
		return 1;
	/* What begins like p may stand between p and what is below it. */
	below = xasprintf("%.*s/", (int)len, p);
	i = diff_from(s, below, len + 1);
	l = i < s->n ? s->v[i] : NULL;
	r = l != NULL && l->plen > len && memcmp(l->p, below, len + 1) == 0;
	free(below);
	return r;
}

char *
diff_clip(const char *p, size_t len)
{
	size_t n = CLIP;

	if (len <= n)
		return xmemdupz(p, len);
	while (n > 0 && ((unsigned char)p[n] & 0xc0) == 0x80)
		n--;
	return xasprintf("%.*s...", (int)n, p);
}

void
diff_note(struct diff *d, int widened, char *text)
{
	struct diff_notes *notes = widened ? &d->widened : &d->plain;
	size_t i;

	for (i = 0; i < notes->n; i++) {
		if (strcmp(notes->v[i], text) == 0) {
			free(text);
			return;
		}
	}
	if (notes->n == DIFF_NOTES_MAX) {
		notes->more++;
		free(text);
		return;
	}
	if (notes->v == NULL)
		notes->v = xcalloc(DIFF_NOTES_MAX, sizeof(*notes->v));
	notes->v[notes->n++] = text;
}

typedef void pair_fn(void *arg, const struct diff_line *was,
		     const struct diff_line *now);

/* Calls fn for every line that only one side has, or that differs. */
static size_t
each_pair(const struct diff *d, pair_fn *fn, void *arg)
{
	const struct diff_line *a, *b;
	size_t i = 0, j = 0, n = 0;
	int order;

	while (i < d->was.n || j < d->now.n) {
		a = i < d->was.n ? d->was.v[i] : NULL;
		b = j < d->now.n ? d->now.v[j] : NULL;
		if (a == NULL && b == NULL)
			break;
		order = a == NULL ? 1 : b == NULL ? -1 : by_pointer(a, b);
		i += order <= 0;
		j += order >= 0;
		if (order == 0 && order_of(a->v, a->vlen, b->v, b->vlen) == 0)
			continue;
		fn(arg, order <= 0 ? a : NULL, order >= 0 ? b : NULL);
		n++;
	}
	return n;
}

static void
judge_pair(void *arg, const struct diff_line *was, const struct diff_line *now)
{
	diff_judge(arg, was, now);
}

/* Puts the notes behind each other as long as they fit; returns how many did
 * not. */
static size_t
join(struct buf *b, const struct diff_notes *notes, const char *tail)
{
	const size_t room = REASON - sizeof("; and 1000000 more");
	size_t i, left = notes->more, need;

	for (i = 0; i < notes->n; i++) {
		need = strlen(notes->v[i]) + strlen(tail) + 2;
		if (buf_used(b) + need > room) {
			left++;
			continue;
		}
		buf_printf(b, "%s%s%s", buf_used(b) > 0 ? "; " : "",
			   notes->v[i], tail);
	}
	return left;
}

static char *
one_line(struct diff *d)
{
	struct buf b = BUF_INIT;
	size_t left;

	if (each_pair(d, judge_pair, d) == 0)
		return xstrdup(SAME_LINES);
	left = join(&b, &d->widened, " (widened)");
	left += join(&b, &d->plain, "");
	if (left > 0)
		buf_printf(&b, "%s%zu more", buf_used(&b) > 0 ? "; and " : "",
			   left);
	buf_putc(&b, '\0');
	return b.data;
}

/* The definition that one is to be compared with: of this set, else of the
 * first other that has one. */
const struct pin_def *
pins_pinned(const struct pins_data *d, const struct pin_set *s,
	    const char *name)
{
	const struct pin_entry *e = s != NULL ? pins_find_entry(s, name) : NULL;
	size_t i;

	for (i = 0; (e == NULL || e->pin == NULL) && i < d->nsets; i++)
		e = pins_find_entry(&d->sets[i], name);
	return e != NULL ? e->pin : NULL;
}

char *
pins_difference(const struct pins *p, const struct pin_key *k, const char *tool,
		size_t len, const struct cJSON *definition)
{
	char *name = token_of_name(tool, len), *text;
	const struct pin_def *was =
	    pins_pinned(&p->d, pins_find_set(&p->d, k->era, k->caps), name);
	struct buf flat = BUF_INIT;
	struct diff d;

	free(name);
	if (was == NULL)
		return NULL;
	if (was->lines == NULL ||
	    canon_flatten(&flat, definition, PINS_FLAT_MAX) == -1) {
		text = xstrdup(TOO_LARGE);
	} else {
		diff_init(&d, was->lines, was->len, buf_head(&flat),
			  buf_used(&flat));
		text = one_line(&d);
		diff_free(&d);
	}
	buf_free(&flat);
	return text;
}

struct printing {
	struct buf *b;
	int indent;
};

static void
print_pair(void *arg, const struct diff_line *was, const struct diff_line *now)
{
	struct printing *pr = arg;
	const struct diff_line *l = now != NULL ? now : was;
	const char sign = was == NULL ? '+' : now == NULL ? '-' : '~';

	buf_printf(pr->b, "%*s%c ", pr->indent, "", sign);
	buf_put(pr->b, l->p, l->plen);
	if (sign == '~') {
		buf_putc(pr->b, '\n');
		parts_diff(pr->b, pr->indent + 6, was->v, was->vlen, now->v,
			   now->vlen);
		return;
	}
	if (parts_long(l->v, l->vlen)) {
		buf_putc(pr->b, '\n');
		parts_put(pr->b, pr->indent + 6, "", l->v, l->vlen);
		return;
	}
	buf_putc(pr->b, ' ');
	buf_put(pr->b, l->v, l->vlen);
	buf_putc(pr->b, '\n');
}

void
diff_print(struct buf *b, const struct pin_def *was, const struct pin_def *now,
	   int indent)
{
	struct printing pr = {b, indent};
	struct diff d;
	size_t i;

	if (now->lines == NULL || (was != NULL && was->lines == NULL)) {
		buf_printf(b, "%*s%s\n", indent, "", TOO_LARGE);
		return;
	}
	diff_init(&d, was != NULL ? was->lines : NULL,
		  was != NULL ? was->len : 0, now->lines, now->len);
	if (was != NULL && each_pair(&d, judge_pair, &d) == 0)
		buf_printf(b, "%*s%s\n", indent, "", SAME_LINES);
	for (i = 0; i < d.widened.n; i++)
		buf_printf(b, "%*swidened: %s\n", indent, "", d.widened.v[i]);
	if (d.widened.more > 0)
		buf_printf(b, "%*swidened in %zu more places\n", indent, "",
			   d.widened.more);
	each_pair(&d, print_pair, &pr);
	diff_free(&d);
}
