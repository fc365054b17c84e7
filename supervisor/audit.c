/*
 * The audit file.  Owned by the monitor; no relay ever holds a descriptor
 * here.  The file is opened relative to the state directory, never through a
 * link, and under the lock it is checked to be still the one at its path.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sodium.h>

#include "proto/alloc.h"
#include "proto/buf.h"

#include "audit.h"
#include "jsonw.h"

#define LOG_NAME "audit.jsonl"
#define LOCK_NAME "audit.lock"
#define KEY_NAME "audit.key"
#define LINE_HEAD "{\"v\":1,\"seq\":"
#define SEQ_DIGITS 19 /* of any number that fits */
#define TAIL_STEP (64 * 1024)
#define TAIL_MAX (64 * 1024 * 1024)
#define KEEP (256u * 1024)

/* Which file a descriptor is: it cannot change while it is open. */
struct file_id {
	dev_t dev;
	ino_t ino;
};

struct audit {
	char *dir;
	int dirfd, lockfd, logfd; /* -1 when not open */
	struct file_id lock_id, log_id;
	off_t end;    /* size after our last write */
	uint64_t seq; /* of the last line, if end is the size */
	int dirty;
	int disabled;     /* error says why */
	int sync_each;    /* a line counts once it is on the disk */
	struct buf line;  /* being built, without its head */
	struct buf queue; /* finished lines, without their heads */
	size_t *lens;     /* of the queued lines */
	size_t count, room;
	uint64_t lost;
	char error[512];
	char *session, *server, *client, *agent;
	unsigned char key[crypto_generichash_KEYBYTES];
	int have_key;
};

static void
set_error(struct audit *a, const char *what, int err)
{
	if (err != 0)
		snprintf(a->error, sizeof(a->error), "%s: %s", what,
			 strerror(err));
	else
		snprintf(a->error, sizeof(a->error), "%s", what);
}

static int
read_key(struct audit *a)
{
	int fd = openat(a->dirfd, KEY_NAME,
			O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd == -1)
		return -1;
	a->have_key =
	    fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_uid == geteuid() && (st.st_mode & 077) == 0 &&
	    st.st_size == (off_t)sizeof(a->key) &&
	    read(fd, a->key, sizeof(a->key)) == (ssize_t)sizeof(a->key);
	close(fd);
	return a->have_key ? 0 : -1;
}

/* Two monitors may start at once: link(2) decides whose key it is. */
static void
make_key(struct audit *a)
{
	char tmp[64];
	int fd, ok;

	/* Not by pid: two containers may have the same, and one directory. */
	snprintf(tmp, sizeof(tmp), KEY_NAME ".%08x%08x",
		 (unsigned)randombytes_random(),
		 (unsigned)randombytes_random());
	fd = openat(a->dirfd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		    0600);
	if (fd == -1)
		return;
	randombytes_buf(a->key, sizeof(a->key));
	ok = write(fd, a->key, sizeof(a->key)) == (ssize_t)sizeof(a->key) &&
	     fsync(fd) == 0;
	close(fd);
	if (ok)
		ok = linkat(a->dirfd, tmp, a->dirfd, KEY_NAME, 0) == 0 ||
		     errno == EEXIST;
	unlinkat(a->dirfd, tmp, 0);
	if (ok)
		read_key(a);
}

struct audit *
audit_new(const char *dir)
{
	struct audit *a = xcalloc(1, sizeof(*a));

	a->lockfd = a->logfd = a->dirfd = -1;
	if (dir == NULL)
		return a;
	a->dir = xstrdup(dir);
	a->dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (a->dirfd != -1 && read_key(a) == -1)
		make_key(a);
	return a;
}

void
audit_disable(struct audit *a, const char *why)
{
	a->disabled = 1;
	set_error(a, why, 0);
}

int
audit_has_key(const struct audit *a)
{
	return a->have_key;
}

static void
close_fd(int *fd)
{
	if (*fd != -1)
		close(*fd);
	*fd = -1;
}

