/*
 * An entry in memory: defaults, merging, freeing.  Runs in the monitor and in
 * the commands; owns what the loader or the fallback put into it.
 */
#include <stdlib.h>
#include <string.h>

#include "policy.h"
#include "entry.h"
#include "pattern.h"

/* In the order of enum entry_key. */
static const char *const key_names[] = {
    "exfiltrating",   "sink_params",  "sinks_optional",
    "content_params", "scan_text",    "trusted_destinations",
    "on_tainted",     "on_named",     "on_unproven",
    "max_calls",      "write_params", "allowed_path_prefixes",
    "base",           "arg_patterns", "identity_fields",
    "text_form",      "reads",        "vouches",
    "read_params",    "deletes",      "changes",
    "plain",
};
_Static_assert(sizeof(key_names) / sizeof(key_names[0]) == ENTRY_KEY_MAX,
	       "a name for each key");

const char *
entry_key_name(enum entry_key k)
{
	return key_names[k];
}

void
entry_init(struct entry *e)
{
	memset(e, 0, sizeof(*e));
	e->on_tainted = ACTION_BLOCK;
	e->on_named = ACTION_ASK;
	e->on_unproven = ACTION_ASK;
}

static void
strings_clear(struct strings *s)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		free(s->v[i]);
	free(s->v);
}

void
entry_clear(struct entry *e)
{
	struct strings *const lists[] = {
	    &e->content_params, &e->scan_text,   &e->trusted,
	    &e->write_params,   &e->prefixes,    &e->identity_fields,
	    &e->vouches,        &e->read_params, &e->deletes,
	    &e->changes,        &e->plain};
	size_t i;

	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		strings_clear(lists[i]);
	for (i = 0; i < e->nsinks; i++)
		free(e->sinks[i].param);
	for (i = 0; i < e->npatterns; i++) {
		free(e->patterns[i].param);
		free(e->patterns[i].text);
		pattern_free(e->patterns[i].re);
	}
	free(e->sinks);
	free(e->patterns);
	free(e->base);
	free(e->text_form);
	free(e->tool);
	memset(e, 0, sizeof(*e));
}

static void
take_sinks(struct entry *under, const struct entry *over)
{
	under->sinks = over->sinks;
	under->nsinks = over->nsinks;
}

static void
take_patterns(struct entry *under, const struct entry *over)
{
	under->patterns = over->patterns;
	under->npatterns = over->npatterns;
}

static void
take_key(struct entry *under, const struct entry *over, enum entry_key k)
{
	/* clang-format off */
	switch (k) {
	case KEY_EXFILTRATING: under->exfiltrating = over->exfiltrating; break;
	case KEY_SINK_PARAMS: take_sinks(under, over); break;
	case KEY_SINKS_OPTIONAL: under->sinks_optional = over->sinks_optional; break;
	case KEY_CONTENT_PARAMS: under->content_params = over->content_params; break;
	case KEY_SCAN_TEXT: under->scan_text = over->scan_text; break;
	case KEY_TRUSTED_DESTINATIONS: under->trusted = over->trusted; break;
	case KEY_ON_TAINTED: under->on_tainted = over->on_tainted; break;
	case KEY_ON_NAMED: under->on_named = over->on_named; break;
	case KEY_ON_UNPROVEN: under->on_unproven = over->on_unproven; break;
	case KEY_MAX_CALLS: under->max_calls = over->max_calls; break;
	case KEY_WRITE_PARAMS: under->write_params = over->write_params; break;
	case KEY_ALLOWED_PATH_PREFIXES: under->prefixes = over->prefixes; break;
	case KEY_BASE: under->base = over->base; break;
	case KEY_ARG_PATTERNS: take_patterns(under, over); break;
	case KEY_IDENTITY_FIELDS: under->identity_fields = over->identity_fields; break;
	case KEY_TEXT_FORM: under->text_form = over->text_form; break;
	case KEY_READS: under->reads = over->reads; break;
	case KEY_VOUCHES: under->vouches = over->vouches; break;
	case KEY_READ_PARAMS: under->read_params = over->read_params; break;
	case KEY_DELETES: under->deletes = over->deletes; break;
	case KEY_CHANGES: under->changes = over->changes; break;
	case KEY_PLAIN: under->plain = over->plain; break;
	case ENTRY_KEY_MAX: break;
	}
	/* clang-format on */
}

void
entry_merge(struct entry *under, const struct entry *over)
{
	int k;

	if (over->replace) {
		*under = *over;
		return;
	}
	for (k = 0; k < ENTRY_KEY_MAX; k++) {
		if (!over->place[k].given)
			continue;
		take_key(under, over, (enum entry_key)k);
		under->place[k] = over->place[k];
	}
	under->tool = over->tool;
	under->tool_len = over->tool_len;
	under->line = over->line;
}

int
entry_names_params(const struct entry *e)
{
	return e->nsinks + e->npatterns + e->content_params.n + e->scan_text.n +
		   e->write_params.n + e->read_params.n + e->deletes.n +
		   e->changes.n + e->plain.n >
	       0;
}
