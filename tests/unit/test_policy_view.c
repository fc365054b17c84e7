/*
 * What applies to a tool: layers, merging key by key, replacing, packs that
 * apply or not, and that it costs the same under many entries.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cjson/cJSON.h>
#include <cmocka.h>

#include "policy.h"
#include "call.h"
#include "entry.h"
#include "policy_help.h"
#include "view.h"

#define V1 "version: 1\n"

static const char mail[] =
    "pack: mail\nabout: Mail\nmatch: [\"@x/mail\", mail-server]\n"
    "checked: {\"@x/mail\": \"1.0\"}\n"
    "tools:\n"
    "  send: {exfiltrating: true, sink_params: [{to: address}], "
    "content_params: [body], max_calls: 9}\n"
    "  list: {reads: untrusted}\n"
    "  purge: {deletes: [id]}\n";
static const char chat[] =
    "pack: chat\nmatch: [chat-server]\ntools:\n"
    "  send: {exfiltrating: true, sink_params: {channel: container}, "
    "content_params: [text]}\n";

static struct policy_view *
view_of(const struct policy *p, const char *name, const char *schema,
	const char *const *command)
{
	cJSON *json = schema != NULL ? cJSON_Parse(schema) : NULL;
	struct policy_view *v;

	assert_true(schema == NULL || json != NULL);
	v = policy_view_new(p, name, strlen(name), json, command);
	cJSON_Delete(json);
	return v;
}

/* One line a merged entry's keys: "max_calls=5 ..." by place. */
static void
places(const struct entry *e, char *out, size_t size)
{
	size_t n = 0;
	int k;

	out[0] = '\0';
	for (k = 0; k < ENTRY_KEY_MAX; k++)
		if (entry_has(e, (enum entry_key)k))
			n += (size_t)snprintf(
			    out + n, size - n, "%s%s@%s:%zu", n ? " " : "",
			    entry_key_name((enum entry_key)k),
			    e->place[k].file != NULL ? e->place[k].file : "-",
			    e->place[k].line);
}

static void
merged_is(const struct policy *p, const char *name, const char *from,
	  const char *keys)
{
	struct policy_view *v = view_of(p, name, NULL, NULL);
	char got[1024];

	assert_string_equal(policy_view_from(v), from);
	if (keys == NULL) {
		assert_int_equal(policy_view_count(v), 0);
	} else {
		assert_int_equal(policy_view_count(v), 1);
		places(policy_view_entry(v, 0), got, sizeof(got));
		assert_string_equal(got, keys);
	}
	policy_view_free(v);
}

static void
test_merge(void **state)
{
	struct policy *p = good_layers(&(struct layers){
	    {"mail.yaml", mail},
	    {V1 "tools: {send: {max_calls: 5}}\n",
	     V1 "tools:\n  send: {trusted_destinations: [me@x.example]}\n"
		"  own: {max_calls: 1}\n"}});
	struct policy_view *v = view_of(p, "send", NULL, NULL);
	const struct entry *e;

	(void)state;
	merged_is(p, "send", "file",
		  "exfiltrating@mail.yaml:6 sink_params@mail.yaml:6 "
		  "content_params@mail.yaml:6 trusted_destinations@b.yaml:3 "
		  "max_calls@a.yaml:2");
	merged_is(p, "list", "pack", "reads@mail.yaml:7");
	merged_is(p, "own", "file", "max_calls@b.yaml:4");
	merged_is(p, "ow", "none", NULL);
	merged_is(p, "own2", "none", NULL);
	e = policy_view_entry(v, 0);
	assert_int_equal(e->exfiltrating, 1);
	assert_int_equal(e->max_calls, 5);
	assert_int_equal(e->nsinks, 1);
	assert_string_equal(e->sinks[0].param, "to");
	assert_int_equal(e->sinks[0].kind, SINK_ADDRESS);
	assert_string_equal(e->trusted.v[0], "me@x.example");
	assert_int_equal(e->on_tainted, ACTION_BLOCK);
	assert_int_equal(e->on_named, ACTION_ASK);
	assert_int_equal(e->on_unproven, ACTION_ASK);
	assert_string_equal(e->place[KEY_SINK_PARAMS].pack, "mail");
	assert_int_equal(e->place[KEY_SINK_PARAMS].format, FORMAT_PACK);
	assert_null(e->place[KEY_MAX_CALLS].pack);
	assert_int_equal(e->place[KEY_MAX_CALLS].format, FORMAT_OWN);
	policy_view_free(v);
	policy_free(p);
}

