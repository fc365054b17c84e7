/*
 * Confinement of the monitor.  What it may still do is what its loop needs:
 * read and write open descriptors, open files beneath its directories, kill
 * and reap its children.  It can start nothing and connect nowhere.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <seccomp.h>

#include "proto/frames.h"
#include "proto/landlock.h"

#include "confine.h"

/* clang-format off */
static const int allowed[] = {
	/* the loop */
	SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(read), SCMP_SYS(write),
	SCMP_SYS(recvmsg), SCMP_SYS(sendto), SCMP_SYS(close),
	SCMP_SYS(restart_syscall),
	/* the audit, the policy again, requests in the runtime directory */
	SCMP_SYS(openat), SCMP_SYS(fstat), SCMP_SYS(newfstatat),
	SCMP_SYS(fstatat64), SCMP_SYS(statx), SCMP_SYS(lseek),
	SCMP_SYS(pread64), SCMP_SYS(ftruncate), SCMP_SYS(fdatasync),
	SCMP_SYS(unlink), SCMP_SYS(unlinkat), SCMP_SYS(geteuid),
	/* the packs again; pins by a new file; links on a path */
	SCMP_SYS(getdents64), SCMP_SYS(rename), SCMP_SYS(renameat),
	SCMP_SYS(renameat2), SCMP_SYS(fsync), SCMP_SYS(readlinkat),
	/* memory */
	SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise),
	/* time, randomness */
	SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday), SCMP_SYS(getrandom),
	/* children and the end */
	SCMP_SYS(kill), SCMP_SYS(wait4), SCMP_SYS(waitid), SCMP_SYS(getpid),
	SCMP_SYS(gettid), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn),
	SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(futex),
#ifdef DOORWARD_SANITIZE
	/* what the sanitizers' runtime needs to report */
	SCMP_SYS(sigaltstack), SCMP_SYS(prctl), SCMP_SYS(readlink),
	SCMP_SYS(rt_sigaction), SCMP_SYS(mprotect), SCMP_SYS(mmap),
	SCMP_SYS(getrusage), SCMP_SYS(sysinfo), SCMP_SYS(ioctl),
	SCMP_SYS(open), SCMP_SYS(stat), SCMP_SYS(getuid), SCMP_SYS(prlimit64),
	SCMP_SYS(sched_getaffinity), SCMP_SYS(dup), SCMP_SYS(tgkill),
	SCMP_SYS(process_vm_readv), SCMP_SYS(set_robust_list),
	SCMP_SYS(writev), SCMP_SYS(sched_yield),
#endif
};

/* What libc asks in passing and can do without. */
static const int soft[] = {
	SCMP_SYS(ioctl), SCMP_SYS(readlink),
	SCMP_SYS(open), SCMP_SYS(access), SCMP_SYS(faccessat),
	SCMP_SYS(sysinfo), SCMP_SYS(prlimit64), SCMP_SYS(getrlimit),
};
/* clang-format on */

/* The mmap that malloc makes; on no file, never executable. */
static int
allow_memory(scmp_filter_ctx ctx)
{
	return seccomp_rule_add(
	    ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
	    SCMP_A2(SCMP_CMP_MASKED_EQ, ~(scmp_datum_t)(PROT_READ | PROT_WRITE),
		    0),
	    SCMP_A3(SCMP_CMP_EQ, MAP_PRIVATE | MAP_ANONYMOUS, 0));
}

/* Record locks of the audit; flags of descriptors are left alone. */
static int
allow_fcntl(scmp_filter_ctx ctx)
{
	static const int cmds[] = {F_OFD_SETLK, F_GETFL, F_GETFD};
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < sizeof(cmds) / sizeof(cmds[0]); i++)
		r = seccomp_rule_add(
		    ctx, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
		    SCMP_A1(SCMP_CMP_EQ, (scmp_datum_t)cmds[i], 0));
	return r;
}

