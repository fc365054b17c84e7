/*
 * Where a server's relative names may begin: what a command and a client say.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h> /* cmocka.h wants it */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cjson/cJSON.h>
#include <cmocka.h>

#include "bases.h"

static char top[PATH_MAX];

static int
set_up(void **state)
{
	char name[] = "/tmp/dw-bases-XXXXXX";
	char path[PATH_MAX + 16];
	FILE *f;

	(void)state;
	if (mkdtemp(name) == NULL || realpath(name, top) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/a", top);
	if (mkdir(path, 0700) != 0)
		return -1;
	snprintf(path, sizeof(path), "%s/b", top);
	if (mkdir(path, 0700) != 0)
		return -1;
	snprintf(path, sizeof(path), "%s/link", top);
	if (symlink("a", path) != 0)
		return -1;
	snprintf(path, sizeof(path), "%s/file", top);
	f = fopen(path, "we");
	return f == NULL ? -1 : fclose(f);
}

static int
tear_down(void **state)
{
	static const char *const names[] = {"/file", "/link", "/b", "/a", ""};
	char path[PATH_MAX + 16];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", top, names[i]);
		if (remove(path) != 0)
			return -1;
	}
	return 0;
}

/* What an argument with @ for the directory adds, names joined by blanks. */
static void
expect(const char *argument, const char *names)
{
	char text[4 * PATH_MAX] = "", got[4 * PATH_MAX] = "";
	char *argv[] = {text, NULL};
	struct bases b = {{NULL}, 0};
	const char *p;
	size_t i, n = 0;

	for (p = argument; *p != '\0'; p++) {
		if (*p == '@')
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s",
					      top);
		else
			text[n++] = *p;
	}
	text[n] = '\0';
	bases_command(&b, argv, top);
	for (i = 0, n = 0; i < b.n; i++) {
		assert_int_equal(strncmp(b.v[i], top, strlen(top)), 0);
		p = b.v[i] + strlen(top);
		n += (size_t)snprintf(got + n, sizeof(got) - n, "%s%s",
				      i > 0 ? " " : "", *p == '\0' ? "." : p);
	}
	assert_string_equal(got, names);
	bases_clear(&b);
	assert_int_equal(b.n, 0);
}

static void
test_command(void **state)
{
	(void)state;
	expect("@/a", "/a");
	expect("@/a/../b/", "/b");
	expect("@/link", "/a"); /* resolved */
	expect("@", ".");
	expect("~/b", "/b");
	expect("~b", "");
	expect("@/file", "");
	expect("@/none", "");
	expect("-y", "");
	expect("", "");
	expect("--root=@/a", "/a");
	expect("--roots=@/a,@/b,@/none", "/a /b");
	expect("@/a:@/b:ro", "/a /b");
	expect("type=bind,src=@/b,dst=/nowhere-at-all", "/b");
	expect("@/a,@/a", "/a"); /* once */
}

static void
test_many(void **state)
{
	struct bases b = {{NULL}, 0};
	cJSON *result = cJSON_CreateObject(), *root;
	cJSON *roots = cJSON_AddArrayToObject(result, "roots");
	char uri[64];
	size_t i;

	(void)state;
	for (i = 0; i < 10 * BASES_MAX; i++) {
		snprintf(uri, sizeof(uri), "file:///r/%zu", i / 2);
		root = cJSON_CreateObject();
		cJSON_AddStringToObject(root, "uri", uri);
		cJSON_AddItemToArray(roots, root);
	}
	bases_roots(&b, result);
	assert_int_equal(b.n, BASES_MAX);
	assert_string_equal(b.v[BASES_MAX - 1], "/r/63");
	bases_clear(&b);
	cJSON_Delete(result);
}

static void
test_roots(void **state)
{
	static const struct {
		const char *result, *names;
	} cases[] = {
	    {"{\"roots\":[{\"uri\":\"file:///a%20b\"},{\"uri\":\"file:///c\","
	     "\"name\":\"d\"}]}",
	     "/a b /c"},
	    {"{\"roots\":[{\"uri\":\"/plain\"},{\"uri\":\"relative\"},{\"uri\":"
	     "\"https://x.example/y\"},{\"uri\":\"file://host/x\"},{\"uri\":"
	     "\"file:///%00\"},{\"uri\":\"\"},{\"uri\":7},{},7]}",
	     "/plain"},
	    {"{\"roots\":{\"uri\":\"file:///a\"}}", ""},
	    {"{\"Roots\":[{\"uri\":\"file:///a\"}]}", ""},
	    {"[{\"uri\":\"file:///a\"}]", ""},
	    {"\"roots\"", ""},
	};
	struct bases b = {{NULL}, 0};
	char got[256];
	cJSON *v;
	size_t i, j, n;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		v = cJSON_Parse(cases[i].result);
		assert_non_null(v);
		bases_roots(&b, v);
		cJSON_Delete(v);
		got[0] = '\0';
		for (j = 0, n = 0; j < b.n; j++)
			n += (size_t)snprintf(got + n, sizeof(got) - n, "%s%s",
					      j > 0 ? " " : "", b.v[j]);
		assert_string_equal(got, cases[i].names);
		bases_clear(&b);
	}
	bases_roots(&b, NULL);
	assert_int_equal(b.n, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_command),
	    cmocka_unit_test(test_many),
	    cmocka_unit_test(test_roots),
	};

	return cmocka_run_group_tests_name("bases", tests, set_up, tear_down);
}
