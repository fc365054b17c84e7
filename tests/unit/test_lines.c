/*
 * Framing: the same input in one piece and in many gives the same lines.
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
#include <sys/mman.h>
#include <unistd.h>

#include "proto/buf.h"
#include "proto/frames.h"
#include "proto/limits.h"

#include "../../relay/lines.h"

/* Events as text: <line>, T:sample, I:rest, one behind the other. */
static void
record(struct buf *log, enum line_event event, const struct line *line)
{
	static const char *const names[] = {"", "<", "T:", "I:"};

	if (event == LINE_NONE)
		return;
	buf_puts(log, names[event]);
	buf_put(log, line->p, line->len);
	if (event == LINE_READY)
		buf_putc(log, '>');
}

static void
drain(struct lines *l, struct buf *log)
{
	enum line_event event;
	struct line line;

	while ((event = lines_next(l, &line)) != LINE_NONE)
		record(log, event, &line);
}

/* Feeds len bytes in pieces through a pipe. */
static void
feed(struct lines *l, const char *in, size_t len, size_t piece, struct buf *log)
{
	struct line line;
	size_t i, k;
	int fd[2];

	assert_int_equal(pipe(fd), 0);
	for (i = 0; i < len; i += k) {
		k = len - i < piece ? len - i : piece;
		assert_int_equal(write(fd[1], in + i, k), k);
		assert_int_equal(lines_fill(l, fd[0]), k);
		drain(l, log);
	}
	close(fd[1]);
	assert_int_equal(lines_fill(l, fd[0]), 0);
	drain(l, log);
	record(log, lines_end(l, &line), &line);
	close(fd[0]);
}

static void
check(const char *in, size_t len, const char *want)
{
	static const size_t pieces[] = {1, 2, 3, 7, 4096};
	size_t i;

	for (i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		struct lines *l = calloc(1, sizeof(*l));
		struct buf log = BUF_INIT;

		lines_init(l);
		feed(l, in, len, pieces[i], &log);
		buf_putc(&log, '\0');
		assert_string_equal(log.data, want);
		buf_free(&log);
		buf_free(&l->in);
		free(l);
	}
}
#define CHECK(in, want) check(in, sizeof(in) - 1, want)

static void
lines_of_text(void **state)
{
	(void)state;
	CHECK("", "");
	CHECK("a\n", "<a>");
	CHECK("a\nb\n", "<a><b>");
	CHECK("a\r\nb\r\n", "<a><b>");
	CHECK("a\rb\n", "<a\rb>");
	CHECK("a\r\r\n", "<a\r>");
	CHECK("\n\r\n \t\r\n\na\n\n", "<a>");
	CHECK("a", "I:a");
	CHECK("a\nb", "<a>I:b");
	CHECK("a\n \t", "<a>");
	CHECK("\r", "");
	CHECK("\xe2\x80\xa8\xc2\x85\x0b\x0c\n",
	      "<\xe2\x80\xa8\xc2\x85\x0b\x0c>");
}

static void
byte_order_mark(void **state)
{
	(void)state;
	CHECK("\xef\xbb\xbf"
	      "a\n",
	      "<a>");
	CHECK("\n\xef\xbb\xbf"
	      "a\n",
	      "<a>");
	CHECK("\xef\xbb\xbf\na\n", "<a>");
	CHECK("a\n\xef\xbb\xbf"
	      "b\n",
	      "<a><\xef\xbb\xbf"
	      "b>");
	CHECK("\xef\xbb\xbf\xef\xbb\xbf"
	      "a\n",
	      "<\xef\xbb\xbf"
	      "a>");
	CHECK("\xef\xbb\xbf\r\n\xef\xbb\xbf"
	      "a\n",
	      "<\xef\xbb\xbf"
	      "a>");
}

/* A file with a line of n bytes in it, and what the framing made of it. */
struct long_line {
	size_t ready, too_long, bytes;
	size_t peak; /* bytes of the input buffer at most */
	struct scalar id;
	char store[DW_ID_MAX];
};

