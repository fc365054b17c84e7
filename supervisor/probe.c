/*
 * A short session with a server, to see its tools.  Runs in a command, with
 * the user's privilege and unconfined; owns the server and a relay while it
 * lasts.  What the server says arrives as frames of the relay, which an
 * attacker may own: every frame is looked up in the monitor's table, and no
 * JSON parser runs here.
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <sodium.h>

#include "proto/alloc.h"
#include "proto/limits.h"
#include "proto/log.h"
#include "proto/text.h"

#include "answer.h"
#include "jsonw.h"
#include "message.h"
#include "probe.h"
#include "probe_child.h"
#include "table.h"

#define PROBE_VERSION "2025-11-25"
#define READ_STEP (64u * 1024)
#define SAMPLE 400u /* bytes of an error's line that are shown */

struct probe {
	cJSON **tools; /* in the server's order */
	cJSON **sorted;
	size_t n, room, unreadable;
	char *name, *version, *instructions;
};

/* The session. */
struct talk {
	struct probe *p;
	struct probe_child child;
	uint64_t until; /* ns */
	char *why;      /* the first thing that went wrong */

	struct buf in, tree;
	enum relay_state state;
	uint64_t call;      /* messages of the relay so far */
	uint32_t line_left; /* bytes of a raw line, still to come */
	cJSON *result;      /* whole, until its ENVELOPE has been read */
	int failed;         /* the line is an error's, kept in sample */
	struct buf sample;

	uint64_t id; /* of our last request, from 1 */
	int answered;
	size_t bytes; /* of all trees */
	unsigned char (*cursors)[crypto_generichash_BYTES];
	size_t pages;
};

