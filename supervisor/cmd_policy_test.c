/*
 * doorward policy test: judges calls that a file describes and compares the
 * verdicts with those that it expects.  Runs as the user, in a process of its
 * own; starts nothing, writes nothing, and asks the file system for links
 * alone.
 */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/log.h"

#include "policy.h"
#include "call.h"

#include "cases.h"
#include "cmd_words.h"
#include "cmds.h"
#include "paths.h"
#include "places.h"

static const char usage_test[] =
    "usage: doorward policy test [--policy FILE]... [--state DIR] FILE...\n"
    "\n"
    "Judges the calls in each FILE and prints those whose verdict is not the\n"
    "one expected, then \"N passed, N failed\".  A FILE has a list of cases:\n"
    "\n"
    "  cases:\n"
    "  - tool: write_file\n"
    "    arguments: {path: /etc/passwd}\n"
    "    expect: deny               # allow, ask or deny\n"
    "    contract: path             # these two only if they are given\n"
    "    rule: tools.write_file.allowed_path_prefixes\n"
    "\n"
    "and in a case, if need be, schema (the tool's inputSchema), cwd (the\n"
    "server's directory) and attempt (which call of this tool it is).\n"
    "\n"
    "  --policy FILE   as of doorward run; without, the default policy\n"
    "  --state DIR     the state directory, which no argument may lead into\n"
    "\n"
    "Exit status: 0 all passed, 1 some failed, 2 a mistake.\n"
    "See doorward-policy(1).\n";

struct test {
	const char *policies[POLICIES_MAX];
	size_t npolicies;
	const char *state;
	char *const *files;
	size_t nfiles;
	struct policy *policy;
	struct places places;
	size_t passed, failed;
};

static const char *
verdict_text(int action)
{
	return action == ACTION_BLOCK
		   ? "deny"
		   : policy_action_name((enum policy_action)action);
}

/* The finding that is named by the case, or NULL: any of the worst will do. */
static const struct finding *
find_expected(const struct one_case *c, const struct findings *f,
	      enum policy_action action)
{
	const struct finding *one;
	size_t i;

	for (i = 0; i < f->n; i++) {
		one = &f->v[i];
		if (one->action == action &&
		    (c->rule == NULL || strcmp(c->rule, one->rule) == 0) &&
		    (c->contract < 0 ||
		     (enum contract)c->contract == one->contract))
			return one;
	}
	return NULL;
}

static void
print_failure(const char *file, const struct one_case *c,
	      const struct findings *f)
{
	const struct finding *worst = findings_worst(f);
	size_t i;

	printf("%s:%zu: %s: expected %s", cmd_shown(file), c->line,
	       cmd_shown(c->tool), verdict_text(c->expect));
	if (c->contract >= 0)
		printf(" by %s", contract_name((enum contract)c->contract));
	if (c->rule != NULL)
		printf(" (rule %s)", cmd_shown(c->rule));
	printf(", found %s\n", verdict_text((int)worst->action));
	for (i = 0; i < f->n; i++)
		printf("\t%s by %s (rule %s)%s%s: %s\n",
		       verdict_text((int)f->v[i].action),
		       contract_name(f->v[i].contract), cmd_shown(f->v[i].rule),
		       f->v[i].param != NULL ? " at " : "",
		       f->v[i].param != NULL ? f->v[i].param : "",
		       f->v[i].reason);
}

static void
run_case(struct test *t, const char *file, const struct one_case *c)
{
	struct policy_places places = t->places.p;
	struct policy_call call = {c->tool, c->tool_len, c->args, c->attempt,
				   &places};
	struct findings f = {NULL, 0, 0};
	struct policy_view *v;
	const struct finding *worst;
	char *cwd = NULL;

	if (c->cwd != NULL) {
		cwd = realpath(c->cwd, NULL);
		places.cwd = cwd != NULL ? cwd : c->cwd;
	}
	v = policy_view_new(t->policy, c->tool, c->tool_len, c->schema, NULL);
	policy_judge(t->policy, v, &call, &f);
	worst = findings_worst(&f);
	if ((int)worst->action == c->expect &&
	    find_expected(c, &f, worst->action) != NULL) {
		t->passed++;
	} else {
		t->failed++;
		print_failure(file, c, &f);
	}
	findings_clear(&f);
	policy_view_free(v);
	free(cwd);
}

