/*
 * What can go wrong with the audit's files: each time the line is lost and
 * the call denied, nothing torn is left, and all is well once it is mended.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sodium.h>

#include "proto/buf.h"

#include "audit.h"
#include "jsonw.h"
#include "audit_help.h"

/* In the place of libc's: how often the disk was asked, and what it says. */
static int syncs, sync_error;

int
fdatasync(int fd)
{
	assert_int_not_equal(fcntl(fd, F_GETFD), -1);
	syncs++;
	if (sync_error == 0)
		return 0;
	errno = sync_error;
	return -1;
}

/* Nor can a file always be cut. */
static int truncate_error;

int
ftruncate(int fd, off_t size)
{
	char path[32];

	if (truncate_error != 0) {
		errno = truncate_error;
		return -1;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return truncate(path, size);
}

/* The log after something else was put in its place, and taken away. */
static void
mended(struct audit *a, struct place *p, size_t lines)
{
	assert_int_equal(put_line(a), AUDIT_OK);
	assert_int_equal(check_log(p->log, 1, 0), lines);
}

static void
moved_away(void **state)
{
	struct place *p = *state;
	struct audit *a = audit_new(p->dir);
	char old[128];

	snprintf(old, sizeof(old), "%s/old", p->dir);
	assert_int_equal(put_line(a), AUDIT_OK);
	assert_int_equal(rename(p->log, old), 0);
	/* A new file begins, and the old one is left alone. */
	mended(a, p, 1);
	assert_int_equal(check_log(old, 1, 0), 1);
	/* Back again: the numbers go on from what is there. */
	assert_int_equal(rename(old, p->log), 0);
	mended(a, p, 2);
	assert_int_equal(unlink(p->log), 0);
	mended(a, p, 1);
	assert_int_equal(audit_lost(a), 0);
	audit_close(a);
}

/* Somebody puts a link there: to a file that is ours, and to none. */
static void
replaced_by_link(void **state)
{
	struct place *p = *state;
	struct audit *a = audit_new(p->dir);
	char old[128], target[128];

	snprintf(old, sizeof(old), "%s/old", p->dir);
	snprintf(target, sizeof(target), "%s/target", p->dir);
	assert_int_equal(put_line(a), AUDIT_OK);
	assert_int_equal(rename(p->log, old), 0);
	append_to(target, "", 0);
	assert_int_equal(symlink("target", p->log), 0);
	loses_line(a);
	loses_line(a);
	assert_int_equal(size_of(target), 0);
	assert_int_equal(unlink(target), 0);
	loses_line(a);
	assert_int_equal(access(target, F_OK), -1); /* not made through it */
	/* A link to the very file is a link all the same. */
	assert_int_equal(unlink(p->log), 0);
	assert_int_equal(symlink("old", p->log), 0);
	loses_line(a);
	assert_int_equal(unlink(p->log), 0);
	assert_int_equal(rename(old, p->log), 0);
	mended(a, p, 2);
	audit_close(a);
}

static void
replaced_by_others(void **state)
{
	struct place *p = *state;
	struct audit *a = audit_new(p->dir);
	char old[128];
	int i, r;

	snprintf(old, sizeof(old), "%s/old", p->dir);
	for (i = 0; i < 3; i++) {
		assert_int_equal(put_line(a), AUDIT_OK);
		assert_int_equal(rename(p->log, old), 0);
		switch (i) {
		case 0:
			r = mkdir(p->log, 0700);
			break;
		case 1:
			r = mkfifo(p->log, 0600);
			break;
		default:
			r = symlink("/dev/full", p->log);
			break;
		}
		assert_int_equal(r, 0);
		loses_line(a); /* a fifo would wait for a reader */
		assert_int_equal(remove(p->log), 0);
		assert_int_equal(rename(old, p->log), 0);
		mended(a, p, 2 * (size_t)i + 2);
	}
	audit_close(a);
}

/* A device: it takes any line and keeps none, or has no room. */
static void
replaced_by_device(void **state)
{
	static const unsigned minors[] = {3, 7}; /* null, full */
	struct place *p = *state;
	struct audit *a = audit_new(p->dir);
	size_t i;

	for (i = 0; i < 2; i++) {
		if (mknod(p->log, S_IFCHR | 0600, (dev_t)(256 | minors[i])) !=
		    0) {
			audit_close(a);
			skip(); /* not as an ordinary user */
		}
		loses_line(a);
		assert_int_equal(unlink(p->log), 0);
		mended(a, p, 1);
		assert_int_equal(unlink(p->log), 0);
	}
	audit_close(a);
}

/* Before it was opened, and while it is open. */
static void
opened_to_others(void **state)
{
	static const mode_t modes[] = {0644, 0604, 0640, 0660, 0601, 0620};
	struct place *p = *state;
	struct audit *a = audit_new(p->dir), *b;
	size_t i;

	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		assert_int_equal(put_line(a), AUDIT_OK);
		assert_int_equal(chmod(p->log, modes[i]), 0);
		loses_line(a);
		b = audit_new(p->dir);
		loses_line(b);
		assert_int_equal(chmod(p->log, 0600), 0);
		mended(b, p, 3 * i + 2);
		mended(a, p, 3 * i + 3);
		audit_close(b);
	}
	audit_close(a);
}

