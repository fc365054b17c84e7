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

enum paths_status {
	PATHS_OK = 0,
	PATHS_NO_STATE = -1, /* the state directory must not be used */
	PATHS_NO_RUN = -2    /* the runtime directory must not be used */
};

/*
 * Fills p for the given --state directory (NULL: the default) and makes
 * both directories.  On failure *err is a sentence (caller frees) and p is
 * filled all the same.  The caller frees with paths_free().
 */
enum paths_status paths_init(struct paths *p, const char *state, char **err);

/*
 * Whether a run would take the directory: 0 if it would as it is, 1 if it
 * would make it, -1 with *err a sentence (caller frees) if it would not.
 * Changes nothing.
 */
int paths_check(const char *path, char **err);

/* As paths_init() but makes nothing. */
void paths_guess(struct paths *p, const char *state);

void paths_free(struct paths *p);

/* The home directory that passwd names, or NULL.  Caller frees. */
char *paths_home(void);

/* The default policy file, whether or not it is there.  Caller frees. */
char *paths_default_policy(void);

/*
 * 1 unless there certainly is none: what cannot be reached, or leads nowhere,
 * is for the loader to refuse, and never "no policy".
 */
int paths_policy_exists(const char *path);

/*
 * The full path of one of Doorward's own programs: beside the executable
 * when that runs from a build directory, else the compiled-in place.
 * Caller frees; NULL if /proc is not there to ask.
 */
char *paths_program(const char *name);

/*
 * The directory of the packs: beside the executable, or the compiled-in one,
 * as paths_program() has it.  Caller frees; never NULL.
 */
char *paths_packs(void);

#endif
