/*
 * Doorward's own format: every key of it, built or not.  doorward.yaml(5)
 * lists the same keys.  Runs in the monitor and in the commands while a
 * policy is loaded; owns nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/alloc.h"
#include "proto/text.h"

#include "policy.h"
#include "doc.h"
#include "model.h"
#include "schema.h"
#include "suggest.h"

/* clang-format off */
static const char *const deny_ask[] = {"deny", "ask", NULL};
static const char *const off_ask_deny[] = {"off", "ask", "deny", NULL};
static const char *const typed_words[] = {"ignore", "ask", "trust", NULL};
static const char *const channel_words[] = {"elicitation", "code", "page", NULL};
static const char *const bind_words[] = {"call", "destination", NULL};
static const char *const network_words[] = {"none", NULL};
static const char *const args_words[] = {"full", "redacted", "none", NULL};
static const char *const sync_words[] = {"never", "interval", "always", NULL};
static const char *const method_words[] = {"allow", "ask", "block", NULL};

static key_fn read_version, read_methods, read_args, read_redact, read_sync;
static key_fn read_tools, read_on_new, read_on_changed, read_hide;
static key_fn check_channels;

static const struct spec flows_specs[] = {
	{.name = "private_to_public", .want = WANT_WORD, .words = off_ask_deny, .dflt = "off", .off = 1},
	{.name = NULL},
};

static const struct spec approval_specs[] = {
	{.name = "channels", .want = WANT_CHECK, .check = check_channels},
	{.name = "hold", .want = WANT_BOOL, .dflt = "false", .off = 1},
	{.name = "timeout", .want = WANT_COUNT, .dflt = "50"},
	{.name = "code_ttl", .want = WANT_COUNT, .dflt = "300"},
	{.name = "bind", .want = WANT_WORD, .words = bind_words, .dflt = "call"},
	{.name = NULL},
};

static const struct spec pins_specs[] = {
	{.name = "on_new", .read = read_on_new},
	{.name = "on_changed", .read = read_on_changed},
	{.name = "hide", .read = read_hide},
	{.name = NULL},
};

static const struct spec ledger_specs[] = {
	{.name = "max_size", .want = WANT_SIZE, .dflt = "128MiB"},
	{.name = NULL},
};

static const struct spec sandbox_specs[] = {
	{.name = "read", .want = WANT_PATHS},
	{.name = "write", .want = WANT_PATHS},
	{.name = "network", .want = WANT_WORD, .words = network_words},
	{.name = NULL},
};

static const struct spec server_specs[] = {
	{.name = "sandbox", .want = WANT_SECTION, .sub = sandbox_specs, .may_be_null = 1, .dflt = "null", .off = 1},
	{.name = NULL},
};

static const struct spec audit_specs[] = {
	{.name = "args", .read = read_args},
	{.name = "redact", .read = read_redact},
	{.name = "sync", .read = read_sync},
	{.name = "max_size", .want = WANT_SIZE, .dflt = "64MiB"},
	{.name = "keep", .want = WANT_COUNT, .dflt = "10"},
	{.name = NULL},
};

static const struct spec receipts_specs[] = {
	{.name = "file", .want = WANT_STRING, .may_be_null = 1, .dflt = "null", .off = 1},
	{.name = "stderr", .want = WANT_BOOL, .dflt = "false", .off = 1},
	{.name = "endpoint", .want = WANT_STRING, .may_be_null = 1, .dflt = "null", .off = 1},
	{.name = NULL},
};

static const struct spec own_specs[] = {
	{.name = "version", .read = read_version},
	{.name = "mode", .read = load_mode},
	{.name = "default_action", .read = load_default_action},
	{.name = "packs", .read = load_packs},
	{.name = "rules", .read = load_rules},
	{.name = "methods", .read = read_methods},
	{.name = "tools", .read = read_tools},
	{.name = "flows", .want = WANT_SECTION, .sub = flows_specs},
	{.name = "typed", .want = WANT_WORD, .words = typed_words, .dflt = "ignore", .off = 1},
	{.name = "approval", .want = WANT_SECTION, .sub = approval_specs},
	{.name = "pins", .want = WANT_SECTION, .sub = pins_specs},
	{.name = "ledger", .want = WANT_SECTION, .sub = ledger_specs},
	{.name = "server", .want = WANT_SECTION, .sub = server_specs},
	{.name = "audit", .want = WANT_SECTION, .sub = audit_specs},
	{.name = "receipts", .want = WANT_SECTION, .sub = receipts_specs},
	{.name = NULL},
};