/* The first one counts; always -1. */
static int fail(struct talk *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static int
fail(struct talk *t, const char *fmt, ...)
{
	va_list ap;

	if (t->why != NULL)
		return -1;
	va_start(ap, fmt);
	if (vasprintf(&t->why, fmt, ap) == -1)
		fatal("out of memory");
	va_end(ap);
	return -1;
}

static const char *
asked(const struct talk *t)
{
	return t->id == 1 ? "initialize" : "tools/list";
}

/* ---- what we say ---- */

static void
say(struct talk *t, struct buf *line)
{
	buf_putc(line, '\n');
	out_put(&t->child.to_server, buf_head(line), buf_used(line));
	buf_free(line);
}

/* An open request object, up to its params' value. */
static void
begin(struct talk *t, struct buf *line, const char *method)
{
	buf_putc(line, '{');
	jsonw_str(line, "jsonrpc", "2.0");
	jsonw_u64(line, "id", ++t->id);
	jsonw_str(line, "method", method);
	jsonw_key(line, "params");
	t->answered = 0;
}

static void
say_initialize(struct talk *t)
{
	struct buf line = BUF_INIT;

	begin(t, &line, "initialize");
	buf_putc(&line, '{');
	jsonw_str(&line, "protocolVersion", PROBE_VERSION);
	/* A server may show more tools to a client that can do more. */
	jsonw_key(&line, "capabilities");
	buf_puts(&line, "{\"roots\":{},\"sampling\":{},\"elicitation\":{}}");
	jsonw_key(&line, "clientInfo");
	buf_putc(&line, '{');
	jsonw_str(&line, "name", "doorward");
	jsonw_str(&line, "version", DW_VERSION);
	buf_puts(&line, "}}}");
	say(t, &line);
}

static void
say_initialized(struct talk *t)
{
	struct buf line = BUF_INIT;

	buf_putc(&line, '{');
	jsonw_str(&line, "jsonrpc", "2.0");
	jsonw_str(&line, "method", "notifications/initialized");
	buf_putc(&line, '}');
	say(t, &line);
}

static void
say_list(struct talk *t, const char *cursor)
{
	struct buf line = BUF_INIT;

	begin(t, &line, "tools/list");
	buf_putc(&line, '{');
	if (cursor != NULL)
		jsonw_str(&line, "cursor", cursor);
	buf_puts(&line, "}}");
	say(t, &line);
}

static int
is_method(const struct envelope *e, const char *name)
{
	return e->method_len == strlen(name) &&
	       memcmp(e->method, name, e->method_len) == 0;
}

/* Nobody is here to sample or to be asked, and there are no roots. */
static void
answer_server(struct talk *t, const struct envelope *e)
{
	struct buf line = BUF_INIT;
	const char *result = "{}";

	/* One that asks and does not read is no reason to grow. */
	if (out_pending(&t->child.to_server) > DW_OUT_HIGH)
		return;
	if (is_method(e, "roots/list"))
		result = "{\"roots\":[]}";
	else if (!is_method(e, "ping")) {
		answer_error(&line, &e->id, -32601, "nobody is here");
		out_put(&t->child.to_server, buf_head(&line), buf_used(&line));
		buf_free(&line);
		return;
	}
	buf_putc(&line, '{');
	jsonw_str(&line, "jsonrpc", "2.0");
	jsonw_key(&line, "id");
	jsonw_scalar(&line, &e->id, 0);
	jsonw_key(&line, "result");
	buf_puts(&line, result);
	buf_putc(&line, '}');
	say(t, &line);
}

/* ---- what the server answers ---- */

static char *
text_of(const cJSON *object, const char *key)
{
	const cJSON *item = message_member(object, key);

	return xstrdup(cJSON_IsString(item) ? item->valuestring : "");
}

static void
take_initialize(struct talk *t, const cJSON *result)
{
	const cJSON *info = message_member(result, "serverInfo");
	struct probe *p = t->p;

	free(p->name);
	free(p->version);
	free(p->instructions);
	p->name = text_of(info, "name");
	p->version = text_of(info, "version");
	p->instructions = text_of(result, "instructions");
	say_initialized(t);
	say_list(t, NULL);
}

static int
take_tool(struct talk *t, cJSON *tool)
{
	struct probe *p = t->p;
	cJSON *name = message_member(tool, "name");

	if (p->n + p->unreadable == DW_TOOLS_MAX) {
		cJSON_Delete(tool);
		return fail(t, "the server has more than %u tools",
			    DW_TOOLS_MAX);
	}
	if (cJSON_IsNull(tool)) { /* the relay could not express it */
		cJSON_Delete(tool);
		p->unreadable++;
		return 0;
	}
	if (!cJSON_IsObject(tool) || !cJSON_IsString(name)) {
		cJSON_Delete(tool);
		return fail(t, "the server lists a tool without a name");
	}
	if (p->n == p->room) {
		p->room = p->room == 0 ? 64 : 2 * p->room;
		p->tools = xreallocarray(p->tools, p->room, sizeof(cJSON *));
	}
	p->tools[p->n++] = tool;
	return 0;
}

/* A server that gives the same cursor again would never end. */
static int
next_page(struct talk *t, const char *cursor)
{
	size_t i;

	if (t->pages == PROBE_PAGES_MAX)
		return fail(t, "the server's list has more than %d pages",
			    PROBE_PAGES_MAX);
	t->cursors =
	    xreallocarray(t->cursors, t->pages + 1, sizeof(*t->cursors));
	crypto_generichash(t->cursors[t->pages], sizeof(*t->cursors),
			   (const unsigned char *)cursor, strlen(cursor), NULL,
			   0);
	for (i = 0; i < t->pages; i++)
		if (memcmp(t->cursors[i], t->cursors[t->pages],
			   sizeof(*t->cursors)) == 0)
			return fail(t, "the server's list has no end: a "
				       "cursor came twice");
	t->pages++;
	say_list(t, cursor);
	return 0;
}

static int
take_list(struct talk *t, cJSON *result)
{
	cJSON *tools = message_member(result, "tools"), *tool;
	const cJSON *cursor = message_member(result, "nextCursor");

	if (!cJSON_IsArray(tools))
		return fail(t, "the server's answer to tools/list has no list "
			       "of tools");
	while ((tool = tools->child) != NULL)
		if (take_tool(t, cJSON_DetachItemViaPointer(tools, tool)) == -1)
			return -1;
	if (cursor == NULL || cJSON_IsNull(cursor)) {
		t->answered = 1;
		return 0;
	}
	if (!cJSON_IsString(cursor))
		return fail(t, "the server's nextCursor is no string");
	return next_page(t, cursor->valuestring);
}

static int
take_answer(struct talk *t, const struct envelope *e)
{
	cJSON *result;

	if (e->kind == KIND_ERROR) {
		t->failed = 1; /* said when its line is there */
		return 0;
	}
	result = message_member(t->result, "result");
	if (t->id == 1) {
		take_initialize(t, result);
		return 0;
	}
	if (t->result == NULL)
		return fail(t, "the server's answer to tools/list cannot be "
			       "read in one way only (a NUL, a lone surrogate "
			       "or a key that is there twice)");
	return take_list(t, result);
}

static int
is_ours(const struct talk *t, const struct scalar *id)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%llu", (unsigned long long)t->id);

	return id->type == SCALAR_NUMBER && id->len == (size_t)n &&
	       memcmp(id->p, text, (size_t)n) == 0;
}

