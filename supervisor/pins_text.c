/*
 * Tokens, and the writer of a file of pins.  Runs in the monitor and in
 * `doorward pins`.  A server chose every text here: none of them can end a
 * line, end its quotes, or reach a terminal as anything but visible text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#include "proto/alloc.h"
#include "proto/buf.h"
#include "proto/text.h"

#include "pins_model.h"

#define HASHED "sha256:"

void
pins_now(char out[PINS_TIME])
{
	time_t now = time(NULL);
	struct tm tm;

	if (gmtime_r(&now, &tm) == NULL ||
	    strftime(out, PINS_TIME, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		memcpy(out, "1970-01-01T00:00:00Z", PINS_TIME);
}

static void
put_hash(struct buf *b, const void *p, size_t len)
{
	unsigned char h[crypto_hash_sha256_BYTES];
	char hex[PINS_HEX];

	crypto_hash_sha256(h, p, len);
	buf_puts(b, sodium_bin2hex(hex, sizeof(hex), h, sizeof(h)));
}

static void
put_unsafe(struct buf *b, uint32_t cp)
{
	static const char shorts[] = "\nn\rr\tt\"\"\\\\";
	size_t i;

	for (i = 0; i + 1 < sizeof(shorts); i += 2) {
		if (cp == (unsigned char)shorts[i]) {
			buf_putc(b, '\\');
			buf_putc(b, shorts[i + 1]);
			return;
		}
	}
	buf_printf(b, "\\u{%x}", (unsigned)cp);
}

void
token_put(struct buf *b, const char *p, size_t len, size_t max)
{
	size_t i, k;
	uint32_t cp = 0;

	if (len > max) {
		buf_puts(b, HASHED);
		put_hash(b, p, len);
		return;
	}
	buf_putc(b, '"');
	for (i = 0; i < len; i += k) {
		k = text_utf8_next(p + i, len - i, &cp);
		if (k == 0) {
			buf_printf(b, "\\x%02x", (unsigned char)p[i]);
			k = 1;
		} else if (cp == '"' || cp == '\\' || text_unsafe(cp)) {
			put_unsafe(b, cp);
		} else {
			buf_put(b, p + i, k);
		}
	}
	buf_putc(b, '"');
}

/* What the buffer holds, as a string that the caller frees. */
static char *
string_of(struct buf *b)
{
	buf_putc(b, '\0');
	return b->data;
}

char *
token_new(const char *p, size_t len, size_t max)
{
	struct buf b = BUF_INIT;

	token_put(&b, p, len, max);
	return string_of(&b);
}

char *
token_of_name(const char *p, size_t len)
{
	return token_new(p, len, PINS_NAME_MAX);
}

char *
token_of_command(const char *const *argv)
{
	struct buf b = BUF_INIT;
	size_t i;

	for (i = 0; argv[i] != NULL; i++) {
		if (i > 0)
			buf_putc(&b, ' ');
		token_put(&b, argv[i], strlen(argv[i]), PINS_TEXT_MAX);
	}
	return string_of(&b);
}

/* n hex digits at p; 0 if there are fewer. */
static int
hex_at(const char *p, size_t n, uint32_t *v)
{
	static const char digits[] = "0123456789abcdef";
	const char *d;
	size_t i;

	*v = 0;
	for (i = 0; i < n; i++) {
		d = p[i] != '\0' ? strchr(digits, p[i]) : NULL;
		if (d == NULL)
			return 0;
		*v = *v << 4 | (uint32_t)(d - digits);
	}
	return 1;
}

/* An escape of n bytes at most, behind its backslash; the bytes taken, or 0. */
static size_t
unescape(struct buf *b, const char *p, size_t n)
{
	static const char shorts[] = "\nn\rr\tt\"\"\\\\";
	char utf8[4];
	const char *end;
	uint32_t v;
	size_t i, len;

	for (i = 0; n > 0 && i + 1 < sizeof(shorts); i += 2) {
		if (p[0] == shorts[i + 1]) {
			buf_putc(b, shorts[i]);
			return 1;
		}
	}
	if (n >= 3 && p[0] == 'x' && hex_at(p + 1, 2, &v)) {
		buf_putc(b, (char)v);
		return 3;
	}
	end = n > 2 && p[0] == 'u' && p[1] == '{' ? memchr(p, '}', n) : NULL;
	len = end != NULL ? (size_t)(end - p) - 2 : 0;
	if (len == 0 || len > 6 || !hex_at(p + 2, len, &v) || v > 0x10ffff)
		return 0;
	buf_put(b, utf8, text_utf8_put(v, utf8));
	return len + 3;
}

/*
 * The quoted text at the start of n bytes, unquoted into b.  The bytes taken,
 * or 0.  It may be quoted otherwise than we would.
 */
static size_t
unquote(struct buf *b, const char *p, size_t n)
{
	size_t i = 1, k;

	if (n == 0 || p[0] != '"')
		return 0;
	while (i < n && p[i] != '"') {
		if (p[i] != '\\') {
			buf_putc(b, p[i++]);
			continue;
		}
		k = unescape(b, p + i + 1, n - i - 1);
		if (k == 0)
			return 0;
		i += k + 1;
	}
	return i < n ? i + 1 : 0;
}

