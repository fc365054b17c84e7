/*
 * Where pins are kept: a private directory, a lock file in it, and files that
 * are never changed but replaced.  Runs in the monitor, under its filter and
 * without ever waiting, and in `doorward pins`.  A crash at any point leaves
 * the old file or the new one.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sodium.h>

#include "proto/alloc.h"
#include "proto/buf.h"

#include "pins.h"
#include "pins_model.h"

#define LOCK_NAME ".lock"
#define TEMP_END ".tmp"
#define REPLACED_MAX 16 /* times that a file may be replaced as we open it */
#define POLL_MS 20

char *
pins_dir(const char *dir)
{
	return xasprintf("%s/pins", dir);
}

/* A sentence about the directory, or NULL. */
static char *
dir_fault(const char *path, const struct stat *st)
{
	if (st->st_uid != geteuid())
		return xasprintf("%s belongs to uid %u, not to you (%u)", path,
				 (unsigned)st->st_uid, (unsigned)geteuid());
	if ((st->st_mode & 077) != 0)
		return xasprintf("%s is open to others: chmod 700 it", path);
	return NULL;
}

int
pins_open_dir(const char *path, char **why)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	*why = NULL;
	if (fd == -1 && errno == ENOENT)
		return -2;
	if (fd == -1) {
		*why = xasprintf("%s: %s", path,
				 errno == ELOOP || errno == ENOTDIR
				     ? "not a directory"
				     : strerror(errno));
		return -1;
	}
	if (fstat(fd, &st) == -1)
		*why = xasprintf("%s: %s", path, strerror(errno));
	else
		*why = dir_fault(path, &st);
	if (*why == NULL)
		return fd;
	close(fd);
	return -1;
}