/* ---- frames ---- */

/* The relay, not the server: ours, or fallen. */
static int
broken(struct talk *t, const char *what)
{
	return fail(t, "the relay broke its protocol: %s in state %s", what,
		    state_name(t->state));
}

static int
take_hello(struct talk *t, const char *body, size_t n)
{
	struct hello h;

	if (hello_get(body, n, &h) == -1)
		return broken(t, "malformed HELLO");
	if ((h.layers & LAYER_REQUIRED) != LAYER_REQUIRED)
		return fail(t, "the relay is not confined");
	t->state = RELAY_IDLE;
	say_initialize(t);
	return 0;
}

static int
take_tree(struct talk *t, const char *body, size_t n, int last)
{
	t->bytes += n;
	if (t->bytes > DW_TREE_MAX)
		return fail(t, "the server's tools are more than %u MiB",
			    DW_MESSAGE_MAX >> 20);
	buf_put(&t->tree, body, n);
	t->state = RELAY_RESULT;
	if (!last)
		return 0;
	t->result = message_tree(buf_head(&t->tree), buf_used(&t->tree), 1);
	buf_reset(&t->tree, READ_STEP);
	if (t->result == NULL)
		return broken(t, "a malformed tree");
	t->state = RELAY_TOLD;
	return 0;
}

static int
take_envelope(struct talk *t, const char *body, size_t n)
{
	struct envelope e;
	int r = 0;

	if (envelope_get(body, n, &e) == -1 ||
	    (t->result != NULL) != ((e.flags & ENVELOPE_RESULT) != 0))
		return broken(t, "malformed ENVELOPE");
	t->line_left = e.line_len;
	t->state = RELAY_LINE;
	if (e.kind == KIND_REQUEST)
		answer_server(t, &e);
	else if (e.kind != KIND_NOTIFICATION && !t->answered &&
		 is_ours(t, &e.id))
		r = take_answer(t, &e);
	cJSON_Delete(t->result);
	t->result = NULL;
	return r;
}

static int
server_error(struct talk *t)
{
	char text[SAMPLE];

	text_visible(buf_head(&t->sample), buf_used(&t->sample), text,
		     sizeof(text));
	return fail(t, "the server answers %s with an error: %s", asked(t),
		    text);
}

static int
take_line(struct talk *t, const char *body, size_t n)
{
	size_t room = SAMPLE - buf_used(&t->sample);

	if (n != (t->line_left < DW_PART_MAX ? t->line_left : DW_PART_MAX))
		return broken(t, "a part of another length than its line's");
	t->line_left -= (uint32_t)n;
	if (t->failed)
		buf_put(&t->sample, body, n < room ? n : room);
	if (t->line_left > 0)
		return 0;
	t->state = RELAY_IDLE;
	return t->failed ? server_error(t) : 0;
}

