/*
 * A growable byte buffer with a read position, and a reader of fixed-width
 * fields that cannot run past its end.
 */
#ifndef DW_PROTO_BUF_H
#define DW_PROTO_BUF_H

#include <stddef.h>
#include <stdint.h>

struct buf {
	char *data;
	size_t off; /* first unread byte */
	size_t len; /* end of what was written; off <= len <= cap */
	size_t cap;
};

#define BUF_INIT              \
	{                     \
		NULL, 0, 0, 0 \
	}

static inline size_t
buf_used(const struct buf *b)
{
	return b->len - b->off;
}

static inline char *
buf_head(const struct buf *b)
{
	return b->data + b->off;
}

/* Room for n more bytes; returns where they go.  Does not change len. */
char *buf_reserve(struct buf *b, size_t n);

void buf_put(struct buf *b, const void *p, size_t n);
void buf_puts(struct buf *b, const char *s);
void buf_putc(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Little-endian integers, as the frames have them. */
void buf_put_u8(struct buf *b, uint8_t v);
void buf_put_u16(struct buf *b, uint16_t v);
void buf_put_u32(struct buf *b, uint32_t v);
void buf_put_u64(struct buf *b, uint64_t v);

/* Takes n bytes off the front. */
void buf_consume(struct buf *b, size_t n);

/* Forgets the content; memory over keep bytes is given back. */
void buf_reset(struct buf *b, size_t keep);

/* Clears and frees. */
void buf_free(struct buf *b);

/*
 * A cursor over bytes that a peer sent.  After the first short read bad is
 * set, every further value is zero and every further string empty, so that a
 * handler reads all fields and checks once, with cur_done().
 */
struct cur {
	const char *p;
	size_t n; /* bytes left */
	int bad;
};

void cur_init(struct cur *c, const void *p, size_t n);
uint8_t cur_u8(struct cur *c);
uint16_t cur_u16(struct cur *c);
uint32_t cur_u32(struct cur *c);
uint64_t cur_u64(struct cur *c);
const char *cur_bytes(struct cur *c, size_t n);

/* 1 if nothing was short and nothing is left over. */
int cur_done(const struct cur *c);

#endif
