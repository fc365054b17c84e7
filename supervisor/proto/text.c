/*
 * UTF-8, numbers and visible text.  Pure functions: bytes in, bytes out.
 * Runs on both sides of the split.
 */
#include <stdio.h>
#include <string.h>

#include "text.h"

static int
is_cont(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

size_t
text_utf8_next(const char *p, size_t n, uint32_t *cp)
{
	unsigned char b0;
	uint32_t v, least;
	size_t len, i;

	if (n == 0)
		return 0;
	b0 = (unsigned char)p[0];
	if (b0 < 0x80) {
		len = 1, v = b0, least = 0;
	} else if ((b0 & 0xe0) == 0xc0) {
		len = 2, v = b0 & 0x1fu, least = 0x80;
	} else if ((b0 & 0xf0) == 0xe0) {
		len = 3, v = b0 & 0x0fu, least = 0x800;
	} else if ((b0 & 0xf8) == 0xf0) {
		len = 4, v = b0 & 0x07u, least = 0x10000;
	} else {
		return 0;
	}
	if (len > n)
		return 0;
	for (i = 1; i < len; i++) {
		if (!is_cont(p[i]))
			return 0;
		v = v << 6 | ((unsigned char)p[i] & 0x3fu);
	}
	if (v < least || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff))
		return 0;
	if (cp != NULL)
		*cp = v;
	return len;
}

int
text_utf8_valid(const char *p, size_t n)
{
	size_t i = 0, k;
	uint64_t w;

	while (i < n) {
		while (n - i >= sizeof(w)) {
			memcpy(&w, p + i, sizeof(w));
			if (w & 0x8080808080808080ull)
				break;
			i += sizeof(w);
		}
		if (i == n)
			break;
		k = text_utf8_next(p + i, n - i, NULL);
		if (k == 0)
			return 0;
		i += k;
	}
	return 1;
}

size_t
text_utf8_put(uint32_t cp, char *out)
{
	if (cp < 0x80) {
		out[0] = (char)cp;
		return 1;
	}
	if (cp < 0x800) {
		out[0] = (char)(0xc0 | cp >> 6);
		out[1] = (char)(0x80 | (cp & 0x3f));
		return 2;
	}
	if (cp < 0x10000) {
		out[0] = (char)(0xe0 | cp >> 12);
		out[1] = (char)(0x80 | (cp >> 6 & 0x3f));
		out[2] = (char)(0x80 | (cp & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | cp >> 18);
	out[1] = (char)(0x80 | (cp >> 12 & 0x3f));
	out[2] = (char)(0x80 | (cp >> 6 & 0x3f));
	out[3] = (char)(0x80 | (cp & 0x3f));
	return 4;
}

static size_t
digits(const char *p, size_t n, size_t i)
{
	while (i < n && p[i] >= '0' && p[i] <= '9')
		i++;
	return i;
}

int
text_json_number(const char *p, size_t n)
{
	size_t i = 0, j;

	if (i < n && p[i] == '-')
		i++;
	if (i < n && p[i] == '0') {
		i++;
	} else {
		j = digits(p, n, i);
		if (j == i)
			return 0;
		i = j;
	}
	if (i < n && p[i] == '.') {
		j = digits(p, n, i + 1);
		if (j == i + 1)
			return 0;
		i = j;
	}
	if (i < n && (p[i] == 'e' || p[i] == 'E')) {
		i++;
		if (i < n && (p[i] == '+' || p[i] == '-'))
			i++;
		j = digits(p, n, i);
		if (j == i)
			return 0;
		i = j;
	}
	return i == n && n > 0;
}

int
text_unsafe(uint32_t cp)
{
	static const struct {
		uint32_t from, to;
	} ranges[] = {
	    {0x0000, 0x001f},   {0x007f, 0x009f},   {0x00ad, 0x00ad},
	    {0x034f, 0x034f},   {0x061c, 0x061c},   {0x115f, 0x1160},
	    {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f},
	    {0x2028, 0x202e},   {0x2060, 0x206f},   {0x3164, 0x3164},
	    {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
	    {0xfff0, 0xfffb},   {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
	    {0xe0000, 0xe0fff},
	};
	size_t i;

	for (i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		if (cp < ranges[i].from)
			return 0;
		if (cp <= ranges[i].to)
			return 1;
	}
	return 0;
}

/* The visible form of what stands at p; returns bytes taken from it. */
static size_t
visible_one(const char *p, size_t n, char *buf, size_t size, size_t *outlen)
{
	uint32_t cp = 0;
	size_t k = text_utf8_next(p, n, &cp);
	int w;

	if (k == 0) {
		w = snprintf(buf, size, "\\x%02x", (unsigned char)p[0]);
		k = 1;
	} else if (cp < 0x100 && text_unsafe(cp)) {
		w = snprintf(buf, size, "\\x%02x", (unsigned)cp);
	} else if (text_unsafe(cp)) {
		w = snprintf(buf, size, "\\u{%x}", (unsigned)cp);
	} else {
		memcpy(buf, p, k);
		w = (int)k;
	}
	*outlen = w > 0 ? (size_t)w : 0;
	return k;
}

size_t
text_visible(const char *in, size_t len, char *out, size_t size)
{
	size_t i = 0, o = 0, mark = 0, k, w;
	char one[16];

	if (size == 0)
		return 0;
	while (i < len) {
		k = visible_one(in + i, len - i, one, sizeof(one), &w);
		if (size - 1 - o < w) {
			/* Back to the last place where the mark has room. */
			o = mark;
			if (size - 1 - o >= 3) {
				memcpy(out + o, "...", 3);
				o += 3;
			}
			break;
		}
		memcpy(out + o, one, w);
		o += w;
		i += k;
		if (size - 1 - o >= 3)
			mark = o;
	}
	out[o] = '\0';
	return o;
}
