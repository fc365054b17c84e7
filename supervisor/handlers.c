/*
 * on_*: what a relay's frames do.  Runs in the monitor; every byte here may
 * come from a relay that an attacker owns.  A handler consumes its whole
 * body or calls breach().
 */
#include <string.h>

#include <cjson/cJSON.h>

#include "proto/limits.h"
#include "proto/log.h"

#include "message.h"
#include "monitor.h"
#include "table.h"

#define KEEP (512u * 1024)

int
on_hello(struct monitor *m, struct channel *c, const struct frame_header *h,
	 const char *body)
{
	if (hello_get(body, h->len, &c->hello) == -1)
		return breach(m, "malformed HELLO");
	if ((c->hello.layers & LAYER_REQUIRED) != LAYER_REQUIRED)
		return breach(m, "a relay without seccomp or no_new_privs");
	c->state = RELAY_IDLE;
	return 0;
}

int
on_note(struct monitor *m, struct channel *c, const struct frame_header *h,
	const char *body)
{
	(void)m;
	debugf("relay (%s): %.*s", side_name(c->side), (int)h->len, body);
	return 0;
}

int
on_eoi(struct monitor *m, struct channel *c, const struct frame_header *h,
       const char *body)
{
	(void)m, (void)h, (void)body;
	c->state = RELAY_ENDED;
	return 0;
}

/* Reasons that only the monitor can find. */
static int
is_monitors(uint16_t reason)
{
	return reason == REFUSAL_IN_FLIGHT || reason == REFUSAL_TOO_MANY ||
	       reason == REFUSAL_CALL_PARAMS || reason == REFUSAL_TOOL_LONG;
}

int
on_client_refuse(struct monitor *m, struct channel *c,
		 const struct frame_header *h, const char *body)
{
	struct refuse r;

	(void)c;
	if (refuse_get(body, h->len, &r) == -1 || is_monitors(r.reason))
		return breach(m, "malformed REFUSE");
	client_refused(m, &r);
	return 0;
}

int
on_server_refuse(struct monitor *m, struct channel *c,
		 const struct frame_header *h, const char *body)
{
	struct refuse r;

	(void)c;
	if (refuse_get(body, h->len, &r) == -1 || is_monitors(r.reason))
		return breach(m, "malformed REFUSE");
	server_refused(m, &r);
	return 0;
}

static int
add_part(struct monitor *m, struct channel *c, const struct frame_header *h,
	 const char *body)
{
	if (DW_TREE_MAX - buf_used(&c->tree) < h->len)
		return breach(m, "a tree of more than %u bytes", DW_TREE_MAX);
	buf_put(&c->tree, body, h->len);
	return 0;
}

int
on_tree_part(struct monitor *m, struct channel *c, const struct frame_header *h,
	     const char *body)
{
	c->state = RELAY_TREE;
	return add_part(m, c, h, body);
}

int
on_tree_end(struct monitor *m, struct channel *c, const struct frame_header *h,
	    const char *body)
{
	struct message msg;
	size_t n = h->len;
	int r;

	if (c->state == RELAY_TREE) {
		if (add_part(m, c, h, body) == -1)
			return -1;
		body = buf_head(&c->tree);
		n = buf_used(&c->tree);
	}
	r = message_decode(&msg, body, n);
	buf_reset(&c->tree, KEEP);
	c->state = RELAY_IDLE;
	if (r == -1)
		return breach(m, "a tree that is no acceptable message");
	client_message(m, &msg);
	message_free(&msg);
	return 0;
}

int
on_result_part(struct monitor *m, struct channel *c,
	       const struct frame_header *h, const char *body)
{
	c->state = RELAY_RESULT;
	return add_part(m, c, h, body);
}

/* What an honest relay sends as a tree: tools, or an introduction. */
static int
is_told(const cJSON *root)
{
	const cJSON *result = message_member(root, "result");
	const cJSON *tools = message_member(result, "tools");

	if (cJSON_IsArray(tools))
		return (unsigned)cJSON_GetArraySize(tools) <= DW_TOOLS_MAX;
	return message_member(result, "serverInfo") != NULL ||
	       message_member(result, "instructions") != NULL;
}

int
on_result_end(struct monitor *m, struct channel *c,
	      const struct frame_header *h, const char *body)
{
	if (add_part(m, c, h, body) == -1)
		return -1;
	c->told = message_tree(buf_head(&c->tree), buf_used(&c->tree), 1);
	buf_reset(&c->tree, KEEP);
	if (!is_told(c->told))
		return breach(m, "a malformed result");
	c->state = RELAY_TOLD;
	return 0;
}

int
on_envelope(struct monitor *m, struct channel *c, const struct frame_header *h,
	    const char *body)
{
	struct envelope e;
	int told = c->state == RELAY_TOLD;

	if (envelope_get(body, h->len, &e) == -1 ||
	    told != ((e.flags & ENVELOPE_RESULT) != 0))
		return breach(m, "malformed ENVELOPE");
	c->state = RELAY_LINE;
	c->line_len = c->line_left = e.line_len;
	server_envelope(m, c, &e);
	cJSON_Delete(c->told);
	c->told = NULL;
	return 0;
}

int
on_line_part(struct monitor *m, struct channel *c, const struct frame_header *h,
	     const char *body)
{
	if (h->len != (c->line_left < DW_PART_MAX ? c->line_left : DW_PART_MAX))
		return breach(m, "a part of another length than its line's");
	if (memchr(body, '\n', h->len) != NULL)
		return breach(m, "a newline inside a line");
	c->line_left -= h->len;
	if (c->pass && h->len >= DW_PART_MAX / 4)
		out_write(&m->to_client, body, h->len);
	else if (c->pass)
		out_put(&m->to_client, body, h->len);
	if (c->line_left > 0)
		return 0;
	if (c->pass)
		out_put(&m->to_client, "\n", 1);
	c->state = RELAY_IDLE;
	c->pass = 0;
	out_put(&m->to_client, buf_head(&m->late), buf_used(&m->late));
	buf_reset(&m->late, KEEP);
	return 0;
}
