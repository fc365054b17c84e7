/*
 * Strings and ids.  Runs in a relay, confined, on bytes that a stranger
 * wrote; pure functions that own nothing.
 */
#include <string.h>

#include "jsonstr.h"

#include "proto/frames.h"
#include "proto/limits.h"
#include "proto/text.h"

#define EACH_BYTE(b) (0x0101010101010101ull * (b))

/*
 * The first byte from p on that needs a closer look: a quote, a backslash, a
 * control or anything beyond ASCII.  Eight at a time: subtracting sets a
 * byte's top bit where it was below what is taken from it, and a byte whose
 * top bit was set already ends the run as well.
 */
static const char *
skip_plain(const char *p, const char *end)
{
	uint64_t w;
	unsigned char c;

	while (end - p >= 8) {
		memcpy(&w, p, sizeof(w));
		if (((w | (w - EACH_BYTE(0x20)) |
		      ((w ^ EACH_BYTE('"')) - EACH_BYTE(1)) |
		      ((w ^ EACH_BYTE('\\')) - EACH_BYTE(1))) &
		     EACH_BYTE(0x80)) != 0)
			break;
		p += 8;
	}
	for (; p < end; p++) {
		c = (unsigned char)*p;
		if (c < 0x20 || c >= 0x80 || c == '"' || c == '\\')
			break;
	}
	return p;
}

/* Four hex digits as a number, or -1. */
static int
hex4(const char *p)
{
	int v = 0, i;
	char c;

	for (i = 0; i < 4; i++) {
		c = p[i];
		if (c >= '0' && c <= '9')
			v = v * 16 + (c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v * 16 + (c - 'a' + 10);
		else if (c >= 'A' && c <= 'F')
			v = v * 16 + (c - 'A' + 10);
		else
			return -1;
	}
	return v;
}

static size_t
decode_unicode(const char *p, const char *end, uint32_t *cp)
{
	int hi, lo;

	if (end - p < 6 || (hi = hex4(p + 2)) < 0)
		return 0;
	*cp = (uint32_t)hi;
	if (hi < 0xd800 || hi > 0xdbff || end - p < 12 || p[6] != '\\' ||
	    p[7] != 'u')
		return 6;
	lo = hex4(p + 8);
	if (lo < 0xdc00 || lo > 0xdfff)
		return 6;
	*cp =
	    0x10000 + (((uint32_t)hi - 0xd800) << 10) + ((uint32_t)lo - 0xdc00);
	return 12;
}

/*
 * Decodes the escape whose backslash p stands at.  Returns its length, or 0
 * if it is none.  A pair of surrogates is one escape; a lone one is its own
 * code point.
 */
static size_t
decode_escape(const char *p, const char *end, uint32_t *cp)
{
	static const char names[] = "\"\\/bfnrt";
	static const char values[] = "\"\\/\b\f\n\r\t";
	const char *at;

	if (end - p < 2)
		return 0;
	if (p[1] == 'u')
		return decode_unicode(p, end, cp);
	at = memchr(names, p[1], sizeof(names) - 1);
	if (at == NULL)
		return 0;
	*cp = (unsigned char)values[at - names];
	return 2;
}

static unsigned
escape_flags(uint32_t cp)
{
	if (cp == 0)
		return STR_ESCAPED | STR_NUL;
	if (cp >= 0xd800 && cp <= 0xdfff)
		return STR_ESCAPED | STR_SURROGATE;
	return STR_ESCAPED;
}

enum str_status
str_scan(const char **pp, const char *end, unsigned *flags)
{
	const char *p = *pp + 1;
	uint32_t cp = 0;
	size_t k;

	for (;;) {
		p = skip_plain(p, end);
		*pp = p;
		if (p == end)
			return STR_GRAMMAR;
		if (*p == '"') {
			*pp = p + 1;
			return STR_OK;
		}
		if (*p == '\\') {
			k = decode_escape(p, end, &cp);
			if (k == 0)
				return STR_GRAMMAR;
			*flags |= escape_flags(cp);
			p += k;
			continue;
		}
		if ((unsigned char)*p < 0x20)
			return STR_GRAMMAR;
		k = text_utf8_next(p, (size_t)(end - p), NULL);
		if (k == 0)
			return STR_UTF8;
		p += k;
	}
}

size_t
str_next(const char **pp, const char *end, char *tmp, const char **run)
{
	const char *p = *pp, *stop;
	uint32_t cp = 0;
	size_t k;

	*run = tmp;
	if (p == end)
		return 0;
	if (*p == '\\') {
		k = decode_escape(p, end, &cp);
		*pp = k > 0 ? p + k : end;
		return k > 0 ? text_utf8_put(cp, tmp) : 0;
	}
	stop = memchr(p, '\\', (size_t)(end - p));
	if (stop == NULL)
		stop = end;
	*run = p;
	*pp = stop;
	return (size_t)(stop - p);
}

size_t
str_length(const char *p, size_t n)
{
	const char *end = p + n, *run;
	char tmp[STR_TMP];
	size_t len = 0, k;

	while ((k = str_next(&p, end, tmp, &run)) > 0)
		len += k;
	return len;
}

size_t
str_unescape(const char *p, size_t n, char *out, size_t room)
{
	const char *end = p + n, *run;
	char tmp[STR_TMP];
	size_t len = 0, k;

	while ((k = str_next(&p, end, tmp, &run)) > 0) {
		if (k > room - len)
			return STR_TOO_LONG;
		memcpy(out + len, run, k);
		len += k;
	}
	return len;
}

static enum literal_status
literal_string(const char *p, size_t n, char *store, struct scalar *s)
{
	const char *at = p, *end = p + n;
	unsigned flags = 0;
	size_t len;

	if (str_scan(&at, end, &flags) != STR_OK || at != end)
		return LITERAL_TYPE;
	len = str_unescape(p + 1, n - 2, store, DW_ID_MAX);
	if (len == STR_TOO_LONG)
		return LITERAL_LONG;
	s->type = SCALAR_STRING;
	s->len = (uint16_t)len;
	s->p = store;
	return scalar_valid(s) ? LITERAL_OK : LITERAL_TYPE;
}

enum literal_status
literal_scalar(const char *p, size_t n, char *store, struct scalar *s)
{
	enum literal_status status;

	if (n > 0 && p[0] == '"') {
		status = literal_string(p, n, store, s);
	} else if (n > DW_ID_MAX) {
		status = text_json_number(p, n) ? LITERAL_LONG : LITERAL_TYPE;
	} else {
		*s = (struct scalar){SCALAR_NUMBER, (uint16_t)n, p};
		status = scalar_valid(s) ? LITERAL_OK : LITERAL_TYPE;
	}
	if (status != LITERAL_OK)
		*s = (struct scalar){SCALAR_NONE, 0, ""};
	return status;
}
