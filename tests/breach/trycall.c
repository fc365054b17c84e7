/*
 * Tries one system call from inside a relay's confinement.  Linked with the
 * relay's own confine.c; test_confine.py starts it with a relay's descriptors
 * and sees how it ends.  What it says goes to the socket, as nothing else is
 * left to say it with:
 *
 *	trycall --list			name and what has to become of it
 *	trycall [OPTION...] NAME	"layers HEX abi N", then "ok" or "errno
 *N"
 *
 * Options: --landlock-abi N, --no-namespaces; --unconfined, which shows that
 * a call which is killed in there is not killed out here; --only-landlock,
 * which shows what that layer does when the filter is not in front of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/fdmap.h"
#include "proto/frames.h"

#include "../../relay/confine.h"

/* Newer than Debian 12's headers, the same number everywhere. */
#ifndef SYS_mseal
#define SYS_mseal 462
#endif

static char text[4096] __attribute__((aligned(4096)));
static char page[4096] __attribute__((aligned(4096)));
static const char path[] = "/etc/passwd";
static struct iovec iov = {text, 1};
static struct msghdr message; /* of nothing */
static const struct sockaddr_un name_of_socket = {AF_UNIX, "/run/x"};
static const struct rlimit more = {4096, 4096};

enum fate { KILLED, SOFT, ALLOWED };

struct call {
	const char *name;
	enum fate fate;
	long nr;
	uintptr_t arg[6];
};

#define P(x) ((uintptr_t)(x))
#define PRIVATE (MAP_PRIVATE | MAP_ANONYMOUS)
#define HIGH (1ull << 32)

