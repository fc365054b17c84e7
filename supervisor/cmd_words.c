/*
 * What the commands that read a policy have in common.  Runs as the user, in
 * a process of its own, and owns nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/log.h"
#include "proto/text.h"

#include "policy.h"

#include "cmd_words.h"
#include "cmds.h"

const char *
cmd_shown(const char *text)
{
	static char out[4][512];
	static unsigned turn;
	char *p = out[turn++ % 4];

	text_visible(text, strlen(text), p, sizeof(out[0]));
	return p;
}

const char *
cmd_option(const char *name, int argc, char **argv, int *i)
{
	const char *word = argv[*i];
	size_t len = strlen(name);

	if (strncmp(word, name, len) != 0)
		return NULL;
	if (word[len] == '=')
		return word + len + 1;
	if (word[len] != '\0' || *i + 1 >= argc)
		return NULL;
	return argv[++*i];
}

int
cmd_complain(struct policy_error *err)
{
	char *text = policy_error_format(err);

	warnf("%s", text);
	free(text);
	policy_error_clear(err);
	return EXIT_USAGE;
}
