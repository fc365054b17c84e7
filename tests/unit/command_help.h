/*
 * What the tests of commands about policies share: a directory for files, and
 * a command run with its output kept.  Include after cmocka.h, policy.h and
 * cmds.h.  Tests run in the source's top directory.
 */
#ifndef DW_TEST_COMMAND_HELP_H
#define DW_TEST_COMMAND_HELP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/alloc.h"

#include "paths.h"

static char dir[] = "/tmp/doorward-policy-XXXXXX";

static inline char *
put(const char *name, const char *text)
{
	char *path = xasprintf("%s/%s", dir, name);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, 0644), 0);
	return path;
}

static inline int
set_up(void **state)
{
	char *beside = paths_packs(), *packs = realpath("packs", NULL);
	int result = -1;

	(void)state;
	/* The commands look for packs beside this program. */
	if (packs != NULL &&
	    (access(beside, F_OK) == 0 || symlink(packs, beside) == 0))
		result = mkdtemp(dir) == NULL;
	free(beside);
	free(packs);
	return result;
}

static inline int
tear_down(void **state)
{
	char *command = xasprintf("rm -rf %s", dir);
	int result = system(command);

	(void)state;
	free(command);
	return result != 0;
}

/* Runs the command with its output in files of dir; its exit status. */
static inline int
run(int argc, const char *const *argv, char *out, char *err, size_t size)
{
	char *paths[2] = {xasprintf("%s/out", dir), xasprintf("%s/err", dir)};
	char *texts[2] = {out, err};
	int status, i;
	pid_t pid;
	FILE *f;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (freopen(paths[0], "w", stdout) == NULL ||
		    freopen(paths[1], "w", stderr) == NULL)
			_exit(99);
		status = cmd_policy(argc, (char **)argv);
		fflush(NULL);
		_exit(status);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	for (i = 0; i < 2; i++) {
		f = fopen(paths[i], "r");
		assert_non_null(f);
		texts[i][fread(texts[i], 1, size - 1, f)] = '\0';
		fclose(f);
		free(paths[i]);
	}
	return WEXITSTATUS(status);
}

#endif
