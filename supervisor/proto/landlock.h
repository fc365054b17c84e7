/*
 * What Landlock needs that Debian 12's headers do not have: constants up to
 * ABI 7, the ruleset struct, and the three calls.  Used by both sides.
 * Source: the kernel's Documentation/userspace-api/landlock.rst.
 */
#ifndef DW_PROTO_LANDLOCK_H
#define DW_PROTO_LANDLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef __NR_landlock_create_ruleset
#define __NR_landlock_create_ruleset 444
#define __NR_landlock_add_rule 445
#define __NR_landlock_restrict_self 446
#endif

#define DW_LANDLOCK_VERSION_FLAG 1u
#define DW_LANDLOCK_RULE_PATH_BENEATH 1

#define DW_LL_EXECUTE (1ull << 0)
#define DW_LL_WRITE_FILE (1ull << 1)
#define DW_LL_READ_FILE (1ull << 2)
#define DW_LL_READ_DIR (1ull << 3)
#define DW_LL_REMOVE_DIR (1ull << 4)
#define DW_LL_REMOVE_FILE (1ull << 5)
#define DW_LL_MAKE_CHAR (1ull << 6)
#define DW_LL_MAKE_DIR (1ull << 7)
#define DW_LL_MAKE_REG (1ull << 8)
#define DW_LL_MAKE_SOCK (1ull << 9)
#define DW_LL_MAKE_FIFO (1ull << 10)
#define DW_LL_MAKE_BLOCK (1ull << 11)
#define DW_LL_MAKE_SYM (1ull << 12)
#define DW_LL_REFER (1ull << 13)     /* ABI 2 */
#define DW_LL_TRUNCATE (1ull << 14)  /* ABI 3 */
#define DW_LL_IOCTL_DEV (1ull << 15) /* ABI 5 */
#define DW_LL_NET_ALL 3ull           /* ABI 4: bind and connect TCP */
#define DW_LL_SCOPE_ABSTRACT 1ull    /* ABI 6 */
#define DW_LL_SCOPE_SIGNAL 2ull      /* ABI 6 */

struct dw_landlock_ruleset {
	uint64_t fs;
	uint64_t net;
	uint64_t scoped;
};
_Static_assert(sizeof(struct dw_landlock_ruleset) == 24, "kernel ABI");

struct dw_landlock_path {
	uint64_t allowed;
	int32_t parent_fd;
} __attribute__((packed));
_Static_assert(sizeof(struct dw_landlock_path) == 12, "kernel ABI");

/* Everything the given ABI can handle: what a deny-all ruleset names. */
static inline struct dw_landlock_ruleset
dw_landlock_all(int abi)
{
	struct dw_landlock_ruleset rs = {0, 0, 0};

	rs.fs = (1ull << 13) - 1;
	if (abi >= 2)
		rs.fs |= DW_LL_REFER;
	if (abi >= 3)
		rs.fs |= DW_LL_TRUNCATE;
	if (abi >= 5)
		rs.fs |= DW_LL_IOCTL_DEV;
	if (abi >= 4)
		rs.net = DW_LL_NET_ALL;
	if (abi >= 6)
		rs.scoped = DW_LL_SCOPE_ABSTRACT | DW_LL_SCOPE_SIGNAL;
	return rs;
}

/* The struct's size as the given ABI knows it. */
static inline size_t
dw_landlock_size(int abi)
{
	if (abi >= 6)
		return 24;
	return abi >= 4 ? 16 : 8;
}

/* The kernel's ABI, or 0 if it has no Landlock or has it switched off. */
static inline int
dw_landlock_abi(void)
{
	long abi = syscall(__NR_landlock_create_ruleset, NULL, 0,
			   DW_LANDLOCK_VERSION_FLAG);

	return abi > 0 ? (int)abi : 0;
}

static inline int
dw_landlock_create(const struct dw_landlock_ruleset *rs, int abi)
{
	return (int)syscall(__NR_landlock_create_ruleset, rs,
			    dw_landlock_size(abi), 0u);
}

static inline int
dw_landlock_add_path(int ruleset, int dirfd, uint64_t allowed)
{
	struct dw_landlock_path path = {allowed, dirfd};

	return (int)syscall(__NR_landlock_add_rule, ruleset,
			    DW_LANDLOCK_RULE_PATH_BENEATH, &path, 0u);
}

static inline int
dw_landlock_restrict(int ruleset)
{
	return (int)syscall(__NR_landlock_restrict_self, ruleset, 0u);
}

#endif