static int
run_file(struct test *t, const char *file)
{
	struct policy_error err;
	struct cases cases;
	size_t i;
	int result = 0;

	if (cases_read(&cases, file, &err) < 0)
		result = cmd_complain(&err);
	for (i = 0; result == 0 && i < cases.n; i++)
		run_case(t, file, &cases.v[i]);
	cases_free(&cases);
	return result;
}

static int
run_files(struct test *t)
{
	size_t i;
	int result = 0, one;

	for (i = 0; i < t->nfiles; i++) {
		one = run_file(t, t->files[i]);
		if (one != 0)
			result = one;
	}
	printf("%zu passed, %zu failed\n", t->passed, t->failed);
	if (fflush(stdout) != 0) {
		warnf("standard output cannot be written");
		return result != 0 ? result : EXIT_FINDING;
	}
	if (result != 0)
		return result;
	return t->failed > 0 ? EXIT_FINDING : EXIT_OK;
}

static int
load_and_run(struct test *t)
{
	char *packs = paths_packs(), *dflt = paths_default_policy();
	struct policy_error err;
	struct paths paths;
	int result;

	if (t->npolicies == 0 && paths_policy_exists(dflt))
		t->policies[t->npolicies++] = dflt;
	t->policy = policy_load(t->policies, t->npolicies, packs, &err);
	if (t->policy == NULL) {
		result = cmd_complain(&err);
	} else {
		paths_guess(&paths, t->state);
		places_init(&t->places, paths.state, paths.run, packs,
			    t->policies, t->npolicies);
		result = run_files(t);
		places_free(&t->places);
		paths_free(&paths);
	}
	policy_free(t->policy);
	free(dflt);
	free(packs);
	return result;
}

static int
usage_error(const char *what, const char *arg)
{
	warnf("policy test: %s \"%s\"; see doorward policy test --help", what,
	      cmd_shown(arg));
	return EXIT_USAGE;
}

static int
take_option(struct test *t, int argc, char **argv, int *i)
{
	const char *word = argv[*i], *value;

	value = cmd_option("--policy", argc, argv, i);
	if (value != NULL) {
		if (t->npolicies == POLICIES_MAX)
			return usage_error("too many policies at", value);
		t->policies[t->npolicies++] = value;
		return 0;
	}
	value = cmd_option("--state", argc, argv, i);
	if (value != NULL) {
		t->state = value;
		return 0;
	}
	if (strcmp(word, "--policy") == 0 || strcmp(word, "--state") == 0)
		return usage_error("nothing after", word);
	return usage_error("unknown option", word);
}

int
cmd_policy_test(int argc, char **argv)
{
	struct test t;
	int i, j, ended = 0, result;

	memset(&t, 0, sizeof(t));
	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--") == 0) {
			ended = 1;
			i++;
			break;
		}
		if (strcmp(argv[i], "--help") == 0) {
			fputs(usage_test, stdout);
			return EXIT_OK;
		}
		result = take_option(&t, argc, argv, &i);
		if (result != 0)
			return result;
	}
	if (i == argc) {
		fputs(usage_test, stderr);
		return EXIT_USAGE;
	}
	/* Judged by another policy than was meant, cases say nothing. */
	for (j = i; !ended && j < argc; j++) {
		if (argv[j][0] != '-')
			continue;
		warnf("policy test: options come before the files: \"%s\"; "
		      "see doorward policy test --help",
		      argv[j]);
		return EXIT_USAGE;
	}
	t.files = argv + i;
	t.nfiles = (size_t)(argc - i);
	return load_and_run(&t);
}
