/*
 * `doorward reload`: each session keeps a locked file in the runtime
 * directory; the command puts a nonce into the file "reload" there and waits
 * until each session's file repeats it with the outcome.  The first half
 * runs in the monitor, the second is the command.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <sodium.h>

#include "proto/alloc.h"
#include "proto/log.h"

#include "cmd_words.h"
#include "cmds.h"
#include "monitor.h"
#include "paths.h"
#include "pins.h"
#include "policy.h"
#include "toolset.h"
#include "usage.h"

#define REQUEST "reload"
#define SESSION "session."
#define NONCE_MAX 40
#define WAIT_MS 5000

static struct flock
whole(short type)
{
	return (struct flock){.l_type = type, .l_whence = SEEK_SET};
}

static char *
session_path(const struct monitor *m)
{
	return xasprintf("%s/%s%s", m->run_dir, SESSION, m->session);
}

/* It gets its name once it is locked: unlocked it would be taken for dead. */
static int
open_session(struct monitor *m)
{
	struct flock fl = whole(F_WRLCK);
	char *tmp = xasprintf("%s/new.%s", m->run_dir, m->session);
	char *path = session_path(m);
	int fd = open(tmp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd != -1 &&
	    (fcntl(fd, F_OFD_SETLK, &fl) == -1 || rename(tmp, path) == -1)) {
		unlink(tmp);
		close(fd);
		fd = -1;
	}
	free(tmp);
	free(path);
	return fd;
}

/* A person who accepts or forgets puts a new file in place, or removes it. */
static void
watch_pins(struct monitor *m)
{
	char *dir;

	if (m->pins == NULL)
		return;
	dir = pins_dir(m->state_dir);
	m->pins_watch =
	    inotify_add_watch(m->reload_fd, dir, IN_MOVED_TO | IN_DELETE);
	if (m->pins_watch == -1)
		warnf("what a person accepts will not reach this session: %s "
		      "cannot be watched",
		      dir);
	free(dir);
}

void
reload_setup(struct monitor *m)
{
	m->run_watch = m->pins_watch = -1;
	if (m->run_dir == NULL && m->pins == NULL)
		return;
	m->reload_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	watch_pins(m);
	if (m->run_dir == NULL)
		return;
	m->run_watch = inotify_add_watch(m->reload_fd, m->run_dir, IN_MOVED_TO);
	m->session_fd = open_session(m);
	if (m->session_fd == -1 || m->run_watch == -1)
		warnf("reload will not reach this session: %s is not usable",
		      m->run_dir);
}

/* "NONCE ok|error PID: NAME: TEXT", which the command reads. */
static void
acknowledge(struct monitor *m, const char *nonce, const char *outcome,
	    const char *text)
{
	char *line;

	if (m->session_fd == -1)
		return;
	line = xasprintf("%s %s %ld: %s: %s\n", nonce, outcome, (long)getpid(),
			 m->server_name, text);
	if (ftruncate(m->session_fd, 0) == 0 &&
	    lseek(m->session_fd, 0, SEEK_SET) == 0 &&
	    write(m->session_fd, line, strlen(line)) == -1)
		debugf("cannot answer the reload: %s", strerror(errno));
	free(line);
}

static void
load_again(struct monitor *m, const char *nonce)
{
	struct policy_error err = {0};
	struct policy *p;
	char *text;
	size_t n;

	p = policy_load(m->policy_files, m->policy_file_count, m->packs_dir,
			&err);
	if (p == NULL) {
		text = policy_error_format(&err);
		warnf("reload: %s; the policy as it was stays in force", text);
		event_policy(m, "refused", text);
		acknowledge(m, nonce, "error", text);
		free(text);
		policy_error_clear(&err);
		return;
	}
	toolset_drop_views(m);
	policy_free(m->policy);
	m->policy = p;
	n = monitor_policy_warnings(m);
	event_policy(m, "reloaded", NULL);
	debugf("the policy was read again");
	told_list_changed(m);
	text = n == 0 ? xstrdup("reloaded")
		      : xasprintf("reloaded, with %zu warning%s (doorward "
				  "policy check shows them)",
				  n, n == 1 ? "" : "s");
	acknowledge(m, nonce, "ok", text);
	free(text);
}

