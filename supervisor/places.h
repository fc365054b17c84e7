/*
 * What the judgement has to know of this machine: directories, and which of
 * them are Doorward's own.  Include policy.h and call.h first.
 */
#ifndef DW_PLACES_H
#define DW_PLACES_H

#include <stddef.h>

struct places {
	struct policy_places p; /* points into the rest */
	char *cwd, *home;       /* NULL: unknown */
	char **own;
	size_t count;
};

/*
 * Finds cwd and home, and takes for own: the directories given (NULL: none),
 * the default policy's directory, and the n policy files.  Each is followed
 * as far as it exists, so that one that is made later is known by the name
 * that it will have.  Before confinement; changes nothing.
 */
void places_init(struct places *s, const char *state, const char *run,
		 const char *packs, const char *const *files, size_t n);
void places_free(struct places *s);

#endif
