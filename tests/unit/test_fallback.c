/*
 * The fallback: what names say, schemas of every shape, and each tool of ten
 * real servers against a table (tests/data/fallback).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cjson/cJSON.h>
#include <cmocka.h>

#include "policy.h"
#include "entry.h"
#include "call.h"
#include "fallback.h"
#include "verbs.h"
#include "judge_help.h"

#define TOOLS "tests/data/tools/"
#define EXPECTED "tests/data/fallback/expected.txt"

/* An entry as the table has it. */
static void
describe(const struct entry *e, char *out, size_t size)
{
	static const char *const kinds[] = {"?", "address", "container", "link",
					    "opaque"};
	size_t i, n = 0;

	out[0] = '\0';
	if (e == NULL)
		return;
	if (e->exfiltrating)
		n += (size_t)snprintf(out + n, size - n, " sends");
	for (i = 0; i < e->nsinks; i++)
		n += (size_t)snprintf(out + n, size - n, " %s:%s",
				      e->sinks[i].param,
				      kinds[e->sinks[i].kind]);
	if (e->write_params.n > 0)
		n += (size_t)snprintf(out + n, size - n, " writes");
	for (i = 0; i < e->write_params.n; i++)
		n += (size_t)snprintf(out + n, size - n, " %s",
				      e->write_params.v[i]);
	if (entry_has(e, KEY_MAX_CALLS))
		snprintf(out + n, size - n, " max %u", (unsigned)e->max_calls);
}

static void
describe_tool(const char *tool, const cJSON *schema, char *out, size_t size)
{
	struct entry *e = fallback_entry(tool, strlen(tool), schema);

	describe(e, out, size);
	if (e == NULL)
		return;
	assert_string_equal(e->tool, tool);
	assert_null(e->place[KEY_EXFILTRATING].file);
	entry_clear(e);
	free(e);
}

/* The schema is an object with these properties. */
static void
expect(const char *tool, const char *properties, const char *said)
{
	char text[4096], out[1024];
	cJSON *schema;

	snprintf(text, sizeof(text),
		 "{\"type\":\"object\",\"properties\":{%s}}", properties);
	schema = json(text);
	describe_tool(tool, schema, out, sizeof(out));
	cJSON_Delete(schema);
	if (strcmp(out[0] == ' ' ? out + 1 : out, said) == 0)
		return;
	print_error("%s {%s}:\n  \"%s\", not \"%s\"\n", tool, properties, out,
		    said);
	fail();
}

#define S "{\"type\":\"string\"}"

static void
test_destinations(void **state)
{
	(void)state;
	expect("send_email", "\"to\":" S ",\"body\":" S, "sends to:address");
	expect("sendEmail", "\"toAddress\":" S, "sends toAddress:address");
	expect("send-email", "\"to-emails\":" S, "sends to-emails:address");
	expect("sendMail", "\"recipientEmail\":" S,
	       "sends recipientEmail:address");
	expect("notify", "\"webhook_url\":" S, "sends webhook_url:address");
	expect("list_jobs", "\"callbackUrl\":" S, "sends callbackUrl:address");
	expect("send_sms", "\"phone_number\":" S ",\"text\":" S,
	       "sends phone_number:address");
	expect("transfer", "\"iban\":" S ",\"amount\":{\"type\":\"number\"}",
	       "sends iban:address");
	expect("transfer_money", "\"from\":" S ",\"to\":" S,
	       "sends to:address");
	expect("post_message", "\"channel\":" S ",\"text\":" S,
	       "sends channel:container");
	expect("send_message", "\"chat_id\":{\"type\":\"integer\"},\"text\":" S,
	       "sends chat_id:container");
	expect("send_dm", "\"user_id\":" S ",\"text\":" S,
	       "sends user_id:address");
	expect("share_document", "\"id\":" S ",\"emails\":{\"type\":\"array\"}",
	       "sends emails:address");
	expect("create_event", "\"attendees\":{\"type\":\"array\"}",
	       "sends attendees:address");
	expect("create_issue", "\"repo\":" S ",\"owner\":" S ",\"body\":" S,
	       "sends repo:container owner:container");
	expect("mailer", "\"email\":" S, "sends email:address");
}

static void
test_links(void **state)
{
	(void)state;
	expect("fetch", "\"url\":" S, "sends url:link");
	expect("get_page", "\"url\":" S, "sends url:link");
	expect("http_post", "\"url\":" S ",\"body\":" S, "sends url:address");
	expect("navigate", "\"uri\":" S, "sends uri:link");
	expect("get_resource", "\"uri\":" S, "");
	expect("insert_image", "\"imageUrl\":" S, "sends imageUrl:link");
	expect("list_commits", "\"repo_url\":" S, "");
	expect("style_text", "\"linkUrl\":" S, "");
	expect("list_images", "\"image_url\":" S, "");
}

