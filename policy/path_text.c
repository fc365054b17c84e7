/*
 * What a text is as a path before anybody follows it: ambiguous, or a file:
 * URL.  Pure functions over bytes that a stranger chose.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "proto/alloc.h"
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

/* Of a text that may have controls, too. */
static int
taken_off(uint32_t cp)
{
	return cp <= ' ' || cp == 0x85 || cp == 0x2028 || cp == 0x2029 ||
	       cp == 0xfeff || blank_or_quote(cp);
}

/*
 * Letters that Unicode writes in another way as well (canonical equivalence,
 * UAX #15): combining marks, and what its form C replaces.  A server that
 * looks for a name in every spelling finds what readlink(2) does not.  Left
 * out are the scripts of India and Tibet, whose ordinary texts have them.
 */
int
path_other_spelling(const char *name, size_t len)
{
	static const struct {
		uint32_t from, to;
	} ranges[] = {{0x300, 0x36f},    {0x374, 0x374},   {0x37e, 0x37e},
		      {0x387, 0x387},    {0x1160, 0x11ff}, {0x1f71, 0x1f71},
		      {0x1f73, 0x1f73},  {0x1f75, 0x1f75}, {0x1f77, 0x1f77},
		      {0x1f79, 0x1f79},  {0x1f7b, 0x1f7b}, {0x1f7d, 0x1f7d},
		      {0x1fbb, 0x1fbb},  {0x1fbe, 0x1fbe}, {0x1fc9, 0x1fc9},
		      {0x1fcb, 0x1fcb},  {0x1fd3, 0x1fd3}, {0x1fdb, 0x1fdb},
		      {0x1fe3, 0x1fe3},  {0x1feb, 0x1feb}, {0x1fee, 0x1fef},
		      {0x1ff9, 0x1ff9},  {0x1ffb, 0x1ffb}, {0x1ffd, 0x1ffd},
		      {0x2000, 0x2001},  {0x2126, 0x2126}, {0x212a, 0x212b},
		      {0x2329, 0x232a},  {0x2adc, 0x2adc}, {0x3099, 0x309a},
		      {0xf900, 0xfaff},  {0xfb1d, 0xfb4e}, {0x1d15e, 0x1d1c0},
		      {0x2f800, 0x2fa1d}};
	uint32_t cp = 0;
	size_t i, j, k;

	for (i = 0; i < len; i += k) {
		k = text_utf8_next(name + i, len - i, &cp);
		if (k == 0)
			return 1;
		for (j = 0; j < sizeof(ranges) / sizeof(ranges[0]); j++)
			if (cp >= ranges[j].from && cp <= ranges[j].to)
				return 1;
	}
	return 0;
}

char *
path_in_ascii(const char *text)
{
	static const struct {
		const char *from;
		char to;
	} letters[] = {
	    {"\xe2\x84\xaa", 'K'}, {"\xcd\xbe", ';'}, {"\xe1\xbf\xaf", '`'}};
	char *copy = NULL, *at;
	size_t i, n;

	for (i = 0; i < sizeof(letters) / sizeof(letters[0]); i++) {
		if (strstr(text, letters[i].from) == NULL)
			continue;
		if (copy == NULL)
			copy = xstrdup(text);
		n = strlen(letters[i].from);
		while ((at = strstr(copy, letters[i].from)) != NULL) {
			*at = letters[i].to;
			memmove(at + 1, at + n, strlen(at + n) + 1);
		}
	}
	return copy;
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

static int
left_out(char c)
{
	return c == '\t' || c == '\n' || c == '\r';
}

char *
path_tidy_url(const char *text, size_t len)
{
	static const char scheme[] = "file:";
	size_t i, n = 0;
	char *out;

	for (i = 0; i < len && (unsigned char)text[i] <= ' '; i++)
		;
	for (; i < len && scheme[n] != '\0'; i++) {
		if (left_out(text[i]))
			continue;
		if ((text[i] | 0x20) != scheme[n])
			return NULL;
		n++;
	}
	if (scheme[n] != '\0')
		return NULL;
	out = xreallocarray(NULL, 1, len - i + 1);
	for (n = 0; i < len; i++)
		if (!left_out(text[i]))
			out[n++] = text[i] == '\\' ? '/' : text[i];
	out[n] = '\0';
	return out;
}

char *
path_of_url(const char *text, size_t *end)
{
	size_t i, n = 0, len;
	char *path;

	if (strncmp(text, "//", 2) == 0)
		text += 2 + strcspn(text + 2, "/");
	len = strlen(text);
	path = xreallocarray(NULL, 1, len + 2);
	if (text[0] != '/')
		path[n++] = '/';
	*end = 0;
	for (i = 0; i < len; i++) {
		if ((text[i] == '?' || text[i] == '#') && *end == 0)
			*end = n;
		if (text[i] == '%' && len - i > 2 && hex(text[i + 1]) >= 0 &&
		    hex(text[i + 2]) >= 0) {
			path[n++] =
			    (char)(hex(text[i + 1]) * 16 + hex(text[i + 2]));
			i += 2;
		} else {
			path[n++] = text[i];
		}
	}
	/* What a C program reads ends at a NUL. */
	path[n] = '\0';
	return path;
}

/* 1 if two components are one, or may be two spellings of one. */
static int
maybe_same(const char *a, size_t n, const char *b, size_t m)
{
	size_t i, j;

	if (n == m && memcmp(a, b, n) == 0)
		return 1;
	for (i = 0; i < n && (unsigned char)a[i] < 0x80; i++)
		;
	for (j = 0; j < m && (unsigned char)b[j] < 0x80; j++)
		;
	return i < n && j < m;
}

int
path_maybe_below(const char *path, size_t len, const char *prefix)
{
	const char *end = path + len, *slash;
	size_t n, m;

	while (*prefix == '/' && prefix[1] != '\0') {
		if (path == end || *path++ != '/')
			return 0;
		n = strcspn(++prefix, "/");
		slash = memchr(path, '/', (size_t)(end - path));
		m = (size_t)((slash != NULL ? slash : end) - path);
		if (!maybe_same(path, m, prefix, n))
			return 0;
		path += m;
		prefix += n;
	}
	return 1;
}

const char *
path_trim(const char *text, size_t *len)
{
	const char *end = text + *len, *p;
	uint32_t cp = 0;
	size_t k;

	while (text < end &&
	       (k = text_utf8_next(text, (size_t)(end - text), &cp)) > 0 &&
	       taken_off(cp))
		text += k;
	while (end > text) {
		for (p = end - 1; p > text && (*p & 0xc0) == 0x80; p--)
			;
		if (text_utf8_next(p, (size_t)(end - p), &cp) == 0 ||
		    !taken_off(cp))
			break;
		end = p;
	}
	*len = (size_t)(end - text);
	return text;
}
