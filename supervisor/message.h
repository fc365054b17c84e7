/*
 * A message from the client-side relay, decoded and held to everything that
 * an honest relay would have refused: what is judged is this tree, and what
 * is sent is printed from it.
 */
#ifndef DW_MESSAGE_H
#define DW_MESSAGE_H

#include <stddef.h>

#include "proto/frames.h"

struct cJSON;

struct message {
	struct cJSON *root; /* owned */
	enum message_kind kind;
	struct scalar id;      /* points into root; none for a notification */
	const char *method;    /* NULL for results and errors */
	struct cJSON *params;  /* NULL if absent */
	struct scalar token;   /* params._meta.progressToken */
	int modern;            /* carries a protocol version of its own */
	int task;              /* asked to run as a task (2025-11-25) */
	struct scalar cancels; /* params.requestId */
	size_t bytes;          /* of the tree it came as */
};

/*
 * Decodes n bytes of tree.  0, or -1 for anything that cannot come from an
 * honest relay: malformed, duplicate keys, variants of protocol keys, no
 * JSON-RPC message, tools/call without id.  On 0 the caller frees with
 * message_free().
 */
int message_decode(struct message *m, const char *p, size_t n);

void message_free(struct message *m);

/*
 * Decodes any tree (root an object) into cJSON items, numbers as raw text.
 * dup says whether a duplicate key is an error.  NULL on error; the caller
 * frees with cJSON_Delete().
 */
struct cJSON *message_tree(const char *p, size_t n, int dup);

/* Member of an object by exact name, or NULL. */
struct cJSON *message_member(const struct cJSON *object, const char *name);

#endif
