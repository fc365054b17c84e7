/*
 * The shapes of texts in an entry: absolute paths, and destinations that are
 * trusted.  What could be meant in two ways is a mistake.  Runs in the
 * monitor and in the commands while a policy is loaded; owns nothing.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "proto/alloc.h"
#include "proto/buf.h"
#include "proto/text.h"

#include "policy.h"
#include "doc.h"
#include "model.h"
#include "sink.h"

/* The path without `.`, `..` and double slashes; caller frees. */
static char *
plain_path(const char *text)
{
	char *out = xcalloc(strlen(text) + 2, 1);
	const char *p = text;
	size_t n, len = 0;

	for (;; p += n) {
		p += strspn(p, "/");
		n = strcspn(p, "/");
		if (n == 0)
			break;
		if (n == 1 && p[0] == '.')
			continue;
		if (n == 2 && memcmp(p, "..", 2) == 0) {
			while (len > 0 && out[--len] != '/')
				;
			continue;
		}
		out[len++] = '/';
		memcpy(out + len, p, n);
		len += n;
	}
	if (len == 0)
		out[len++] = '/';
	out[len] = '\0';
	return out;
}

char *
path_mistake(const char *text)
{
	size_t len = strlen(text);
	char *plain, shown[256];
	int same;

	if (text[0] == '~')
		return xstrdup("starts with ~, which is not expanded; write "
			       "the directory out (/home/...)");
	if (text[0] == '$')
		return xstrdup("starts with a variable, which is not expanded; "
			       "write the directory out (/home/...)");
	if (text[0] != '/')
		return xstrdup("is relative; an absolute path (/...) "
			       "expected");
	plain = plain_path(text);
	/* One slash at the end does no harm. */
	if (len > 1 && text[len - 1] == '/' && text[len - 2] != '/')
		len--;
	same = strlen(plain) == len && memcmp(plain, text, len) == 0;
	text_visible(plain, strlen(plain), shown, sizeof(shown));
	free(plain);
	if (same)
		return NULL;
	return xasprintf("has \".\", \"..\" or double slashes; without them "
			 "it is \"%s\"",
			 shown);
}

/* The directory that a pattern was most likely meant for; caller frees. */
static char *
before_star(const char *text)
{
	size_t len = strcspn(text, "*");

	while (len > 0 && text[len - 1] != '/')
		len--;
	while (len > 1 && text[len - 1] == '/')
		len--;
	return xmemdupz(text, len);
}

char *
prefix_mistake(const char *text)
{
	char *dir, shown[256];

	if (text[0] != '/' || strchr(text, '*') == NULL)
		return NULL;
	dir = before_star(text);
	text_visible(dir, strlen(dir), shown, sizeof(shown));
	free(dir);
	return xasprintf("has a *, which stands for nothing here; all that is "
			 "below a directory is meant by its name: \"%s\"",
			 shown);
}

/* trusted_destinations: "TEXT" WHAT */
static int
untrustable(struct load *l, const struct node *n, const char *what)
{
	struct shown s;

	return mistake(
	    l->err, n,
	    xasprintf("trusted_destinations: %s %s", node_show(n, &s), what));
}

static int
starts(const char *text, const char *with)
{
	return strncasecmp(text, with, strlen(with)) == 0;
}

/* A host's name, or a mail address's domain. */
static int
is_host(const char *p, size_t len)
{
	size_t i;

	if (len == 0 || p[0] == '.' || p[len - 1] == '.')
		return 0;
	for (i = 0; i < len; i++)
		if (strchr("/@:?#*\\ \t,;<>()\"", p[i]) != NULL)
			return 0;
	return 1;
}

/* host:NAME and host:*.NAME */
static int
check_host(struct load *l, const struct node *n, const char *text)
{
	const char *name = text + strlen("host:");

	if (strncmp(name, "*.", 2) == 0)
		name += 2;
	if (is_host(name, strlen(name)))
		return 0;
	return untrustable(l, n,
			   "has no host's name; \"host:example.com\" or "
			   "\"host:*.example.com\" expected");
}

