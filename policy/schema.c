/*
 * Holds a YAML tree to tables of keys.  Runs in the monitor and in the
 * commands while a policy is loaded; owns nothing but what it reports.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"
#include "proto/buf.h"
#include "proto/keyset.h"
#include "proto/text.h"

#include "policy.h"
#include "doc.h"
#include "model.h"
#include "schema.h"
#include "suggest.h"

#define KEYS_MAX 32u /* keys of one table */

void
not_built(struct load *l, const struct node *at, char *text)
{
	if (l->quiet || l->unbuilt.text != NULL)
		free(text);
	else
		mistake(&l->unbuilt, at, text);
}

/* "a, b or c" */
static void
put_list(struct buf *b, const char *const *words)
{
	size_t i;

	for (i = 0; words[i] != NULL; i++) {
		if (i > 0)
			buf_puts(b, words[i + 1] != NULL ? ", " : " or ");
		buf_puts(b, words[i]);
	}
}

static char *
buf_text(struct buf *b)
{
	char *text = xmemdupz(buf_head(b), buf_used(b));

	buf_free(b);
	return text;
}

static int
not_one_of(struct load *l, const struct node *key, const struct node *n,
	   const char *const *words)
{
	struct buf b = BUF_INIT;
	const char *near = NULL;
	struct shown s;

	buf_printf(&b, "%s: ", key->text);
	put_list(&b, words);
	buf_printf(&b, " expected, not %s", node_show(n, &s));
	if (n->kind == NODE_SCALAR)
		near = suggest(n->text, n->len, words);
	if (near != NULL)
		buf_printf(&b, "; did you mean \"%s\"?", near);
	return mistake(l->err, n, buf_text(&b));
}

static int
word_index(const struct node *n, const char *const *words)
{
	int i;

	for (i = 0; words[i] != NULL; i++)
		if (node_equals(n, words[i]))
			return i;
	return -1;
}

int
read_word(struct load *l, const struct node *key, const char *const *words)
{
	int i = word_index(key->value, words);

	return i >= 0 ? i : not_one_of(l, key, key->value, words);
}

static int
wrong_type(struct load *l, const struct node *n, const char *name,
	   const char *wanted)
{
	struct shown s;

	return mistake(l->err, n,
		       xasprintf("%s: %s expected, not %s", name, wanted,
				 node_show(n, &s)));
}

int
want_mapping(struct load *l, const struct node *key)
{
	if (key->value->kind == NODE_MAPPING)
		return 0;
	return wrong_type(l, key->value, key->text,
			  "a mapping (lines of \"key: value\", or {})");
}

int
want_list(struct load *l, const struct node *key)
{
	if (key->value->kind == NODE_SEQUENCE)
		return 0;
	return wrong_type(l, key->value, key->text,
			  "a list (lines of \"- item\", or [])");
}

int
want_string(struct load *l, const struct node *n, const char *name)
{
	struct shown s;

	if (node_is_string(n) && n->len > 0)
		return 0;
	if (n->kind != NODE_SCALAR || node_is_null(n) || n->len == 0)
		return wrong_type(l, n, name, "a text");
	return mistake(l->err, n,
		       xasprintf("%s: a text expected, not %s; put it in "
				 "quotes: \"%s\"",
				 name, node_show(n, &s), n->text));
}

int
want_path(struct load *l, const struct node *n, const char *name)
{
	struct shown s;
	char *wrong, *text;

	if (want_string(l, n, name) < 0)
		return -1;
	wrong = path_mistake(n->text);
	if (wrong == NULL)
		return 0;
	text = xasprintf("%s: %s %s", name, node_show(n, &s), wrong);
	free(wrong);
	return mistake(l->err, n, text);
}

int
want_visible(struct load *l, const struct node *n, const char *what)
{
	size_t i, k;
	uint32_t cp = 0;

	if (want_string(l, n, what) < 0)
		return -1;
	for (i = 0; i < n->len; i += k) {
		k = text_utf8_next(n->text + i, n->len - i, &cp);
		if (k == 0 || text_unsafe(cp))
			return mistake(
			    l->err, n,
			    xasprintf("%s: a control or invisible character "
				      "(a newline is one); it is one line of "
				      "visible text",
				      what));
	}
	return 0;
}

/* The first item that has been there before; slow, but only once a file. */
static int
item_twice(struct load *l, const struct node *key)
{
	const struct node *n, *other;
	struct shown s;

	for (n = key->value->child; n != NULL; n = n->next)
		for (other = key->value->child; other != n; other = other->next)
			if (node_equals(other, n->text))
				return mistake(
				    l->err, n,
				    xasprintf("%s: %s is in the list twice",
					      key->text, node_show(n, &s)));
	return 0;
}

