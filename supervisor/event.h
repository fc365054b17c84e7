/*
 * The audit lines that carry a judged message.  The other events are in
 * monitor.h.
 */
#ifndef DW_EVENT_H
#define DW_EVENT_H

#include <stddef.h>
#include <stdint.h>

struct message;
struct monitor;
struct scalar;
struct verdict;

/* A message as a verdict line names it. */
struct subject {
	const char *from; /* client or server */
	const struct scalar *id;
	const char *method;
	size_t method_len;
	const char *tool;         /* NULL but for tools/call */
	const struct cJSON *args; /* NULL if there are none to show */
};

/* A verdict, and after an ask that nobody answers, its decision. */
void event_verdict(struct monitor *m, const struct subject *s,
		   const struct verdict *v, uint64_t since_ns);

#endif