/* clang-format off */
static const struct call calls[] = {
	/* What a relay lives on. */
	{"poll_none", ALLOWED, SYS_ppoll, {0, 0, P(text)}},
	{"read_stream", ALLOWED, SYS_read, {0, P(page), 1}},
	{"write_monitor", ALLOWED, SYS_write, {3, P("x"), 0}},
	{"writev_monitor", ALLOWED, SYS_writev, {3, P(&iov), 0}},
	{"brk", ALLOWED, SYS_brk, {0}},
	{"mmap", ALLOWED, SYS_mmap, {0, 4096, PROT_READ | PROT_WRITE, PRIVATE, -1ul, 0}},
	{"mmap_none", ALLOWED, SYS_mmap, {0, 4096, PROT_NONE, PRIVATE, -1ul, 0}},
	{"munmap", ALLOWED, SYS_munmap, {P(page), 4096}},
	{"mremap", ALLOWED, SYS_mremap, {P(page), 4096, 8192, MREMAP_MAYMOVE}},
	{"madvise", ALLOWED, SYS_madvise, {P(page), 4096, MADV_DONTNEED}},
	{"getrandom", SOFT, SYS_getrandom, {P(page), 8, 0}},

	/* Files. */
	{"openat", KILLED, SYS_openat, {(uintptr_t)AT_FDCWD, P(path), O_RDONLY}},
	{"openat2", KILLED, SYS_openat2, {(uintptr_t)AT_FDCWD, P(path), P(text), 24}},
	{"open_by_handle_at", KILLED, SYS_open_by_handle_at, {0, P(text), 0}},
	{"fstat", KILLED, SYS_fstat, {0, P(page)}},
	{"newfstatat", KILLED, SYS_newfstatat, {(uintptr_t)AT_FDCWD, P(path), P(page), 0}},
	{"statx", KILLED, SYS_statx, {(uintptr_t)AT_FDCWD, P(path), 0, 0, P(page)}},
	{"statfs", KILLED, SYS_statfs, {P(path), P(page)}},
	{"faccessat", KILLED, SYS_faccessat, {(uintptr_t)AT_FDCWD, P(path), R_OK}},
	{"readlinkat", KILLED, SYS_readlinkat, {(uintptr_t)AT_FDCWD, P(path), P(page), 10}},
	{"getdents64", KILLED, SYS_getdents64, {0, P(page), 4096}},
	{"getcwd", KILLED, SYS_getcwd, {P(page), 4096}},
	{"chdir", KILLED, SYS_chdir, {P("/")}},
	{"chroot", KILLED, SYS_chroot, {P("/")}},
	{"fchmodat", KILLED, SYS_fchmodat, {(uintptr_t)AT_FDCWD, P("/nowhere"), 0600}},
	{"fchownat", KILLED, SYS_fchownat, {(uintptr_t)AT_FDCWD, P("/nowhere"), 0, 0, 0}},
	{"mkdirat", KILLED, SYS_mkdirat, {(uintptr_t)AT_FDCWD, P("/nowhere/x"), 0700}},
	{"mknodat", KILLED, SYS_mknodat, {(uintptr_t)AT_FDCWD, P("/nowhere/x"), S_IFIFO, 0}},
	{"unlinkat", KILLED, SYS_unlinkat, {(uintptr_t)AT_FDCWD, P("/nowhere/x"), 0}},
	{"renameat2", KILLED, SYS_renameat2, {(uintptr_t)AT_FDCWD, P("/nowhere/x"), (uintptr_t)AT_FDCWD, P("/nowhere/y"), 0}},
	{"linkat", KILLED, SYS_linkat, {(uintptr_t)AT_FDCWD, P("/nowhere/x"), (uintptr_t)AT_FDCWD, P("/nowhere/y"), 0}},
	{"symlinkat", KILLED, SYS_symlinkat, {P("x"), (uintptr_t)AT_FDCWD, P("/nowhere/y")}},
	{"truncate", KILLED, SYS_truncate, {P("/nowhere/x"), 0}},
	{"ftruncate", KILLED, SYS_ftruncate, {0, 0}},
	{"fallocate", KILLED, SYS_fallocate, {0, 0, 0, 1}},
	{"utimensat", KILLED, SYS_utimensat, {(uintptr_t)AT_FDCWD, P("/nowhere/x"), 0, 0}},
	{"setxattr", KILLED, SYS_setxattr, {P("/nowhere/x"), P("user.x"), P(text), 1, 0}},
	{"mount", KILLED, SYS_mount, {0, P("/nowhere"), P("tmpfs"), 0, 0}},
	{"umount2", KILLED, SYS_umount2, {P("/nowhere"), 0}},
	{"pivot_root", KILLED, SYS_pivot_root, {P("/nowhere"), P("/nowhere")}},
	{"open_tree", KILLED, SYS_open_tree, {-1ul, P("/nowhere"), 0}},
	{"fsopen", KILLED, SYS_fsopen, {P("nothing"), 0}},
	{"inotify_init1", KILLED, SYS_inotify_init1, {0}},
	{"fanotify_init", KILLED, SYS_fanotify_init, {0, 0}},
	{"memfd_create", KILLED, SYS_memfd_create, {P("x"), 0}},
	{"memfd_secret", KILLED, SYS_memfd_secret, {0}},

	/* Descriptors: the stream is for reading, the monitor for writing. */
	{"write_stream", KILLED, SYS_write, {0, P("x"), 1}},
	{"write_1", KILLED, SYS_write, {1, P("x"), 1}},
	{"write_2", KILLED, SYS_write, {2, P("x"), 0}},
	{"write_4", KILLED, SYS_write, {4, P("x"), 1}},
	{"write_beyond_32_bits", KILLED, SYS_write, {HIGH | 3, P("x"), 0}},
	{"writev_stream", KILLED, SYS_writev, {0, P(&iov), 1}},
	{"pwrite64", KILLED, SYS_pwrite64, {3, P("x"), 1, 0}},
	{"pwritev2", KILLED, SYS_pwritev2, {3, P(&iov), 1, 0, 0, 0}},
	{"read_monitor", KILLED, SYS_read, {3, P(page), 0}},
	{"readv", KILLED, SYS_readv, {0, P(&iov), 1}},
	{"pread64", KILLED, SYS_pread64, {0, P(page), 1, 0}},
	{"lseek", KILLED, SYS_lseek, {0, 0, SEEK_SET}},
	{"sendmsg_monitor", KILLED, SYS_sendmsg, {3, P(&message), MSG_DONTWAIT}},
	{"sendmsg_stream", KILLED, SYS_sendmsg, {0, P(&message), MSG_DONTWAIT}},
	{"sendmmsg", KILLED, SYS_sendmmsg, {3, P(&message), 0, 0}},
	{"sendto", KILLED, SYS_sendto, {3, P("x"), 0, MSG_DONTWAIT, 0, 0}},
	{"recvmsg", KILLED, SYS_recvmsg, {3, P(&message), MSG_DONTWAIT}},
	{"recvfrom", KILLED, SYS_recvfrom, {3, P(page), 1, MSG_DONTWAIT, 0, 0}},
	{"sendfile", KILLED, SYS_sendfile, {3, 0, 0, 1}},
	{"splice", KILLED, SYS_splice, {0, 0, 3, 0, 0, 0}},
	{"tee", KILLED, SYS_tee, {0, 3, 0, 0}},
	{"vmsplice", KILLED, SYS_vmsplice, {3, P(&iov), 1, 0}},
	{"copy_file_range", KILLED, SYS_copy_file_range, {0, 0, 3, 0, 1, 0}},
	{"close_stream", KILLED, SYS_close, {0}},
	{"close_range", KILLED, SYS_close_range, {9, 10, 0}},
	{"dup", KILLED, SYS_dup, {0}},
	{"dup3", KILLED, SYS_dup3, {0, 9, 0}},
	{"fcntl_setfl", KILLED, SYS_fcntl, {0, F_SETFL, O_NONBLOCK}},
	{"fcntl_dupfd", KILLED, SYS_fcntl, {0, F_DUPFD, 9}},
	{"fcntl_setown", KILLED, SYS_fcntl, {0, F_SETOWN, 0}},
	{"ioctl_tiocsti", KILLED, SYS_ioctl, {0, TIOCSTI, P(text)}},
	{"ioctl_fionbio", KILLED, SYS_ioctl, {0, FIONBIO, P(text)}},
	{"ioctl_tioclinux", KILLED, SYS_ioctl, {0, TIOCLINUX, P(text)}},
	{"pipe2", KILLED, SYS_pipe2, {P(page), 0}},
	{"epoll_create1", KILLED, SYS_epoll_create1, {0}},
	{"eventfd2", KILLED, SYS_eventfd2, {0, 0}},
	{"timerfd_create", KILLED, SYS_timerfd_create, {0, 0}},
	{"signalfd4", KILLED, SYS_signalfd4, {-1ul, P(page), 8, 0}},
	{"pselect6", KILLED, SYS_pselect6, {0, 0, 0, 0, P(text), 0}},

	/* The network. */
	{"socket_inet", KILLED, SYS_socket, {AF_INET, SOCK_STREAM, 0}},
	{"socket_mptcp", KILLED, SYS_socket, {AF_INET, SOCK_STREAM, 262}},
	{"socket_unix", KILLED, SYS_socket, {AF_UNIX, SOCK_STREAM, 0}},
	{"socket_netlink", KILLED, SYS_socket, {AF_NETLINK, SOCK_RAW, 0}},
	{"socketpair", KILLED, SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0, P(page)}},
	{"connect", KILLED, SYS_connect, {3, P(&name_of_socket), sizeof(name_of_socket)}},
	{"bind", KILLED, SYS_bind, {3, P(&name_of_socket), 1}},
	{"listen", KILLED, SYS_listen, {3, 1}},
	{"accept4", KILLED, SYS_accept4, {3, 0, 0, SOCK_NONBLOCK}},
	{"shutdown_monitor", KILLED, SYS_shutdown, {3, 9}},
	{"setsockopt", KILLED, SYS_setsockopt, {3, SOL_SOCKET, SO_SNDBUF, P(text), 4}},
	{"getsockopt", KILLED, SYS_getsockopt, {3, SOL_SOCKET, SO_TYPE, P(page), P(text)}},
	{"getpeername", KILLED, SYS_getpeername, {3, P(page), P(text)}},

	/* Memory that could become code, a file's, or another's. */
	{"mmap_rwx", KILLED, SYS_mmap, {0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, PRIVATE, -1ul, 0}},
	{"mmap_exec", KILLED, SYS_mmap, {0, 4096, PROT_READ | PROT_EXEC, PRIVATE, -1ul, 0}},
	{"mmap_file", KILLED, SYS_mmap, {0, 4096, PROT_READ, MAP_PRIVATE, 0, 0}},
	{"mmap_shared", KILLED, SYS_mmap, {0, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1ul, 0}},
	{"mmap_locked", KILLED, SYS_mmap, {0, 4096, PROT_READ, PRIVATE | MAP_LOCKED, -1ul, 0}},
	{"mmap_growsdown", KILLED, SYS_mmap, {0, 4096, PROT_READ, PRIVATE | MAP_GROWSDOWN, -1ul, 0}},
