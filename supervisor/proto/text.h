/*
 * Bytes that somebody else wrote: UTF-8 and number checks, and a form that
 * is safe to show on a terminal.
 */
#ifndef DW_PROTO_TEXT_H
#define DW_PROTO_TEXT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Length in bytes of the well-formed UTF-8 sequence (RFC 3629: no overlong
 * form, no surrogate, at most U+10FFFF) at the start of the n bytes at p,
 * or 0 if there is none.  *cp gets the code point unless cp is NULL.
 */
size_t text_utf8_next(const char *p, size_t n, uint32_t *cp);

/* 1 if all n bytes at p are well-formed UTF-8. */
int text_utf8_valid(const char *p, size_t n);

/* Bytes that cp takes in UTF-8, written to out (4 bytes of room). */
size_t text_utf8_put(uint32_t cp, char *out);

/* 1 if the n bytes at p are exactly one number of RFC 8259 section 6. */
int text_json_number(const char *p, size_t n);

/*
 * 1 for code points that must never reach a terminal or a question raw:
 * controls (C0, DEL, C1), bidi controls, zero-width and other invisible
 * format characters, line and paragraph separators, tags.
 */
int text_unsafe(uint32_t cp);

/*
 * Copies len bytes at in to out (size bytes of room, NUL added) with every
 * unsafe code point and every malformed byte made visible as \xNN or
 * \u{N}.  Cuts at a character boundary and marks the cut with "...".
 * Returns the length written.
 */
size_t text_visible(const char *in, size_t len, char *out, size_t size);

#endif