/* A later file's key wins, and an explicit default is a value like others. */
static void
test_later_wins(void **state)
{
	struct policy *p = good_layers(&(struct layers){
	    {"mail.yaml", mail},
	    {V1 "tools: {send: {exfiltrating: false, max_calls: 0}}\n",
	     V1 "tools: {send: {max_calls: 7}}\n"}});
	struct policy_view *v = view_of(p, "send", NULL, NULL);

	(void)state;
	assert_int_equal(policy_view_entry(v, 0)->exfiltrating, 0);
	assert_int_equal(policy_view_entry(v, 0)->max_calls, 7);
	assert_int_equal(policy_view_entry(v, 0)->nsinks, 1);
	policy_view_free(v);
	policy_free(p);
}

static void
test_replace(void **state)
{
	struct policy *p = good_layers(&(struct layers){
	    {"mail.yaml", mail},
	    {V1 "tools: {send: {max_calls: 5, write_params: [p]}}\n",
	     V1 "tools: {send: {replace: true, base: /srv}}\n",
	     V1 "tools: {send: {max_calls: 6}}\n"}});
	struct policy_view *v = view_of(p, "send", NULL, NULL);

	(void)state;
	merged_is(p, "send", "file", "max_calls@c.yaml:2 base@b.yaml:2");
	assert_int_equal(policy_view_layer_count(v), 4);
	assert_int_equal(policy_view_layer(v, 0)->state, LAYER_CUT);
	assert_string_equal(policy_view_layer(v, 0)->pack, "mail");
	assert_int_equal(policy_view_layer(v, 1)->state, LAYER_CUT);
	assert_int_equal(policy_view_layer(v, 2)->state, LAYER_APPLIES);
	assert_int_equal(policy_view_layer(v, 3)->state, LAYER_APPLIES);
	assert_string_equal(policy_view_layer(v, 3)->file, "c.yaml");
	policy_view_free(v);
	policy_free(p);
}

static void
test_bouncer_replaces(void **state)
{
	struct policy *p = good_layers(&(struct layers){
	    {"mail.yaml", mail},
	    {V1 "tools: {send: {on_unproven: deny}, list: {max_calls: 3}}\n",
	     "send: {exfiltrating: true}\n",
	     V1 "tools: {send: {max_calls: 2}}\n"}});

	(void)state;
	merged_is(p, "send", "file",
		  "exfiltrating@b.yaml:1 max_calls@c.yaml:2");
	merged_is(p, "list", "file", "max_calls@a.yaml:2 reads@mail.yaml:7");
	policy_free(p);
}

/* Which of two packs that know a tool count: names of those, by a comma. */
static void
packs_are(const struct policy *p, const char *schema,
	  const char *const *command, const char *packs)
{
	struct policy_view *v = view_of(p, "send", schema, command);
	char got[128] = "";
	const struct entry *e;
	const char *name;
	size_t i;

	for (i = 0; i < policy_view_count(v); i++) {
		e = policy_view_entry(v, i);
		assert_true(entry_has(e, KEY_MAX_CALLS));
		name = e->place[KEY_SINK_PARAMS].pack;
		if (!entry_has(e, KEY_SINK_PARAMS))
			name = "-";
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s",
			 i ? "," : "", name != NULL ? name : "fallback");
	}
	assert_string_equal(got, packs);
	policy_view_free(v);
}

#define TO "{\"type\":\"object\",\"properties\":{\"to\":{\"type\":\"string\"}}}"
#define CHANNEL "{\"properties\":{\"channel\":{},\"text\":{}}}"
#define BOTH "{\"properties\":{\"to\":{},\"channel\":{}}}"
#define L "{\"anyOf\":[{\"allOf\":["
#define R "]}]}"
#define OTHER "{\"properties\":{\"path\":{}}}"

static const struct layers two_packs = {
    {"p/mail.yaml", mail, "p/chat.yaml", chat},
    {V1 "tools: {send: {max_calls: 4}}\n"}};

