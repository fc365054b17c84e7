/*
 * The policy loader on any bytes, as a policy and as a pack.  What it takes
 * has to answer every question; what it refuses has to come with a place
 * inside the text and with words; the same bytes have to give the same result
 * twice; and a tool that some layer speaks of has to be found.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "policy.h"
#include "call.h"
#include "entry.h"
#include "model.h"
#include "view.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Below every policy: what an entry may rest on. */
static const char rest[] =
    "pack: rest\nmatch: [rest]\ntools:\n"
    "  t: {exfiltrating: true, sink_params: [to], write_params: [p.q]}\n";
static const char schema_text[] =
    "{\"properties\":{\"to\":{},\"p\":{\"items\":{\"properties\":{}}}}}";

static void
need(int holds)
{
	if (!holds)
		abort();
}

/* What is merged has each key that one of its layers gives, and no other but
 * the fallback's. */
static void
check_merged(const struct policy_view *v)
{
	const struct policy_layer *l;
	int k, given, assumed;
	size_t i, j;

	if (strcmp(policy_view_from(v), "fallback") == 0)
		return;
	for (k = 0; k < ENTRY_KEY_MAX; k++) {
		given = 0;
		assumed = k == KEY_EXFILTRATING || policy_view_has_fallback(v);
		for (i = 0; i < policy_view_layer_count(v); i++) {
			l = policy_view_layer(v, i);
			given |= l->state == LAYER_APPLIES &&
				 entry_has(l->entry, (enum entry_key)k);
		}
		for (j = 0; j < policy_view_count(v); j++)
			if (entry_has(policy_view_entry(v, j),
				      (enum entry_key)k)) {
				need(given || assumed);
				given = 2;
			}
		need(given != 1);
	}
}

static void
ask_tool(const struct policy *p, const char *name, size_t len,
	 const cJSON *schema)
{
	static const char *const command[] = {"npx", "rest@1", NULL};
	struct policy_view *v =
	    policy_view_new(p, name, len, schema, schema ? command : NULL);

	need((policy_view_count(v) == 0) ==
	     (strcmp(policy_view_from(v), "none") == 0));
	check_merged(v);
	policy_view_free(v);
}

static void
ask_entries(const struct policy *p)
{
	cJSON *schema = cJSON_Parse(schema_text);
	const struct entry *e;
	size_t i;

	for (i = 0; i < p->nsaid && i < 64; i++) {
		e = &p->said[i].entry;
		need(e->tool_len > 0 && strlen(e->tool) == e->tool_len);
		ask_tool(p, e->tool, e->tool_len, NULL);
		ask_tool(p, e->tool, e->tool_len, schema);
		need(p->said[i].pack != NO_PACK ||
		     index_find(&p->said_index, e->tool, e->tool_len) <= i);
	}
	ask_tool(p, "send_mail", 9, schema);
	cJSON_Delete(schema);
}

static void
ask(struct policy *p, const char *data, size_t size)
{
	struct policy_opinion o;
	int named;
	size_t i;

	o = policy_tool(p, data, size);
	need(o.source.rule != NULL && o.action <= ACTION_BLOCK);
	for (i = 0; i < p->nrules && i < 64; i++) {
		o = policy_tool(p, p->rules[i].tool, p->rules[i].tool_len);
		need(!o.by_default);
	}
	o = policy_tool(p, "delete_all", 10);
	need(o.source.rule != NULL);
	o = policy_method(p, data, size, &named);
	need(o.by_default == !named);
	policy_redacts(p, data, size);
	need(policy_redacts(p, "api-key", 7));
	ask_entries(p);
	policy_lint(p);
	for (i = 0; i < policy_warning_count(p); i++)
		need(policy_warning(p, i)[0] != '\0');
	need(strlen(policy_hash(p)) == 64);
}

static void
check_error(const struct policy_error *e, const char *data, size_t size)
{
	size_t lines = 1, i;
	char *text = policy_error_format(e);

	for (i = 0; i < size; i++)
		lines += data[i] == '\n' || data[i] == '\r';
	/* The end of the last line counts as the line after it. */
	need(e->line <= lines + 1 && e->column <= size + 1);
	need(e->file != NULL && text[0] != '\0');
	free(text);
}

/* n copies over each other, over the packs; 1 if they are taken. */
static int
load(const char *bytes, size_t size, size_t n, const struct policy_text *packs,
     size_t npacks, int *layered)
{
	const struct policy_text texts[] = {{"a", bytes, size},
					    {"b", bytes, size}};
	struct policy_error err;
	struct policy *p = policy_load_text(texts, n, packs, npacks, &err);
	int taken = p != NULL;

	if (taken)
		ask(p, bytes, size);
	else
		check_error(&err, bytes, size);
	*layered = err.layered;
	policy_free(p);
	policy_error_clear(&err);
	return taken;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = size > 0 ? (const char *)data : "";
	const struct policy_text packs[] = {
	    {"d/rest.yaml", rest, sizeof(rest) - 1}, {"d/x.yaml", bytes, size}};
	int taken, layered;

	/* Over itself it has to be right exactly if it is right alone. */
	taken = load(bytes, size, 1, NULL, 0, &layered);
	if (!taken && layered)
		load(bytes, size, 1, packs, 1, &layered);
	else
		need(load(bytes, size, 2, packs, 1, &layered) == taken);
	load(bytes, size, 0, packs, 2, &layered);
	return 0;
}
