/*
 * The frame table, cell by cell, against a list made from the prose: what is
 * not on the list is a breach.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "proto/buf.h"
#include "proto/limits.h"

#include "table.h"

enum { C = SIDE_CLIENT, S = SIDE_SERVER };

/* A part of a message that is not the last is full. */
#define FULL 262144, 262144
#define LAST 1, 262144

static const struct permitted {
	int side, state, type;
	on_frame *handler;
	int once;
	uint32_t least, most;
} permitted[] = {
    /* Both: HELLO, once, before anything but notes; EOI is the last. */
    {C, RELAY_START, FRAME_HELLO, on_hello, 1, 8, 8},
    {S, RELAY_START, FRAME_HELLO, on_hello, 1, 8, 8},
    {C, RELAY_START, FRAME_NOTE, on_note, 0, 1, 512},
    {S, RELAY_START, FRAME_NOTE, on_note, 0, 1, 512},
    {C, RELAY_IDLE, FRAME_NOTE, on_note, 0, 1, 512},
    {S, RELAY_IDLE, FRAME_NOTE, on_note, 0, 1, 512},
    {C, RELAY_IDLE, FRAME_EOI, on_eoi, 1, 0, 0},
    {S, RELAY_IDLE, FRAME_EOI, on_eoi, 1, 0, 0},
    /* reason 2, offset 8, id 3 to 1027, sample 2 to 82 */
    {C, RELAY_IDLE, FRAME_REFUSE, on_client_refuse, 0, 15, 1119},
    {S, RELAY_IDLE, FRAME_REFUSE, on_server_refuse, 0, 15, 1119},
    /* From the client everything travels as a tree. */
    {C, RELAY_IDLE, FRAME_TREE_PART, on_tree_part, 0, FULL},
    {C, RELAY_TREE, FRAME_TREE_PART, on_tree_part, 0, FULL},
    {C, RELAY_IDLE, FRAME_TREE_END, on_tree_end, 0, LAST},
    {C, RELAY_TREE, FRAME_TREE_END, on_tree_end, 0, LAST},
    /* From the server an envelope, then its line; before it, perhaps, a list
     * of tools as a tree.  kind 1, flags 1, line 4, id 3, token 3, method 2,
     * version 2; the strings 1,024 each, 32 the version */
    {S, RELAY_IDLE, FRAME_ENVELOPE, on_envelope, 0, 16, 3120},
    {S, RELAY_TOLD, FRAME_ENVELOPE, on_envelope, 0, 16, 3120},
    {S, RELAY_LINE, FRAME_LINE_PART, on_line_part, 0, LAST},
    {S, RELAY_IDLE, FRAME_RESULT_PART, on_result_part, 0, FULL},
    {S, RELAY_RESULT, FRAME_RESULT_PART, on_result_part, 0, FULL},
    {S, RELAY_IDLE, FRAME_RESULT_END, on_result_end, 0, LAST},
    {S, RELAY_RESULT, FRAME_RESULT_END, on_result_end, 0, LAST},
};
#define PERMITTED (sizeof(permitted) / sizeof(permitted[0]))

static const struct permitted *
expected(int side, int state, int type)
{
	size_t i;

	for (i = 0; i < PERMITTED; i++)
		if (permitted[i].side == side && permitted[i].state == state &&
		    permitted[i].type == type)
			return &permitted[i];
	return NULL;
}

static void
every_cell(void **state)
{
	const struct permitted nothing = {.handler = NULL}, *want;
	const struct frame_rule *rule;
	size_t cells = 0, open = 0;
	int side, at, type;

	(void)state;
	for (side = 0; side < 2; side++)
		for (at = 0; at < 7; at++)
			for (type = 0; type < 11; type++, cells++) {
				rule = table_rule((enum relay_side)side,
						  (enum relay_state)at,
						  (enum frame_type)type);
				assert_non_null(rule);
				want = expected(side, at, type);
				open += want != NULL;
				if (want == NULL)
					want = &nothing;
				if (rule->handler != want->handler ||
				    rule->once != want->once ||
				    rule->least != want->least ||
				    rule->most != want->most)
					fail_msg(
					    "%s %s %s: once %d, %u to %u",
					    side_name((enum relay_side)side),
					    state_name((enum relay_state)at),
					    frame_name((enum frame_type)type),
					    rule->once, rule->least,
					    rule->most);
			}
	assert_int_equal(cells, 154);
	assert_int_equal(open, PERMITTED);
	assert_int_equal(cells, SIDE_MAX * RELAY_STATE_MAX * FRAME_TYPE_MAX);
}

