/*
 * The canonical form of a tool's definition.  Runs in the monitor on trees
 * that a server made up: deep as DW_DEPTH_MAX, of a million members, with
 * keys chosen to be slow to sort.  Recursion goes as deep as the tree does.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <sodium.h>

#include "proto/alloc.h"
#include "proto/buf.h"
#include "proto/limits.h"
#include "proto/log.h"

#include "canon.h"
#include "jsonw.h"
#include "order.h"

#define FEW 16 /* members sorted without an allocation */

/*
 * UTF-8 sorts by code points.  UTF-16 has what lies beyond U+FFFF in
 * surrogates, which come before U+E000: so of two bytes that lead a sequence
 * 0xee and 0xef are the greatest.
 */
static unsigned
weight(char c)
{
	unsigned char u = (unsigned char)c;

	return u == 0xee || u == 0xef ? u + 0x100u : u;
}

int
canon_key_order(const char *a, const char *b)
{
	size_t i = 0;
	unsigned x, y;

	while (a[i] != '\0' && a[i] == b[i])
		i++;
	x = weight(a[i]);
	y = weight(b[i]);
	return (x > y) - (x < y);
}

static int
by_key(const void *a, const void *b)
{
	const cJSON *x = a, *y = b;

	return canon_key_order(x->string, y->string);
}

/*
 * The children of a container in canonical order, in few if they fit there,
 * else in memory that the caller frees.
 */
static const void **
in_order(const cJSON *item, const void **few, size_t *count)
{
	const void **v = few;
	const cJSON *c;
	size_t n = 0;

	for (c = item->child; c != NULL; c = c->next)
		n++;
	if (n > FEW)
		v = xcalloc(n, sizeof(*v));
	n = 0;
	for (c = item->child; c != NULL; c = c->next)
		v[n++] = c;
	if (cJSON_IsObject(item))
		order_sort(v, n, by_key);
	*count = n;
	return v;
}

static int
is_container(const cJSON *item)
{
	return cJSON_IsObject(item) || cJSON_IsArray(item);
}

static void
print_leaf(struct buf *b, const cJSON *item, int safe)
{
	switch (item->type & 0xff) {
	case cJSON_True:
		buf_puts(b, "true");
		break;
	case cJSON_False:
		buf_puts(b, "false");
		break;
	case cJSON_Raw:
		buf_puts(b, item->valuestring);
		break;
	case cJSON_String:
		jsonw_string(b, item->valuestring, strlen(item->valuestring),
			     safe);
		break;
	case cJSON_Array:
		buf_puts(b, "[]");
		break;
	case cJSON_Object:
		buf_puts(b, "{}");
		break;
	case cJSON_NULL:
		buf_puts(b, "null");
		break;
	default:
		/* cJSON_Number: its literal is gone, and 1.0 would be 1. */
		fatal("a tree without its literals cannot be pinned");
	}
}

static void
print(struct buf *b, const cJSON *item, unsigned depth)
{
	const void *few[FEW], **v;
	const cJSON *c;
	int object = cJSON_IsObject(item);
	size_t i, n;

	if (!is_container(item)) {
		print_leaf(b, item, 0);
		return;
	}
	if (depth >= DW_DEPTH_MAX)
		fatal("a tree deeper than any that was let in");
	v = in_order(item, few, &n);
	buf_putc(b, object ? '{' : '[');
	for (i = 0; i < n; i++) {
		c = v[i];
		if (i > 0)
			buf_putc(b, ',');
		if (object) {
			jsonw_string(b, c->string, strlen(c->string), 0);
			buf_putc(b, ':');
		}
		print(b, c, depth + 1);
	}
	buf_putc(b, object ? '}' : ']');
	if (v != few)
		free(v);
}

void
canon_print(struct buf *b, const struct cJSON *item)
{
	print(b, item, 0);
}

void
canon_hash(const struct cJSON *item, char hex[65])
{
	unsigned char h[crypto_hash_sha256_BYTES];
	struct buf b = BUF_INIT;

	canon_print(&b, item);
	crypto_hash_sha256(h, (const unsigned char *)buf_head(&b),
			   buf_used(&b));
	sodium_bin2hex(hex, 65, h, sizeof(h));
	buf_free(&b);
}

struct flat {
	struct buf *out;
	struct buf path; /* pointer of the item at hand */
	size_t max;      /* bytes in out */
};

/* RFC 6901 section 3, within what a JSON string may hold. */
static void
put_key(struct buf *path, const char *key)
{
	struct buf quoted = BUF_INIT;
	const char *p, *end;

	jsonw_string(&quoted, key, strlen(key), 1);
	buf_putc(path, '/');
	end = quoted.data + quoted.len - 1;
	for (p = quoted.data + 1; p < end; p++) {
		if (*p == '~')
			buf_puts(path, "~0");
		else if (*p == '/')
			buf_puts(path, "~1");
		else
			buf_putc(path, *p);
	}
	free(quoted.data);
}

static int
put_line(struct flat *f, const cJSON *item)
{
	if (f->path.len > f->max || buf_used(f->out) > f->max - f->path.len)
		return -1;
	buf_put(f->out, f->path.data, f->path.len);
	buf_putc(f->out, '\t');
	print_leaf(f->out, item, 1);
	buf_putc(f->out, '\n');
	return buf_used(f->out) <= f->max ? 0 : -1;
}

static int
flatten(struct flat *f, const cJSON *item, unsigned depth)
{
	const void *few[FEW], **v;
	const size_t here = f->path.len;
	const cJSON *c;
	size_t i, n;
	int r = 0;

	if (!is_container(item) || item->child == NULL)
		return put_line(f, item);
	if (depth >= DW_DEPTH_MAX)
		fatal("a tree deeper than any that was let in");
	v = in_order(item, few, &n);
	for (i = 0; r == 0 && i < n; i++) {
		c = v[i];
		if (cJSON_IsObject(item))
			put_key(&f->path, c->string);
		else
			buf_printf(&f->path, "/%zu", i);
		r = f->path.len <= f->max ? flatten(f, c, depth + 1) : -1;
		f->path.len = here;
	}
	if (v != few)
		free(v);
	return r;
}

int
canon_flatten(struct buf *b, const struct cJSON *item, size_t max)
{
	const size_t before = buf_used(b);
	struct flat f = {.out = b, .max = SIZE_MAX};
	int r;

	if (max < SIZE_MAX - before)
		f.max = before + max;
	r = flatten(&f, item, 0);
	if (r == -1)
		b->len = b->off + before;
	buf_free(&f.path);
	return r;
}