int
want_strings(struct load *l, const struct node *key)
{
	const struct node *n;
	struct key_span *spans;
	size_t i = 0;
	int twice;

	if (want_list(l, key) < 0)
		return -1;
	for (n = key->value->child; n != NULL; n = n->next)
		if (want_string(l, n, key->text) < 0)
			return -1;
	spans = xcalloc(key->value->count, sizeof(*spans));
	for (n = key->value->child; n != NULL; n = n->next)
		spans[i++] = (struct key_span){n->text, (uint32_t)n->len};
	twice = keys_have_duplicate(spans, i);
	free(spans);
	return twice ? item_twice(l, key) : 0;
}

int
read_bool(struct load *l, const struct node *key, int *v)
{
	const struct node *n = key->value;

	if (n->kind == NODE_SCALAR && n->plain &&
	    (node_equals(n, "true") || node_equals(n, "false"))) {
		*v = node_equals(n, "true");
		return 0;
	}
	return wrong_type(l, n, key->text, "true or false");
}

int
read_setting(struct load *l, const struct node *key, const char *const *words,
	     struct setting *s)
{
	int i = read_word(l, key, words);

	if (i < 0)
		return -1;
	*s = (struct setting){i, 1, l->file, key->line};
	return 0;
}

/* Digits only, so that 0x10, 1e3 and 010 need no explaining. */
static int
parse_number(const char *p, size_t n, uint64_t *v)
{
	size_t i;

	*v = 0;
	if (n == 0 || n > 18 || (p[0] == '0' && n > 1))
		return -1;
	for (i = 0; i < n; i++) {
		if (p[i] < '0' || p[i] > '9')
			return -1;
		*v = *v * 10 + (uint64_t)(p[i] - '0');
	}
	return 0;
}

static int
parse_size(const char *p, size_t n, uint64_t *v)
{
	static const char units[][4] = {"KiB", "MiB", "GiB"};
	unsigned shift = 0, i;

	for (i = 0; i < 3; i++) {
		if (n > 3 && memcmp(p + n - 3, units[i], 3) == 0) {
			shift = 10 * (i + 1);
			n -= 3;
			break;
		}
	}
	if (parse_number(p, n, v) < 0 || *v > UINT64_MAX >> shift)
		return -1;
	*v <<= shift;
	return 0;
}

int
read_count(struct load *l, const struct node *key, uint64_t *v)
{
	const struct node *n = key->value;

	if (n->kind == NODE_SCALAR && n->plain &&
	    parse_number(n->text, n->len, v) == 0)
		return 0;
	return wrong_type(l, n, key->text, "a whole number (0, 1, 2, ...)");
}

static int
want_size(struct load *l, const struct node *key)
{
	const struct node *n = key->value;
	uint64_t v;

	if (n->kind == NODE_SCALAR && n->plain &&
	    parse_size(n->text, n->len, &v) == 0)
		return 0;
	return wrong_type(l, n, key->text,
			  "a size (bytes, or a number with KiB, MiB or GiB: "
			  "64MiB)");
}

static int
want_items(struct load *l, const struct node *key, const struct spec *spec)
{
	const struct node *n;

	if (spec->want == WANT_STRINGS)
		return want_strings(l, key);
	if (want_list(l, key) < 0)
		return -1;
	for (n = key->value->child; n != NULL; n = n->next) {
		if (spec->want == WANT_PATHS) {
			if (want_path(l, n, key->text) < 0)
				return -1;
			continue;
		}
		if (word_index(n, spec->words) < 0)
			return not_one_of(l, key, n, spec->words);
	}
	return spec->want == WANT_WORDS ? item_twice(l, key) : 0;
}

/* path is of the value itself, for the keys below it. */
static int
check_value(struct load *l, const struct node *key, const struct spec *spec,
	    const char *path)
{
	const struct node *n = key->value;
	uint64_t count;
	int flag;

	if (spec->may_be_null && node_is_null(n) && n->len > 0)
		return 0;
	switch (spec->want) {
	case WANT_WORD:
		return read_word(l, key, spec->words) < 0 ? -1 : 0;
	case WANT_BOOL:
		return read_bool(l, key, &flag);
	case WANT_COUNT:
		return read_count(l, key, &count);
	case WANT_SIZE:
		return want_size(l, key);
	case WANT_STRING:
		return want_string(l, n, key->text);
	case WANT_PATH:
		return want_path(l, n, key->text);
	case WANT_STRINGS:
	case WANT_PATHS:
	case WANT_WORDS:
		return want_items(l, key, spec);
	case WANT_SECTION:
		if (want_mapping(l, key) < 0)
			return -1;
		return check_section(l, n, spec->sub, path, path);
	case WANT_CHECK:
		break;
	}
	return spec->check(l, key);
}