static void
test_pack_by_schema(void **state)
{
	struct policy *p = good_layers(&two_packs);

	(void)state;
	packs_are(p, NULL, NULL, "chat,mail");
	packs_are(p, TO, NULL, "mail");
	packs_are(p, CHANNEL, NULL, "chat");
	packs_are(p, BOTH, NULL, "chat,mail");
	packs_are(p, OTHER, NULL, "-");
	packs_are(p, "{\"properties\":{}}", NULL, "-");
	packs_are(p, "{\"properties\":{\"To\":{},\"body2\":{}}}", NULL,
		  "fallback");
	/* One that the entry names in another key. */
	packs_are(p, "{\"properties\":{\"body\":{}}}", NULL, "mail");
	/* Alternatives; and what does not tell, counts as yes. */
	packs_are(p,
		  "{\"anyOf\":[{\"properties\":{\"x\":{}}},"
		  "{\"properties\":{\"to\":{}}}]}",
		  NULL, "mail,fallback");
	packs_are(p, "{\"allOf\":[{\"properties\":{\"x\":{}}}]}", NULL, "-");
	packs_are(p, "{\"type\":\"object\"}", NULL, "chat,mail");
	packs_are(p, "{\"$ref\":\"#/x\"}", NULL, "chat,mail,-");
	packs_are(p, "{\"oneOf\":[{\"$ref\":\"#/x\"}]}", NULL, "chat,mail,-");
	packs_are(p, "true", NULL, "chat,mail");
	packs_are(p, "{\"properties\":[]}", NULL, "chat,mail");
	/* Six levels are looked into, ten are not. */
	packs_are(p, L L L "{\"properties\":{}}" R R R, NULL, "-");
	packs_are(p, L L L L L "{\"properties\":{}}" R R R R R, NULL,
		  "chat,mail");
	policy_free(p);
}

static void
test_pack_by_command(void **state)
{
	static const char *const rows[][3] = {
	    {"@x/mail", NULL, "mail"},
	    {"@x/mail@1.2.3", NULL, "mail"},
	    {"@x/mail@latest", NULL, "mail"},
	    {"mail-server==2.0", NULL, "mail"},
	    {"--package=@x/mail@1", NULL, "mail"},
	    {"--package", "@x/mail", "mail"},
	    {"/usr/bin/mail-server", NULL, "mail"},
	    {"mail-server:latest", NULL, "mail"},
	    {"node", "/a/node_modules/@x/mail/dist/index.js", "mail"},
	    {"/a/node_modules/@x/mail", NULL, "mail"},
	    {"node_modules/chat-server/x.js", NULL, "chat"},
	    {"/v/site-packages/mail-server/__main__.py", NULL, "mail"},
	    {"@x/mail", "chat-server", "chat,mail"},
	    {"@x/mailer", NULL, "chat,mail"},
	    {"x/mail", NULL, "chat,mail"},
	    {"/srv/mail-server/run", NULL, "chat,mail"},
	    {"/a/node_modules/@x/mailer/x.js", NULL, "chat,mail"},
	    {"/a/node_modules/y/@x/mail/x.js", NULL, "chat,mail"},
	    {"xmail-server", NULL, "chat,mail"},
	    {"mail-server=x", NULL, "chat,mail"},
	    {"", NULL, "chat,mail"},
	};
	struct policy *p = good_layers(&two_packs);
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *const command[] = {"npx", "-y", rows[i][0],
					       rows[i][1], NULL};

		packs_are(p, BOTH, command, rows[i][2]);
		packs_are(p, NULL, command, rows[i][2]);
	}
	policy_free(p);
}

/* The command prefers among packs that apply by the schema, no others. */
static void
test_command_and_schema(void **state)
{
	static const char *const command[] = {"chat-server", NULL};
	struct policy *p = good_layers(&two_packs);
	struct policy_view *v = view_of(p, "send", TO, command);

	(void)state;
	packs_are(p, TO, command, "mail");
	packs_are(p, BOTH, command, "chat");
	assert_int_equal(policy_view_layer(v, 0)->state, LAYER_NO_PARAM);
	assert_int_equal(policy_view_layer(v, 0)->by_command, 1);
	assert_int_equal(policy_view_layer(v, 1)->state, LAYER_APPLIES);
	policy_view_free(v);
	v = view_of(p, "send", BOTH, command);
	assert_int_equal(policy_view_layer(v, 1)->state, LAYER_OTHER_PACK);
	policy_view_free(v);
	/* An entry that names no parameter applies whatever the schema is. */
	v = view_of(p, "list", OTHER, NULL);
	assert_string_equal(policy_view_from(v), "pack");
	policy_view_free(v);
	policy_free(p);
}

