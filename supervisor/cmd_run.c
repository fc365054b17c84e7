/*
 * `doorward run`: reads the policy, starts the server and the relays,
 * confines itself and becomes the monitor.  Runs as the user.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sodium.h>

#include "proto/alloc.h"
#include "proto/log.h"

#include "audit.h"
#include "bases.h"
#include "calls.h"
#include "cmds.h"
#include "confine.h"
#include "monitor.h"
#include "names.h"
#include "paths.h"
#include "places.h"
#include "policy.h"
#include "requests.h"
#include "spawn.h"
#include "toolset.h"

struct options {
	const char *policies[POLICIES_MAX];
	size_t policy_count;
	const char *server, *agent, *state;
	int mode; /* enum policy_mode, or -1 */
	char *const *command;
};

static struct out *stderr_out; /* the sink needs it; the monitor owns it */

static void
usage(FILE *f)
{
	fprintf(
	    f,
	    "usage: doorward run [options] -- COMMAND [ARG...]\n\n"
	    "Stands between an MCP client (stdin, stdout) and the stdio MCP "
	    "server COMMAND.\n\n"
	    "  --policy FILE     policy file; may be repeated, later ones lie "
	    "on top\n"
	    "                    (default: ~/.config/doorward/policy.yaml, if "
	    "there)\n"
	    "  --config FILE     the same, for those who come from MCP Guard\n"
	    "  --server NAME     the server's name in audit and questions\n"
	    "  --mode MODE       enforce or observe, over what the policy "
	    "says\n"
	    "  --agent-id ID     noted in each audit line\n"
	    "  --state DIR       state directory (default: "
	    "~/.local/state/doorward)\n"
	    "  --debug           say more on stderr\n"
	    "  --help            this text\n\n"
	    "Exit status: the server's, 128+N if signal N ended it; 1 "
	    "something "
	    "of ours is\nmissing, 2 usage or policy error, 70 a relay broke "
	    "its protocol, 126 COMMAND\ncannot be run, 127 not found.\n");
}

static int
bad_usage(const char *what, const char *why)
{
	fprintf(stderr, "doorward: run: %s%s\n", what, why);
	fprintf(stderr, "Try 'doorward run --help'.\n");
	return EXIT_USAGE;
}

static int
add_policy(struct options *o, const char *file)
{
	if (file[0] == '\0')
		return bad_usage("--policy needs a file", "");
	if (o->policy_count == POLICIES_MAX)
		return bad_usage("too many policy files", "");
	o->policies[o->policy_count++] = file;
	return 0;
}

static int
set_mode(struct options *o, const char *word)
{
	if (strcmp(word, "enforce") == 0)
		o->mode = POLICY_ENFORCE;
	else if (strcmp(word, "observe") == 0)
		o->mode = POLICY_OBSERVE;
	else
		return bad_usage(word, ": --mode is enforce or observe");
	return 0;
}

static int
not_built(const char *option)
{
	return bad_usage(option, " is not built yet");
}

static int
set_option(struct options *o, int c)
{
	switch (c) {
	case 'p':
	case 'c':
		return add_policy(o, optarg);
	case 's':
		o->server = optarg;
		return optarg[0] != '\0'
			   ? 0
			   : bad_usage("--server needs a name", "");
	case 'm':
		return set_mode(o, optarg);
	case 'a':
		o->agent = optarg;
		return 0;
	case 'S':
		o->state = optarg;
		return 0;
	case 'd':
		log_set_debug(1);
		return 0;
	case 'u':
		return not_built("--upstream-name (Bouncer's form)");
	case 'P':
		return not_built("--approval-port");
	case 'y':
		return not_built("--summary");
	default:
		return bad_usage("unknown option or missing value", "");
	}
}

