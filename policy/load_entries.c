/*
 * What is said of tools: the entries of tools:, of a pack, of a Bouncer file.
 * Runs in the monitor and in the commands while a policy is loaded; owns the
 * entry that it reads until that is the policy's.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"
#include "proto/text.h"

#include "policy.h"
#include "doc.h"
#include "model.h"
#include "pattern.h"
#include "schema.h"

/* clang-format off */
static const char *const deny_ask[] = {"deny", "ask", NULL};
static const char *const reads_words[] = {"untrusted", "private", NULL};
static const char *const kind_words[] = {"address", "container", "link", "opaque", NULL};
_Static_assert(SINK_ADDRESS == 1 && SINK_CONTAINER == 2 && SINK_LINK == 3 && SINK_OPAQUE == 4, "kind_words are in this order, from 1");
_Static_assert(READS_UNTRUSTED == 1 && READS_PRIVATE == 2, "reads_words are in this order, from 1");

static key_fn read_replace, read_flag, read_list, read_on, read_max;
static key_fn read_sinks, read_trusted, read_prefixes, read_base;
static key_fn read_patterns, read_text_form, read_reads, read_vouches;
static key_fn later_vouches;

static const char pack_only[] = "a key of packs (doorward-packs(5)); a policy says it with max_calls, write_params or a rule";
static const char own_only[] = "a key of Doorward's own format; to have it, add \"version: 1\" and put the entries below \"tools:\"";
static const char lowest[] = "a key of a policy; a pack lies below all others and has nothing to replace";

static const struct spec own_entry[] = {
	{.name = "replace", .read = read_replace},
	{.name = "exfiltrating", .read = read_flag},
	{.name = "sink_params", .read = read_sinks},
	{.name = "sinks_optional", .read = read_flag},
	{.name = "content_params", .want = WANT_STRINGS, .dflt = "[]", .off = 1},
	{.name = "scan_text", .want = WANT_STRINGS, .dflt = "[]", .off = 1},
	{.name = "trusted_destinations", .read = read_trusted},
	{.name = "on_tainted", .want = WANT_WORD, .words = deny_ask, .dflt = "deny"},
	{.name = "on_named", .want = WANT_WORD, .words = deny_ask, .dflt = "ask"},
	{.name = "on_unproven", .read = read_on},
	{.name = "max_calls", .read = read_max},
	{.name = "write_params", .read = read_list},
	{.name = "allowed_path_prefixes", .read = read_prefixes},
	{.name = "base", .read = read_base},
	{.name = "arg_patterns", .read = read_patterns},
	{.name = "identity_fields", .want = WANT_STRINGS},
	{.name = "text_form", .want = WANT_STRING, .may_be_null = 1, .dflt = "null", .off = 1},
	{.name = "reads", .want = WANT_WORD, .words = reads_words},
	{.name = "vouches", .read = later_vouches},
	{.name = "read_params", .refused = pack_only},
	{.name = "deletes", .refused = pack_only},
	{.name = "changes", .refused = pack_only},
	{.name = "plain", .refused = pack_only},
	{.name = NULL},
};

static const struct spec pack_entry[] = {
	{.name = "exfiltrating", .read = read_flag},
	{.name = "sink_params", .read = read_sinks},
	{.name = "sinks_optional", .read = read_flag},
	{.name = "content_params", .read = read_list},
	{.name = "scan_text", .read = read_list},
	{.name = "trusted_destinations", .read = read_trusted},
	{.name = "on_tainted", .read = read_on},
	{.name = "on_named", .read = read_on},
	{.name = "on_unproven", .read = read_on},
	{.name = "max_calls", .read = read_max},
	{.name = "write_params", .read = read_list},
	{.name = "allowed_path_prefixes", .read = read_prefixes},
	{.name = "base", .read = read_base},
	{.name = "arg_patterns", .read = read_patterns},
	{.name = "identity_fields", .read = read_list},
	{.name = "text_form", .read = read_text_form},
	{.name = "reads", .read = read_reads},
	{.name = "vouches", .read = read_vouches},
	{.name = "read_params", .read = read_list},
	{.name = "deletes", .read = read_list},
	{.name = "changes", .read = read_list},
	{.name = "plain", .read = read_list},
	{.name = "replace", .refused = lowest},
	{.name = NULL},
};

