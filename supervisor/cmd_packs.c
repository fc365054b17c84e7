/*
 * doorward packs: what the built-in packs say, and whether it is still true of
 * a server.  Runs as the user, in a process of its own, with the user's
 * privilege; owns nothing but, for verify, a server while it is looked at.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"
#include "proto/log.h"

#include "policy.h"
#include "entry.h"
#include "pack_info.h"
#include "suggest.h"

#include "cmd_words.h"
#include "cmds.h"
#include "pack_check.h"
#include "paths.h"
#include "probe.h"
#include "usage.h"

static const char usage_packs[] =
    "usage: doorward packs list\n"
    "       doorward packs show NAME [TOOL]\n"
    "       doorward packs verify [NAME] -- COMMAND [ARG...]\n"
    "\n"
    "What Doorward knows of the tools of common servers, without a policy.\n"
    "\n"
    "  list      the packs, their servers and the versions checked\n"
    "  show      what a pack says of each tool\n"
    "  verify    compare a pack with what a server lists\n"
    "\n"
    "Every command takes --state DIR.  See doorward-packs(1) and\n"
    "doorward-packs(5).\n";

static const char usage_list[] =
    "usage: doorward packs list [--state DIR]\n"
    "\n"
    "Prints for each pack its name, how many tools it speaks of, what it is "
    "for,\nthe packages that it knows by name, and the versions that it was "
    "compared\nwith.\n";

static const char usage_show[] =
    "usage: doorward packs show [--state DIR] NAME [TOOL]\n"
    "\n"
    "Prints what the pack NAME says of each of its tools, or of TOOL alone.\n";

static const char usage_verify[] =
    "usage: doorward packs verify [--state DIR] [NAME] -- COMMAND [ARG...]\n"
    "\n"
    "Starts the server COMMAND, asks it for its tools, ends it, and compares "
    "them\nwith the pack NAME; without NAME with the pack that knows the "
    "package in\nCOMMAND.  No tool is called.\n"
    "\n"
    "Exit status: 0 no difference, 1 differences or no list of tools, 2 "
    "usage.\n";

/* All packs that are there, in force or not; NULL after a message. */
static struct policy *
load_packs(void)
{
	struct policy_error err = {0};
	char *dir = paths_packs();
	struct policy *p = policy_load(NULL, 0, dir, &err);

	if (p == NULL)
		cmd_complain(&err);
	free(dir);
	return p;
}

/*
 * Options of a subcommand: where its words begin, or -1 with *status set for
 * the caller to return.
 */
static int
options(const char *command, int argc, char **argv, const char *usage,
	int *status)
{
	int i;

	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--") == 0)
			return i;
		if (strcmp(argv[i], "--help") == 0 ||
		    strcmp(argv[i], "-h") == 0) {
			fputs(usage, stdout);
			*status = EXIT_OK;
			return -1;
		}
		/* Every command takes it; packs need no state. */
		if (strncmp(argv[i], "--state=", 8) == 0)
			continue;
		if (strcmp(argv[i], "--state") == 0 && i + 1 < argc) {
			i++;
			continue;
		}
		*status = usage_error(command, "unknown option \"%s\"",
				      cmd_shown(argv[i]));
		return -1;
	}
	return i;
}

/* The pack's number, or -1 after a message. */
static long
find_pack(const struct policy *p, const char *name)
{
	size_t n = policy_pack_count(p), i = policy_pack_named(p, name);
	const char **names, *near;

	if (i < n)
		return (long)i;
	names = xcalloc(n + 1, sizeof(*names));
	for (i = 0; i < n; i++)
		names[i] = policy_pack(p, i)->name;
	near = suggest(name, strlen(name), names);
	if (near != NULL)
		warnf("there is no pack \"%s\"; did you mean \"%s\"?",
		      cmd_shown(name), near);
	else
		warnf("there is no pack \"%s\"; see doorward packs list",
		      cmd_shown(name));
	free(names);
	return -1;
}

/* ---- list ---- */

