/*
 * The reader of a file of pins.  Runs in the monitor and in `doorward pins`
 * on a file of the user's own, whose texts a server chose.  It takes exactly
 * what the writer writes, so that nothing is read in two ways; no recursion.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "proto/alloc.h"
#include "proto/buf.h"
#include "proto/text.h"

#include "order.h"
#include "pins_model.h"

#define MAGIC "doorward-pins "

/* Lines are taken off the front; the one at hand is a cursor of its own. */
struct reader {
	struct pins_data *d;
	const char *next, *end; /* what is left of the file */
	const char *p;          /* what is left of the line */
	size_t n;
	size_t line; /* its number */
	size_t def_room, set_room, entry_room;
	struct buf lines; /* of the definition being read */
};

static int
next_line(struct reader *r)
{
	const char *nl;

	if (r->next == r->end)
		return 0;
	nl = memchr(r->next, '\n', (size_t)(r->end - r->next));
	if (nl == NULL)
		nl = r->end - 1; /* cannot be: the file ends with one */
	r->p = r->next;
	r->n = (size_t)(nl - r->p);
	r->next = nl + 1;
	r->line++;
	return 1;
}

/* 1 and past it if the rest of the line begins with the word. */
static int
take(struct reader *r, const char *word)
{
	size_t len = strlen(word);

	if (r->n < len || memcmp(r->p, word, len) != 0)
		return 0;
	r->p += len;
	r->n -= len;
	return 1;
}

/* 64 hex digits, in small letters. */
static int
take_hash(struct reader *r, char hash[PINS_HEX])
{
	if (r->n < PINS_HEX - 1)
		return 0;
	memcpy(hash, r->p, PINS_HEX - 1);
	hash[PINS_HEX - 1] = '\0';
	r->p += PINS_HEX - 1;
	r->n -= PINS_HEX - 1;
	return strspn(hash, "0123456789abcdef") == PINS_HEX - 1;
}

static int
take_time(struct reader *r, char time[PINS_TIME])
{
	static const char form[] = "dddd-dd-ddTdd:dd:ddZ";
	size_t i;

	_Static_assert(sizeof(form) == PINS_TIME, "as pins_now() has it");
	if (r->n < sizeof(form) - 1)
		return 0;
	for (i = 0; form[i] != '\0'; i++)
		if (form[i] == 'd' ? r->p[i] < '0' || r->p[i] > '9'
				   : r->p[i] != form[i])
			return 0;
	memcpy(time, r->p, PINS_TIME - 1);
	time[PINS_TIME - 1] = '\0';
	r->p += PINS_TIME - 1;
	r->n -= PINS_TIME - 1;
	return 1;
}

/* The rest of the line is one token. */
static char *
take_token(struct reader *r)
{
	if (!token_valid(r->p, r->n))
		return NULL;
	return xmemdupz(r->p, r->n);
}

static int
read_values(struct reader *r, enum pin_kind kind)
{
	struct pin_values *v = &r->d->values[kind];
	struct pin_value one = {.token = NULL}, *to = &v->wait;

	if (take(r, " pinned ")) {
		if (v->wait.token != NULL || v->n == PINS_VALUES_MAX)
			return -1;
		v->v = xreallocarray(v->v, v->n + 1, sizeof(*v->v));
		to = &v->v[v->n];
	} else if (!take(r, " waiting ") || v->wait.token != NULL) {
		return -1;
	}
	if (!take_time(r, one.time) || !take(r, " "))
		return -1;
	if (kind == PIN_COMMAND ? !token_valid_command(r->p, r->n)
				: !token_valid(r->p, r->n))
		return -1;
	one.token = xmemdupz(r->p, r->n);
	*to = one;
	if (to != &v->wait)
		v->n++;
	return 0;
}

/* A line of a definition: a pointer, a tab, a value that is not empty. */
static int
is_flat(const char *p, size_t n)
{
	const char *tab = memchr(p, '\t', n);

	if (tab == NULL || tab == p + n - 1 || (tab != p && *p != '/'))
		return 0;
	return memchr(tab + 1, '\t', n - (size_t)(tab + 1 - p)) == NULL;
}

static int
read_def_lines(struct reader *r, struct pin_def *def)
{
	while (r->next < r->end && *r->next == '\t') {
		next_line(r);
		take(r, "\t");
		if (take(r, "flagged ")) {
			if (def->flagged != NULL || buf_used(&r->lines) > 0 ||
			    (def->flagged = take_token(r)) == NULL)
				return -1;
			continue;
		}
		if (!is_flat(r->p, r->n))
			return -1;
		buf_put(&r->lines, r->p, r->n);
		buf_putc(&r->lines, '\n');
	}
	return 0;
}