static const struct spec bouncer_entry[] = {
	{.name = "exfiltrating", .read = read_flag},
	{.name = "sink_params", .read = read_sinks},
	{.name = "trusted_destinations", .read = read_trusted},
	{.name = "write_params", .read = read_list},
	{.name = "allowed_path_prefixes", .read = read_prefixes},
	{.name = "arg_patterns", .read = read_patterns},
	{.name = "max_calls", .read = read_max},
	{.name = "replace", .refused = own_only},
	{.name = "sinks_optional", .refused = own_only},
	{.name = "content_params", .refused = own_only},
	{.name = "scan_text", .refused = own_only},
	{.name = "on_tainted", .refused = own_only},
	{.name = "on_named", .refused = own_only},
	{.name = "on_unproven", .refused = own_only},
	{.name = "base", .refused = own_only},
	{.name = "identity_fields", .refused = own_only},
	{.name = "text_form", .refused = own_only},
	{.name = "reads", .refused = own_only},
	{.name = "vouches", .refused = own_only},
	{.name = NULL},
};
/* clang-format on */

/* Which key it is; what is not one of them has no reader. */
static enum entry_key
key_of(const struct node *key)
{
	int k = 0;

	while (k < ENTRY_KEY_MAX &&
	       !node_equals(key, entry_key_name((enum entry_key)k)))
		k++;
	return (enum entry_key)k;
}

int
is_entry_key(const struct node *key)
{
	return key_of(key) < KEY_READ_PARAMS || node_equals(key, "replace");
}

/* 1 if the key speaks of destinations, and so needs exfiltrating. */
static int
needs_exfiltrating(enum entry_key k)
{
	return k == KEY_SINK_PARAMS || k == KEY_SINKS_OPTIONAL ||
	       k == KEY_SCAN_TEXT || k == KEY_TRUSTED_DESTINATIONS ||
	       k == KEY_ON_TAINTED || k == KEY_ON_NAMED || k == KEY_ON_UNPROVEN;
}

/* Keeps the place of a key that has been read; 0. */
static int
given(struct load *l, const struct node *key)
{
	enum entry_key k = key_of(key);
	struct entry_place *place = &l->said.entry.place[k];

	place->file = l->name;
	place->pack = l->pack != NO_PACK ? l->p->packs[l->pack].name : NULL;
	place->line = key->line;
	place->format = l->format;
	place->given = 1;
	if (needs_exfiltrating(k) && l->said.sink_key == NULL) {
		l->said.sink_key = entry_key_name(k);
		l->said.sink_line = key->line;
		l->said.sink_column = key->column;
	}
	return 0;
}

static int
read_replace(struct load *l, const struct node *key)
{
	return read_bool(l, key, &l->said.entry.replace);
}

static int
read_flag(struct load *l, const struct node *key)
{
	struct entry *e = &l->said.entry;
	int *flag = key_of(key) == KEY_EXFILTRATING ? &e->exfiltrating
						    : &e->sinks_optional;

	return read_bool(l, key, flag) < 0 ? -1 : given(l, key);
}

static int
read_on(struct load *l, const struct node *key)
{
	struct entry *e = &l->said.entry;
	enum policy_action *on = &e->on_unproven;
	int i = read_word(l, key, deny_ask);

	if (i < 0)
		return -1;
	if (key_of(key) == KEY_ON_TAINTED)
		on = &e->on_tainted;
	else if (key_of(key) == KEY_ON_NAMED)
		on = &e->on_named;
	*on = i == 0 ? ACTION_BLOCK : ACTION_ASK;
	return given(l, key);
}

static int
read_max(struct load *l, const struct node *key)
{
	if (read_count(l, key, &l->said.entry.max_calls) < 0)
		return -1;
	return given(l, key);
}

