/*
 * `doorward version`: runs as the user, touches nothing.
 */
#include <getopt.h>
#include <stdio.h>

#include "proto/frames.h"
#include "proto/log.h"

#include "cmds.h"

static void
usage(FILE *f)
{
	fprintf(f, "usage: doorward version [--state DIR]\n\n"
		   "Prints the version, and that of the frames between monitor "
		   "and relays.\n");
}

int
cmd_version(int argc, char **argv)
{
	/* --state is every command's; here it changes nothing. */
	static const struct option options[] = {
	    {"state", required_argument, NULL, 's'},
	    {"help", no_argument, NULL, 'h'},
	    {NULL, 0, NULL, 0}};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 's')
			continue;
		usage(c == 'h' ? stdout : stderr);
		return c == 'h' ? EXIT_OK : EXIT_USAGE;
	}
	if (optind != argc) {
		warnf("version: unexpected argument \"%s\"", argv[optind]);
		usage(stderr);
		return EXIT_USAGE;
	}
	printf("doorward %s (frames %u)\n", DW_VERSION, FRAME_PROTOCOL);
	return EXIT_OK;
}
