/*
 * The bench's client: starts one command (a server, bare or wrapped),
 * measures one round and prints what it saw, one "name value" a line.  An
 * ordinary process of the user's.  Every answer is checked to be the one
 * that was asked for: a wrapper that loses or refuses calls measures
 * nothing.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define IN_CAP (16u << 20)
#define ARGUMENT_LEN 200
#define WINDOW 64
#define BIG_BYTES (10u << 20)
#define WATCHDOG_S 60
#define TREE_MAX 64

struct options {
	long warmup, sequential, flight, big, idle_s;
	const char *server_name; /* left out of what the wrapper costs */
	int one_processor;
};

static pid_t child;
static int to_child, from_child;
static char *in;
static size_t in_off, in_len;
static char argument[ARGUMENT_LEN + 1];

static void
die(const char *what)
{
	fprintf(stderr, "bench: %s\n", what);
	if (child > 0)
		kill(child, SIGTERM);
	exit(1);
}

static void
on_alarm(int sig)
{
	static const char text[] = "bench: no answer, giving up\n";

	(void)sig;
	if (write(2, text, sizeof(text) - 1) < 0 || child > 0)
		kill(child, SIGTERM);
	_exit(1);
}

/*
 * Everything on the first processor that we may use: what is measured then is
 * the work, without the luck of which processor a wake-up finds asleep.
 */
static void
stay(void)
{
	cpu_set_t set, one;
	int i;

	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		die("no processors");
	for (i = 0; i < CPU_SETSIZE - 1 && !CPU_ISSET(i, &set); i++)
		;
	CPU_ZERO(&one);
	CPU_SET(i, &one);
	if (sched_setaffinity(0, sizeof(one), &one) != 0)
		die("cannot stay on one processor");
}

static double
now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void
start(char **argv)
{
	int down[2], up[2];

	if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0)
		die("no pipes");
	child = fork();
	if (child < 0)
		die("fork failed");
	if (child == 0) {
		if (dup2(down[0], 0) < 0 || dup2(up[1], 1) < 0)
			_exit(127);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(down[0]);
	close(up[1]);
	to_child = down[1];
	from_child = up[0];
}