/* 0 to go on, else the exit status + 1. */
static int
parse(struct options *o, int argc, char **argv)
{
	static const struct option options[] = {
	    {"policy", required_argument, NULL, 'p'},
	    {"config", required_argument, NULL, 'c'},
	    {"upstream-name", required_argument, NULL, 'u'},
	    {"server", required_argument, NULL, 's'},
	    {"mode", required_argument, NULL, 'm'},
	    {"agent-id", required_argument, NULL, 'a'},
	    {"approval-port", required_argument, NULL, 'P'},
	    {"summary", no_argument, NULL, 'y'},
	    {"state", required_argument, NULL, 'S'},
	    {"debug", no_argument, NULL, 'd'},
	    {"help", no_argument, NULL, 'h'},
	    {NULL, 0, NULL, 0}};
	int c, r;

	o->mode = -1;
	while ((c = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		if (c == 'h') {
			usage(stdout);
			return EXIT_OK + 1;
		}
		if (c == '?') { /* getopt has said what is wrong */
			fprintf(stderr, "Try 'doorward run --help'.\n");
			return EXIT_USAGE + 1;
		}
		r = set_option(o, c);
		if (r != 0)
			return r + 1;
	}
	if (optind == argc || argv[optind][0] == '\0')
		return bad_usage("no command to run", "") + 1;
	o->command = argv + optind;
	return 0;
}

static void
sink(enum log_level level, const char *text, size_t len)
{
	struct buf line = BUF_INIT;

	(void)level;
	buf_printf(&line, "doorward: %.*s\n", (int)len, text);
	/* What a full stderr does not take at once is lost, never waited
	 * for; half a line must not be left in the buffer either. */
	if (out_pending(stderr_out) == 0)
		out_write(stderr_out, buf_head(&line), buf_used(&line));
	out_flush(stderr_out);
	buf_free(&line);
}

/* Evidence names a file for good, wherever it is read.  The caller keeps. */
static const char *
absolute(const char *file)
{
	char *cwd, *path;

	if (file[0] == '/')
		return file;
	cwd = getcwd(NULL, 0);
	if (cwd == NULL)
		return file;
	path = xasprintf("%s/%s", cwd, file);
	free(cwd);
	return path;
}

static int
load_policy(struct monitor *m, struct options *o)
{
	struct policy_error err = {0};
	char *def, *text;
	size_t i;

	if (o->policy_count == 0) {
		def = paths_default_policy();
		if (paths_policy_exists(def))
			o->policies[o->policy_count++] = def; /* kept */
		else
			free(def);
	}
	for (i = 0; i < o->policy_count; i++)
		o->policies[i] = absolute(o->policies[i]);
	m->policy_files = o->policies;
	m->policy_file_count = o->policy_count;
	m->packs_dir = paths_packs(); /* kept */
	m->policy =
	    policy_load(o->policies, o->policy_count, m->packs_dir, &err);
	if (m->policy != NULL) {
		monitor_policy_warnings(m);
		return 0;
	}
	text = policy_error_format(&err);
	warnf("%s", text);
	free(text);
	policy_error_clear(&err);
	return -1;
}

static int
start_server(struct monitor *m, const struct options *o, struct inherited *in,
	     int *stream)
{
	struct server s;
	const char *path = getenv("PATH");
	int err = spawn_server(&s, o->command, in);

	if (err == 0) {
		m->server_pid = s.pid;
		out_init_own(&m->to_server, s.in_fd);
		*stream = s.out_fd;
		return 0;
	}
	if (strchr(o->command[0], '/') == NULL)
		warnf("cannot run the server \"%s\": %s (searched in PATH: %s)",
		      o->command[0], strerror(err),
		      path != NULL ? path : "not set");
	else
		warnf("cannot run the server \"%s\": %s%s", o->command[0],
		      strerror(err),
		      err == ENOENT && access(o->command[0], F_OK) == 0
			  ? " (it is there, but not the interpreter that it "
			    "names)"
			  : "");
	return err == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN;
}

static void
start_relay(struct monitor *m, enum relay_side side, const char *program,
	    int stream)
{
	pid_t pid = 0;
	int fd = spawn_relay(program, side == SIDE_CLIENT ? "client" : "server",
			     stream, &pid);

	if (fd == -1)
		fatal("cannot start %s: %s", program, strerror(errno));
	channel_init(&m->channel[side], side, fd, pid);
}

/*
 * Only the relay keeps the client's stdin, and only one description of the
 * client's stdout stays.
 */
static void
give_up_stdio(struct monitor *m)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null == -1 || dup2(null, STDIN_FILENO) == -1)
		fatal("cannot open /dev/null");
	if (m->to_client.fd != STDOUT_FILENO)
		dup2(null, STDOUT_FILENO);
	close(null);
}

static int
is_ignored(int sig)
{
	struct sigaction sa;

	return sigaction(sig, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN;
}

static void
open_signals(struct monitor *m)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGCHLD);
	/* What nohup or a shell's & made us ignore stays ignored. */
	if (!is_ignored(SIGINT))
		sigaddset(&set, SIGINT);
	if (!is_ignored(SIGHUP))
		sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	m->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (m->signal_fd == -1)
		fatal("cannot watch for signals");
}

static void
open_children(struct monitor *m)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%ld/children",
		 (long)syscall(SYS_gettid));
	m->children_fd = open(path, O_RDONLY | O_CLOEXEC);
	life_note_children(m);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* Caller frees. */
static char *
parent_of(const char *file)
{
	const char *slash = strrchr(file, '/');

	if (slash == NULL)
		return xstrdup(".");
	return xmemdupz(file, slash == file ? 1 : (size_t)(slash - file));
}

/*
 * Of a policy file the directory, since an editor replaces the file; of one
 * that is a link also the directory of what it leads to.
 */
static void
confine(struct monitor *m, const struct paths *p)
{
	struct confine_dir dirs[3 + 2 * POLICIES_MAX];
	char *parents[2 * POLICIES_MAX], *real;
	const char *why = "";
	size_t n = 0, found = 0, i;

	if (p->state != NULL)
		dirs[n++] = (struct confine_dir){p->state, 1};
	if (p->run != NULL)
		dirs[n++] = (struct confine_dir){p->run, 1};
	if (m->packs_dir != NULL)
		dirs[n++] = (struct confine_dir){m->packs_dir, 0};
	for (i = 0; i < m->policy_file_count; i++) {
		parents[found++] = parent_of(m->policy_files[i]);
		real = realpath(m->policy_files[i], NULL);
		if (real != NULL)
			parents[found++] = parent_of(real);
		free(real);
	}
	for (i = 0; i < found; i++)
		dirs[n++] = (struct confine_dir){parents[i], 0};
	m->layers = confine_monitor(dirs, n, &m->landlock_abi, &why);
	if (m->layers == 0)
		fatal("the monitor cannot be confined: %s", why);
	for (i = 0; i < found; i++)
		free(parents[i]);
}