static struct strings *
list_of(struct entry *e, enum entry_key k)
{
	struct strings *const lists[ENTRY_KEY_MAX] = {
	    [KEY_CONTENT_PARAMS] = &e->content_params,
	    [KEY_SCAN_TEXT] = &e->scan_text,
	    [KEY_TRUSTED_DESTINATIONS] = &e->trusted,
	    [KEY_WRITE_PARAMS] = &e->write_params,
	    [KEY_ALLOWED_PATH_PREFIXES] = &e->prefixes,
	    [KEY_IDENTITY_FIELDS] = &e->identity_fields,
	    [KEY_VOUCHES] = &e->vouches,
	    [KEY_READ_PARAMS] = &e->read_params,
	    [KEY_DELETES] = &e->deletes,
	    [KEY_CHANGES] = &e->changes,
	    [KEY_PLAIN] = &e->plain,
	};

	return lists[k];
}

static int
read_list(struct load *l, const struct node *key)
{
	struct strings *s = list_of(&l->said.entry, key_of(key));
	const struct node *n;

	if (want_strings(l, key) < 0)
		return -1;
	s->v = xcalloc(key->value->count, sizeof(*s->v));
	for (n = key->value->child; n != NULL; n = n->next)
		s->v[s->n++] = xmemdupz(n->text, n->len);
	return given(l, key);
}

/* They do not count when destinations are compared. */
static char *
without_blanks(const struct node *n)
{
	const char *p = n->text + strspn(n->text, " \t");
	size_t len = n->len - (size_t)(p - n->text);

	while (len > 0 && (p[len - 1] == ' ' || p[len - 1] == '\t'))
		len--;
	return xmemdupz(p, len);
}

static int
read_trusted(struct load *l, const struct node *key)
{
	struct strings *s = &l->said.entry.trusted;
	const struct node *n;

	if (want_strings(l, key) < 0)
		return -1;
	s->v = xcalloc(key->value->count, sizeof(*s->v));
	for (n = key->value->child; n != NULL; n = n->next) {
		s->v[s->n++] = without_blanks(n);
		if (check_trusted(l, n, s->v[s->n - 1]) < 0)
			return -1;
	}
	return given(l, key);
}

/* A directory's name is the same with and without a slash at its end. */
static char *
copy_path(const struct node *n)
{
	size_t len = n->len;

	while (len > 1 && n->text[len - 1] == '/')
		len--;
	return xmemdupz(n->text, len);
}

/* A directory of paths: below it is all that is meant, without a pattern. */
static int
want_directory(struct load *l, const struct node *n, const char *name)
{
	struct shown s;
	char *wrong, *text;

	if (want_string(l, n, name) < 0)
		return -1;
	wrong = prefix_mistake(n->text);
	if (wrong == NULL)
		return want_path(l, n, name);
	text = xasprintf("%s: %s %s", name, node_show(n, &s), wrong);
	free(wrong);
	return mistake(l->err, n, text);
}

static int
read_prefixes(struct load *l, const struct node *key)
{
	struct strings *s = &l->said.entry.prefixes;
	const struct node *n;

	if (want_strings(l, key) < 0)
		return -1;
	for (n = key->value->child; n != NULL; n = n->next)
		if (want_directory(l, n, key->text) < 0)
			return -1;
	s->v = xcalloc(key->value->count, sizeof(*s->v));
	for (n = key->value->child; n != NULL; n = n->next)
		s->v[s->n++] = copy_path(n);
	return given(l, key);
}

static int
read_base(struct load *l, const struct node *key)
{
	const struct node *n = key->value;

	if (node_is_null(n) && n->len > 0)
		return given(l, key);
	if (want_directory(l, n, key->text) < 0)
		return -1;
	l->said.entry.base = copy_path(n);
	return given(l, key);
}

static int
has_sink(const struct entry *e, const char *param)
{
	size_t i;

	for (i = 0; i < e->nsinks; i++)
		if (strcmp(e->sinks[i].param, param) == 0)
			return 1;
	return 0;
}

#define SINKS_MAX 256u /* of one tool: each is compared with the others */

