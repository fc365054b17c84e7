/*
 * What a change is said to be: what was widened, in words, in bounds, and
 * safe to show.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "proto/alloc.h"
#include "proto/buf.h"
#include "proto/text.h"

#include "canon.h"
#include "pins_diff.h"
#include "pins_model.h"
#include "pins.h"
#include "pins_help.h"

/* The one-line form of a change, through pins_difference() itself. */
static char *
difference(const char *was, const char *now)
{
	cJSON *a = tree_of(was), *b = tree_of(now);
	struct pin_entry entry = {.name = (char *)"\"t\""};
	struct pin_set set = {.known = 1, .e = &entry, .n = 1};
	struct pin_def def = {.len = 0};
	struct pin_key key = {"legacy", ""};
	struct pins p = {.state = PINS_READ};
	struct buf flat = BUF_INIT;
	char *text;

	assert_int_equal(canon_flatten(&flat, a, SIZE_MAX), 0);
	def.lines = flat.data;
	def.len = flat.len;
	entry.pin = &def;
	memcpy(set.era, "legacy", 7);
	p.d.sets = &set;
	p.d.nsets = 1;
	text = pins_difference(&p, &key, "t", 1, b);
	assert_non_null(text);
	assert_true(strlen(text) < 300);
	assert_true(text_utf8_valid(text, strlen(text)));
	buf_free(&flat);
	cJSON_Delete(a);
	cJSON_Delete(b);
	return text;
}

static void
says(const char *was, const char *now, const char *expected)
{
	char *text = difference(was, now);

	assert_string_equal(text, expected);
	free(text);
}

/* The same for what stands inside inputSchema. */
static void
schema_says(const char *was, const char *now, const char *expected)
{
	char *a = xasprintf("{\"name\":\"t\",\"inputSchema\":%s}", was);
	char *b = xasprintf("{\"name\":\"t\",\"inputSchema\":%s}", now);

	says(a, b, expected);
	free(a);
	free(b);
}

/* Something is wider one way and not the other. */
static void
wider(const char *was, const char *now)
{
	char *a = xasprintf("{\"name\":\"t\",\"inputSchema\":%s}", was);
	char *b = xasprintf("{\"name\":\"t\",\"inputSchema\":%s}", now);
	char *to = difference(a, b), *back = difference(b, a);

	if (strstr(to, "(widened)") == NULL)
		fail_msg("not wider: %s", to);
	if (strstr(back, "(widened)") != NULL)
		fail_msg("wider: %s", back);
	free(to);
	free(back);
	free(a);
	free(b);
}

#define T(hint, more)                                                \
	"{\"name\":\"t\",\"description\":\"Read\",\"inputSchema\":{" \
	"\"type\":\"object\",\"properties\":{\"id\":{\"type\":"      \
	"\"string\"}" more                                           \
	"},\"required\":[]},\"annotations\":{\"destructiveHint\":" hint "}}"

static void
case_055(void **state)
{
	(void)state;
	says(T("true", ""), T("false", ""),
	     "annotations/destructiveHint true -> false (widened)");
	says(T("true", ""),
	     T("true", ",\"callback_url\":{\"type\":\"string\"}"),
	     "inputSchema/properties gained callback_url, which sounds like a "
	     "destination (widened)");
	says(T("true", ",\"callback_url\":{\"type\":\"string\"}"),
	     T("true", ""), "inputSchema/properties lost callback_url");
}

