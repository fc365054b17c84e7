/*
 * doorward: one program, many commands.  This file finds the command; it
 * runs as the user and owns nothing.
 */
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "cmds.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help; /* NULL: not built yet */
} commands[] = {
    {"run", cmd_run, "stand between a client and a server"},
    {"policy", cmd_policy, "check a policy file"},
    {"reload", cmd_reload, "make running sessions read their policy again"},
    {"demo", cmd_demo, "a demonstration on a server of our own"},
    {"doctor", cmd_doctor, "what is set up here, and what is missing"},
    {"version", cmd_version, "the version"},
    {"init", NULL, NULL},
    {"undo", NULL, NULL},
    {"approve", NULL, NULL},
    {"deny", NULL, NULL},
    {"pending", NULL, NULL},
    {"trust", NULL, NULL},
    {"web", NULL, NULL},
    {"said", NULL, NULL},
    {"pause", NULL, NULL},
    {"resume", NULL, NULL},
    {"why", NULL, NULL},
    {"audit", NULL, NULL},
    {"report", NULL, NULL},
    {"receipts", NULL, NULL},
    {"packs", NULL, NULL},
    {"pins", NULL, NULL},
    {"ledger", NULL, NULL},
    {"serve", NULL, NULL},
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static int
usage(FILE *f)
{
	size_t i;

	fprintf(f, "usage: doorward COMMAND [options]\n\n"
		   "A supervisor for MCP servers: judges every tool call by "
		   "rules and leaves\nevidence of each verdict.\n\n");
	for (i = 0; i < COMMANDS; i++)
		if (commands[i].run != NULL)
			fprintf(f, "  %-8s  %s\n", commands[i].name,
				commands[i].help);
	fprintf(f, "\n'doorward COMMAND --help' says more, doorward(1) and "
		   "doorward(7) say all.\n");
	return f == stdout ? EXIT_OK : EXIT_USAGE;
}

int
main(int argc, char **argv)
{
	size_t i;

	if (argc < 2)
		return usage(stderr);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0)
		return usage(stdout);
	if (strcmp(argv[1], "--version") == 0)
		return cmd_version(1, argv + 1);
	if (sodium_init() == -1) {
		fprintf(stderr, "doorward: no source of randomness\n");
		return EXIT_FINDING;
	}
	for (i = 0; i < COMMANDS; i++) {
		if (strcmp(argv[1], commands[i].name) != 0)
			continue;
		if (commands[i].run != NULL)
			return commands[i].run(argc - 1, argv + 1);
		fprintf(stderr, "doorward: %s is not built yet\n", argv[1]);
		return EXIT_USAGE;
	}
	fprintf(stderr, "doorward: unknown command \"%s\"\n", argv[1]);
	fprintf(stderr, "Try 'doorward --help'.\n");
	return EXIT_USAGE;
}
