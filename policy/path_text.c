/*
 * What a text is as a path before anybody follows it: ambiguous, or a file:
 * URL.  Pure functions over bytes that a stranger chose.
 */
#include <string.h>
#include <strings.h>

#include "proto/text.h"

#include "policy.h"
#include "entry.h"
#include "call.h"
#include "path.h"

/* What trim() takes off in one language or another, and quotes that a shell
 * or a careless parser takes off. */
static int
blank_or_quote(uint32_t cp)
{
	static const uint32_t others[] = {
	    ' ',    '\t',   '\'',   '"',    '`',    0xa0,   0xab,   0xbb,
	    0x1680, 0x2018, 0x2019, 0x201a, 0x201b, 0x201c, 0x201d, 0x201e,
	    0x201f, 0x202f, 0x2039, 0x203a, 0x205f, 0x3000};
	size_t i;

	if (cp >= 0x2000 && cp <= 0x200a)
		return 1;
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (cp == others[i])
			return 1;
	return 0;
}

/* SCHEME://, which some servers open over the network. */
static int
has_scheme(const char *text, size_t len)
{
	size_t i = 0;

	while (i < len && ((text[i] >= 'a' && text[i] <= 'z') ||
			   (text[i] >= 'A' && text[i] <= 'Z') ||
			   (text[i] >= '0' && text[i] <= '9') ||
			   text[i] == '+' || text[i] == '-' || text[i] == '.'))
		i++;
	return i > 0 && len - i >= 3 && memcmp(text + i, "://", 3) == 0;
}

static int
has_long_component(const char *text, size_t len)
{
	const char *slash;
	size_t n;

	while (len > 0) {
		slash = memchr(text, '/', len);
		n = slash == NULL ? len : (size_t)(slash - text);
		if (n > PATH_COMPONENT_MAX)
			return 1;
		if (slash == NULL)
			break;
		text += n + 1;
		len -= n + 1;
	}
	return 0;
}

const char *
path_ambiguity(const char *text, size_t len)
{
	size_t i, k;
	uint32_t cp = 0;

	if (len == 0)
		return "empty";
	if (len > PATH_BYTES_MAX)
		return "longer than 4095 bytes";
	for (i = 0; i < len; i += k) {
		k = text_utf8_next(text + i, len - i, &cp);
		if (k == 0)
			return "not UTF-8";
		if (text_unsafe(cp))
			return "has control or invisible characters";
		if (cp == '\\')
			return "has a backslash";
		if (i == 0 && cp == '~')
			return "starts with ~, which stands for a home "
			       "directory only sometimes";
		if ((i == 0 || i + k == len) && blank_or_quote(cp))
			return "starts or ends with a blank or a quote";
	}
	if (has_scheme(text, len))
		return "a URL, not a path";
	if (has_long_component(text, len))
		return "a part of it is longer than 255 bytes";
	return NULL;
}

static int
hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static const char *
decode(const char *p, size_t len, char *out, size_t size, size_t *n)
{
	size_t i;
	int c;

	*n = 0;
	for (i = 0; i < len; i++) {
		c = (unsigned char)p[i];
		if (c == '?' || c == '#')
			return "a file: URL with a query or a fragment";
		if (c == '%') {
			if (len - i < 3 || hex(p[i + 1]) < 0 ||
			    hex(p[i + 2]) < 0)
				return "a file: URL with a bad escape";
			c = hex(p[i + 1]) * 16 + hex(p[i + 2]);
			if (c == 0 || c == '/')
				return "a file: URL with %00 or %2F";
			i += 2;
		}
		if (*n == size)
			return "longer than 4095 bytes";
		out[(*n)++] = (char)c;
	}
	return NULL;
}

int
path_from_url(const char *text, size_t len, char *out, size_t size, size_t *n,
	      const char **why)
{
	static const char local[] = "localhost";
	const size_t local_len = sizeof(local) - 1;

	if (len < 5 || strncasecmp(text, "file:", 5) != 0)
		return 0;
	text += 5;
	len -= 5;
	*why = "a file: URL that is not file:///PATH";
	if (len < 2 || memcmp(text, "//", 2) != 0)
		return -1;
	text += 2;
	len -= 2;
	if (len > local_len && strncasecmp(text, local, local_len) == 0) {
		text += local_len;
		len -= local_len;
	}
	if (len == 0 || text[0] != '/')
		return -1;
	*why = decode(text, len, out, size, n);
	return *why == NULL ? 1 : -1;
}