static void
print_head(const struct policy_pack_info *k, const char *indent)
{
	size_t i;

	for (i = 0; i < k->match_count; i++)
		printf("%s%s", i == 0 ? indent : ", ", cmd_shown(k->match[i]));
	if (k->match_count > 0)
		putchar('\n');
	for (i = 0; i < k->checked_count; i++)
		printf("%s%s%s %s", i == 0 ? indent : "",
		       i == 0 ? "checked with " : ", ",
		       cmd_shown(k->checked[i].package),
		       cmd_shown(k->checked[i].version));
	if (k->checked_count > 0)
		putchar('\n');
}

static int
cmd_list(int argc, char **argv)
{
	const struct policy_pack_info *k;
	struct policy *p;
	int at, status = 0;
	size_t i;

	at = options("packs list", argc, argv, usage_list, &status);
	if (at < 0)
		return status;
	if (at < argc)
		return usage_error("packs list", "unexpected argument \"%s\"",
				   cmd_shown(argv[at]));
	p = load_packs();
	if (p == NULL)
		return EXIT_USAGE;
	for (i = 0; i < policy_pack_count(p); i++) {
		k = policy_pack(p, i);
		printf("%-14s%4zu tool%s  %s\n", cmd_shown(k->name), k->entries,
		       k->entries == 1 ? " " : "s", cmd_shown(k->about));
		print_head(k, "              ");
	}
	policy_free(p);
	return EXIT_OK;
}

/* ---- show ---- */

static const char *
kind_text(enum sink_kind kind)
{
	switch (kind) {
	case SINK_ADDRESS:
		return " (address)";
	case SINK_CONTAINER:
		return " (container)";
	case SINK_LINK:
		return " (link)";
	case SINK_OPAQUE:
		return " (opaque)";
	case SINK_BY_VALUE:
		break;
	}
	return "";
}

static void
print_label(const char *label)
{
	printf("  %-14s", label);
}

static void
print_list(const char *label, const struct strings *s)
{
	size_t i;

	if (s->n == 0)
		return;
	print_label(label);
	for (i = 0; i < s->n; i++)
		printf("%s%s", i > 0 ? ", " : "", cmd_shown(s->v[i]));
	putchar('\n');
}

static void
print_on(const struct entry *e, enum entry_key k, enum policy_action a)
{
	if (!entry_has(e, k))
		return;
	print_label(entry_key_name(k));
	printf("%s\n", a == ACTION_BLOCK ? "deny" : "ask");
}

static void
print_sinks(const struct entry *e)
{
	size_t i;

	if (!e->exfiltrating)
		return;
	print_label("sends to");
	for (i = 0; i < e->nsinks; i++)
		printf("%s%s%s", i > 0 ? ", " : "",
		       cmd_shown(e->sinks[i].param),
		       kind_text(e->sinks[i].kind));
	if (e->nsinks == 0)
		printf("any argument");
	printf("%s\n", e->sinks_optional ? "; may be absent" : "");
	print_list("trusted", &e->trusted);
	print_on(e, KEY_ON_TAINTED, e->on_tainted);
	print_on(e, KEY_ON_NAMED, e->on_named);
	print_on(e, KEY_ON_UNPROVEN, e->on_unproven);
}

static void
print_patterns(const struct entry *e)
{
	size_t i;

	for (i = 0; i < e->npatterns; i++) {
		print_label(i == 0 ? "has to match" : "");
		printf("%s: %s\n", cmd_shown(e->patterns[i].param),
		       cmd_shown(e->patterns[i].text));
	}
}

static void
print_output(const struct entry *e)
{
	if (entry_has(e, KEY_READS)) {
		print_label("its output");
		printf("%s\n",
		       e->reads == READS_PRIVATE ? "private" : "untrusted");
	}
	if (entry_has(e, KEY_IDENTITY_FIELDS) && e->identity_fields.n == 0) {
		print_label("identities");
		printf("none\n");
	}
	print_list("identities", &e->identity_fields);
	if (e->text_form != NULL) {
		print_label("text form");
		printf("%s\n", cmd_shown(e->text_form));
	}
	print_list("vouches for", &e->vouches);
}

static int
names_parameters(const struct entry *e)
{
	return e->exfiltrating || e->content_params.n > 0 ||
	       e->scan_text.n > 0 || e->write_params.n > 0 ||
	       e->read_params.n > 0 || e->deletes.n > 0 || e->changes.n > 0 ||
	       e->npatterns > 0 || e->plain.n > 0;
}

