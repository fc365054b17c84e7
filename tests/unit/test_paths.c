/*
 * State and runtime directories: made private, or refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "paths.h"

static char top[64]; /* a directory for the test to work in */

static int
make_top(void **state)
{
	(void)state;
	snprintf(top, sizeof(top), "/tmp/doorward-paths.XXXXXX");
	return mkdtemp(top) != NULL ? 0 : -1;
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static int
remove_top(void **state)
{
	(void)state;
	return chdir("/") != 0 ||
	       nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS) != 0;
}

/* A path in the test's directory; good for a few calls. */
static const char *
in_top(const char *name)
{
	static char paths[4][256];
	static unsigned next;
	char *p = paths[next++ % 4];

	snprintf(p, 256, "%s/%s", top, name);
	return p;
}

static int
mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return (int)(st.st_mode & 07777);
}

/* Taken, and both directories are where they should be, and private. */
static void
taken(const char *state, const char *want)
{
	struct paths p;
	char *err, run[300];

	if (paths_init(&p, state, &err) != 0)
		fail_msg("%s: %s", state, err);
	assert_null(err);
	assert_string_equal(p.state, want);
	snprintf(run, sizeof(run), "%s/run", want);
	assert_string_equal(p.run, run);
	assert_int_equal(mode_of(p.state), 0700);
	assert_int_equal(mode_of(p.run), 0700);
	paths_free(&p);
	assert_null(p.state);
	assert_null(p.run);
}

/* Refused with a sentence that has these words. */
static void
refused(const char *state, const char *words)
{
	struct paths p;
	char *err;

	assert_true(paths_init(&p, state, &err) < PATHS_OK);
	assert_non_null(err);
	if (strstr(err, words) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", err, words);
	assert_non_null(p.state); /* to be named even then */
	assert_non_null(p.run);
	free(err);
	paths_free(&p);
}

static void
made(void **state)
{
	mode_t mask = umask(0);

	(void)state;
	taken(in_top("a"), in_top("a"));
	taken(in_top("a"), in_top("a")); /* again, as it is there */
	taken(in_top("b/c/d"), in_top("b/c/d"));
	assert_int_equal(mode_of(in_top("b")), 0700);
	assert_int_equal(mode_of(in_top("b/c")), 0700);
	taken(in_top("e///"), in_top("e"));
	umask(022);
	taken(in_top("f/g"), in_top("f/g"));
	umask(077);
	taken(in_top("h/i"), in_top("h/i"));
	umask(mask);
}

/* From where the command was started, whatever is its form. */
static void
relative(void **state)
{
	static const char *const names[] = {"st",      "./st2", "x/../st3",
					    "deep/er", "-dash", "st4/"};
	char want[256];
	size_t i, n;

	(void)state;
	assert_int_equal(chdir(top), 0);
	assert_int_equal(mkdir("x", 0700), 0);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		n = strlen(names[i]);
		n -= names[i][n - 1] == '/';
		snprintf(want, sizeof(want), "%s/%.*s", top, (int)n, names[i]);
		taken(names[i], want);
	}
	assert_int_equal(access(in_top("st3/run"), F_OK), 0);
	assert_int_equal(access(in_top("deep/er/run"), F_OK), 0);
	refused("", "no name");
	assert_int_equal(mode_of(top), 0700);
	assert_int_equal(access("run", F_OK), -1);
}

static void
links(void **state)
{
	(void)state;
	assert_int_equal(mkdir(in_top("real"), 0700), 0);
	assert_int_equal(symlink("real", in_top("link")), 0);
	assert_int_equal(symlink("nowhere", in_top("dangling")), 0);
	assert_int_equal(symlink("/", in_top("root")), 0);
	refused(in_top("link"), "symbolic link");
	refused(in_top("link/"), "symbolic link");
	refused(in_top("root"), "symbolic link");
	refused(in_top("dangling"), "symbolic link");
	assert_int_equal(access(in_top("nowhere"), F_OK), -1);
	assert_int_equal(access(in_top("real/run"), F_OK), -1);
	/* On the way there they are the person's own affair. */
	taken(in_top("link/sub"), in_top("link/sub"));
	assert_int_equal(access(in_top("real/sub/run"), F_OK), 0);
	/* The runtime directory is no link either. */
	assert_int_equal(mkdir(in_top("other"), 0700), 0);
	assert_int_equal(symlink("../other", in_top("real/run")), 0);
	refused(in_top("real"), "run is a symbolic link");
}

