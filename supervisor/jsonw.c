/*
 * JSON output of the monitor: the only code that makes bytes for the server,
 * the client's answers and the audit.
 */
#include <string.h>

#include <cjson/cJSON.h>

#include "proto/buf.h"
#include "proto/frames.h"
#include "proto/text.h"

#include "jsonw.h"

static void
put_unit(struct buf *b, unsigned v)
{
	static const char hex[] = "0123456789abcdef";
	const char s[6] = {'\\',
			   'u',
			   hex[v >> 12 & 15],
			   hex[v >> 8 & 15],
			   hex[v >> 4 & 15],
			   hex[v & 15]};

	buf_put(b, s, sizeof(s));
}

static void
escape_one(struct buf *b, uint32_t cp)
{
	static const char shorts[] = "\"\"\\\\\bb\ff\nn\rr\tt";
	size_t i;

	for (i = 0; i + 1 < sizeof(shorts); i += 2) {
		if (cp == (unsigned char)shorts[i]) {
			buf_putc(b, '\\');
			buf_putc(b, shorts[i + 1]);
			return;
		}
	}
	if (cp >= 0x10000) {
		put_unit(b, (unsigned)(0xd800 + ((cp - 0x10000) >> 10)));
		put_unit(b, (unsigned)(0xdc00 + ((cp - 0x10000) & 0x3ff)));
		return;
	}
	put_unit(b, (unsigned)cp);
}

static int
plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

void
jsonw_string(struct buf *b, const char *p, size_t len, int safe)
{
	size_t i = 0, run, k;
	uint32_t cp;

	buf_putc(b, '"');
	while (i < len) {
		for (run = i; run < len && plain((unsigned char)p[run]); run++)
			;
		buf_put(b, p + i, run - i);
		i = run;
		if (i == len)
			break;
		k = text_utf8_next(p + i, len - i, &cp);
		if (k == 0) {
			/* Cannot come from a checked tree; never pass it on. */
			buf_puts(b, "\\ufffd");
			k = 1;
		} else if (cp < 0x20 || cp == '"' || cp == '\\' ||
			   (safe && text_unsafe(cp))) {
			escape_one(b, cp);
		} else {
			buf_put(b, p + i, k);
		}
		i += k;
	}
	buf_putc(b, '"');
}

void
jsonw_scalar(struct buf *b, const struct scalar *s, int safe)
{
	switch (s->type) {
	case SCALAR_NUMBER:
		buf_put(b, s->p, s->len);
		break;
	case SCALAR_STRING:
		jsonw_string(b, s->p, s->len, safe);
		break;
	default:
		buf_puts(b, "null");
		break;
	}
}

void
jsonw_key(struct buf *b, const char *key)
{
	char last = b->len > b->off ? b->data[b->len - 1] : '{';

	if (last != '{' && last != '[')
		buf_putc(b, ',');
	jsonw_string(b, key, strlen(key), 0);
	buf_putc(b, ':');
}

void
jsonw_strn(struct buf *b, const char *key, const char *p, size_t len)
{
	jsonw_key(b, key);
	jsonw_string(b, p, len, 1);
}

void
jsonw_str(struct buf *b, const char *key, const char *value)
{
	jsonw_strn(b, key, value, strlen(value));
}

void
jsonw_u64(struct buf *b, const char *key, uint64_t v)
{
	jsonw_key(b, key);
	buf_printf(b, "%llu", (unsigned long long)v);
}

static void
members(struct buf *b, const cJSON *item, int object)
{
	const cJSON *child;

	buf_putc(b, object ? '{' : '[');
	for (child = item->child; child != NULL; child = child->next) {
		if (child != item->child)
			buf_putc(b, ',');
		if (object) {
			jsonw_string(b, child->string, strlen(child->string),
				     0);
			buf_putc(b, ':');
		}
		jsonw_tree(b, child);
	}
	buf_putc(b, object ? '}' : ']');
}

void
jsonw_tree(struct buf *b, const cJSON *item)
{
	switch (item->type & 0xff) {
	case cJSON_NULL:
		buf_puts(b, "null");
		break;
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
			     0);
		break;
	case cJSON_Array:
	case cJSON_Object:
		members(b, item, cJSON_IsObject(item));
		break;
	default:
		buf_puts(b, "null");
		break;
	}
}