static int
add_rules(scmp_filter_ctx ctx)
{
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < sizeof(allowed) / sizeof(allowed[0]); i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0);
#ifndef DOORWARD_SANITIZE
	if (r == 0)
		r = allow_memory(ctx);
	for (i = 0; r == 0 && i < sizeof(soft) / sizeof(soft[0]); i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EACCES), soft[i], 0);
#else
	(void)allow_memory, (void)soft;
#endif
	return r == 0 ? allow_fcntl(ctx) : r;
}

static int
load_filter(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int r;

	if (ctx == NULL)
		return -1;
	r = add_rules(ctx);
	if (r == 0)
		r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH,
				     SCMP_ACT_KILL_PROCESS);
	/* Sorting by a tree keeps a long allowlist cheap. */
	if (r == 0)
		r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (r == 0)
		r = seccomp_load(ctx);
	seccomp_release(ctx);
	return r == 0 ? 0 : -1;
}

static uint32_t
drop_capabilities(void)
{
	uint32_t layers = 0;
	cap_t none = cap_init();
	cap_value_t c;
	int bounding = 1;

	for (c = 0; cap_get_bound(c) >= 0; c++)
		if (cap_drop_bound(c) == -1)
			bounding = 0;
	cap_reset_ambient();
	if (none != NULL && cap_set_proc(none) == 0)
		layers |= LAYER_NO_CAPS;
	if (bounding)
		layers |= LAYER_BOUNDING;
	if (none != NULL)
		cap_free(none);
	return layers;
}

static int
add_dir(int ruleset, const struct confine_dir *d, const uint64_t handled)
{
	uint64_t read = DW_LL_READ_FILE | DW_LL_READ_DIR;
	uint64_t write = read | DW_LL_WRITE_FILE | DW_LL_REMOVE_FILE |
			 DW_LL_MAKE_REG | DW_LL_TRUNCATE;
	int fd = open(d->path, O_PATH | O_DIRECTORY | O_CLOEXEC), r;

	if (fd == -1)
		return 0; /* not there: nothing to allow */
	r = dw_landlock_add_path(ruleset, fd,
				 (d->writable ? write : read) & handled);
	close(fd);
	return r;
}

static int
landlock(const struct confine_dir *dirs, size_t n, int *abi)
{
	struct dw_landlock_ruleset rs;
	size_t i;
	int fd, r = 0;

	*abi = dw_landlock_abi();
#ifdef DOORWARD_TESTING
	if (getenv("DOORWARD_TEST_LANDLOCK_ABI") != NULL &&
	    atoi(getenv("DOORWARD_TEST_LANDLOCK_ABI")) < *abi)
		*abi = atoi(getenv("DOORWARD_TEST_LANDLOCK_ABI"));
#endif
	if (*abi == 0)
		return -1;
	rs = dw_landlock_all(*abi);
	rs.scoped &= ~DW_LL_SCOPE_SIGNAL; /* it has to kill the server */
	fd = dw_landlock_create(&rs, *abi);
	if (fd == -1)
		return -1;
	for (i = 0; r == 0 && i < n; i++)
		r = add_dir(fd, &dirs[i], rs.fs);
	if (r == 0)
		r = dw_landlock_restrict(fd);
	close(fd);
	return r;
}

uint32_t
confine_monitor(const struct confine_dir *dirs, size_t n, int *abi,
		const char **why)
{
	uint32_t layers = drop_capabilities();

	if (prctl(PR_SET_DUMPABLE, 0) == 0)
		layers |= LAYER_NOT_DUMPABLE;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1) {
		*why = "no_new_privs cannot be set";
		return 0;
	}
	layers |= LAYER_NO_NEW_PRIVS;
	if (landlock(dirs, n, abi) == 0)
		layers |= LAYER_LANDLOCK;
	else
		*abi = 0;
	if (load_filter() == -1) {
		*why = "the seccomp filter cannot be loaded";
		return 0;
	}
	return layers | LAYER_SECCOMP;
}
