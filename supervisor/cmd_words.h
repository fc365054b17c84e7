/*
 * What the commands that read a policy have in common: their options' values,
 * and words of somebody else's in their messages.
 */
#ifndef DW_CMD_WORDS_H
#define DW_CMD_WORDS_H

struct policy_error;

/*
 * A text of somebody else's, safe for one place in a line; cut at some 500
 * bytes.  Static memory, good until the fourth call after this one.
 */
const char *cmd_shown(const char *text);

/*
 * The value of the option called name ("--policy") if argv[*i] is that
 * option: what follows its "=", or the next word, and *i is then that word's.
 * NULL if it is another option, or has no value.
 */
const char *cmd_option(const char *name, int argc, char **argv, int *i);

/* Says what is wrong and clears it; returns EXIT_USAGE. */
int cmd_complain(struct policy_error *err);

#endif
