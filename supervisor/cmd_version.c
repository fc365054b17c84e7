/*
 * `doorward version`: runs as the user, touches nothing.
 */
#include <stdio.h>
#include <string.h>

#include "proto/frames.h"

#include "cmds.h"

int
cmd_version(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--help") == 0) {
		printf("usage: doorward version\n\n"
		       "Prints the version, and that of the frames between "
		       "monitor and relays.\n");
		return EXIT_OK;
	}
	if (argc > 1) {
		fprintf(stderr, "usage: doorward version\n");
		return EXIT_USAGE;
	}
	printf("doorward %s (frames %u)\n", DW_VERSION, FRAME_PROTOCOL);
	return EXIT_OK;
}
