/*
 * doorward policy explain: what a policy says of one tool, and where each
 * part of it comes from.  Runs as the user, in a process of its own; with a
 * command it starts that server through probe.c to see the tool's schema.
 * Owns nothing; what the server wrote is made visible before it is shown.
 */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"
#include "proto/buf.h"
#include "proto/log.h"

#include "policy.h"
#include "call.h"
#include "entry.h"
#include "suggest.h"
#include "view.h"

#include "cmd_words.h"
#include "cmds.h"
#include "paths.h"
#include "probe.h"

#define DELETES_DEFAULT 2 /* calls, of a tool that deletes */

static const char usage_explain[] =
    "usage: doorward policy explain [--policy FILE]... [--server NAME]\n"
    "           [--state DIR] TOOL [-- COMMAND [ARG...]]\n"
    "\n"
    "Says which rule matches the tool, which entries of files and packs\n"
    "apply to it and which not, where each key comes from and what it\n"
    "shadows.  With COMMAND the server is started, to see the tool's schema;\n"
    "without, packs are taken by the tool's name alone.\n"
    "\n"
    "  --policy FILE   as of doorward run; without, the default policy\n"
    "  --server NAME   the server's name, to be shown\n"
    "  --state DIR     taken as by every command, without effect\n"
    "\n"
    "Exit status: 0 fine, 1 the server has no such tool, 2 a mistake.\n"
    "See doorward-policy(1).\n";

struct question {
	const char *files[POLICIES_MAX];
	size_t nfiles;
	const char *server, *tool;
	char *const *command; /* NULL: none */
	char *default_policy;
	int missing; /* the server was asked, and has no such tool */
};

static void
put_strings(struct buf *b, const struct strings *s)
{
	size_t i;

	buf_puts(b, "[");
	for (i = 0; i < s->n; i++)
		buf_printf(b, "%s%s", i > 0 ? ", " : "", s->v[i]);
	buf_puts(b, "]");
}

static void
put_sinks(struct buf *b, const struct entry *e)
{
	static const char *const kinds[] = {"", ": address", ": container",
					    ": link", ": opaque"};
	size_t i;

	buf_puts(b, "[");
	for (i = 0; i < e->nsinks; i++)
		buf_printf(b, "%s%s%s", i > 0 ? ", " : "", e->sinks[i].param,
			   kinds[e->sinks[i].kind]);
	buf_puts(b, "]");
}

static void
put_patterns(struct buf *b, const struct entry *e)
{
	size_t i;

	buf_puts(b, "{");
	for (i = 0; i < e->npatterns; i++)
		buf_printf(b, "%s%s: '%s'", i > 0 ? ", " : "",
			   e->patterns[i].param, e->patterns[i].text);
	buf_puts(b, "}");
}

static const char *
on_text(enum policy_action a)
{
	return a == ACTION_BLOCK ? "deny" : policy_action_name(a);
}

static void
put_value(struct buf *b, const struct entry *e, enum entry_key k)
{
	static const char *const reads[] = {"", "untrusted", "private"};

	/* clang-format off */
	switch (k) {
	case KEY_EXFILTRATING: buf_puts(b, e->exfiltrating ? "true" : "false"); break;
	case KEY_SINK_PARAMS: put_sinks(b, e); break;
	case KEY_SINKS_OPTIONAL: buf_puts(b, e->sinks_optional ? "true" : "false"); break;
	case KEY_CONTENT_PARAMS: put_strings(b, &e->content_params); break;
	case KEY_SCAN_TEXT: put_strings(b, &e->scan_text); break;
	case KEY_TRUSTED_DESTINATIONS: put_strings(b, &e->trusted); break;
	case KEY_ON_TAINTED: buf_puts(b, on_text(e->on_tainted)); break;
	case KEY_ON_NAMED: buf_puts(b, on_text(e->on_named)); break;
	case KEY_ON_UNPROVEN: buf_puts(b, on_text(e->on_unproven)); break;
	case KEY_MAX_CALLS: buf_printf(b, "%" PRIu64, e->max_calls); break;
	case KEY_WRITE_PARAMS: put_strings(b, &e->write_params); break;
	case KEY_ALLOWED_PATH_PREFIXES: put_strings(b, &e->prefixes); break;
	case KEY_BASE: buf_puts(b, e->base != NULL ? e->base : "null"); break;
	case KEY_ARG_PATTERNS: put_patterns(b, e); break;
	case KEY_IDENTITY_FIELDS: put_strings(b, &e->identity_fields); break;
	case KEY_TEXT_FORM: buf_puts(b, e->text_form != NULL ? e->text_form : "null"); break;
	case KEY_READS: buf_puts(b, reads[e->reads]); break;
	case KEY_VOUCHES: put_strings(b, &e->vouches); break;
	case KEY_READ_PARAMS: put_strings(b, &e->read_params); break;
	case KEY_DELETES: put_strings(b, &e->deletes); break;
	case KEY_CHANGES: put_strings(b, &e->changes); break;
	case KEY_PLAIN: put_strings(b, &e->plain); break;
	case ENTRY_KEY_MAX: break;
	}
	/* clang-format on */
}

