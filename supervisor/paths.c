/*
 * Default places and the making of private directories.  Runs in the monitor
 * before it is confined, and in the commands, as the user.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/alloc.h"

#include "paths.h"

char *
paths_home(void)
{
	struct passwd *pw = getpwuid(geteuid());

	if (pw != NULL && pw->pw_dir != NULL && pw->pw_dir[0] == '/')
		return xstrdup(pw->pw_dir);
	return NULL;
}

/* 1 if path is a directory of ours that nobody else can enter. */
static int
is_private_dir(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
	       st.st_uid == geteuid() && (st.st_mode & 077) == 0;
}

/* A relative --state is taken from where the command was started. */
static char *
absolute(const char *path)
{
	char *cwd = NULL, *out;
	size_t n;

	if (path[0] != '/')
		cwd = getcwd(NULL, 0);
	out =
	    path[0] == '/'
		? xstrdup(path)
		: xasprintf("%s/%s", cwd != NULL ? cwd : "/nonexistent", path);
	free(cwd);
	/* A slash at the end would look through a link. */
	for (n = strlen(out); n > 1 && out[n - 1] == '/'; n--)
		out[n - 1] = '\0';
	return out;
}

void
paths_guess(struct paths *p, const char *state)
{
	char *h, *user_run, *parent;

	memset(p, 0, sizeof(*p));
	if (state != NULL) {
		p->state = absolute(state);
		p->run = xasprintf("%s/run", p->state);
		return;
	}
	h = paths_home();
	p->state = h != NULL ? xasprintf("%s/.local/state/doorward", h)
			     : xasprintf("/nonexistent/doorward");
	free(h);
	parent = xasprintf("/run/user/%u", (unsigned)geteuid());
	user_run = xasprintf("%s/doorward", parent);
	if (is_private_dir(parent) &&
	    (access(user_run, F_OK) != 0 || is_private_dir(user_run)))
		p->run = xstrdup(user_run);
	else
		p->run = xasprintf("%s/run", p->state);
	free(user_run);
	free(parent);
}

/* As mkdir -p; what is made is 0700. */
static int
make_dirs(const char *path)
{
	char *copy = xstrdup(path), *slash;
	int r = 0;

	for (slash = strchr(copy + 1, '/'); r == 0 && slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(copy, 0700) == -1 && errno != EEXIST)
			r = -1;
		*slash = '/';
	}
	if (r == 0 && mkdir(copy, 0700) == -1 && errno != EEXIST)
		r = -1;
	free(copy);
	return r;
}

/*
 * 1 if a directory is empty or has a key of ours.  Any other one was made for
 * something else, and closing it would take it from those who use it.
 */
static int
is_ours_to_close(const char *path)
{
	char *key = xasprintf("%s/audit.key", path);
	int ours = access(key, F_OK) == 0;
	struct dirent *e;
	DIR *d;

	free(key);
	if (ours)
		return 1;
	d = opendir(path);
	if (d == NULL)
		return 0;
	do {
		e = readdir(d);
	} while (e != NULL &&
		 (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0));
	closedir(d);
	return e == NULL;
}

static int
judge(const char *path, const struct stat *st, char **err)
{
	if (!S_ISDIR(st->st_mode)) {
		*err = xasprintf("%s is %s", path,
				 S_ISLNK(st->st_mode) ? "a symbolic link"
						      : "not a directory");
		return -1;
	}
	if (st->st_uid != geteuid()) {
		*err = xasprintf("%s belongs to uid %u, not to you (%u)", path,
				 (unsigned)st->st_uid, (unsigned)geteuid());
		return -1;
	}
	if ((st->st_mode & 077) != 0 && !is_ours_to_close(path)) {
		*err = xasprintf("%s is open to others and holds other files: "
				 "name a directory of its own",
				 path);
		return -1;
	}
	if (access(path, R_OK | W_OK | X_OK) == -1) {
		*err = xasprintf("%s: %s", path, strerror(errno));
		return -1;
	}
	return 0;
}

