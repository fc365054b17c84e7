/*
 * What a person decides of pins: for `doorward pins` alone, which may wait
 * and look into directories.
 */
#ifndef DW_PINS_DECIDE_H
#define DW_PINS_DECIDE_H

#include <stddef.h>

struct pin_entry;
struct pins;

/* The servers that have pins. */
struct pins_list {
	struct pins **v; /* owned, by name; all were read */
	size_t n;
	char **faults; /* owned; sentences about files that were not */
	size_t nfaults;
};

/* The tools that are meant; none: all, and the server's own facts. */
struct pins_choice {
	char **names; /* tokens, owned */
	size_t n;
};

void pins_list_read(struct pins_list *l, const char *dir);
void pins_list_free(struct pins_list *l);

void pins_choice_init(struct pins_choice *c, char *const *names, size_t n);
void pins_choice_free(struct pins_choice *c);
int pins_chosen(const struct pins_choice *c, const char *name);
/* The first name that p says nothing of, or NULL. */
const char *pins_choice_unknown(const struct pins_choice *c,
				const struct pins *p);

/* How many things wait: tools (each set's), and facts if no tool is named. */
size_t pins_waiting(const struct pins *p, const struct pins_choice *c);

/*
 * Pins what waited when shown was read.  Reads the file anew under the lock:
 * if any of it is no longer so, nothing is accepted.  0, or -1 with *why.
 */
int pins_accept(const struct pins *shown, const struct pins_choice *c,
		char **why);

/* Forgets names, or all, if the file is still the one that was shown. */
int pins_forget(const struct pins *shown, const struct pins_choice *c,
		char **why);

#endif
