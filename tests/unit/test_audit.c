/*
 * The audit log as its writers share it: numbers, what others left at its
 * end, identity, digests.
 */
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sodium.h>

#include "proto/buf.h"

#include "audit.h"
#include "jsonw.h"
#include "audit_help.h"

/* The log's last line with its newline taken off; the caller frees. */
static char *
last_line(const char *path)
{
	size_t len;
	char *p = slurp(path, &len), *line, *copy;

	assert_true(len > 0 && p[len - 1] == '\n');
	p[len - 1] = '\0';
	line = strrchr(p, '\n');
	copy = strdup(line != NULL ? line + 1 : p);
	free(p);
	return copy;
}

static void
one_line(void **state)
{
	struct place *p = *state;
	struct audit *a = audit_new(p->dir);
	struct stat st;
	struct buf *b;
	char *line;
	int end = 0;

	assert_int_equal(audit_commit(a), AUDIT_OK); /* nothing to do */
	assert_int_equal(access(p->log, F_OK), -1);
	audit_identity(a, "s1", "srv\n\u202e", NULL, NULL);
	b = audit_begin(a, "verdict");
	jsonw_u64(b, "id", 7);
	audit_end(a);
	assert_int_equal(audit_queued(a), 1);
	assert_int_equal(audit_commit(a), AUDIT_OK);
	assert_int_equal(audit_queued(a), 0);
	assert_int_equal(stat(p->log, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat(p->lock, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	line = last_line(p->log);
	assert_int_equal(
	    sscanf(line,
		   "{\"v\":1,\"seq\":1,\"time\":\"%*4d-%*2d-%*2dT%*2d:%*2d:"
		   "%*2d.%*3dZ\",\"mono_ns\":%*u,%n",
		   &end),
	    0);
	assert_string_equal(line + end,
			    "\"event\":\"verdict\",\"session\":\"s1\","
			    "\"server\":\"srv\\n\\u202e\",\"client\":null,"
			    "\"id\":7}");
	free(line);
	/* What is known by now is in the next line; the rest stays. */
	audit_identity(a, NULL, "srv", "cl\"ient", "agent 7");
	assert_int_equal(put_line(a), AUDIT_OK);
	line = last_line(p->log);
	assert_non_null(strstr(line, ",\"session\":\"s1\",\"server\":\"srv\","
				     "\"client\":\"cl\\\"ient\","
				     "\"agent\":\"agent 7\","));
	free(line);
	assert_int_equal(audit_lost(a), 0);
	audit_close(a);
	audit_close(NULL);
	assert_int_equal(check_log(p->log, 1, 0), 2);
}

/* Three writers in turn, one of them new each time. */
static void
interleaved(void **state)
{
	struct place *p = *state;
	struct audit *a = audit_new(p->dir), *b = audit_new(p->dir), *c;
	size_t i, k, total = 0;

	for (i = 0; i < 60; i++) {
		for (k = 0; k < i % 4; k++, total++)
			queue(a, i * 3);
		assert_int_equal(audit_commit(a), AUDIT_OK);
		queue(b, 1);
		assert_int_equal(audit_commit(b), AUDIT_OK);
		c = audit_new(p->dir);
		queue(c, 2);
		assert_int_equal(audit_commit(c), AUDIT_OK);
		audit_close(c);
		total += 2;
	}
	audit_close(a);
	audit_close(b);
	assert_int_equal(check_log(p->log, 1, 0), total);
}

/* Many processes at once: each tries again while another holds the lock. */
static void
at_once(void **state)
{
	struct place *p = *state;
	struct audit *a;
	int i, k, status;

	for (i = 0; i < 4; i++) {
		if (fork() != 0)
			continue;
		a = audit_new(p->dir);
		for (k = 0; k < 250; k++) {
			queue(a, 40);
			while ((status = audit_commit(a)) == AUDIT_BUSY)
				usleep(50);
			if (status != AUDIT_OK)
				_exit(1);
		}
		audit_close(a);
		_exit(0);
	}
	for (i = 0; i < 4; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(check_log(p->log, 1, 0), 1000);
}

/* Somebody died in the middle of a write, at any byte of it. */
static void
torn_at_any_byte(void **state)
{
	struct place *p = *state;
	struct audit *a = audit_new(p->dir), *b = audit_new(p->dir);
	off_t two, three, cut;
	size_t len;
	char *all;

	assert_int_equal(put_line(a), AUDIT_OK);
	assert_int_equal(put_line(a), AUDIT_OK);
	two = size_of(p->log);
	assert_int_equal(put_line(a), AUDIT_OK);
	three = size_of(p->log);
	for (cut = two + 1; cut < three; cut++) {
		assert_int_equal(truncate(p->log, cut), 0);
		assert_int_equal(put_line(cut % 2 ? a : b), AUDIT_OK);
		all = slurp(p->log, &len);
		/* The piece is closed off and left as it was found. */
		assert_int_equal(all[cut], '\n');
		assert_memory_equal(all + cut + 1, "{\"v\":1,\"seq\":3,", 15);
		free(all);
		assert_int_equal(put_line(cut % 2 ? b : a), AUDIT_OK);
		assert_int_equal(truncate(p->log, two), 0);
	}
	audit_close(a);
	audit_close(b);
}

/* Closing the piece off is not to make a line of it. */
static void
torn_twice(void **state)
{
	struct place *p = *state;
	struct audit *a = audit_new(p->dir);
	static const char *const pieces[] = {
	    "{\"v\":1,\"seq\":1\n",
	    "{\"v\":1,\"seq\":9,\"time\":\n",
	    "{\"v\":1,\"seq\":99}\n",
	    "{\"v\":1,\"seq\":99.5,\"time\":\"0000-00-00T00:00:00.000Z\"}\n",
	    "{\"v\":1,\"seq\":99,\"time\":\"0000-00-00T00:00:00.000Z\","
	    "\"mono\n",
	    "{\"v\":1,\"seq\":\n",
	    "{\"v\":1,\n",
	    "{\"v\":1,\"seq\":,}\n",
	    "\n",
	    "{\n"};
	size_t i;

	assert_int_equal(put_line(a), AUDIT_OK);
	for (i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		append_to(p->log, pieces[i], strlen(pieces[i]));
		assert_int_equal(put_line(a), AUDIT_OK);
	}
	audit_close(a);
	assert_int_equal(check_log(p->log, 1, i), i + 1);
}

static void
garbage_tail(void **state)
{
	static const struct {
		const char *p;
		size_t n;
	} tails[] = {
	    {"garbage", 7},
	    {"garbage\n", 8},
	    {"\n\n\n", 3},
	    {"\0\0\0\0", 4},
	    {"\xff\xfe\n\0\n", 5},
	    {" {\"v\":1,\"seq\":77,\"x\":1}\n", 24},
	    {"{\"v\":2,\"seq\":77,\"x\":1}\n", 23},
	    {"{\"v\":1,\"seq\":-7,\"x\":1}\n", 23},
	    {"{\"v\":1,\"seq\":99999999999999999999999,\"x\":1}\n", 43}};
	struct place *p = *state;
	struct audit *a = audit_new(p->dir);
	size_t i, len;
	char *all;

	assert_int_equal(put_line(a), AUDIT_OK);
	for (i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		append_to(p->log, tails[i].p, tails[i].n);
		assert_int_equal(put_line(a), AUDIT_OK);
		all = slurp(p->log, &len);
		len = 0;
		audit_close(a);
		a = audit_new(p->dir);
		free(all);
	}
	/* All else is left where it is: 1, 1, 3, 1, 2, 1, 1, 1, 1 lines. */
	assert_int_equal(check_log(p->log, 1, 12), i + 1);
	audit_close(a);
}

static void
empty_and_garbage_only(void **state)
{
	struct place *p = *state;
	struct audit *a = audit_new(p->dir);

	append_to(p->log, "", 0);
	assert_int_equal(put_line(a), AUDIT_OK);
	assert_int_equal(truncate(p->log, 0), 0);
	assert_int_equal(put_line(a), AUDIT_OK);
	assert_int_equal(check_log(p->log, 1, 0), 1);
	assert_int_equal(truncate(p->log, 0), 0);
	append_to(p->log, "not ours", 8);
	assert_int_equal(put_line(a), AUDIT_OK);
	assert_int_equal(check_log(p->log, 1, 1), 1);
	audit_close(a);
}

/* The last line may be longer than any step in which the end is read. */
static void
long_last_line(void **state)
{
	static const size_t sizes[] = {65535,    65536,
				       65537,    65500,
				       70000,    262144,
				       300000,   1048576,
				       1100000,  5000000,
				       4194304,  9000000,
				       18000000, 33u * 1024 * 1024};
	struct place *p = *state;
	struct audit *a = audit_new(p->dir), *b = audit_new(p->dir);
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_int_equal(put_line(a), AUDIT_OK);
		queue(a, sizes[i]);
		assert_int_equal(audit_commit(a), AUDIT_OK);
		assert_int_equal(put_line(b), AUDIT_OK);
	}
	assert_int_equal(check_log(p->log, 1, 0), 3 * i);
	/* Nor is a long piece of a line in the way. */
	assert_int_equal(truncate(p->log, size_of(p->log) - 3), 0);
	queue(a, 2000000);
	assert_int_equal(audit_commit(a), AUDIT_OK);
	assert_int_equal(truncate(p->log, size_of(p->log) - 3), 0);
	assert_int_equal(put_line(b), AUDIT_OK);
	assert_int_equal(check_log(p->log, 1, 2), 3 * i);
	audit_close(a);
	audit_close(b);
}

/*
 * Arguments stand in the log as the agent wrote them.  Text of the form of a
 * line's beginning within them is not one, wherever a piece that is read at
 * once happens to start.
 */
static void
no_line_within_a_line(void **state)
{
	static const char forged[] = "{\"v\":1,\"seq\":900,\"x\":{\"y\":0}}";
	struct place *p = *state;
	struct audit *a = audit_new(p->dir), *b = audit_new(p->dir);
	struct buf *line;
	size_t shift, i;

	for (shift = 0; shift < sizeof(forged); shift++) {
		line = audit_begin(a, "verdict");
		jsonw_key(line, "args");
		buf_puts(line, "[0");
		for (i = 0; i < 9000; i++) {
			buf_putc(line, ',');
			buf_puts(line, forged);
		}
		buf_puts(line, "]");
		jsonw_key(line, "pad");
		buf_printf(line, "\"%0*d\"", (int)shift + 1, 0);
		audit_end(a);
		assert_int_equal(audit_commit(a), AUDIT_OK);
		assert_int_equal(put_line(b), AUDIT_OK);
	}
	assert_int_equal(check_log(p->log, 1, 0), 2 * shift);
	audit_close(a);
	audit_close(b);
}

/* Lines queued together are in the file together, in order. */
static void
batches(void **state)
{
	struct place *p = *state;
	struct audit *a = audit_new(p->dir);
	size_t i;

	for (i = 0; i < 1000; i++)
		queue(a, i % 50);
	assert_int_equal(audit_queued(a), 1000);
	assert_int_equal(audit_commit(a), AUDIT_OK);
	assert_int_equal(check_log(p->log, 1, 0), 1000);
	queue(a, 1);
	queue(a, 1);
	audit_drop(a, "waited too long");
	assert_int_equal(audit_queued(a), 0);
	assert_int_equal(audit_lost(a), 2);
	assert_string_equal(audit_error(a), "waited too long");
	/* What was given up has no number. */
	assert_int_equal(put_line(a), AUDIT_OK);
	assert_int_equal(check_log(p->log, 1, 0), 1001);
	queue(a, 1);
	audit_close(a); /* without committing */
	assert_int_equal(check_log(p->log, 1, 0), 1001);
}

static void
digests(void **state)
{
	struct place *p = *state, *other;
	char x[AUDIT_DIGEST_HEX], y[AUDIT_DIGEST_HEX];
	unsigned char h[32], key[32];
	struct audit *a = audit_new(p->dir), *b = audit_new(p->dir);
	char hex[AUDIT_DIGEST_HEX], *bytes;
	struct stat st;
	size_t len;
	void *more = NULL;

	assert_int_equal(stat(p->key, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_nlink, 1);
	bytes = slurp(p->key, &len);
	assert_int_equal(len, sizeof(key));
	memcpy(key, bytes, sizeof(key));
	free(bytes);
	assert_int_equal(audit_digest(a, "args", 4, x), 0);
	crypto_generichash(h, sizeof(h), (const unsigned char *)"args", 4, key,
			   sizeof(key));
	sodium_bin2hex(hex, sizeof(hex), h, sizeof(h));
	assert_string_equal(x, hex);
	assert_int_equal(audit_digest(b, "args", 4, y), 0);
	assert_string_equal(x, y);
	assert_int_equal(audit_digest(a, "argt", 4, y), 0);
	assert_string_not_equal(x, y);
	assert_int_equal(audit_digest(a, "", 0, y), 0);
	assert_int_equal(strlen(y), 64);
	audit_close(b);
	/* Another directory has another key. */
	assert_int_equal(place_make(&more), 0);
	other = more;
	b = audit_new(other->dir);
	assert_int_equal(audit_digest(b, "args", 4, y), 0);
	assert_string_not_equal(x, y);
	audit_close(b);
	audit_close(a);
	assert_int_equal(place_remove(&more), 0);
}

/* Without a whole key of its own there is no digest, but there is a log. */
static void
no_key(void **state)
{
	struct place *p = *state;
	char x[AUDIT_DIGEST_HEX];
	struct audit *a;
	int i;

	for (i = 0; i < 3; i++) {
		if (i == 0)
			append_to(p->key, "short", 5);
		else if (i == 1)
			assert_int_equal(symlink("/dev/zero", p->key), 0);
		else
			assert_int_equal(mkfifo(p->key, 0600), 0);
		a = audit_new(p->dir);
		assert_int_equal(audit_digest(a, "x", 1, x), -1);
		assert_int_equal(put_line(a), AUDIT_OK);
		audit_close(a);
		assert_int_equal(unlink(p->key), 0);
	}
	a = audit_new("/nonexistent/doorward");
	assert_int_equal(audit_digest(a, "x", 1, x), -1);
	loses_line(a);
	audit_close(a);
}

/* All who start at the same time have the same key. */
static void
key_at_once(void **state)
{
	struct place *p = *state;
	char x[AUDIT_DIGEST_HEX], y[AUDIT_DIGEST_HEX];
	int go[2], out[2], round, i, status;
	struct audit *a;
	char c;

	for (round = 0; round < 20; round++) {
		assert_int_equal(pipe(go), 0);
		assert_int_equal(pipe(out), 0);
		for (i = 0; i < 8; i++) {
			if (fork() != 0)
				continue;
			close(go[1]);
			if (read(go[0], &c, 1) != 0)
				_exit(1);
			a = audit_new(p->dir);
			if (audit_digest(a, "x", 1, x) != 0 ||
			    write(out[1], x, sizeof(x)) != sizeof(x))
				_exit(1);
			audit_close(a);
			_exit(0);
		}
		close(go[0]);
		close(go[1]);
		for (i = 0; i < 8; i++) {
			assert_true(wait(&status) > 0);
			assert_int_equal(status, 0);
			assert_int_equal(read(out[0], i ? y : x, sizeof(x)),
					 sizeof(x));
			if (i > 0)
				assert_string_equal(x, y);
		}
		close(out[0]);
		close(out[1]);
		assert_int_equal(unlink(p->key), 0);
		/* Nothing but the key was there. */
		assert_int_equal(rmdir(p->dir), 0);
		assert_int_equal(mkdir(p->dir, 0700), 0);
	}
}

#define IN_PLACE(f) cmocka_unit_test_setup_teardown(f, place_make, place_remove)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    IN_PLACE(one_line),
	    IN_PLACE(interleaved),
	    IN_PLACE(at_once),
	    IN_PLACE(torn_at_any_byte),
	    IN_PLACE(torn_twice),
	    IN_PLACE(garbage_tail),
	    IN_PLACE(empty_and_garbage_only),
	    IN_PLACE(long_last_line),
	    IN_PLACE(no_line_within_a_line),
	    IN_PLACE(batches),
	    IN_PLACE(digests),
	    IN_PLACE(no_key),
	    IN_PLACE(key_at_once),
	};

	if (sodium_init() == -1)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