static void
read_nonce(struct monitor *m, char nonce[NONCE_MAX + 1])
{
	char *path = xasprintf("%s/%s", m->run_dir, REQUEST);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = fd == -1 ? -1 : read(fd, nonce, NONCE_MAX);

	nonce[n > 0 ? n : 0] = '\0';
	nonce[strspn(nonce, "0123456789abcdef")] = '\0';
	if (fd != -1)
		close(fd);
	free(path);
}

void
reload_ready(struct monitor *m)
{
	union {
		struct inotify_event e;
		char room[4096];
	} u;
	char nonce[NONCE_MAX + 1], *p;
	const struct inotify_event *e;
	int asked = 0, pins = 0;
	ssize_t n;

	while ((n = read(m->reload_fd, &u, sizeof(u))) > 0) {
		for (p = u.room; p < u.room + n; p += sizeof(*e) + e->len) {
			e = (const struct inotify_event *)(const void *)p;
			/* If some were lost it may be any of them. */
			if (e->wd == m->pins_watch ||
			    (e->mask & IN_Q_OVERFLOW) != 0)
				pins = 1;
			else if (e->len > 0 && strcmp(e->name, REQUEST) == 0)
				asked = 1;
		}
	}
	if (pins)
		pinning_refresh(m);
	if (!asked)
		return;
	read_nonce(m, nonce);
	load_again(m, nonce);
}

void
reload_teardown(struct monitor *m)
{
	char *path;

	if (m->session_fd == -1)
		return;
	path = session_path(m);
	unlink(path);
	free(path);
	close(m->session_fd);
	m->session_fd = -1;
}

static int
ask(const char *run, const char *nonce)
{
	char *tmp = xasprintf("%s/%s.%ld", run, REQUEST, (long)getpid());
	char *path = xasprintf("%s/%s", run, REQUEST);
	int fd, ok;

	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		  0600);
	ok = fd != -1 &&
	     write(fd, nonce, strlen(nonce)) == (ssize_t)strlen(nonce);
	if (fd != -1)
		close(fd);
	if (!ok || rename(tmp, path) == -1) {
		warnf("cannot write %s: %s", path, strerror(errno));
		unlink(tmp);
		ok = 0;
	}
	free(tmp);
	free(path);
	return ok ? 0 : -1;
}

/* 1 answered well, 0 answered with an error, -1 no answer yet or the file
 * cannot be opened, -2 no session holds the file: it is removed. */
static int
look(const char *run, const char *name, const char *nonce)
{
	struct flock fl = whole(F_WRLCK);
	char *path = xasprintf("%s/%s", run, name), text[16384], *said, *pid;
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW), r = -1;
	ssize_t n;

	if (fd == -1) {
		r = errno == ENOENT ? -2 : -1;
		free(path);
		return r;
	}
	if (fcntl(fd, F_OFD_GETLK, &fl) == 0 && fl.l_type == F_UNLCK) {
		unlink(path);
		r = -2;
	} else if ((n = read(fd, text, sizeof(text) - 1)) > 0) {
		text[n] = '\0';
		said = text + strlen(nonce) + 1;
		if (strncmp(text, nonce, strlen(nonce)) == 0 &&
		    text[n - 1] == '\n' && (pid = strchr(said, ' ')) != NULL) {
			r = strncmp(said, "ok ", 3) == 0;
			printf("%s", pid + 1);
		}
	}
	close(fd);
	free(path);
	return r;
}

struct round {
	char *names[1024]; /* sessions that have not answered */
	size_t n;
	int failed, answered;
};

static int
list(const char *run, struct round *rd)
{
	DIR *d = opendir(run);
	struct dirent *e;

	if (d == NULL)
		return -1;
	while ((e = readdir(d)) != NULL)
		if (strncmp(e->d_name, SESSION, strlen(SESSION)) == 0 &&
		    rd->n < sizeof(rd->names) / sizeof(rd->names[0]))
			rd->names[rd->n++] = xstrdup(e->d_name);
	closedir(d);
	return 0;
}