/* What a user wrote of destinations holds, whether its pack applies or not. */
static void
test_pack_that_does_not_apply(void **state)
{
	struct policy *p = good_layers(&(struct layers){
	    {"mail.yaml", mail},
	    {V1 "tools: {send: {trusted_destinations: [a@x.example]}}\n"}});
	struct policy *q = good_layers(&(struct layers){
	    {"mail.yaml", mail}, {V1 "tools: {send: {max_calls: 1}}\n"}});
	struct policy_view *v = view_of(p, "send", OTHER, NULL);

	(void)state;
	assert_int_equal(policy_view_layer(v, 0)->state, LAYER_NO_PARAM);
	assert_int_equal(policy_view_entry(v, 0)->exfiltrating, 1);
	assert_int_equal(policy_view_entry(v, 0)->nsinks, 0);
	assert_string_equal(
	    policy_view_entry(v, 0)->place[KEY_EXFILTRATING].file, "a.yaml");
	policy_view_free(v);
	v = view_of(q, "send", OTHER, NULL);
	assert_int_equal(policy_view_entry(v, 0)->exfiltrating, 0);
	policy_view_free(v);
	policy_free(p);
	policy_free(q);
}

/* Parameters within others, and keys that have a dot. */
static void
test_nested_params(void **state)
{
	static const char pack[] =
	    "pack: x\ntools: {t: {write_params: [files.path]}}\n";
	static const struct {
		const char *schema;
		int applies;
	} rows[] = {
	    {"{\"properties\":{\"files\":{\"properties\":{\"path\":{}}}}}", 1},
	    {"{\"properties\":{\"files\":{\"type\":\"array\",\"items\":"
	     "{\"properties\":{\"path\":{}}}}}}",
	     1},
	    {"{\"properties\":{\"files\":{\"anyOf\":[{\"type\":\"null\"},"
	     "{\"properties\":{\"name\":{}}}]}}}",
	     1},
	    {"{\"properties\":{\"files\":{\"properties\":{\"name\":{}}}}}", 0},
	    {"{\"properties\":{\"files.path\":{}}}", 1},
	    {"{\"properties\":{\"files\":{\"type\":\"string\"}}}", 1},
	    {"{\"properties\":{\"files\":{\"$ref\":\"#/d\"}}}", 1},
	    {"{\"properties\":{\"path\":{}}}", 0},
	    {"{\"properties\":{\"file\":{}}}", 0},
	};
	struct policy *p = good_layers(&(struct layers){{"x.yaml", pack}, {0}});
	struct policy_view *v;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		v = view_of(p, "t", rows[i].schema, NULL);
		assert_int_equal(strcmp(policy_view_from(v), "pack") == 0,
				 rows[i].applies);
		policy_view_free(v);
	}
	policy_free(p);
}

/* A schema that is deep or wide is read to a bound, and then counts as yes. */
static void
test_hostile_schema(void **state)
{
	struct policy *p = good_layers(&two_packs);
	cJSON *root = cJSON_CreateObject(), *at = root, *next, *props;
	struct policy_view *v;
	char name[32];
	int i;

	(void)state;
	for (i = 0; i < 100000; i++) {
		next = cJSON_CreateObject();
		cJSON_AddItemToObject(at, "items", next);
		at = next;
	}
	cJSON_AddItemToObject(at, "properties", cJSON_CreateObject());
	v = policy_view_new(p, "send", 4, root, NULL);
	assert_int_equal(policy_view_count(v), 2);
	policy_view_free(v);
	while ((next = cJSON_DetachItemFromObject(root, "items")) != NULL) {
		cJSON_Delete(root); /* without recursion */
		root = next;
	}
	cJSON_Delete(root);
	root = cJSON_CreateObject();
	props = cJSON_AddObjectToObject(root, "properties");
	for (i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		cJSON_AddItemToObject(props, name, cJSON_CreateNull());
	}
	v = policy_view_new(p, "send", 4, root, NULL);
	assert_int_equal(policy_view_count(v), 2);
	policy_view_free(v);
	cJSON_Delete(root);
	policy_free(p);
}

#define SENDING "{\"properties\":{\"recipient\":{\"type\":\"string\"}}}"