#ifndef DOORWARD_SANITIZE
	{"mmap_fixed", KILLED, SYS_mmap, {P(page), 4096, PROT_READ, PRIVATE | MAP_FIXED, -1ul, 0}},
	{"mmap_noreserve", KILLED, SYS_mmap, {0, 4096, PROT_READ, PRIVATE | MAP_NORESERVE, -1ul, 0}},
#endif
	{"mprotect_exec", KILLED, SYS_mprotect, {P(page), 4096, PROT_READ | PROT_EXEC}},
	{"mprotect", KILLED, SYS_mprotect, {P(page), 4096, PROT_READ}},
	{"pkey_mprotect", KILLED, SYS_pkey_mprotect, {P(page), 4096, PROT_READ, -1ul}},
	{"mremap_fixed", KILLED, SYS_mremap, {P(page), 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, P(text)}},
	{"mremap_dontunmap", KILLED, SYS_mremap, {P(page), 4096, 4096, MREMAP_MAYMOVE | 4}},
	{"madvise_free", KILLED, SYS_madvise, {P(page), 4096, MADV_FREE}},
	{"madvise_hwpoison", KILLED, SYS_madvise, {P(page), 0, 100}},
	{"process_madvise", KILLED, SYS_process_madvise, {-1ul, P(&iov), 1, MADV_COLD, 0}},
	{"mlock", KILLED, SYS_mlock, {P(page), 0}},
	{"mseal", KILLED, SYS_mseal, {P(page), 0, 0}},
	{"remap_file_pages", KILLED, SYS_remap_file_pages, {P(page), 4096, 0, 0, 0}},
	{"userfaultfd", KILLED, SYS_userfaultfd, {0}},
	{"process_vm_readv", KILLED, SYS_process_vm_readv, {1, P(&iov), 1, P(&iov), 1, 0}},
	{"process_vm_writev", KILLED, SYS_process_vm_writev, {1, P(&iov), 0, P(&iov), 0, 0}},
	{"shmget", KILLED, SYS_shmget, {0, 4096, 0600}},
	{"msgget", KILLED, SYS_msgget, {0, 0600}},
	{"semget", KILLED, SYS_semget, {0, 0, 0600}},
	{"mq_open", KILLED, SYS_mq_open, {P("x"), 0, 0, 0}},

	/* Processes. */
	{"execve", KILLED, SYS_execve, {P("/nowhere"), 0, 0}},
	{"execveat", KILLED, SYS_execveat, {-1ul, P("/nowhere"), 0, 0, 0}},
	{"fork", KILLED, SYS_clone, {SIGCHLD, 0, 0, 0, 0}},
	{"clone_user_ns", KILLED, SYS_clone, {CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0}},
	{"clone3", KILLED, SYS_clone3, {P(text), 64}},
	{"unshare_user", KILLED, SYS_unshare, {CLONE_NEWUSER}},
	{"unshare_none", KILLED, SYS_unshare, {0}},
	{"setns", KILLED, SYS_setns, {-1ul, 0}},
	{"ptrace", KILLED, SYS_ptrace, {PTRACE_PEEKDATA, 1, 0, 0}},
	{"ptrace_traceme", KILLED, SYS_ptrace, {PTRACE_TRACEME, 0, 0, 0}},
	{"kill_parent", KILLED, SYS_kill, {0 /* filled in */, 0}},
	{"kill_self", KILLED, SYS_kill, {0, 0}},
	{"tgkill", KILLED, SYS_tgkill, {1, 1, 0}},
	{"rt_sigqueueinfo", KILLED, SYS_rt_sigqueueinfo, {1, 0, P(text)}},
	{"pidfd_open", KILLED, SYS_pidfd_open, {1, 0}},
	{"pidfd_getfd", KILLED, SYS_pidfd_getfd, {-1ul, 0, 0}},
	{"pidfd_send_signal", KILLED, SYS_pidfd_send_signal, {-1ul, 0, 0, 0}},
	{"kcmp", KILLED, SYS_kcmp, {1, 1, 0, 0, 0}},
	{"prlimit64", KILLED, SYS_prlimit64, {0, RLIMIT_NOFILE, P(&more), 0}},
	{"setrlimit", KILLED, SYS_setrlimit, {RLIMIT_NOFILE, P(&more)}},
	{"setpriority", KILLED, SYS_setpriority, {0, 0, 0}},
	{"sched_setaffinity", KILLED, SYS_sched_setaffinity, {0, 0, 0}},
	{"setuid", KILLED, SYS_setuid, {0}},
	{"setresgid", KILLED, SYS_setresgid, {0, 0, 0}},
	{"setgroups", KILLED, SYS_setgroups, {0, 0}},
	{"capset", KILLED, SYS_capset, {0, 0}},
	{"prctl_dumpable", KILLED, SYS_prctl, {PR_SET_DUMPABLE, 1}},
	{"prctl_pdeathsig", KILLED, SYS_prctl, {PR_SET_PDEATHSIG, 0}},
	{"prctl_name", KILLED, SYS_prctl, {PR_SET_NAME, P("x")}},
	{"personality", KILLED, SYS_personality, {-1ul}},
	{"wait4", KILLED, SYS_wait4, {-1ul, 0, 1, 0}},
	{"setsid", KILLED, SYS_setsid, {0}},
	{"setpgid", KILLED, SYS_setpgid, {0, 0}},
	{"umask", KILLED, SYS_umask, {0}},
	{"getppid", KILLED, SYS_getppid, {0}},
