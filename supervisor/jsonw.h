/*
 * Writing JSON: the judged tree for the server, answers for the client,
 * lines for the audit.  There is no reader beside it on purpose.
 */
#ifndef DW_JSONW_H
#define DW_JSONW_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct cJSON;
struct scalar;

/* Appends a JSON string (RFC 8259 section 7) of len bytes of UTF-8.  With
 * safe, characters that must not reach a terminal are escaped as well. */
void jsonw_string(struct buf *b, const char *p, size_t len, int safe);

/* A JSON-RPC id as it came in: literal number, string, or null for none. */
void jsonw_scalar(struct buf *b, const struct scalar *s, int safe);

/*
 * Members of an object that is being written: a comma first unless the last
 * byte opens the object.
 */
void jsonw_key(struct buf *b, const char *key);
void jsonw_str(struct buf *b, const char *key, const char *value);
void jsonw_strn(struct buf *b, const char *key, const char *p, size_t len);
void jsonw_u64(struct buf *b, const char *key, uint64_t v);

/*
 * Prints a tree of at most DW_DEPTH_MAX levels.  Numbers keep the text they
 * came with, objects their order; nothing is escaped that need not be.
 */
void jsonw_tree(struct buf *b, const struct cJSON *item);

#endif
