/*
 * The tables of open requests: ids and tokens with their types, cancelled
 * ones, tasks, order, and many of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "proto/limits.h"

#include "requests.h"

static const struct scalar none = {SCALAR_NONE, 0, ""};

static struct scalar
number(const char *text)
{
	return (struct scalar){SCALAR_NUMBER, (uint16_t)strlen(text), text};
}

static struct scalar
string(const char *text)
{
	return (struct scalar){SCALAR_STRING, (uint16_t)strlen(text), text};
}

static struct request *
add(struct requests *rs, struct scalar id, struct scalar token)
{
	return requests_add(rs, &id, &token);
}

static struct request *
find(struct requests *rs, struct scalar id)
{
	return requests_find(rs, &id);
}

static int
known(struct requests *rs, struct scalar token)
{
	return requests_token_known(rs, &token);
}

/* The list reads the same both ways and is as long as it says. */
static void
check_order(struct requests *rs, const char *const *ids, size_t n)
{
	struct request *r = requests_oldest(rs), *last = NULL;
	size_t i;

	for (i = 0; i < n; i++) {
		assert_non_null(r);
		assert_int_equal(r->id.len, strlen(ids[i]));
		assert_memory_equal(r->id.p, ids[i], r->id.len);
		assert_ptr_equal(r->older, last);
		last = r;
		r = r->newer;
	}
	assert_null(r);
}

static void
ids(void **state)
{
	struct requests *rs = requests_new();
	struct request *one, *text, *zero;
	char copy[] = "1";

	(void)state;
	assert_null(requests_oldest(rs));
	assert_null(find(rs, number("1")));
	one = add(rs, number(copy), none);
	text = add(rs, string("1"), none);
	zero = add(rs, number("-0"), none);
	copy[0] = '7'; /* the request has bytes of its own */
	assert_int_equal(requests_open(rs), 3);
	assert_ptr_equal(find(rs, number("1")), one);
	assert_ptr_equal(find(rs, string("1")), text);
	assert_ptr_equal(find(rs, number("0")), zero);
	assert_ptr_equal(find(rs, number("-0")), zero);
	assert_memory_equal(zero->id.p, "-0", 2);
	assert_int_equal(zero->id.len, 2);
	/* Others stay others. */
	assert_null(find(rs, string("0")));
	assert_null(find(rs, string("-0")));
	assert_null(find(rs, number("-1")));
	assert_null(find(rs, number("10")));
	assert_null(find(rs, string("")));
	assert_null(find(rs, none));
	assert_int_equal(one->sent + one->cancelled + one->audited + one->task +
			     one->modern,
			 0);
	assert_null(one->method);
	requests_remove(rs, one, 0);
	assert_null(find(rs, number("1")));
	assert_ptr_equal(find(rs, string("1")), text);
	assert_int_equal(requests_open(rs), 2);
	requests_free(rs);
}

static void
zero_first(void **state)
{
	struct requests *rs = requests_new();
	struct request *zero = add(rs, number("0"), number("0"));

	(void)state;
	assert_ptr_equal(find(rs, number("-0")), zero);
	zero->sent = 1;
	assert_int_equal(known(rs, number("-0")), 1);
	assert_int_equal(known(rs, number("0")), 1);
	assert_int_equal(known(rs, string("0")), 0);
	requests_free(rs);
}

static void
long_ids(void **state)
{
	struct requests *rs = requests_new();
	char a[DW_ID_MAX], b[DW_ID_MAX];
	struct scalar x = {SCALAR_STRING, DW_ID_MAX, a};
	struct scalar y = {SCALAR_STRING, DW_ID_MAX, b};
	struct request *r;

	(void)state;
	memset(a, 'x', sizeof(a));
	memset(b, 'x', sizeof(b));
	b[DW_ID_MAX - 1] = 'y';
	r = requests_add(rs, &x, &y);
	r->sent = 1;
	assert_ptr_equal(requests_find(rs, &x), r);
	assert_null(requests_find(rs, &y));
	assert_int_equal(requests_token_known(rs, &y), 1);
	assert_int_equal(requests_token_known(rs, &x), 0);
	r = add(rs, string(""), string(""));
	r->sent = 1;
	assert_ptr_equal(find(rs, string("")), r);
	assert_int_equal(known(rs, string("")), 1);
	requests_free(rs);
}