static void
annotations(void **state)
{
	static const char none[] = "{\"name\":\"t\"}";
#define HINT(name, v) "{\"name\":\"t\",\"annotations\":{\"" name "\":" v "}}"

	(void)state;
	says(HINT("readOnlyHint", "false"), HINT("readOnlyHint", "true"),
	     "annotations/readOnlyHint false -> true (widened)");
	says(none, HINT("readOnlyHint", "true"),
	     "annotations/readOnlyHint absent -> true (widened)");
	says(HINT("readOnlyHint", "true"), HINT("readOnlyHint", "false"),
	     "annotations/readOnlyHint");
	says(HINT("readOnlyHint", "true"), none, "annotations removed");
	says(HINT("openWorldHint", "true"), HINT("openWorldHint", "false"),
	     "annotations/openWorldHint true -> false (widened)");
	says(none, HINT("destructiveHint", "false"),
	     "annotations/destructiveHint absent -> false (widened)");
	says(HINT("destructiveHint", "true"), none,
	     "annotations/destructiveHint true -> absent (widened)");
	says(HINT("destructiveHint", "false"), HINT("destructiveHint", "true"),
	     "annotations/destructiveHint");
	says(HINT("idempotentHint", "false"), HINT("idempotentHint", "true"),
	     "annotations/idempotentHint false -> true (widened)");
	says(HINT("title", "\"a\""), HINT("title", "\"b\""),
	     "annotations/title");
}

static void
members(void **state)
{
	(void)state;
	says("{\"name\":\"t\",\"description\":\"a\"}",
	     "{\"name\":\"t\",\"description\":\"b\",\"title\":\"T\","
	     "\"icons\":[{\"src\":\"a\",\"x\":1}]}",
	     "description; icons added; title added");
	says("{\"name\":\"t\",\"outputSchema\":{\"a\":1,\"b\":2}}",
	     "{\"name\":\"t\"}", "outputSchema removed");
	says("{\"name\":\"t\",\"_meta\":{\"a\":{\"b\":1}}}",
	     "{\"name\":\"t\",\"_meta\":{\"a\":{\"b\":1.0,\"c\":[]}}}",
	     "_meta/a/b; _meta/a/c added");
	says("{\"name\":\"t\"}",
	     "{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"}}",
	     "inputSchema added");
	says("{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"}}",
	     "{\"name\":\"t\"}", "inputSchema removed (widened)");
	/* What has the same lines is not the same. */
	says("{\"name\":\"t\",\"x\":[1]}", "{\"name\":\"t\",\"x\":{\"0\":1}}",
	     "the same values in another structure");
	/* A member that only begins like it is another one. */
	says("{\"name\":\"t\",\"inputSchema-2\":{\"enum\":[1]}}",
	     "{\"name\":\"t\",\"inputSchema-2\":{\"enum\":[1,2]}}",
	     "inputSchema-2/enum/1 added");
}

static void
properties(void **state)
{
	(void)state;
	schema_says("{\"properties\":{\"a\":{}}}",
		    "{\"properties\":{\"a\":{},\"savePath\":{},\"n\":{"
		    "\"minimum\":1}}}",
		    "inputSchema/properties gained n (widened); "
		    "inputSchema/properties gained savePath, which sounds "
		    "like a path (widened)");
	schema_says("{\"properties\":{\"a\":{\"properties\":{\"x\":{}}}}}",
		    "{\"properties\":{\"a\":{\"properties\":{\"x\":{},"
		    "\"BCC\":{}}}}}",
		    "inputSchema/properties/a/properties gained BCC, which "
		    "sounds like a destination (widened)");
	/* A property may be called like a keyword. */
	schema_says("{\"properties\":{\"required\":{\"type\":\"string\"}}}",
		    "{\"properties\":{\"required\":{\"type\":\"string\"},"
		    "\"enum\":{\"const\":\"x\"}}}",
		    "inputSchema/properties gained enum (widened)");
	schema_says("{\"type\":\"object\"}",
		    "{\"type\":\"object\",\"properties\":{\"a\":{}}}",
		    "inputSchema/properties gained a (widened)");
	/* One that begins like another. */
	schema_says("{\"properties\":{\"to-all\":{\"type\":\"string\"}}}",
		    "{\"properties\":{\"to-all\":{\"type\":\"string\"},"
		    "\"to\":{\"type\":\"string\"}}}",
		    "inputSchema/properties gained to, which sounds like a "
		    "destination (widened)");
	schema_says("{\"$defs\":{\"d\":{\"properties\":{\"a\":{}}}}}",
		    "{\"$defs\":{\"d\":{\"properties\":{\"a\":{},\"b\":{}}}}}",
		    "inputSchema/$defs/d/properties gained b (widened)");
	schema_says("{\"properties\":{\"a\":{\"items\":{\"properties\":{"
		    "\"x\":{}}}}}}",
		    "{\"properties\":{\"a\":{\"items\":{\"properties\":{"
		    "\"x\":{},\"url\":{}}}}}}",
		    "inputSchema/properties/a/items/properties gained url, "
		    "which sounds like a destination (widened)");
	schema_says("{\"properties\":{\"a\":{\"description\":\"x\"}}}",
		    "{\"properties\":{\"a\":{\"description\":\"y\"}}}",
		    "inputSchema/properties/a/description");
}

