/*
 * Encoding and decoding of frame headers and fixed records.  The decoders
 * run in the monitor on what a relay sent: each field is bounded, each
 * enumeration checked, and a record with a byte too few or too many is
 * refused.
 */
#include <string.h>

#include "buf.h"
#include "frames.h"
#include "limits.h"
#include "text.h"

static const struct {
	int code;
	const char *word, *text;
} refusals[REFUSAL_MAX] = {{0, "none", "none"},
#define X(name, code, word, text) {code, word, text},
			   REFUSALS(X)
#undef X
};

int
refusal_code(enum refusal r)
{
	return r < REFUSAL_MAX ? refusals[r].code : -32600;
}

const char *
refusal_word(enum refusal r)
{
	return r < REFUSAL_MAX ? refusals[r].word : "unknown";
}

const char *
refusal_text(enum refusal r)
{
	return r < REFUSAL_MAX ? refusals[r].text : "unknown";
}

const char *
layer_name(uint32_t bit)
{
	static const char *const names[] = {
	    "seccomp",      "no_new_privs", "no_caps",  "bounding",
	    "not_dumpable", "rlimits",      "landlock", "user_ns",
	    "net_ns",       "mount_ns",     "ipc_ns"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (bit == 1u << i)
			return names[i];
	return NULL;
}

void
frame_put_header(struct buf *b, enum frame_type type, uint64_t call, size_t len)
{
	buf_put_u32(b, (uint32_t)len);
	buf_put_u16(b, (uint16_t)type);
	buf_put_u16(b, 0);
	buf_put_u64(b, call);
}

int
frame_get_header(const char *p, struct frame_header *h)
{
	struct cur c;
	uint16_t zero;

	cur_init(&c, p, FRAME_HEADER_LEN);
	h->len = cur_u32(&c);
	h->type = cur_u16(&c);
	zero = cur_u16(&c);
	h->call = cur_u64(&c);
	if (zero != 0 || h->type == FRAME_NONE || h->type >= FRAME_TYPE_MAX)
		return -1;
	return h->len <= DW_BODY_MAX ? 0 : -1;
}

void
hello_put(struct buf *b, const struct hello *h)
{
	buf_put_u16(b, h->protocol);
	buf_put_u16(b, h->landlock_abi);
	buf_put_u32(b, h->layers);
}

int
hello_get(const char *p, size_t n, struct hello *h)
{
	struct cur c;

	cur_init(&c, p, n);
	h->protocol = cur_u16(&c);
	h->landlock_abi = cur_u16(&c);
	h->layers = cur_u32(&c);
	if (!cur_done(&c) || h->protocol != FRAME_PROTOCOL)
		return -1;
	return (h->layers & ~(uint32_t)LAYER_ALL) == 0 ? 0 : -1;
}

static int
integer_literal(const char *p, size_t n)
{
	size_t i = n > 0 && p[0] == '-' ? 1 : 0;

	if (!text_json_number(p, n))
		return 0;
	for (; i < n; i++)
		if (p[i] < '0' || p[i] > '9')
			return 0;
	return 1;
}

int
scalar_valid(const struct scalar *s)
{
	if (s->len > DW_ID_MAX)
		return 0;
	switch (s->type) {
	case SCALAR_NONE:
		return s->len == 0;
	case SCALAR_NUMBER:
		return integer_literal(s->p, s->len);
	case SCALAR_STRING:
		return text_utf8_valid(s->p, s->len) &&
		       (s->len == 0 || memchr(s->p, 0, s->len) == NULL);
	default:
		return 0;
	}
}

static void
scalar_put(struct buf *b, const struct scalar *s)
{
	buf_put_u8(b, s->type);
	buf_put_u16(b, s->len);
	buf_put(b, s->p, s->len);
}

static void
scalar_get(struct cur *c, struct scalar *s)
{
	s->type = cur_u8(c);
	s->len = cur_u16(c);
	s->p = cur_bytes(c, s->len);
	if (c->bad || !scalar_valid(s)) {
		c->bad = 1;
		*s = (struct scalar){SCALAR_NONE, 0, ""};
	}
}

void
refuse_put(struct buf *b, const struct refuse *r)
{
	buf_put_u16(b, r->reason);
	buf_put_u64(b, r->offset);
	scalar_put(b, &r->id);
	buf_put_u16(b, r->sample_len);
	buf_put(b, r->sample, r->sample_len);
}

int
refuse_get(const char *p, size_t n, struct refuse *r)
{
	struct cur c;

	cur_init(&c, p, n);
	r->reason = cur_u16(&c);
	r->offset = cur_u64(&c);
	scalar_get(&c, &r->id);
	r->sample_len = cur_u16(&c);
	r->sample = cur_bytes(&c, r->sample_len);
	if (!cur_done(&c) || r->sample_len > DW_SAMPLE_MAX)
		return -1;
	return r->reason > REFUSAL_NONE && r->reason < REFUSAL_MAX ? 0 : -1;
}

void
envelope_put(struct buf *b, const struct envelope *e)
{
	buf_put_u8(b, e->kind);
	buf_put_u8(b, e->flags);
	buf_put_u32(b, e->line_len);
	scalar_put(b, &e->id);
	scalar_put(b, &e->token);
	buf_put_u16(b, e->method_len);
	buf_put(b, e->method, e->method_len);
	buf_put_u16(b, e->version_len);
	buf_put(b, e->version, e->version_len);
}

static int
envelope_sane(const struct envelope *e)
{
	const int told = ENVELOPE_RESULT | ENVELOPE_UNREADABLE;
	int has_id = e->id.type != SCALAR_NONE;

	if (e->flags & ~ENVELOPE_ALL || e->line_len == 0 ||
	    e->line_len > DW_MESSAGE_MAX || e->method_len > DW_METHOD_MAX ||
	    e->version_len > ENVELOPE_VERSION_MAX)
		return 0;
	if (!text_utf8_valid(e->method, e->method_len) ||
	    !text_utf8_valid(e->version, e->version_len))
		return 0;
	switch (e->kind) {
	case KIND_REQUEST:
		return has_id && e->flags == 0;
	case KIND_NOTIFICATION:
		return !has_id && e->flags == 0;
	case KIND_RESULT:
		return has_id && e->method_len == 0 &&
		       (e->flags & told) != told;
	case KIND_ERROR:
		return e->method_len == 0 && e->flags == 0;
	default:
		return 0;
	}
}

int
envelope_get(const char *p, size_t n, struct envelope *e)
{
	struct cur c;

	cur_init(&c, p, n);
	e->kind = cur_u8(&c);
	e->flags = cur_u8(&c);
	e->line_len = cur_u32(&c);
	scalar_get(&c, &e->id);
	scalar_get(&c, &e->token);
	e->method_len = cur_u16(&c);
	e->method = cur_bytes(&c, e->method_len);
	e->version_len = cur_u16(&c);
	e->version = cur_bytes(&c, e->version_len);
	return cur_done(&c) && envelope_sane(e) ? 0 : -1;
}
