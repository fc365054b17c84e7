/*
 * What a scanned line is: request, notification, result or error; whose; and
 * whether it may be a message at all (JSON-RPC 2.0, MCP base protocol).
 */
#ifndef DW_RELAY_ENVELOPE_H
#define DW_RELAY_ENVELOPE_H

#include <stddef.h>
#include <stdint.h>

#include "proto/frames.h"
#include "proto/limits.h"

struct scan;

struct reading {
	struct envelope e; /* line_len is the caller's to fill in */
	size_t offset;     /* of what it was refused for */
	uint8_t tools;     /* result.tools is an array */
	uint8_t told;      /* a result that the monitor reads itself: tools, or
			      what a server says of itself */
	char id[DW_ID_MAX];
	char token[DW_ID_MAX];
	char spare[DW_ID_MAX]; /* for tokens that are only measured */
	char method[DW_METHOD_MAX];
	char version[ENVELOPE_VERSION_MAX];
};

/*
 * Reads the envelope of a line that was scanned without fault, by the rules
 * for what a server may send (from_server) or a client.  REFUSAL_NONE fills
 * r->e, whose pointers lead into r and into the line; otherwise r->offset
 * says where in the line the reason stands.  Where several reasons apply,
 * the first in the table of checks in envelope.c is given.
 */
enum refusal envelope_read(const struct scan *s, int from_server,
			   struct reading *r);

#endif
