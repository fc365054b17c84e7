/*
 * What the pins say of a server's tools, and what is told to them.  Runs in
 * the monitor, confined: the only files are those of pins/ in the state
 * directory, changed under their lock, which is never waited for.
 */
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <sodium.h>

#include "proto/alloc.h"
#include "proto/log.h"
#include "proto/text.h"

#include "policy.h"

#include "call.h"
#include "canon.h"
#include "event.h"
#include "message.h"
#include "monitor.h"
#include "names.h"
#include "nametab.h"
#include "toolset.h"

#define NAME_SHOWN 200
#define VERSION_SHOWN 200
#define NOTED_MAX 100000u /* what was told once; beyond this, nothing is */

void
pinning_setup(struct monitor *m, const char *dir)
{
	char *pkg, *why = NULL;

	m->noted = nametab_new();
	if (dir == NULL)
		return; /* without a state directory nothing is forwarded */
	pkg = name_of_command(m->command);
	m->pins = pins_new(dir, m->server_name, pkg);
	free(pkg);
	if (pins_make_dir(dir, &why) == 0 &&
	    pins_load(m->pins, &why) != PINS_FAILED)
		return;
	warnf("the pins cannot be read, so calls are denied: %s", why);
	m->pins_broken = why; /* kept */
}

static void
add(struct monitor *m, struct findings *f, enum policy_action action,
    const struct policy_source *src, const char *rule, char *reason)
{
	struct finding *fd = findings_add(f, CONTRACT_PIN, action);

	fd->reason = reason;
	fd->rule = xstrdup(rule);
	m->withheld = 1;
	if (src != NULL && src->file != NULL) {
		fd->file = xstrdup(src->file);
		fd->line = src->line;
		fd->format = src->format;
	}
}

/*
 * Which members of a definition a difference is about, in words of ours: the
 * model reads it, and what a server wrote is exactly what it is not to see.
 */
static char *
members_of(const char *diff)
{
	static const char *const known[] = {
	    "description", "title", "inputSchema", "outputSchema",
	    "annotations", "icons", "execution",   "_meta"};
	struct buf b = BUF_INIT;
	const char *p = diff;
	char *text;
	size_t i, n;

	for (; p != NULL; p = strstr(p, "; "), p = p != NULL ? p + 2 : NULL) {
		n = strcspn(p, " /;");
		for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
			if (strlen(known[i]) != n ||
			    strncmp(known[i], p, n) != 0)
				continue;
			buf_putc(&b, '\0');
			if (strstr(buf_head(&b), known[i]) == NULL) {
				b.len--;
				buf_printf(&b, "%s%s",
					   buf_used(&b) > 0 ? ", " : "",
					   known[i]);
			} else {
				b.len--;
			}
		}
	}
	text = buf_used(&b) > 0 ? xmemdupz(buf_head(&b), buf_used(&b))
				: xstrdup("its definition");
	buf_free(&b);
	return text;
}

/* What the person can do about it.  Caller frees. */
static char *
way_out(const struct monitor *m)
{
	char name[NAME_SHOWN];

	text_visible(m->server_name, strlen(m->server_name), name,
		     sizeof(name));
	return xasprintf("a person can look at it with \"doorward pins diff "
			 "%s\" and take it with \"doorward pins accept %s\"",
			 name, name);
}

static void
judge_sight(struct monitor *m, const struct toolset *s, const struct tool *t,
	    const char *shown, struct findings *f)
{
	struct policy_source src;
	char *diff, *members, *way;

	switch (pins_sight(m->pins, &s->key, t->name, t->len, t->hash)) {
	case PIN_SAME:
	case PIN_FIRST:
		return;
	case PIN_NEW:
		src = policy_pins_source(m->policy, PINS_ON_NEW);
		add(m, f, policy_pins_on_new(m->policy), &src, "pins.on_new",
		    xasprintf("the tool \"%s\" is new since this server's "
			      "tools were pinned; %s",
			      shown, way = way_out(m)));
		free(way);
		return;
	case PIN_CHANGED:
	default:
		src = policy_pins_source(m->policy, PINS_ON_CHANGED);
		diff = pins_difference(m->pins, &s->key, t->name, t->len,
				       t->definition);
		add(m, f, policy_pins_on_changed(m->policy), &src,
		    "pins.on_changed",
		    xasprintf("the tool \"%s\" has changed since it was "
			      "pinned (%s); %s",
			      shown, members = members_of(diff),
			      way = way_out(m)));
		free(members);
		free(way);
		free(diff);
	}
}

