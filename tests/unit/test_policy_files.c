/*
 * Policy files on disk: which are read, which are refused, what is warned of,
 * what `doorward policy check` makes of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "proto/alloc.h"

#include "policy.h"
#include "cmds.h"
#include "command_help.h"
#include "paths.h"

#define V1 "version: 1\n"

/* SHA-256 of nothing, of a.yaml, of a.yaml and b.yaml: each content after its
 * length in eight bytes, computed by another program. */
#define HASH0 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define HASH1 "c6753a245afb4b34b31055e3fb211083bd00c58b0a8a5393133fe25d7bd7e1a5"
#define HASH2 "da396e895d2da512cd689085daee9057f5b2fd78fc48fdaef614193779db23a5"

static void
refused(const char *path, const char *text)
{
	struct policy_error err;
	char *shown, *wanted = xasprintf("%s: %s", path, text);

	assert_null(policy_load(&path, 1, NULL, &err));
	shown = policy_error_format(&err);
	assert_string_equal(shown, wanted);
	free(shown);
	free(wanted);
	policy_error_clear(&err);
	assert_null(err.file);
	assert_null(err.text);
}

static size_t
open_descriptors(void)
{
	size_t n = 0;
	int fd;

	for (fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void
test_no_file(void **state)
{
	char *loop = xasprintf("%s/loop", dir), *fifo = xasprintf("%s/f", dir);
	char *missing = xasprintf("%s/missing", dir);
	size_t before = open_descriptors();

	(void)state;
	refused(missing, "the policy cannot be read: No such file or "
			 "directory");
	assert_int_equal(symlink("loop", loop), 0);
	refused(loop, "the policy cannot be read: Too many levels of symbolic "
		      "links");
	refused(dir, "not a regular file; a policy is one");
	refused("/dev/null", "not a regular file; a policy is one");
	/* Must not wait for somebody who writes. */
	assert_int_equal(mkfifo(fifo, 0600), 0);
	alarm(20);
	refused(fifo, "not a regular file; a policy is one");
	alarm(0);
	refused("", "the policy cannot be read: No such file or directory");
	assert_int_equal(open_descriptors(), before);
	free(loop);
	free(fifo);
	free(missing);
}

static void
test_too_large(void **state)
{
	char *path = put("large", V1);

	(void)state;
	assert_int_equal(truncate(path, 1024 * 1024 + 1), 0);
	refused(path, "a policy of more than 1048576 bytes; split it");
	assert_int_equal(truncate(path, (off_t)1 << 40), 0);
	refused(path, "a policy of more than 1048576 bytes; split it");
	free(path);
}

/* How many warnings a file of this mode and owner brings, and the first. */
static void
warned(const char *path, mode_t mode, const char *warning)
{
	struct policy_error err;
	struct policy *p;
	char *wanted;

	assert_int_equal(chmod(path, mode), 0);
	p = policy_load(&path, 1, NULL, &err);
	assert_non_null(p);
	if (warning == NULL) {
		assert_int_equal(policy_warning_count(p), 0);
	} else {
		wanted = xasprintf("%s: %s", path, warning);
		assert_int_equal(policy_warning_count(p), 1);
		assert_string_equal(policy_warning(p, 0), wanted);
		free(wanted);
	}
	policy_free(p);
}

static void
test_who_can_write(void **state)
{
	char *path = put("open", V1);

	(void)state;
	warned(path, 0600, NULL);
	warned(path, 0644, NULL);
	warned(path, 0664,
	       "others than its owner can write to it (mode "
	       "0664); chmod go-w");
	warned(path, 0602,
	       "others than its owner can write to it (mode "
	       "0602); chmod go-w");
	/* Only root can give a file away. */
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 12345, 12345), 0);
		warned(path, 0644,
		       "it belongs to another user (uid 12345), "
		       "who can change it at any time");
	}
	free(path);
}

static void
test_hash(void **state)
{
	char *a = put("a.yaml", V1), *b = put("b.yaml", V1 "mode: observe\n");
	const char *files[] = {a, b};
	struct policy_error err;
	struct policy *p = policy_load(NULL, 0, NULL, &err);

	(void)state;
	assert_string_equal(policy_hash(p), HASH0);
	policy_free(p);
	p = policy_load(files, 1, NULL, &err);
	assert_string_equal(policy_hash(p), HASH1);
	policy_free(p);
	p = policy_load(files, 2, NULL, &err);
	assert_string_equal(policy_hash(p), HASH2);
	assert_int_equal(policy_file_count(p), 2);
	assert_string_equal(policy_file(p, 0), a);
	assert_string_equal(policy_file(p, 1), b);
	policy_free(p);
	free(a);
	free(b);
}

/* A line that moves from one file to the next makes another hash. */
static void
test_hash_of_parts(void **state)
{
	static const struct policy_text one[] = {{"a", "version: 1\n\n", 12},
						 {"b", "version: 1\n", 11}};
	static const struct policy_text other[] = {{"a", "version: 1\n", 11},
						   {"b", "\nversion: 1\n", 12}};
	struct policy_error err;
	struct policy *p = policy_load_text(one, 2, NULL, 0, &err);
	struct policy *q = policy_load_text(other, 2, NULL, 0, &err);

	(void)state;
	assert_string_not_equal(policy_hash(p), policy_hash(q));
	policy_free(p);
	policy_free(q);
}