static void
lists(void **state)
{
	(void)state;
	schema_says("{\"properties\":{\"a\":{},\"b\":{}},\"required\":[\"a\","
		    "\"b\"]}",
		    "{\"properties\":{\"a\":{},\"b\":{}},\"required\":[\"b\"]}",
		    "inputSchema: a no longer required (widened)");
	schema_says("{\"required\":[\"b\"],\"properties\":{\"a\":{},\"b\":{}}}",
		    "{\"required\":[\"b\",\"a\"],\"properties\":{\"a\":{},"
		    "\"b\":{}}}",
		    "inputSchema: a now required");
	schema_says("{\"required\":[\"a\"],\"properties\":{\"a\":{}}}",
		    "{\"properties\":{\"a\":{}}}",
		    "inputSchema: a no longer required (widened)");
	/* It is required no longer since it is no more. */
	schema_says("{\"required\":[\"a\"],\"properties\":{\"a\":{},\"b\":{}}}",
		    "{\"required\":[],\"properties\":{\"b\":{}}}",
		    "inputSchema/properties lost a");
	schema_says("{\"enum\":[\"a\",\"b\"]}", "{\"enum\":[\"c\",\"a\"]}",
		    "inputSchema: enum gained c (widened); inputSchema: enum "
		    "lost b");
	schema_says("{\"enum\":[\"a\",\"b\"]}", "{\"enum\":[\"b\",\"a\",1]}",
		    "inputSchema: enum gained 1 (widened)");
	schema_says("{\"enum\":[\"a\"]}", "{\"title\":\"x\"}",
		    "inputSchema: enum removed (widened); inputSchema/title "
		    "added");
	schema_says("{\"type\":\"string\"}", "{\"type\":[\"string\",\"null\"]}",
		    "inputSchema: type gained null (widened)");
	schema_says("{\"type\":\"number\"}", "{\"type\":\"integer\"}",
		    "inputSchema: type lost number");
	schema_says("{\"type\":\"integer\"}", "{\"type\":\"number\"}",
		    "inputSchema: type gained number (widened); inputSchema: "
		    "type lost integer");
}