/* Requests and notifications of MCP 2024-11-05 to 2026-07-28, to tell a
 * misspelled method from an extension. */
static const char *const known_methods[] = {
	"initialize", "ping", "tools/list", "tools/call",
	"resources/list", "resources/read", "resources/templates/list",
	"resources/subscribe", "resources/unsubscribe",
	"prompts/list", "prompts/get", "completion/complete",
	"logging/setLevel", "sampling/createMessage", "elicitation/create",
	"roots/list", "server/discover", "subscriptions/listen",
	"tasks/get", "tasks/list", "tasks/result", "tasks/cancel",
	"tasks/update", "notifications/initialized",
	"notifications/cancelled", "notifications/progress",
	"notifications/message", "notifications/roots/list_changed",
	"notifications/tools/list_changed",
	"notifications/prompts/list_changed",
	"notifications/resources/list_changed",
	"notifications/resources/updated", "notifications/tasks/status",
	"notifications/elicitation/complete", "notifications/tasks",
	"notifications/subscriptions/acknowledged", NULL};
/* clang-format on */

static int
read_version(struct load *l, const struct node *key)
{
	const struct node *n = key->value;
	struct shown s;
	size_t i, digits = 0;

	if (n->kind == NODE_SCALAR && n->plain) {
		if (node_equals(n, "1"))
			return 0;
		for (i = 0; i < n->len; i++)
			digits += n->text[i] >= '0' && n->text[i] <= '9';
		if (digits == n->len && digits > 0 && n->text[0] != '0')
			return mistake(
			    l->err, n,
			    xasprintf("version %.20s is newer than this "
				      "Doorward knows; it knows version 1",
				      n->text));
	}
	return mistake(l->err, n,
		       xasprintf("version: the number 1 expected, not %s",
				 node_show(n, &s)));
}

/* A method that differs a little from one of MCP's is most likely a slip. */
static void
warn_of_method(struct load *l, const struct node *key)
{
	const char *near;
	struct shown s;
	size_t i;

	for (i = 0; known_methods[i] != NULL; i++)
		if (node_equals(key, known_methods[i]))
			return;
	near = suggest(key->text, key->len, known_methods);
	if (near == NULL)
		return;
	policy_warn(l->p, xasprintf("%s:%zu:%zu: %s is no method of MCP; did "
				    "you mean \"%s\"?",
				    l->name, key->line, key->column,
				    node_show(key, &s), near));
}

/* A method of this name from a file below, or room for a new one. */
static struct method *
method_slot(struct load *l, const struct node *key)
{
	struct policy *p = l->p;
	struct method *m;
	size_t i;

	for (i = 0; i < l->methods_below; i++)
		if (node_equals(key, p->methods[i].name))
			return &p->methods[i];
	p->methods =
	    xreallocarray(p->methods, p->nmethods + 1, sizeof(*p->methods));
	m = &p->methods[p->nmethods++];
	m->name = xmemdupz(key->text, key->len);
	m->len = key->len;
	return m;
}

static int
read_method(struct load *l, const struct node *key)
{
	struct setting *dflt = &l->p->methods_default;
	struct method *m;
	int i;

	if (node_equals(key, "tools/call"))
		return mistake(l->err, key,
			       xstrdup("methods: tools/call is judged by "
				       "rules: and default_action:, so write "
				       "it there"));
	/* Taken as a name it would match nothing, and so allow everything. */
	if (strpbrk(key->text, "*?") != NULL)
		return mistake(l->err, key,
			       xstrdup("methods: no patterns are taken here; "
				       "name each method, and the rest with "
				       "default:"));
	i = read_word(l, key, method_words);
	if (i < 0)
		return -1;
	if (node_equals(key, "default")) {
		dflt->value = i;
		dflt->given = 1;
		dflt->file = l->file;
		dflt->line = key->line;
		return 0;
	}
	warn_of_method(l, key);
	m = method_slot(l, key);
	m->action = (enum policy_action)i;
	m->file = l->file;
	m->line = key->line;
	return 0;
}