static void
test_check(void **state)
{
	char *a = put("a.yaml", V1 "mode: observe\nrules:\n"
				   "- {id: x, tool: \"*\", action: block}\n"
				   "- {id: y, tool: z, action: block}\n"
				   "tools: {u: {max_calls: 1}}\n"
				   "packs: [gmail, filesystem]\n");
	char *b = put("b.yaml", "default_action: require_approval\n"
				"rules:\n- {id: g, tool: h, action: allow}\n");
	const char *argv[] = {"policy", "check", a, b};
	char out[4096], err[4096], *wanted;

	(void)state;
	assert_int_equal(run(4, argv, out, err, sizeof(out)), 0);
	wanted = xasprintf(
	    "%s: Doorward's own format, 2 rules, 1 entry, mode observe, no "
	    "default action\n"
	    "%s: MCP Guard's format, 1 rule, 0 entries, no mode, default "
	    "action require_approval\n"
	    "in force: 3 rules, 1 entry, mode observe, default action "
	    "require_approval\n"
	    "packs: filesystem, gmail; fallback: on\n"
	    "warning: %s:5: rule \"y\": rule \"x\" (%s:4) comes first and "
	    "matches all of it, so that it is never reached\n"
	    "warning: %s:6: \"u\": rule \"x\" (%s:4) blocks the tool, so "
	    "that its entry changes nothing\n"
	    "ok\n",
	    a, b, a, a, a, a);
	assert_string_equal(out, wanted);
	assert_string_equal(err, "");
	free(wanted);
	free(a);
	free(b);
}

static void
test_check_mistakes(void **state)
{
	char *a = put("a.yaml", V1 "mode: x\n"), *b = put("b.yaml", V1 "x: 1");
	char *c = put("c.yaml", V1);
	const char *argv[] = {"policy", "check", "--state", dir, "--", a, c, b};
	char out[4096], err[4096], *wanted;

	(void)state;
	assert_int_equal(run(8, argv, out, err, sizeof(out)), 2);
	wanted = xasprintf("doorward: %s:2:7: mode: enforce or observe "
			   "expected, not \"x\"\n"
			   "doorward: %s:2:1: unknown key \"x\" in a Doorward "
			   "policy; its keys are version, mode, "
			   "default_action, packs, rules, methods, tools, "
			   "flows, typed, approval, pins, ledger, server, "
			   "audit and receipts\n",
			   a, b);
	assert_string_equal(err, wanted);
	assert_string_equal(out, "");
	free(wanted);
	free(a);
	free(b);
	free(c);
}

static void
test_check_default(void **state)
{
	const char *argv[] = {"policy", "check"};
	char out[4096], err[4096], *path = paths_default_policy();
	int there = access(path, F_OK) == 0;
	int status = run(2, argv, out, err, sizeof(out));

	(void)state;
	assert_true(strncmp(status == 2 ? err + strlen("doorward: ") : out,
			    path, strlen(path)) == 0);
	if (!there) {
		assert_int_equal(status, 0);
		assert_non_null(strstr(out, ": there is none, so the built-in "
					    "defaults hold\nin force: 0 rules, "
					    "0 entries, mode enforce, default "
					    "action allow\npacks: browser, "));
	}
	free(path);
}

static void
test_usage(void **state)
{
	static const char *const help[] = {"policy", "--help"};
	static const char *const check[] = {"policy", "check", "--help"};
	static const char *const later[] = {"policy", "suggest", "x"};
	static const char *const wrong[] = {"policy", "chek"};
	static const char *const option[] = {"policy", "check", "--yaml"};
	char out[4096], err[4096];

	(void)state;
	assert_int_equal(run(2, help, out, err, sizeof(out)), 0);
	assert_non_null(strstr(out, "usage: doorward policy check"));
	assert_string_equal(err, "");
	assert_int_equal(run(3, check, out, err, sizeof(out)), 0);
	assert_non_null(strstr(out, "usage: doorward policy check"));
	assert_int_equal(run(3, later, out, err, sizeof(out)), 2);
	assert_non_null(
	    strstr(err, "doorward: policy suggest is not built yet; this "
			"version has check"));
	assert_int_equal(run(2, wrong, out, err, sizeof(out)), 2);
	assert_string_equal(err, "doorward: policy: unknown command \"chek\"; "
				 "see doorward policy --help\n");
	assert_int_equal(run(3, option, out, err, sizeof(out)), 2);
	assert_string_equal(err, "doorward: policy: unknown option "
				 "\"--yaml\"; see doorward policy --help\n");
	assert_int_equal(run(1, help, out, err, sizeof(out)), 2);
	assert_string_equal(out, "");
	assert_non_null(strstr(err, "usage: doorward policy check"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_no_file),
	    cmocka_unit_test(test_too_large),
	    cmocka_unit_test(test_who_can_write),
	    cmocka_unit_test(test_hash),
	    cmocka_unit_test(test_hash_of_parts),
	    cmocka_unit_test(test_check),
	    cmocka_unit_test(test_check_mistakes),
	    cmocka_unit_test(test_check_default),
	    cmocka_unit_test(test_usage),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
