/*
 * `doorward version`: runs as the user, touches nothing.
 */
#include <getopt.h>
#include <stdio.h>

#include "proto/frames.h"

#include "cmd_words.h"
#include "cmds.h"
#include "usage.h"

static const char usage_version[] =
    "usage: doorward version [--state DIR]\n\n"
    "Prints the version, and that of the frames between monitor "
    "and relays.\n";

int
cmd_version(int argc, char **argv)
{
	/* --state is every command's; here it changes nothing. */
	static const struct option options[] = {
	    {"state", required_argument, NULL, 's'},
	    {"help", no_argument, NULL, 'h'},
	    {NULL, 0, NULL, 0}};
	int c;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (c == 's')
			continue;
		if (c != 'h')
			return usage_error("version", NULL);
		fputs(usage_version, stdout);
		return EXIT_OK;
	}
	if (optind != argc)
		return usage_error("version", "unexpected argument \"%s\"",
				   cmd_shown(argv[optind]));
	printf("doorward %s (frames %u)\n", DW_VERSION, FRAME_PROTOCOL);
	return EXIT_OK;
}
