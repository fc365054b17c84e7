/*
 * From line to tree and back to text: nothing is lost and nothing changes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/buf.h"
#include "proto/frames.h"
#include "proto/limits.h"
#include "proto/tree.h"

#include "../../relay/emit.h"
#include "../../relay/scan.h"
#include "../../relay/send.h"

static void
put(void *arg, const void *p, size_t n)
{
	buf_put(arg, p, n);
}

/* The tree as text: each text as <tag:bytes>, the rest as its tag. */
static char *
show(const struct buf *tree)
{
	struct buf out = BUF_INIT;
	struct tree_reader r;
	struct tree_token t;
	enum tree_status s;

	tree_reader_init(&r, tree->data, tree->len);
	while ((s = tree_next(&r, &t)) == TREE_OK) {
		if (t.tag == TREE_NUMBER || t.tag == TREE_STRING ||
		    t.tag == TREE_KEY) {
			buf_printf(&out, "<%c", t.tag);
			buf_put(&out, t.p, t.len);
			buf_putc(&out, '>');
		} else {
			buf_putc(&out, (char)t.tag);
		}
	}
	buf_puts(&out, s == TREE_DONE ? "" : "BAD");
	buf_putc(&out, '\0');
	return out.data;
}

static void
check(const char *line, const char *want)
{
	static struct scan scan;
	struct buf tree = BUF_INIT;
	char *text;

	assert_int_equal(scan_line(&scan, line, strlen(line), SCAN_CLIENT),
			 REFUSAL_NONE);
	emit_tree(line, strlen(line), put, &tree);
	text = show(&tree);
	assert_string_equal(text, want);
	free(text);
	buf_free(&tree);
}

static void
trees(void **state)
{
	(void)state;
	check("{}", "{.");
	check(" { } ", "{.");
	check("{\"a\":null,\"b\":true,\"c\":false}", "{<:a>n<:b>t<:c>f.");
	check("{\"a\":[ ],\"b\":[[],{}]}", "{<:a>[.<:b>[[.{...");
	check("{\"n\":[0,-0,1.0,1e2,1E+2,-1.5e-7,9007199254740993]}",
	      "{<:n>[<00><0-0><01.0><01e2><01E+2><0-1.5e-7>"
	      "<09007199254740993>..");
	check("{\"\":\"\"}", "{<:><\">.");
	check("{\"a\":\"b\",\"c\":\"d\"}", "{<:a><\"b><:c><\"d>.");
	check("{\"a\":{\"b\":\"c\"},\"d\":\"e\"}",
	      "{<:a>{<:b><\"c>.<:d><\"e>.");
	check("{\"a\":[\"b\",{\"c\":[\"d\"]},\"e\"]}",
	      "{<:a>[<\"b>{<:c>[<\"d>..<\"e>..");
	check("\t{ \"a\"\r:\n[ 1 , 2 ] }\n", "{<:a>[<01><02>..");
}

static void
text_in_trees(void **state)
{
	(void)state;
	check("{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}",
	      "{<:a><\"\"\\/\b\f\n\r\t>.");
	check("{\"\\u0061\":\"\\u00e9\\u20AC\\ud83d\\ude42\"}",
	      "{<:a><\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82>.");
	check("{\"a\":\"x\\u0041y\\u0042z\"}", "{<:a><\"xAyBz>.");
	check("{\"a\":\"\xe2\x80\xa8\xc2\x85 {},:[]\"}",
	      "{<:a><\"\xe2\x80\xa8\xc2\x85 {},:[]>.");
}

struct sent {
	struct buf tree, frames; /* bodies, and a letter a frame */
	size_t largest;
};

/* Reads frames until the socket ends. */
static void
receive(int fd, struct sent *s)
{
	char header[FRAME_HEADER_LEN];
	struct frame_header h;
	char *body;

	while (recv(fd, header, sizeof(header), MSG_WAITALL) ==
	       (ssize_t)sizeof(header)) {
		assert_int_equal(frame_get_header(header, &h), 0);
		assert_int_equal(h.call, 1);
		body = buf_reserve(&s->tree, h.len + 1);
		if (h.len > 0)
			assert_int_equal(recv(fd, body, h.len, MSG_WAITALL),
					 h.len);
		s->tree.len += h.len;
		buf_putc(&s->frames, (char)('A' + h.type));
		if (h.len > s->largest)
			s->largest = h.len;
	}
}

