/*
 * What is no mistake in an entry but hardly meant.  Runs in `doorward policy
 * check` and doctor, as the user, never in the monitor: it looks at the
 * directories that a policy names.  Owns nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "proto/alloc.h"
#include "proto/text.h"

#include "policy.h"
#include "model.h"

/* An entry of a file, with all that lies below it. */
struct merged {
	const struct said *said;
	struct entry entry; /* borrows */
	int layers;
};

static void
warn_of_entry(struct policy *p, const struct said *s, size_t line, char *text)
{
	char tool[96];

	text_visible(s->entry.tool, s->entry.tool_len, tool, sizeof(tool));
	policy_warn(p, xasprintf("%s:%zu: \"%s\": %s", p->files[s->file].name,
				 line, tool, text));
	free(text);
}

static void
warn_of_key(struct policy *p, const struct said *s, enum entry_key k,
	    const char *text)
{
	warn_of_entry(p, s, s->entry.place[k].line,
		      xasprintf("%s: %s", entry_key_name(k), text));
}

/* The first component that is missing or a link, or NULL; caller frees. */
static char *
odd_component(const char *path, int *missing)
{
	char *copy = xstrdup(path), *slash = copy;
	struct stat st;

	do {
		slash = strchr(slash + 1, '/');
		if (slash != NULL)
			*slash = '\0';
		*missing = lstat(copy, &st) < 0;
		if ((*missing && errno == ENOENT) ||
		    (!*missing && S_ISLNK(st.st_mode)))
			return copy;
		if (slash != NULL)
			*slash = '/';
	} while (slash != NULL && !*missing);
	free(copy);
	return NULL;
}

static void
lint_prefixes(struct policy *p, const struct said *s)
{
	const struct strings *list = &s->entry.prefixes;
	char shown[256], part[256], *odd;
	int missing, whole;
	size_t i;

	for (i = 0; i < list->n; i++) {
		odd = odd_component(list->v[i], &missing);
		if (odd == NULL)
			continue;
		text_visible(list->v[i], strlen(list->v[i]), shown,
			     sizeof(shown));
		text_visible(odd, strlen(odd), part, sizeof(part));
		whole = strcmp(odd, list->v[i]) == 0;
		free(odd);
		warn_of_entry(
		    p, s, s->entry.place[KEY_ALLOWED_PATH_PREFIXES].line,
		    xasprintf("allowed_path_prefixes: \"%s%s%s\" is %s", shown,
			      whole ? "" : "\": \"", whole ? "" : part,
			      missing ? "not there, so that nothing is inside"
				      : "a link; what it leads to at the time "
					"of a call counts"));
	}
}

/* An empty list allows nothing, but in Bouncer's format it is the default. */
static int
is_confined(const struct entry *e)
{
	const struct entry_place *place = &e->place[KEY_ALLOWED_PATH_PREFIXES];

	return e->prefixes.n > 0 ||
	       (place->given && place->format != FORMAT_BOUNCER);
}

static void
lint_paths(struct policy *p, const struct merged *m)
{
	const struct said *s = m->said;

	if (entry_has(&s->entry, KEY_WRITE_PARAMS) &&
	    s->entry.write_params.n > 0 && !is_confined(&m->entry))
		warn_of_key(p, s, KEY_WRITE_PARAMS,
			    "without allowed_path_prefixes it may write "
			    "anywhere");
	if (entry_has(&s->entry, KEY_ALLOWED_PATH_PREFIXES) &&
	    m->entry.write_params.n == 0)
		warn_of_key(p, s, KEY_ALLOWED_PATH_PREFIXES,
			    "without write_params it confines nothing");
	else
		lint_prefixes(p, s);
}

/* A text that no destination can be once it is taken apart. */
static int
cannot_match(const char *text)
{
	const char *at = strchr(text, '@');
	size_t i, k;
	uint32_t cp = 0;

	for (i = 0; text[i] != '\0'; i += k) {
		k = text_utf8_next(text + i, strlen(text + i), &cp);
		if (k == 0 || text_unsafe(cp))
			return 1;
	}
	if (at == NULL || strstr(text, "://") != NULL)
		return 0;
	return strpbrk(text, " \t,;<>()\"") != NULL ||
	       strchr(at + 1, '@') != NULL;
}

static void
lint_destinations(struct policy *p, const struct merged *m)
{
	const struct said *s = m->said;
	char shown[128];
	size_t i;

	for (i = 0; i < s->entry.trusted.n; i++) {
		if (!cannot_match(s->entry.trusted.v[i]))
			continue;
		text_visible(s->entry.trusted.v[i],
			     strlen(s->entry.trusted.v[i]), shown,
			     sizeof(shown));
		warn_of_entry(
		    p, s, s->entry.place[KEY_TRUSTED_DESTINATIONS].line,
		    xasprintf("trusted_destinations: no destination is ever "
			      "\"%s\"; write each mail address alone",
			      shown));
	}
	if (entry_has(&s->entry, KEY_ON_UNPROVEN) && m->entry.nsinks == 0)
		warn_of_key(p, s, KEY_ON_UNPROVEN,
			    "without sink_params it holds for every argument "
			    "that looks like a destination");
}

