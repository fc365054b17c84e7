/*
 * One JSON string (RFC 8259 section 7): strict check, unescaping, and the
 * step from a literal to the id or token that the frames carry.
 */
#ifndef DW_RELAY_JSONSTR_H
#define DW_RELAY_JSONSTR_H

#include <stddef.h>
#include <stdint.h>

struct scalar;

enum str_flag {
	STR_ESCAPED = 1u << 0,   /* has at least one escape */
	STR_NUL = 1u << 1,       /* \u0000 among them */
	STR_SURROGATE = 1u << 2, /* half of a pair without the other */
};

enum str_status { STR_OK = 0, STR_GRAMMAR = -1, STR_UTF8 = -2 };

/*
 * Checks the string whose opening quote *p stands at, up to end at most.
 * STR_OK leaves *p behind the closing quote and adds to *flags; on an error
 * *p is where it is wrong.
 */
enum str_status str_scan(const char **p, const char *end, unsigned *flags);

/*
 * The next stretch of what a checked string says: *p moves on, *run points at
 * the bytes, either into the string or into tmp.  Returns their number, 0 at
 * end.  A lone surrogate becomes the three bytes that UTF-8 forbids for it,
 * so that it equals nothing but itself.
 */
#define STR_TMP 4
size_t str_next(const char **p, const char *end, char *tmp, const char **run);

/* Bytes of a checked string (n raw bytes at p, without quotes) unescaped. */
size_t str_length(const char *p, size_t n);

/*
 * Unescapes into out.  Returns the length, or STR_TOO_LONG if it is over
 * room; never more than n.
 */
#define STR_TOO_LONG SIZE_MAX
size_t str_unescape(const char *p, size_t n, char *out, size_t room);

enum literal_status {
	LITERAL_OK = 0,
	LITERAL_TYPE = -1, /* neither a string nor an integer, or unfit */
	LITERAL_LONG = -2  /* over DW_ID_MAX when unescaped */
};

/*
 * The literal of a whole JSON value (a string with its quotes) as an id or
 * token.  It need not have been checked.  A string is unescaped into store,
 * which has DW_ID_MAX bytes; a number's text stays where it is, so both have
 * to outlive s.  Unfit are strings with NUL or a lone surrogate, and numbers
 * with a fraction or an exponent (MCP: "an id is a string or an integer").
 */
enum literal_status literal_scalar(const char *p, size_t n, char *store,
				   struct scalar *s);

#endif