static void
print_place(const struct entry_place *place)
{
	if (place->file == NULL)
		printf("the fallback");
	else if (place->pack != NULL)
		printf("pack %s, %s:%zu", cmd_shown(place->pack),
		       cmd_shown(place->file), place->line);
	else
		printf("%s:%zu", cmd_shown(place->file), place->line);
}

/*
 * What lies below a key: the same key of other entries, but for packs that
 * are alternatives to this one.
 */
static void
print_shadowed(const struct policy_view *v, const struct entry *e,
	       enum entry_key k, const char *pack)
{
	const struct entry_place *mine = &e->place[k], *other;
	const struct policy_layer *l;
	size_t i;
	int any = 0;

	for (i = policy_view_layer_count(v); i-- > 0;) {
		l = policy_view_layer(v, i);
		other = &l->entry->place[k];
		if (!other->given ||
		    (other->file == mine->file && other->line == mine->line))
			continue;
		if (l->state != LAYER_APPLIES && l->state != LAYER_CUT)
			continue;
		if (l->pack != NULL && l->state == LAYER_APPLIES &&
		    (pack == NULL || strcmp(l->pack, pack) != 0))
			continue;
		printf("%s", any++ ? "; " : ", shadows ");
		print_place(other);
	}
}

static void
print_keys(const struct policy_view *v, const struct entry *e, const char *pack)
{
	struct buf b = BUF_INIT;
	int k, any = 0;

	for (k = 0; k < ENTRY_KEY_MAX; k++) {
		if (!entry_has(e, (enum entry_key)k))
			continue;
		any = 1;
		put_value(&b, e, (enum entry_key)k);
		buf_putc(&b, '\0');
		printf("  %-22s %s\n", entry_key_name((enum entry_key)k),
		       cmd_shown(buf_head(&b)));
		buf_free(&b);
		printf("  %-22s from ", "");
		print_place(&e->place[k]);
		print_shadowed(v, e, (enum entry_key)k, pack);
		printf("\n");
	}
	if (!any)
		printf("  no key: nothing is checked by an entry\n");
}

static const char *
state_text(const struct policy_layer *l)
{
	switch (l->state) {
	case LAYER_APPLIES:
		if (l->pack == NULL)
			return "applies";
		return l->by_command ? "applies; the command names its package"
				     : "applies, by the tool's name";
	case LAYER_CUT:
		return "replaced whole by an entry above it";
	case LAYER_NO_PARAM:
		return "does not apply: the tool's schema has no parameter "
		       "that it names";
	case LAYER_OTHER_PACK:
		break;
	}
	return "does not apply: the command names another pack's package";
}

static const char *
format_text(const struct policy_layer *l)
{
	return l->format == FORMAT_BOUNCER ? "Bouncer's format, replaces"
	       : l->entry->replace         ? "replace: true"
					   : "merged key by key";
}

static void
print_layers(const struct policy_view *v)
{
	size_t i = policy_view_layer_count(v);
	const struct policy_layer *l;

	printf("entries, the uppermost first:%s\n", i == 0 ? " none" : "");
	while (i-- > 0) {
		l = policy_view_layer(v, i);
		printf("  %s:%zu (", cmd_shown(l->file), l->entry->line);
		if (l->pack != NULL)
			printf("pack %s", cmd_shown(l->pack));
		else
			printf("%s", format_text(l));
		printf("): %s\n", state_text(l));
	}
}

/* The pack that the i-th merged entry stands on, or NULL. */
static const char *
pack_under(const struct policy_view *v, size_t i)
{
	const struct policy_layer *l;
	size_t j;

	for (j = 0; j < policy_view_layer_count(v); j++) {
		l = policy_view_layer(v, j);
		if (l->pack != NULL && l->state == LAYER_APPLIES && i-- == 0)
			return l->pack;
	}
	return NULL;
}

static void
print_budget(const struct entry *e)
{
	printf("budget: ");
	if (entry_has(e, KEY_MAX_CALLS)) {
		printf("%" PRIu64 " calls in one run, by ", e->max_calls);
		print_place(&e->place[KEY_MAX_CALLS]);
	} else if (e->deletes.n > 0) {
		printf("%d calls in one run, since the tool deletes, by ",
		       DELETES_DEFAULT);
		print_place(&e->place[KEY_DELETES]);
	} else {
		printf("none");
	}
	printf("\n");
}

