/*
 * The second pass.  Runs in a relay, confined, on a line that scan.c has
 * found to be JSON, so it only asks where it is and no longer whether that
 * is right; it stays inside the line whatever is in it.
 */
#include <stdint.h>
#include <string.h>

#include "proto/limits.h"
#include "proto/tree.h"

#include "emit.h"
#include "jsonstr.h"
#include "scan.h"

struct emit {
	const char *p, *end;
	emit_put_fn *put;
	void *arg;
	uint32_t depth;
	uint8_t want_value;                       /* behind a key */
	const struct scan_tool *tool, *tools_end; /* not passed yet */
	uint8_t object[DW_DEPTH_MAX];
};

static void
put_head(struct emit *e, enum tree_tag tag, size_t len)
{
	char head[TREE_HEAD_LEN];
	size_t i;

	head[0] = (char)tag;
	for (i = 0; i < 4; i++)
		head[1 + i] = (char)(len >> (8 * i) & 0xff);
	e->put(e->arg, head, sizeof(head));
}

static void
put_tag(struct emit *e, enum tree_tag tag)
{
	char c = (char)tag;

	e->put(e->arg, &c, 1);
}

/* 0 if there is no whole one. */
static int
put_string(struct emit *e, enum tree_tag tag)
{
	const char *at = e->p, *p = at + 1, *end, *run;
	char tmp[STR_TMP];
	unsigned flags = 0;
	size_t k;

	if (str_scan(&e->p, e->end, &flags) != STR_OK)
		return 0;
	end = e->p - 1;
	if (!(flags & STR_ESCAPED)) {
		put_head(e, tag, (size_t)(end - p));
		e->put(e->arg, p, (size_t)(end - p));
		return 1;
	}
	put_head(e, tag, str_length(p, (size_t)(end - p)));
	while ((k = str_next(&p, end, tmp, &run)) > 0)
		e->put(e->arg, run, k);
	return 1;
}

/* 0 if there is none. */
static int
put_number(struct emit *e)
{
	const char *at = e->p;

	while (e->p < e->end &&
	       ((*e->p >= '0' && *e->p <= '9') || *e->p == '-' ||
		*e->p == '+' || *e->p == '.' || *e->p == 'e' || *e->p == 'E'))
		e->p++;
	if (e->p == at)
		return 0;
	put_head(e, TREE_NUMBER, (size_t)(e->p - at));
	e->put(e->arg, at, (size_t)(e->p - at));
	return 1;
}

static void
put_word(struct emit *e, enum tree_tag tag, size_t len)
{
	put_tag(e, tag);
	e->p += len;
}

static void
open_level(struct emit *e, int object)
{
	e->object[e->depth++] = (uint8_t)object;
	put_word(e, object ? TREE_OBJECT : TREE_ARRAY, 1);
}

/* 1 if a tool that cannot be told stood here, and was passed over. */
static int
skip_bad(struct emit *e, const char *line)
{
	size_t at = (size_t)(e->p - line);

	while (e->tool < e->tools_end && (!e->tool->bad || e->tool->off < at))
		e->tool++;
	if (e->tool == e->tools_end || e->tool->off != at ||
	    e->tool->len == 0 || e->tool->len > (size_t)(e->end - e->p))
		return 0;
	put_word(e, TREE_NULL, e->tool->len);
	return 1;
}

/* One token or separator; 0 if the line is not what it was said to be. */
static int
step(struct emit *e)
{
	char c = *e->p;
	int key = c == '"' && e->depth > 0 && e->object[e->depth - 1] &&
		  !e->want_value;

	if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ',' ||
	    c == ':') {
		e->p++;
		return 1;
	}
	e->want_value = (uint8_t)key;
	switch (c) {
	case '"':
		return put_string(e, key ? TREE_KEY : TREE_STRING);
	case '{':
	case '[':
		if (e->depth == DW_DEPTH_MAX)
			return 0;
		open_level(e, c == '{');
		return 1;
	case '}':
	case ']':
		if (e->depth == 0)
			return 0;
		e->depth--;
		put_word(e, TREE_END, 1);
		return 1;
	case 't':
		put_word(e, TREE_TRUE, 4);
		return 1;
	case 'f':
		put_word(e, TREE_FALSE, 5);
		return 1;
	case 'n':
		put_word(e, TREE_NULL, 4);
		return 1;
	default:
		return put_number(e);
	}
}

void
emit_tree_tools(const char *line, size_t len, const struct scan_tool *tools,
		size_t n, emit_put_fn *put, void *arg)
{
	struct emit e;

	memset(&e, 0, sizeof(e));
	e.p = line;
	e.end = line + len;
	e.put = put;
	e.arg = arg;
	e.tool = tools;
	e.tools_end = tools + n;
	while (e.p < e.end && (skip_bad(&e, line) || step(&e)))
		;
}

void
emit_tree(const char *line, size_t len, emit_put_fn *put, void *arg)
{
	static const struct scan_tool none;

	emit_tree_tools(line, len, &none, 0, put, arg);
}