static void
fallback_is(const struct layers *l, const char *name, const char *schema,
	    const char *from)
{
	struct policy *p = good_layers(l);
	struct policy_view *v = view_of(p, name, schema, NULL);

	assert_string_equal(policy_view_from(v), from);
	if (strcmp(from, "fallback") == 0) {
		assert_int_equal(policy_view_count(v), 1);
		assert_int_equal(policy_view_layer_count(v), 0);
		assert_int_equal(policy_view_entry(v, 0)->exfiltrating, 1);
	}
	policy_view_free(v);
	policy_free(p);
}

static void
test_fallback(void **state)
{
	static const char name[] = "send_message";

	(void)state;
	fallback_is(&(struct layers){{0}, {0}}, name, SENDING, "fallback");
	fallback_is(&(struct layers){{0}, {0}}, name, NULL, "none");
	/* Not even by its name. */
	fallback_is(&(struct layers){{0}, {0}}, "delete_row", NULL, "none");
	fallback_is(&(struct layers){{0}, {V1 "packs: none\n"}}, name, SENDING,
		    "none");
	fallback_is(&(struct layers){{0}, {V1 "packs: []\n"}}, name, SENDING,
		    "fallback");
	fallback_is(&(struct layers){{0}, {V1 "tools: {send_message: {}}\n"}},
		    name, SENDING, "file");
	fallback_is(&(struct layers){{0}, {"other: {max_calls: 1}\n"}}, name,
		    SENDING, "fallback");
	/* In a Guard file both are off unless something says otherwise. */
	fallback_is(
	    &(struct layers){{0}, {"default_action: allow\nrules: []\n"}}, name,
	    SENDING, "none");
	fallback_is(&(struct layers){{0},
				     {"default_action: allow\nrules: []\n"
				      "packs: auto\n"}},
		    name, SENDING, "fallback");
	fallback_is(
	    &(struct layers){{0}, {"default_action: allow\nrules: []\n", V1}},
	    name, SENDING, "fallback");
}

/*
 * A file laid on top with some keys never takes a key away from below, and
 * none of its own gets lost: for each choice of keys below and above.
 */
static void
test_never_loses(void **state)
{
	static const char *const keys[] = {
	    "sink_params: [a]", "on_unproven: deny",
	    "max_calls: 1",     "write_params: [w]",
	    "base: /b",         "trusted_destinations: [x@y.example]"};
	static const enum entry_key which[] = {
	    KEY_SINK_PARAMS,  KEY_ON_UNPROVEN, KEY_MAX_CALLS,
	    KEY_WRITE_PARAMS, KEY_BASE,        KEY_TRUSTED_DESTINATIONS};
	char text[2][256];
	struct policy_view *v;
	struct policy *p;
	const struct entry *e;
	unsigned sets[2], below, above;
	size_t i, f;

	(void)state;
	for (below = 0; below < 64; below++) {
		for (above = 0; above < 64; above++) {
			sets[0] = below;
			sets[1] = above;
			for (f = 0; f < 2; f++) {
				strcpy(text[f], V1 "tools:\n t:\n");
				strcat(text[f], f == 0
						    ? "  exfiltrating: true\n"
						    : "  arg_patterns: {}\n");
				for (i = 0; i < 6; i++)
					if (sets[f] >> i & 1)
						sprintf(text[f] +
							    strlen(text[f]),
							"  %s\n", keys[i]);
			}
			p = good_layers(
			    &(struct layers){{0}, {text[0], text[1]}});
			v = view_of(p, "t", NULL, NULL);
			e = policy_view_entry(v, 0);
			assert_true(entry_has(e, KEY_EXFILTRATING));
			for (i = 0; i < 6; i++) {
				assert_int_equal(entry_has(e, which[i]),
						 (below | above) >> i & 1);
				if (entry_has(e, which[i]))
					assert_string_equal(
					    e->place[which[i]].file,
					    above >> i & 1 ? "b.yaml"
							   : "a.yaml");
			}
			policy_view_free(v);
			policy_free(p);
		}
	}
}

/* n rules and entries, t0 to tN; the last rule repeats the first's name. */
static struct policy *
many(size_t n)
{
	size_t i, len = 0, size = n * 96 + 64;
	char *text = malloc(size);
	struct policy *p;

	assert_non_null(text);
	len += (size_t)snprintf(text, size, V1 "rules:\n");
	for (i = 0; i < n; i++)
		len += (size_t)snprintf(text + len, size - len,
					"- {id: r%zu, tool: t%zu, action: "
					"%s}\n",
					i, i % (n - 1),
					i == n - 1 ? "block" : "allow");
	len += (size_t)snprintf(text + len, size - len, "tools:\n");
	for (i = 0; i < n; i++)
		len += (size_t)snprintf(text + len, size - len,
					"  t%zu: {max_calls: %zu}\n", i, i);
	p = good(text);
	free(text);
	return p;
}