static void
limits(void **state)
{
	(void)state;
	wider("{\"additionalProperties\":false}", "{}");
	wider("{\"additionalProperties\":false}",
	      "{\"additionalProperties\":true}");
	wider("{\"additionalProperties\":false}",
	      "{\"additionalProperties\":{\"type\":\"string\"}}");
	wider("{\"additionalProperties\":{\"type\":\"string\"}}",
	      "{\"additionalProperties\":true}");
	wider("{\"unevaluatedProperties\":false}", "{\"a\":1}");
	wider("{\"minimum\":1}", "{\"minimum\":0}");
	wider("{\"minimum\":1}", "{\"minimum\":-1e3}");
	wider("{\"minimum\":1}", "{\"x\":1}");
	wider("{\"maximum\":1}", "{\"maximum\":1.5}");
	wider("{\"maximum\":1}", "{\"x\":1}");
	wider("{\"maxLength\":9}", "{\"maxLength\":10}");
	wider("{\"minItems\":10}", "{\"minItems\":9}");
	wider("{\"exclusiveMaximum\":9}", "{\"exclusiveMaximum\":1e99}");
	wider("{\"pattern\":\"a\"}", "{\"x\":1}");
	wider("{\"format\":\"email\"}", "{\"x\":1}");
	wider("{\"const\":1}", "{\"x\":1}");
	wider("{\"$ref\":\"#/$defs/a\"}", "{\"x\":1}");
	wider("{\"properties\":{\"a\":{\"items\":{\"maximum\":1}}}}",
	      "{\"properties\":{\"a\":{\"items\":{\"maximum\":2}}}}");
	wider("{\"properties\":{\"a\":{\"type\":\"string\"}}}",
	      "{\"properties\":{\"a\":{}}}");
	wider("{\"anyOf\":[{\"type\":\"string\"}]}",
	      "{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}");
	wider("{\"allOf\":[{\"type\":\"string\"},{\"minLength\":1}]}",
	      "{\"allOf\":[{\"type\":\"string\"}]}");
	wider("{\"oneOf\":[{\"type\":\"string\"}]}", "{\"x\":1}");
	schema_says("{\"pattern\":\"^a$\"}", "{\"pattern\":\"a\"}",
		    "inputSchema: pattern changed (widened)");
	schema_says("{\"maximum\":9}", "{\"maximum\":\"many\"}",
		    "inputSchema: maximum changed (widened)");
	schema_says("{\"format\":\"email\"}", "{\"format\":\"idn-email\"}",
		    "inputSchema: format changed (widened)");
	/* Below a "not" less is more. */
	schema_says("{\"not\":{\"maximum\":9}}", "{\"not\":{\"maximum\":8}}",
		    "inputSchema/not: maximum changed (widened)");
	schema_says("{\"not\":{\"enum\":[1,2]}}", "{\"not\":{\"enum\":[1]}}",
		    "inputSchema/not: enum lost 2 (widened)");
	schema_says("{\"properties\":{\"a\":false}}",
		    "{\"properties\":{\"a\":true}}",
		    "inputSchema/properties/a: another schema altogether "
		    "(widened)");
	schema_says("true", "{\"type\":\"object\"}",
		    "inputSchema: another schema altogether; inputSchema: "
		    "type added");
}

/* A reason is one short line, whatever was changed. */
static void
bounded(void **state)
{
	struct buf b = BUF_INIT;
	char *text;
	size_t i;

	(void)state;
	buf_puts(&b, "{\"name\":\"t\",\"inputSchema\":{\"properties\":{");
	for (i = 0; i < 1500; i++)
		buf_printf(&b,
			   "%s\"p%zu\\n\\u202e\xe2\x82\xac%0200d\":"
			   "{\"enum\":[1,2]}",
			   i ? "," : "", i, 0);
	buf_puts(&b, "}}}");
	buf_putc(&b, '\0');
	text = difference("{\"name\":\"t\",\"inputSchema\":{\"type\":\"x\"}}",
			  b.data);
	assert_non_null(strstr(text, "gained p0\\n\\u202e"));
	assert_non_null(strstr(text, "(widened)"));
	assert_non_null(strstr(text, " more"));
	for (i = 0; text[i] != '\0'; i++)
		assert_true((unsigned char)text[i] >= 0x20);
	free(text);
	buf_free(&b);
}

/* A long list is compared as a set, in time. */
static void
long_enum(void **state)
{
	struct buf a = BUF_INIT, b = BUF_INIT;
	size_t i;

	(void)state;
	buf_puts(&a, "{\"enum\":[0");
	buf_puts(&b, "{\"enum\":[0");
	for (i = 1; i < 30000; i++) {
		buf_printf(&a, ",%zu", i);
		buf_printf(&b, ",%zu", 30001 - i);
	}
	buf_puts(&a, "]}");
	buf_puts(&b, "]}");
	buf_putc(&a, '\0');
	buf_putc(&b, '\0');
	schema_says(a.data, b.data,
		    "inputSchema: enum gained 30000 (widened); inputSchema: "
		    "enum lost 1");
	buf_free(&a);
	buf_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(case_055), cmocka_unit_test(annotations),
	    cmocka_unit_test(members),  cmocka_unit_test(properties),
	    cmocka_unit_test(lists),    cmocka_unit_test(limits),
	    cmocka_unit_test(bounded),  cmocka_unit_test(long_enum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
