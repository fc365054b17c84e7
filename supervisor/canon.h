/*
 * JSON in one form, so that the same definition has the same hash whatever
 * its key order, spacing and escapes: RFC 8785's order of keys (by UTF-16
 * code units) and escapes; numbers keep their literal text; no Unicode
 * normalisation.
 */
#ifndef DW_CANON_H
#define DW_CANON_H

#include <stddef.h>

struct buf;
struct cJSON;

/* Appends the canonical text; at most DW_DEPTH_MAX levels. */
void canon_print(struct buf *b, const struct cJSON *item);

/* SHA-256 of it in hex (65 with the NUL). */
void canon_hash(const struct cJSON *item, char hex[65]);

/*
 * Appends one line a leaf, in canonical order: a JSON pointer (RFC 6901), a
 * tab, the leaf's canonical text (with what a terminal must not see escaped
 * as \u), a newline.  An empty list or object is a leaf.  Keys are escaped
 * likewise.  Pointers repeat the keys above them, so that the lines can be
 * much longer than the item: -1 if they would take more than max bytes, and
 * b is as it was.
 */
int canon_flatten(struct buf *b, const struct cJSON *item, size_t max);

/* RFC 8785 section 3.2.3: as strcmp(3), by UTF-16 code units of UTF-8. */
int canon_key_order(const char *a, const char *b);

#endif
