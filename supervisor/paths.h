/*
 * Where things are.  Defaults come from passwd's home, never from the
 * environment: clients strip it, and an agent could set it.
 */
#ifndef DW_PATHS_H
#define DW_PATHS_H

struct paths {
	char *state; /* audit and keys; 0700 */
	char *run;   /* requests to running sessions; 0700 */
};

/*
 * Fills p for the given --state directory (NULL: the default) and makes
 * both directories.  Returns 0, or -1 with *err a sentence (caller frees);
 * p is filled even then.  The caller frees with paths_free().
 */
int paths_init(struct paths *p, const char *state, char **err);

/* As paths_init() but makes nothing. */
void paths_guess(struct paths *p, const char *state);

void paths_free(struct paths *p);

/* The default policy file, whether or not it is there.  Caller frees. */
char *paths_default_policy(void);

/*
 * The full path of one of Doorward's own programs: beside the executable
 * when that runs from a build directory, else the compiled-in place.
 * Caller frees; NULL if /proc is not there to ask.
 */
char *paths_program(const char *name);

#endif
