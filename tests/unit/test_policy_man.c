/*
 * doorward.yaml(5) against the loader: every key is described, the built-in
 * words are those that are hidden.  Runs in the source's top directory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "policy.h"
#include "policy_help.h"

static char page[65536];

static int
read_page(void **state)
{
	FILE *f = fopen("man/doorward.yaml.5", "r");
	size_t n;

	(void)state;
	if (f == NULL)
		return -1;
	n = fread(page, 1, sizeof(page) - 1, f);
	page[n] = '\0';
	fclose(f);
	return n == 0 || n == sizeof(page) - 1;
}

static void
described(const char *key, size_t len)
{
	char item[64];

	snprintf(item, sizeof(item), "\n.It Ic %.*s : ", (int)len, key);
	/* read, write and network of the sandbox stand in a sentence. */
	if (strstr(page, item) == NULL) {
		snprintf(item, sizeof(item), "\n.Ic %.*s\n", (int)len, key);
		if (strstr(page, item) == NULL) {
			print_error("no \"%.*s\" in the page\n", (int)len, key);
			fail();
		}
	}
}

/* An unknown key brings a list of the known ones; how many there are. */
static size_t
all_described(const char *text)
{
	struct policy_text t = {"p.yaml", text, strlen(text)};
	struct policy_error err;
	const char *p;
	size_t len, n = 0;

	assert_null(policy_load_text(&t, 1, NULL, 0, &err));
	p = strstr(err.text, "; its keys are ");
	assert_non_null(p);
	p += strlen("; its keys are ");
	while (*p != '\0') {
		len = strcspn(p, ", ");
		described(p, len);
		n++;
		p += len;
		p += strspn(p, ", ");
		if (strncmp(p, "and ", 4) == 0)
			p += 4;
	}
	policy_error_clear(&err);
	return n;
}

static void
test_keys(void **state)
{
	static const struct {
		const char *text;
		size_t keys;
	} rows[] = {
	    {"version: 1\nzzzzzz: 1\n", 15},
	    {"version: 1\nrules: [{zzzzzz: 1}]\n", 4},
	    {"version: 1\ntools: {t: {zzzzzz: 1}}\n", 19},
	    {"version: 1\nflows: {zzzzzz: 1}\n", 1},
	    {"version: 1\napproval: {zzzzzz: 1}\n", 5},
	    {"version: 1\npins: {zzzzzz: 1}\n", 3},
	    {"version: 1\nledger: {zzzzzz: 1}\n", 1},
	    {"version: 1\nserver: {zzzzzz: 1}\n", 1},
	    {"version: 1\nserver: {sandbox: {zzzzzz: 1}}\n", 3},
	    {"version: 1\naudit: {zzzzzz: 1}\n", 5},
	    {"version: 1\nreceipts: {zzzzzz: 1}\n", 3},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(all_described(rows[i].text), rows[i].keys);
}

static void
test_words(void **state)
{
	static const char head[] = "words, which are\n";
	struct policy *p = good("version: 1\n");
	const char *at = strstr(page, head);
	size_t len, n = 0;

	(void)state;
	assert_non_null(at);
	at += strlen(head);
	while (strncmp(at, "and cannot", 10) != 0) {
		if (strncmp(at, ".Li ", 4) == 0) {
			at += 4;
			len = strcspn(at, " ,\n");
			assert_true(policy_redacts(p, at, len));
			n++;
		}
		at += strcspn(at, "\n") + 1;
	}
	assert_int_equal(n, 10);
	policy_free(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_keys),
	    cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, read_page, NULL);
}