static int
add_sink(struct load *l, const struct node *name, enum sink_kind kind)
{
	struct entry *e = &l->said.entry;
	struct shown s;

	if (has_sink(e, name->text))
		return mistake(l->err, name,
			       xasprintf("sink_params: %s is in the list twice",
					 node_show(name, &s)));
	if (e->nsinks == SINKS_MAX)
		return mistake(l->err, name,
			       xasprintf("sink_params: more than %u of one "
					 "tool",
					 SINKS_MAX));
	e->sinks = xreallocarray(e->sinks, e->nsinks + 1, sizeof(*e->sinks));
	e->sinks[e->nsinks].param = xmemdupz(name->text, name->len);
	e->sinks[e->nsinks++].kind = kind;
	return 0;
}

/* {to: address}: the parameter's name, and what kind of destination it is. */
static int
add_kinds(struct load *l, const struct node *mapping)
{
	const struct node *k;
	int i;

	if (l->format == FORMAT_BOUNCER)
		return mistake(l->err, mapping,
			       xstrdup("sink_params: kinds of destinations are "
				       "of Doorward's own format; a Bouncer "
				       "policy has a list of names"));
	for (k = mapping->child; k != NULL; k = k->next) {
		i = read_word(l, k, kind_words);
		if (i < 0 || add_sink(l, k, (enum sink_kind)(i + 1)) < 0)
			return -1;
	}
	return 0;
}

static int
read_sinks(struct load *l, const struct node *key)
{
	const struct node *n;

	if (key->value->kind == NODE_MAPPING)
		return add_kinds(l, key->value) < 0 ? -1 : given(l, key);
	if (want_list(l, key) < 0)
		return -1;
	for (n = key->value->child; n != NULL; n = n->next) {
		if (n->kind == NODE_MAPPING) {
			if (add_kinds(l, n) < 0)
				return -1;
		} else if (want_string(l, n, key->text) < 0 ||
			   add_sink(l, n, SINK_BY_VALUE) < 0) {
			return -1;
		}
	}
	return given(l, key);
}

/* "*.md" as the regular expression that it was meant for, or NULL; caller
 * frees.  Nothing of the kind is taken from a text that has more to it. */
static char *
regex_of_glob(const char *text)
{
	char *out, *p;

	if (text[0] != '*' && text[0] != '?')
		return NULL;
	for (; *text == '*' && text[1] == '*'; text++)
		;
	if (strpbrk(text, "()[]{}|^$+\\") != NULL)
		return NULL;
	p = out = xcalloc(2 * strlen(text) + 1, 1);
	for (; *text != '\0'; text++) {
		if (*text == '*')
			*p++ = '.';
		else if (*text == '.')
			*p++ = '\\';
		*p++ = *text == '?' ? '.' : *text;
	}
	return out;
}

static int
not_a_pattern(struct load *l, const struct node *k, const char *why,
	      size_t offset)
{
	char *meant = regex_of_glob(k->value->text), *text, shown[128];

	if (meant == NULL)
		return mistake(l->err, k->value,
			       xasprintf("%s: not a regular expression: %s (at "
					 "byte %zu of it)",
					 k->text, why, offset));
	text_visible(meant, strlen(meant), shown, sizeof(shown));
	free(meant);
	text = xasprintf("%s: not a regular expression: %s (at byte %zu of "
			 "it); * and ? alone stand for nothing: did you mean "
			 "'%s'?",
			 k->text, why, offset, shown);
	return mistake(l->err, k->value, text);
}

static int
read_pattern(struct load *l, const struct node *k)
{
	struct entry *e = &l->said.entry;
	struct arg_pattern *a;
	struct pattern *re;
	char *why = NULL;
	size_t offset = 0;
	int result;

	if (want_string(l, k->value, k->text) < 0)
		return -1;
	re = pattern_compile(k->value->text, k->value->len, &why, &offset);
	if (re == NULL) {
		result = not_a_pattern(l, k, why, offset);
		free(why);
		return result;
	}
	e->patterns =
	    xreallocarray(e->patterns, e->npatterns + 1, sizeof(*e->patterns));
	a = &e->patterns[e->npatterns++];
	a->param = xmemdupz(k->text, k->len);
	a->text = xmemdupz(k->value->text, k->value->len);
	a->re = re;
	return 0;
}

