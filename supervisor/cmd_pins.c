/*
 * doorward pins: what is pinned, what waits, and a person's word on it.  Runs
 * as the user, in a process of its own; changes files of pins only after a
 * yes at the terminal.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/alloc.h"
#include "proto/buf.h"
#include "proto/log.h"

#include "cmd_words.h"
#include "cmds.h"
#include "paths.h"
#include "pins_decide.h"
#include "pins_model.h"
#include "pins_show.h"
#include "tty.h"
#include "usage.h"

struct pins_options {
	const char *state, *server, *package;
	int json;
	char **tools; /* words behind the server's name */
	size_t n;
};

struct pins_command {
	const char *name;
	const char *takes; /* letters of its options */
	int words;         /* whether it takes words: a server's name, tools */
	int (*run)(const struct pins_options *o, const char *state);
	const char *usage;
};

#define OPTIONS_HELP                                   \
	"  --state DIR     state directory (default: " \
	"~/.local/state/doorward)\n"                   \
	"  --help          this text\n"
#define PACKAGE_HELP "  --package PKG   of two servers of one name, this one\n"

static void
complain(const struct pins_list *l)
{
	size_t i;

	for (i = 0; i < l->nfaults; i++)
		warnf("pins: %s", l->faults[i]);
	if (l->nfaults > 0)
		warnf("pins: the calls of such a server are denied until that "
		      "is put right; to remove a damaged file forgets its "
		      "pins");
}

static void
print(struct buf *b)
{
	fwrite(buf_head(b), 1, buf_used(b), stdout);
	buf_free(b);
}

static int
list(const struct pins_options *o, const char *state)
{
	struct buf b = BUF_INIT;
	struct pins_list l;
	int r;

	pins_list_read(&l, state);
	complain(&l);
	if (o->json)
		show_list_json(&b, &l);
	else
		show_list(&b, &l);
	print(&b);
	r = l.nfaults == 0 ? EXIT_OK : EXIT_FINDING;
	pins_list_free(&l);
	return r;
}

static int
is_meant(const struct pins *p, const char *server, const char *package)
{
	char *s = token_of_name(server, strlen(server)), *k;
	int meant = strcmp(p->server, s) == 0;

	free(s);
	if (!meant || package == NULL)
		return meant;
	k = token_of_name(package, strlen(package));
	meant = strcmp(p->package, k) == 0;
	free(k);
	return meant;
}

/* Names that p knows nothing of; 1 if there is one. */
static int
unknown_tool(const char *command, const struct pins *p,
	     const struct pins_choice *c)
{
	const char *name = pins_choice_unknown(c, p);

	if (name != NULL)
		warnf("pins %s: nothing is pinned of a tool %s of %s", command,
		      name, p->server);
	return name != NULL;
}

static int
no_server(const char *command, const struct pins_list *l, const char *server)
{
	char *token = token_of_name(server, strlen(server));

	if (l->nfaults > 0)
		warnf("pins %s: of the pins that can be read, none are of a "
		      "server called %s",
		      command, token);
	else
		warnf("pins %s: there are no pins of a server called %s; see "
		      "doorward pins list",
		      command, token);
	free(token);
	return EXIT_FINDING;
}

/* One name, of whatever server is meant: of one at least it has to be. */
static int
any_knows(const struct pins_list *l, const struct pins_options *o, char *name)
{
	struct pins_choice one;
	size_t i;
	int known = 0;

	pins_choice_init(&one, &name, 1);
	for (i = 0; i < l->n && !known; i++)
		known = (o->server == NULL ||
			 is_meant(l->v[i], o->server, o->package)) &&
			pins_choice_unknown(&one, l->v[i]) == NULL;
	if (!known)
		warnf("pins diff: nothing is pinned of a tool %s",
		      one.names[0]);
	pins_choice_free(&one);
	return known;
}

static int
diff_all(const struct pins_list *l, const struct pins_options *o,
	 const struct pins_choice *c)
{
	struct buf b = BUF_INIT;
	size_t i, meant = 0, waiting = 0;
	int r = EXIT_OK;

	for (i = 0; i < l->n; i++) {
		if (o->server != NULL &&
		    !is_meant(l->v[i], o->server, o->package))
			continue;
		meant++;
		waiting += pins_waiting(l->v[i], c);
		show_waiting(&b, l->v[i], c);
	}
	if (o->server != NULL && meant == 0)
		return no_server("diff", l, o->server);
	for (i = 0; i < o->n; i++)
		if (!any_knows(l, o, o->tools[i]))
			r = EXIT_FINDING;
	if (waiting == 0 && r == EXIT_OK && l->nfaults == 0)
		buf_puts(&b, "nothing waits for a decision\n");
	print(&b);
	return waiting > 0 || l->nfaults > 0 ? EXIT_FINDING : r;
}

static int
diff(const struct pins_options *o, const char *state)
{
	struct pins_choice c;
	struct pins_list l;
	int r;

	if (o->package != NULL && o->server == NULL)
		return usage_error("pins diff",
				   "--package is of use with a server's name "
				   "only");
	pins_list_read(&l, state);
	pins_choice_init(&c, o->tools, o->n);
	complain(&l);
	r = diff_all(&l, o, &c);
	pins_choice_free(&c);
	pins_list_free(&l);
	return r;
}

