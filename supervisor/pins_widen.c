/*
 * What a change in a definition means: whether the tool takes more than it
 * did, or claims to be more harmless (MCP 2025-11-25, server/tools;
 * JSON Schema 2020-12).  Runs in the monitor and in `doorward pins` on lines
 * that a server made up; the walk along a pointer is a loop.  Where there is
 * no telling, it is said to be widened.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"
#include "proto/buf.h"

#include "policy.h"
#include "entry.h"
#include "verbs.h"
#include "fallback_names.h"

#include "order.h"
#include "pins_diff.h"

#define SCHEMA "/inputSchema"

/* What becomes of members that nothing else speaks of. */
static const char open_keywords[] = " additionalProperties additionalItems "
				    "unevaluatedProperties unevaluatedItems ";

enum spot_kind {
	SPOT_KEYWORD,  /* a keyword and its value, end is behind it */
	SPOT_SCHEMA,   /* a schema that is one value: true, false, {} */
	SPOT_PROPERTY, /* only one side has it; end is behind its name */
	SPOT_BRANCH    /* of anyOf and the like, that only one side has */
};

/* Where in a schema a line stands. */
struct spot {
	enum spot_kind kind;
	size_t base;    /* behind the schema's own pointer */
	const char *kw; /* the keyword, not ended */
	size_t kwlen;
	size_t end;
	int inverted; /* below "not" or "if", where less is more */
};

/* 1 if the word is among those in words, each between blanks. */
static int
among(const char *words, const char *p, size_t len)
{
	const char *at = words;

	if (len == 0 || memchr(p, ' ', len) != NULL)
		return 0;
	while ((at = strchr(at, ' ')) != NULL) {
		at++;
		if (strncmp(at, p, len) == 0 && at[len] == ' ')
			return 1;
	}
	return 0;
}

/* Where the part of a pointer ends that begins, with its slash, at pos. */
static size_t
part_end(const struct diff_line *l, size_t pos)
{
	const char *slash = memchr(l->p + pos + 1, '/', l->plen - pos - 1);

	return slash != NULL ? (size_t)(slash - l->p) : l->plen;
}

static void
at_keyword(struct spot *s, enum spot_kind kind, const char *kw, size_t kwlen,
	   size_t end)
{
	s->kind = kind;
	s->kw = kw;
	s->kwlen = kwlen;
	s->end = end;
}

/*
 * Goes along the pointer of a line below inputSchema as far as schemas go,
 * or to the first part that the other side does not have.
 */
static void
locate(const struct diff_line *l, const struct diff_side *other, struct spot *s)
{
	static const char maps[] = " properties patternProperties $defs "
				   "definitions dependentSchemas ";
	static const char lists[] = " anyOf oneOf allOf prefixItems ";
	static const char subs[] =
	    " items additionalProperties unevaluatedProperties "
	    "unevaluatedItems additionalItems not if then else contains "
	    "propertyNames ";
	size_t pos = sizeof(SCHEMA) - 1, end, len;
	const char *kw;
	int map, list;

	memset(s, 0, sizeof(*s));
	for (;;) {
		s->base = pos;
		if (pos == l->plen) {
			at_keyword(s, SPOT_SCHEMA, "", 0, pos);
			return;
		}
		end = part_end(l, pos);
		kw = l->p + pos + 1;
		len = end - pos - 1;
		map = among(maps, kw, len);
		list = among(lists, kw, len);
		at_keyword(s, SPOT_KEYWORD, kw, len, end);
		if (end == l->plen || (!map && !list && !among(subs, kw, len)))
			return;
		if (!map && !diff_has(other, l->p, end))
			return;
		if (among(" not if ", kw, len))
			s->inverted = 1;
		pos = end;
		if (!map && !list) {
			if (diff_at(other, l->p, pos) == NULL)
				continue;
			/* There it is one value. */
			at_keyword(s,
				   among(open_keywords, kw, len) ? SPOT_KEYWORD
								 : SPOT_SCHEMA,
				   kw, len, pos);
			return;
		}
		pos = part_end(l, end);
		if ((list ||
		     among(" properties patternProperties ", kw, len)) &&
		    !diff_has(other, l->p, pos)) {
			at_keyword(s, list ? SPOT_BRANCH : SPOT_PROPERTY, kw,
				   len, pos);
			return;
		}
		if (pos < l->plen && diff_at(other, l->p, pos) != NULL) {
			at_keyword(s, SPOT_SCHEMA, kw, len, pos);
			return;
		}
	}
}