static void
print_entry(const struct entry *e)
{
	printf("\n%s\n", cmd_shown(e->tool));
	if (!names_parameters(e))
		printf("  (no parameters)\n");
	print_sinks(e);
	print_list("carries", &e->content_params);
	print_list("looks through", &e->scan_text);
	print_list("writes", &e->write_params);
	print_list("only below", &e->prefixes);
	if (e->base != NULL) {
		print_label("relative to");
		printf("%s\n", cmd_shown(e->base));
	}
	print_list("reads files", &e->read_params);
	print_list("deletes", &e->deletes);
	print_list("changes", &e->changes);
	print_patterns(e);
	if (entry_has(e, KEY_MAX_CALLS)) {
		print_label("calls a run");
		printf("at most %llu\n", (unsigned long long)e->max_calls);
	} else if (entry_has(e, KEY_DELETES)) {
		print_label("calls a run");
		printf("at most 2 (it deletes)\n");
	}
	print_list("harmless", &e->plain);
	print_output(e);
}

/*
 * What the lines say that were printed of n entries of a pack and that no
 * verdict depends on yet.
 */
static void
print_unbuilt(const struct policy *p, size_t pack, size_t from, size_t n)
{
	static const struct {
		enum entry_key key;
		const char *label, *text;
	} unbuilt[] = {
	    {KEY_CONTENT_PARAMS, "carries", "arguments that hold what is sent"},
	    {KEY_SCAN_TEXT, "looks through",
	     "arguments whose text is searched for links"},
	    {KEY_ON_TAINTED, "on_tainted",
	     "the verdict if the destination stood in untrusted text"},
	    {KEY_ON_NAMED, "on_named",
	     "the verdict if it stood in an identity field"},
	    {KEY_READS, "its output",
	     "private: not for the public; untrusted: anybody may write it"},
	    {KEY_IDENTITY_FIELDS, "identities",
	     "fields of the output that say who took part, not what he wrote"},
	    {KEY_TEXT_FORM, "text form",
	     "how these stand in an output that is not JSON"},
	    {KEY_VOUCHES, "vouches for",
	     "places in the output whose addresses are the person's own"},
	};
	size_t i, j, said = 0;

	for (i = 0; i < sizeof(unbuilt) / sizeof(unbuilt[0]); i++) {
		for (j = from; j < from + n; j++)
			if (entry_has(policy_pack_entry(p, pack, j),
				      unbuilt[i].key))
				break;
		if (j == from + n)
			continue;
		if (said++ == 0)
			printf("\nNot built yet, and without effect on any "
			       "verdict:\n");
		print_label(unbuilt[i].label);
		printf("%s\n", unbuilt[i].text);
	}
}

static int
show_tool(const struct policy *p, size_t pack, const char *tool)
{
	const struct policy_pack_info *k = policy_pack(p, pack);
	const char **names = xcalloc(k->entries + 1, sizeof(*names)), *near;
	int status = EXIT_USAGE;
	size_t i;

	for (i = 0; i < k->entries; i++) {
		names[i] = policy_pack_entry(p, pack, i)->tool;
		if (strcmp(names[i], tool) != 0)
			continue;
		print_entry(policy_pack_entry(p, pack, i));
		print_unbuilt(p, pack, i, 1);
		status = EXIT_OK;
	}
	if (status != EXIT_OK) {
		near = suggest(tool, strlen(tool), names);
		warnf("pack %s does not speak of \"%s\"%s%s%s",
		      cmd_shown(k->name), cmd_shown(tool),
		      near != NULL ? "; did you mean \"" : "",
		      near != NULL ? cmd_shown(near) : "",
		      near != NULL ? "\"?" : "");
	}
	free(names);
	return status;
}

static int
show_pack(const struct policy *p, size_t pack)
{
	const struct policy_pack_info *k = policy_pack(p, pack);
	size_t i;

	printf("%s: %s\n%s\n", cmd_shown(k->name), cmd_shown(k->about),
	       cmd_shown(k->file));
	print_head(k, "");
	for (i = 0; i < k->entries; i++)
		print_entry(policy_pack_entry(p, pack, i));
	print_unbuilt(p, pack, 0, k->entries);
	return EXIT_OK;
}

