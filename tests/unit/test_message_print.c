/*
 * What the monitor prints of a tree is what came in: numbers, order, text.
 * Trees and their text are made side by side, from a fixed seed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "proto/buf.h"
#include "proto/text.h"

#include "jsonw.h"
#include "message.h"
#include "tree_help.h"

#define V "\"jsonrpc\":\"2.0\","

struct maker {
	uint64_t seed;
	struct buf tree, text;
	int nodes;
};

static uint32_t
dice(struct maker *g, uint32_t sides)
{
	g->seed = g->seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(g->seed >> 33) % sides;
}

static void
make_string(struct maker *g, char tag, int unique)
{
	static const uint32_t tops[] = {0x20,  0x80,    0x80,
					0x800, 0x10000, 0x110000};
	char bytes[200], *p = bytes, one[5], esc[8];
	int n = (int)dice(g, 12);
	uint32_t cp;
	const char *at;
	size_t k;

	buf_putc(&g->text, '"');
	if (tag == ':') {
		/* Keys of one object differ. */
		p += sprintf(p, "k%d ", unique);
		buf_puts(&g->text, bytes);
	}
	while (n-- > 0) {
		cp = 1 + dice(g, tops[dice(g, 6)] - 1);
		if (cp >= 0xd800 && cp <= 0xdfff)
			cp = '\\';
		k = text_utf8_put(cp, one);
		memcpy(p, one, k);
		p += k;
		at = cp < 0x80 ? strchr("\"\\\b\f\n\r\t", (int)cp) : NULL;
		if (at != NULL)
			buf_printf(&g->text, "\\%c",
				   "\"\\bfnrt"[at - "\"\\\b\f\n\r\t"]);
		else if (cp < 0x20 && snprintf(esc, sizeof(esc), "\\u%04x", cp))
			buf_puts(&g->text, esc);
		else
			buf_put(&g->text, one, k);
	}
	put_text(&g->tree, tag, bytes, (size_t)(p - bytes));
	buf_putc(&g->text, '"');
}

static void
make_number(struct maker *g)
{
	char s[64], *p = s;
	int i;

	if (dice(g, 3) == 0)
		*p++ = '-';
	if (dice(g, 3) == 0)
		*p++ = '0';
	else
		for (i = (int)dice(g, 25) + 1, *p++ = '7'; i > 0; i--)
			*p++ = (char)('0' + dice(g, 10));
	if (dice(g, 2))
		p += sprintf(p, ".%03u0", dice(g, 1000));
	if (dice(g, 3) == 0)
		p += sprintf(
		    p, "%c%s%02u", "eE" [dice(g, 2)],
		    (const char *const[]) { "", "+", "-" }[dice(g, 3)],
		    dice(g, 400));
	put_text(&g->tree, '0', s, (size_t)(p - s));
	buf_put(&g->text, s, (size_t)(p - s));
}

static void
make_value(struct maker *g, int depth, uint32_t kind)
{
	static const char *const words[] = {"null", "true", "false"};
	int n, i, object = kind == 6;

	g->nodes++;
	if (kind < 3) {
		buf_putc(&g->tree, words[kind][0]);
		buf_puts(&g->text, words[kind]);
	} else if (kind == 3) {
		make_string(g, '"', 0);
	} else if (kind == 4 || depth > 20) {
		make_number(g);
	} else {
		buf_putc(&g->tree, object ? '{' : '[');
		buf_putc(&g->text, object ? '{' : '[');
		n = g->nodes < 400 ? (int)dice(g, 9) : 0;
		for (i = 0; i < n; i++) {
			if (i > 0)
				buf_putc(&g->text, ',');
			if (object) {
				make_string(g, ':', i * 7 % 10);
				buf_putc(&g->text, ':');
			}
			make_value(g, depth + 1, dice(g, 7));
		}
		buf_putc(&g->tree, '.');
		buf_putc(&g->text, object ? '}' : ']');
	}
}

static void
generated(void **state)
{
	struct maker g = {.seed = 20250618};
	struct buf out = BUF_INIT;
	struct message m;
	size_t sum = 0;
	int i;

	(void)state;
	for (i = 0; i < 2000; i++) {
		g.tree.len = g.text.len = out.len = 0;
		g.nodes = 0;
		put_json(&g.tree, "{" V "\"id\":5,\"result\":");
		buf_puts(&g.text, "{" V "\"id\":5,\"result\":");
		make_value(&g, 0, 5 + dice(&g, 2));
		buf_putc(&g.tree, '.');
		buf_putc(&g.text, '}');
		assert_int_equal(
		    message_decode(&m, buf_head(&g.tree), buf_used(&g.tree)),
		    0);
		jsonw_tree(&out, m.root);
		message_free(&m);
		assert_int_equal(buf_used(&out), buf_used(&g.text));
		assert_memory_equal(buf_head(&out), buf_head(&g.text),
				    buf_used(&out));
		sum += buf_used(&out);
	}
	/* They were not all empty. */
	assert_true(sum > 1000000);
	buf_free(&g.tree);
	buf_free(&g.text);
	buf_free(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(generated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
