/*
 * `doorward doctor`: which layers of confinement this machine gives, seen by
 * starting a real relay and confining a real child, and what the paths and
 * the policy are like.  Runs as the user; changes nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/alloc.h"
#include "proto/limits.h"

#include "cmd_words.h"
#include "cmds.h"
#include "confine.h"
#include "jsonw.h"
#include "monitor.h"
#include "paths.h"
#include "policy.h"
#include "spawn.h"
#include "usage.h"

#define NAMESPACES (LAYER_NET_NS | LAYER_MOUNT_NS | LAYER_IPC_NS)

struct report {
	int json;
	int findings;
	struct buf out; /* JSON array being written */
};

/* One line: what was looked at, how it is, and for a finding its remedy. */
static void
say(struct report *r, int ok, const char *what, const char *how,
    const char *remedy)
{
	r->findings += !ok;
	if (!r->json) {
		printf("%-4s %-16s %s\n", ok ? "ok" : "!!", what, how);
		if (!ok && remedy != NULL)
			printf("%-4s %-16s remedy: %s\n", "", "", remedy);
		return;
	}
	buf_puts(&r->out, buf_used(&r->out) > 0 ? ",{" : "{");
	jsonw_key(&r->out, "ok");
	buf_puts(&r->out, ok ? "true" : "false");
	jsonw_str(&r->out, "what", what);
	jsonw_str(&r->out, "how", how);
	if (!ok && remedy != NULL)
		jsonw_str(&r->out, "remedy", remedy);
	buf_putc(&r->out, '}');
}

static char *
layers_text(uint32_t layers, int abi)
{
	struct buf b = BUF_INIT;
	char *text;
	uint32_t bit;

	for (bit = 1; layer_name(bit) != NULL; bit <<= 1) {
		if ((layers & bit) == 0)
			continue;
		buf_printf(&b, "%s%s", buf_used(&b) > 0 ? " " : "",
			   layer_name(bit));
		if (bit == LAYER_LANDLOCK)
			buf_printf(&b, ":%d", abi);
	}
	text = xmemdupz(buf_head(&b), buf_used(&b));
	buf_free(&b);
	return text;
}

static int
read_hello(int fd, struct hello *h)
{
	char frame[FRAME_HEADER_LEN + HELLO_LEN];
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct frame_header head;
	size_t got = 0;
	ssize_t n;

	while (got < sizeof(frame)) {
		if (poll(&p, 1, DW_HELLO_TIMEOUT_MS) != 1)
			return -1;
		n = read(fd, frame + got, sizeof(frame) - got);
		if (n <= 0)
			return -1;
		got += (size_t)n;
	}
	if (frame_get_header(frame, &head) == -1 || head.type != FRAME_HELLO ||
	    head.len != HELLO_LEN)
		return -1;
	return hello_get(frame + FRAME_HEADER_LEN, HELLO_LEN, h);
}

static void
relay_layers(struct report *r)
{
	char *program = paths_program("doorward-relay"), *text;
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC), fd = -1;
	struct hello h = {0};
	pid_t pid = 0;
	int ok, there = program != NULL && access(program, X_OK) == 0;

	if (program != NULL && !there) {
		text = xasprintf("%s: %s", program, strerror(errno));
		say(r, 0, "relay", text, "reinstall");
		free(text);
		free(program);
		close(null);
		return;
	}
	if (there)
		fd = spawn_relay(program, "client", null, &pid);
	ok = fd != -1 && read_hello(fd, &h) == 0;
	if (fd != -1) {
		close(fd);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	close(null);
	text = ok ? layers_text(h.layers, h.landlock_abi)
		  : xasprintf("%s does not start or cannot confine itself",
			      program != NULL ? program : "doorward-relay");
	say(r, ok, "relay", text,
	    "reinstall; seccomp has to be in the kernel "
	    "(CONFIG_SECCOMP_FILTER)");
	free(text);
	if (ok && (h.layers & LAYER_LANDLOCK) == 0)
		say(r, 0, "landlock", "not in this kernel, or switched off",
		    "boot with lsm=...,landlock; Doorward works without it");
	if (ok && (h.layers & NAMESPACES) != NAMESPACES)
		say(r, 0, "namespaces", "not all are given to this user",
		    "allow unprivileged user namespaces; Doorward works "
		    "without them");
	free(program);
}

