/*
 * The frames: everything a relay can say to the monitor.  The monitor says
 * nothing to a relay; it only closes the socket.  doorward(7) prints what
 * this header defines.
 *
 * A frame is a fixed header of 16 bytes (length of the body, type, zero,
 * call number), little-endian, then the body.  The call number counts a
 * relay's messages from 1 without a gap; HELLO, NOTE and EOI carry 0.  All
 * frames of one message carry its number.
 *
 * Numbers of types are never reused.
 */
#ifndef DW_PROTO_FRAMES_H
#define DW_PROTO_FRAMES_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct cur;

#define FRAME_HEADER_LEN 16u
#define FRAME_PROTOCOL 1u /* HELLO carries it; bump on any change */

enum frame_type {
	FRAME_NONE = 0,
	FRAME_HELLO = 1,       /* both: layers that are on; once, first */
	FRAME_NOTE = 2,        /* both: a log line, shown with --debug */
	FRAME_EOI = 3,         /* both: end of input; last */
	FRAME_TREE_PART = 4,   /* client: a tree, not yet whole */
	FRAME_TREE_END = 5,    /* client: last or only part of a tree */
	FRAME_REFUSE = 6,      /* both: a line that is no acceptable message */
	FRAME_ENVELOPE = 7,    /* server: a message follows as its raw line */
	FRAME_LINE_PART = 8,   /* server: bytes of that line */
	FRAME_RESULT_PART = 9, /* server: a result as a tree */
	FRAME_RESULT_END = 10, /* server: last part; its ENVELOPE comes next */
	FRAME_TYPE_MAX = 11
};

struct frame_header {
	uint32_t len;
	uint16_t type;
	uint64_t call;
};

/* Appends a header. */
void frame_put_header(struct buf *b, enum frame_type type, uint64_t call,
		      size_t len);

/*
 * Reads FRAME_HEADER_LEN bytes at p.  0, or -1 if the type is unknown, the
 * reserved field is not zero, or the length is over DW_BODY_MAX.
 */
int frame_get_header(const char *p, struct frame_header *h);

/*
 * HELLO: which layers of confinement a relay has on (its own word; the
 * tests look at the live process).
 */
enum layer {
	LAYER_SECCOMP = 1u << 0,
	LAYER_NO_NEW_PRIVS = 1u << 1,
	LAYER_NO_CAPS = 1u << 2,
	LAYER_BOUNDING = 1u << 3,
	LAYER_NOT_DUMPABLE = 1u << 4,
	LAYER_RLIMITS = 1u << 5,
	LAYER_LANDLOCK = 1u << 6,
	LAYER_USER_NS = 1u << 7,
	LAYER_NET_NS = 1u << 8,
	LAYER_MOUNT_NS = 1u << 9,
	LAYER_IPC_NS = 1u << 10,
	LAYER_ALL = (1u << 11) - 1
};
#define LAYER_REQUIRED (LAYER_SECCOMP | LAYER_NO_NEW_PRIVS)

/* Name of one layer bit, as audit and doctor print it; NULL if none. */
const char *layer_name(uint32_t bit);

struct hello {
	uint16_t protocol;     /* FRAME_PROTOCOL */
	uint16_t landlock_abi; /* 0 without Landlock */
	uint32_t layers;       /* enum layer */
};
#define HELLO_LEN 8u

void hello_put(struct buf *b, const struct hello *h);
int hello_get(const char *p, size_t n, struct hello *h);

/* A JSON-RPC id or progress token: a string, or a number's literal text. */
enum scalar_type { SCALAR_NONE = 0, SCALAR_NUMBER = 1, SCALAR_STRING = 2 };

struct scalar {
	uint8_t type;
	uint16_t len;  /* at most DW_ID_MAX */
	const char *p; /* not owned; strings are unescaped UTF-8 */
};

/*
 * 1 if the scalar is fit to be an id (MCP base protocol, "Requests"): a
 * well-formed UTF-8 string without NUL, or an integer literal.  From a
 * server a lone surrogate cannot be expressed here, so such an id is unfit.
 */
int scalar_valid(const struct scalar *s);