/* What there is no pin to compare with.  1 if that was all to say. */
static int
judge_known(struct monitor *m, const struct toolset *s, const struct tool *t,
	    const char *shown, struct findings *f)
{
	char *reason = NULL;

	if (s == NULL)
		reason = xstrdup("the client has shown more capabilities in "
				 "one session, or said more in its _meta, "
				 "than tools are kept for");
	else if (s->state == SET_FAILED)
		reason = xasprintf("what the tool \"%s\" is cannot be known: "
				   "the server's tools cannot be listed: %s",
				   shown, s->why);
	else if (t == NULL)
		reason = xasprintf("the server has no tool \"%s\" that can "
				   "be called",
				   shown);
	else if (t->twice)
		reason = xasprintf("the server has two tools \"%s\", and "
				   "which one is meant cannot be known",
				   shown);
	if (reason == NULL)
		return 0;
	add(m, f, ACTION_BLOCK, NULL, "tools/list", reason);
	return 1;
}

void
pinning_judge(struct monitor *m, const struct toolset *s, const struct tool *t,
	      const char *name, struct findings *f)
{
	struct policy_source src;
	char shown[NAME_SHOWN], *way;

	text_visible(name, strlen(name), shown, sizeof(shown));
	if (m->no_state != NULL && !monitor_observes(m))
		return; /* denied for want of an audit, and never listed */
	if (judge_known(m, s, t, shown, f) || m->pins == NULL)
		return;
	if (m->pins_broken != NULL) {
		add(m, f, ACTION_BLOCK, NULL, "pins",
		    xasprintf("the pins cannot be read: %s", m->pins_broken));
		return;
	}
	if (!pins_command_same(m->pins, (const char *const *)m->command)) {
		src = policy_pins_source(m->policy, PINS_ON_CHANGED);
		add(m, f, policy_pins_on_changed(m->policy), &src,
		    "pins.on_changed",
		    xasprintf("the server's command has changed since its "
			      "tools were pinned; %s",
			      way = way_out(m)));
		free(way);
	}
	judge_sight(m, s, t, shown, f);
}

static struct pin_facts
facts(const struct monitor *m)
{
	return (struct pin_facts){
	    (const char *const *)m->command, m->version,
	    m->version != NULL ? strlen(m->version) : 0, m->instructions,
	    m->instructions != NULL ? strlen(m->instructions) : 0};
}

/* Those that have a name, and one to themselves.  Caller frees. */
static struct pin_tool *
pin_tools(const struct toolset *s, size_t *n)
{
	struct pin_tool *tools = xcalloc(s->n, sizeof(*tools));
	size_t i;

	*n = 0;
	for (i = 0; i < s->n; i++)
		if (s->tools[i].name != NULL && !s->tools[i].twice)
			tools[(*n)++] =
			    (struct pin_tool){s->tools[i].name, s->tools[i].len,
					      s->tools[i].definition};
	return tools;
}

enum pins_status
pinning_freeze(struct monitor *m, struct toolset *s, char **why)
{
	struct pin_facts fact = facts(m);
	struct pin_tool *tools;
	enum pins_status st;
	size_t n;

	if (m->pins == NULL || s->stored)
		return PINS_OK;
	tools = pin_tools(s, &n);
	st = pins_store(m->pins, &s->key, tools, n, &fact, 1, why);
	free(tools);
	if (st == PINS_OK) {
		s->stored = 1;
		event_pins(m, &s->key, n);
	}
	return st;
}

/*
 * 1 the first time that this is to be told in this session.  What a server
 * says may be long: a hash of it is kept.
 */
static int
to_be_noted(struct monitor *m, const struct pin_key *k, const char *what,
	    const char *name, const char *hash)
{
	char *key, hashed[crypto_generichash_BYTES];
	int first = 0;

	if (nametab_count(m->noted) >= NOTED_MAX)
		return 0;
	key = xasprintf("%s %s %s %s %s", what, k->era, k->caps, hash, name);
	crypto_generichash((unsigned char *)hashed, sizeof(hashed),
			   (const unsigned char *)key, strlen(key), NULL, 0);
	first = nametab_put(m->noted, hashed, sizeof(hashed), m) == NULL;
	free(key);
	return first;
}

static const char *
sight_word(enum pin_sight sight)
{
	return sight == PIN_NEW ? "new" : "changed";
}

static void
note_suspicious(struct monitor *m, const struct pin_key *k,
		const struct pin_tool *t, const char *hash)
{
	char *what = NULL;

	if (!pins_suspicious(t->definition, &what))
		return;
	if (to_be_noted(m, k, "suspicious", t->name, hash))
		event_pin(m, k, "suspicious", t->name, hash, what);
	free(what);
}