static void
no_directories(void **state)
{
	int fd;

	(void)state;
	fd = open(in_top("file"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_int_not_equal(fd, -1);
	close(fd);
	refused(in_top("file"), "file is not a directory");
	refused(in_top("file/sub"), "Not a directory");
	assert_int_equal(mkfifo(in_top("fifo"), 0600), 0);
	refused(in_top("fifo"), "fifo is not a directory");
	assert_int_equal(mkdir(in_top("st"), 0700), 0);
	assert_int_equal(mkfifo(in_top("st/run"), 0600), 0);
	refused(in_top("st"), "run is not a directory");
	refused("/proc/doorward", "cannot make /proc/doorward");
}

static void
somebody_elses(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(mkdir(in_top("st"), 0700), 0);
	assert_int_equal(chown(in_top("st"), 12345, (gid_t)-1), 0);
	refused(in_top("st"), "belongs to uid 12345, not to you (0)");
	assert_int_equal(access(in_top("st/run"), F_OK), -1);
	assert_int_equal(chown(in_top("st"), 0, (gid_t)-1), 0);
	assert_int_equal(mkdir(in_top("st/run"), 0700), 0);
	assert_int_equal(chown(in_top("st/run"), 12345, (gid_t)-1), 0);
	refused(in_top("st"), "run belongs to uid 12345");
}

/* Ours are closed; a directory of something else is not touched. */
static void
open_to_others(void **state)
{
	static const mode_t modes[] = {0750, 0705, 0770, 0777, 0701, 01777};
	char name[16];
	size_t i;
	int fd;

	(void)state;
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		snprintf(name, sizeof(name), "d%zu", i);
		assert_int_equal(mkdir(in_top(name), 0700), 0);
		assert_int_equal(chmod(in_top(name), modes[i]), 0);
		taken(in_top(name), in_top(name));
	}
	fd = open(in_top("d0/audit.key"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_int_not_equal(fd, -1);
	close(fd);
	assert_int_equal(chmod(in_top("d0"), 0755), 0);
	assert_int_equal(chmod(in_top("d0/run"), 0755), 0);
	taken(in_top("d0"), in_top("d0"));

	assert_int_equal(mkdir(in_top("shared"), 0700), 0);
	assert_int_equal(mkdir(in_top("shared/docs"), 0700), 0);
	taken(in_top("shared"), in_top("shared")); /* private already */
	assert_int_equal(chmod(in_top("shared"), 0755), 0);
	refused(in_top("shared"), "holds other files");
	assert_int_equal(mode_of(in_top("shared")), 0755);
}

/* The place that everybody starts with, without making it here. */
static void
defaults(void **state)
{
	struct passwd *pw = getpwuid(geteuid());
	char want[300];
	struct paths p;
	char *policy;

	(void)state;
	assert_non_null(pw);
	/* The environment has no say. */
	setenv("HOME", "/evil", 1);
	setenv("XDG_STATE_HOME", "/evil", 1);
	setenv("XDG_RUNTIME_DIR", "/evil", 1);
	setenv("XDG_CONFIG_HOME", "/evil", 1);
	paths_guess(&p, NULL);
	snprintf(want, sizeof(want), "%s/.local/state/doorward", pw->pw_dir);
	assert_string_equal(p.state, want);
	assert_true(p.run[0] == '/');
	assert_null(strstr(p.run, "evil"));
	paths_free(&p);
	policy = paths_default_policy();
	snprintf(want, sizeof(want), "%s/.config/doorward/policy.yaml",
		 pw->pw_dir);
	assert_string_equal(policy, want);
	free(policy);
	/* With --state the runtime directory is always in it. */
	paths_guess(&p, in_top("guessed"));
	assert_string_equal(p.run, in_top("guessed/run"));
	assert_int_equal(access(in_top("guessed"), F_OK), -1);
	paths_free(&p);
}

static void
programs(void **state)
{
	char exe[4096], *p = paths_program("doorward-relay"), *slash;
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	(void)state;
	assert_true(n > 0);
	exe[n] = '\0';
	slash = strrchr(exe, '/');
	strcpy(slash + 1, "doorward-relay" DW_SUFFIX);
	assert_string_equal(p, exe);
	free(p);
	p = paths_packs();
	strcpy(slash + 1, "packs");
	assert_string_equal(p, exe);
	free(p);
}

#define IN_TOP(f) cmocka_unit_test_setup_teardown(f, make_top, remove_top)

/* What cannot be looked at is not the want of a policy. */
static void
policy_exists(void **state)
{
	char dir[] = "/tmp/doorward-paths-XXXXXX", path[64];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/p", dir);
	assert_int_equal(paths_policy_exists(path), 0);
	assert_int_equal(symlink("nowhere", path), 0);
	assert_int_equal(paths_policy_exists(path), 1);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("p", path), 0);
	assert_int_equal(paths_policy_exists(path), 1);
	strcat(path, "/below");
	assert_int_equal(paths_policy_exists(path), 1);
	path[strlen(path) - strlen("/below")] = '\0';
	assert_int_equal(unlink(path), 0);
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	strcat(path, "/below");
	assert_int_equal(paths_policy_exists(path), 1);
	path[strlen(path) - strlen("/below")] = '\0';
	assert_int_equal(unlink(path), 0);
	if (geteuid() != 0) {
		assert_int_equal(chmod(dir, 0), 0);
		assert_int_equal(paths_policy_exists(path), 1);
		assert_int_equal(chmod(dir, 0700), 0);
	}
	assert_int_equal(rmdir(dir), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    IN_TOP(made),           IN_TOP(relative),
	    IN_TOP(links),          IN_TOP(no_directories),
	    IN_TOP(somebody_elses), IN_TOP(open_to_others),
	    IN_TOP(defaults),       IN_TOP(programs),
	    IN_TOP(policy_exists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