/* Anything that is no message may be on its stdout, but in our answer. */
static int
take_refuse(struct talk *t, const char *body, size_t n)
{
	struct refuse r;

	if (refuse_get(body, n, &r) == -1)
		return broken(t, "malformed REFUSE");
	if (!is_ours(t, &r.id))
		return 0;
	return fail(t, "the server's answer to %s is no valid message: %s",
		    asked(t), refusal_text((enum refusal)r.reason));
}

static int
take_frame(struct talk *t, const struct frame_header *h, const char *body)
{
	switch ((enum frame_type)h->type) {
	case FRAME_HELLO:
		return take_hello(t, body, h->len);
	case FRAME_NOTE:
		debugf("relay: %.*s", (int)h->len, body);
		return 0;
	case FRAME_EOI:
		t->state = RELAY_ENDED;
		return fail(t, "the server ended before it answered %s",
			    asked(t));
	case FRAME_REFUSE:
		return take_refuse(t, body, h->len);
	case FRAME_RESULT_PART:
		return take_tree(t, body, h->len, 0);
	case FRAME_RESULT_END:
		return take_tree(t, body, h->len, 1);
	case FRAME_ENVELOPE:
		return take_envelope(t, body, h->len);
	case FRAME_LINE_PART:
		return take_line(t, body, h->len);
	case FRAME_NONE:
	case FRAME_TREE_PART:
	case FRAME_TREE_END:
	case FRAME_TYPE_MAX:
		break;
	}
	return broken(t, frame_name((enum frame_type)h->type));
}

/* As the monitor holds a relay to its table. */
static int
check_frame(struct talk *t, const struct frame_header *h)
{
	const struct frame_rule *rule =
	    table_rule(SIDE_SERVER, t->state, (enum frame_type)h->type);
	int counted = h->type != FRAME_HELLO && h->type != FRAME_NOTE &&
		      h->type != FRAME_EOI;

	if (rule->handler == NULL || h->len < rule->least ||
	    h->len > rule->most)
		return broken(t, frame_name((enum frame_type)h->type));
	if (counted && t->state == RELAY_IDLE)
		t->call++;
	if (h->call != (counted ? t->call : 0))
		return broken(t, "a wrong call number");
	return 0;
}

static int
take_frames(struct talk *t)
{
	struct frame_header h;

	while (t->why == NULL && buf_used(&t->in) >= FRAME_HEADER_LEN) {
		if (frame_get_header(buf_head(&t->in), &h) == -1)
			return broken(t, "no frame header");
		if (buf_used(&t->in) - FRAME_HEADER_LEN < h.len)
			return 0;
		if (check_frame(t, &h) == -1 ||
		    take_frame(t, &h, buf_head(&t->in) + FRAME_HEADER_LEN) ==
			-1)
			return -1;
		buf_consume(&t->in, FRAME_HEADER_LEN + h.len);
	}
	if (buf_used(&t->in) == 0)
		buf_reset(&t->in, READ_STEP);
	return t->why == NULL ? 0 : -1;
}

/* Descriptors that came along are not taken (no room for control data). */
static int
read_relay(struct talk *t)
{
	ssize_t n = recv(t->child.relay_fd, buf_reserve(&t->in, READ_STEP),
			 READ_STEP, MSG_DONTWAIT);

	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return fail(t, "the relay ended without a word");
	t->in.len += (size_t)n;
	return take_frames(t);
}