/* The only server that is meant, or NULL with *r. */
static const struct pins *
the_one(const struct pins_list *l, const char *command,
	const struct pins_options *o, int *r)
{
	const struct pins *p = NULL;
	size_t i, n = 0;

	for (i = 0; i < l->n; i++) {
		if (!is_meant(l->v[i], o->server, o->package))
			continue;
		p = l->v[i];
		n++;
	}
	if (n == 1)
		return p;
	if (n == 0) {
		*r = no_server(command, l, o->server);
		return NULL;
	}
	warnf("pins %s: %zu servers are called %s; say which with --package",
	      command, n, p->server);
	for (i = 0; i < l->n; i++)
		if (is_meant(l->v[i], o->server, o->package))
			warnf("  --package %s", l->v[i]->package);
	*r = EXIT_USAGE;
	return NULL;
}

/* Shows and asks, both at the terminal: what the answer is to has to have
 * been before the person's eyes, wherever standard output goes. */
static int
agreed(const char *command, struct buf *shown, const char *question)
{
	int fd = tty_open(), yes;

	if (fd == -1) {
		warnf("pins %s: a person has to answer at a terminal, and "
		      "there is none: %s",
		      command, strerror(errno));
		buf_free(shown);
		return 0;
	}
	yes = tty_put(fd, buf_head(shown), buf_used(shown)) == 0 &&
	      tty_ask(fd, question);
	close(fd);
	buf_free(shown);
	if (!yes)
		warnf("pins %s: not agreed to, so nothing has changed",
		      command);
	return yes;
}

static int
accept_one(const struct pins *p, const struct pins_choice *c)
{
	const size_t n = pins_waiting(p, c);
	struct buf b = BUF_INIT;
	char *why;

	if (unknown_tool("accept", p, c))
		return EXIT_FINDING;
	if (n == 0) {
		printf("nothing waits for a decision\n");
		return EXIT_OK;
	}
	show_waiting(&b, p, c);
	if (!agreed("accept", &b, "Accept these changes? [y/N] "))
		return EXIT_FINDING;
	if (pins_accept(p, c, &why) == -1) {
		warnf("pins accept: %s", why);
		free(why);
		return EXIT_FINDING;
	}
	printf("accepted %zu change%s of %s\n", n, n == 1 ? "" : "s",
	       p->server);
	return EXIT_OK;
}

static int
forget_one(const struct pins *p, const struct pins_choice *c)
{
	struct buf b = BUF_INIT;
	size_t i;
	char *why;

	if (unknown_tool("forget", p, c))
		return EXIT_FINDING;
	show_forgetting(&b, p, c);
	if (!agreed("forget", &b, "Forget these pins? [y/N] "))
		return EXIT_FINDING;
	if (pins_forget(p, c, &why) == -1) {
		warnf("pins forget: %s", why);
		free(why);
		return EXIT_FINDING;
	}
	if (c->n == 0)
		printf("forgotten: all pins of %s\n", p->server);
	for (i = 0; i < c->n; i++)
		printf("forgotten: %s of %s\n", c->names[i], p->server);
	return EXIT_OK;
}

static int
decide(const char *command, const struct pins_options *o, const char *state,
       int (*one)(const struct pins *, const struct pins_choice *))
{
	const struct pins *p;
	struct pins_choice c;
	struct pins_list l;
	char *name;
	int r = EXIT_OK;

	if (o->server == NULL) {
		name = xasprintf("pins %s", command);
		r = usage_error(name, "whose pins? A server's NAME expected");
		free(name);
		return r;
	}
	pins_list_read(&l, state);
	pins_choice_init(&c, o->tools, o->n);
	complain(&l);
	p = the_one(&l, command, o, &r);
	if (p != NULL)
		r = one(p, &c);
	pins_choice_free(&c);
	pins_list_free(&l);
	return r;
}

static int
take(const struct pins_options *o, const char *state)
{
	return decide("accept", o, state, accept_one);
}

static int
forget(const struct pins_options *o, const char *state)
{
	return decide("forget", o, state, forget_one);
}

