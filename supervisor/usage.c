/*
 * What a command says when it is used wrongly.  Runs in the commands, as the
 * user; owns nothing.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"
#include "proto/log.h"

#include "suggest.h"

#include "cmd_words.h"
#include "cmds.h"
#include "usage.h"

static void
where_help_is(const char *command)
{
	fprintf(stderr, "Try 'doorward %s%s--help'.\n", command,
		command[0] != '\0' ? " " : "");
}

int
usage_error(const char *command, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	if (fmt != NULL) {
		va_start(ap, fmt);
		if (vasprintf(&text, fmt, ap) == -1)
			text = xstrdup("wrong usage");
		va_end(ap);
		warnf("%s%s%s", command, command[0] != '\0' ? ": " : "", text);
		free(text);
	}
	where_help_is(command);
	return EXIT_USAGE;
}

int
usage_unknown(const char *command, const char *word, const char *const *list)
{
	const char *near = suggest(word, strlen(word), list);

	if (near != NULL)
		return usage_error(command,
				   "unknown command \"%s\"; did you mean "
				   "\"%s\"?",
				   cmd_shown(word), near);
	return usage_error(command, "unknown command \"%s\"", cmd_shown(word));
}
