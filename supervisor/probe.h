/*
 * Asking a server for its tools, outside of a session: for `doorward packs
 * verify` and other commands that look at a server.  Its output goes through
 * a confined relay, as in a session, and is taken as a tree.
 */
#ifndef DW_PROBE_H
#define DW_PROBE_H

#include <stddef.h>

struct cJSON;
struct probe;

#define PROBE_SECONDS 20     /* for all of it, the start included */
#define PROBE_PAGES_MAX 1000 /* of tools/list */

/*
 * Starts argv as a server, says initialize (MCP 2025-11-25, as a client with
 * roots, sampling and elicitation), lists its tools over all pages and ends it
 * with everything that it started.  Returns what it showed, for the caller to
 * free with probe_free(); or NULL with *why a sentence without a full stop,
 * safe to show (caller frees).
 *
 * Waits up to PROBE_SECONDS and a shutdown's steps.  The server gets the
 * caller's environment, directory and stderr.  For a process with one thread;
 * children that it has already are left alone.
 */
struct probe *probe_server(char *const *argv, char **why);
void probe_free(struct probe *p);

/*
 * The definitions, in the server's order.  Each is an object with a string
 * "name" without NUL, that no other has; everything else is as the server says:
 * inputSchema may be missing or anything.  Numbers are cJSON_Raw.  They live
 * as long as the probe.
 */
size_t probe_tool_count(const struct probe *p);
const struct cJSON *probe_tool(const struct probe *p, size_t i);

/* How many more there are that cannot be read in one way only: with a NUL, a
 * lone surrogate or a key that is there twice. */
size_t probe_unreadable(const struct probe *p);

/* The tool of that name, or NULL. */
const struct cJSON *probe_find(const struct probe *p, const char *name,
			       size_t len);

/* The server's own words, "" where it said none; not safe to show. */
const char *probe_server_name(const struct probe *p);
const char *probe_server_version(const struct probe *p);
const char *probe_instructions(const struct probe *p);

#endif