/* The frames that a child sends, as a relay would. */
static void
sent_by(void (*talk)(const void *), const void *arg, int flags, struct sent *s)
{
	int fd[2];
	pid_t pid;

	memset(s, 0, sizeof(*s));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | flags, 0, fd), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(fd[0]);
		mon_open(fd[1]);
		mon_message();
		talk(arg);
		mon_flush();
		_exit(0);
	}
	close(fd[1]);
	assert_int_equal(fcntl(fd[0], F_SETFL, 0), 0);
	receive(fd[0], s);
	close(fd[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	buf_putc(&s->frames, '\0');
}

static void
sent_free(struct sent *s)
{
	buf_free(&s->tree);
	buf_free(&s->frames);
}

static void
talk_tree(const void *arg)
{
	const struct buf *line = arg;

	mon_tree_begin(TREE_OF_CLIENT);
	emit_tree(line->data, line->len, mon_tree_put, NULL);
	mon_tree_end();
}

static void
talk_tools(const void *arg)
{
	const struct buf *line = arg;

	mon_tree_begin(TREE_OF_RESULT);
	emit_tree(line->data, line->len, mon_tree_put, NULL);
	mon_tree_end();
}

static void
talk_line(const void *arg)
{
	const struct buf *line = arg;
	struct envelope e;

	memset(&e, 0, sizeof(e));
	e.kind = KIND_NOTIFICATION;
	e.id.p = e.token.p = e.method = e.version = "";
	e.line_len = (uint32_t)line->len;
	mon_line(&e, line->data);
}

/* Cut wherever 256 KiB end: the parts together are the tree. */
static void
parts(void **state)
{
	struct buf line = BUF_INIT, tree = BUF_INIT;
	struct sent s;
	size_t i;

	(void)state;
	buf_puts(&line, "{\"a\":[");
	for (i = 0; i < 100000; i++)
		buf_printf(&line, "\"%zu\\n\",", i);
	buf_puts(&line, "1]}");
	emit_tree(line.data, line.len, put, &tree);

	sent_by(talk_tree, &line, 0, &s);
	assert_int_equal(s.tree.len, tree.len);
	assert_memory_equal(s.tree.data, tree.data, tree.len);
	assert_int_equal(s.largest, DW_PART_MAX);
	/* E: TREE_PART, F: TREE_END */
	assert_string_equal(s.frames.data, "EEEEF");
	sent_free(&s);
	sent_by(talk_tools, &line, 0, &s);
	assert_string_equal(s.frames.data, "JJJJK");
	sent_free(&s);
	buf_free(&line);
	buf_free(&tree);
}

static void
one_part(void **state)
{
	struct buf line = BUF_INIT;
	struct sent s;

	(void)state;
	buf_puts(&line, "{}");
	sent_by(talk_tree, &line, 0, &s);
	assert_string_equal(s.frames.data, "F");
	assert_int_equal(s.tree.len, 2);
	sent_free(&s);
	buf_free(&line);
}

static void
check_line(size_t n, int flags, const char *frames)
{
	struct buf line = BUF_INIT;
	struct sent s;
	size_t i, head;

	for (i = 0; i < n; i++)
		buf_putc(&line, (char)('a' + i % 23));
	sent_by(talk_line, &line, flags, &s);
	assert_string_equal(s.frames.data, frames);
	assert_true(s.tree.len > n);
	head = s.tree.len - n; /* the envelope's body */
	assert_memory_equal(s.tree.data + head, line.data, n);
	sent_free(&s);
	buf_free(&line);
}

static void
raw_lines(void **state)
{
	(void)state;
	check_line(1, 0, "HI");
	check_line(16 * 1024, 0, "HI");
	check_line(16 * 1024 + 1, 0, "HI");
	check_line(DW_PART_MAX, 0, "HI");
	check_line(DW_PART_MAX + 1, 0, "HII");
	check_line(3 * DW_PART_MAX, 0, "HIII");
	/* A socket that takes only a part of what it is given. */
	check_line(3 * DW_PART_MAX, SOCK_NONBLOCK, "HIII");
}

/* The result as the monitor is told of it, "whole" if nothing is left out. */
static void
check_told(const char *result, const char *want)
{
	static struct scan scan;
	struct buf tree = BUF_INIT;
	char line[512], *text;
	size_t n;

	n = (size_t)snprintf(line, sizeof(line), "{\"result\":%s}", result);
	assert_int_equal(scan_line(&scan, line, n, SCAN_WHOLE), REFUSAL_NONE);
	if (scan.outer_fault) {
		assert_string_equal("unreadable", want);
		return;
	}
	emit_tree_tools(line, n, scan.tool, scan.tools, put, &tree);
	text = show(&tree);
	assert_string_equal(text, want);
	free(text);
	buf_free(&tree);
}

#define LIST(tools) "{<:result>{<:tools>[" tools ".."

static void
told(void **state)
{
	(void)state;
	check_told("{\"tools\":[]}", LIST("") ".");
	check_told("{\"tools\":[{\"a\":\"\\u0000\"}]}", LIST("n") ".");
	check_told("{\"tools\":[{\"a\\u0000\":1} , {\"b\":2}, "
		   "{\"c\":[{\"d\":1,\"\\u0064\":2}]} ]}",
		   LIST("n{<:b><02>.n") ".");
	check_told("{\"tools\":[\"\\ud800\",\"x\",[\"\\udc00\"],7]}",
		   LIST("n<\"x>n<07>") ".");
	check_told("{\"tools\":[{\"b\":2}],\"x\":\"\\u0000\"}", "unreadable");
	check_told("{\"x\":{\"a\":1,\"a\":1},\"tools\":[{}]}", "unreadable");
	check_told("{\"tools\":[{}],\"tools\":[]}", "unreadable");
	check_told("{\"tools\":[{}],\"t\\u006fols\":[]}", "unreadable");
	check_told("{\"instructions\":\"a\\ud800\"}", "unreadable");
	check_told("{\"x\":{\"tools\":[{\"a\":1,\"a\":1}]}}", "unreadable");
	check_told("{\"instructions\":\"a\"}",
		   "{<:result>{<:instructions><\"a>..");
}

/* What is no JSON after all comes to an end. */
static void
nonsense(void **state)
{
	static const char *const lines[] = {
	    "x", "{\"a\":+x}", "[1,&]", "{]}}", "[\"", "{\"a\":\xff}"};
	struct buf tree = BUF_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		emit_tree(lines[i], strlen(lines[i]), put, &tree);
		assert_true(buf_used(&tree) < 100);
		buf_free(&tree);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(trees),    cmocka_unit_test(text_in_trees),
	    cmocka_unit_test(nonsense), cmocka_unit_test(parts),
	    cmocka_unit_test(one_part), cmocka_unit_test(raw_lines),
	    cmocka_unit_test(told),
	};

	return cmocka_run_group_tests_name("emit", tests, NULL, NULL);
}
