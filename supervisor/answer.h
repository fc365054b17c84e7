/*
 * What Doorward itself answers, each a whole line with its newline, appended
 * to a buffer.  Codes (outside the range that JSON-RPC and MCP reserve):
 * 1001 denied, 1002 declined or timed out, 1003 Doorward cannot judge; for
 * rules of a Guard file in a legacy session -32001 and -32002.
 */
#ifndef DW_ANSWER_H
#define DW_ANSWER_H

#include <stddef.h>

struct buf;
struct message;
struct request;
struct scalar;
struct verdict;

enum {
	ANSWER_DENIED = 1001,
	ANSWER_DECLINED = 1002,
	ANSWER_CANNOT_JUDGE = 1003,
	ANSWER_GUARD_BLOCKED = -32001,
	ANSWER_GUARD_HELD = -32002
};

/* A JSON-RPC error; id of type none is null. */
void answer_error(struct buf *b, const struct scalar *id, int code,
		  const char *text);

/* A tool result with isError (MCP "Tools", error handling). */
void answer_tool_error(struct buf *b, const struct scalar *id, int modern,
		       const char *text);

/* The answer to a request that the verdict denies, in the right shape. */
void answer_verdict(struct buf *b, const struct message *msg,
		    const struct verdict *v);

/* The answer to a request that would be forwarded but for the audit. */
void answer_unaudited(struct buf *b, const struct request *r, const char *why);

#endif
