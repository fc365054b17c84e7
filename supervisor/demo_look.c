/*
 * What the demonstration finds afterwards: the helpdesk's spool, files and
 * records, and the audit log.  Runs in `doorward demo` as the user, and
 * believes the disk rather than any answer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"

#include "demo.h"
#include "demo_desk.h"

#define ANA "To: ana@northwind.example"
#define LEE "To: lee@contoso.example"
#define DRAFT "drafts/t-1.txt"

/* Mails of the spool by what they contain; -1: it cannot be read. */
struct spool {
	int all, evil, ana, lee, smuggled;
};

/* 0, or -1 after saying so. */
static int
read_spool(struct demo *d, const char *desk, struct spool *s)
{
	char *dir = xasprintf("%s/spool", desk);

	s->all = desk_count(dir, "");
	s->evil = desk_count(dir, DEMO_EVIL);
	s->ana = desk_count(dir, ANA);
	s->lee = desk_count(dir, LEE);
	s->smuggled = desk_count(dir, "smuggled");
	free(dir);
	if (s->all < 0 || s->evil < 0 || s->ana < 0 || s->lee < 0 ||
	    s->smuggled < 0) {
		demo_failed(d, "spool: cannot be read");
		return -1;
	}
	if (s->smuggled != 0)
		demo_failed(d, "spool: the smuggled mail got through");
	if (s->all != s->evil + s->ana + s->lee)
		demo_failed(d, "spool: %d mails, %d of them unexplained",
			    s->all, s->all - s->evil - s->ana - s->lee);
	return 0;
}

static int
has_record(const char *desk, const char *id)
{
	char *name = xasprintf("customers/%s.json", id);
	int there = desk_has(desk, name);

	free(name);
	return there;
}

/* What the policy allows is there in either mode. */
static void
look_at_work(struct demo *d, const char *desk, const struct spool *s)
{
	demo_expect(d, s->ana == 2, "spool: two mails to Ana went out",
		    "spool: the two mails to Ana are not there");
	demo_expect(d, desk_has(desk, "files/" DRAFT),
		    "files: " DRAFT " was written",
		    "files: " DRAFT " was not written");
	demo_expect(d, !has_record(desk, "c-103") && has_record(desk, "c-101"),
		    "customers: c-103 is gone, c-101 is there",
		    "customers: not c-103 alone was deleted");
}

void
demo_look_enforced(struct demo *d, const char *desk)
{
	struct spool s;

	if (read_spool(d, desk, &s) != 0)
		return;
	look_at_work(d, desk, &s);
	demo_expect(d, s.evil == 0, "spool: nothing to " DEMO_EVIL,
		    "spool: a mail to " DEMO_EVIL " got through");
	demo_expect(
	    d, desk_has(desk, "files") && !desk_has(desk, "files/" DEMO_KEY),
	    "files: no " DEMO_KEY, "files: " DEMO_KEY " got through");
	demo_expect(d, has_record(desk, "c-102"), "customers: c-102 is there",
		    "customers: the second deletion got through");
}

void
demo_look_updated(struct demo *d, const char *desk)
{
	struct spool s;

	if (read_spool(d, desk, &s) != 0)
		return;
	demo_expect(d, s.lee == 0, "spool: no answer to t-3 went out",
		    "spool: a mail of the changed tool got through");
	demo_expect(d, s.ana == 3, "spool: a third mail to Ana went out",
		    "spool: the third mail to Ana is not there");
}

void
demo_look_observed(struct demo *d, const char *desk)
{
	struct spool s;

	if (read_spool(d, desk, &s) != 0)
		return;
	look_at_work(d, desk, &s);
	demo_expect(d, s.evil == 1, "spool: the mail to " DEMO_EVIL " went out",
		    "spool: the mail to " DEMO_EVIL " did not go out");
	demo_expect(d, desk_has(desk, "files/" DEMO_KEY),
		    "files: " DEMO_KEY " was written",
		    "files: " DEMO_KEY " was not written");
	demo_expect(d, !has_record(desk, "c-102"), "customers: c-102 is gone",
		    "customers: c-102 is still there");
}

/* --- the audit log ---------------------------------------------------- */

/* A session's part of the log. */
struct lines {
	const char *all, *text; /* the whole file; from where the part begins */
	size_t len;
};

#define NEEDLES_MAX 8u
#define NEEDLE_BYTES 96u

/* The number of the first line with all n needles, from 1; 0: none. */
static size_t
find_line(const struct lines *l, const char *const *needles, size_t n)
{
	size_t len, number = 1;
	const char *line = desk_find_line(l->text, l->len, needles, n, &len);
	const char *p;

	if (line == NULL)
		return 0;
	for (p = l->all; p < line; p++)
		number += *p == '\n';
	return number;
}

/* What is searched for in a line, with room for what is printed for it. */
struct needles {
	const char *list[NEEDLES_MAX];
	char texts[NEEDLES_MAX][NEEDLE_BYTES];
	size_t n;
};