static void
order(void **state)
{
	static const char *const all[] = {"a", "b", "c", "d"};
	static const char *const without_b[] = {"a", "c", "d"};
	static const char *const middle[] = {"c"};
	static const char *const again[] = {"c", "b"};
	struct requests *rs = requests_new();
	size_t i;

	(void)state;
	for (i = 0; i < 4; i++)
		add(rs, string(all[i]), none);
	check_order(rs, all, 4);
	requests_remove(rs, find(rs, string("b")), 0);
	check_order(rs, without_b, 3);
	requests_remove(rs, find(rs, string("a")), 0);
	requests_remove(rs, find(rs, string("d")), 0);
	check_order(rs, middle, 1);
	add(rs, string("b"), none);
	check_order(rs, again, 2);
	requests_remove(rs, find(rs, string("c")), 0);
	requests_remove(rs, find(rs, string("b")), 0);
	check_order(rs, NULL, 0);
	add(rs, string("a"), none);
	check_order(rs, all, 1);
	requests_free(rs);
}

static void
cancelled(void **state)
{
	struct requests *rs = requests_new();
	struct request *r = add(rs, number("5"), string("t")), *again;

	(void)state;
	r->sent = 1;
	r->method = strdup("tools/call");
	r->tool = strdup("send");
	requests_cancel(rs, r);
	requests_cancel(rs, r); /* once is enough */
	assert_int_equal(requests_open(rs), 0);
	/* It is still at the peer: its answer must be known as one. */
	assert_ptr_equal(find(rs, number("5")), r);
	assert_int_equal(known(rs, string("t")), 1);
	/* The id may be used again; the new one has nothing of the old. */
	again = add(rs, number("5"), none);
	assert_ptr_equal(find(rs, number("5")), again);
	assert_int_equal(again->cancelled, 0);
	assert_int_equal(again->sent, 0);
	assert_null(again->tool);
	assert_int_equal(known(rs, string("t")), 0);
	assert_int_equal(requests_open(rs), 1);
	requests_cancel(rs, again);
	requests_remove(rs, again, 0);
	assert_int_equal(requests_open(rs), 0);
	assert_null(requests_oldest(rs));
	/* Nothing of the count went under zero. */
	add(rs, number("6"), none);
	assert_int_equal(requests_open(rs), 1);
	requests_free(rs);
}

static struct request *
add_numbered(struct requests *rs, int i)
{
	char id[16], token[16];
	struct request *r;

	snprintf(id, sizeof(id), "%d", i);
	snprintf(token, sizeof(token), "t%d", i);
	r = add(rs, number(id), string(token));
	r->method = strdup("tools/call");
	return r;
}

static struct request *
find_numbered(struct requests *rs, int i)
{
	char id[16];

	snprintf(id, sizeof(id), "%d", i);
	return find(rs, number(id));
}

static int
count(struct requests *rs)
{
	struct request *r;
	int n = 0;

	for (r = requests_oldest(rs); r != NULL; r = r->newer)
		n++;
	return n;
}

/*
 * Only so many cancelled ones are kept, the oldest go first; one that has
 * not been sent yet somebody still points to, and is never taken away.
 */
static void
eviction(void **state)
{
	struct requests *rs = requests_new();
	struct request *r;
	int i;

	(void)state;
	for (i = 0; i < 600; i++) {
		r = add_numbered(rs, i);
		r->sent = i != 0 && i != 3;
		if (i != 1)
			requests_cancel(rs, r);
	}
	assert_int_equal(requests_open(rs), 1);
	assert_int_equal(count(rs), 257); /* 256 and the open one */
	assert_non_null(find_numbered(rs, 0));
	assert_non_null(find_numbered(rs, 1));
	assert_non_null(find_numbered(rs, 3));
	assert_null(find_numbered(rs, 2));
	assert_null(find_numbered(rs, 345));
	assert_non_null(find_numbered(rs, 346));
	assert_non_null(find_numbered(rs, 599));
	assert_int_equal(known(rs, string("t345")), 0);
	assert_int_equal(known(rs, string("t346")), 1);
	requests_free(rs);
}

/* A batch whose calls were all cancelled before any of them left. */
static void
eviction_of_none(void **state)
{
	struct requests *rs = requests_new();
	struct request *r;
	int i;

	(void)state;
	for (i = 0; i < 400; i++)
		requests_cancel(rs, add_numbered(rs, i));
	assert_int_equal(count(rs), 400);
	for (r = requests_oldest(rs); r != NULL; r = r->newer)
		r->sent = 1;
	r = add_numbered(rs, 400);
	r->sent = 1;
	requests_cancel(rs, r);
	assert_int_equal(count(rs), 400);
	assert_null(find_numbered(rs, 0));
	requests_free(rs);
}

