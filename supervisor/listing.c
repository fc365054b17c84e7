/*
 * The monitor's own tools/list: asked under an id that nobody can guess, all
 * pages, within a time.  What is not listed so is not called.  Runs in the
 * monitor; the server may answer late, never, or for ever.
 */
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <sodium.h>

#include "proto/alloc.h"
#include "proto/limits.h"
#include "proto/log.h"

#include "calls.h"
#include "clock.h"
#include "jsonw.h"
#include "message.h"
#include "monitor.h"
#include "nametab.h"
#include "requests.h"
#include "toolset.h"

static void
forget(struct listing *l)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		cJSON_Delete(l->tools[i]);
	free(l->tools);
	nametab_free(l->cursors);
	memset(l, 0, sizeof(*l));
}

/* An answer that comes after all is nobody's. */
static void
give_up_request(struct monitor *m, struct listing *l)
{
	if (l->asked == NULL)
		return;
	requests_cancel(m->at_server, l->asked);
	l->asked = NULL;
}

static void
fail(struct monitor *m, struct toolset *s, const char *why)
{
	give_up_request(m, &s->listing);
	forget(&s->listing);
	free(s->why);
	s->why = xstrdup(why);
	s->state = SET_FAILED;
	warnf("the server's tools cannot be listed: %s", why);
	call_release(m, s);
}

static void
ask(struct monitor *m, struct toolset *s, const char *cursor)
{
	unsigned char raw[16];
	char id[2 * sizeof(raw) + sizeof("doorward-")] = "doorward-";
	struct scalar sid = {SCALAR_STRING, 0, id};
	struct buf line = BUF_INIT;
	struct request *r;

	randombytes_buf(raw, sizeof(raw));
	sodium_bin2hex(id + 9, sizeof(id) - 9, raw, sizeof(raw));
	sid.len = (uint16_t)strlen(id);
	buf_puts(&line, "{\"jsonrpc\":\"2.0\",\"id\":");
	jsonw_scalar(&line, &sid, 0);
	jsonw_str(&line, "method", "tools/list");
	jsonw_key(&line, "params");
	buf_putc(&line, '{');
	if (cursor != NULL)
		jsonw_str(&line, "cursor", cursor);
	if (s->meta != NULL) {
		jsonw_key(&line, "_meta");
		buf_puts(&line, s->meta);
	}
	buf_puts(&line, "}}\n");
	r = requests_add(m->at_server, &sid, &(struct scalar){.p = ""});
	r->start_ns = now_ns();
	r->method = xstrdup("tools/list");
	r->set = s;
	r->own = 1;
	s->listing.asked = r;
	stage_own(m, &line, r);
	buf_free(&line);
}

static void
first_page(struct monitor *m, struct toolset *s)
{
	struct listing *l = &s->listing;
	uint64_t deadline = l->deadline;
	unsigned rounds = l->rounds;

	forget(l);
	l->deadline = deadline;
	l->rounds = rounds;
	l->cursors = nametab_new();
	s->stale = 0;
	ask(m, s, NULL);
}

int
listing_ready(struct monitor *m, struct toolset *s)
{
	if (s->state == SET_KNOWN && !s->stale)
		return 1;
	if (s->state == SET_LISTING)
		return 0;
	s->state = SET_LISTING;
	s->listing.deadline = now_ns() + LISTING_WAIT_MS * 1000000ull;
	s->listing.rounds = 1;
	first_page(m, s);
	return 0;
}

/*
 * Bytes that a definition takes here.  Neither the line's length nor the
 * tree's tells: a value of one byte becomes an item of many.
 */
static size_t
weigh(const cJSON *item)
{
	size_t sum = sizeof(*item);
	const cJSON *c;

	if (item->string != NULL)
		sum += strlen(item->string);
	if (item->valuestring != NULL)
		sum += strlen(item->valuestring);
	/* as deep as the decoder lets a tree be */
	for (c = item->child; c != NULL; c = c->next)
		sum += weigh(c);
	return sum;
}

/* What all lists of the session may still take, next to what they do. */
static size_t
room_for(const struct monitor *m, const struct listing *l)
{
	const struct toolset *s;
	size_t sum = 0;

	for (s = m->toolsets; s != NULL; s = s->next) {
		sum += s->listing.bytes;
		/* A list that is asked for again takes its old one's place. */
		if (&s->listing != l)
			sum += s->bytes;
	}
	return sum < LISTING_BYTES_MAX ? LISTING_BYTES_MAX - sum : 0;
}