static void
look_up(const struct policy *p, size_t i)
{
	struct policy_view *v;
	char name[32];

	snprintf(name, sizeof(name), "t%zu", i);
	v = view_of(p, name, NULL, NULL);
	assert_int_equal(policy_view_entry(v, 0)->max_calls, i);
	policy_view_free(v);
	assert_int_equal(tool(p, name).action, ACTION_ALLOW);
}

static void
test_many(void **state)
{
	struct policy *big = many(5000);
	size_t i;

	(void)state;
	for (i = 0; i < 5000; i++)
		if (i != 4999)
			look_up(big, i);
	assert_int_equal(tool(big, "t4999").by_default, 1);
	policy_free(big);
}

/* What a file says of a tool that no pack knows lies on the fallback. */
static void
test_on_fallback(void **state)
{
	static const struct {
		const char *text;
		int sends; /* the fallback's word still counts */
	} rows[] = {
	    {V1 "tools: {post: {max_calls: 4}}\n", 1},
	    {V1 "tools: {post: {exfiltrating: false}}\n", 0},
	    {V1 "tools: {post: {replace: true, max_calls: 4}}\n", 0},
	    {V1 "packs: none\ntools: {post: {max_calls: 4}}\n", 0},
	    {"post: {max_calls: 4}\n", 0}, /* Bouncer's: it replaces */
	};
	struct policy_view *v;
	struct policy *p;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		p = good(rows[i].text);
		v = view_of(p, "post", "{\"properties\":{\"webhook_url\":{}}}",
			    NULL);
		assert_int_equal(policy_view_count(v), 1);
		assert_int_equal(policy_view_entry(v, 0)->exfiltrating,
				 rows[i].sends);
		assert_string_equal(policy_view_from(v), "file");
		policy_view_free(v);
		/* Of an unknown schema nothing can be read. */
		v = view_of(p, "post", NULL, NULL);
		assert_int_equal(policy_view_entry(v, 0)->exfiltrating, 0);
		policy_view_free(v);
		policy_free(p);
	}
}

/* Another server's tool that has its name from one a pack knows. */
static void
test_stray(void **state)
{
#define STRAY "{\"properties\":{\"to\":{},\"webhook_url\":{}}}"
	static const struct {
		const char *schema, *command;
		size_t count;
	} rows[] = {
	    {STRAY, NULL, 2},
	    {STRAY, "other", 2},
	    {STRAY, "mail-server", 1}, /* the pack's server, by its command */
	    {"{\"properties\":{\"to\":{},\"body\":{}}}", NULL, 1},
	    {NULL, NULL, 2}, /* both packs, and no schema to ask */
	};
	const char *command[] = {NULL, NULL};
	struct policy *p = good_layers(&two_packs);
	struct policy_view *v;
	size_t i, j;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		command[0] = rows[i].command;
		v = view_of(p, "send", rows[i].schema,
			    rows[i].command != NULL ? command : NULL);
		assert_int_equal(policy_view_count(v), rows[i].count);
		assert_string_equal(policy_view_from(v), "file");
		/* What the file says holds for each. */
		for (j = 0; j < rows[i].count; j++)
			assert_int_equal(policy_view_entry(v, j)->max_calls, 4);
		policy_view_free(v);
	}
	policy_free(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_merge),
	    cmocka_unit_test(test_later_wins),
	    cmocka_unit_test(test_replace),
	    cmocka_unit_test(test_bouncer_replaces),
	    cmocka_unit_test(test_pack_by_schema),
	    cmocka_unit_test(test_pack_by_command),
	    cmocka_unit_test(test_command_and_schema),
	    cmocka_unit_test(test_pack_that_does_not_apply),
	    cmocka_unit_test(test_nested_params),
	    cmocka_unit_test(test_hostile_schema),
	    cmocka_unit_test(test_fallback),
	    cmocka_unit_test(test_never_loses),
	    cmocka_unit_test(test_many),
	    cmocka_unit_test(test_stray),
	    cmocka_unit_test(test_on_fallback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