/* Of a value that check_value() found fit. */
static int
is_default(const struct node *n, const struct spec *spec)
{
	const struct node *item;
	const char *rest = spec->dflt;
	uint64_t a, b;

	if (rest == NULL)
		return 0;
	if (node_is_null(n) && n->len > 0)
		return strcmp(rest, "null") == 0;
	if (spec->want == WANT_SIZE)
		return parse_size(n->text, n->len, &a) == 0 &&
		       parse_size(rest, strlen(rest), &b) == 0 && a == b;
	if (n->kind != NODE_SEQUENCE)
		return node_equals(n, rest);
	if (strcmp(rest, "[]") == 0)
		return n->child == NULL;
	for (item = n->child; item != NULL; item = item->next) {
		if (strncmp(rest, item->text, item->len) != 0)
			return 0;
		rest += item->len;
		if (*rest == ',' && item->next != NULL)
			rest++;
	}
	return *rest == '\0';
}

/* A fit value of a key whose feature is to come. */
static void
report_unbuilt(struct load *l, const struct node *key, const struct spec *spec,
	       const char *path)
{
	struct shown s;

	if (l->quiet)
		return;
	if (is_default(key->value, spec) && spec->off)
		return;
	if (is_default(key->value, spec)) {
		policy_warn(l->p,
			    xasprintf("%s:%zu:%zu: %s: not built yet, "
				      "so it has no effect",
				      l->name, key->line, key->column, path));
		return;
	}
	if (spec->dflt == NULL)
		not_built(l, key,
			  xasprintf("%s: not built yet; leave it out", path));
	else
		not_built(l, key->value,
			  xasprintf("%s: %s is not built yet; only the "
				    "default (%s) is, so leave it out",
				    path,
				    key->value->kind == NODE_SCALAR
					? node_show(key->value, &s)
					: "this",
				    spec->dflt));
}

int
check_unbuilt(struct load *l, const struct node *key, const struct spec *spec,
	      const char *path)
{
	if (check_value(l, key, spec, path) < 0)
		return -1;
	report_unbuilt(l, key, spec, path);
	return 0;
}

static int
unknown_key(struct load *l, const struct node *key, const struct spec *specs,
	    const char *what)
{
	const char *names[KEYS_MAX + 1], *taken[KEYS_MAX + 1], *near;
	struct buf b = BUF_INIT;
	struct shown s;
	size_t n = 0, i;

	/* A slip may have been meant for a key that is refused in turn. */
	for (i = 0; i < KEYS_MAX && specs[i].name != NULL; i++) {
		names[i] = specs[i].name;
		if (specs[i].refused == NULL)
			taken[n++] = specs[i].name;
	}
	names[i] = NULL;
	near = suggest(key->text, key->len, names);
	buf_printf(&b, "unknown key %s in %s; ", node_show(key, &s), what);
	if (near != NULL) {
		buf_printf(&b, "did you mean \"%s\"?", near);
	} else {
		buf_puts(&b, "its keys are ");
		for (i = 0; i < n; i++) {
			if (i > 0)
				buf_puts(&b, i + 1 < n ? ", " : " and ");
			buf_puts(&b, taken[i]);
		}
	}
	return mistake(l->err, key, buf_text(&b));
}

static const struct spec *
find_spec(const struct spec *specs, const struct node *key)
{
	for (; specs->name != NULL; specs++)
		if (node_equals(key, specs->name))
			return specs;
	return NULL;
}

static int
check_key(struct load *l, const struct node *key, const struct spec *spec,
	  const char *path)
{
	char *full;
	int result;

	if (spec->refused != NULL)
		return mistake(l->err, key,
			       xasprintf("%s: %s", spec->name, spec->refused));
	if (spec->read != NULL)
		return spec->read(l, key);
	full = *path != '\0' ? xasprintf("%s.%s", path, spec->name)
			     : xstrdup(spec->name);
	/* A section that may be null is one feature; others are many. */
	if (spec->want == WANT_SECTION && spec->may_be_null)
		l->quiet++;
	result = check_value(l, key, spec, full);
	if (spec->want == WANT_SECTION && spec->may_be_null)
		l->quiet--;
	if (result == 0 && spec->want != WANT_CHECK &&
	    (spec->want != WANT_SECTION || spec->may_be_null))
		report_unbuilt(l, key, spec, full);
	free(full);
	return result;
}

int
check_section(struct load *l, const struct node *mapping,
	      const struct spec *specs, const char *what, const char *path)
{
	const struct spec *spec;
	const struct node *key;

	for (key = mapping->child; key != NULL; key = key->next) {
		spec = find_spec(specs, key);
		if (spec == NULL)
			return unknown_key(l, key, specs, what);
		if (check_key(l, key, spec, path) < 0)
			return -1;
	}
	return 0;
}
