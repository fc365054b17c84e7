/*
 * Reading a policy again in a process that may do next to nothing, as the
 * monitor does on reload: a system call that is not listed here ends it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "policy.h"

static const char *const calls[] = {
    "openat",       "newfstatat", "fstat",       "read",
    "close",        "brk",        "mmap",        "munmap",
    "mremap",       "exit_group", "getdents64",
#ifdef DOORWARD_SANITIZE
    "madvise",      "mprotect",   "futex",       "gettid",
    "getpid",       "write",      "sigaltstack", "rt_sigprocmask",
    "sched_yield",  "readlink",   "prctl",       "clock_gettime",
    "rt_sigaction",
#endif
};

static int
confine(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
	size_t i;
	int result = 0;

	if (ctx == NULL)
		return -1;
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		result |=
		    seccomp_rule_add(ctx, SCMP_ACT_ALLOW,
				     seccomp_syscall_resolve_name(calls[i]), 0);
	if (result == 0)
		result = seccomp_load(ctx);
	seccomp_release(ctx);
	return result;
}

/* Loads in a confined child; 0 taken, 1 refused, else the wait status. */
static int
load_confined(const char *path, int confined)
{
	struct policy_error err;
	struct policy *p;
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (confined && confine() != 0)
			_exit(90);
		p = policy_load(&path, 1, "packs", &err);
		if (p == NULL) {
			free(policy_error_format(&err));
			policy_error_clear(&err);
			_exit(1);
		}
		policy_lint(p);
		policy_free(p);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : status;
}

static void
load_text(const char *text, int result)
{
	char path[] = "/tmp/doorward-confined-XXXXXX";
	int fd = mkstemp(path);
	size_t len = strlen(text);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), (ssize_t)len);
	close(fd);
	assert_int_equal(load_confined(path, 0), result);
	assert_int_equal(load_confined(path, 1), result);
	unlink(path);
}

static void
test_right(void **state)
{
	(void)state;
	load_text("version: 1\nrules:\n- {id: a, tool: \"x*\", action: block}\n"
		  "- {id: b, tool: xy, action: allow}\n"
		  "methods: {default: block}\naudit: {redact: [pin]}\n",
		  0);
	load_text("default_action: allow\nrules: []\n", 0);
	load_text("version: 1\npacks: [filesystem]\ntools:\n"
		  "  write_file: {allowed_path_prefixes: [/nonexistent],\n"
		  "    arg_patterns: {path: '.*\\.(md|txt)'}}\n",
		  0);
	load_text("send: {exfiltrating: true, sink_params: [to]}\n", 0);
}

static void
test_wrong(void **state)
{
	(void)state;
	load_text("version: 1\nmode: x\n", 1);
	load_text("version: 1\nmode: \"x\n", 1);
	load_text("version: 1\nmode: observe\nmode: observe\n", 1);
	load_text("version: 1\ntyped: ask\n", 1);
	load_text("version: 1\npacks: [no_such_pack]\n", 1);
	load_text("version: 1\ntools: {t: {arg_patterns: {p: '('}}}\n", 1);
	assert_int_equal(load_confined("/nonexistent/policy.yaml", 1), 1);
	assert_int_equal(load_confined("/tmp", 1), 1);
}

/* A big file, whose reading takes and gives back much memory. */
static void
test_big(void **state)
{
	size_t n = 6000, i, len = 0, size = n * 64;
	char *text = malloc(size);

	(void)state;
	assert_non_null(text);
	len += (size_t)snprintf(text, size, "version: 1\nrules:\n");
	for (i = 0; i < n; i++)
		len += (size_t)snprintf(text + len, size - len,
					"- {id: r%zu, tool: t%zu, action: "
					"block}\n",
					i, i);
	load_text(text, 0);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_right),
	    cmocka_unit_test(test_wrong),
	    cmocka_unit_test(test_big),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