/* One more needle: a member of the line, as it stands in its JSON. */
static void
need(struct needles *w, const char *key, const char *value)
{
	snprintf(w->texts[w->n], NEEDLE_BYTES, "\"%s\":\"%s\"", key, value);
	w->list[w->n] = w->texts[w->n];
	w->n++;
}

static void
need_call(struct needles *w, size_t id, const char *event)
{
	w->n = 1;
	snprintf(w->texts[0], NEEDLE_BYTES, "\"id\":%zu,", id);
	w->list[0] = w->texts[0];
	need(w, "event", event);
}

/* The line of a call's verdict; 0: there is none as it should be. */
static size_t
verdict_line(const struct lines *l, const struct demo_step *s, size_t id,
	     int observe)
{
	static const char *const verdicts[] = {"allow", "deny", "ask", "deny"};
	int would =
	    observe && (s->fate == FATE_DENIED || s->fate == FATE_ASKED);
	struct needles w;

	need_call(&w, id, "verdict");
	need(&w, "tool", s->tool);
	need(&w, would ? "would" : "verdict", verdicts[s->fate]);
	need(&w, "mode", observe ? "observe" : "enforce");
	if (s->contract != NULL) {
		need(&w, "contract", s->contract);
		need(&w, "id", s->rule);
	}
	return find_line(l, w.list, w.n);
}

/* The line of a message that the wire refused; 0: there is none. */
static size_t
refusal_line(const struct lines *l, const struct demo_step *s, size_t id)
{
	struct needles w;

	need_call(&w, id, "refusal");
	need(&w, "reason", s->rule);
	return find_line(l, w.list, w.n);
}

/* 1 if an ask was decided as it has to be where there is nobody to ask. */
static int
was_decided(const struct lines *l, size_t id)
{
	struct needles w;

	need_call(&w, id, "decision");
	need(&w, "decision", "deny");
	need(&w, "why", "no_channel");
	return find_line(l, w.list, w.n) != 0;
}

static size_t
call_line(const struct lines *l, const struct demo_step *s, size_t id,
	  int observe)
{
	if (s->fate == FATE_FORBIDDEN && s->contract == NULL)
		return refusal_line(l, s, id);
	if (s->fate == FATE_ASKED && !observe && !was_decided(l, id))
		return 0;
	return verdict_line(l, s, id, observe);
}

static void
tell_line(const struct demo_step *s, size_t line, int observe)
{
	static const char *const words[] = {"allow", "deny", "ask", "deny"};
	static const char *const woulds[] = {"allow", "would deny", "would ask",
					     "deny"};

	printf("      line %3zu  %-11s %-7s %s\n", line,
	       s->contract == NULL ? "refuse"
	       : observe           ? woulds[s->fate]
				   : words[s->fate],
	       s->contract != NULL ? s->contract : "wire", s->rule);
}

/* The line that says that a tool is not what it was; 0: there is none. */
static size_t
changed_line(const struct lines *l, const char *tool)
{
	struct needles w;

	w.n = 0;
	need(&w, "event", "pin");
	need(&w, "what", "changed");
	need(&w, "tool", tool);
	return find_line(l, w.list, w.n);
}

static void
check_lines(struct demo *d, const struct demo_round *r, const struct lines *l)
{
	size_t at[DEMO_STEPS_MAX] = {0}, changed = 0, i;
	int before = d->failures;

	for (i = 0; i < r->n; i++) {
		at[i] = call_line(l, &r->steps[i], i + 1, r->observe);
		if (at[i] == 0)
			demo_failed(d, "audit: no such line for %s",
				    r->steps[i].tool);
	}
	if (r->hidden != NULL)
		changed = changed_line(l, r->hidden);
	if (r->hidden != NULL && changed == 0)
		demo_failed(d, "audit: no line says that %s changed",
			    r->hidden);
	if (d->failures != before)
		return;
	printf("  audit.jsonl: a line for each of %zu calls; look at\n", r->n);
	if (changed != 0)
		printf("      line %3zu  %-11s %-7s %s\n", changed, "changed",
		       "pin", r->hidden);
	for (i = 0; i < r->n; i++)
		if (r->steps[i].fate != FATE_ALLOWED)
			tell_line(&r->steps[i], at[i], r->observe);
}

void
demo_look_audit(struct demo *d, const struct demo_round *r)
{
	char *path = xasprintf("%s/state/audit.jsonl", d->dir);
	size_t len;
	char *all = desk_read(path, &len);
	struct lines l;

	free(path);
	if (all == NULL || len < d->audit_from) {
		demo_failed(d, "audit: cannot be read");
		free(all);
		return;
	}
	l.all = all;
	l.text = all + d->audit_from;
	l.len = len - d->audit_from;
	check_lines(d, r, &l);
	d->audit_from = len;
	free(all);
}
