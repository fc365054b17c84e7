/*
 * What the rules say of a tool, and methods: of a method.  Runs in the
 * monitor for every call, with names that the client chose: no allocation,
 * no recursion, bytes compared as bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"
#include "proto/text.h"

#include "policy.h"
#include "model.h"

/* 1 if the pattern's character takes the name's.  With symbols the name is a
 * pattern itself, and its * and ? stand for what they could be. */
static int
takes(char pattern, char name, int symbols)
{
	if (symbols && name == '*')
		return 0;
	if (pattern == '?')
		return 1;
	return pattern == name;
}

/*
 * * stands for any bytes, ? for any one byte.  Goes back to the last * only,
 * so that the cost is at most the product of both lengths.
 */
static int
match_glob(const char *pat, size_t plen, const char *name, size_t nlen,
	   int symbols)
{
	size_t p = 0, n = 0, star = plen, retry = 0;

	while (n < nlen) {
		if (p < plen && pat[p] == '*') {
			star = p++;
			retry = n;
		} else if (p < plen && takes(pat[p], name[n], symbols)) {
			p++;
			n++;
		} else if (star < plen) {
			p = star + 1;
			n = ++retry;
		} else {
			return 0;
		}
	}
	while (p < plen && pat[p] == '*')
		p++;
	return p == plen;
}

static int
matches(const struct rule *r, const char *name, size_t len, int symbols)
{
	if (r->glob)
		return match_glob(r->tool, r->tool_len, name, len, symbols);
	return !symbols && r->tool_len == len &&
	       memcmp(r->tool, name, len) == 0;
}

/* 1 if a is known to match every name that b matches. */
static int
covers(const struct rule *a, const struct rule *b)
{
	return matches(a, b->tool, b->tool_len, b->glob);
}

static void
from_file(const struct policy *p, size_t file, size_t line,
	  struct policy_source *s)
{
	s->file = p->files[file].name;
	s->line = line;
	s->format = p->files[file].format;
}

static struct policy_opinion
from_setting(const struct policy *p, const struct setting *s, const char *name)
{
	struct policy_opinion o;

	memset(&o, 0, sizeof(o));
	o.action = (enum policy_action)s->value;
	o.by_default = 1;
	o.source.rule = name;
	o.source.format = FORMAT_OWN;
	if (s->given)
		from_file(p, s->file, s->line, &o.source);
	return o;
}

/* The first rule of this name, or a pattern before it; NOT_FOUND for none. */
static size_t
first_rule(const struct policy *p, const char *name, size_t len)
{
	size_t exact = index_find(&p->rule_index, name, len), i;

	for (i = 0; i < p->nglobs && p->globs[i] < exact; i++)
		if (matches(&p->rules[p->globs[i]], name, len, 0))
			return p->globs[i];
	return exact;
}

struct policy_opinion
policy_tool(const struct policy *p, const char *name, size_t len)
{
	size_t i = first_rule(p, name, len);
	struct policy_opinion o;
	const struct rule *r;

	if (i == NOT_FOUND)
		return from_setting(p, &p->default_action, "default_action");
	r = &p->rules[i];
	memset(&o, 0, sizeof(o));
	o.action = r->action;
	o.reason = r->reason;
	o.source.rule = r->id;
	from_file(p, r->file, r->line, &o.source);
	return o;
}

static const struct method *
find_method(const struct policy *p, const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < p->nmethods; i++)
		if (p->methods[i].len == len &&
		    memcmp(p->methods[i].name, name, len) == 0)
			return &p->methods[i];
	return NULL;
}

struct policy_opinion
policy_method(const struct policy *p, const char *name, size_t len, int *named)
{
	const struct method *m = find_method(p, name, len);
	struct policy_opinion o;

	*named = m != NULL;
	if (m == NULL)
		return from_setting(p, &p->methods_default, "methods");
	memset(&o, 0, sizeof(o));
	o.action = m->action;
	o.source.rule = "methods";
	from_file(p, m->file, m->line, &o.source);
	return o;
}

static void
warn_of_two(struct policy *p, const struct rule *r, const struct rule *before,
	    const char *form)
{
	char id[96], other[96], *what;

	text_visible(r->id, strlen(r->id), id, sizeof(id));
	text_visible(before->id, strlen(before->id), other, sizeof(other));
	what = xasprintf("rule \"%s\" (%s:%zu) %s", other,
			 p->files[before->file].name, before->line, form);
	policy_warn(p, xasprintf("%s:%zu: rule \"%s\": %s",
				 p->files[r->file].name, r->line, id, what));
	free(what);
}

static void
lint_rule(struct policy *p, size_t i)
{
	const struct rule *r = &p->rules[i], *before;
	size_t j;

	for (j = 0; j < i; j++) {
		before = &p->rules[j];
		/* Twice in one file was found when that was read. */
		if (before->file != r->file && strcmp(before->id, r->id) == 0)
			warn_of_two(p, r, before, "has the same id");
		if (covers(before, r)) {
			warn_of_two(p, r, before,
				    "comes first and matches all of it, so "
				    "that it is never reached");
			return;
		}
	}
}

/* What a client does before it can call a tool, shut by name. */
static void
lint_named_methods(struct policy *p)
{
	static const struct {
		const char *name, *whom;
	} needed[] = {
	    {"initialize", "clients of every version before 2026-07-28"},
	    {"notifications/initialized",
	     "clients of every version before 2026-07-28"},
	    {"ping", "clients that ask whether the server still answers"},
	    {"server/discover", "clients of version 2026-07-28"},
	};
	const struct method *m;
	size_t i;

	for (i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		m = find_method(p, needed[i].name, strlen(needed[i].name));
		if (m == NULL || m->action == ACTION_ALLOW)
			continue;
		policy_warn(p, xasprintf("%s:%zu: methods: %s: %s shuts out %s",
					 p->files[m->file].name, m->line,
					 m->name, policy_action_name(m->action),
					 needed[i].whom));
	}
}

/* A client that may not shake hands in either era can do nothing at all. */
static void
lint_methods(struct policy *p)
{
	static const char *const first[] = {"initialize", "tools/list"};
	const struct setting *dflt = &p->methods_default;
	size_t i;

	if (dflt->value == ACTION_ALLOW)
		return;
	for (i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
		if (find_method(p, first[i], strlen(first[i])) != NULL)
			continue;
		policy_warn(p, xasprintf("%s:%zu: methods: with default: %s "
					 "and no line for %s most clients "
					 "will not work",
					 p->files[dflt->file].name, dflt->line,
					 policy_action_name(
					     (enum policy_action)dflt->value),
					 first[i]));
	}
}

void
lint_rules(struct policy *p)
{
	size_t i;

	for (i = 0; i < p->nrules; i++)
		lint_rule(p, i);
	lint_named_methods(p);
	lint_methods(p);
}