/* "inputSchema/properties/to", cut if it is long.  Caller frees. */
static char *
place(const struct diff_line *l, size_t len)
{
	return len > 0 ? diff_clip(l->p + 1, len - 1) : xstrdup("it");
}

/* "PLACE: TEXT WHAT" */
static void
say(struct diff *d, int widened, const struct diff_line *l, size_t len,
    const char *p, size_t plen, const char *what)
{
	char *where = place(l, len), *text = diff_clip(p, plen);

	diff_note(d, widened,
		  xasprintf("%s: %s%s%s", where, text, *what ? " " : "", what));
	free(where);
	free(text);
}

/* What a parameter's name sounds like, to a tool that sends; "" if like
 * nothing. */
static const char *
sounds_like(const char *p, size_t n)
{
	static const struct verbs verbs = {
	    .known = 1, .sends = 1, .makes = 1, .writes = 1, .fetches = 1};
	static const struct words tool = {.n = 0};
	const struct name_context c = {&verbs, &tool, 0, 1};
	enum sink_kind kind;
	struct words name;

	words_split(&name, p, n);
	if (name_is_sink(&name, &c, &kind))
		return ", which sounds like a destination";
	if (name_is_path(&name, &c))
		return ", which sounds like a path";
	return "";
}

static void
property(struct diff *d, const struct spot *s, const struct diff_line *l,
	 int gained)
{
	size_t name = s->base + 1 + s->kwlen + 1;
	char *where = place(l, name - 1);
	char *text = diff_clip(l->p + name, s->end - name);

	if (gained)
		diff_note(d, 1,
			  xasprintf("%s gained %s%s", where, text,
				    sounds_like(l->p + name, s->end - name)));
	else
		diff_note(d, s->inverted, xasprintf("%s lost %s", where, text));
	free(where);
	free(text);
}

static void
branch(struct diff *d, const struct spot *s, const struct diff_line *l,
       int gained)
{
	int all = among(" allOf prefixItems ", s->kw, s->kwlen);

	say(d, gained != all || s->inverted, l, s->base, s->kw, s->kwlen,
	    all      ? gained ? "gained a condition" : "lost a condition"
	    : gained ? "gained an alternative"
		     : "lost an alternative");
}

static int
by_value(const void *a, const void *b)
{
	const struct diff_line *x = a, *y = b;
	int r = memcmp(x->v, y->v, x->vlen < y->vlen ? x->vlen : y->vlen);

	return r != 0 ? r : (x->vlen > y->vlen) - (x->vlen < y->vlen);
}

/* The values at a pointer and below it, sorted.  Caller frees. */
static const void **
values(const struct diff_side *side, const char *p, size_t len, size_t *n)
{
	size_t i = diff_from(side, p, len);
	const struct diff_line *l;
	const void **v = NULL;
	size_t room = 0;

	*n = 0;
	for (; i < side->n; i++) {
		l = side->v[i];
		if (l->plen < len || memcmp(l->p, p, len) != 0)
			break;
		if (l->plen > len ? l->p[len] != '/' : *l->v == '[')
			continue; /* another pointer, or an empty list */
		if (*n == room) {
			room = room ? room * 2 : 8;
			v = xreallocarray(v, room, sizeof(*v));
		}
		v[(*n)++] = l;
	}
	if (*n > 0)
		order_sort(v, *n, by_value);
	return v;
}

/* A value as it reads in a sentence: without the quotes of a string. */
static void
say_value(struct diff *d, int widened, const struct diff_line *l,
	  const struct spot *s, const char *before, const char *after)
{
	char *where = place(l, s->base), *text;
	int quoted = l->vlen >= 2 && l->v[0] == '"';

	text = diff_clip(l->v + quoted, l->vlen - 2u * (unsigned)quoted);
	diff_note(d, widened || s->inverted,
		  xasprintf("%s: %s%s%s", where, before, text, after));
	free(where);
	free(text);
}