static void
print_entries(const struct policy *p, const struct policy_view *v,
	      int schema_known)
{
	size_t i, n = policy_view_count(v);
	const char *pack;

	print_layers(v);
	if (strcmp(policy_view_from(v), "fallback") == 0)
		printf("fallback: speaks of the tool, by its schema\n");
	else if (policy_get_packs(p) == PACKS_NONE)
		printf("fallback: off, by packs: none\n");
	else if (policy_view_has_fallback(v))
		printf("fallback: judged as well, since the tool has "
		       "parameters that no pack names\n");
	else if (n > 0)
		printf("fallback: not used, since there is an entry\n");
	else if (!schema_known)
		printf("fallback: needs the tool's schema\n");
	else
		printf("fallback: has nothing to say of the tool\n");
	for (i = 0; i < n; i++) {
		pack = pack_under(v, i);
		if (n > 1)
			printf("in force by %s%s; of several the strictest "
			       "verdict wins:\n",
			       pack != NULL ? "pack " : "the fallback",
			       pack != NULL ? cmd_shown(pack) : "");
		else
			printf("in force:\n");
		print_keys(v, policy_view_entry(v, i), pack);
		print_budget(policy_view_entry(v, i));
	}
}

/* " (FILE:LINE)", or that nobody said it. */
static void
print_source(const struct policy_source *s)
{
	if (s->file == NULL)
		printf(" (built in)");
	else
		printf(" (%s:%zu)", cmd_shown(s->file), s->line);
}

static void
print_pins(const struct policy *p)
{
	struct policy_source s = policy_pins_source(p, PINS_ON_NEW);

	printf("pins: on_new %s", on_text(policy_pins_on_new(p)));
	print_source(&s);
	s = policy_pins_source(p, PINS_ON_CHANGED);
	printf(", on_changed %s", on_text(policy_pins_on_changed(p)));
	print_source(&s);
	s = policy_pins_source(p, PINS_HIDE);
	printf(", hide %s", policy_pins_hide(p) ? "true" : "false");
	print_source(&s);
	printf("\n");
}

/* The word that the file has for it. */
static const char *
action_text(enum policy_action a)
{
	return a == ACTION_ASK ? "require_approval" : policy_action_name(a);
}

static void
print_rule(const struct policy *p, const struct policy_view *v,
	   const char *tool)
{
	struct policy_opinion o = policy_tool(p, tool, strlen(tool));

	if (o.by_default) {
		printf("rule: none matches; default_action %s",
		       action_text(o.action));
		print_source(&o.source);
		printf(" %s\n", policy_view_count(v) > 0
				    ? "does not hold, since an entry speaks "
				      "of the tool"
				    : "holds");
		return;
	}
	printf("rule: \"%s\" matches first: %s", cmd_shown(o.source.rule),
	       action_text(o.action));
	print_source(&o.source);
	if (o.reason != NULL)
		printf(", \"%s\"", cmd_shown(o.reason));
	printf("\n");
}

/* The name of what knows the tool: an entry of a file above all. */
static const char *
known_by(const struct policy_view *v)
{
	const char *from = policy_view_from(v);

	if (strcmp(from, "file") == 0)
		return "an entry knows the tool";
	return strcmp(from, "pack") == 0 ? "a pack knows the tool"
					 : "the fallback knows the tool";
}

/* The verdict on a call that nothing above has anything against. */
static void
print_otherwise(const struct policy *p, const struct policy_view *v,
		const struct question *q, int schema_known)
{
	struct policy_opinion o = policy_tool(p, q->tool, strlen(q->tool));

	if (q->missing) {
		printf("otherwise: block (rule tools/list, since the server "
		       "has no such tool)\n");
	} else if (!o.by_default) {
		printf("otherwise: %s (rule \"%s\")\n",
		       policy_action_name(o.action), cmd_shown(o.source.rule));
	} else if (policy_view_count(v) > 0) {
		printf("otherwise: allow (%s)\n", known_by(v));
	} else {
		printf("otherwise: %s (default_action)%s\n",
		       policy_action_name(o.action),
		       !schema_known && policy_get_packs(p) != PACKS_NONE
			   ? ", unless the fallback knows the tool by its "
			     "schema"
			   : "");
	}
}

static void
print_all(const struct policy *p, const struct question *q,
	  const struct cJSON *schema)
{
	struct policy_view *v =
	    policy_view_new(p, q->tool, strlen(q->tool), schema,
			    (const char *const *)q->command);

	print_rule(p, v, q->tool);
	print_entries(p, v, schema != NULL);
	print_pins(p);
	printf("mode: %s\n", policy_mode_name(policy_get_mode(p)));
	print_otherwise(p, v, q, schema != NULL);
	policy_view_free(v);
}