/* A block stands, whatever the entry says. */
static void
lint_blocked(struct policy *p, const struct said *s)
{
	struct policy_opinion o =
	    policy_tool(p, s->entry.tool, s->entry.tool_len);
	char id[96];

	if (o.by_default || o.action != ACTION_BLOCK)
		return;
	text_visible(o.source.rule, strlen(o.source.rule), id, sizeof(id));
	warn_of_entry(p, s, s->entry.line,
		      xasprintf("rule \"%s\" (%s:%zu) blocks the tool, so "
				"that its entry changes nothing",
				id, o.source.file, o.source.line));
}

/* In Bouncer's files an entry replaces; over one of ours that may surprise. */
static void
lint_shadowed(struct policy *p, const struct said *s)
{
	const struct said *above;

	if (s->above == NOT_FOUND || p->files[s->file].format != FORMAT_OWN)
		return;
	above = &p->said[s->above];
	if (p->files[above->file].format == FORMAT_BOUNCER)
		warn_of_entry(p, s, s->entry.line,
			      xasprintf("the entry in %s:%zu replaces this "
					"one whole, as in Bouncer",
					p->files[above->file].name,
					above->entry.line));
}

static void
lint_empty(struct policy *p, const struct merged *m)
{
	int k;

	for (k = 0; k < ENTRY_KEY_MAX; k++)
		if (entry_has(&m->entry, (enum entry_key)k))
			return;
	warn_of_entry(
	    p, m->said, m->said->entry.line,
	    xstrdup(m->said->entry.replace
			? "an entry without keys: nothing is "
			  "checked, not even what the fallback would"
			: "an entry without keys checks nothing; it only "
			  "keeps default_action from the tool"));
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

static int
has_string(const struct strings *list, const char *param)
{
	size_t i;

	for (i = 0; i < list->n; i++)
		if (strcmp(list->v[i], param) == 0)
			return 1;
	return 0;
}

static void
warn_left_out(struct policy *p, const struct said *s, enum entry_key k,
	      const struct entry *below, const char *param)
{
	char shown[128];
	char *text;

	text_visible(param, strlen(param), shown, sizeof(shown));
	text = xasprintf("it leaves out \"%s\", which the pack %s names", shown,
			 below->place[k].pack);
	warn_of_key(p, s, k, text);
	free(text);
}

/*
 * A list takes the place of the pack's: what it leaves out, a slip perhaps,
 * is checked no more.
 */
static void
lint_left_out(struct policy *p, const struct said *s, const struct entry *below)
{
	const struct entry *e = &s->entry;
	size_t i;

	if (e->replace)
		return;
	for (i = 0; entry_has(e, KEY_WRITE_PARAMS) &&
		    below->place[KEY_WRITE_PARAMS].pack != NULL &&
		    i < below->write_params.n;
	     i++)
		if (!has_string(&e->write_params, below->write_params.v[i]))
			warn_left_out(p, s, KEY_WRITE_PARAMS, below,
				      below->write_params.v[i]);
	for (i = 0;
	     entry_has(e, KEY_SINK_PARAMS) &&
	     below->place[KEY_SINK_PARAMS].pack != NULL && i < below->nsinks;
	     i++)
		if (!has_sink(e, below->sinks[i].param))
			warn_left_out(p, s, KEY_SINK_PARAMS, below,
				      below->sinks[i].param);
}

static void
lint_tool(struct policy *p, size_t undermost)
{
	struct merged m = {NULL, {0}, 0};
	struct entry below;
	size_t i;

	for (i = undermost; i != NOT_FOUND; i = p->said[i].above) {
		m.said = &p->said[i];
		below = m.entry;
		if (m.layers++ == 0)
			m.entry = m.said->entry;
		else
			entry_merge(&m.entry, &m.said->entry);
		if (m.said->pack != NO_PACK)
			continue;
		lint_paths(p, &m);
		lint_destinations(p, &m);
		lint_blocked(p, m.said);
		lint_shadowed(p, m.said);
		lint_left_out(p, m.said, &below);
		lint_empty(p, &m);
	}
}

/* Packs and fallback speak of tools, so that the default does not. */
static void
lint_default_action(struct policy *p)
{
	const struct setting *s = &p->default_action;
	enum policy_action action = (enum policy_action)s->value;
	size_t i;

	if (action == ACTION_ALLOW || policy_get_packs(p) == PACKS_NONE)
		return;
	for (i = 0; i < p->nrules; i++)
		if (p->rules[i].glob && strcmp(p->rules[i].tool, "*") == 0)
			return;
	policy_warn(
	    p, xasprintf("%s:%zu: default_action: it does not hold for "
			 "tools that a pack or the fallback speaks "
			 "of; for all tools, put a last rule: {id: "
			 "rest, tool: \"*\", action: %s}",
			 p->files[s->file].name, s->line,
			 action == ACTION_ASK ? "require_approval" : "block"));
}

void
policy_lint(struct policy *p)
{
	const struct entry *e;
	size_t i;

	lint_rules(p);
	lint_default_action(p);
	for (i = 0; i < p->nsaid; i++) {
		e = &p->said[i].entry;
		if (index_find(&p->said_index, e->tool, e->tool_len) == i)
			lint_tool(p, i);
	}
}