size_t
token_at(const char *p, size_t n)
{
	const size_t hashed = sizeof(HASHED) - 1 + PINS_HEX - 1;
	struct buf text = BUF_INIT, again = BUF_INIT;
	size_t len, i;
	uint32_t v;

	if (n >= hashed && memcmp(p, HASHED, sizeof(HASHED) - 1) == 0) {
		for (i = sizeof(HASHED) - 1; i < hashed; i++)
			if (!hex_at(p + i, 1, &v))
				return 0;
		return hashed;
	}
	len = unquote(&text, p, n);
	if (len > 0) {
		token_put(&again, buf_used(&text) > 0 ? buf_head(&text) : "",
			  buf_used(&text), SIZE_MAX);
		if (buf_used(&again) != len ||
		    memcmp(buf_head(&again), p, len) != 0)
			len = 0;
	}
	buf_free(&text);
	buf_free(&again);
	return len;
}

int
token_valid(const char *p, size_t n)
{
	return n > 0 && token_at(p, n) == n;
}

int
token_valid_command(const char *p, size_t n)
{
	size_t k;

	for (;;) {
		k = token_at(p, n);
		if (k == 0)
			return 0;
		if (k == n)
			return 1;
		if (p[k] != ' ')
			return 0;
		p += k + 1;
		n -= k + 1;
	}
}

char *
token_text(const char *token, size_t *len)
{
	struct buf b = BUF_INIT;

	if (unquote(&b, token, strlen(token)) == 0) {
		buf_free(&b);
		return NULL;
	}
	*len = buf_used(&b);
	return string_of(&b);
}

static void
mark_used(struct pins_data *d)
{
	struct pin_entry *e;
	size_t i, j;

	for (i = 0; i < d->ndefs; i++)
		d->defs[i]->used = 0;
	for (i = 0; i < d->nsets; i++) {
		for (j = 0; j < d->sets[i].n; j++) {
			e = &d->sets[i].e[j];
			if (e->pin != NULL)
				e->pin->used = 1;
			if (e->wait != NULL)
				e->wait->used = 1;
		}
	}
}

void
pins_drop_unused(struct pins_data *d)
{
	struct pin_def *def;
	size_t i, left = 0;

	mark_used(d);
	for (i = 0; i < d->ndefs; i++) {
		def = d->defs[i];
		if (def->used) {
			d->defs[left++] = def;
			continue;
		}
		free(def->flagged);
		free(def->lines);
		free(def);
	}
	d->ndefs = left;
}

static void
put_value(struct buf *b, const char *kind, const char *state,
	  const struct pin_value *v)
{
	if (v->token != NULL)
		buf_printf(b, "%s %s %s %s\n", kind, state, v->time, v->token);
}

static void
put_values(struct buf *b, const char *kind, const struct pin_values *v)
{
	size_t i;

	for (i = 0; i < v->n; i++)
		put_value(b, kind, "pinned", &v->v[i]);
	put_value(b, kind, "waiting", &v->wait);
}

static void
put_def(struct buf *b, const struct pin_def *def)
{
	const char *p = def->lines, *nl;
	const char *end = p != NULL ? p + def->len : NULL;

	buf_printf(b, "definition %s%s\n", def->hash,
		   p == NULL ? " unkept" : "");
	if (def->flagged != NULL)
		buf_printf(b, "\tflagged %s\n", def->flagged);
	for (; p != NULL && p < end; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		buf_putc(b, '\t');
		buf_put(b, p, (size_t)(nl - p) + 1);
	}
}

static void
put_entry(struct buf *b, const struct pin_entry *e)
{
	if (e->pin != NULL)
		buf_printf(b, "\tpinned %s %s\n", e->pin->hash, e->name);
	else if (e->open)
		buf_printf(b, "\topen %s\n", e->name);
	if (e->wait != NULL)
		buf_printf(b, "\t%s %s %s %s\n",
			   e->wait_new ? "new" : "changed", e->time,
			   e->wait->hash, e->name);
}

static void
put_set(struct buf *b, const struct pin_set *s)
{
	size_t i;

	buf_printf(b, "set %s %s %s %s\n", s->era, s->caps,
		   s->known ? "known" : "open", s->time);
	for (i = 0; i < s->n && buf_used(b) <= PINS_FILE_MAX; i++)
		put_entry(b, &s->e[i]);
}

int
pins_print(struct buf *b, struct pins_data *d, char **why)
{
	size_t i;

	pins_drop_unused(d);
	buf_printf(b, "doorward-pins %d\nserver %s\npackage %s\n", PINS_VERSION,
		   d->server, d->package);
	for (i = 0; i < PIN_KINDS; i++)
		put_values(b, pins_kind_name((enum pin_kind)i), &d->values[i]);
	for (i = 0; i < d->ndefs && buf_used(b) <= PINS_FILE_MAX; i++)
		put_def(b, d->defs[i]);
	for (i = 0; i < d->nsets && buf_used(b) <= PINS_FILE_MAX; i++)
		put_set(b, &d->sets[i]);
	buf_puts(b, "end ");
	put_hash(b, buf_head(b), buf_used(b) - 4);
	buf_putc(b, '\n');
	if (buf_used(b) <= PINS_FILE_MAX)
		return 0;
	*why = xasprintf("the pins of %s would take more than %u MiB",
			 d->server, PINS_FILE_MAX >> 20);
	return -1;
}