#ifndef DOORWARD_SANITIZE
	{"sigaltstack", KILLED, SYS_sigaltstack, {0, 0}},
#endif
	{"rt_sigaction", KILLED, SYS_rt_sigaction, {SIGTERM, 0, P(page), 8}},
	{"futex", KILLED, SYS_futex, {P(page), 1, 1}},
	{"set_robust_list", KILLED, SYS_set_robust_list, {P(page), 24}},
	{"rseq", KILLED, SYS_rseq, {P(page), 32, 0, 0}},
	{"membarrier", KILLED, SYS_membarrier, {0, 0}},

	/* The kernel's own wide doors. */
	{"bpf", KILLED, SYS_bpf, {0, 0, 0}},
	{"perf_event_open", KILLED, SYS_perf_event_open, {0, 0, 0, -1ul, 0}},
	{"io_uring_setup", KILLED, SYS_io_uring_setup, {1, P(page)}},
	{"io_uring_enter", KILLED, SYS_io_uring_enter, {-1ul, 0, 0, 0, 0, 0}},
	{"io_setup", KILLED, SYS_io_setup, {1, P(page)}},
	{"keyctl", KILLED, SYS_keyctl, {KEYCTL_GET_KEYRING_ID, -4ul, 0}},
	{"add_key", KILLED, SYS_add_key, {P("user"), P("x"), P("y"), 1, -4ul}},
	{"request_key", KILLED, SYS_request_key, {P("user"), P("x"), 0, 0}},
	{"init_module", KILLED, SYS_init_module, {0, 0, 0}},
	{"kexec_load", KILLED, SYS_kexec_load, {0, 0, 0, -1ul}},
	{"reboot", KILLED, SYS_reboot, {0, 0, 0, 0}},
	{"acct", KILLED, SYS_acct, {P("/nowhere/x")}},
	{"swapon", KILLED, SYS_swapon, {P("/nowhere/x"), 0}},
	{"sethostname", KILLED, SYS_sethostname, {0, 65}},
	{"syslog", KILLED, SYS_syslog, {10, 0, 0}},
	{"clock_settime", KILLED, SYS_clock_settime, {99, 0}},
	{"uname", KILLED, SYS_uname, {P(page)}},
	{"sysinfo", KILLED, SYS_sysinfo, {P(page)}},
	{"seccomp", KILLED, SYS_seccomp, {99, 0, 0}},
	{"landlock_create_ruleset", KILLED, SYS_landlock_create_ruleset, {0, 0, 1}},
	{"landlock_restrict_self", KILLED, SYS_landlock_restrict_self, {-1ul, 0}},
	{"no_such_call", KILLED, 4000, {0}},
