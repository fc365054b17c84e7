/*
 * Long values in what `doorward pins` prints.  Runs in the command, as the
 * user.  The values are tokens of a server's texts: all that is unsafe in
 * them is escaped, and where a line ends is decided here alone.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"
#include "proto/buf.h"
#include "proto/text.h"

#include "pins_model.h"
#include "pins_parts.h"

#define WIDTH 78u   /* columns of a line */
#define SHORT 60u   /* bytes of a value that stays behind its place */
#define WHOLE 240u  /* bytes up to which two texts are shown whole */
#define WORD 24u    /* bytes of a word; a longer one is several */
#define CONTEXT 40u /* bytes at least that are shown around a part */
/* Bytes between two parts that are one; what is around them must not meet. */
#define NEAR (2 * (CONTEXT + 2 * WORD))
#define EDITS_MAX 400 /* words that come and go; memory grows by its square */

/* A text without its quotes, cut into words. */
struct words {
	const char *p;
	size_t *at; /* owned; n + 1 offsets, the last is the end */
	size_t n;
};

/* Words from..to of both texts, which differ. */
struct part {
	size_t was, was_to, now, now_to;
};

struct parts {
	struct part *v; /* owned */
	size_t n;
};

/* Bytes of one character of a token, an escape being one. */
static size_t
unit(const char *p, size_t n)
{
	const char *end;
	size_t k;

	if (p[0] != '\\' || n < 2) {
		k = text_utf8_next(p, n, NULL);
		return k > 0 ? k : 1;
	}
	if (p[1] == 'x')
		return n < 4 ? n : 4;
	if (p[1] != 'u')
		return 2;
	end = memchr(p, '}', n);
	return end != NULL ? (size_t)(end - p) + 1 : n;
}

static size_t
columns(const char *p, size_t n, size_t k)
{
	uint32_t cp = 0;

	if (p[0] == '\\')
		return k;
	text_utf8_next(p, n, &cp);
	return cp >= 0x1100 ? 2 : 1; /* wide ones begin there */
}

static int
is_break(const char *p, size_t n)
{
	return n >= 2 && p[0] == '\\' && p[1] == 'n';
}

/* Bytes of the n at p that go on a line with room columns left. */
static size_t
fitting(const char *p, size_t n, size_t room)
{
	size_t i, k, wide = 0, blank = 0;

	for (i = 0; i < n; i += k) {
		k = unit(p + i, n - i);
		wide += columns(p + i, n - i, k);
		if (wide > room && i > 0)
			return blank > 0 ? blank : i;
		/* The last break has only the quote behind it. */
		if (is_break(p + i, n - i) && i + k < n && p[i + k] != '"')
			return i + k;
		if (p[i] == ' ')
			blank = i + k;
	}
	return n;
}

int
parts_long(const char *v, size_t len)
{
	size_t i;

	for (i = 0; i < len; i += unit(v + i, len - i))
		if (is_break(v + i, len - i))
			return 1;
	return len > SHORT;
}

void
parts_put(struct buf *b, int indent, const char *lead, const char *v,
	  size_t len)
{
	const size_t deeper = (size_t)indent + strlen(lead) + 1;
	const size_t room = WIDTH > deeper + 20 ? WIDTH - deeper : 20;
	size_t k = fitting(v, len, room + 1);

	buf_printf(b, "%*s%s", indent, "", lead);
	buf_put(b, v, k);
	for (v += k, len -= k; len > 0; v += k, len -= k) {
		buf_printf(b, "\n%*s", (int)deeper, "");
		k = fitting(v, len, room);
		buf_put(b, v, k);
	}
	buf_putc(b, '\n');
}