static void
hard_linked(void **state)
{
	struct place *p = *state;
	struct audit *a = audit_new(p->dir), *b = audit_new(p->dir);
	char other[128];

	snprintf(other, sizeof(other), "%s/other", p->dir);
	assert_int_equal(put_line(a), AUDIT_OK);
	assert_int_equal(link(p->log, other), 0);
	loses_line(a);
	loses_line(b);
	assert_int_equal(check_log(other, 1, 0), 1);
	assert_int_equal(unlink(other), 0);
	mended(a, p, 2);
	mended(b, p, 3);
	audit_close(a);
	audit_close(b);
}

static void
somebody_elses(void **state)
{
	struct place *p = *state;
	struct audit *a;

	if (geteuid() != 0)
		skip();
	a = audit_new(p->dir);
	assert_int_equal(put_line(a), AUDIT_OK);
	assert_int_equal(chown(p->log, 12345, (gid_t)-1), 0);
	loses_line(a);
	assert_int_equal(chown(p->log, 0, (gid_t)-1), 0);
	assert_int_equal(chown(p->lock, 12345, (gid_t)-1), 0);
	audit_close(a);
	a = audit_new(p->dir);
	loses_line(a);
	assert_int_equal(chown(p->lock, 0, (gid_t)-1), 0);
	mended(a, p, 2);
	audit_close(a);
}

static void
lock_held(void **state)
{
	struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct place *p = *state;
	struct audit *a = audit_new(p->dir);
	int fd;

	assert_int_equal(put_line(a), AUDIT_OK);
	fd = open(p->lock, O_RDWR | O_CLOEXEC);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &fl), 0);
	assert_int_equal(put_line(a), AUDIT_BUSY);
	/* Nothing is lost by waiting, and more may be added. */
	assert_int_equal(audit_queued(a), 1);
	queue(a, 3);
	assert_int_equal(audit_commit(a), AUDIT_BUSY);
	assert_int_equal(audit_queued(a), 2);
	assert_int_equal(check_log(p->log, 1, 0), 1);
	close(fd);
	assert_int_equal(audit_commit(a), AUDIT_OK);
	assert_int_equal(check_log(p->log, 1, 0), 3);
	assert_int_equal(audit_lost(a), 0);
	/* After a commit the lock is free. */
	fd = open(p->lock, O_RDWR | O_CLOEXEC);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &fl), 0);
	assert_int_equal(put_line(a), AUDIT_BUSY);
	audit_drop(a, "too long");
	assert_int_equal(audit_lost(a), 1);
	close(fd);
	mended(a, p, 4);
	/* And after one that failed. */
	assert_int_equal(chmod(p->log, 0644), 0);
	loses_line(a);
	fd = open(p->lock, O_RDWR | O_CLOEXEC);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &fl), 0);
	close(fd);
	audit_close(a);
}

/*
 * Whoever removes the lock file must not get two writers to hold a lock
 * each: the one at the path counts.
 */