static void
test_no_destinations(void **state)
{
	(void)state;
	expect("search_emails", "\"from\":" S ",\"to\":" S, "");
	expect("search_emails", "\"from\":" S, "");
	expect("list_issues", "\"repo\":" S ",\"owner\":" S, "");
	expect("get_user", "\"email\":" S, "");
	expect("get_channel_history", "\"channel_id\":" S, "");
	expect("list_events", "\"from\":" S ",\"to\":" S, "");
	expect("translate", "\"text\":" S ",\"to\":" S, "");
	expect("convert_currency", "\"amount\":" S ",\"to\":" S, "");
	expect("create_relations", "\"from\":" S ",\"to\":" S, "");
	expect("create_contact", "\"name\":" S ",\"email\":" S, "");
	expect("add_reaction", "\"channel_id\":" S ",\"emoji\":" S, "");
	expect("create_branch", "\"owner\":" S ",\"repo\":" S ",\"name\":" S,
	       "");
	expect("send_email",
	       "\"to\":{\"type\":\"boolean\"},\"cc\":{\"type\":\"number\"}",
	       "");
	expect("set_mode", "\"to\":{\"enum\":[\"a\",\"b\"]}", "");
	expect("list_rates", "\"to\":{\"type\":\"string\",\"format\":\"date\"}",
	       "");
	expect("create_filter",
	       "\"criteria\":{\"type\":\"object\",\"properties\":{\"to\":" S
	       "}}",
	       "");
	expect("click", "\"target\":" S, "");
	expect("read_mail", "\"sender_email\":" S, "");
}

static void
test_paths(void **state)
{
	(void)state;
	expect("write_file", "\"path\":" S ",\"content\":" S, "writes path");
	expect("saveFile", "\"filePath\":" S, "writes filePath");
	expect("move_file", "\"source\":" S ",\"destination\":" S,
	       "writes source destination");
	expect("download", "\"url\":" S ",\"output_path\":" S,
	       "sends url:link writes output_path");
	expect("read_file", "\"path\":" S, "");
	expect("list_directory", "\"path\":" S, "");
	expect("edit_files",
	       "\"edits\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
	       "\"properties\":{\"path\":" S "}}}",
	       "writes edits.path");
	expect("write_file", "\"path\":{\"type\":\"number\"}", "");
}

static void
test_deletes(void **state)
{
	(void)state;
	expect("delete_file", "\"path\":" S, "writes path max 2");
	expect("batchDeleteItems", "", "max 2");
	expect("delete_and_notify", "\"to\":" S, "sends to:address max 2");
	expect("slack_remove_user", "\"email\":" S, "max 2");
	expect("purge_queue", "", "max 2");
	expect("drop_table", "", "max 2");
	expect("get_or_delete_user", "", "max 2");
	expect("browser_drop", "", "");
	expect("clear_selection", "", "");
	expect("list_deleted_items", "", "");
	expect("get_delete_status", "", "");
	expect("undelete_item", "", "");
}

