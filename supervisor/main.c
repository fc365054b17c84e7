/*
 * doorward: one program, many commands.  This file finds the command; it
 * runs as the user and owns nothing.
 */
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "cmd_words.h"
#include "cmds.h"
#include "usage.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help; /* NULL: not built yet */
} commands[] = {
    {"run", cmd_run, "stand between a client and a server"},
    {"policy", cmd_policy, "check, explain and test policies"},
    {"packs", cmd_packs, "what is known of common servers' tools"},
    {"pins", cmd_pins, "what is trusted of servers, and what has changed"},
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
    {"ledger", NULL, NULL},
    {"serve", NULL, NULL},
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct command *
find(const char *name)
{
	size_t i;

	for (i = 0; i < COMMANDS; i++)
		if (strcmp(name, commands[i].name) == 0)
			return &commands[i];
	return NULL;
}

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

#ifdef DOORWARD_SANITIZE
/* A leak check would want to stop the process, which a confined one may not. */
const char *__asan_default_options(void);
const char *
__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

/* What went to stdout has to have arrived, or the command has failed. */
static int
finish(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	fprintf(stderr, "doorward: cannot write to standard output\n");
	return status == EXIT_OK ? EXIT_FINDING : status;
}

static int
start(const struct command *c, int argc, char **argv)
{
	static char name[64];

	/* getopt's messages begin with argv[0]. */
	snprintf(name, sizeof(name), "doorward: %s", c->name);
	argv[0] = name;
	return finish(c->run(argc, argv));
}

static int
unknown(const char *name)
{
	const char *names[COMMANDS + 1] = {NULL};
	size_t i, n = 0;

	for (i = 0; i < COMMANDS; i++)
		if (commands[i].run != NULL)
			names[n++] = commands[i].name;
	return usage_unknown("", name, names);
}

/* "help COMMAND [SUBCOMMAND]" is "COMMAND [SUBCOMMAND] --help". */
static int
help(int argc, char **argv)
{
	static char word[] = "--help";
	char *words[4] = {NULL};
	const struct command *c;

	if (argc < 2)
		return finish(usage(stdout));
	if (argc > 3)
		return usage_error("", "help: unexpected argument \"%s\"",
				   cmd_shown(argv[3]));
	c = find(argv[1]);
	if (c == NULL || c->run == NULL)
		return c == NULL
			   ? unknown(argv[1])
			   : usage_error("", "%s is not built yet", c->name);
	words[0] = argv[1];
	words[1] = argc == 3 ? argv[2] : word;
	words[2] = argc == 3 ? word : NULL;
	return start(c, argc, words);
}

int
main(int argc, char **argv)
{
	const struct command *c;

	if (argc < 2)
		return usage(stderr);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return finish(usage(stdout));
	if (strcmp(argv[1], "--version") == 0)
		return finish(cmd_version(1, argv + 1));
	if (sodium_init() == -1) {
		fprintf(stderr, "doorward: no source of randomness\n");
		return EXIT_FINDING;
	}
	if (strcmp(argv[1], "help") == 0)
		return help(argc - 1, argv + 1);
	c = find(argv[1]);
	if (c != NULL && c->run != NULL)
		return start(c, argc - 1, argv + 1);
	if (c != NULL)
		return usage_error("", "%s is not built yet", c->name);
	return unknown(argv[1]);
}
