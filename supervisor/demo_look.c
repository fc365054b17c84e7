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

/* The line of a call's verdict or refusal; 0: there is none as it should be. */
static size_t
verdict_line(const struct lines *l, const struct demo_step *s, size_t id,
	     int observe)
{
	static const char *const verdicts[] = {"allow", "deny", "ask", "deny"};
	int would =
	    observe && (s->fate == FATE_DENIED || s->fate == FATE_ASKED);
	const char *needles[NEEDLES_MAX];
	char texts[5][80];
	size_t n = 0, line;

	snprintf(texts[0], sizeof(texts[0]), "\"id\":%zu,", id);
	snprintf(texts[1], sizeof(texts[1]), "\"tool\":\"%s\"", s->tool);
	snprintf(texts[2], sizeof(texts[2]), "\"%s\":\"%s\"",
		 would ? "would" : "verdict", verdicts[s->fate]);
	snprintf(texts[3], sizeof(texts[3]), "\"contract\":\"%s\"",
		 s->contract != NULL ? s->contract : "default");
	snprintf(texts[4], sizeof(texts[4]), "\"%s\"",
		 s->rule != NULL ? s->rule : "default_action");
	needles[n++] = texts[0];
	if (s->fate == FATE_FORBIDDEN && s->contract == NULL) {
		needles[n++] = "\"event\":\"refusal\"";
		needles[n++] = texts[4];
	} else {
		needles[n++] = "\"event\":\"verdict\"";
		needles[n++] = texts[1];
		needles[n++] = texts[2];
		needles[n++] = texts[3];
		if (s->rule != NULL)
			needles[n++] = texts[4];
		needles[n++] =
		    observe ? "\"mode\":\"observe\"" : "\"mode\":\"enforce\"";
	}
	line = find_line(l, needles, n);
	if (line == 0 || s->fate != FATE_ASKED || observe)
		return line;
	needles[1] = "\"event\":\"decision\"";
	needles[2] = "\"decision\":\"deny\"";
	needles[3] = "\"why\":\"no_channel\"";
	return find_line(l, needles, 4) != 0 ? line : 0;
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

static void
check_lines(struct demo *d, const struct demo_round *r, const struct lines *l)
{
	size_t at[DEMO_STEPS_MAX] = {0}, i;
	int before = d->failures;

	for (i = 0; i < r->n; i++) {
		at[i] = verdict_line(l, &r->steps[i], i + 1, r->observe);
		if (at[i] == 0)
			demo_failed(d, "audit: no such line for %s",
				    r->steps[i].tool);
	}
	if (d->failures != before)
		return;
	printf("  audit.jsonl: a line for each of %zu calls, among them\n",
	       r->n);
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