int
pins_make_dir(const char *dir, char **why)
{
	char *path = pins_dir(dir);
	int fd = -1;

	*why = NULL;
	if (mkdir(path, 0700) == 0 || errno == EEXIST)
		fd = pins_open_dir(path, why);
	if (fd < 0 && *why == NULL)
		*why = xasprintf("cannot make %s: %s", path, strerror(errno));
	free(path);
	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

/* A sentence about a file in the directory, or NULL. */
static char *
file_fault(const char *path, const char *file, const struct stat *st)
{
	const char *what = NULL;

	if (!S_ISREG(st->st_mode))
		what = "is not a regular file";
	else if (st->st_uid != geteuid())
		what = "is not yours";
	else if ((st->st_mode & 077) != 0)
		what = "is open to others: chmod 600 it";
	else if (st->st_nlink > 1)
		what = "has another name besides";
	return what != NULL ? xasprintf("%s/%s %s", path, file, what) : NULL;
}

/* A descriptor, or -1 with *why; NULL there if the file is not there. */
static int
open_file(const char *path, int dirfd, const char *file, int flags,
	  struct stat *st, char **why)
{
	int tries, fd;

	*why = NULL;
	for (tries = 0; tries < REPLACED_MAX; tries++) {
		fd = openat(dirfd, file,
			    flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK |
				O_NOCTTY,
			    0600);
		if (fd == -1 && errno == ENOENT)
			return -1;
		if (fd == -1 || fstat(fd, st) == -1) {
			*why = xasprintf("%s/%s: %s", path, file,
					 errno == ELOOP ? "a symbolic link"
							: strerror(errno));
			if (fd != -1)
				close(fd);
			return -1;
		}
		*why = file_fault(path, file, st);
		if (*why == NULL && st->st_nlink == 1)
			return fd;
		close(fd);
		if (*why != NULL)
			return -1;
	}
	*why = xasprintf("%s/%s keeps being replaced", path, file);
	return -1;
}

/*
 * Whoever removes the lock file under us must not get a second lock: after
 * locking, the file has to be the one at the path.
 */
int
pins_lock(const char *path, int dirfd, int *out, char **why)
{
	struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct stat st, now;
	int tries, fd;

	for (tries = 0; tries < 3; tries++) {
		fd = open_file(path, dirfd, LOCK_NAME, O_RDWR | O_CREAT, &st,
			       why);
		if (fd == -1)
			break;
		if (fcntl(fd, F_OFD_SETLK, &fl) == -1) {
			if (errno == EAGAIN || errno == EACCES) {
				close(fd);
				return PINS_BUSY;
			}
			*why = xasprintf("%s/%s: %s", path, LOCK_NAME,
					 strerror(errno));
			close(fd);
			return PINS_FAILED;
		}
		if (fstatat(dirfd, LOCK_NAME, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
		    now.st_ino == st.st_ino && now.st_dev == st.st_dev) {
			*out = fd;
			return PINS_OK;
		}
		close(fd);
	}
	if (*why == NULL)
		*why = xasprintf("%s/%s keeps being replaced", path, LOCK_NAME);
	return PINS_FAILED;
}

int
pins_lock_wait(const char *path, int dirfd, int *fd, int ms, char **why)
{
	int st;

	for (;;) {
		st = pins_lock(path, dirfd, fd, why);
		if (st != PINS_BUSY || ms <= 0)
			break;
		poll(NULL, 0, POLL_MS);
		ms -= POLL_MS;
	}
	if (st == PINS_BUSY)
		*why = xasprintf("%s/%s is held by somebody else", path,
				 LOCK_NAME);
	return st;
}

static void
take_stamp(struct pins_stamp *s, const struct stat *st)
{
	*s = (struct pins_stamp){st->st_dev, st->st_ino, (uint64_t)st->st_size,
				 st->st_mtim.tv_sec, st->st_mtim.tv_nsec};
}

void
pins_stamp(int dirfd, const char *file, struct pins_stamp *stamp)
{
	struct stat st;

	memset(stamp, 0, sizeof(*stamp));
	if (fstatat(dirfd, file, &st, AT_SYMLINK_NOFOLLOW) == 0)
		take_stamp(stamp, &st);
}

/* All of a file that nobody changes; -1 and errno. */
static int
read_all(int fd, struct buf *b, size_t size)
{
	ssize_t r;
	size_t room;

	do {
		room = size + 1 > buf_used(b) ? size + 1 - buf_used(b) : 1;
		r = read(fd, buf_reserve(b, room), room);
		if (r > 0)
			b->len += (size_t)r;
	} while ((r > 0 && buf_used(b) <= PINS_FILE_MAX) ||
		 (r == -1 && errno == EINTR));
	return r == -1 ? -1 : 0;
}

int
pins_read_file(const char *path, int dirfd, const char *file, struct buf *b,
	       struct pins_stamp *stamp, char **why)
{
	struct stat st;
	int fd = open_file(path, dirfd, file, O_RDONLY, &st, why), r = 0;

	memset(stamp, 0, sizeof(*stamp));
	if (fd == -1)
		return *why == NULL ? PINS_NONE : PINS_FAILED;
	take_stamp(stamp, &st);
	if (st.st_size <= PINS_FILE_MAX)
		r = read_all(fd, b, (size_t)st.st_size);
	if (r == -1)
		*why = xasprintf("%s/%s: %s", path, file, strerror(errno));
	else if (st.st_size > PINS_FILE_MAX || buf_used(b) > PINS_FILE_MAX)
		*why = xasprintf("%s/%s is larger than %u MiB", path, file,
				 PINS_FILE_MAX >> 20);
	close(fd);
	return *why == NULL ? PINS_OK : PINS_FAILED;
}

static int
write_all(int fd, const char *p, size_t n)
{
	ssize_t w;

	while (n > 0) {
		w = write(fd, p, n);
		if (w == -1 && errno == EINTR)
			continue;
		if (w <= 0) {
			errno = w == -1 ? errno : ENOSPC;
			return -1;
		}
		p += w;
		n -= (size_t)w;
	}
	return fsync(fd);
}

/*
 * The name is on the disk once the directory is; what comes too late to undo
 * is still said, since a crash may bring the old file back.
 */
int
pins_write_file(const char *path, int dirfd, const char *file,
		const struct buf *b, struct pins_stamp *stamp, char **why)
{
	char *temp = xasprintf("%.32s.%08x%08x" TEMP_END, file,
			       (unsigned)randombytes_random(),
			       (unsigned)randombytes_random());
	struct stat st;
	int fd, ok = 0, err;

	*why = NULL;
	fd = openat(dirfd, temp,
		    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd != -1) {
		ok = write_all(fd, buf_head(b), buf_used(b)) == 0 &&
		     fstat(fd, &st) == 0 &&
		     renameat(dirfd, temp, dirfd, file) == 0;
		err = errno;
		close(fd);
		if (ok)
			take_stamp(stamp, &st);
		else
			unlinkat(dirfd, temp, 0);
		errno = err;
	}
	if (ok && fsync(dirfd) == -1)
		ok = 0;
	if (!ok)
		*why = xasprintf("cannot write %s/%s: %s", path, file,
				 strerror(errno));
	free(temp);
	return ok ? PINS_OK : PINS_FAILED;
}

void
pins_sweep(int dirfd)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd != -1 ? fdopendir(fd) : NULL;
	struct dirent *e;
	size_t len;

	if (d == NULL) {
		if (fd != -1)
			close(fd);
		return;
	}
	while ((e = readdir(d)) != NULL) {
		len = strlen(e->d_name);
		if (len > strlen(TEMP_END) &&
		    strcmp(e->d_name + len - strlen(TEMP_END), TEMP_END) == 0)
			unlinkat(dirfd, e->d_name, 0);
	}
	closedir(d);
}