static void
tokens(void **state)
{
	struct requests *rs = requests_new();
	struct request *a, *b;

	(void)state;
	assert_int_equal(known(rs, string("t")), 0);
	assert_int_equal(known(rs, none), 0);
	a = add(rs, number("1"), string("t"));
	assert_int_equal(known(rs, string("t")), 0); /* not sent yet */
	a->sent = 1;
	assert_int_equal(known(rs, string("t")), 1);
	assert_int_equal(known(rs, string("T")), 0);
	assert_int_equal(known(rs, string("t2")), 0);
	assert_int_equal(known(rs, string("")), 0);
	assert_int_equal(known(rs, number("1")), 0); /* an id is no token */
	b = add(rs, number("2"), number("7"));
	b->sent = 1;
	assert_int_equal(known(rs, number("7")), 1);
	assert_int_equal(known(rs, string("7")), 0);
	requests_remove(rs, a, 0);
	assert_int_equal(known(rs, string("t")), 0);
	assert_int_equal(known(rs, number("7")), 1);
	/* Two with one token: it is known until the last is gone. */
	a = add(rs, number("3"), number("7"));
	a->sent = 1;
	requests_remove(rs, b, 0);
	assert_int_equal(known(rs, number("7")), 1);
	requests_remove(rs, a, 0);
	assert_int_equal(known(rs, number("7")), 0);
	a = add(rs, number("4"), none);
	a->sent = 1;
	assert_int_equal(known(rs, none), 0);
	requests_free(rs);
}

static void
tokens_of_tasks(void **state)
{
	struct requests *rs = requests_new();
	struct request *r = add(rs, number("1"), string("task"));
	char token[16];
	int i;

	(void)state;
	r->sent = 1;
	requests_remove(rs, r, 1);
	assert_null(find(rs, number("1")));
	assert_int_equal(known(rs, string("task")), 1);
	assert_int_equal(known(rs, number("1")), 0);
	/* One without a token keeps none. */
	r = add(rs, number("2"), none);
	r->sent = 1;
	requests_remove(rs, r, 1);
	assert_int_equal(known(rs, none), 0);
	assert_int_equal(known(rs, string("")), 0);
	/* The last 256 are kept. */
	for (i = 0; i < 255; i++)
		requests_remove(rs, add_numbered(rs, i), 1);
	assert_int_equal(known(rs, string("task")), 1);
	requests_remove(rs, add_numbered(rs, 255), 1);
	assert_int_equal(known(rs, string("task")), 0);
	for (i = 0; i < 256; i++) {
		snprintf(token, sizeof(token), "t%d", i);
		assert_int_equal(known(rs, string(token)), 1);
	}
	requests_free(rs);
}

/* As many as may be open: chains of two and more in every table. */
static void
many(void **state)
{
	struct requests *rs = requests_new();
	struct request *r;
	char text[16];
	int i, n;

	(void)state;
	for (i = 0; i < (int)DW_INFLIGHT_MAX; i++) {
		r = add_numbered(rs, i);
		r->start_ns = (uint64_t)i;
		r->sent = 1;
	}
	assert_int_equal(requests_open(rs), DW_INFLIGHT_MAX);
	for (i = 0; i < (int)DW_INFLIGHT_MAX; i++) {
		r = find_numbered(rs, i);
		assert_non_null(r);
		assert_int_equal(r->start_ns, i);
		snprintf(text, sizeof(text), "%d", i);
		assert_null(find(rs, string(text)));
		assert_int_equal(known(rs, number(text)), 0);
		snprintf(text, sizeof(text), "t%d", i);
		assert_int_equal(known(rs, string(text)), 1);
	}
	/* From the inside of the chains, in an order of their own. */
	for (i = 0, n = 0; n < (int)DW_INFLIGHT_MAX; n++) {
		i = (i + 2741) % (int)DW_INFLIGHT_MAX;
		r = find_numbered(rs, i);
		assert_non_null(r);
		requests_remove(rs, r, 0);
		assert_null(find_numbered(rs, i));
		snprintf(text, sizeof(text), "t%d", i);
		assert_int_equal(known(rs, string(text)), 0);
		assert_int_equal(requests_open(rs), DW_INFLIGHT_MAX - 1 - n);
	}
	assert_null(requests_oldest(rs));
	requests_free(rs);
}

/* A stranger cannot know which ids fall together: the key is each table's. */
static void
keyed(void **state)
{
	struct requests *a = requests_new(), *b = requests_new();
	int i, same = 0;

	(void)state;
	for (i = 0; i < 64; i++)
		same +=
		    add_numbered(a, i)->bucket == add_numbered(b, i)->bucket;
	assert_true(same < 8);
	requests_free(a);
	requests_free(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ids),
	    cmocka_unit_test(zero_first),
	    cmocka_unit_test(long_ids),
	    cmocka_unit_test(order),
	    cmocka_unit_test(cancelled),
	    cmocka_unit_test(eviction),
	    cmocka_unit_test(eviction_of_none),
	    cmocka_unit_test(tokens),
	    cmocka_unit_test(tokens_of_tasks),
	    cmocka_unit_test(many),
	    cmocka_unit_test(keyed),
	};

	if (sodium_init() == -1)
		return 1;
	requests_free(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
