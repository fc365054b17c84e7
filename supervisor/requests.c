/*
 * The tables of open requests.  They live in the monitor; ids and tokens are
 * a stranger's, so the hash is keyed and every count bounded.
 */
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "proto/alloc.h"
#include "proto/limits.h"

#include "requests.h"

#define BUCKETS 2048u
#define CANCELLED_MAX 256u
#define TASK_TOKENS 256u

struct requests {
	struct request *ids[BUCKETS];
	struct request *tokens[BUCKETS];
	struct request *oldest, *newest;
	size_t open, cancelled;
	/* Hashes of tokens that outlived their request, a ring. */
	uint64_t task_tokens[TASK_TOKENS];
	size_t task_count;
	unsigned char key[crypto_shorthash_KEYBYTES];
};

struct requests *
requests_new(void)
{
	struct requests *rs = xcalloc(1, sizeof(*rs));

	randombytes_buf(rs->key, sizeof(rs->key));
	return rs;
}

void
requests_free(struct requests *rs)
{
	if (rs == NULL)
		return;
	while (rs->oldest != NULL)
		requests_remove(rs, rs->oldest, 0);
	free(rs);
}

size_t
requests_open(const struct requests *rs)
{
	return rs->open;
}

/* A peer in JavaScript answers id 0 to -0. */
static struct scalar
canonical(const struct scalar *s)
{
	struct scalar c = *s;

	if (c.type == SCALAR_NUMBER && c.len == 2 && memcmp(c.p, "-0", 2) == 0)
		c.p++, c.len--;
	return c;
}

int
scalar_same(const struct scalar *a, const struct scalar *b)
{
	struct scalar x = canonical(a), y = canonical(b);

	return x.type == y.type && x.len == y.len &&
	       (x.len == 0 || memcmp(x.p, y.p, x.len) == 0);
}

static uint64_t
hash(const struct requests *rs, const struct scalar *s)
{
	struct scalar c = canonical(s);
	unsigned char in[DW_ID_MAX + 1], out[crypto_shorthash_BYTES];
	uint64_t h;

	in[0] = c.type;
	if (c.len > 0)
		memcpy(in + 1, c.p, c.len);
	crypto_shorthash(out, in, (size_t)c.len + 1, rs->key);
	memcpy(&h, out, sizeof(h));
	return h;
}

struct request *
requests_find(struct requests *rs, const struct scalar *id)
{
	struct request *r;

	if (id->type == SCALAR_NONE)
		return NULL;
	r = rs->ids[hash(rs, id) % BUCKETS];
	while (r != NULL && !scalar_same(&r->id, id))
		r = r->next;
	return r;
}

int
requests_token_known(struct requests *rs, const struct scalar *token)
{
	struct request *r;
	uint64_t h;
	size_t i;

	if (token->type == SCALAR_NONE)
		return 0;
	h = hash(rs, token);
	for (r = rs->tokens[h % BUCKETS]; r != NULL; r = r->token_next)
		if (r->sent && scalar_same(&r->token, token))
			return 1;
	for (i = 0; i < TASK_TOKENS && i < rs->task_count; i++)
		if (rs->task_tokens[i] == h)
			return 1;
	return 0;
}

static struct scalar
own(const struct scalar *s)
{
	struct scalar c = *s;

	c.p = xmemdupz(s->p, s->len);
	return c;
}

struct request *
requests_add(struct requests *rs, const struct scalar *id,
	     const struct scalar *token)
{
	struct request *r = requests_find(rs, id);

	if (r != NULL)
		requests_remove(rs, r, 0);
	r = xcalloc(1, sizeof(*r));
	r->id = own(id);
	r->token = own(token);
	r->bucket = hash(rs, id) % BUCKETS;
	r->next = rs->ids[r->bucket];
	rs->ids[r->bucket] = r;
	if (token->type != SCALAR_NONE) {
		r->token_bucket = hash(rs, token) % BUCKETS;
		r->token_next = rs->tokens[r->token_bucket];
		rs->tokens[r->token_bucket] = r;
	}
	r->older = rs->newest;
	if (rs->newest != NULL)
		rs->newest->newer = r;
	else
		rs->oldest = r;
	rs->newest = r;
	rs->open++;
	return r;
}

void
requests_cancel(struct requests *rs, struct request *r)
{
	struct request *o;

	if (r->cancelled)
		return;
	r->cancelled = 1;
	rs->open--;
	if (++rs->cancelled <= CANCELLED_MAX)
		return;
	for (o = rs->oldest; o != NULL && !(o->cancelled && o->sent);
	     o = o->newer)
		;
	if (o != NULL)
		requests_remove(rs, o, 0);
}

static void
unlink_buckets(struct requests *rs, struct request *r)
{
	struct request **p;

	for (p = &rs->ids[r->bucket]; *p != NULL; p = &(*p)->next) {
		if (*p == r) {
			*p = r->next;
			break;
		}
	}
	if (r->token.type == SCALAR_NONE)
		return;
	for (p = &rs->tokens[r->token_bucket]; *p != NULL;
	     p = &(*p)->token_next) {
		if (*p == r) {
			*p = r->token_next;
			break;
		}
	}
}

void
requests_remove(struct requests *rs, struct request *r, int keep_token)
{
	unlink_buckets(rs, r);
	if (keep_token && r->token.type != SCALAR_NONE)
		rs->task_tokens[rs->task_count++ % TASK_TOKENS] =
		    hash(rs, &r->token);
	if (r->older != NULL)
		r->older->newer = r->newer;
	else
		rs->oldest = r->newer;
	if (r->newer != NULL)
		r->newer->older = r->older;
	else
		rs->newest = r->older;
	if (r->cancelled)
		rs->cancelled--;
	else
		rs->open--;
	free((char *)(uintptr_t)r->id.p);
	free((char *)(uintptr_t)r->token.p);
	free(r->method);
	free(r->tool);
	free(r);
}

struct request *
requests_oldest(struct requests *rs)
{
	return rs->oldest;
}