void
audit_close(struct audit *a)
{
	if (a == NULL)
		return;
	close_fd(&a->logfd);
	close_fd(&a->lockfd);
	close_fd(&a->dirfd);
	buf_free(&a->line);
	buf_free(&a->queue);
	free(a->lens);
	free(a->dir);
	free(a->session);
	free(a->server);
	free(a->client);
	free(a->agent);
	sodium_memzero(a->key, sizeof(a->key));
	free(a);
}

static void
set(char **field, const char *value)
{
	if (value == NULL)
		return;
	free(*field);
	*field = xstrdup(value);
}

void
audit_identity(struct audit *a, const char *session, const char *server,
	       const char *client, const char *agent)
{
	set(&a->session, session);
	set(&a->server, server);
	set(&a->client, client);
	set(&a->agent, agent);
}

/* RFC 3339, UTC, milliseconds.  The calendar part is kept for a second. */
static void
put_time(struct buf *b)
{
	static time_t last = (time_t)-1;
	static char text[32];
	struct timespec ts;
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &ts);
	if (ts.tv_sec != last && gmtime_r(&ts.tv_sec, &tm) != NULL) {
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
		last = ts.tv_sec;
	}
	buf_printf(b, ",\"time\":\"%s.%03ldZ\"", text, ts.tv_nsec / 1000000);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	buf_printf(b, ",\"mono_ns\":%lld%09ld", (long long)ts.tv_sec,
		   ts.tv_nsec);
}

struct buf *
audit_begin(struct audit *a, const char *event)
{
	struct buf *b = &a->line;

	b->off = b->len = 0;
	put_time(b);
	jsonw_str(b, "event", event);
	jsonw_str(b, "session", a->session != NULL ? a->session : "");
	jsonw_str(b, "server", a->server != NULL ? a->server : "");
	jsonw_key(b, "client");
	if (a->client != NULL)
		jsonw_string(b, a->client, strlen(a->client), 1);
	else
		buf_puts(b, "null");
	if (a->agent != NULL)
		jsonw_str(b, "agent", a->agent);
	return b;
}

void
audit_end(struct audit *a)
{
	buf_puts(&a->line, "}\n");
	if (a->count == a->room) {
		a->room = a->room ? a->room * 2 : 64;
		a->lens = xreallocarray(a->lens, a->room, sizeof(*a->lens));
	}
	a->lens[a->count++] = buf_used(&a->line);
	buf_put(&a->queue, buf_head(&a->line), buf_used(&a->line));
	buf_reset(&a->line, KEEP);
}

size_t
audit_queued(const struct audit *a)
{
	return a->count;
}

const char *
audit_error(const struct audit *a)
{
	return a->error;
}

uint64_t
audit_lost(const struct audit *a)
{
	return a->lost;
}

static void
empty_queue(struct audit *a)
{
	a->count = 0;
	buf_reset(&a->queue, KEEP);
}

void
audit_drop(struct audit *a, const char *why)
{
	set_error(a, why, 0);
	a->lost += a->count;
	empty_queue(a);
}

/*
 * 1 if what stands at name in the state directory is the file that was opened
 * as id; *st is then its state now, too.
 */
