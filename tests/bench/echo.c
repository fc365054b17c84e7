/*
 * The bench's server: an MCP server over stdio that does as little as one
 * can, so that what is measured is the way to it.  An ordinary process of
 * the user's; it trusts its one client, bench.c, and looks for fields by
 * substring, which no real server may do.
 *
 * Tools: echo (gives "text" back), big (a text of "n" bytes).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IN_MAX (4u << 20)
#define OUT_FLUSH (256u << 10)
#define BIG_MAX (63u << 20)

static char *in, *out;
static size_t in_len, out_len, out_cap;

struct span {
	const char *p;
	size_t n;
};

static void
flush(void)
{
	size_t off = 0;

	while (off < out_len) {
		ssize_t n = write(1, out + off, out_len - off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			exit(1);
		off += (size_t)n;
	}
	out_len = 0;
}

static char *
reserve(size_t n)
{
	char *grown;

	if (out_cap - out_len < n) {
		out_cap = out_len + n + OUT_FLUSH;
		grown = realloc(out, out_cap);
		if (grown == NULL)
			exit(1);
		out = grown;
	}
	return out + out_len;
}

static void
put(const char *p, size_t n)
{
	memcpy(reserve(n), p, n);
	out_len += n;
}

static void
puts_out(const char *s)
{
	put(s, strlen(s));
}

/* What follows key in the line: a string with its quotes, or a number. */
static struct span
field(const char *line, size_t n, const char *key)
{
	struct span v = {NULL, 0};
	const char *p = memmem(line, n, key, strlen(key)), *end = line + n;
	const char *q;

	if (p == NULL)
		return v;
	p += strlen(key);
	q = p;
	if (q < end && *q == '"') {
		for (q++; q < end && *q != '"'; q++)
			if (*q == '\\')
				q++;
		if (q >= end)
			return v;
		q++;
	} else {
		while (q < end && *q != ',' && *q != '}')
			q++;
	}
	v.p = p;
	v.n = (size_t)(q - p);
	return v;
}

static int
is(struct span v, const char *s)
{
	return v.n == strlen(s) && memcmp(v.p, s, v.n) == 0;
}

static void
text_result(struct span text)
{
	puts_out("\"result\":{\"content\":[{\"type\":\"text\",\"text\":");
	put(text.p, text.n);
	puts_out("}]}}\n");
}

static void
big_result(struct span count)
{
	size_t n = count.p != NULL ? strtoul(count.p, NULL, 10) : 0;

	if (n > BIG_MAX)
		n = BIG_MAX;
	puts_out("\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"");
	memset(reserve(n), 'x', n);
	out_len += n;
	puts_out("\"}]}}\n");
}

static const char tools[] =
    "\"result\":{\"tools\":[{\"name\":\"echo\",\"description\":\"Gives the "
    "text back\",\"inputSchema\":{\"type\":\"object\",\"properties\":{"
    "\"text\":{\"type\":\"string\"}}}},{\"name\":\"big\",\"description\":\"A "
    "text of n bytes\",\"inputSchema\":{\"type\":\"object\",\"properties\":{"
    "\"n\":{\"type\":\"integer\"}}}}]}}\n";

static const char hello[] =
    "\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{"
    "\"tools\":{}},\"serverInfo\":{\"name\":\"echo\",\"version\":\"1\"}}}\n";

static void
answer(const char *line, size_t n)
{
	struct span id = field(line, n, "\"id\":");
	struct span method = field(line, n, "\"method\":");
	struct span name, text = {"\"\"", 2};

	if (id.p == NULL || method.p == NULL)
		return;
	puts_out("{\"jsonrpc\":\"2.0\",\"id\":");
	put(id.p, id.n);
	puts_out(",");
	if (is(method, "\"tools/call\"")) {
		name = field(line, n, "\"name\":");
		if (is(name, "\"big\"")) {
			big_result(field(line, n, "\"n\":"));
			return;
		}
		if (field(line, n, "\"text\":").p != NULL)
			text = field(line, n, "\"text\":");
		text_result(text);
	} else if (is(method, "\"tools/list\"")) {
		puts_out(tools);
	} else if (is(method, "\"initialize\"")) {
		puts_out(hello);
	} else {
		puts_out("\"error\":{\"code\":-32601,\"message\":\"no such "
			 "method\"}}\n");
	}
}

int
main(void)
{
	in = malloc(IN_MAX);
	if (in == NULL)
		return 1;
	for (;;) {
		ssize_t got = read(0, in + in_len, IN_MAX - in_len);
		char *p = in, *nl;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return 0;
		in_len += (size_t)got;
		while ((nl = memchr(p, '\n', (size_t)(in + in_len - p))) !=
		       NULL) {
			answer(p, (size_t)(nl - p));
			if (out_len >= OUT_FLUSH)
				flush();
			p = nl + 1;
		}
		flush();
		in_len -= (size_t)(p - in);
		memmove(in, p, in_len);
		if (in_len == IN_MAX)
			return 1;
	}
}
