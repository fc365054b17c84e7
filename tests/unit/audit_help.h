/*
 * A state directory of its own for each test of the audit.  Include after
 * cmocka.h, proto/buf.h and audit.h.
 */
#ifndef DW_TEST_AUDIT_HELP_H
#define DW_TEST_AUDIT_HELP_H

struct place {
	char dir[64], log[96], lock[96], key[96];
};

/* cmocka set-up and tear-down. */
static inline int
place_make(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return -1;
	snprintf(p->dir, sizeof(p->dir), "/tmp/doorward-audit.XXXXXX");
	if (mkdtemp(p->dir) == NULL)
		return -1;
	snprintf(p->log, sizeof(p->log), "%s/audit.jsonl", p->dir);
	snprintf(p->lock, sizeof(p->lock), "%s/audit.lock", p->dir);
	snprintf(p->key, sizeof(p->key), "%s/audit.key", p->dir);
	*state = p;
	return 0;
}

static inline int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static inline int
place_remove(void **state)
{
	struct place *p = *state;
	int r;

	umount2(p->dir, MNT_DETACH); /* of a test that failed */
	r = nftw(p->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(p);
	return r;
}

/* The whole file with a NUL after it; the caller frees. */
static inline char *
slurp(const char *path, size_t *len)
{
	FILE *f = fopen(path, "re");
	struct stat st;
	char *p;

	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	p = malloc((size_t)st.st_size + 1);
	assert_non_null(p);
	*len = fread(p, 1, (size_t)st.st_size, f);
	assert_int_equal(*len, st.st_size);
	p[*len] = '\0';
	fclose(f);
	return p;
}

/* Appends bytes as somebody else would. */
static inline void
append_to(const char *path, const char *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	assert_int_not_equal(fd, -1);
	assert_int_equal(write(fd, bytes, n), n);
	close(fd);
}

static inline off_t
size_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

/* Queues a line with one member more, n bytes of x. */
static inline void
queue(struct audit *a, size_t n)
{
	struct buf *b = audit_begin(a, "verdict");
	char *x = malloc(n + 1);

	assert_non_null(x);
	memset(x, 'x', n);
	x[n] = '\0';
	jsonw_str(b, "fill", x);
	audit_end(a);
	free(x);
}

static inline enum audit_status
put_line(struct audit *a)
{
	queue(a, 10);
	assert_int_equal(audit_queued(a), 1);
	return audit_commit(a);
}

/* A line that cannot be written: it is lost, and nobody waits for it. */
static inline void
loses_line(struct audit *a)
{
	uint64_t lost = audit_lost(a);

	assert_int_equal(put_line(a), AUDIT_FAILED);
	assert_int_equal(audit_queued(a), 0);
	assert_int_equal(audit_lost(a), lost + 1);
	assert_string_not_equal(audit_error(a), "");
}

/*
 * The whole lines of the log that are ours count from `first` without a gap;
 * the other ones number `others`.  Returns how many are ours.
 */
static inline size_t
check_log(const char *path, uint64_t first, size_t others)
{
	size_t len, ours = 0, strange = 0;
	char *p = slurp(path, &len), *line, *end;
	unsigned long long seq;
	int n;

	if (len > 0)
		assert_int_equal(p[len - 1], '\n');
	for (line = p;
	     (end = memchr(line, '\n', len - (size_t)(line - p))) != NULL;
	     line = end + 1) {
		*end = '\0';
		n = 0;
		if (sscanf(line, "{\"v\":1,\"seq\":%llu,\"time\":\"%n", &seq,
			   &n) == 1 &&
		    n > 0 && line[13] != '-' && end[-1] == '}') {
			assert_int_equal(seq, first + ours);
			ours++;
		} else {
			strange++;
		}
	}
	free(p);
	assert_int_equal(strange, others);
	return ours;
}

#endif
