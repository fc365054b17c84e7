/*
 * Looking at files for the demonstration.  Runs in `doorward demo` as the
 * user, in the directory that it made.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/alloc.h"

#include "demo_desk.h"

#define READ_MAX (1u << 20)
#define REMOVE_FDS 16

char *
desk_read(const char *path, size_t *len)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char *text = xcalloc(READ_MAX + 1, 1);
	ssize_t n = -1;

	*len = 0;
	while (fd >= 0 && *len <= READ_MAX) {
		n = read(fd, text + *len, READ_MAX + 1 - *len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		*len += (size_t)n;
	}
	if (fd >= 0)
		close(fd);
	if (*len > READ_MAX)
		errno = EFBIG;
	if (fd < 0 || n < 0 || *len > READ_MAX) {
		free(text);
		return NULL;
	}
	text[*len] = '\0';
	return text;
}

int
desk_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	size_t n = strlen(text), off = 0;
	ssize_t w = 0;

	while (fd >= 0 && off < n) {
		w = write(fd, text + off, n - off);
		if (w < 0 && errno != EINTR)
			break;
		if (w > 0)
			off += (size_t)w;
	}
	if (fd < 0 || close(fd) != 0)
		return -1;
	return off == n ? 0 : -1;
}

int
desk_has(const char *dir, const char *name)
{
	char *path = xasprintf("%s/%s", dir, name);
	int there = access(path, F_OK) == 0;

	free(path);
	return there;
}

int
desk_count(const char *dir, const char *text)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	char *path, *body;
	size_t len;
	int n = 0;

	if (d == NULL)
		return -1;
	while (n >= 0 && (e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		path = xasprintf("%s/%s", dir, e->d_name);
		body = desk_read(path, &len);
		free(path);
		if (body == NULL)
			n = -1;
		else if (memmem(body, len, text, strlen(text)) != NULL)
			n++;
		free(body);
	}
	closedir(d);
	return n;
}

const char *
desk_find_line(const char *text, size_t len, const char *const *needles,
	       size_t n, size_t *line_len)
{
	const char *p = text, *end = text + len, *nl;
	size_t i;

	while (p < end && (nl = memchr(p, '\n', (size_t)(end - p))) != NULL) {
		*line_len = (size_t)(nl - p);
		for (i = 0; i < n; i++)
			if (memmem(p, *line_len, needles[i],
				   strlen(needles[i])) == NULL)
				break;
		if (i == n)
			return p;
		p = nl + 1;
	}
	return NULL;
}

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

int
desk_remove(const char *dir)
{
	return nftw(dir, remove_one, REMOVE_FDS,
		    FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
