/*
 * What the demonstration prints.  Runs in `doorward demo` as the user.  What
 * the server and the ticket say goes to a terminal here, made visible first.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"
#include "proto/text.h"

#include "demo.h"

#define SHOWN_BYTES 240 /* of what others wrote */
#define COLUMNS 78

void
demo_failed(struct demo *d, const char *fmt, ...)
{
	va_list ap;

	d->failures++;
	printf("  FAILED: ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

void
demo_expect(struct demo *d, int ok, const char *good, const char *bad)
{
	if (ok)
		printf("  %s\n", good);
	else
		demo_failed(d, "%s", bad);
}

void
demo_tell(const struct demo *d, const char *title, const char *word)
{
	const char *on = "", *off = "";

	if (d->colour) {
		on = strcmp(word, "allowed") == 0      ? "\033[32m"
		     : strncmp(word, "denied", 6) == 0 ? "\033[1;31m"
						       : "\033[1m";
		off = "\033[0m";
	}
	printf("  %-38s %s%s%s\n", title, on, word, off);
}

int
demo_has(const char *p, size_t n, const char *what)
{
	return p != NULL && memmem(p, n, what, strlen(what)) != NULL;
}

/* What stands for \c on a line of ours; 0: leave it as it is. */
static char
plain(char c)
{
	switch (c) {
	case 'n':
	case 'r':
	case 't':
		return ' ';
	case '"':
	case '\\':
	case '/':
		return c;
	default:
		return 0;
	}
}

/* Takes JSON's escapes of one character out, in place; returns the length. */
static size_t
unescape(char *p, size_t len)
{
	size_t i, out = 0;
	char c;

	for (i = 0; i < len; i++) {
		c = p[i] == '\\' && i + 1 < len ? plain(p[i + 1]) : 0;
		i += c != 0;
		p[out++] = c != 0 ? c : p[i];
	}
	return out;
}

/* Prints words, one blank between two, in lines that fit. */
static void
print_wrapped(const char *indent, const char *text)
{
	size_t room = COLUMNS - strlen(indent), used = 0, n;

	for (; *text != '\0'; text += n) {
		text += strspn(text, " ");
		n = strcspn(text, " ");
		if (used > 0 && used + 1 + n <= room) {
			printf(" %.*s", (int)n, text);
			used += 1 + n;
		} else if (n > 0) {
			printf("%s%s%.*s", used > 0 ? "\n" : "", indent, (int)n,
			       text);
			used = n;
		}
	}
	printf("\n");
}

void
demo_show_line(const char *indent, const char *p, size_t len)
{
	char shown[SHOWN_BYTES];

	text_visible(p, len, shown, sizeof(shown));
	printf("%s%s\n", indent, shown);
}

void
demo_show_after(const char *p, size_t len, const char *start)
{
	const char *from = memmem(p, len, start, strlen(start));
	const char *end = p + len, *q;
	char shown[SHOWN_BYTES], *text;

	if (from == NULL)
		return;
	from += strlen(start);
	for (q = from; q < end && *q != '"'; q++)
		if (*q == '\\' && q + 1 < end)
			q++;
	text = xmemdupz(from, (size_t)(q - from));
	text_visible(text, unescape(text, (size_t)(q - from)), shown,
		     sizeof(shown));
	print_wrapped("      ", shown);
	free(text);
}
