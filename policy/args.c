/*
 * Walking over arguments.  Runs in the monitor, over what a stranger sent:
 * every loop is bounded by the size of the tree, every depth by an array.
 */
#include <stdlib.h>
#include <string.h>
#include <cjson/cJSON.h>

#include "proto/alloc.h"
#include "proto/buf.h"
#include "proto/text.h"

#include "args.h"

#define PLACE_MAX 200u /* bytes of a place that is shown */

static int
is_container(const struct cJSON *item)
{
	return cJSON_IsObject(item) || cJSON_IsArray(item);
}

void
args_walk_init(struct args_walk *w, const struct cJSON *root)
{
	w->item = root;
	w->too_deep = 0;
	w->depth = 0;
	w->begun = 0;
}

static int
step_to(struct args_walk *w, const struct cJSON *item, size_t index,
	int in_list)
{
	struct args_step *s = &w->step[w->depth - 1];

	s->at = item;
	s->index = index;
	s->in_list = in_list;
	w->item = item;
	return 1;
}

/* To the next item beside the current one, or beside what it is in. */
static int
step_on(struct args_walk *w)
{
	struct args_step *s;

	while (w->depth > 1) {
		s = &w->step[w->depth - 1];
		if (s->at->next != NULL)
			return step_to(w, s->at->next, s->index + 1,
				       s->in_list);
		w->depth--;
	}
	w->depth = 0;
	w->item = NULL;
	return 0;
}

int
args_next(struct args_walk *w)
{
	if (!w->begun) {
		w->begun = 1;
		if (w->item == NULL)
			return 0;
		w->depth = 1;
		return step_to(w, w->item, 0, 0);
	}
	if (w->depth == 0)
		return 0;
	if (is_container(w->item) && w->item->child != NULL) {
		if (w->depth < ARGS_DEPTH_MAX) {
			w->depth++;
			return step_to(w, w->item->child, 0,
				       cJSON_IsArray(w->item));
		}
		w->too_deep = 1;
	}
	return step_on(w);
}

static void
push(struct args_find *f, const struct cJSON *at, const char *rest)
{
	struct args_point *p;

	if (f->depth == ARGS_DEPTH_MAX) {
		f->too_deep = 1;
		return;
	}
	p = &f->point[f->depth++];
	p->at = at;
	p->child = NULL;
	p->index = 0;
	p->rest = rest;
	p->end = NULL;
}

void
args_find_init(struct args_find *f, const struct cJSON *args, const char *name)
{
	f->name = name;
	f->value = NULL;
	f->depth = 0;
	f->too_deep = 0;
	if (args != NULL && is_container(args))
		push(f, args, name);
}

static const struct cJSON *
member(const struct cJSON *object, const char *key, size_t len)
{
	const struct cJSON *c;

	for (c = object->child; c != NULL; c = c->next)
		if (c->string != NULL && strncmp(c->string, key, len) == 0 &&
		    c->string[len] == '\0')
			return c;
	return NULL;
}

/*
 * The next reading of the rest of the name as a key and what follows: the
 * whole first, then up to each dot.  0 if there is no more.
 */
static int
next_reading(struct args_point *p)
{
	const char *from;

	if (p->end == NULL) {
		p->end = p->rest + strlen(p->rest);
		return 1;
	}
	from = *p->end == '\0' ? p->rest : p->end + 1;
	p->end = strchr(from, '.');
	if (p->end == NULL) {
		p->end = "";
		return 0;
	}
	return 1;
}

/* The next child of a point, and in *rest what of the name is left for it. */
static const struct cJSON *
next_child(struct args_point *p, const char **rest)
{
	if (cJSON_IsArray(p->at)) {
		if (p->child == NULL) {
			p->child = p->at->child;
		} else {
			p->child = p->child->next;
			p->index++;
		}
		*rest = p->rest;
		return p->child;
	}
	while (next_reading(p)) {
		p->child = member(p->at, p->rest, (size_t)(p->end - p->rest));
		*rest = *p->end == '\0' ? NULL : p->end + 1;
		if (p->child != NULL)
			return p->child;
	}
	return NULL;
}