/* Why a line was refused.  X(name, JSON-RPC code, audit word, text) */
#define REFUSALS(X)                                                            \
	X(GRAMMAR, -32700, "not_json", "the line is not valid JSON")           \
	X(UTF8, -32700, "invalid_utf8", "invalid UTF-8")                       \
	X(INCOMPLETE, -32700, "incomplete_line",                               \
	  "input ended inside a line (a message ends with a newline)")         \
	X(TOO_LONG, -32600, "message_too_long",                                \
	  "the message is longer than 64 MiB")                                 \
	X(DEPTH, -32600, "too_deep", "more than 128 nested levels")            \
	X(NODES, -32600, "too_many_values", "more than 1,000,000 values")      \
	X(SURROGATE, -32600, "lone_surrogate", "a lone surrogate in a string") \
	X(NUL, -32600, "nul_in_string", "a NUL character in a string")         \
	X(DUPLICATE, -32600, "duplicate_key", "a duplicate key in an object")  \
	X(KEY_CASE, -32600, "key_variant",                                     \
	  "a key that differs from one of the protocol's only in case")        \
	X(ARRAY, -32600, "batch", "JSON-RPC batches are not accepted")         \
	X(NOT_OBJECT, -32600, "not_an_object", "a message is a JSON object")   \
	X(JSONRPC, -32600, "no_jsonrpc", "\"jsonrpc\" has to be \"2.0\"")      \
	X(ID_NULL, -32600, "id_null", "an id may not be null")                 \
	X(ID_TYPE, -32600, "id_type", "an id is a string or an integer")       \
	X(ID_LONG, -32600, "id_too_long",                                      \
	  "an id or progress token is longer than 1,024 bytes")                \
	X(METHOD_TYPE, -32600, "method_type", "\"method\" has to be a string") \
	X(METHOD_LONG, -32600, "method_too_long",                              \
	  "the method's name is longer than 1,024 bytes")                      \
	X(PARAMS_TYPE, -32600, "params_type",                                  \
	  "\"params\" has to be an object")                                    \
	X(NO_METHOD, -32600, "not_a_message",                                  \
	  "neither a method nor a result nor an error")                        \
	X(MIXED, -32600, "mixed_message",                                      \
	  "a message has only one of method, result and error")                \
	X(CALL_WITHOUT_ID, -32600, "call_without_id",                          \
	  "tools/call without an id")                                          \
	X(TOOLS, -32600, "too_many_tools", "more than 10,000 tools")           \
	X(IN_FLIGHT, -32600, "id_in_flight",                                   \
	  "a request with this id is still open")                              \
	X(TOO_MANY, -32600, "too_many_in_flight",                              \
	  "4,096 requests are open already")                                   \
	X(CALL_PARAMS, -32602, "call_params",                                  \
	  "tools/call needs a string \"name\" and object \"arguments\"")       \
	X(TOOL_LONG, -32602, "tool_name_too_long",                             \
	  "the tool's name is longer than 1,024 bytes")

enum refusal {
	REFUSAL_NONE = 0,
#define X(name, code, word, text) REFUSAL_##name,
	REFUSALS(X)
#undef X
	    REFUSAL_MAX
};

int refusal_code(enum refusal r);
const char *refusal_word(enum refusal r);
const char *refusal_text(enum refusal r);

/* REFUSE. */
struct refuse {
	uint16_t reason;     /* enum refusal, one a relay can find */
	uint64_t offset;     /* where in the line, in bytes from 0 */
	struct scalar id;    /* SCALAR_NONE if it could not be read */
	uint16_t sample_len; /* at most DW_SAMPLE_MAX */
	const char *sample;  /* first bytes of the line, raw */
};

void refuse_put(struct buf *b, const struct refuse *r);
int refuse_get(const char *p, size_t n, struct refuse *r);

/* ENVELOPE: what the server-side relay read off a message. */
enum message_kind {
	KIND_REQUEST = 1,
	KIND_NOTIFICATION = 2,
	KIND_RESULT = 3,
	KIND_ERROR = 4
};

enum envelope_flag {
	ENVELOPE_IS_ERROR = 1u << 0, /* result.isError is true */
	ENVELOPE_TASK = 1u << 1,     /* result.task, or resultType "task" */
	ENVELOPE_INPUT = 1u << 2,    /* resultType "input_required" */
	ENVELOPE_RESULT = 1u << 3,   /* RESULT frames came before */
	/* They should have, but a tree cannot express what there is. */
	ENVELOPE_UNREADABLE = 1u << 4,
	ENVELOPE_ALL = (1u << 5) - 1
};

struct envelope {
	uint8_t kind;        /* enum message_kind */
	uint8_t flags;       /* enum envelope_flag */
	uint32_t line_len;   /* bytes of the line that follows, 1 or more */
	struct scalar id;    /* none for a notification, may be for an error */
	struct scalar token; /* params.progressToken, or params.requestId of
				notifications/cancelled */
	uint16_t method_len; /* 0 for results and errors */
	const char *method;
	uint16_t version_len; /* result.protocolVersion, at most 32 bytes */
	const char *version;
};
#define ENVELOPE_VERSION_MAX 32u

void envelope_put(struct buf *b, const struct envelope *e);
int envelope_get(const char *p, size_t n, struct envelope *e);

#endif