/* https://host/path, with one * at its end and nowhere else */
static int
check_url(struct load *l, const struct node *n, const char *text)
{
	const char *host = strstr(text, "://") + 3;
	size_t len = strcspn(host, "/?#\\");
	const char *port = memchr(host, ':', len);
	const char *star = strchr(text, '*');
	size_t name = port != NULL ? (size_t)(port - host) : len;

	if (memchr(host, '@', len) != NULL)
		return untrustable(l, n,
				   "has a user's name before its host; no "
				   "URL with one is trusted, so leave that "
				   "part out");
	if (star != NULL && star < host + len)
		return untrustable(l, n,
				   "has a * in its host; "
				   "\"host:*.example.com\" trusts the hosts "
				   "below a name, \"https://example.com/*\" "
				   "all paths of one host");
	/* [::1] is a host of another form. */
	if (host[0] != '[' && !is_host(host, name))
		return untrustable(l, n,
				   "has no host; \"https://host/path*\" "
				   "expected");
	if (star != NULL && star[1] != '\0')
		return untrustable(l, n,
				   "has a * before its end; only the last "
				   "character may be one: "
				   "\"https://host/path*\"");
	return 0;
}

/* A * that stands for something is at the start of a mail address only. */
static int
check_star(struct load *l, const struct node *n, const char *text)
{
	const char *at = strchr(text, '@');

	if (strcmp(text, "*") == 0)
		return untrustable(l, n,
				   "trusts every destination; write "
				   "\"exfiltrating: false\" if that is meant");
	if (text[0] == '*' && at == text + 1) {
		if (is_host(at + 1, strlen(at + 1)))
			return 0;
		return untrustable(l, n,
				   "has no domain after the @; "
				   "\"*@example.com\" expected, without a * "
				   "in the domain");
	}
	if (strncmp(text, "*.", 2) == 0)
		return untrustable(l, n,
				   "could be hosts or mail domains; "
				   "\"host:*.example.com\" or "
				   "\"*@example.com\" expected");
	return untrustable(l, n,
			   "has a * where it stands for nothing; \"*@domain\", "
			   "\"https://host/path*\" and \"host:*.name\" are "
			   "taken");
}

static int
check_trusted_shape(struct load *l, const struct node *n, const char *text)
{
	const char *at = strchr(text, '@');

	if (text[0] == '\0')
		return untrustable(l, n, "is empty; a destination expected");
	if (starts(text, "host:"))
		return check_host(l, n, text);
	if (starts(text, "http://") || starts(text, "https://"))
		return check_url(l, n, text);
	if (starts(text, "mailto:"))
		return untrustable(l, n,
				   "has a scheme; write the mail address "
				   "alone");
	if (strchr(text, '*') != NULL)
		return check_star(l, n, text);
	if (at == text && at[1] != '\0' && strchr(at, '.') != NULL)
		return untrustable(l, n,
				   "names nobody before the @; \"*@domain\" "
				   "trusts everybody of a domain");
	return 0;
}

/* A destination that the entry is meant for: that of a * something short. */
static char *
example_of(const char *text)
{
	size_t len = strlen(text);

	if (starts(text, "host:*"))
		return xasprintf("x%s", text + strlen("host:*"));
	if (starts(text, "host:"))
		return xstrdup(text + strlen("host:"));
	if (text[0] == '*')
		return xasprintf("x%s", text + 1);
	return xmemdupz(text, text[len - 1] == '*' ? len - 1 : len);
}

/* 1 if a URL, host or domain is of a form that nothing is ever trusted by. */
static int
trusts_nothing(const char *text)
{
	char *item, *example;
	struct strings one = {&item, 1};
	int trusted;

	if (!starts(text, "host:") && !starts(text, "http://") &&
	    !starts(text, "https://") && text[0] != '*')
		return 0; /* another text is compared as a whole */
	item = xstrdup(text);
	example = example_of(text);
	trusted = sink_trusted(&one, example, strlen(example));
	free(example);
	free(item);
	return !trusted;
}

int
check_trusted(struct load *l, const struct node *n, const char *text)
{
	if (check_trusted_shape(l, n, text) < 0)
		return -1;
	if (!trusts_nothing(text))
		return 0;
	return untrustable(l, n,
			   "could be read in more than one way, and would "
			   "trust nothing; \"https://host/path*\" expected, "
			   "or \"host:NAME\", with hosts in ASCII and "
			   "without \"..\", \"#\" and escaped slashes");
}
