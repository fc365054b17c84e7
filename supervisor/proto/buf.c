/*
 * Byte buffers and the field cursor.  Both sides of the split use them; the
 * cursor is what the monitor reads a relay's frames with, so it believes no
 * length before it has compared it, by subtraction, with what is there.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "buf.h"
#include "log.h"

#define BUF_LEAST 256

static void
grow(struct buf *b, size_t need)
{
	size_t cap = b->cap > BUF_LEAST ? b->cap : BUF_LEAST;

	while (cap < need) {
		if (cap > SIZE_MAX / 2)
			fatal("buffer too large");
		cap *= 2;
	}
	b->data = xreallocarray(b->data, cap, 1);
	b->cap = cap;
}

char *
buf_reserve(struct buf *b, size_t n)
{
	if (b->cap - b->len >= n)
		return b->data + b->len;
	if (b->off > 0) {
		memmove(b->data, b->data + b->off, buf_used(b));
		b->len -= b->off;
		b->off = 0;
	}
	if (b->cap - b->len < n) {
		if (SIZE_MAX - b->len < n)
			fatal("buffer too large");
		grow(b, b->len + n);
	}
	return b->data + b->len;
}

void
buf_put(struct buf *b, const void *p, size_t n)
{
	if (n == 0)
		return;
	memcpy(buf_reserve(b, n), p, n);
	b->len += n;
}

void
buf_puts(struct buf *b, const char *s)
{
	buf_put(b, s, strlen(s));
}

void
buf_putc(struct buf *b, char c)
{
	buf_put(b, &c, 1);
}

void
buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	char *s = NULL;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	if (n < 0)
		fatal("out of memory");
	buf_put(b, s, (size_t)n);
	free(s);
}

void
buf_put_u8(struct buf *b, uint8_t v)
{
	buf_put(b, &v, 1);
}

static void
put_le(struct buf *b, uint64_t v, size_t n)
{
	char *p = buf_reserve(b, n);
	size_t i;

	for (i = 0; i < n; i++)
		p[i] = (char)(v >> (8 * i) & 0xff);
	b->len += n;
}

void
buf_put_u16(struct buf *b, uint16_t v)
{
	put_le(b, v, 2);
}

void
buf_put_u32(struct buf *b, uint32_t v)
{
	put_le(b, v, 4);
}

void
buf_put_u64(struct buf *b, uint64_t v)
{
	put_le(b, v, 8);
}

void
buf_consume(struct buf *b, size_t n)
{
	if (n > buf_used(b))
		fatal("buffer consumed past its end");
	b->off += n;
	if (b->off == b->len)
		b->off = b->len = 0;
}

void
buf_reset(struct buf *b, size_t keep)
{
	b->off = b->len = 0;
	if (b->cap > keep) {
		free(b->data);
		b->data = NULL;
		b->cap = 0;
	}
}

void
buf_free(struct buf *b)
{
	if (b->data != NULL)
		explicit_bzero(b->data, b->cap);
	free(b->data);
	memset(b, 0, sizeof(*b));
}

void
cur_init(struct cur *c, const void *p, size_t n)
{
	c->p = p;
	c->n = n;
	c->bad = 0;
}

const char *
cur_bytes(struct cur *c, size_t n)
{
	const char *p = c->p;

	if (c->bad || c->n < n) {
		c->bad = 1;
		return "";
	}
	c->p += n;
	c->n -= n;
	return p;
}

static uint64_t
get_le(struct cur *c, size_t n)
{
	const char *p = cur_bytes(c, n);
	uint64_t v = 0;
	size_t i;

	if (c->bad)
		return 0;
	for (i = 0; i < n; i++)
		v |= (uint64_t)(unsigned char)p[i] << (8 * i);
	return v;
}

uint8_t
cur_u8(struct cur *c)
{
	return (uint8_t)get_le(c, 1);
}

uint16_t
cur_u16(struct cur *c)
{
	return (uint16_t)get_le(c, 2);
}

uint32_t
cur_u32(struct cur *c)
{
	return (uint32_t)get_le(c, 4);
}

uint64_t
cur_u64(struct cur *c)
{
	return get_le(c, 8);
}

int
cur_done(const struct cur *c)
{
	return !c->bad && c->n == 0;
}
