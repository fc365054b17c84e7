/*
 * The strict scan: the whole of RFC 8259 in one pass over a line, and on the
 * way the few members that make a message what it is.
 */
#ifndef DW_RELAY_SCAN_H
#define DW_RELAY_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include "proto/frames.h"
#include "proto/limits.h"

struct key_span;

/* Whose keys are compared with one another, and which are held to spelling. */
enum scan_rules {
	SCAN_CLIENT, /* all keys; spelling at the top and in params */
	SCAN_SERVER, /* keys and spelling at the top, keys in params; a
			spelling in the result makes it one to be read */
	SCAN_WHOLE   /* all keys; spelling at the top and in the result */
};

/* The members that anything here looks at, by place and exact name. */
enum scan_slot {
	SLOT_NONE,
	SLOT_ROOT,
	SLOT_JSONRPC,
	SLOT_ID,
	SLOT_METHOD,
	SLOT_PARAMS,
	SLOT_RESULT,
	SLOT_ERROR,
	SLOT_REQUEST_ID,     /* params.requestId */
	SLOT_PROGRESS_TOKEN, /* params.progressToken */
	SLOT_META,           /* params._meta */
	SLOT_META_TOKEN,     /* params._meta.progressToken */
	SLOT_IS_ERROR,       /* result.isError */
	SLOT_TASK,           /* result.task */
	SLOT_RESULT_TYPE,    /* result.resultType */
	SLOT_TOOLS,          /* result.tools */
	SLOT_VERSION,        /* result.protocolVersion */
	SLOT_INSTRUCTIONS,   /* result.instructions */
	SLOT_SERVER_INFO,    /* result.serverInfo */
	SLOT_MAX
};

/*
 * A value as it stands in the line: type is its first byte (any digit and
 * the minus count as '0'), or 0 if the member is not there.  off and len
 * span its literal, a string's quotes included; len is 0 for a container.
 * Of two equal names the later one is kept.
 */
struct scan_value {
	char type;
	uint8_t flags; /* enum str_flag */
	uint32_t off;
	uint32_t len;
};

/* One element of result.tools, as it stands in the line. */
struct scan_tool {
	uint32_t off, len;
	uint8_t bad; /* has NUL, a lone surrogate or a duplicate key */
};

struct scan_level {
	uint32_t open; /* offset of its bracket */
	uint32_t keys; /* where its keys begin */
	uint8_t object;
	uint8_t place; /* which of the slots may be in it */
	uint8_t tracked;
};

/*
 * One for the life of the process; zero it before the first use.  The line
 * stays the caller's and has to outlive every use of the slots.
 */
struct scan {
	const char *line;
	const char *p, *end;
	enum scan_rules rules;
	size_t fault; /* where the scan stopped, if it did */

	struct scan_value slot[SLOT_MAX];
	uint32_t tools; /* elements of result.tools */

	/* What a reader may mind, as 1 + its first offset; 0: nowhere. */
	size_t nul;
	size_t surrogate;
	size_t duplicate;
	size_t params_duplicate;
	size_t variant;
	size_t result_variant;

	/* With SCAN_WHOLE: the elements of the last result.tools, and whether
	 * any of the faults above stands outside of them. */
	struct scan_tool *tool; /* owned; NULL at first */
	uint32_t tool_depth;    /* of that list, 0 outside */
	uint8_t outer_fault;

	uint32_t nodes;
	uint32_t depth;
	uint8_t pending; /* slot of the value that comes next */
	struct scan_level level[DW_DEPTH_MAX];

	struct key_span *keys; /* of all open objects; owned */
	size_t nkeys, keys_cap;
	char *arena; /* unescaped keys; owned */
	size_t arena_used, arena_cap;
};

/*
 * REFUSAL_NONE, or one of GRAMMAR, UTF8, DEPTH and NODES: whichever comes
 * first in the line ends the scan.  len is at most DW_MESSAGE_MAX.
 */
enum refusal scan_line(struct scan *s, const char *line, size_t len,
		       enum scan_rules rules);

/* Gives back the memory that a large line needed. */
void scan_trim(struct scan *s);

#endif