static int
make_private(const char *path, char **err)
{
	struct stat st;

	if (make_dirs(path) == -1 || lstat(path, &st) == -1) {
		*err = xasprintf("cannot make %s: %s", path, strerror(errno));
		return -1;
	}
	if (judge(path, &st, err) == -1)
		return -1;
	if ((st.st_mode & 077) != 0 && chmod(path, 0700) == -1) {
		*err = xasprintf("%s is open to others and cannot be closed: "
				 "%s",
				 path, strerror(errno));
		return -1;
	}
	return 0;
}

/* Whether the first directory above path that is there lets us make it. */
static int
can_be_made(const char *path, char **err)
{
	char *parent = xstrdup(path), *slash;
	int r = 1;

	do {
		slash = strrchr(parent, '/');
		if (slash == NULL || slash == parent)
			parent[1] = '\0'; /* it begins with the root */
		else
			*slash = '\0';
	} while (access(parent, F_OK) == -1 && errno == ENOENT &&
		 strcmp(parent, "/") != 0);
	if (access(parent, W_OK | X_OK) == -1) {
		*err = xasprintf("%s cannot be made: %s: %s", path, parent,
				 strerror(errno));
		r = -1;
	}
	free(parent);
	return r;
}

int
paths_check(const char *path, char **err)
{
	struct stat st;

	*err = NULL;
	if (lstat(path, &st) == 0)
		return judge(path, &st, err);
	if (errno == ENOENT && path[0] == '/')
		return can_be_made(path, err);
	*err = xasprintf("%s: %s", path, strerror(errno));
	return -1;
}

/* A sentence if there is no telling where the directory is. */
static char *
no_place(const struct paths *p, const char *state)
{
	char *h;

	if (state != NULL && state[0] == '\0')
		return xstrdup("the state directory has no name");
	if (state != NULL)
		return p->state[0] == '/'
			   ? NULL
			   : xstrdup("the current directory is gone: name an "
				     "absolute --state");
	h = paths_home();
	if (h == NULL)
		return xasprintf("there is no home directory for uid %u in "
				 "the password database: use --state",
				 (unsigned)geteuid());
	free(h);
	return NULL;
}

enum paths_status
paths_init(struct paths *p, const char *state, char **err)
{
	paths_guess(p, state);
	*err = no_place(p, state);
	if (*err != NULL || make_private(p->state, err) == -1)
		return PATHS_NO_STATE;
	return make_private(p->run, err) == 0 ? PATHS_OK : PATHS_NO_RUN;
}

void
paths_free(struct paths *p)
{
	free(p->state);
	free(p->run);
	memset(p, 0, sizeof(*p));
}

char *
paths_default_policy(void)
{
	char *h = paths_home(), *out;

	out = h != NULL ? xasprintf("%s/.config/doorward/policy.yaml", h)
			: xstrdup("/nonexistent/doorward/policy.yaml");
	free(h);
	return out;
}

int
paths_policy_exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 || errno != ENOENT;
}

/* The executable's directory; NULL if /proc is not there to ask. */
static char *
program_dir(void)
{
	char exe[4096];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	if (n <= 0)
		return NULL;
	exe[n] = '\0';
	slash = strrchr(exe, '/');
	if (slash == NULL)
		return NULL;
	*slash = '\0';
	return xstrdup(exe);
}

char *
paths_program(const char *name)
{
	char *dir = program_dir(), *out;

	if (dir == NULL)
		return NULL;
	out = xasprintf("%s/%s%s",
			strcmp(dir, DW_BINDIR) == 0 ? DW_LIBEXECDIR : dir, name,
			DW_SUFFIX);
	free(dir);
	return out;
}

char *
paths_packs(void)
{
	char *dir = program_dir(), *out;

	if (dir == NULL || strcmp(dir, DW_BINDIR) == 0)
		out = xstrdup(DW_DATADIR "/packs");
	else
		out = xasprintf("%s/packs", dir);
	free(dir);
	return out;
}