static void
monitor_layers(struct report *r, const struct paths *p)
{
	struct confine_dir dirs[2] = {{p->state, 1}, {p->run, 1}};
	uint32_t got[2] = {0, 0};
	const char *why = "";
	int fds[2], abi = 0;
	char *text;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) == -1)
		return;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		got[0] = confine_monitor(dirs, 2, &abi, &why);
		got[1] = (uint32_t)abi;
		_exit(write(fds[1], got, sizeof(got)) != (ssize_t)sizeof(got));
	}
	close(fds[1]);
	if (pid == -1 || read(fds[0], got, sizeof(got)) != sizeof(got))
		got[0] = 0;
	close(fds[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	text = got[0] != 0 ? layers_text(got[0], (int)got[1])
			   : xstrdup("cannot be confined here");
	say(r, got[0] != 0, "monitor", text,
	    "seccomp has to be in the kernel (CONFIG_SECCOMP_FILTER)");
	free(text);
}

static void
directory(struct report *r, const char *what, const char *path)
{
	char *err = NULL, *text = NULL;
	int there = paths_check(path, &err);

	if (there == 1)
		text = xasprintf("%s (not there yet; the first run makes it)",
				 path);
	say(r, there >= 0, what, there < 0 ? err : (text != NULL ? text : path),
	    "name a directory of your own with --state; until then calls are "
	    "denied");
	free(err);
	free(text);
}

/* What is there has to be what a session would agree to write to. */
static void
audit_file(struct report *r, const char *state)
{
	char *path = xasprintf("%s/audit.jsonl", state), *text;
	struct stat st;
	int ok = 1;

	if (lstat(path, &st) == -1) {
		ok = errno == ENOENT || errno == ENOTDIR;
		text = ok ? xasprintf("%s (not there yet)", path)
			  : xasprintf("%s: %s", path, strerror(errno));
	} else if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
		   st.st_nlink != 1 || (st.st_mode & 077) != 0 ||
		   access(path, R_OK | W_OK) != 0) {
		ok = 0;
		text = xasprintf("%s is not a regular file of yours that is "
				 "closed to others and writable",
				 path);
	} else {
		text = xasprintf("%s, %lld bytes", path, (long long)st.st_size);
	}
	say(r, ok, "audit", text,
	    "move it away, or chown it to yourself and chmod 600; until then "
	    "calls are denied");
	free(text);
	free(path);
}

/* How the monitor finds what a server leaves behind. */
static void
children(struct report *r)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%ld/children",
		 (long)getpid());
	if (access(path, R_OK) != 0)
		say(r, 0, "children", "this kernel does not list them",
		    "what a server leaves behind may outlive the session; a "
		    "kernel with CONFIG_PROC_CHILDREN lists it");
}

static void
policy(struct report *r, const char *const *files, size_t n)
{
	struct policy_error err = {0};
	char *text, *packs = paths_packs();
	struct policy *p = policy_load(files, n, packs, &err);
	size_t i;

	free(packs);
	if (p == NULL) {
		text = policy_error_format(&err);
		say(r, 0, "policy", text,
		    "'doorward run' refuses to start "
		    "until this is mended");
		free(text);
		policy_error_clear(&err);
		return;
	}
	policy_lint(p);
	text = xasprintf(
	    "%s, %zu rule%s, mode %s, hash %.12s",
	    n > 0 ? files[n - 1] : "none: packs and fallback alone judge",
	    policy_rule_count(p), policy_rule_count(p) == 1 ? "" : "s",
	    policy_mode_name(policy_get_mode(p)), policy_hash(p));
	say(r, 1, "policy", text, NULL);
	free(text);
	for (i = 0; i < policy_warning_count(p); i++)
		say(r, 0, "policy", policy_warning(p, i),
		    "see doorward.yaml(5)");
	policy_free(p);
}

static void
usage(void)
{
	printf("usage: doorward doctor [--state DIR] [--policy FILE]... "
	       "[--json]\n\n"
	       "Says which layers of confinement are to be had here, "
	       "where things are, and what\nis wrong, each finding with "
	       "its remedy.\n\n"
	       "  --state DIR    state directory (default: "
	       "~/.local/state/doorward)\n"
	       "  --policy FILE  policy file; may be repeated\n"
	       "  --json         print the findings as a JSON array\n"
	       "  --help         this text\n\n"
	       "Exit status: 0 nothing found, 1 findings, 2 usage.\n");
}

static int
finish(struct report *r)
{
	if (r->json)
		printf("[%.*s]\n", (int)buf_used(&r->out), buf_head(&r->out));
	else
		printf("%d finding%s\n", r->findings,
		       r->findings == 1 ? "" : "s");
	buf_free(&r->out);
	return r->findings > 0 ? EXIT_FINDING : EXIT_OK;
}

static int
examine(struct report *r, const char *state, const char **files, size_t n)
{
	struct paths p;
	char *def = NULL;

	paths_guess(&p, state);
	if (n == 0) {
		def = paths_default_policy();
		if (paths_policy_exists(def))
			files[n++] = def;
	}
	relay_layers(r);
	monitor_layers(r, &p);
	directory(r, "state", p.state);
	directory(r, "runtime", p.run);
	audit_file(r, p.state);
	children(r);
	policy(r, files, n);
	free(def);
	paths_free(&p);
	return finish(r);
}

int
cmd_doctor(int argc, char **argv)
{
	static const struct option options[] = {
	    {"state", required_argument, NULL, 's'},
	    {"policy", required_argument, NULL, 'p'},
	    {"json", no_argument, NULL, 'j'},
	    {"help", no_argument, NULL, 'h'},
	    {NULL, 0, NULL, 0}};
	const char *files[POLICIES_MAX], *state = NULL;
	struct report r = {0};
	size_t n = 0;
	int c;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (c == 's') {
			state = optarg;
		} else if (c == 'p' && n < POLICIES_MAX) {
			files[n++] = optarg;
		} else if (c == 'j') {
			r.json = 1;
		} else if (c == 'h') {
			usage();
			return EXIT_OK;
		} else if (c == 'p') {
			return usage_error("doctor",
					   "more than %d times --policy",
					   POLICIES_MAX);
		} else {
			return usage_error("doctor", NULL);
		}
	}
	if (optind != argc)
		return usage_error("doctor", "unexpected argument \"%s\"",
				   cmd_shown(argv[optind]));
	return examine(&r, state, files, n);
}