static const struct pins_command commands[] = {
    {"list", "sj", 0, list,
     "usage: doorward pins list [--json] [--state DIR]\n"
     "\n"
     "Prints what is pinned of each server, what waits for a decision, and\n"
     "which definitions hold characters that hide.\n"
     "\n"
     "  --json          for programs\n" OPTIONS_HELP "\n"
     "Exit status: 0 fine, 1 a file cannot be used, 2 usage.\n"},
    {"diff", "snp", 1, diff,
     "usage: doorward pins diff [--package PKG] [--state DIR] "
     "[NAME [TOOL...]]\n"
     "\n"
     "Prints what has changed since it was pinned, and what of it was\n"
     "widened: of all servers, of the server NAME, or of its TOOLs.\n"
     "\n"
     "  --server NAME   the server, if NAME looks like an option; words are "
     "TOOLs\n" PACKAGE_HELP OPTIONS_HELP "\n"
     "Exit status: 0 nothing waits for a decision, 1 something does or a "
     "file\ncannot be used, 2 usage.\n"},
    {"accept", "sp", 1, take,
     "usage: doorward pins accept [--package PKG] [--state DIR] NAME "
     "[TOOL...]\n"
     "\n"
     "Shows what has changed of the server NAME and asks at the terminal\n"
     "whether it is to be trusted from now on: the TOOLs, or everything.\n"
     "\n" PACKAGE_HELP OPTIONS_HELP "\n"
     "Exit status: 0 accepted, or nothing to accept, 1 not, 2 usage.\n"},
    {"forget", "sp", 1, forget,
     "usage: doorward pins forget [--package PKG] [--state DIR] NAME "
     "[TOOL...]\n"
     "\n"
     "Asks at the terminal, and forgets the pins of the server NAME: of the\n"
     "TOOLs, or all.  What is forgotten is trusted as it is seen next.\n"
     "\n" PACKAGE_HELP OPTIONS_HELP "\n"
     "Exit status: 0 forgotten, 1 not, 2 usage.\n"},
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const char usage_pins[] =
    "usage: doorward pins list|diff|accept|forget [options]\n"
    "\n"
    "  list     what is pinned of each server\n"
    "  diff     what has changed since, and was widened\n"
    "  accept   trust what has changed, after a yes at the terminal\n"
    "  forget   trust what is seen next, after a yes at the terminal\n"
    "\n"
    "'doorward pins COMMAND --help' says more.  See doorward-pins(1).\n";

/* An option that other commands of pins take, and this one does not. */
static void
not_for_it(const struct pins_command *cmd, const char *option)
{
	if (strcmp(option, "server") == 0 && cmd->words)
		warnf("pins %s: --server is no option here, the name is a "
		      "word: doorward pins %s %s",
		      cmd->name, cmd->name, cmd_shown(optarg));
	else
		warnf("pins %s: --%s is no option here", cmd->name, option);
}

/* 1 run it, 0 its help was asked for, -1 usage. */
static int
read_options(const struct pins_command *cmd, int argc, char **argv,
	     struct pins_options *o)
{
	static const struct option options[] = {
	    {"state", required_argument, NULL, 's'},
	    {"json", no_argument, NULL, 'j'},
	    {"server", required_argument, NULL, 'n'},
	    {"package", required_argument, NULL, 'p'},
	    {"help", no_argument, NULL, 'h'},
	    {NULL, 0, NULL, 0}};
	int c, at = 0;

	while ((c = getopt_long(argc, argv, "h", options, &at)) != -1) {
		if (c == 'h')
			return 0;
		if (c == '?')
			return -1;
		if (strchr(cmd->takes, c) == NULL) {
			not_for_it(cmd, options[at].name);
			return -1;
		}
		if (c == 's')
			o->state = optarg;
		else if (c == 'n')
			o->server = optarg;
		else if (c == 'p')
			o->package = optarg;
		else
			o->json = 1;
	}
	if (optind < argc && !cmd->words) {
		warnf("pins %s: unexpected argument \"%s\"", cmd->name,
		      cmd_shown(argv[optind]));
		return -1;
	}
	if (optind < argc && o->server == NULL)
		o->server = argv[optind++];
	o->tools = argv + optind;
	o->n = (size_t)(argc - optind);
	return 1;
}

/* A directory that somebody named and that is not there is a slip, and no
 * place without pins. */
static int
is_there(const struct pins_command *cmd, const char *state)
{
	struct stat st;

	if (state == NULL || stat(state, &st) == 0)
		return 1;
	warnf("pins %s: --state: %s: %s", cmd->name, cmd_shown(state),
	      strerror(errno));
	return 0;
}

static int
run(const struct pins_command *cmd, int argc, char **argv)
{
	struct pins_options o = {.state = NULL};
	struct paths p;
	char *name = xasprintf("doorward: pins %s", cmd->name);
	int r;

	argv[0] = name; /* getopt's messages begin with it */
	r = read_options(cmd, argc, argv, &o);
	if (r == 0)
		fputs(cmd->usage, stdout);
	if (r == -1)
		usage_error(name + strlen("doorward: "), NULL);
	free(name);
	if (r <= 0)
		return r == 0 ? EXIT_OK : EXIT_USAGE;
	if (!is_there(cmd, o.state))
		return EXIT_FINDING;
	paths_guess(&p, o.state);
	r = cmd->run(&o, p.state);
	paths_free(&p);
	return r;
}

int
cmd_pins(int argc, char **argv)
{
	const char *names[COMMANDS + 1] = {NULL};
	size_t i;

	if (argc < 2)
		return usage_error("pins", "list, diff, accept or forget "
					   "expected");
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		fputs(usage_pins, stdout);
		return EXIT_OK;
	}
	for (i = 0; i < COMMANDS; i++) {
		if (strcmp(argv[1], commands[i].name) == 0)
			return run(&commands[i], argc - 1, argv + 1);
		names[i] = commands[i].name;
	}
	return usage_unknown("pins", argv[1], names);
}
