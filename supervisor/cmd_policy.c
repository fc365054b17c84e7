/*
 * doorward policy: reads policy files and says what is in them.  Runs as the
 * user, in a process of its own, with the user's privilege; owns nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/log.h"
#include "proto/text.h"

#include "policy.h"

#include "cmd_words.h"
#include "cmds.h"
#include "paths.h"

static const char usage_policy[] =
    "usage: doorward policy check [FILE...]\n"
    "       doorward policy explain [--policy FILE]... TOOL [-- COMMAND...]\n"
    "       doorward policy test [--policy FILE]... FILE...\n"
    "\n"
    "  check    read policy files, say what is in them and what is wrong\n"
    "  explain  say what applies to a tool, from which file and line\n"
    "  test     run cases with expected verdicts\n"
    "\n"
    "suggest is not built yet.  See doorward-policy(1).\n";

static const char usage_check[] =
    "usage: doorward policy check [--state DIR] [FILE...]\n"
    "\n"
    "Reads the FILEs as \"doorward run --policy FILE...\" would, later ones "
    "on\n"
    "top of earlier ones; without FILE the default policy.  Prints for each\n"
    "its format, rules, entries, mode and default action, then the packs in\n"
    "force and warnings, then \"ok\".\n"
    "\n"
    "  --state DIR   taken as by every command, without effect\n"
    "\n"
    "Exit status: 0 fine, 2 a mistake.  See doorward-policy(1) and\n"
    "doorward.yaml(5).\n";

static const char *
format_text(enum policy_format f)
{
	switch (f) {
	case FORMAT_OWN:
		return "Doorward's own format";
	case FORMAT_GUARD:
		return "MCP Guard's format";
	case FORMAT_PACK:
		return "a pack";
	case FORMAT_BOUNCER:
		break;
	}
	return "Bouncer's format";
}

/* The word that the file has for it. */
static const char *
action_text(enum policy_action a)
{
	return a == ACTION_ASK ? "require_approval" : policy_action_name(a);
}

static void
print_counts(size_t rules, size_t entries)
{
	printf("%zu rule%s, %zu entr%s, ", rules, rules == 1 ? "" : "s",
	       entries, entries == 1 ? "y" : "ies");
}

static void
print_packs(const struct policy *p)
{
	size_t i, n = policy_pack_count(p);
	char name[128];

	printf("packs: ");
	for (i = 0; i < n; i++) {
		text_visible(policy_pack(p, i)->name,
			     strlen(policy_pack(p, i)->name), name,
			     sizeof(name));
		printf("%s%s", i > 0 ? ", " : "", name);
	}
	printf("%s; fallback: %s\n", n == 0 ? "none" : "",
	       policy_get_packs(p) == PACKS_NONE ? "off" : "on");
}

static void
print_file(const struct policy_file_info *f)
{
	char name[1024];

	text_visible(f->name, strlen(f->name), name, sizeof(name));
	printf("%s: %s, ", name, format_text(f->format));
	print_counts(f->rules, f->entries);
	if (f->has_mode)
		printf("mode %s, ", policy_mode_name(f->mode));
	else
		printf("no mode, ");
	if (f->has_default_action)
		printf("default action %s\n", action_text(f->default_action));
	else
		printf("no default action\n");
}

static void
print_policy(const struct policy *p)
{
	char warning[2048];
	size_t i;

	for (i = 0; i < policy_file_count(p); i++)
		print_file(policy_file_info(p, i));
	printf("in force: ");
	print_counts(policy_rule_count(p), policy_entry_count(p));
	printf("mode %s, default action %s\n",
	       policy_mode_name(policy_get_mode(p)),
	       action_text(policy_get_default_action(p)));
	print_packs(p);
	for (i = 0; i < policy_warning_count(p); i++) {
		text_visible(policy_warning(p, i), strlen(policy_warning(p, i)),
			     warning, sizeof(warning));
		printf("warning: %s\n", warning);
	}
	printf("ok\n");
}

/*
 * One mistake of each file; returns how many files have one.  What a file
 * needs of those below it is seen when all are read together.
 */
static size_t
check_each(const char *const *files, size_t n, const char *packs)
{
	struct policy_error err;
	struct policy *p;
	size_t i, bad = 0;

	for (i = 0; i < n; i++) {
		p = policy_load(&files[i], 1, packs, &err);
		if (p == NULL && !err.layered) {
			cmd_complain(&err);
			bad++;
		}
		policy_error_clear(&err);
		policy_free(p);
	}
	return bad;
}

static int
check_files(const char *const *files, size_t n, const char *packs)
{
	struct policy_error err;
	struct policy *p;

	if (check_each(files, n, packs) > 0)
		return EXIT_USAGE;
	p = policy_load(files, n, packs, &err);
	if (p == NULL)
		return cmd_complain(&err);
	policy_lint(p);
	print_policy(p);
	policy_free(p);
	if (fflush(stdout) != 0) {
		warnf("standard output cannot be written");
		return EXIT_FINDING;
	}
	return EXIT_OK;
}

static int
check_default(void)
{
	char *file = paths_default_policy(), *packs = paths_packs();
	const char *files[] = {file};
	int result;

	if (paths_policy_exists(file)) {
		result = check_files(files, 1, packs);
	} else {
		printf("%s: there is none, so the built-in defaults hold\n",
		       file);
		result = check_files(NULL, 0, packs);
	}
	free(packs);
	free(file);
	return result;
}

static int
usage_error(const char *what, const char *arg)
{
	warnf("policy: %s \"%s\"; see doorward policy --help", what, arg);
	return EXIT_USAGE;
}

static int
cmd_check(int argc, char **argv)
{
	char *packs;
	int i, result;

	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--") == 0) {
			i++;
			break;
		}
		if (strcmp(argv[i], "--help") == 0) {
			fputs(usage_check, stdout);
			return EXIT_OK;
		}
		/* Every command takes it; a policy needs no state. */
		if (strncmp(argv[i], "--state=", 8) == 0)
			continue;
		if (strcmp(argv[i], "--state") == 0 && i + 1 < argc) {
			i++;
			continue;
		}
		return usage_error("unknown option", argv[i]);
	}
	if (i == argc)
		return check_default();
	packs = paths_packs();
	result = check_files((const char *const *)argv + i, (size_t)(argc - i),
			     packs);
	free(packs);
	return result;
}

int
cmd_policy(int argc, char **argv)
{
	if (argc < 2) {
		fputs(usage_policy, stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		fputs(usage_policy, stdout);
		return EXIT_OK;
	}
	if (strcmp(argv[1], "check") == 0)
		return cmd_check(argc - 1, argv + 1);
	if (strcmp(argv[1], "explain") == 0)
		return cmd_policy_explain(argc - 1, argv + 1);
	if (strcmp(argv[1], "test") == 0)
		return cmd_policy_test(argc - 1, argv + 1);
	if (strcmp(argv[1], "suggest") == 0) {
		warnf("policy suggest is not built yet; this version has "
		      "check, explain and test");
		return EXIT_USAGE;
	}
	return usage_error("unknown command", argv[1]);
}
