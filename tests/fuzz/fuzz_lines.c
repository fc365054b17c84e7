/*
 * Framing against the plainest splitter there is: the same bytes, in pieces,
 * have to give the same lines.  The first byte is the size of the pieces.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/buf.h"
#include "proto/frames.h"

#include "../../relay/lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(cond)                                             \
	do {                                                    \
		if (!(cond)) {                                  \
			fprintf(stderr, "failed: %s\n", #cond); \
			abort();                                \
		}                                               \
	} while (0)

static void
record(struct buf *log, const char *p, size_t n, char how)
{
	buf_put(log, p, n);
	buf_putc(log, how);
	buf_putc(log, '\n');
}

static int
blank(const char *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (p[i] != ' ' && p[i] != '\t' && p[i] != '\r')
			return 0;
	return 1;
}

/* The whole input at once. */
static void
split(const char *p, size_t n, struct buf *log)
{
	const char *end = p + n, *nl;
	int first = 1, last;
	size_t len;

	for (; p < end; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		last = nl == NULL;
		if (last)
			nl = end;
		len = (size_t)(nl - p);
		if (first && len >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) {
			p += 3;
			len -= 3;
			first = 0;
		}
		if (len > 0 && p[len - 1] == '\r')
			len--;
		if (!blank(p, len)) {
			first = 0;
			record(log, p, len, last ? '-' : '+');
		}
		if (last)
			break;
	}
}

static void
drain(struct lines *l, struct buf *log)
{
	enum line_event event;
	struct line line;

	while ((event = lines_next(l, &line)) != LINE_NONE) {
		CHECK(event == LINE_READY);
		record(log, line.p, line.len, '+');
	}
}

static void
in_pieces(const char *p, size_t n, size_t piece, struct buf *log)
{
	static struct lines l;
	static int fd[2] = {-1, -1};
	enum line_event event;
	struct line line;
	size_t i, k;

	if (fd[0] < 0)
		CHECK(pipe(fd) == 0);
	memset(&l, 0, sizeof(l));
	lines_init(&l);
	for (i = 0; i < n; i += k) {
		k = n - i < piece ? n - i : piece;
		CHECK(write(fd[1], p + i, k) == (ssize_t)k);
		CHECK(lines_fill(&l, fd[0]) == (ssize_t)k);
		drain(&l, log);
	}
	if (n > 0) {
		event = lines_end(&l, &line);
		CHECK(event == LINE_NONE || event == LINE_INCOMPLETE);
		if (event == LINE_INCOMPLETE)
			record(log, line.p, line.len, '-');
	}
	buf_free(&l.in);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf want = BUF_INIT, got = BUF_INIT;
	const char *p;

	if (size < 1)
		return 0;
	p = (const char *)data + 1;
	split(p, size - 1, &want);
	in_pieces(p, size - 1, (size_t)data[0] + 1, &got);
	CHECK(want.len == got.len &&
	      (want.len == 0 || memcmp(want.data, got.data, want.len) == 0));
	buf_free(&want);
	buf_free(&got);
	return 0;
}