static int
cmd_show(int argc, char **argv)
{
	struct policy *p;
	int at, status = EXIT_USAGE;
	long pack;

	at = options("packs show", argc, argv, usage_show, &status);
	if (at < 0)
		return status;
	if (at == argc)
		return usage_error("packs show", "a pack's NAME expected");
	if (argc - at > 2)
		return usage_error("packs show", "unexpected argument \"%s\"",
				   cmd_shown(argv[at + 2]));
	p = load_packs();
	if (p == NULL)
		return EXIT_USAGE;
	pack = find_pack(p, argv[at]);
	if (pack >= 0)
		status = argc - at == 2
			     ? show_tool(p, (size_t)pack, argv[at + 1])
			     : show_pack(p, (size_t)pack);
	policy_free(p);
	return status;
}

/* ---- verify ---- */

/* The one pack that knows a package in the command, or -1 after a message. */
static long
pack_of_command(const struct policy *p, char *const *command)
{
	const char *const *argv = (const char *const *)command;
	size_t n = policy_pack_count(p), first, other;

	first = policy_pack_for(p, argv, 0);
	if (first == n) {
		warnf("no pack knows a package in this command; name one: "
		      "doorward packs verify NAME -- COMMAND");
		return -1;
	}
	other = policy_pack_for(p, argv, first + 1);
	if (other < n) {
		warnf("packs %s and %s both know a package in this command; "
		      "name one: doorward packs verify NAME -- COMMAND",
		      cmd_shown(policy_pack(p, first)->name),
		      cmd_shown(policy_pack(p, other)->name));
		return -1;
	}
	return (long)first;
}

static void
print_finding(void *unused, const char *text)
{
	(void)unused;
	printf("%s\n", text);
}

static int
verify(const struct policy *p, size_t pack, char *const *command)
{
	const struct policy_pack_info *k = policy_pack(p, pack);
	struct probe *s;
	char *why = NULL;
	size_t n, tools;

	fflush(stdout);
	s = probe_server(command, &why);
	if (s == NULL) {
		warnf("%s", why);
		free(why);
		return EXIT_FINDING;
	}
	tools = probe_tool_count(s) + probe_unreadable(s);
	printf("%s %s: %zu tool%s; pack %s: %zu tool%s\n",
	       cmd_shown(probe_server_name(s)),
	       cmd_shown(probe_server_version(s)), tools, tools == 1 ? "" : "s",
	       cmd_shown(k->name), k->entries, k->entries == 1 ? "" : "s");
	n = pack_compare(p, pack, s, print_finding, NULL);
	if (n == 0)
		printf("no difference\n");
	else
		printf("%zu difference%s\n", n, n == 1 ? "" : "s");
	probe_free(s);
	return n == 0 ? EXIT_OK : EXIT_FINDING;
}

static int
cmd_verify(int argc, char **argv)
{
	const char *name = NULL;
	struct policy *p;
	int at, status = EXIT_USAGE;
	long pack;

	at = options("packs verify", argc, argv, usage_verify, &status);
	if (at < 0)
		return status;
	if (at < argc && strcmp(argv[at], "--") != 0)
		name = argv[at++];
	if (at < argc && strcmp(argv[at], "--") != 0)
		return usage_error("packs verify",
				   "\"--\" expected before the command, not "
				   "\"%s\"",
				   cmd_shown(argv[at]));
	if (argc - at < 2 || argv[at + 1][0] == '\0')
		return usage_error("packs verify", "no command");
	p = load_packs();
	if (p == NULL)
		return EXIT_USAGE;
	pack = name != NULL ? find_pack(p, name)
			    : pack_of_command(p, argv + at + 1);
	if (pack >= 0)
		status = verify(p, (size_t)pack, argv + at + 1);
	policy_free(p);
	return status;
}

int
cmd_packs(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv);
	} commands[] = {
	    {"list", cmd_list}, {"show", cmd_show}, {"verify", cmd_verify}};
	const char *names[sizeof(commands) / sizeof(commands[0]) + 1] = {NULL};
	int at, status = EXIT_USAGE;
	size_t i;

	at = options("packs", argc, argv, usage_packs, &status);
	if (at < 0)
		return status;
	if (at == argc)
		return usage_error("packs", "list, show or verify expected");
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(argv[at], commands[i].name) == 0)
			return commands[i].run(argc - at, argv + at);
		names[i] = commands[i].name;
	}
	return usage_unknown("packs", argv[at], names);
}
