/*
 * Pins as a person or a program reads them: for `doorward pins` alone.
 */
#ifndef DW_PINS_SHOW_H
#define DW_PINS_SHOW_H

#include <stddef.h>

struct buf;
struct pins;
struct pins_choice;
struct pins_list;

/* A token without its quotes, if it is a plain word.  Caller frees. */
char *show_name(const char *token);

void show_list(struct buf *b, const struct pins_list *l);
void show_list_json(struct buf *b, const struct pins_list *l);

/* All that waits, with what changes, ended by a line that counts it. */
void show_waiting(struct buf *b, const struct pins *p,
		  const struct pins_choice *c);

/* What is about to be forgotten. */
void show_forgetting(struct buf *b, const struct pins *p,
		     const struct pins_choice *c);

#endif