static void
test_schemas(void **state)
{
	static const struct {
		const char *schema, *said;
	} all[] = {
	    {"{\"properties\":{\"m\":{\"type\":\"object\",\"properties\":"
	     "{\"to\":" S "}}}}",
	     " sends m.to:address"},
	    {"{\"properties\":{\"ms\":{\"type\":\"array\",\"items\":"
	     "{\"properties\":{\"to\":" S "}}}}}",
	     " sends ms.to:address"},
	    {"{\"anyOf\":[{\"properties\":{\"to\":" S "}},{\"properties\":"
	     "{\"cc\":" S "}}]}",
	     " sends to:address cc:address"},
	    {"{\"allOf\":[{\"oneOf\":[{\"properties\":{\"to\":" S "}}]}]}",
	     " sends to:address"},
	    {"{\"properties\":{\"m\":{\"$ref\":\"#/$defs/M\"}},\"$defs\":"
	     "{\"M\":{\"properties\":{\"to\":" S "}}}}",
	     " sends m.to:address"},
	    {"{\"$ref\":\"#/definitions/M\",\"definitions\":{\"M\":"
	     "{\"properties\":{\"to\":" S "}}}}",
	     " sends to:address"},
	    {"{\"properties\":{\"to\":{\"$ref\":\"#/$defs/F\"}},\"$defs\":"
	     "{\"F\":{\"type\":\"boolean\"}}}",
	     ""},
	    /* A tree that refers to itself ends. */
	    {"{\"properties\":{\"name\":" S ",\"sub\":{\"type\":\"array\","
	     "\"items\":{\"$ref\":\"#\"}}}}",
	     ""},
	    /* What cannot be seen counts as sending. */
	    {"{\"$ref\":\"https://example.com/x.json\"}", " sends"},
	    {"{\"properties\":{\"a\":{\"$ref\":\"#/$defs/none\"}}}", " sends"},
	    {"{\"additionalProperties\":{\"properties\":{\"to\":" S "}}}",
	     " sends to:address"},
	    {"{\"properties\":{\"m\":{\"additionalProperties\":{\"properties\":"
	     "{\"to\":" S "}}}}}",
	     " sends m:address"},
	    {"{\"properties\":{\"to\":{\"type\":[\"string\",\"null\"]}}}",
	     " sends to:address"},
	    {"{\"properties\":{\"to\":{\"anyOf\":[{\"type\":\"string\"},"
	     "{\"type\":\"null\"}]}}}",
	     " sends to:address"},
	    {"{\"properties\":{\"to\":true}}", " sends to:address"},
	    {"{}", ""},
	    {"true", ""},
	    {"[]", ""},
	    {"{\"properties\":[1,2]}", " sends"},
	    {"{\"properties\":[]}", ""},
	    {"{\"$dynamicRef\":\"#m\"}", " sends"},
	    {"{\"properties\":{\"m\":{\"$recursiveRef\":\"#\"}}}", " sends"},
	    {"{\"if\":{\"properties\":{\"to\":" S "}}}", " sends to:address"},
	    {"{\"dependencies\":{\"a\":[\"b\"],\"c\":{\"properties\":"
	     "{\"to\":" S "}}}}",
	     " sends to:address"},
	    {"{\"unevaluatedProperties\":{\"properties\":{\"to\":" S "}}}",
	     " sends to:address"},
	    {"{\"properties\":{\"to\":{\"type\":\"text\"}}}",
	     " sends to:address"},
	    {"{\"properties\":{\"to\":{\"type\":[\"null\",\"integer\"]}}}", ""},
	    {"{\"properties\":{\"to\":\"string\"}}", " sends to:address"},
	    {"{\"properties\":{\"to\":false}}", ""},
	};
	char out[1024];
	cJSON *schema;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		schema = json(all[i].schema);
		describe_tool("x", schema, out, sizeof(out));
		cJSON_Delete(schema);
		if (strcmp(out, all[i].said) != 0)
			print_error("%s\n", all[i].schema);
		assert_string_equal(out, all[i].said);
	}
	describe_tool("x", NULL, out, sizeof(out));
	assert_string_equal(out, "");
}

/* Schemas that grow without end cost no more than a bound, and then count as
 * sending. */
#define WIDE 60000u

/* cJSON compares no keys here, and finds the end at once. */
static void
add_last(cJSON *object, const char *name, cJSON *item)
{
	cJSON_AddItemToArray(object, item);
	item->string = strdup(name);
}

static void
test_bounds(void **state)
{
	char out[1024], name[16], ref[32];
	cJSON *schema = cJSON_CreateObject(), *defs, *one, *list, *at;
	size_t i, j;
	clock_t start;

	(void)state;
	/* Each definition is two of the next one. */
	defs = cJSON_AddObjectToObject(schema, "$defs");
	cJSON_AddStringToObject(schema, "$ref", "#/$defs/d0");
	for (i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "d%zu", i);
		snprintf(ref, sizeof(ref), "#/$defs/d%zu", i + 1);
		one = cJSON_AddObjectToObject(defs, name);
		list = cJSON_AddArrayToObject(one, "anyOf");
		for (j = 0; j < 2; j++) {
			at = cJSON_CreateObject();
			cJSON_AddStringToObject(at, "$ref", ref);
			cJSON_AddItemToArray(list, at);
		}
	}
	cJSON_AddObjectToObject(defs, "d20");
	describe_tool("x", schema, out, sizeof(out));
	assert_string_equal(out, " sends");
	cJSON_Delete(schema);
	/* Wide: each parameter is what stands last of as many. */
	schema = cJSON_CreateObject();
	defs = cJSON_AddObjectToObject(schema, "$defs");
	one = cJSON_AddObjectToObject(schema, "properties");
	for (i = 0, at = NULL; i < WIDE; i++) {
		snprintf(name, sizeof(name), "p%zu", i);
		add_last(defs, name, cJSON_CreateObject());
		at = cJSON_CreateObject();
		cJSON_AddStringToObject(at, "$ref", "#/$defs/p59999");
		add_last(one, name, at);
	}
	start = clock();
	describe_tool("x", schema, out, sizeof(out));
	assert_true(clock() - start < 10 * CLOCKS_PER_SEC);
	assert_string_equal(out, " sends");
	cJSON_Delete(schema);
	/* Nested deep. */
	schema = cJSON_CreateObject();
	for (i = 0, at = schema; i < 100; i++) {
		one = cJSON_AddObjectToObject(at, "properties");
		at = cJSON_AddObjectToObject(one, "a");
	}
	describe_tool("x", schema, out, sizeof(out));
	assert_string_equal(out, " sends");
	cJSON_Delete(schema);
}