static int
read_def(struct reader *r)
{
	struct pins_data *d = r->d;
	struct pin_def *def = xcalloc(1, sizeof(*def));
	int unkept;

	if (d->ndefs == r->def_room) {
		r->def_room = r->def_room ? r->def_room * 2 : 64;
		d->defs = xreallocarray(d->defs, r->def_room,
					sizeof(struct pin_def *));
	}
	d->defs[d->ndefs++] = def; /* freed with the rest, whatever comes */
	if (!take_hash(r, def->hash) ||
	    (d->ndefs > 1 &&
	     strcmp(d->defs[d->ndefs - 2]->hash, def->hash) >= 0))
		return -1;
	unkept = take(r, " unkept");
	if (r->n != 0)
		return -1;
	r->lines.len = 0;
	if (read_def_lines(r, def) == -1)
		return -1;
	def->len = buf_used(&r->lines);
	if (def->len > 0)
		def->lines = xmemdupz(buf_head(&r->lines), def->len);
	return unkept == (def->len == 0) && def->len <= PINS_FLAT_MAX ? 0 : -1;
}

/* The definition whose hash comes next, and the blank after it. */
static struct pin_def *
take_def(struct reader *r)
{
	struct pin_def *def;
	char hash[PINS_HEX];

	if (!take_hash(r, hash) || !take(r, " "))
		return NULL;
	def = pins_find_def(r->d, hash);
	if (def != NULL)
		def->used = 1;
	return def;
}

/* The entry that a line is about: the last one, or one after it. */
static struct pin_entry *
entry_of(struct reader *r, struct pin_set *s, int second)
{
	struct pin_entry *last = s->n > 0 ? &s->e[s->n - 1] : NULL;
	char *name = take_token(r);
	int order;

	if (name == NULL)
		return NULL;
	order = last == NULL ? -1 : strcmp(last->name, name);
	if (order >= 0) {
		free(name);
		return order == 0 && second ? last : NULL;
	}
	if (s->e == NULL || s->n == r->entry_room) {
		r->entry_room = r->entry_room ? r->entry_room * 2 : 16;
		s->e = xreallocarray(s->e, r->entry_room, sizeof(*s->e));
	}
	last = &s->e[s->n++];
	*last = (struct pin_entry){.name = name};
	return last;
}

static int
read_entry(struct reader *r, struct pin_set *s)
{
	struct pin_def *def = NULL;
	struct pin_entry *e;
	char time[PINS_TIME];
	int is_new;

	if (take(r, "open ")) {
		e = entry_of(r, s, 0);
		if (e != NULL)
			e->open = 1;
		return e != NULL ? 0 : -1;
	}
	if (take(r, "pinned ")) {
		def = take_def(r);
		e = def != NULL ? entry_of(r, s, 0) : NULL;
		if (e != NULL)
			e->pin = def;
		return e != NULL ? 0 : -1;
	}
	is_new = take(r, "new ");
	if ((!is_new && !take(r, "changed ")) || !take_time(r, time) ||
	    !take(r, " ") || (def = take_def(r)) == NULL)
		return -1;
	e = entry_of(r, s, 1);
	if (e == NULL || e->wait != NULL)
		return -1;
	e->wait = def;
	e->wait_new = is_new;
	memcpy(e->time, time, sizeof(time));
	return 0;
}

static int
take_set(struct reader *r, struct pin_set *s)
{
	if (take(r, "legacy "))
		memcpy(s->era, "legacy", sizeof("legacy"));
	else if (take(r, "modern "))
		memcpy(s->era, "modern", sizeof("modern"));
	else
		return -1;
	if (!take_hash(r, s->caps))
		return -1;
	s->known = take(r, " known ");
	if (!s->known && !take(r, " open "))
		return -1;
	return take_time(r, s->time) && r->n == 0 ? 0 : -1;
}

static int
read_set(struct reader *r)
{
	struct pins_data *d = r->d;
	struct pin_set one = {.n = 0}, *s;

	if (take_set(r, &one) == -1 || d->nsets == PINS_SETS_MAX ||
	    pins_find_set(d, one.era, one.caps) != NULL)
		return -1;
	if (d->nsets == r->set_room) {
		r->set_room = r->set_room ? r->set_room * 2 : 4;
		d->sets = xreallocarray(d->sets, r->set_room, sizeof(*s));
	}
	s = &d->sets[d->nsets++];
	*s = one;
	r->entry_room = 0;
	while (r->next < r->end && *r->next == '\t') {
		next_line(r);
		take(r, "\t");
		if (read_entry(r, s) == -1)
			return -1;
	}
	return 0;
}

