/*
 * Two error words.  fatal(): our own invariant or our own child broke.
 * warnf(): a stranger did, and was refused.  Neither ever waits for a reader
 * of stderr.  Library code returns errors and does not call these.
 */
#ifndef DW_PROTO_LOG_H
#define DW_PROTO_LOG_H

#include <stddef.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_DEBUG };

/*
 * Where lines go.  text is len bytes without a newline, already free of
 * control characters.  Must not block and must not log.
 */
typedef void log_sink_fn(enum log_level level, const char *text, size_t len);

void log_set_sink(log_sink_fn *sink);
void log_set_debug(int on);
int log_debug_on(void);

/* Exit status that fatal() uses; 1 unless set. */
void log_set_fatal_status(int status);

void warnf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void debugf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void fatal(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

#endif