static void
send_all(const char *p, size_t n)
{
	while (n > 0) {
		ssize_t w = write(to_child, p, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			die("the command does not read");
		p += w;
		n -= (size_t)w;
	}
}

/* The next line, without its end; valid until the next call. */
static char *
next_line(size_t *len)
{
	size_t seen = 0;

	for (;;) {
		char *nl =
		    memchr(in + in_off + seen, '\n', in_len - in_off - seen);
		ssize_t got;

		if (nl != NULL) {
			char *line = in + in_off;

			*len = (size_t)(nl - line);
			in_off += *len + 1;
			return line;
		}
		seen = in_len - in_off;
		if (in_off > 0) {
			memmove(in, in + in_off, seen);
			in_off = 0;
			in_len = seen;
		}
		if (in_len == IN_CAP)
			die("an answer is too long");
		got = read(from_child, in + in_len, IN_CAP - in_len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			die("the command ended");
		in_len += (size_t)got;
	}
}

/* 1 if the line answers id with a result of at least this length. */
static int
answers(const char *line, size_t len, long id, size_t least)
{
	char want[48];
	int n = snprintf(want, sizeof(want), "\"id\":%ld,", id);
	size_t head = len < 128 ? len : 128;

	return len >= least && memmem(line, head, want, (size_t)n) != NULL &&
	       memmem(line, head, "\"result\":", 9) != NULL &&
	       memmem(line, len < 512 ? len : 512, "\"isError\":true", 14) ==
		   NULL;
}

/* Waits for the answer to id; notifications in between are skipped. */
static void
await(long id, size_t least)
{
	size_t len;
	char *line;

	do {
		line = next_line(&len);
	} while (memmem(line, len < 128 ? len : 128, "\"id\":", 5) == NULL);
	if (!answers(line, len, id, least))
		die("a wrong answer");
}

static size_t
print_call(char *buf, size_t size, long id)
{
	int n = snprintf(buf, size,
			 "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":"
			 "\"tools/call\",\"params\":{\"name\":\"echo\","
			 "\"arguments\":{\"text\":\"%s\"}}}\n",
			 id, argument);

	return (size_t)n;
}

static void
shake_hands(void)
{
	static const char first[] =
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\","
	    "\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":"
	    "{},\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}\n";
	static const char second[] =
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
	    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n";

	send_all(first, sizeof(first) - 1);
	await(1, 1);
	send_all(second, sizeof(second) - 1);
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void
sequential(long n, long *id, int print)
{
	double *t = calloc((size_t)n, sizeof(*t));
	char buf[1024];
	long i;

	if (t == NULL)
		die("out of memory");
	for (i = 0; i < n; i++) {
		size_t len = print_call(buf, sizeof(buf), ++*id);
		double from = now_us();

		send_all(buf, len);
		await(*id, ARGUMENT_LEN);
		t[i] = now_us() - from;
	}
	qsort(t, (size_t)n, sizeof(*t), by_value);
	if (print)
		printf("p50_us %.2f\np99_us %.2f\n", t[n / 2], t[n * 99 / 100]);
	free(t);
}

/*
 * Keeps WINDOW calls in flight.  What arrives in one read is answered by one
 * write, as a client on an event loop does it.  Answers may come in any
 * order; each is counted once.
 */
static void
in_flight(long n, long *id)
{
	long first = *id + 1, sent = 0, done = 0, now;
	char *seen = calloc((size_t)n, 1), buf[WINDOW * 512];
	double from = now_us();
	size_t len, used;
	char *line, *p;

	if (seen == NULL)
		die("out of memory");
	while (done < n) {
		used = 0;
		while (sent < n && sent - done < WINDOW)
			used += print_call(buf + used, sizeof(buf) - used,
					   first + sent++);
		send_all(buf, used);
		do {
			line = next_line(&len);
			p = memmem(line, len < 128 ? len : 128, "\"id\":", 5);
			if (p == NULL)
				continue;
			now = strtol(p + 5, NULL, 10);
			if (now < first || now - first >= sent ||
			    seen[now - first] ||
			    !answers(line, len, now, ARGUMENT_LEN))
				die("a wrong answer");
			seen[now - first] = 1;
			done++;
		} while (memchr(in + in_off, '\n', in_len - in_off) != NULL);
	}
	printf("calls_per_s %.0f\n", (double)n * 1e6 / (now_us() - from));
	*id += n;
	free(seen);
}

static void
big(long rounds, long *id)
{
	double t[64] = {0};
	char buf[256];
	long i;

	if (rounds < 1 || rounds > 64)
		rounds = 5;
	for (i = 0; i < rounds; i++) {
		int n = snprintf(buf, sizeof(buf),
				 "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":"
				 "\"tools/call\",\"params\":{\"name\":\"big\","
				 "\"arguments\":{\"n\":%u}}}\n",
				 ++*id, BIG_BYTES);
		double from = now_us();

		send_all(buf, (size_t)n);
		await(*id, BIG_BYTES);
		t[i] = now_us() - from;
	}
	qsort(t, (size_t)rounds, sizeof(t[0]), by_value);
	printf("big_ms %.3f\n", t[rounds / 2] / 1e3);
}

struct proc {
	pid_t pid, ppid;
	char comm[32];
	unsigned long ticks;
};

static int
read_proc(pid_t pid, struct proc *out)
{
	char path[64], buf[1024], *close_paren, *open_paren;
	unsigned long user, sys;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (f == NULL)
		return -1;
	n = fread(buf, 1, sizeof(buf) - 1, f);
	fclose(f);
	buf[n] = '\0';
	open_paren = strchr(buf, '(');
	close_paren = strrchr(buf, ')');
	if (open_paren == NULL || close_paren == NULL)
		return -1;
	*close_paren = '\0';
	out->pid = pid;
	snprintf(out->comm, sizeof(out->comm), "%.31s", open_paren + 1);
	if (sscanf(close_paren + 1,
		   " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
		   &out->ppid, &user, &sys) != 3)
		return -1;
	out->ticks = user + sys;
	return 0;
}

/* The child and everything under it, but processes of the given name. */
static size_t
process_tree(struct proc *tree, const char *without)
{
	size_t n = 0, before, i;
	struct dirent *e;
	struct proc p;
	DIR *dir;

	if (read_proc(child, &tree[n]) == 0)
		n++;
	do {
		before = n;
		dir = opendir("/proc");
		while (dir != NULL && (e = readdir(dir)) != NULL) {
			if (!isdigit((unsigned char)e->d_name[0]) ||
			    read_proc((pid_t)atoi(e->d_name), &p) != 0 ||
			    strcmp(p.comm, without) == 0)
				continue;
			for (i = 0; i < n && tree[i].pid != p.pid; i++)
				;
			if (i < n || n == TREE_MAX)
				continue;
			for (i = 0; i < n && tree[i].pid != p.ppid; i++)
				;
			if (i < n)
				tree[n++] = p;
		}
		if (dir != NULL)
			closedir(dir);
	} while (n > before);
	return n;
}

/* Proportional set size in KiB; -1 where the kernel does not let us look. */
static long
pss_kib(pid_t pid)
{
	char path[64], line[256];
	long kib = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	f = fopen(path, "re");
	if (f == NULL)
		return -1;
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "Pss: %ld", &kib) == 1)
			break;
	fclose(f);
	return kib;
}

static void
idle(const struct options *o)
{
	struct proc before[TREE_MAX], after[TREE_MAX];
	unsigned long ticks = 0;
	size_t n, m, i, j;
	long sum = 0, one;

	sleep(1); /* anything that spins after activity has ended by then */
	n = process_tree(before, o->server_name);
	sleep((unsigned)o->idle_s);
	m = process_tree(after, o->server_name);
	for (i = 0; i < m; i++) {
		for (j = 0; j < n; j++)
			if (before[j].pid == after[i].pid)
				ticks += after[i].ticks - before[j].ticks;
		one = pss_kib(after[i].pid);
		if (one < 0)
			sum = -1;
		else if (sum >= 0)
			sum += one;
	}
	printf("idle_processes %zu\nidle_ticks %lu\n", m, ticks);
	if (sum >= 0)
		printf("pss_kib %ld\n", sum);
}

static void
finish(void)
{
	int i, status;

	close(to_child);
	for (i = 0; i < 500; i++) {
		if (waitpid(child, &status, WNOHANG) == child) {
			printf("exit %d\n", WIFEXITED(status)
						? WEXITSTATUS(status)
						: 128 + WTERMSIG(status));
			return;
		}
		usleep(10000);
	}
	die("the command does not end");
}

static long
number(const char *s)
{
	char *end;
	long v = strtol(s, &end, 10);

	if (*s == '\0' || *end != '\0' || v < 0 || v > 10000000) {
		fprintf(stderr, "bench: not a count: %s\n", s);
		exit(2);
	}
	return v;
}

static void
parse(int argc, char **argv, struct options *o)
{
	int c;

	while ((c = getopt(argc, argv, "+w:s:f:b:i:n:p")) != -1) {
		if (c == 'w')
			o->warmup = number(optarg);
		else if (c == 's')
			o->sequential = number(optarg);
		else if (c == 'f')
			o->flight = number(optarg);
		else if (c == 'b')
			o->big = number(optarg);
		else if (c == 'i')
			o->idle_s = number(optarg);
		else if (c == 'n')
			o->server_name = optarg;
		else if (c == 'p')
			o->one_processor = 1;
		else
			optind = argc;
	}
	if (optind < argc)
		return;
	fprintf(stderr, "usage: bench [-w warmup] [-s sequential] [-f flight]"
			" [-b big] [-i idle-seconds] [-n server-name] [-p]"
			" command [argument ...]\n");
	exit(2);
}

int
main(int argc, char **argv)
{
	struct options o = {1000, 8000, 40000, 5, 0, "echo", 0};
	long id = 2;
	double from;

	parse(argc, argv, &o);
	memset(argument, 'a', ARGUMENT_LEN);
	in = malloc(IN_CAP);
	if (in == NULL)
		die("out of memory");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGALRM, on_alarm);
	alarm(WATCHDOG_S);
	if (o.one_processor)
		stay();
	from = now_us();
	start(argv + optind);
	shake_hands();
	printf("first_ms %.3f\n", (now_us() - from) / 1e3);
	await(2, 1);
	if (o.warmup > 0)
		sequential(o.warmup, &id, 0);
	if (o.sequential > 0)
		sequential(o.sequential, &id, 1);
	if (o.flight > 0)
		in_flight(o.flight, &id);
	if (o.big > 0)
		big(o.big, &id);
	if (o.idle_s > 0)
		idle(&o);
	finish();
	return 0;
}