/* 1 if the store has something to learn of it. */
static int
note_tool(struct monitor *m, const struct pin_key *k, const struct pin_tool *t)
{
	char hash[PIN_HASH_HEX], *diff;
	enum pin_sight sight;

	canon_hash(t->definition, hash);
	note_suspicious(m, k, t, hash);
	sight = pins_sight(m->pins, k, t->name, t->len, hash);
	if (sight == PIN_SAME || sight == PIN_FIRST ||
	    !to_be_noted(m, k, "sight", t->name, hash))
		return 0;
	diff = sight == PIN_CHANGED
		   ? pins_difference(m->pins, k, t->name, t->len, t->definition)
		   : NULL;
	event_pin(m, k, sight_word(sight), t->name, hash, diff);
	free(diff);
	return 1;
}

static int
note_facts(struct monitor *m, const struct pin_key *k)
{
	struct pin_facts f = facts(m);
	char shown[VERSION_SHOWN];
	int r = 0;

	if (!pins_command_same(m->pins, f.command) &&
	    to_be_noted(m, k, "command", "", "")) {
		event_pin(m, k, "command", NULL, NULL, NULL);
		warnf("the server's command has changed since its tools were "
		      "pinned; see doorward pins diff %s",
		      m->server_name);
		r = 1;
	}
	if (f.instructions != NULL &&
	    !pins_instructions_same(m->pins, f.instructions,
				    f.instructions_len) &&
	    to_be_noted(m, k, "instructions", f.instructions, "")) {
		event_pin(m, k, "instructions", NULL, NULL, NULL);
		r = 1;
	}
	if (f.version != NULL &&
	    !pins_version_same(m->pins, f.version, f.version_len) &&
	    to_be_noted(m, k, "version", f.version, "")) {
		text_visible(f.version, f.version_len, shown, sizeof(shown));
		event_pin(m, k, "version", NULL, NULL, shown);
		r = 1;
	}
	return r;
}

void
pinning_note(struct monitor *m, struct toolset *s, const struct pin_tool *tools,
	     size_t n)
{
	struct pin_facts f = facts(m);
	char *why = NULL;
	size_t i;
	int news, odd = 0;

	if (m->pins == NULL || m->pins_broken != NULL)
		return;
	news = note_facts(m, &s->key);
	for (i = 0; i < n; i++)
		odd += note_tool(m, &s->key, &tools[i]);
	if (odd > 0)
		warnf("%d of the server's tools %s new or changed since they "
		      "were pinned; see doorward pins diff %s",
		      odd, odd == 1 ? "is" : "are", m->server_name);
	if (!news && odd == 0 && !s->unrecorded)
		return;
	s->unrecorded =
	    pins_store(m->pins, &s->key, tools, n, &f, 0, &why) != PINS_OK;
	if (why != NULL)
		warnf("what has changed in the server's tools cannot be noted "
		      "for a person: %s",
		      why);
	free(why);
}

void
pinning_listed(struct monitor *m, struct toolset *s)
{
	struct pin_tool *tools;
	size_t n;

	tools = pin_tools(s, &n);
	pinning_note(m, s, tools, n);
	free(tools);
}

int
pinning_refuses(struct monitor *m, const struct toolset *s, const char *name,
		size_t len, const char hash[PIN_HASH_HEX])
{
	enum pin_sight sight;

	if (m->pins == NULL)
		return 0;
	sight = m->pins_broken != NULL
		    ? PIN_CHANGED
		    : pins_sight(m->pins, &s->key, name, len, hash);
	if (sight != PIN_NEW && sight != PIN_CHANGED)
		return 0;
	m->withheld = 1;
	return 1;
}

void
pinning_refresh(struct monitor *m)
{
	struct toolset *s;
	char *why = NULL;

	if (m->pins == NULL || !pins_changed_on_disk(m->pins))
		return;
	free(m->pins_broken);
	m->pins_broken = NULL;
	if (pins_load(m->pins, &why) == PINS_FAILED) {
		warnf("the pins cannot be read, so calls are denied: %s", why);
		m->pins_broken = why;
	}
	for (s = m->toolsets; s != NULL; s = s->next)
		s->stored = pins_has_set(m->pins, &s->key);
	nametab_free(m->noted);
	m->noted = nametab_new();
	if (m->withheld)
		told_list_changed(m);
	m->withheld = 0;
}
