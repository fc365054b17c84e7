/*
 * A question to the person at the terminal.  Standard input is not asked: an
 * agent's shell can fill it.
 */
#ifndef DW_TTY_H
#define DW_TTY_H

#include <stddef.h>

/* The process's own terminal, or -1 with errno.  Caller closes. */
int tty_open(void);

/* 0, or -1 with errno if not all could be written. */
int tty_put(int fd, const char *p, size_t len);

/*
 * Forgets what was typed before, asks, and waits for a line.  1 for y or yes,
 * 0 for anything else, and for the end of the terminal.
 */
int tty_ask(int fd, const char *question);

#endif
