/*
 * Putting what the files and packs said of tools into order: bottom up, with
 * look-ups by name; and what can only be checked then.  Runs in the monitor
 * and in the commands while a policy is loaded; owns nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"
#include "proto/text.h"

#include "policy.h"
#include "doc.h"
#include "model.h"

/* Packs are read last, since the files say which, but lie lowest. */
static void
packs_first(struct policy *p)
{
	struct said *sorted = xcalloc(p->nsaid, sizeof(*sorted));
	size_t i, n = 0, files = 0;

	for (i = 0; i < p->nsaid; i++)
		if (p->said[i].pack != NO_PACK)
			sorted[n++] = p->said[i];
	for (i = 0; i < p->nsaid; i++) {
		if (p->said[i].pack == NO_PACK) {
			sorted[n++] = p->said[i];
			files++;
		}
	}
	for (i = 0; i < p->npacks; i++)
		p->packs[i].first -= files;
	free(p->said);
	p->said = sorted;
}

static void
index_said(struct policy *p)
{
	struct index last = {NULL, 0};
	size_t i, *top;

	index_init(&p->said_index, p->nsaid);
	index_init(&last, p->nsaid);
	for (i = 0; i < p->nsaid; i++) {
		const struct entry *e = &p->said[i].entry;

		index_add(&p->said_index, e->tool, e->tool_len, i);
		top = index_add(&last, e->tool, e->tool_len, i);
		if (*top != i)
			p->said[*top].above = i;
		*top = i;
	}
	index_free(&last);
}

static void
index_rules(struct policy *p)
{
	size_t i;

	index_init(&p->rule_index, p->nrules);
	p->globs = xcalloc(p->nrules, sizeof(*p->globs));
	for (i = 0; i < p->nrules; i++) {
		if (p->rules[i].glob)
			p->globs[p->nglobs++] = i;
		else
			index_add(&p->rule_index, p->rules[i].tool,
				  p->rules[i].tool_len, i);
	}
}

void
policy_arrange(struct policy *p)
{
	packs_first(p);
	index_said(p);
	index_rules(p);
}

static int
not_sending(const struct policy *p, const struct said *s,
	    struct policy_error *err)
{
	char tool[96];

	text_visible(s->entry.tool, s->entry.tool_len, tool, sizeof(tool));
	mistake_at(err, s->sink_line, s->sink_column,
		   xasprintf("%s: has no effect on \"%s\" without "
			     "\"exfiltrating: true\", which %s; add that, or "
			     "leave it out",
			     s->sink_key, tool,
			     s->entry.replace
				 ? "\"replace: true\" cuts off"
				 : "neither a pack nor a file below has"));
	err->file = xstrdup(p->files[s->file].name);
	err->layered = !s->entry.replace;
	return -1;
}

/* All entries for the tool of the undermost one, bottom up. */
static int
check_tool(const struct policy *p, size_t undermost, struct policy_error *err)
{
	const struct said *s;
	int sends = 0;
	size_t i;

	for (i = undermost; i != NOT_FOUND; i = s->above) {
		s = &p->said[i];
		/* Of several packs one is enough: any may come to apply. */
		if (s->pack != NO_PACK) {
			sends |= s->entry.exfiltrating;
			continue;
		}
		if (s->entry.replace)
			sends = 0;
		if (entry_has(&s->entry, KEY_EXFILTRATING))
			sends = s->entry.exfiltrating;
		if (s->sink_key != NULL && !sends)
			return not_sending(p, s, err);
	}
	return 0;
}

int
entries_check(const struct policy *p, struct policy_error *err)
{
	const struct entry *e;
	size_t i;

	for (i = 0; i < p->nsaid; i++) {
		e = &p->said[i].entry;
		if (index_find(&p->said_index, e->tool, e->tool_len) == i &&
		    check_tool(p, i, err) < 0)
			return -1;
	}
	return 0;
}