static void
collect(const char *run, struct round *rd, const char *nonce)
{
	size_t i, left = 0;
	int r;

	for (i = 0; i < rd->n; i++) {
		r = look(run, rd->names[i], nonce);
		if (r == -1) {
			rd->names[left++] = rd->names[i];
			continue;
		}
		if (r == 0)
			rd->failed = 1;
		if (r >= 0)
			rd->answered++;
		free(rd->names[i]);
	}
	rd->n = left;
}

/* "PID: NAME", of a line that the session has left there for somebody else,
 * if it has; caller frees. */
static char *
who(const char *run, const char *name)
{
	char *path = xasprintf("%s/%s", run, name), text[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = fd == -1 ? -1 : read(fd, text, sizeof(text) - 1);
	char *p, *end;

	text[n > 0 ? n : 0] = '\0';
	p = strchr(text, ' ');
	p = p != NULL ? strchr(p + 1, ' ') : NULL;
	end = p != NULL ? strchr(p, ':') : NULL;
	end = end != NULL ? strchr(end + 1, ':') : NULL;
	if (fd != -1)
		close(fd);
	free(path);
	return end != NULL ? xmemdupz(p + 1, (size_t)(end - p) - 1) : NULL;
}

static void
no_answer(const char *run, const char *name)
{
	char *known = who(run, name);

	if (known != NULL)
		warnf("reload: no answer from %s (session %s)",
		      cmd_shown(known), name + strlen(SESSION));
	else
		warnf("reload: no answer from session %s of %s",
		      name + strlen(SESSION), run);
	free(known);
}

static int
reload(const char *run)
{
	struct round rd = {.n = 0};
	unsigned char raw[16];
	char nonce[sizeof(raw) * 2 + 1];
	int waited;
	size_t i;

	randombytes_buf(raw, sizeof(raw));
	sodium_bin2hex(nonce, sizeof(nonce), raw, sizeof(raw));
	if (list(run, &rd) == -1 && errno != ENOENT) {
		warnf("reload: %s: %s; whether sessions run cannot be seen",
		      run, strerror(errno));
		return EXIT_FINDING;
	}
	collect(run, &rd, nonce); /* removes what dead sessions left */
	if (rd.n == 0) {
		printf("no running session\n");
		return EXIT_OK;
	}
	if (ask(run, nonce) == -1)
		return EXIT_FINDING;
	for (waited = 0; rd.n > 0 && waited < WAIT_MS; waited += 20) {
		poll(NULL, 0, 20);
		collect(run, &rd, nonce);
	}
	for (i = 0; i < rd.n; i++) {
		no_answer(run, rd.names[i]);
		free(rd.names[i]);
		rd.failed = 1;
	}
	return rd.failed ? EXIT_FINDING : EXIT_OK;
}

static void
usage(void)
{
	printf("usage: doorward reload [--state DIR]\n\n"
	       "Makes every running session read its policy files again "
	       "and prints what\neach one says.  A session that finds a "
	       "mistake keeps the policy it has.\n\n"
	       "  --state DIR   state directory (default: "
	       "~/.local/state/doorward)\n"
	       "  --help        this text\n\n"
	       "Exit status: 0 all have it, 1 one refused or did not "
	       "answer, 2 usage.\n");
}

int
cmd_reload(int argc, char **argv)
{
	static const struct option options[] = {
	    {"state", required_argument, NULL, 's'},
	    {"help", no_argument, NULL, 'h'},
	    {NULL, 0, NULL, 0}};
	const char *state = NULL;
	struct paths p;
	int c, r;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (c == 's') {
			state = optarg;
		} else if (c == 'h') {
			usage();
			return EXIT_OK;
		} else {
			return usage_error("reload", NULL);
		}
	}
	if (optind != argc)
		return usage_error("reload", "unexpected argument \"%s\"",
				   cmd_shown(argv[optind]));
	paths_guess(&p, state);
	r = reload(p.run);
	paths_free(&p);
	return r;
}