static int
read_methods(struct load *l, const struct node *key)
{
	const struct node *k;

	if (want_mapping(l, key) < 0)
		return -1;
	for (k = key->value->child; k != NULL; k = k->next)
		if (read_method(l, k) < 0)
			return -1;
	return 0;
}

static int
read_args(struct load *l, const struct node *key)
{
	return read_setting(l, key, args_words, &l->p->args);
}

static int
read_sync(struct load *l, const struct node *key)
{
	return read_setting(l, key, sync_words, &l->p->sync);
}

static int
read_redact(struct load *l, const struct node *key)
{
	const struct node *n;
	struct shown s;
	size_t words;

	if (want_list(l, key) < 0)
		return -1;
	for (n = key->value->child; n != NULL; n = n->next) {
		if (want_string(l, n, key->text) < 0)
			return -1;
		words = redact_add(l->p, n->text, n->len);
		if (words > REDACT_MAX)
			return mistake(l->err, n,
				       xasprintf("redact: more than %u words, "
						 "the built-in ones counted; "
						 "take shorter ones, which "
						 "match more",
						 REDACT_MAX));
		if (words == 0)
			return mistake(
			    l->err, n,
			    xasprintf("redact: %s has nothing but - and _, "
				      "which do not count; a word expected",
				      node_show(n, &s)));
	}
	return 0;
}

static int
read_tools(struct load *l, const struct node *key)
{
	if (want_mapping(l, key) < 0)
		return -1;
	return load_entries(l, key->value);
}

/* As actions: what cannot be told is blocked or asked about. */
static int
read_pin(struct load *l, const struct node *key, enum policy_pins which)
{
	struct setting *s = &l->p->pins[which];

	if (read_setting(l, key, deny_ask, s) < 0)
		return -1;
	s->value = s->value == 0 ? ACTION_BLOCK : ACTION_ASK;
	return 0;
}

static int
read_on_new(struct load *l, const struct node *key)
{
	return read_pin(l, key, PINS_ON_NEW);
}

static int
read_on_changed(struct load *l, const struct node *key)
{
	return read_pin(l, key, PINS_ON_CHANGED);
}

static int
read_hide(struct load *l, const struct node *key)
{
	int hide;

	if (read_bool(l, key, &hide) < 0)
		return -1;
	l->p->pins[PINS_HIDE] = (struct setting){hide, 1, l->file, key->line};
	return 0;
}

/* An empty list is as true now as it will be later: there is nobody to ask. */
static int
check_channels(struct load *l, const struct node *key)
{
	static const struct spec list = {.name = "channels",
					 .want = WANT_WORDS,
					 .words = channel_words,
					 .dflt = "elicitation,code"};

	if (key->value->kind == NODE_SEQUENCE && key->value->child == NULL)
		return 0;
	return check_unbuilt(l, key, &list, "approval.channels");
}

/* A tool's entry at the top, where a Bouncer policy has it. */
static int
check_entry_at_top(struct load *l, const struct node *key)
{
	const struct spec *spec;
	const struct node *k;
	struct shown s;

	for (spec = own_specs; spec->name != NULL; spec++)
		if (node_equals(key, spec->name))
			return 0;
	if (key->value->kind != NODE_MAPPING)
		return 0;
	for (k = key->value->child; k != NULL; k = k->next)
		if (is_entry_key(k))
			return mistake(
			    l->err, key,
			    xasprintf("unknown key %s in a Doorward policy; "
				      "the entries of tools go below "
				      "\"tools:\"",
				      node_show(key, &s)));
	return 0;
}

int
load_own(struct load *l, const struct node *root)
{
	const struct node *key;

	/* First: a later version may have keys that this one cannot know. */
	for (key = root->child; key != NULL; key = key->next)
		if (node_equals(key, "version") && read_version(l, key) < 0)
			return -1;
	for (key = root->child; key != NULL; key = key->next)
		if (check_entry_at_top(l, key) < 0)
			return -1;
	return check_section(l, root, own_specs, "a Doorward policy", "");
}