static void
lock_replaced(void **state)
{
	struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct place *p = *state;
	struct audit *a = audit_new(p->dir), *b = audit_new(p->dir);
	int fd;

	assert_int_equal(put_line(a), AUDIT_OK);
	assert_int_equal(put_line(b), AUDIT_OK);
	assert_int_equal(unlink(p->lock), 0);
	assert_int_equal(put_line(b), AUDIT_OK); /* makes a new one */
	fd = open(p->lock, O_RDWR | O_CLOEXEC);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &fl), 0);
	/* The old one that a has open is free, and is worth nothing. */
	assert_int_equal(put_line(a), AUDIT_BUSY);
	assert_int_equal(put_line(b), AUDIT_BUSY);
	close(fd);
	assert_int_equal(audit_commit(a), AUDIT_OK);
	assert_int_equal(audit_commit(b), AUDIT_OK);
	assert_int_equal(check_log(p->log, 1, 0), 5);
	audit_close(a);
	audit_close(b);
}

static void
lock_no_file(void **state)
{
	struct place *p = *state;
	struct audit *a = audit_new(p->dir);
	int i;

	assert_int_equal(put_line(a), AUDIT_OK);
	for (i = 0; i < 4; i++) {
		assert_int_equal(unlink(p->lock), 0);
		if (i == 0)
			assert_int_equal(mkdir(p->lock, 0700), 0);
		else if (i == 1)
			assert_int_equal(symlink("audit.jsonl", p->lock), 0);
		else if (i == 2)
			assert_int_equal(mkfifo(p->lock, 0600), 0);
		else
			assert_int_equal(symlink("nowhere", p->lock), 0);
		loses_line(a);
		assert_int_equal(remove(p->lock), 0);
		mended(a, p, (size_t)i + 2);
	}
	audit_close(a);
}

/* Another limit for each byte of a line: nothing of it may be left. */
static int
with_limits(struct place *p)
{
	struct audit *a = audit_new(p->dir);
	struct rlimit rl = {.rlim_max = RLIM_INFINITY};
	off_t size = size_of(p->log);
	rlim_t room;

	signal(SIGXFSZ, SIG_IGN);
	if (getrlimit(RLIMIT_FSIZE, &rl) != 0)
		return 1;
	for (room = 0; room < 500; room += 3) {
		rl.rlim_cur = (rlim_t)size + room;
		if (setrlimit(RLIMIT_FSIZE, &rl) != 0)
			return 2;
		queue(a, 400);
		queue(a, 400);
		if (audit_commit(a) != AUDIT_FAILED || audit_queued(a) != 0)
			return 3;
		if (size_of(p->log) != size)
			return 4;
		if (strstr(audit_error(a), "File too large") == NULL)
			return 5;
	}
	if (audit_lost(a) != 2 * 167)
		return 6;
	rl.rlim_cur = rl.rlim_max;
	if (setrlimit(RLIMIT_FSIZE, &rl) != 0 || put_line(a) != AUDIT_OK)
		return 7;
	audit_close(a);
	return 0;
}

static void
file_size_limit(void **state)
{
	struct place *p = *state;
	struct audit *a = audit_new(p->dir);
	int status;

	assert_int_equal(put_line(a), AUDIT_OK);
	if (fork() == 0) {
		audit_close(a);
		_exit(with_limits(p));
	}
	assert_true(wait(&status) > 0);
	assert_int_equal(status, 0);
	assert_int_equal(check_log(p->log, 1, 0), 2);
	mended(a, p, 3);
	audit_close(a);
}

/* What cannot be taken back is closed off, and no number is used twice. */
static void
torn_for_good(void **state)
{
	struct place *p = *state;
	struct audit *a = audit_new(p->dir);
	struct rlimit old, rl;
	off_t size;

	assert_int_equal(put_line(a), AUDIT_OK);
	size = size_of(p->log);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	rl = (struct rlimit){(rlim_t)size + 100, old.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	truncate_error = EIO;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &rl), 0);
	loses_line(a);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	truncate_error = 0;
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(size_of(p->log), size + 100);
	assert_int_equal(put_line(a), AUDIT_OK);
	assert_int_equal(check_log(p->log, 1, 1), 2);
	audit_close(a);
}

