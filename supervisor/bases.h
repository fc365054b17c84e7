/*
 * The directories that a server may take relative names from, besides its
 * working directory: those that its command names, and the roots that the
 * client tells it of.  A name below any of them is looked at by the self
 * contract.
 */
#ifndef DW_BASES_H
#define DW_BASES_H

#include <stddef.h>

#define BASES_MAX 64u /* more are not kept: nobody's command has them */

struct cJSON;

struct bases {
	char *v[BASES_MAX]; /* absolute and resolved, owned */
	size_t n;
};

/*
 * Adds the directories in the arguments of a command: whole, after "=", and
 * between "," and ":" ("--root=/a", "/a:/b", docker's "-v /a:/b").  home
 * stands for a leading "~"; NULL if unknown.  Before confinement.
 */
void bases_command(struct bases *b, char *const *argv, const char *home);

/* Adds the roots of a client's answer to roots/list (MCP, ListRootsResult);
 * what is no such answer is passed over. */
void bases_roots(struct bases *b, const struct cJSON *result);

void bases_clear(struct bases *b);

#endif
