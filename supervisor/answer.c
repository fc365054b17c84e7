/*
 * Answers of Doorward's own to the client (and errors to the server).  The
 * wording is read by a model: fixed sentences, nothing of the server's.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"
#include "proto/buf.h"
#include "proto/frames.h"

#include "answer.h"
#include "judge.h"
#include "jsonw.h"
#include "message.h"
#include "requests.h"

static void
begin(struct buf *b, const struct scalar *id)
{
	buf_puts(b, "{\"jsonrpc\":\"2.0\",\"id\":");
	jsonw_scalar(b, id, 0);
}

void
answer_error(struct buf *b, const struct scalar *id, int code, const char *text)
{
	begin(b, id);
	buf_printf(b, ",\"error\":{\"code\":%d", code);
	jsonw_str(b, "message", text);
	buf_puts(b, "}}\n");
}

void
answer_tool_error(struct buf *b, const struct scalar *id, int modern,
		  const char *text)
{
	begin(b, id);
	buf_puts(b, ",\"result\":{");
	if (modern)
		jsonw_str(b, "resultType", "complete");
	jsonw_key(b, "content");
	buf_puts(b, "[{");
	jsonw_str(b, "type", "text");
	jsonw_str(b, "text", text);
	buf_puts(b, "}]");
	jsonw_key(b, "isError");
	buf_puts(b, "true}}\n");
}

static int
is_tool_call(const struct message *msg)
{
	return strcmp(msg->method, "tools/call") == 0;
}

void
answer_verdict(struct buf *b, const struct message *msg,
	       const struct verdict *v)
{
	int ask = v->action == ACTION_ASK;
	int guard =
	    v->format == FORMAT_GUARD && v->file != NULL && !msg->modern;
	char *text;

	if (is_tool_call(msg) && guard) {
		text = xasprintf("%s: %s (rule %s)",
				 ask ? "Held for approval" : "Blocked",
				 v->reason, v->rule);
		answer_error(b, &msg->id,
			     ask ? ANSWER_GUARD_HELD : ANSWER_GUARD_BLOCKED,
			     text);
		free(text);
		return;
	}
	text = xasprintf("[doorward denied] %s (rule %s)", v->reason, v->rule);
	/* Who asked for a task expects one, which a tool result is not; an
	 * error every client can read. */
	if (is_tool_call(msg) && !msg->task)
		answer_tool_error(b, &msg->id, msg->modern, text);
	else
		answer_error(b, &msg->id, ask ? ANSWER_DECLINED : ANSWER_DENIED,
			     text);
	free(text);
}

void
answer_unaudited(struct buf *b, const struct request *r, const char *why)
{
	char *text = xasprintf("[doorward denied] the audit cannot be "
			       "written, so nothing is forwarded: %s "
			       "(rule audit)",
			       why);

	if (r->tool != NULL && !r->task)
		answer_tool_error(b, &r->id, r->modern, text);
	else
		answer_error(b, &r->id, ANSWER_CANNOT_JUDGE, text);
	free(text);
}
