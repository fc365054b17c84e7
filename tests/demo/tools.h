/*
 * The helpdesk's tools and the directory that they work on.
 */
#ifndef DW_DEMO_TOOLS_H
#define DW_DEMO_TOOLS_H

#include <stddef.h>

struct cJSON;

/* A text that a tool answers with; error is set if it did not work. */
struct reply {
	char *text; /* owned by whom it is returned to */
	int error;
};

/* Every parameter is a required string: run() is called with all of them. */
struct tool {
	const char *name, *description;
	const char *params[4]; /* NULL after the last */
	struct reply (*run)(const struct cJSON *args);
};

/* Opens the directory; fills it if it is new.  Ends the program on error. */
void tools_open(const char *path);

/* The tool with this number, counted from 0; NULL after the last. */
const struct tool *tools_get(size_t i);

/* What the tool says of itself, an update taken into account. */
const char *tools_description(const struct tool *tool);

/* A reply with a printed text. */
struct reply tools_say(int error, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The string under key, or NULL; owned by args. */
const char *tools_string(const struct cJSON *args, const char *key);

/* p, unless it is NULL: then the program ends. */
void *tools_need(void *p);

/* Ends the program with errno's text. */
_Noreturn void tools_die(const char *what);

#endif