#ifdef __x86_64__
	{"open", KILLED, SYS_open, {P(path), O_RDONLY, 0}},
	{"access", KILLED, SYS_access, {P(path), R_OK}},
	{"dup2", KILLED, SYS_dup2, {0, 9}},
	{"pipe", KILLED, SYS_pipe, {P(page)}},
	{"old_fork", KILLED, SYS_fork, {0}},
	{"creat", KILLED, SYS_creat, {P("/nowhere/x"), 0600}},
	{"arch_prctl", KILLED, SYS_arch_prctl, {0x1003, P(page)}},
	{"modify_ldt", KILLED, SYS_modify_ldt, {0, P(page), 0}},
	{"iopl", KILLED, SYS_iopl, {0}},
	{"x32_write", KILLED, 0x40000000 | SYS_write, {3, P("x"), 0}},
	{"x32_openat", KILLED, 0x40000000 | SYS_openat, {(uintptr_t)AT_FDCWD, P(path), O_RDONLY}},
#endif
};
/* clang-format on */

#define NCALLS (sizeof(calls) / sizeof(calls[0]))

static const struct call *
find(const char *name)
{
	size_t i;

	for (i = 0; i < NCALLS; i++)
		if (strcmp(calls[i].name, name) == 0)
			return &calls[i];
	return NULL;
}