/* A value that only one side's list has. */
static void
one_value(struct diff *d, const struct spot *s, const struct diff_line *l,
	  int gained, int also_number)
{
	static const struct {
		const char *kw, *before[2], *after[2];
		int widens; /* when gained: 1, when lost: 0 */
	} lists[] = {
	    {"required", {"", ""}, {" no longer required", " now required"}, 0},
	    {"enum", {"enum lost ", "enum gained "}, {"", ""}, 1},
	    {"type", {"type lost ", "type gained "}, {"", ""}, 1},
	};
	size_t i, name = sizeof("/properties/") - 1;
	char *property_at;
	int gone;

	for (i = 0; strncmp(lists[i].kw, s->kw, s->kwlen) != 0; i++)
		;
	/* Every integer is a number. */
	if (i == 2 && gained && also_number && l->vlen == 9 &&
	    memcmp(l->v, "\"integer\"", 9) == 0)
		return;
	if (i == 0 && !gained && l->vlen >= 2) {
		/* It is required no longer since it is no more. */
		property_at = xasprintf("%.*s/properties/%.*s", (int)s->base,
					l->p, (int)l->vlen - 2, l->v + 1);
		gone = !diff_has(&d->now, property_at,
				 s->base + name + l->vlen - 2);
		free(property_at);
		if (gone)
			return;
	}
	say_value(d, lists[i].widens == gained, l, s, lists[i].before[gained],
		  lists[i].after[gained]);
}

static void
value_list(struct diff *d, const struct spot *s, const struct diff_line *l)
{
	size_t na, nb, i, j = 0;
	const void **a = values(&d->was, l->p, s->end, &na);
	const void **b = values(&d->now, l->p, s->end, &nb);
	const int was = diff_has(&d->was, l->p, s->end);
	const int now = diff_has(&d->now, l->p, s->end);
	int order, number = 0;

	if (was != now && *s->kw != 'r') {
		say(d, was || s->inverted, l, s->base, s->kw, s->kwlen,
		    was ? "removed" : "added");
		na = nb = 0;
	}
	for (i = 0; i < na; i++) {
		const struct diff_line *x = a[i];

		number |= x->vlen == 8 && memcmp(x->v, "\"number\"", 8) == 0;
	}
	for (i = 0; i < na || j < nb;) {
		order = i == na ? 1 : j == nb ? -1 : by_value(a[i], b[j]);
		if (order < 0)
			one_value(d, s, a[i], 0, number);
		else if (order > 0)
			one_value(d, s, b[j], 1, number);
		i += order <= 0;
		j += order >= 0;
	}
	free(a);
	free(b);
}

/* 2 nothing more is let in, 1 what a schema lets in, 0 anything. */
static int
closedness(const struct diff_side *side, const char *p, size_t len)
{
	const struct diff_line *l = diff_at(side, p, len);

	if (l == NULL)
		return diff_has(side, p, len);
	return l->vlen == 5 && memcmp(l->v, "false", 5) == 0 ? 2 : 0;
}

/* A JSON number's value; 0 and not a number if it is none, or too long. */
static int
number(const struct diff_line *l, double *v)
{
	char text[64], *end;

	if (l == NULL || l->vlen >= sizeof(text) || l->v[0] == '"')
		return 0;
	memcpy(text, l->v, l->vlen);
	text[l->vlen] = '\0';
	*v = strtod(text, &end);
	return end != text && *end == '\0';
}

/* 1 if a limit is no longer as tight, or there is no telling. */
static int
is_looser(const struct diff_line *was, const struct diff_line *now, int upper)
{
	double a, b;

	if (was == NULL)
		return 0;
	if (!number(was, &a) || !number(now, &b))
		return 1;
	return upper ? b > a : b < a;
}

static void
keyword(struct diff *d, const struct spot *s, const struct diff_line *l)
{
	static const char upper[] = " maximum exclusiveMaximum maxLength "
				    "maxItems maxProperties maxContains ";
	static const char lower[] = " minimum exclusiveMinimum minLength "
				    "minItems minProperties minContains ";
	static const char conditions[] =
	    " pattern format const multipleOf uniqueItems $ref $dynamicRef "
	    "not if then else contains items prefixItems anyOf oneOf allOf "
	    "propertyNames dependentRequired dependentSchemas dependencies "
	    "contentEncoding contentMediaType contentSchema ";
	const int was = diff_has(&d->was, l->p, s->end);
	const int now = diff_has(&d->now, l->p, s->end);
	const char *what = !was ? "added" : !now ? "removed" : "changed";
	int up = among(upper, s->kw, s->kwlen), wider = s->inverted;

	if (among(open_keywords, s->kw, s->kwlen)) {
		wider = closedness(&d->was, l->p, s->end) >
			closedness(&d->now, l->p, s->end);
		if (wider)
			what = "opened";
		wider |= s->inverted;
	} else if (up || among(lower, s->kw, s->kwlen)) {
		wider |= is_looser(diff_at(&d->was, l->p, s->end),
				   diff_at(&d->now, l->p, s->end), up);
	} else if (among(conditions, s->kw, s->kwlen)) {
		wider |= was;
	} else {
		/* description, default, examples and what nobody knows */
		char *where = place(l, s->end);

		diff_note(d, 0,
			  xasprintf("%s%s%s", where, was && now ? "" : " ",
				    was && now ? "" : what));
		free(where);
		return;
	}
	say(d, wider, l, s->base, s->kw, s->kwlen, what);
}