static void
converse(struct talk *t)
{
	struct pollfd p[3];
	uint64_t now;

	while (t->why == NULL && !t->answered) {
		now = now_ns();
		if (now >= t->until) {
			fail(t,
			     "the server did not answer %s within %d "
			     "seconds",
			     t->id == 0 ? "initialize" : asked(t),
			     PROBE_SECONDS);
			return;
		}
		out_flush(&t->child.to_server);
		p[0] = (struct pollfd){t->child.relay_fd, POLLIN, 0};
		p[1] = (struct pollfd){t->child.signal_fd, POLLIN, 0};
		p[2] = (struct pollfd){.fd = -1};
		if (out_pending(&t->child.to_server) > 0)
			p[2] =
			    (struct pollfd){t->child.to_server.fd, POLLOUT, 0};
		if (poll(p, 3, (int)((t->until - now) / 1000000) + 1) == -1)
			continue;
		if (p[1].revents != 0)
			fail(t, "interrupted");
		else if (p[0].revents != 0)
			read_relay(t);
	}
}

/* ---- the result ---- */

static int
by_name(const void *a, const void *b)
{
	const cJSON *const *x = a, *const *y = b;

	return strcmp(message_member(*x, "name")->valuestring,
		      message_member(*y, "name")->valuestring);
}

/* For probe_find(); a name that is there twice means two things. */
static int
sort_tools(struct talk *t)
{
	struct probe *p = t->p;
	char name[200];
	const char *twice;
	size_t i;

	p->sorted = xcalloc(p->n + 1, sizeof(cJSON *));
	if (p->n > 0)
		memcpy(p->sorted, p->tools, p->n * sizeof(cJSON *));
	qsort(p->sorted, p->n, sizeof(cJSON *), by_name);
	for (i = 1; i < p->n; i++) {
		if (by_name(&p->sorted[i - 1], &p->sorted[i]) != 0)
			continue;
		twice = message_member(p->sorted[i], "name")->valuestring;
		text_visible(twice, strlen(twice), name, sizeof(name));
		return fail(t, "the server lists the tool \"%s\" twice", name);
	}
	return 0;
}

struct probe *
probe_server(char *const *argv, char **why)
{
	struct talk t = {.p = xcalloc(1, sizeof(struct probe)),
			 .state = RELAY_START};

	t.p->name = xstrdup("");
	t.p->version = xstrdup("");
	t.p->instructions = xstrdup("");
	t.until = now_ns() + PROBE_SECONDS * 1000000000ull;
	if (probe_child_start(&t.child, argv, &t.why) == 0) {
		converse(&t);
		probe_child_end(&t.child);
	}
	if (t.why == NULL)
		sort_tools(&t);
	buf_free(&t.in);
	buf_free(&t.tree);
	buf_free(&t.sample);
	cJSON_Delete(t.result);
	free(t.cursors);
	if (t.why == NULL)
		return t.p;
	*why = t.why;
	probe_free(t.p);
	return NULL;
}

void
probe_free(struct probe *p)
{
	size_t i;

	if (p == NULL)
		return;
	for (i = 0; i < p->n; i++)
		cJSON_Delete(p->tools[i]);
	free(p->tools);
	free(p->sorted);
	free(p->name);
	free(p->version);
	free(p->instructions);
	free(p);
}

size_t
probe_tool_count(const struct probe *p)
{
	return p->n;
}

size_t
probe_unreadable(const struct probe *p)
{
	return p->unreadable;
}

const cJSON *
probe_tool(const struct probe *p, size_t i)
{
	return p->tools[i];
}

const cJSON *
probe_find(const struct probe *p, const char *name, size_t len)
{
	size_t low = 0, high = p->n, mid;
	const char *other;
	int c;

	while (low < high) {
		mid = low + (high - low) / 2;
		other = message_member(p->sorted[mid], "name")->valuestring;
		c = strncmp(name, other, len);
		if (c == 0 && other[len] != '\0')
			c = -1;
		if (c == 0)
			return p->sorted[mid];
		if (c < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return NULL;
}

const char *
probe_server_name(const struct probe *p)
{
	return p->name;
}

const char *
probe_server_version(const struct probe *p)
{
	return p->version;
}

const char *
probe_instructions(const struct probe *p)
{
	return p->instructions;
}