static int
list(void)
{
	static const char *const fates[] = {"killed", "soft", "allowed"};
	size_t i;

	for (i = 0; i < NCALLS; i++)
		printf("%s %s\n", calls[i].name, fates[calls[i].fate]);
	return 0;
}

/* Formatting needs no system call, printing would. */
static void say(const char *, ...) __attribute__((format(printf, 1, 2)));

static void
say(const char *fmt, ...)
{
	char line[64];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n <= 0 || write(DW_FD_MONITOR, line, (size_t)n) != n)
		_exit(4);
}

static int
is_fork(const struct call *c)
{
	return c->nr == SYS_clone || c->nr == SYS_clone3 ||
	       strcmp(c->name, "old_fork") == 0;
}

static void
try(const struct call *c, pid_t parent)
{
	uintptr_t first = c->arg[0];
	long r;

	if (strcmp(c->name, "kill_parent") == 0)
		first = (uintptr_t)parent;
	errno = 0;
	r = syscall(c->nr, first, c->arg[1], c->arg[2], c->arg[3], c->arg[4],
		    c->arg[5]);
	if (r == 0 && is_fork(c))
		_exit(0);
	if (r == -1)
		say("errno %d\n", errno);
	else
		say("ok\n");
	_exit(0);
}

static void
confine_wholly(const struct confine_limits *limits)
{
	const char *what = "";
	struct hello h;

	if (confine_relay(limits, &h, &what) != 0) {
		fprintf(stderr, "%s: %s\n", what, strerror(errno));
		_exit(3);
	}
	say("layers %x abi %u\n", h.layers, (unsigned)h.landlock_abi);
}

static void
landlock_alone(int abi)
{
	struct hello h = {0, 0, 0};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    confine_landlock(abi, &h) != 0)
		_exit(3);
	say("layers %x abi %u\n", h.layers, (unsigned)h.landlock_abi);
}

static int
usage(void)
{
	fprintf(stderr, "usage: trycall --list | [--landlock-abi N] "
			"[--no-namespaces] [--unconfined] "
			"[--only-landlock] NAME\n");
	return 2;
}

int
main(int argc, char **argv)
{
	struct confine_limits limits = {CONFINE_ANY_ABI, 0};
	const struct call *c = NULL;
	pid_t parent = getppid();
	int confined = 1, only_landlock = 0, i;

	for (i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--list") == 0)
			return list();
		if (strcmp(argv[i], "--unconfined") == 0)
			confined = 0;
		else if (strcmp(argv[i], "--only-landlock") == 0)
			only_landlock = 1;
		else if (strcmp(argv[i], "--no-namespaces") == 0)
			limits.no_namespaces = 1;
		else if (strcmp(argv[i], "--landlock-abi") == 0 && i + 1 < argc)
			limits.landlock_abi = atoi(argv[++i]);
		else
			c = find(argv[i]);
	}
	if (c == NULL)
		return usage();
	free(malloc(1));
	if (only_landlock)
		landlock_alone(limits.landlock_abi);
	else if (confined)
		confine_wholly(&limits);
	try(c, parent);
}