/* Dotted names that end just at, or just beyond, the bytes that are kept. */
static void
test_long_places(void **state)
{
	char first[512], second[4], third[4096], out[1024];
	cJSON *schema, *at;
	size_t n, m;

	(void)state;
	memset(third, 'q', sizeof(third) - 1);
	third[sizeof(third) - 1] = '\0';
	for (n = 500; n < sizeof(first); n++) {
		for (m = 0; m < sizeof(second); m++) {
			memset(first, 'q', n);
			first[n] = '\0';
			memset(second, 'w', m);
			second[m] = '\0';
			schema = cJSON_CreateObject();
			at = cJSON_AddObjectToObject(schema, "properties");
			at = cJSON_AddObjectToObject(at, first);
			at = cJSON_AddObjectToObject(at, "properties");
			at = cJSON_AddObjectToObject(at, second);
			at = cJSON_AddObjectToObject(at, "properties");
			cJSON_AddObjectToObject(at, third);
			describe_tool("x", schema, out, sizeof(out));
			assert_string_equal(out, " sends");
			cJSON_Delete(schema);
		}
	}
}

static char *
read_all(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text;
	size_t n;

	if (f == NULL)
		print_error("%s: cannot be opened\n", path);
	assert_non_null(f);
	text = calloc(1, 1 << 20);
	assert_non_null(text);
	n = fread(text, 1, (1 << 20) - 1, f);
	assert_true(n > 0 && n < (1 << 20) - 1);
	fclose(f);
	return text;
}

/* One server's lines of the table; returns the first line after them. */
static char *
check_server(char *line, size_t *tools, int *wrong)
{
	char path[512], out[4096], *next = strchr(line, '\n'), *text, *name;
	cJSON *dump, *tool;

	*next = '\0';
	snprintf(path, sizeof(path), TOOLS "%s", line + 3);
	text = read_all(path);
	dump = cJSON_Parse(text);
	assert_non_null(dump);
	cJSON_ArrayForEach(tool, cJSON_GetObjectItem(dump, "tools"))
	{
		line = next + 1;
		next = strchr(line, '\n');
		assert_non_null(next);
		*next = '\0';
		name = cJSON_GetObjectItem(tool, "name")->valuestring;
		snprintf(out, sizeof(out), "%s", name);
		describe_tool(name, cJSON_GetObjectItem(tool, "inputSchema"),
			      out + strlen(out), sizeof(out) - strlen(out));
		if (strcmp(out, line) != 0) {
			print_error("is      %s\nhas to be %s\n", out, line);
			(*wrong)++;
		}
		(*tools)++;
	}
	cJSON_Delete(dump);
	free(text);
	return next + 1;
}

static void
test_real_tools(void **state)
{
	char *table = read_all(EXPECTED), *line = table;
	size_t tools = 0, servers = 0;
	int wrong = 0;

	(void)state;
	while (*line != '\0') {
		if (*line == '#') {
			line = strchr(line, '\n') + 1;
			continue;
		}
		assert_memory_equal(line, "== ", 3);
		line = check_server(line, &tools, &wrong);
		servers++;
	}
	assert_int_equal(wrong, 0);
	assert_int_equal(servers, 10);
	assert_int_equal(tools, 239);
	free(table);
}

static void
test_words(void **state)
{
	static const struct {
		const char *name, *words;
	} all[] = {
	    {"camelCase", "camel case"},
	    {"snake_case-kebab.dot x", "snake case kebab dot x"},
	    {"createDocFromHTML", "create doc from html"},
	    {"getURLList", "get url list"},
	    {"PDFWithSplit", "pdf with split"},
	    {"toEmail2", "to email 2"},
	    {"__", ""},
	    {"A", "a"},
	    {"Caf\xc3\xa9"
	     "Bar",
	     "caf\xc3\xa9 bar"},
	};
	struct words w;
	char out[256];
	size_t i, j;

	(void)state;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		words_split(&w, all[i].name, strlen(all[i].name));
		out[0] = '\0';
		for (j = 0; j < w.n; j++) {
			strcat(out, j > 0 ? " " : "");
			strcat(out, w.word[j]);
		}
		assert_string_equal(out, all[i].words);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_destinations),
	    cmocka_unit_test(test_links),
	    cmocka_unit_test(test_no_destinations),
	    cmocka_unit_test(test_paths),
	    cmocka_unit_test(test_deletes),
	    cmocka_unit_test(test_schemas),
	    cmocka_unit_test(test_bounds),
	    cmocka_unit_test(test_long_places),
	    cmocka_unit_test(test_real_tools),
	    cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