/* -1 if there are more than anybody may have. */
static int
take_page(struct monitor *m, struct listing *l, cJSON *told)
{
	cJSON *tools = message_member(message_member(told, "result"), "tools");
	size_t bytes = weigh(tools);
	cJSON *c;

	if (room_for(m, l) < bytes)
		return -1;
	l->bytes += bytes;
	while ((c = tools->child) != NULL) {
		cJSON_DetachItemViaPointer(tools, c);
		/* null: one that its relay could not tell us of */
		if (!cJSON_IsObject(c)) {
			cJSON_Delete(c);
			continue;
		}
		if (l->n == l->room) {
			l->room = l->room ? l->room * 2 : 64;
			l->tools = xreallocarray(l->tools, l->room,
						 sizeof(struct cJSON *));
		}
		l->tools[l->n++] = c;
		if (l->n > DW_TOOLS_MAX)
			return -1;
	}
	return 0;
}

static void
finish(struct monitor *m, struct toolset *s)
{
	struct listing *l = &s->listing;

	if (s->stale && l->rounds < LISTING_ROUNDS_MAX) {
		l->rounds++;
		first_page(m, s);
		return;
	}
	if (s->stale) {
		fail(m, s, "they change while they are listed");
		return;
	}
	toolset_fill(s, l->tools, l->n);
	s->bytes = l->bytes;
	l->n = 0; /* they are the set's now */
	forget(l);
	s->state = SET_KNOWN;
	debugf("the server has %zu tools (%s)", s->n, s->key.era);
	pinning_listed(m, s);
	call_release(m, s);
}

static void
next_page(struct monitor *m, struct toolset *s, const cJSON *cursor)
{
	struct listing *l = &s->listing;
	size_t len = strlen(cursor->valuestring);

	if (nametab_put(l->cursors, cursor->valuestring, len, s) != NULL)
		fail(m, s, "its pages repeat themselves");
	else if (++l->pages == LISTING_PAGES_MAX)
		fail(m, s, "its pages have no end");
	else
		ask(m, s, cursor->valuestring);
}

/* An array, or the monitor would have called it a breach. */
static int
has_tools(const cJSON *told)
{
	return cJSON_IsArray(
	    message_member(message_member(told, "result"), "tools"));
}

void
listing_answer(struct monitor *m, struct request *r, const struct envelope *e,
	       cJSON *told)
{
	struct toolset *s = r->set;
	const cJSON *cursor;
	int late = s->listing.asked != r;

	requests_remove(m->at_server, r, 0);
	if (late)
		return;
	s->listing.asked = NULL;
	if (e->kind == KIND_ERROR) {
		fail(m, s, "it answered tools/list with an error");
		return;
	}
	if (!has_tools(told)) {
		fail(m, s,
		     "its answer to tools/list is no list of tools that "
		     "can be read in one way only");
		return;
	}
	if (take_page(m, &s->listing, told) == -1) {
		fail(m, s, "it has too many");
		return;
	}
	cursor = message_member(message_member(told, "result"), "nextCursor");
	if (cJSON_IsString(cursor))
		next_page(m, s, cursor);
	else if (cursor == NULL || cJSON_IsNull(cursor))
		finish(m, s);
	else
		fail(m, s, "its nextCursor is no string");
}

void
listing_lost(struct monitor *m, struct request *r)
{
	struct toolset *s = r->set;
	int late = s->listing.asked != r;

	requests_remove(m->at_server, r, 0);
	if (late)
		return;
	s->listing.asked = NULL;
	fail(m, s, "its answer to tools/list was no valid message");
}

/* No answer will come: what was asked is not open any more. */
void
listing_abandon(struct monitor *m)
{
	struct toolset *s;

	for (s = m->toolsets; s != NULL; s = s->next) {
		if (s->state != SET_LISTING)
			continue;
		forget(&s->listing);
		s->state = SET_UNKNOWN;
	}
}

void
listing_changed(struct monitor *m)
{
	struct toolset *s;

	for (s = m->toolsets; s != NULL; s = s->next)
		s->stale = 1;
}

void
listing_tick(struct monitor *m, uint64_t now)
{
	struct toolset *s;

	for (s = m->toolsets; s != NULL; s = s->next)
		if (s->state == SET_LISTING && now >= s->listing.deadline)
			fail(m, s, "it did not answer tools/list in time");
}

uint64_t
listing_deadline(const struct monitor *m)
{
	const struct toolset *s;
	uint64_t first = 0;

	for (s = m->toolsets; s != NULL; s = s->next)
		if (s->state == SET_LISTING &&
		    (first == 0 || s->listing.deadline < first))
			first = s->listing.deadline;
	return first;
}