static int
still_there(const struct audit *a, const struct file_id *id, const char *name,
	    struct stat *st)
{
	return fstatat(a->dirfd, name, st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st->st_ino == id->ino && st->st_dev == id->dev;
}

static int
check_private(struct audit *a, const struct stat *st)
{
	if (S_ISREG(st->st_mode) && st->st_uid == geteuid() &&
	    st->st_nlink == 1 && (st->st_mode & 077) == 0)
		return 0;
	set_error(a, "audit file is not a private regular file of ours", 0);
	return -1;
}

static int
open_own(struct audit *a, const char *name, int flags, struct file_id *id)
{
	struct stat st;
	int fd;

	if (a->dirfd == -1)
		a->dirfd = open(a->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (a->dirfd == -1) {
		set_error(a, a->dir, errno);
		return -1;
	}
	fd = openat(a->dirfd, name,
		    flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK |
			O_NOCTTY,
		    0600);
	if (fd == -1) {
		set_error(a, name, errno);
		return -1;
	}
	if (fstat(fd, &st) == -1 || check_private(a, &st) == -1) {
		close(fd);
		return -1;
	}
	*id = (struct file_id){st.st_dev, st.st_ino};
	return fd;
}

/*
 * The lock is on a file of its own, so that rotation can replace the log.
 * Whoever removes the lock file under us must not get a second lock: after
 * locking, the file has to be the one at the path.
 */
static enum audit_status
lock(struct audit *a)
{
	struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct stat st;
	int tries;

	for (tries = 0; tries < 3; tries++) {
		if (a->lockfd == -1)
			a->lockfd = open_own(a, LOCK_NAME, O_RDWR, &a->lock_id);
		if (a->lockfd == -1)
			return AUDIT_FAILED;
		if (fcntl(a->lockfd, F_OFD_SETLK, &fl) == -1) {
			if (errno == EAGAIN || errno == EACCES)
				return AUDIT_BUSY;
			set_error(a, LOCK_NAME, errno);
			return AUDIT_FAILED;
		}
		if (still_there(a, &a->lock_id, LOCK_NAME, &st))
			return AUDIT_OK;
		close_fd(&a->lockfd);
	}
	set_error(a, "the audit's lock file keeps being replaced", 0);
	return AUDIT_FAILED;
}

static void
unlock(struct audit *a)
{
	struct flock fl = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

	if (fcntl(a->lockfd, F_OFD_SETLK, &fl) == -1)
		close_fd(&a->lockfd);
}

/*
 * The number of the line from start to end (just after its newline), or 0 if
 * it is not a whole line of ours.
 */
static uint64_t
line_seq(const struct audit *a, off_t start, off_t end)
{
	const size_t head = strlen(LINE_HEAD);
	char p[sizeof(LINE_HEAD) + SEQ_DIGITS], last[2];
	uint64_t seq = 0;
	size_t i;

	if (end - start <= (off_t)sizeof(p) ||
	    pread(a->logfd, p, sizeof(p), start) != (ssize_t)sizeof(p) ||
	    pread(a->logfd, last, 2, end - 2) != 2 ||
	    memcmp(p, LINE_HEAD, head) != 0 || last[0] != '}')
		return 0;
	for (i = head; i < sizeof(p) && p[i] >= '0' && p[i] <= '9'; i++)
		seq = seq * 10 + (uint64_t)(p[i] - '0');
	return i < sizeof(p) && p[i] == ',' ? seq : 0;
}

/*
 * Looks through n bytes that stand at pos, from their end, for newlines; *end
 * is the one found last, and so the end of the line before it.
 */
static uint64_t
last_seq(const struct audit *a, const char *p, size_t n, off_t pos, off_t *end)
{
	uint64_t seq = 0;
	off_t start;

	while (n > 0 && seq == 0) {
		if (p[--n] != '\n')
			continue;
		start = pos + (off_t)n + 1;
		if (*end != 0)
			seq = line_seq(a, start, *end);
		*end = start;
	}
	return seq;
}

/*
 * Finds the last sequence number of a file that others have written to: of
 * the last line that is whole and ours, whatever was left after it.  *torn is
 * set if the file does not end with a newline: somebody died in a write.
 */
static int
read_tail(struct audit *a, off_t size, int *torn)
{
	off_t pos = size, end = 0;
	size_t n;
	char *p = xreallocarray(NULL, TAIL_STEP, 1);
	int whole = size == 0; /* all of it was read */

	*torn = 0;
	a->seq = 0;
	while (pos > 0 && a->seq == 0 && size - pos < TAIL_MAX) {
		n = pos < TAIL_STEP ? (size_t)pos : TAIL_STEP;
		pos -= (off_t)n;
		if (pread(a->logfd, p, n, pos) != (ssize_t)n)
			break;
		if (pos + (off_t)n == size)
			*torn = p[n - 1] != '\n';
		a->seq = last_seq(a, p, n, pos, &end);
		whole = pos == 0;
	}
	free(p);
	if (whole && a->seq == 0 && end != 0)
		a->seq = line_seq(a, 0, end);
	a->end = whole || a->seq != 0 ? size : -1;
	if (a->end == size)
		return 0;
	set_error(a, "cannot find the audit's last line", 0);
	return -1;
}

static int
open_log(struct audit *a, struct stat *st)
{
	if (a->logfd != -1 && still_there(a, &a->log_id, LOG_NAME, st))
		return check_private(a, st);
	close_fd(&a->logfd);
	a->logfd = open_own(a, LOG_NAME, O_RDWR | O_APPEND, &a->log_id);
	if (a->logfd == -1)
		return -1;
	a->end = -1;
	if (fstat(a->logfd, st) == 0)
		return 0;
	set_error(a, LOG_NAME, errno);
	return -1;
}

/*
 * All or nothing: what a full disk cut short is taken back, and what has to
 * be on the disk and could not be put there.
 */
static int
append(struct audit *a, const char *p, size_t n, off_t size)
{
	size_t done = 0;
	ssize_t w = 0;
	int err = 0;

	while (done < n) {
		w = write(a->logfd, p + done, n - done);
		if (w == -1 && errno == EINTR)
			continue;
		if (w <= 0) {
			err = w == -1 ? errno : ENOSPC;
			break;
		}
		done += (size_t)w;
	}
	if (done == n && a->sync_each && fdatasync(a->logfd) == -1)
		err = errno;
	if (err == 0)
		return 0;
	set_error(a, LOG_NAME, err);
	if (done > 0 && ftruncate(a->logfd, size) == -1)
		a->end = -1; /* the next writer finds a torn line */
	return -1;
}

static int
write_queue(struct audit *a)
{
	struct buf out = BUF_INIT;
	struct stat st;
	uint64_t seq;
	size_t i, off = 0;
	int torn = 0, r;

	if (open_log(a, &st) == -1)
		return -1;
	if (st.st_size != a->end && read_tail(a, st.st_size, &torn) == -1)
		return -1;
	if (torn)
		buf_putc(&out, '\n');
	buf_reserve(&out, buf_used(&a->queue) + 40 * a->count);
	seq = a->seq;
	for (i = 0; i < a->count; i++) {
		buf_printf(&out, LINE_HEAD "%llu", (unsigned long long)++seq);
		buf_put(&out, buf_head(&a->queue) + off, a->lens[i]);
		off += a->lens[i];
	}
	r = append(a, buf_head(&out), buf_used(&out), st.st_size);
	if (r == 0) {
		a->seq = seq;
		a->end = st.st_size + (off_t)buf_used(&out);
		a->dirty = !a->sync_each;
	}
	free(out.data);
	return r;
}

enum audit_status
audit_commit(struct audit *a)
{
	enum audit_status st;

	if (a->count == 0)
		return AUDIT_OK;
	st = a->disabled ? AUDIT_FAILED : lock(a);
	if (st == AUDIT_BUSY)
		return st;
	if (st == AUDIT_OK) {
		if (write_queue(a) == -1)
			st = AUDIT_FAILED;
		unlock(a);
	}
	if (st != AUDIT_OK)
		a->lost += a->count;
	empty_queue(a);
	return st;
}

void
audit_sync_each(struct audit *a, int on)
{
	a->sync_each = on;
}

int
audit_sync(struct audit *a)
{
	int r = 0;

	if (a->dirty && a->logfd != -1)
		r = fdatasync(a->logfd);
	if (r == -1)
		set_error(a, "fdatasync of " LOG_NAME, errno);
	a->dirty = 0;
	return r;
}

int
audit_digest(const struct audit *a, const void *p, size_t len,
	     char out[AUDIT_DIGEST_HEX])
{
	unsigned char h[(AUDIT_DIGEST_HEX - 1) / 2];

	if (!a->have_key)
		return -1;
	crypto_generichash(h, sizeof(h), p, len, a->key, sizeof(a->key));
	sodium_bin2hex(out, AUDIT_DIGEST_HEX, h, sizeof(h));
	return 0;
}