static int
of_word(char c)
{
	return (unsigned char)c >= 0x80 || (c >= '0' && c <= '9') ||
	       (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static void
cut(struct words *w, const char *token, size_t len)
{
	size_t i = 0, from;

	w->p = token + 1;
	len -= 2;
	w->at = xcalloc(len + 1, sizeof(*w->at));
	while (i < len) {
		from = w->at[w->n++] = i;
		i += unit(w->p + i, len - i);
		if (!of_word(w->p[from]))
			continue;
		while (i < len && of_word(w->p[i]) && i - from < WORD)
			i += unit(w->p + i, len - i);
	}
	w->at[w->n] = len;
}

static int
same_word(const struct words *a, size_t i, const struct words *b, size_t j)
{
	size_t n = a->at[i + 1] - a->at[i];

	return b->at[j + 1] - b->at[j] == n &&
	       memcmp(a->p + a->at[i], b->p + b->at[j], n) == 0;
}

/*
 * Myers' algorithm (1986), forward, on what the part leaves of both texts.
 * v[d] is row d: how far one comes in the first text with d words gone or
 * come, by diagonal -d..d.
 */
struct search {
	const struct words *was, *now;
	struct part in;
	int32_t *v[EDITS_MAX + 1]; /* owned; v[d] has room for d on each side */
};

/* 1 if diagonal k of row d is best reached from k + 1: by a word that came. */
static int
comes(const int32_t *before, int d, int k)
{
	return k == -d ||
	       (k != d && before[d - 1 + k - 1] < before[d - 1 + k + 1]);
}

/* One row; 1 if it reaches the end of both. */
static int
one_row(struct search *s, int d)
{
	const int32_t n = (int32_t)(s->in.was_to - s->in.was);
	const int32_t m = (int32_t)(s->in.now_to - s->in.now);
	const int32_t *before = d > 0 ? s->v[d - 1] : NULL;
	int32_t x, y;
	int k, done = 0;

	s->v[d] = xcalloc(2 * (size_t)d + 1, sizeof(**s->v));
	for (k = -d; k <= d && !done; k += 2) {
		if (d == 0)
			x = 0;
		else if (comes(before, d, k))
			x = before[d - 1 + k + 1];
		else
			x = before[d - 1 + k - 1] + 1;
		y = x - k;
		while (x < n && y >= 0 && y < m &&
		       same_word(s->was, s->in.was + (size_t)x, s->now,
				 s->in.now + (size_t)y)) {
			x++;
			y++;
		}
		s->v[d][d + k] = x;
		done = x == n && y == m;
	}
	return done;
}

static void
add_part(struct parts *ps, struct part p)
{
	ps->v = xreallocarray(ps->v, ps->n + 1, sizeof(*ps->v));
	ps->v[ps->n++] = p;
}

/* The way back through the rows: a part for each word, last first. */
static void
walk_back(const struct search *s, int d, struct parts *ps)
{
	int32_t x = (int32_t)(s->in.was_to - s->in.was);
	int32_t y = (int32_t)(s->in.now_to - s->in.now), k;
	const int32_t *before;
	struct part p;
	int came;

	for (; d > 0; d--) {
		before = s->v[d - 1];
		k = x - y;
		came = comes(before, d, k);
		k += came ? 1 : -1;
		x = before[d - 1 + k];
		y = x - k;
		p.was = s->in.was + (size_t)x;
		p.was_to = p.was + !came;
		p.now = s->in.now + (size_t)y;
		p.now_to = p.now + (size_t)came;
		add_part(ps, p);
	}
}

/* Turns the parts round, and makes one of those that are near each other. */
static void
tidy(const struct words *was, struct parts *ps)
{
	struct part *last, *p, spare;
	size_t i, left = 0;

	for (i = 0; i < ps->n / 2; i++) {
		spare = ps->v[i];
		ps->v[i] = ps->v[ps->n - 1 - i];
		ps->v[ps->n - 1 - i] = spare;
	}
	for (i = 0; i < ps->n; i++) {
		p = &ps->v[i];
		last = left > 0 ? &ps->v[left - 1] : NULL;
		if (last != NULL &&
		    was->at[p->was] - was->at[last->was_to] <= NEAR) {
			last->was_to = p->was_to;
			last->now_to = p->now_to;
		} else {
			ps->v[left++] = *p;
		}
	}
	ps->n = left;
}

static void
find_parts(const struct words *was, const struct words *now, struct parts *ps)
{
	struct search s = {
	    .was = was, .now = now, .in = {0, was->n, 0, now->n}};
	int d, i, done = 0;

	while (s.in.was < was->n && s.in.now < now->n &&
	       same_word(was, s.in.was, now, s.in.now)) {
		s.in.was++;
		s.in.now++;
	}
	while (s.in.was_to > s.in.was && s.in.now_to > s.in.now &&
	       same_word(was, s.in.was_to - 1, now, s.in.now_to - 1)) {
		s.in.was_to--;
		s.in.now_to--;
	}
	for (d = 0; d <= EDITS_MAX && !done; d++)
		done = one_row(&s, d);
	if (done)
		walk_back(&s, d - 1, ps);
	else
		add_part(ps, s.in);
	for (i = 0; i < d; i++)
		free(s.v[i]);
	tidy(was, ps);
}

/* 1 if all that no part holds is the same in both, byte for byte: whatever
 * was made of the texts above, nothing that differs goes unseen. */
static int
complete(const struct words *was, const struct words *now,
	 const struct parts *ps)
{
	const struct part end = {was->n, was->n, now->n, now->n}, *p;
	size_t i, a = 0, z = 0, n;

	for (i = 0; i <= ps->n; i++) {
		p = i < ps->n ? &ps->v[i] : &end;
		if (p->was < a || p->now < z || p->was_to > was->n ||
		    p->now_to > now->n)
			return 0;
		n = was->at[p->was] - was->at[a];
		if (now->at[p->now] - now->at[z] != n ||
		    memcmp(was->p + was->at[a], now->p + now->at[z], n) != 0)
			return 0;
		a = p->was_to;
		z = p->now_to;
	}
	return 1;
}

/* The words that are shown of a part: from is the first, to behind the last. */
static void
widen(const struct words *w, size_t *from, size_t *to)
{
	const size_t a = w->at[*from], z = w->at[*to];

	while (*from > 0 && a - w->at[*from] < CONTEXT)
		--*from;
	while (*to < w->n && w->at[*to] - z < CONTEXT)
		++*to;
}

static void
put_part(struct buf *b, int indent, const char *lead, const struct words *w,
	 size_t from, size_t to)
{
	struct buf v = BUF_INIT;

	widen(w, &from, &to);
	buf_puts(&v, from > 0 ? "...\"" : "\"");
	buf_put(&v, w->p + w->at[from], w->at[to] - w->at[from]);
	buf_puts(&v, to < w->n ? "\"..." : "\"");
	parts_put(b, indent, lead, buf_head(&v), buf_used(&v));
	buf_free(&v);
}

/* Characters from byte from up to byte to. */
static size_t
count(const struct words *w, size_t from, size_t to)
{
	size_t n = 0;

	for (; from < to; from += unit(w->p + from, to - from))
		n++;
	return n;
}

/* Bytes that a part's two sides begin with alike, to a whole character. */
static size_t
alike(const struct words *was, const struct words *now, const struct part *p)
{
	const char *a = was->p + was->at[p->was], *b = now->p + now->at[p->now];
	size_t n = was->at[p->was_to] - was->at[p->was];
	size_t m = now->at[p->now_to] - now->at[p->now], i = 0, k;

	while (i < n && i < m) {
		k = unit(a + i, n - i);
		if (k != unit(b + i, m - i) || memcmp(a + i, b + i, k) != 0)
			break;
		i += k;
	}
	return i;
}

static void
put_parts(struct buf *b, int indent, const struct words *was,
	  const struct words *now, const struct parts *ps)
{
	size_t i, same, a = 0, z = 0, na = 0, nz = 0, to;

	buf_printf(b, "%*s%zu part%s of %zu characters (was %zu):\n", indent,
		   "", ps->n, ps->n == 1 ? "" : "s",
		   count(now, 0, now->at[now->n]),
		   count(was, 0, was->at[was->n]));
	for (i = 0; i < ps->n; i++) {
		same = alike(was, now, &ps->v[i]);
		to = was->at[ps->v[i].was] + same;
		na += count(was, a, to);
		a = to;
		to = now->at[ps->v[i].now] + same;
		nz += count(now, z, to);
		z = to;
		buf_printf(b, "%*sfrom character %zu", indent, "", nz + 1);
		if (na != nz)
			buf_printf(b, " (was %zu)", na + 1);
		buf_putc(b, '\n');
		put_part(b, indent, "was ", was, ps->v[i].was, ps->v[i].was_to);
		put_part(b, indent, "now ", now, ps->v[i].now, ps->v[i].now_to);
	}
}

/* Whether the parts are so much that the whole is easier to read. */
static int
too_much(const struct words *was, const struct words *now,
	 const struct parts *ps)
{
	const size_t whole = was->at[was->n] + now->at[now->n];
	size_t i, sum = 0;

	for (i = 0; i < ps->n; i++)
		sum += 4 * CONTEXT + was->at[ps->v[i].was_to] -
		       was->at[ps->v[i].was] + now->at[ps->v[i].now_to] -
		       now->at[ps->v[i].now];
	return sum >= whole - whole / 4;
}

static int
is_text(const char *v, size_t len)
{
	return len >= 2 && v[0] == '"' && token_at(v, len) == len;
}

void
parts_diff(struct buf *b, int indent, const char *was, size_t was_len,
	   const char *now, size_t now_len)
{
	struct words w = {0}, n = {0};
	struct parts ps = {0};
	int whole = 1;

	if ((was_len > WHOLE || now_len > WHOLE) && is_text(was, was_len) &&
	    is_text(now, now_len)) {
		cut(&w, was, was_len);
		cut(&n, now, now_len);
		find_parts(&w, &n, &ps);
		whole = !complete(&w, &n, &ps) || too_much(&w, &n, &ps);
	}
	if (whole) {
		parts_put(b, indent, "was ", was, was_len);
		parts_put(b, indent, "now ", now, now_len);
	} else {
		put_parts(b, indent, &w, &n, &ps);
	}
	free(w.at);
	free(n.at);
	free(ps.v);
}

void
parts_clip(struct buf *b, const char *v, size_t len, size_t max)
{
	size_t i, n;

	if (!is_text(v, len)) {
		buf_put(b, v, len);
		return;
	}
	for (i = 1, n = 0; i < len - 1 && n < max; n++)
		i += unit(v + i, len - i);
	buf_put(b, v, i);
	buf_puts(b, i < len - 1 ? "\"..." : "\"");
}
