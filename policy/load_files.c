/*
 * From files to texts: policies, and the packs that they want.  Runs in the
 * monitor and in the commands.  The monitor may be confined already when it
 * reads the policy again, so that nothing here asks the kernel for more than
 * openat, fstat, read, getdents64, close and memory.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/alloc.h"
#include "proto/buf.h"

#include "policy.h"
#include "doc.h"
#include "model.h"

/* How to go on without what cannot be read. */
static const char without_packs[] =
    "; \"packs: none\" in the policy goes on without packs and fallback";

/* A file that is being read. */
struct reading {
	struct buf bytes;
	char *warning;
};

static int
cannot_read(struct policy_error *err, const char *what, int error,
	    const char *advice)
{
	const char *why = strerrordesc_np(error);

	return mistake_at(err, 0, 0,
			  xasprintf("%s cannot be read: %s%s", what,
				    why != NULL ? why : "unknown error",
				    advice));
}

/* Reads to the end, or to one byte too many; 0 or errno. */
static int
read_all(int fd, struct buf *b)
{
	ssize_t n;

	while (buf_used(b) <= DOC_BYTES_MAX) {
		n = read(fd, buf_reserve(b, 65536), 65536);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		if (n == 0)
			break;
		b->len += (size_t)n;
	}
	return 0;
}

/*
 * Who could have written this?  The kernel's note at the start of the program
 * tells our own uid without a system call.
 */
static char *
distrust(const char *file, const struct stat *st)
{
	if (st->st_uid != 0 && st->st_uid != getauxval(AT_EUID))
		return xasprintf("%s: it belongs to another user (uid %lu), "
				 "who can change it at any time",
				 file, (unsigned long)st->st_uid);
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return xasprintf("%s: others than its owner can write to it "
				 "(mode %04o); chmod go-w",
				 file, (unsigned)(st->st_mode & 07777));
	return NULL;
}

static int
read_file(const char *file, struct reading *r, int is_pack,
	  struct policy_error *err)
{
	const char *what = is_pack ? "the pack" : "the policy";
	const char *advice = is_pack ? without_packs : "";
	struct stat st;
	int fd, error;

	/* A FIFO must not hold us up, nor a terminal become ours. */
	fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return cannot_read(err, what, errno, advice);
	error = fstat(fd, &st) < 0 ? errno : 0;
	if (error == 0 && !S_ISREG(st.st_mode)) {
		close(fd);
		return mistake_at(err, 0, 0,
				  xasprintf("not a regular file; a %s is one",
					    is_pack ? "pack" : "policy"));
	}
	if (error == 0)
		error = read_all(fd, &r->bytes);
	close(fd);
	if (error != 0)
		return cannot_read(err, what, error, advice);
	/* Who can write a pack can write the program that lies beside it. */
	if (!is_pack)
		r->warning = distrust(file, &st);
	return 0;
}

/*
 * Reads the files that texts names and fills in their bytes, which are r's.
 * 0, or -1 with *err filled.
 */
static int
read_files(struct policy_text *texts, struct reading *r, size_t n, int is_pack,
	   struct policy_error *err)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (read_file(texts[i].name, &r[i], is_pack, err) < 0) {
			err->file = xstrdup(texts[i].name);
			err->layered = is_pack;
			return -1;
		}
		texts[i].len = buf_used(&r[i].bytes);
		texts[i].bytes = texts[i].len > 0 ? buf_head(&r[i].bytes) : "";
	}
	return 0;
}

static void
free_readings(struct reading *r, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		free(r[i].warning);
		buf_free(&r[i].bytes);
	}
	free(r);
}

/* The names of files in a directory, with the directory before them. */
struct listing {
	struct policy_text *v;
	char **names;
	size_t n;
};

static void
add_name(struct listing *l, const char *dir, const char *name)
{
	static const char end[] = ".yaml";
	size_t len = strlen(name);

	/* Hidden ones are an editor's. */
	if (name[0] == '.' || len < sizeof(end) ||
	    strcmp(name + len - (sizeof(end) - 1), end) != 0)
		return;
	l->names = xreallocarray(l->names, l->n + 1, sizeof(*l->names));
	l->v = xreallocarray(l->v, l->n + 1, sizeof(*l->v));
	l->names[l->n] = xasprintf("%s/%s", dir, name);
	l->v[l->n] = (struct policy_text){l->names[l->n], NULL, 0};
	l->n++;
}

static int
list_packs(struct listing *l, const char *dir, struct policy_error *err)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int error = errno;

	if (d != NULL) {
		errno = 0;
		while ((e = readdir(d)) != NULL)
			add_name(l, dir, e->d_name);
		error = errno;
		closedir(d);
	}
	if (d != NULL && error == 0)
		return 0;
	cannot_read(err, "the packs", error, without_packs);
	err->file = xstrdup(dir);
	err->layered = 1;
	return -1;
}

static void
free_listing(struct listing *l)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		free(l->names[i]);
	free(l->names);
	free(l->v);
}

/* The packs that the policy wants, and everything that is then left to do. */
static int
add_packs(struct policy *p, const struct policy_text *texts, size_t n,
	  const char *dir, struct policy_error *err)
{
	struct listing l = {NULL, NULL, 0};
	struct policy_text *chosen;
	struct reading *r;
	size_t count = 0;
	int result = 0;

	if (dir != NULL && packs_wanted(p))
		result = list_packs(&l, dir, err);
	chosen = xcalloc(l.n, sizeof(*chosen));
	r = xcalloc(l.n, sizeof(*r));
	if (result == 0)
		result = packs_choose(p, l.v, l.n, chosen, &count, err);
	if (result == 0)
		result = read_files(chosen, r, count, 1, err);
	if (result == 0)
		result = policy_finish(p, texts, n, chosen, count, err);
	free_readings(r, l.n);
	free(chosen);
	free_listing(&l);
	return result;
}

struct policy *
policy_load(const char *const *files, size_t n, const char *packs_dir,
	    struct policy_error *err)
{
	struct policy_text *texts = xcalloc(n, sizeof(*texts));
	struct reading *r = xcalloc(n, sizeof(*r));
	struct policy *p = NULL;
	size_t i;

	memset(err, 0, sizeof(*err));
	for (i = 0; i < n; i++)
		texts[i].name = files[i];
	if (read_files(texts, r, n, 0, err) == 0)
		p = policy_begin(texts, n, err);
	if (p != NULL && add_packs(p, texts, n, packs_dir, err) < 0) {
		policy_free(p);
		p = NULL;
	}
	for (i = 0; p != NULL && i < n; i++) {
		if (r[i].warning != NULL)
			policy_warn(p, r[i].warning);
		r[i].warning = NULL;
	}
	free_readings(r, n);
	free(texts);
	return p;
}
