/*
 * `doorward demo`: a helpdesk server with real side effects, an agent that
 * has been fooled, and a policy.  Runs as the user, unconfined; starts this
 * very program as `doorward run` once a round and plays the client.  It owns
 * one temporary directory, and believes the disk rather than any answer:
 * exit 1 if something that the policy forbids left a trace, or something
 * that it allows did not.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/alloc.h"
#include "proto/log.h"

#include "cmd_words.h"
#include "cmds.h"
#include "demo.h"
#include "demo_agent.h"
#include "demo_desk.h"
#include "paths.h"
#include "usage.h"

static void
on_signal(int sig)
{
	(void)sig;
	demo_interrupted = 1;
}

/* Makes the server's directory, or puts the update into it; and the policy.
 * 0, or -1 with errno. */
static int
prepare(const struct demo *d, const struct demo_round *r, const char *desk)
{
	char *own = xasprintf("%s/%s.yaml", d->dir, r->desk);
	char *update = xasprintf("%s/" DEMO_UPDATE, desk);
	char *policy =
	    demo_fill(d->policy != NULL ? d->policy : demo_policy, desk);
	int done;

	if (r->update != NULL)
		done = desk_write(update, r->update);
	else
		done = mkdir(desk, 0700) == 0 ? desk_write(own, policy) : -1;
	free(policy);
	free(update);
	free(own);
	return done;
}

/* 0, or -1 if the session could not be played to its end. */
static int
one_round(struct demo *d, const struct demo_round *r)
{
	char *desk = xasprintf("%s/%s", d->dir, r->desk);
	int played = -1;

	printf("\n%s\n", r->title);
	if (prepare(d, r, desk) != 0)
		demo_failed(d, "%s: %s", desk, strerror(errno));
	else
		played = demo_play(d, r, desk);
	if (played == 0) {
		if (r->update != NULL)
			demo_diff(d, r);
		printf("What the disk says:\n");
		r->look(d, desk);
		demo_look_audit(d, r);
	}
	free(desk);
	return demo_interrupted ? -1 : played;
}

static int
make_place(struct demo *d)
{
	const char *base = d->state != NULL ? d->state : getenv("TMPDIR");

	if (base == NULL || base[0] != '/')
		base = "/tmp";
	d->dir = xasprintf("%s/doorward-demo.XXXXXX", base);
	if (mkdtemp(d->dir) == NULL) {
		warnf("demo: %s: %s", d->dir, strerror(errno));
		free(d->dir);
		d->dir = NULL;
		return -1;
	}
	return 0;
}

/* Reads --policy, following links as doorward run does.  0, or -1. */
static int
read_policy(struct demo *d)
{
	char *path;
	size_t len = 0;

	if (d->policy_file == NULL)
		return 0;
	path = realpath(d->policy_file, NULL);
	if (path != NULL)
		d->policy = desk_read(path, &len);
	free(path);
	if (d->policy == NULL) {
		warnf("demo: %s: %s", d->policy_file, strerror(errno));
		return -1;
	}
	if (strlen(d->policy) != len) {
		warnf("demo: %s: there is a NUL in it", d->policy_file);
		return -1;
	}
	return 0;
}

static int
sum_up(const struct demo *d, int played)
{
	if (demo_interrupted) {
		printf("\ninterrupted\n");
		return 130;
	}
	if (!played) {
		printf("\nFAILED: it could not be played to its end.\n");
		return EXIT_FINDING;
	}
	if (d->failures > 0) {
		printf("\nFAILED: %d check%s did not hold.\n", d->failures,
		       d->failures == 1 ? "" : "s");
		return EXIT_FINDING;
	}
	printf("\nAll checks held: what was denied left no trace at the server,"
	       " what was\nallowed was done.\n");
	return EXIT_OK;
}

static int
run_demo(struct demo *d)
{
	size_t i;

	d->helpdesk = paths_program("doorward-helpdesk");
	if (d->helpdesk == NULL || access(d->helpdesk, X_OK) != 0) {
		warnf("demo: the helpdesk server is not at %s",
		      d->helpdesk != NULL ? d->helpdesk : "its place");
		return EXIT_FINDING;
	}
	if (read_policy(d) != 0 || make_place(d) != 0)
		return EXIT_FINDING;
	printf("A helpdesk server with real effects, in %s.\n"
	       "Ticket t-2 fools the agent; Doorward judges its calls.\n",
	       d->dir);
	if (d->policy_file != NULL)
		printf("The policy is %s, the expectations are the"
		       " demonstration's.\n",
		       d->policy_file);
	else
		printf("%s", demo_policy_told);
	for (i = 0; i < DEMO_ROUNDS; i++)
		if (one_round(d, &demo_rounds[i]) != 0)
			break;
	return sum_up(d, i == DEMO_ROUNDS);
}

static void
usage(void)
{
	printf("usage: doorward demo [--keep] [--policy FILE] [--state DIR]\n"
	       "\n"
	       "Plays a fooled agent against a helpdesk server and looks at"
	       " what it did.\n"
	       "\n"
	       "  --keep         leave the temporary directory and say where"
	       " it is\n"
	       "  --policy FILE  judge by this policy; what it lets through"
	       " is a failure\n"
	       "  --state DIR    make the temporary directory in DIR, an"
	       " absolute path\n"
	       "  --help         this text\n");
}

/* Catches what ends a command at a terminal, so that nothing is left. */
static void
catch_signals(void)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = on_signal;
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* -1 to go on, or the exit status. */
static int
read_options(int argc, char **argv, struct demo *d, int *keep)
{
	static const struct option options[] = {
	    {"keep", no_argument, NULL, 'k'},
	    {"policy", required_argument, NULL, 'p'},
	    {"state", required_argument, NULL, 's'},
	    {"help", no_argument, NULL, 'h'},
	    {NULL, 0, NULL, 0}};
	int c;

	optind = 0;
	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (c == 'h') {
			usage();
			return EXIT_OK;
		}
		if (c == 'k') {
			*keep = 1;
		} else if (c == 'p') {
			d->policy_file = optarg;
		} else if (c == 's') {
			d->state = optarg;
		} else {
			return usage_error("demo", NULL);
		}
	}
	if (optind < argc)
		return usage_error("demo", "unexpected argument \"%s\"",
				   cmd_shown(argv[optind]));
	if (d->state != NULL && d->state[0] != '/')
		return usage_error("demo",
				   "--state: an absolute path expected, not "
				   "\"%s\"",
				   cmd_shown(d->state));
	return -1;
}

int
cmd_demo(int argc, char **argv)
{
	struct demo d = {0};
	int keep = 0, status = read_options(argc, argv, &d, &keep);

	if (status != -1)
		return status;
	setvbuf(stdout, NULL, _IOLBF, 0);
	d.colour = isatty(1) && getenv("NO_COLOR") == NULL;
	catch_signals();
	status = run_demo(&d);
	if (d.dir != NULL && keep)
		printf("kept: %s\n", d.dir);
	else if (d.dir != NULL && desk_remove(d.dir) != 0)
		warnf("demo: cannot remove %s: %s", d.dir, strerror(errno));
	free(d.dir);
	free(d.helpdesk);
	free(d.policy);
	if ((fflush(stdout) != 0 || ferror(stdout)) && status == EXIT_OK)
		status = EXIT_FINDING;
	return status;
}