static void
open_audit(struct monitor *m, const struct options *o, const struct paths *p)
{
	unsigned char raw[16];
	char *derived = NULL;

	randombytes_buf(raw, sizeof(raw));
	sodium_bin2hex(m->session, sizeof(m->session), raw, sizeof(raw));
	if (o->server == NULL)
		derived = name_of_command(o->command);
	m->server_name = o->server != NULL ? o->server : derived; /* kept */
	m->audit = audit_new(p->state);
	if (p->state == NULL)
		audit_disable(m->audit, m->no_state);
	else if (!audit_has_key(m->audit))
		warnf("%s/audit.key is not a private key file of ours: audit "
		      "lines will have no digest of the arguments",
		      p->state);
	audit_identity(m->audit, m->session, m->server_name, NULL, o->agent);
}

/*
 * What no tool of any server has any business with, among other places.
 * Found before confinement, kept for good.
 */
static void
find_own(struct monitor *m, const struct paths *p)
{
	static struct places places;

	places_init(&places, p->state, p->run, m->packs_dir, m->policy_files,
		    m->policy_file_count);
	m->places = places.p;
	m->bases = xcalloc(1, sizeof(*m->bases));
	bases_command(m->bases, m->command, m->places.home);
	m->places.bases = (const char *const *)m->bases->v;
	m->places.base_count = m->bases->n;
}

static long
processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set)
							    : 1;
}

static void
prepare(struct monitor *m, const struct options *o)
{
	m->mode_override = o->mode;
	m->command = o->command;
	m->processors = processors();
	m->signal_fd = m->reload_fd = m->children_fd = m->session_fd = -1;
	m->at_server = requests_new();
	m->at_client = requests_new();
	m->calls = calls_new();
	out_init(&m->to_stderr, STDERR_FILENO);
	stderr_out = &m->to_stderr;
	log_set_sink(sink);
}

static char *
relay_program(void)
{
	char *program = NULL;

#ifdef DOORWARD_TESTING
	if (getenv("DOORWARD_TEST_RELAY") != NULL)
		program = xstrdup(getenv("DOORWARD_TEST_RELAY"));
#endif
	if (program == NULL)
		program = paths_program("doorward-relay");
	if (program == NULL)
		fatal("/proc is needed and not there");
	if (access(program, X_OK) == -1)
		fatal("cannot run %s: %s", program, strerror(errno));
	return program;
}

static int
run(struct monitor *m, struct options *o, struct inherited *in,
    const struct paths *p)
{
	char *relay = relay_program();
	int stream, r;

	open_audit(m, o, p);
	find_own(m, p);
	m->state_dir = p->state;
	pinning_setup(m, p->state);
	reload_setup(m);
	open_children(m);
	out_init(&m->to_client, STDOUT_FILENO);
	m->to_client.dead = in->no_stdout;
	open_signals(m);
	r = start_server(m, o, in, &stream);
	if (r != 0) {
		reload_teardown(m);
		return r;
	}
	spawn_close_inherited(in);
	start_relay(m, SIDE_SERVER, relay, stream);
	close(stream);
	start_relay(m, SIDE_CLIENT, relay, STDIN_FILENO);
	give_up_stdio(m);
	confine(m, p);
	free(relay);
	return monitor_run(m);
}

/*
 * A directory that was refused is not used for anything: neither written to
 * nor closed to others.
 */
static void
find_places(struct monitor *m, struct paths *p, const char *state)
{
	char *err = NULL;
	enum paths_status st = paths_init(p, state, &err);

	if (st == PATHS_NO_STATE) {
		warnf("%s; without an audit %s", err,
		      monitor_observes(m) ? "calls go on without evidence"
					  : "calls are denied");
		m->no_state = err; /* kept */
		paths_free(p);
	} else if (st == PATHS_NO_RUN) {
		warnf("%s; reload will not reach this session", err);
		free(err);
		free(p->run);
		p->run = NULL;
	}
	m->run_dir = p->run;
}

int
cmd_run(int argc, char **argv)
{
	static struct monitor m; /* large, and there is one */
	static struct options o; /* the monitor goes on using them */
	struct inherited in;
	struct paths p;
	int r;

	spawn_inherit(&in);
	r = parse(&o, argc, argv);
	if (r != 0)
		return r - 1;
	prepare(&m, &o);
	if (load_policy(&m, &o) == -1)
		return EXIT_USAGE;
	find_places(&m, &p, o.state);
	r = run(&m, &o, &in, &p);
	debugf("exit status %d", r);
	return r;
}