static int
read_patterns(struct load *l, const struct node *key)
{
	const struct node *k;

	if (want_mapping(l, key) < 0)
		return -1;
	for (k = key->value->child; k != NULL; k = k->next)
		if (read_pattern(l, k) < 0)
			return -1;
	return given(l, key);
}

static int
read_text_form(struct load *l, const struct node *key)
{
	const struct node *n = key->value;

	if (node_is_null(n) && n->len > 0)
		return given(l, key);
	if (want_string(l, n, key->text) < 0)
		return -1;
	l->said.entry.text_form = xmemdupz(n->text, n->len);
	return given(l, key);
}

static int
read_reads(struct load *l, const struct node *key)
{
	int i = read_word(l, key, reads_words);

	if (i < 0)
		return -1;
	l->said.entry.reads = (enum entry_reads)(i + 1);
	return given(l, key);
}

static int
check_vouches(struct load *l, const struct node *key)
{
	const struct node *n;
	struct shown s;

	if (want_strings(l, key) < 0)
		return -1;
	for (n = key->value->child; n != NULL; n = n->next)
		if (n->text[0] != '$')
			return mistake(
			    l->err, n,
			    xasprintf("vouches: %s is no JSONPath; one that "
				      "starts with $ expected",
				      node_show(n, &s)));
	return 0;
}

static int
read_vouches(struct load *l, const struct node *key)
{
	return check_vouches(l, key) < 0 ? -1 : read_list(l, key);
}

/* In a policy of this version; an empty list is true already. */
static int
later_vouches(struct load *l, const struct node *key)
{
	if (check_vouches(l, key) < 0)
		return -1;
	if (key->value->child != NULL)
		not_built(l, key,
			  xstrdup("vouches: not built yet; leave it out"));
	return 0;
}

static int
no_glob(struct load *l, const struct node *key)
{
	struct shown s;

	if (strpbrk(key->text, "*?") == NULL)
		return 0;
	return mistake(l->err, key,
		       xasprintf("%s: an entry is for one tool, by its whole "
				 "name; patterns are for rules: {id: ..., "
				 "tool: \"...*\", action: block}",
				 node_show(key, &s)));
}

/* Of a file whose entries nothing below can complete. */
static int
check_alone(struct load *l, const struct node *key)
{
	const struct said *s = &l->said;

	if (l->format == FORMAT_OWN || s->sink_key == NULL ||
	    s->entry.exfiltrating)
		return 0;
	return mistake_at(l->err, s->sink_line, s->sink_column,
			  xasprintf("%s: has no effect on \"%.64s\" without "
				    "\"exfiltrating: true\"; add that, or "
				    "leave it out",
				    s->sink_key, key->text));
}

static int
load_entry(struct load *l, const struct node *key)
{
	const struct spec *specs = own_entry;
	const char *what = "an entry of tools";
	struct entry *e = &l->said.entry;

	if (l->format == FORMAT_PACK) {
		specs = pack_entry;
		what = "an entry of a pack";
	} else if (l->format == FORMAT_BOUNCER) {
		specs = bouncer_entry;
		what = "an entry of a Bouncer policy";
	}
	entry_init(e);
	e->tool = xmemdupz(key->text, key->len);
	e->tool_len = key->len;
	e->line = key->line;
	e->replace = l->format == FORMAT_BOUNCER;
	if (no_glob(l, key) < 0 || want_mapping(l, key) < 0 ||
	    check_section(l, key->value, specs, what, "") < 0)
		return -1;
	return check_alone(l, key);
}

int
load_entries(struct load *l, const struct node *mapping)
{
	struct policy *p = l->p;
	const struct node *key;

	p->said = xreallocarray(p->said, p->nsaid + mapping->count + 1,
				sizeof(*p->said));
	for (key = mapping->child; key != NULL; key = key->next) {
		if (load_entry(l, key) < 0)
			return -1;
		l->said.pack = l->pack;
		l->said.file = l->file;
		l->said.column = key->column;
		l->said.above = NOT_FOUND;
		p->said[p->nsaid++] = l->said;
		memset(&l->said, 0, sizeof(l->said));
		if (l->pack == NO_PACK)
			p->files[l->file].entries++;
		else
			p->packs[l->pack].entries++;
	}
	return 0;
}