static int
long_file(const char *before, size_t n, const char *after)
{
	static char block[1 << 20];
	int fd = memfd_create("line", MFD_CLOEXEC);
	size_t k;

	memset(block, 'x', sizeof(block));
	assert_true(fd >= 0);
	assert_int_equal(write(fd, before, strlen(before)), strlen(before));
	for (; n > 0; n -= k) {
		k = n < sizeof(block) ? n : sizeof(block);
		assert_int_equal(write(fd, block, k), k);
	}
	assert_int_equal(write(fd, after, strlen(after)), strlen(after));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static void
read_long(int fd, struct long_line *out)
{
	struct lines *l = calloc(1, sizeof(*l));
	enum line_event event;
	struct line line;
	ssize_t n;

	memset(out, 0, sizeof(*out));
	lines_init(l);
	do {
		n = lines_fill(l, fd);
		assert_true(n >= 0);
		if (buf_used(&l->in) > out->peak)
			out->peak = buf_used(&l->in);
		while ((event = lines_next(l, &line)) != LINE_NONE) {
			out->bytes = line.len;
			out->ready += event == LINE_READY;
			if (event != LINE_TOO_LONG)
				continue;
			out->too_long++;
			out->id = salvage_id(&l->salvage);
			memcpy(out->store, out->id.p, out->id.len);
		}
	} while (n > 0);
	assert_int_equal(lines_end(l, &line), LINE_NONE);
	/* What a long line needed was given back. */
	assert_true(l->in.cap <= 1024 * 1024);
	buf_free(&l->in);
	free(l);
	close(fd);
}

static void
longest(void **state)
{
	struct long_line r;

	(void)state;
	read_long(long_file("", DW_MESSAGE_MAX, "\n"), &r);
	assert_int_equal(r.ready, 1);
	assert_int_equal(r.bytes, DW_MESSAGE_MAX);
	read_long(long_file("\xef\xbb\xbf", DW_MESSAGE_MAX, "\r\n"), &r);
	assert_int_equal(r.ready, 1);
	assert_int_equal(r.bytes, DW_MESSAGE_MAX);
	read_long(long_file("", DW_MESSAGE_MAX + 1, "\nb\n"), &r);
	assert_int_equal(r.too_long, 1);
	assert_int_equal(r.ready, 1);
	assert_int_equal(r.bytes, 1);
}

static void
too_long(void **state)
{
	struct long_line r;

	(void)state;
	read_long(long_file("{\"a\":\"", 3 * (size_t)DW_MESSAGE_MAX,
			    "\",\"id\":\"late\"}\nnext\n"),
		  &r);
	assert_int_equal(r.too_long, 1);
	assert_int_equal(r.ready, 1);
	assert_int_equal(r.bytes, 4);
	assert_int_equal(r.id.type, SCALAR_STRING);
	assert_int_equal(r.id.len, 4);
	assert_memory_equal(r.store, "late", 4);
	assert_true(r.peak < DW_MESSAGE_MAX + 512 * 1024);
}

static void
too_long_at_the_end(void **state)
{
	struct lines *l = calloc(1, sizeof(*l));
	int fd = long_file("{\"id\":3,", DW_MESSAGE_MAX + 1000, "");
	enum line_event event;
	struct line line;

	(void)state;
	lines_init(l);
	while (lines_fill(l, fd) > 0)
		assert_int_equal(lines_next(l, &line), LINE_NONE);
	event = lines_end(l, &line);
	assert_int_equal(event, LINE_TOO_LONG);
	assert_int_equal(line.len, DW_SAMPLE_MAX);
	assert_memory_equal(line.p, "{\"id\":3,xx", 10);
	assert_int_equal(salvage_id(&l->salvage).len, 1);
	buf_free(&l->in);
	free(l);
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lines_of_text),
	    cmocka_unit_test(byte_order_mark),
	    cmocka_unit_test(longest),
	    cmocka_unit_test(too_long),
	    cmocka_unit_test(too_long_at_the_end),
	};

	return cmocka_run_group_tests_name("lines", tests, NULL, NULL);
}
