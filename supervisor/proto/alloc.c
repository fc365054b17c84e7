/*
 * Checked allocation.  Runs in every process with that process's privilege
 * and owns nothing.
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "log.h"

void *
xcalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size ? size : 1);

	if (p == NULL)
		fatal("out of memory (%zu * %zu bytes)", n, size);
	return p;
}

void *
xreallocarray(void *p, size_t n, size_t size)
{
	void *q = reallocarray(p, n ? n : 1, size ? size : 1);

	if (q == NULL)
		fatal("out of memory (%zu * %zu bytes)", n, size);
	return q;
}

char *
xmemdupz(const void *p, size_t len)
{
	char *q;

	if (len == SIZE_MAX)
		fatal("out of memory");
	q = xreallocarray(NULL, len + 1, 1);
	if (len > 0)
		memcpy(q, p, len);
	q[len] = '\0';
	return q;
}

char *
xstrdup(const char *s)
{
	return xmemdupz(s, strlen(s));
}

char *
xasprintf(const char *fmt, ...)
{
	char *s = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	if (n < 0)
		fatal("out of memory");
	return s;
}