/* A file system without room: fills one of a few pages. */
static void
disk_full(void **state)
{
	struct place *p = *state;
	struct audit *a;
	char filler[128];
	size_t n = 0;
	off_t size;

	if (mount("none", p->dir, "tmpfs", 0, "size=64k,mode=700") != 0)
		skip(); /* not as an ordinary user */
	snprintf(filler, sizeof(filler), "%s/filler", p->dir);
	a = audit_new(p->dir);
	while (n < 500) {
		queue(a, 1000);
		if (audit_commit(a) != AUDIT_OK)
			break;
		n++;
	}
	assert_true(n > 10 && n < 100);
	assert_int_equal(audit_queued(a), 0);
	assert_int_equal(audit_lost(a), 1);
	assert_non_null(strstr(audit_error(a), "No space left"));
	assert_int_equal(check_log(p->log, 1, 0), n);
	size = size_of(p->log);
	queue(a, 100000);
	assert_int_equal(audit_commit(a), AUDIT_FAILED);
	assert_int_equal(size_of(p->log), size);
	assert_int_equal(
	    mount("none", p->dir, "tmpfs", MS_REMOUNT, "size=1m,mode=700"), 0);
	mended(a, p, n + 1);
	audit_close(a);
	assert_int_equal(umount(p->dir), 0);
}

static void
syncing(void **state)
{
	struct place *p = *state;
	struct audit *a = audit_new(p->dir);
	off_t size;

	syncs = 0;
	assert_int_equal(audit_sync(a), 0);
	assert_int_equal(put_line(a), AUDIT_OK);
	assert_int_equal(syncs, 0);
	assert_int_equal(audit_sync(a), 0);
	assert_int_equal(syncs, 1);
	assert_int_equal(audit_sync(a), 0); /* nothing new */
	assert_int_equal(syncs, 1);
	assert_int_equal(put_line(a), AUDIT_OK);
	sync_error = EIO;
	assert_int_equal(audit_sync(a), -1);
	assert_non_null(strstr(audit_error(a), "Input/output error"));
	sync_error = 0;

	audit_sync_each(a, 1);
	syncs = 0;
	queue(a, 1);
	queue(a, 1);
	assert_int_equal(audit_commit(a), AUDIT_OK);
	assert_int_equal(syncs, 1);
	assert_int_equal(audit_sync(a), 0);
	assert_int_equal(syncs, 1);
	/* A line that is not on the disk is no line. */
	size = size_of(p->log);
	sync_error = EIO;
	loses_line(a);
	assert_int_equal(size_of(p->log), size);
	sync_error = 0;
	mended(a, p, 5);
	audit_sync_each(a, 0);
	syncs = 0;
	mended(a, p, 6);
	assert_int_equal(syncs, 0);
	audit_close(a);
}

/* The directory comes late, and goes away. */
static void
directory(void **state)
{
	struct place *p = *state;
	struct audit *a;

	assert_int_equal(rmdir(p->dir), 0);
	a = audit_new(p->dir);
	loses_line(a);
	assert_int_equal(mkdir(p->dir, 0700), 0);
	mended(a, p, 1);
	assert_int_equal(unlink(p->log), 0);
	assert_int_equal(unlink(p->lock), 0);
	assert_int_equal(remove(p->key) == 0 || errno == ENOENT, 1);
	assert_int_equal(rmdir(p->dir), 0);
	loses_line(a);
	audit_close(a);
	assert_int_equal(mkdir(p->dir, 0700), 0);
}

#define IN_PLACE(f) cmocka_unit_test_setup_teardown(f, place_make, place_remove)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    IN_PLACE(moved_away),         IN_PLACE(replaced_by_link),
	    IN_PLACE(replaced_by_others), IN_PLACE(replaced_by_device),
	    IN_PLACE(opened_to_others),   IN_PLACE(hard_linked),
	    IN_PLACE(somebody_elses),     IN_PLACE(lock_held),
	    IN_PLACE(lock_replaced),      IN_PLACE(lock_no_file),
	    IN_PLACE(file_size_limit),    IN_PLACE(torn_for_good),
	    IN_PLACE(disk_full),          IN_PLACE(syncing),
	    IN_PLACE(directory),
	};

	if (sodium_init() == -1)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
