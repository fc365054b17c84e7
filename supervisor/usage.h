/*
 * Wrong usage, said in one way by all commands.
 */
#ifndef DW_USAGE_H
#define DW_USAGE_H

/*
 * Says "doorward: COMMAND: what is wrong" and where help is to be had; of the
 * program itself command is "".  Without fmt (NULL) only the latter, where
 * getopt(3) has said what is wrong.  Returns EXIT_USAGE.
 */
int usage_error(const char *command, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * The same of a word that is no command; what was meant is looked for in
 * list, which ends with NULL.
 */
int usage_unknown(const char *command, const char *word,
		  const char *const *list);

#endif