static int
is_value(const struct diff_line *l, const char *v)
{
	return l != NULL && l->vlen == strlen(v) &&
	       memcmp(l->v, v, l->vlen) == 0;
}

/* A schema that is, or was, one value: false lets nothing in, true and {}
 * let everything in. */
static void
whole_schema(struct diff *d, const struct diff_line *l, size_t len)
{
	const struct diff_line *was = diff_at(&d->was, l->p, len);
	const struct diff_line *now = diff_at(&d->now, l->p, len);
	int open = is_value(was, "true") || is_value(was, "{}");
	static const char what[] = "another schema altogether";

	say(d,
	    is_value(was, "false") ||
		(now != NULL && !is_value(now, "false") && !open),
	    l, len, what, sizeof(what) - 1, "");
}

static void
in_schema(struct diff *d, const struct diff_line *l, int gained)
{
	const struct diff_side *other = gained ? &d->was : &d->now;
	struct spot s;

	if (!diff_has(other, SCHEMA, sizeof(SCHEMA) - 1)) {
		diff_note(
		    d, !gained,
		    xasprintf("inputSchema %s", gained ? "added" : "removed"));
		return;
	}
	locate(l, other, &s);
	/* Every line of a list or a condition comes by here. */
	if (s.end == d->done_len && memcmp(l->p, d->done, s.end) == 0)
		return;
	d->done = l->p;
	d->done_len = s.end;
	if (s.kind == SPOT_PROPERTY)
		property(d, &s, l, gained);
	else if (s.kind == SPOT_BRANCH)
		branch(d, &s, l, gained);
	else if (s.kind == SPOT_SCHEMA)
		whole_schema(d, l, s.end);
	else if (among(" required enum type ", s.kw, s.kwlen))
		value_list(d, &s, l);
	else
		keyword(d, &s, l);
}

/* 1 if an annotation says now that the tool is more harmless than it said;
 * without one the worst holds. */
static int
annotation_softer(const char *hint, size_t len, const struct diff_line *was,
		  const struct diff_line *now)
{
	if (among(" readOnlyHint idempotentHint ", hint, len))
		return is_value(now, "true");
	if (among(" destructiveHint openWorldHint ", hint, len))
		return is_value(now, "false") ||
		       (now == NULL && is_value(was, "true"));
	return 0;
}

/* 1 if it was one of the hints. */
static int
annotation(struct diff *d, const struct diff_line *was,
	   const struct diff_line *now)
{
	static const char under[] = "/annotations/";
	const size_t skip = sizeof(under) - 1;
	const struct diff_line *l = now != NULL ? now : was;
	char *a, *b, *hint;

	if (l->plen <= skip || memcmp(l->p, under, skip) != 0 ||
	    !annotation_softer(l->p + skip, l->plen - skip, was, now))
		return 0;
	a = was != NULL ? diff_clip(was->v, was->vlen) : xstrdup("absent");
	b = now != NULL ? diff_clip(now->v, now->vlen) : xstrdup("absent");
	hint = place(l, l->plen);
	diff_note(d, 1, xasprintf("%s %s -> %s", hint, a, b));
	free(hint);
	free(a);
	free(b);
	return 1;
}

void
diff_judge(struct diff *d, const struct diff_line *was,
	   const struct diff_line *now)
{
	const struct diff_line *l = now != NULL ? now : was;
	const size_t len = sizeof(SCHEMA) - 1;
	size_t top;
	char *where;

	if (l->plen >= len && memcmp(l->p, SCHEMA, len) == 0 &&
	    (l->plen == len || l->p[len] == '/')) {
		in_schema(d, l, was == NULL);
		return;
	}
	if (annotation(d, was, now))
		return;
	/* A member that is new or gone is one thing, whatever is in it. */
	top = l->plen > 0 ? part_end(l, 0) : 0;
	if ((was != NULL && now != NULL) ||
	    diff_has(was == NULL ? &d->was : &d->now, l->p, top))
		top = l->plen;
	where = place(l, top);
	diff_note(d, 0,
		  xasprintf("%s%s", where,
			    was == NULL   ? " added"
			    : now == NULL ? " removed"
					  : ""));
	free(where);
}