static int
read_head(struct reader *r)
{
	if (!next_line(r) || !take(r, "server ") ||
	    (r->d->server = take_token(r)) == NULL)
		return -1;
	if (!next_line(r) || !take(r, "package ") ||
	    (r->d->package = take_token(r)) == NULL)
		return -1;
	return 0;
}

/* Sections come in their order, each any number of times. */
static int
read_sections(struct reader *r)
{
	int at = 0, i, is;

	while (next_line(r)) {
		for (i = 0; i < PIN_KINDS; i++)
			if (take(r, pins_kind_name((enum pin_kind)i)))
				break;
		is = i;
		if (i == PIN_KINDS && !take(r, "definition ")) {
			if (!take(r, "set "))
				return -1;
			is++;
		}
		if (is < at)
			return -1;
		at = is;
		if ((is < PIN_KINDS    ? read_values(r, (enum pin_kind)is)
		     : is == PIN_KINDS ? read_def(r)
				       : read_set(r)) == -1)
			return -1;
	}
	return 0;
}

/* Bytes that the writer never writes. */
static int
is_clean(const char *p, size_t n, size_t *line)
{
	uint32_t cp = 0;
	size_t i, k;

	*line = 1;
	for (i = 0; i < n; i += k) {
		k = text_utf8_next(p + i, n - i, &cp);
		if (k == 0 || (text_unsafe(cp) && cp != '\n' && cp != '\t'))
			return 0;
		*line += cp == '\n';
	}
	return 1;
}

/* The last line has the hash of all before it; n becomes that much. */
static int
is_whole(const char *p, size_t *n)
{
	const size_t last = 4 + PINS_HEX; /* "end ", the hash, a newline */
	unsigned char h[crypto_hash_sha256_BYTES];
	char hex[PINS_HEX];
	size_t len = *n - last;

	if (*n <= last || p[len - 1] != '\n' || p[*n - 1] != '\n' ||
	    memcmp(p + len, "end ", 4) != 0)
		return 0;
	crypto_hash_sha256(h, (const unsigned char *)p, len);
	sodium_bin2hex(hex, sizeof(hex), h, sizeof(h));
	*n = len;
	return memcmp(p + len + 4, hex, PINS_HEX - 1) == 0;
}

/* 0 if it is ours, else -1 with *why. */
static int
read_version(const char *p, size_t n, char **why)
{
	const size_t len = sizeof(MAGIC) - 1;
	char digits[12] = "";
	size_t i;

	if (n > len && memcmp(p, MAGIC, len) == 0)
		for (i = 0; i < sizeof(digits) - 1 && len + i < n; i++)
			digits[i] = p[len + i];
	digits[strcspn(digits, "\n")] = '\0';
	if (digits[0] == '\0' ||
	    strspn(digits, "0123456789") != strlen(digits) ||
	    digits[0] == '0') {
		*why = xstrdup("it is damaged: no file of pins begins so");
		return -1;
	}
	if (strtoul(digits, NULL, 10) == PINS_VERSION)
		return 0;
	*why = xasprintf("it is of version %s, and this Doorward knows "
			 "version %d",
			 digits, PINS_VERSION);
	return -1;
}

static int
all_used(const struct pins_data *d)
{
	size_t i;

	for (i = 0; i < d->ndefs; i++)
		if (!d->defs[i]->used)
			return 0;
	return 1;
}

int
pins_parse(struct pins_data *d, const char *p, size_t n, char **why)
{
	struct reader r = {.d = d, .next = p};
	int result;

	memset(d, 0, sizeof(*d));
	if (read_version(p, n, why) == -1)
		return -1;
	if (!is_whole(p, &n)) {
		*why = xstrdup("it is damaged: its last line does not vouch "
			       "for the rest");
		return -1;
	}
	r.end = p + n;
	result = is_clean(p, n, &r.line) ? 0 : -1;
	if (result == 0) {
		r.line = 0;
		next_line(&r); /* the version */
		result = read_head(&r);
	}
	if (result == 0)
		result = read_sections(&r);
	if (result == 0 && !all_used(d))
		result = -1;
	buf_free(&r.lines);
	if (result == 0)
		return 0;
	*why = xasprintf("it is damaged in line %zu", r.line);
	pins_data_free(d);
	return -1;
}
