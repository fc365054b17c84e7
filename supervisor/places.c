/*
 * Where things are, for judging calls.  Runs in the monitor before it is
 * confined, and in the commands; asks the kernel for the working directory
 * and for links.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/alloc.h"

#include "policy.h"
#include "entry.h"
#include "call.h"
#include "path.h"

#include "paths.h"
#include "places.h"

static ssize_t
read_link(void *unused, const char *path, char *buf, size_t n)
{
	(void)unused;
	return readlinkat(AT_FDCWD, path, buf, n);
}

/* The name followed as far as it goes, with the rest as it is written. */
static void
add_own(struct places *s, const char *path)
{
	struct path_walk *w;

	if (path == NULL || (path[0] != '/' && s->cwd == NULL))
		return;
	w = xcalloc(1, sizeof(*w));
	w->places = &s->p;
	w->loose = 1;
	s->own = xreallocarray(s->own, s->count + 1, sizeof(*s->own));
	if (path_walk(w, s->cwd != NULL ? s->cwd : "/", path, strlen(path)) ==
	    PATH_RESOLVED)
		s->own[s->count++] = xmemdupz(w->path, w->len);
	else
		s->own[s->count++] = xstrdup(path);
	free(w);
}

void
places_init(struct places *s, const char *state, const char *run,
	    const char *packs, const char *const *files, size_t n)
{
	char *policy = paths_default_policy(), *slash;
	size_t i;

	memset(s, 0, sizeof(*s));
	s->cwd = getcwd(NULL, 0);
	s->home = paths_home();
	s->p.cwd = s->cwd;
	s->p.home = s->home;
	s->p.readlink = read_link;
	add_own(s, state);
	add_own(s, run);
	add_own(s, packs);
	slash = strrchr(policy, '/');
	if (slash != NULL && slash != policy)
		*slash = '\0';
	add_own(s, policy);
	free(policy);
	for (i = 0; i < n; i++)
		add_own(s, files[i]);
	s->p.own = (const char *const *)s->own;
	s->p.own_count = s->count;
}

void
places_free(struct places *s)
{
	size_t i;

	for (i = 0; i < s->count; i++)
		free(s->own[i]);
	free(s->own);
	free(s->cwd);
	free(s->home);
	memset(s, 0, sizeof(*s));
}