int
args_find_next(struct args_find *f)
{
	const struct cJSON *child;
	const char *rest = NULL;

	while (f->depth > 0) {
		child = next_child(&f->point[f->depth - 1], &rest);
		if (child == NULL) {
			f->depth--;
			continue;
		}
		if (rest == NULL) {
			f->value = child;
			return 1;
		}
		if (is_container(child)) {
			push(f, child, rest);
			continue;
		}
		if (!cJSON_IsNull(child)) {
			f->value = child;
			return 1;
		}
	}
	f->value = NULL;
	return 0;
}

static void
put_step(struct buf *b, const struct cJSON *item, size_t index, int in_list)
{
	if (in_list) {
		buf_printf(b, "[%zu]", index);
	} else if (item->string != NULL) {
		if (buf_used(b) > 0)
			buf_putc(b, '.');
		buf_puts(b, item->string);
	}
}

char *
args_place(const struct args_find *f, const struct args_walk *w)
{
	const struct args_point *p;
	struct buf b = BUF_INIT;
	char shown[PLACE_MAX];
	size_t i;

	for (i = 0; f != NULL && i < f->depth; i++) {
		p = &f->point[i];
		put_step(&b, p->child, p->index, cJSON_IsArray(p->at));
	}
	/* The walk's first step is the value that was found, or the root. */
	for (i = 1; i < w->depth && i < ARGS_DEPTH_MAX; i++)
		put_step(&b, w->step[i].at, w->step[i].index,
			 w->step[i].in_list);
	text_visible(buf_used(&b) > 0 ? buf_head(&b) : "", buf_used(&b), shown,
		     sizeof(shown));
	buf_free(&b);
	return xstrdup(shown);
}

static void
json_string(struct buf *b, const char *s)
{
	static const char names[] = "btn?fr"; /* from 0x08 on */
	unsigned char c;

	buf_putc(b, '"');
	for (; *s != '\0'; s++) {
		c = (unsigned char)*s;
		if (c == '"' || c == '\\')
			buf_printf(b, "\\%c", c);
		else if (c >= 0x08 && c <= 0x0d && c != 0x0b)
			buf_printf(b, "\\%c", names[c - 0x08]);
		else if (c < 0x20)
			buf_printf(b, "\\u%04x", c);
		else
			buf_putc(b, (char)c);
	}
	buf_putc(b, '"');
}

/* -1 for a number without its literal: its text is not known. */
static int
json_scalar(struct buf *b, const struct cJSON *item)
{
	if (cJSON_IsString(item))
		json_string(b, item->valuestring);
	else if (cJSON_IsRaw(item))
		buf_puts(b, item->valuestring);
	else if (cJSON_IsTrue(item))
		buf_puts(b, "true");
	else if (cJSON_IsFalse(item))
		buf_puts(b, "false");
	else if (cJSON_IsNull(item))
		buf_puts(b, "null");
	else
		return -1;
	return 0;
}

/* What stands before a value: the comma, the key. */
static void
json_before(struct buf *b, const struct args_walk *w)
{
	const struct args_step *s = &w->step[w->depth - 1];

	if (w->depth == 1)
		return;
	if (s->index > 0)
		buf_putc(b, ',');
	if (!s->in_list && s->at->string != NULL) {
		json_string(b, s->at->string);
		buf_putc(b, ':');
	}
}

/* Closes what was open below depth, innermost first. */
static void
json_close(struct buf *b, const char *open, size_t *n, size_t depth)
{
	while (*n > depth)
		buf_putc(b, open[--*n]);
}

int
args_json(struct buf *b, const struct cJSON *item, size_t max)
{
	char open[ARGS_DEPTH_MAX];
	struct args_walk w;
	size_t n = 0, before = buf_used(b);

	args_walk_init(&w, item);
	while (args_next(&w)) {
		json_close(b, open, &n, w.depth - 1);
		json_before(b, &w);
		if (is_container(w.item)) {
			buf_putc(b, cJSON_IsArray(w.item) ? '[' : '{');
			open[n++] = cJSON_IsArray(w.item) ? ']' : '}';
		} else if (json_scalar(b, w.item) < 0) {
			return -1;
		}
		if (buf_used(b) - before > max)
			return -1;
	}
	json_close(b, open, &n, 0);
	return w.too_deep || buf_used(b) - before > max ? -1 : 0;
}
