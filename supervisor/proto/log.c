/*
 * Messages of every process.  The monitor's sink writes to the client's
 * stderr without waiting; a relay's sink sends a NOTE frame.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "text.h"

#define LINE_MAX_BYTES 2048

static void stderr_sink(enum log_level, const char *, size_t);

static log_sink_fn *sink = stderr_sink;
static int debugging;
static int fatal_status = 1;

static void
stderr_sink(enum log_level level, const char *text, size_t len)
{
	(void)level;
	fprintf(stderr, "doorward: %.*s\n", (int)len, text);
}

void
log_set_sink(log_sink_fn *s)
{
	sink = s != NULL ? s : stderr_sink;
}

void
log_set_debug(int on)
{
	debugging = on;
}

int
log_debug_on(void)
{
	return debugging;
}

void
log_set_fatal_status(int status)
{
	fatal_status = status;
}

static void emit(enum log_level, const char *, va_list)
    __attribute__((format(printf, 2, 0)));

static void
emit(enum log_level level, const char *fmt, va_list ap)
{
	char raw[LINE_MAX_BYTES], safe[LINE_MAX_BYTES];
	int n = vsnprintf(raw, sizeof(raw), fmt, ap);
	size_t len;

	if (n < 0)
		return;
	len = (size_t)n < sizeof(raw) ? (size_t)n : sizeof(raw) - 1;
	len = text_visible(raw, len, safe, sizeof(safe));
	sink(level, safe, len);
}

void
warnf(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	emit(LOG_LEVEL_WARN, fmt, ap);
	va_end(ap);
}

void
debugf(const char *fmt, ...)
{
	va_list ap;

	if (!debugging)
		return;
	va_start(ap, fmt);
	emit(LOG_LEVEL_DEBUG, fmt, ap);
	va_end(ap);
}

void
fatal(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	emit(LOG_LEVEL_ERROR, fmt, ap);
	va_end(ap);
	exit(fatal_status);
}