/* What follows of the sides' trust, said without the list. */
static void
sides(void **state)
{
	static const enum frame_type clients[] = {FRAME_TREE_PART,
						  FRAME_TREE_END};
	static const enum frame_type servers[] = {
	    FRAME_ENVELOPE, FRAME_LINE_PART, FRAME_RESULT_PART,
	    FRAME_RESULT_END};
	int at, type;
	size_t i;

	(void)state;
	for (at = 0; at < RELAY_STATE_MAX; at++) {
		for (i = 0; i < 2; i++)
			assert_null(table_rule(SIDE_SERVER,
					       (enum relay_state)at, clients[i])
					->handler);
		for (i = 0; i < 4; i++)
			assert_null(table_rule(SIDE_CLIENT,
					       (enum relay_state)at, servers[i])
					->handler);
	}
	for (type = 0; type < FRAME_TYPE_MAX; type++) {
		assert_null(
		    table_rule(SIDE_CLIENT, RELAY_ENDED, (enum frame_type)type)
			->handler);
		assert_null(
		    table_rule(SIDE_SERVER, RELAY_ENDED, (enum frame_type)type)
			->handler);
	}
}

static struct scalar
string_of(const char *p, size_t n)
{
	return (struct scalar){SCALAR_STRING, (uint16_t)n, p};
}

/* The least and greatest frames that can be written are those allowed. */
static void
lengths(void **state)
{
	static char text[2048];
	struct refuse r = {.reason = 1, .sample = text};
	struct envelope e = {
	    .kind = KIND_ERROR, .line_len = 1, .method = text, .version = text};
	struct hello h = {.protocol = 1};
	struct buf b = BUF_INIT;

	(void)state;
	memset(text, 'x', sizeof(text));
	r.id.p = e.id.p = e.token.p = text;
	hello_put(&b, &h);
	assert_int_equal(buf_used(&b), 8);
	b.len = 0;
	refuse_put(&b, &r);
	assert_int_equal(buf_used(&b), 15);
	b.len = 0;
	envelope_put(&b, &e);
	assert_int_equal(buf_used(&b), 16);
	b.len = 0;
	r.id = e.id = e.token = string_of(text, 1024);
	r.sample_len = 80;
	e.method_len = 1024;
	e.version_len = 32;
	refuse_put(&b, &r);
	assert_int_equal(buf_used(&b), 1119);
	b.len = 0;
	envelope_put(&b, &e);
	assert_int_equal(buf_used(&b), 3120);
	buf_free(&b);
}

static void
names(void **state)
{
	static const char *const states[] = {"start", "idle", "tree", "result",
					     "told",  "line", "ended"};
	static const char *const frames[] = {
	    "NONE",      "HELLO",       "NOTE",      "EOI",
	    "TREE_PART", "TREE_END",    "REFUSE",    "ENVELOPE",
	    "LINE_PART", "RESULT_PART", "RESULT_END"};
	int i;

	(void)state;
	assert_int_equal(RELAY_STATE_MAX, 7);
	assert_int_equal(FRAME_TYPE_MAX, 11);
	for (i = 0; i < 7; i++)
		assert_string_equal(state_name((enum relay_state)i), states[i]);
	for (i = 0; i < 11; i++)
		assert_string_equal(frame_name((enum frame_type)i), frames[i]);
	assert_string_equal(side_name(SIDE_CLIENT), "client");
	assert_string_equal(side_name(SIDE_SERVER), "server");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_cell),
	    cmocka_unit_test(sides),
	    cmocka_unit_test(lengths),
	    cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