/* As the monitor takes a tool that says nothing of its parameters. */
static const cJSON no_schema = {.type = cJSON_Object};

/* Says that there is none, and the name that may have been meant. */
static void
print_missing(const struct probe *probe, const char *name)
{
	size_t i, n = probe_tool_count(probe);
	const char **names = xcalloc(n + 1, sizeof(*names)); /* ends in NULL */
	const char *near;

	for (i = 0; i < n; i++)
		names[i] =
		    cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(
			probe_tool(probe, i), "name"));
	near = suggest(name, strlen(name), names);
	free(names);
	printf("schema: the server has no tool of this name, and every call "
	       "of it is denied");
	if (near != NULL)
		printf("; did you mean \"%s\"?", cmd_shown(near));
	printf("\n");
}

/* The tool's inputSchema, NULL where the server has no such tool. */
static const cJSON *
schema_of(const struct probe *probe, struct question *q)
{
	const cJSON *tool = probe_find(probe, q->tool, strlen(q->tool));
	const cJSON *schema;

	if (tool == NULL) {
		print_missing(probe, q->tool);
		q->missing = 1;
		return NULL;
	}
	schema = cJSON_GetObjectItemCaseSensitive(tool, "inputSchema");
	printf("schema: %s\n", cJSON_IsObject(schema)
				   ? "as the server shows it"
				   : "the server shows none");
	return schema != NULL ? schema : &no_schema;
}

static int
explain(const struct policy *p, struct question *q)
{
	struct probe *probe = NULL;
	const cJSON *schema = NULL;
	char *why = NULL;

	if (q->command != NULL) {
		probe = probe_server(q->command, &why);
		if (probe == NULL) {
			warnf("policy explain: %s", why);
			free(why);
			return EXIT_USAGE;
		}
	}
	printf("tool: %s\n", cmd_shown(q->tool));
	if (q->server != NULL)
		printf("server: %s\n", cmd_shown(q->server));
	if (probe != NULL)
		schema = schema_of(probe, q);
	else
		printf("schema: not known without a command: packs are taken "
		       "by name alone, and there is no fallback\n");
	print_all(p, q, schema);
	probe_free(probe);
	if (fflush(stdout) != 0) {
		warnf("standard output cannot be written");
		return EXIT_FINDING;
	}
	return q->missing ? EXIT_FINDING : EXIT_OK;
}

static int
load_and_explain(struct question *q)
{
	char *packs = paths_packs();
	struct policy_error err;
	struct policy *p;
	int result;

	q->default_policy = paths_default_policy();
	if (q->nfiles == 0 && paths_policy_exists(q->default_policy))
		q->files[q->nfiles++] = q->default_policy;
	p = policy_load(q->files, q->nfiles, packs, &err);
	if (p == NULL) {
		result = cmd_complain(&err);
	} else {
		result = explain(p, q);
	}
	policy_free(p);
	free(q->default_policy);
	free(packs);
	return result;
}

static int
usage_error(const char *what, const char *arg)
{
	warnf("policy explain: %s \"%s\"; see doorward policy explain --help",
	      what, cmd_shown(arg));
	return EXIT_USAGE;
}

/* One word before "--"; 0, or the exit status. */
static int
take_word(struct question *q, int argc, char **argv, int *i)
{
	const char *word = argv[*i], *value;

	if (word[0] != '-') {
		if (q->tool != NULL)
			return usage_error("unexpected argument", word);
		q->tool = word;
		return 0;
	}
	value = cmd_option("--policy", argc, argv, i);
	if (value != NULL) {
		if (q->nfiles == POLICIES_MAX)
			return usage_error("too many policies at", value);
		q->files[q->nfiles++] = value;
		return 0;
	}
	value = cmd_option("--server", argc, argv, i);
	if (value != NULL) {
		q->server = value;
		return 0;
	}
	/* Every command takes it; a policy needs no state. */
	if (cmd_option("--state", argc, argv, i) != NULL)
		return 0;
	if (strcmp(word, "--policy") == 0 || strcmp(word, "--server") == 0 ||
	    strcmp(word, "--state") == 0)
		return usage_error("nothing after", word);
	return usage_error("unknown option", word);
}

int
cmd_policy_explain(int argc, char **argv)
{
	struct question q;
	int i, result;

	memset(&q, 0, sizeof(q));
	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--help") == 0) {
			fputs(usage_explain, stdout);
			return EXIT_OK;
		}
		result = take_word(&q, argc, argv, &i);
		if (result != 0)
			return result;
	}
	if (i + 1 < argc)
		q.command = argv + i + 1;
	if (q.tool == NULL || (i < argc && q.command == NULL)) {
		fputs(usage_explain, stderr);
		return EXIT_USAGE;
	}
	return load_and_explain(&q);
}
