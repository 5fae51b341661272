/*
 * Uses system calls, because the C library has no functions for them. Rights that older kernel
 * headers lack are defined here; rights that the running kernel does not know are not requested.
 */
#include "cli/roles/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REFER     (UINT64_C(1) << 13) /* since ABI 2 */
#define TRUNCATE  (UINT64_C(1) << 14) /* since ABI 3 */
#define IOCTL_DEV (UINT64_C(1) << 15) /* since ABI 5 */

#define ALL_FIRST    (REFER - 1) /* the rights of ABI 1 */
#define RIGHTS_READ  (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define RIGHTS_WRITE ((ALL_FIRST & ~(uint64_t)LANDLOCK_ACCESS_FS_EXECUTE) | REFER | TRUNCATE)

/* Only these apply to a file; the kernel rejects others. */
#define RIGHTS_FILE                                                   \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | \
	 LANDLOCK_ACCESS_FS_READ_FILE | TRUNCATE | IOCTL_DEV)

/* Signals to, and abstract sockets of, outside processes; since ABI 6. */
#define SCOPES 3

/* The struct of the newest ABI; older kernels accept a prefix of it. */
struct attributes {
	uint64_t files;
	uint64_t network; /* since ABI 4; not limited */
	uint64_t scopes;
};

static uint64_t known_rights(int abi)
{
	uint64_t rights = ALL_FIRST;

	if (abi >= 2)
		rights |= REFER;
	if (abi >= 3)
		rights |= TRUNCATE;
	if (abi >= 5)
		rights |= IOCTL_DEV;
	return rights;
}

static size_t attributes_size(int abi)
{
	if (abi >= 6)
		return sizeof(struct attributes);
	return abi >= 4 ? offsetof(struct attributes, scopes)
			: offsetof(struct attributes, network);
}

int landlock_begin(struct landlock *l, struct error *err)
{
	struct attributes a = { .scopes = SCOPES };
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	*l = (struct landlock){ .abi = abi > 0 ? (int)abi : 0, .fd = -1 };
	if (l->abi == 0)
		return 0;
	a.files = known_rights(l->abi);
	l->fd = (int)syscall(SYS_landlock_create_ruleset, &a, attributes_size(l->abi), 0);
	return l->fd < 0 ? error_set_errno(err, ERR_IO, errno, "cannot make rules of Landlock") : 0;
}

static uint64_t rights_of(const struct landlock *l, enum landlock_access access, bool folder)
{
	uint64_t rights = RIGHTS_READ;

	if (access == LANDLOCK_EXECUTE)
		rights |= LANDLOCK_ACCESS_FS_EXECUTE;
	else if (access == LANDLOCK_WRITE)
		rights |= RIGHTS_WRITE;
	return rights & known_rights(l->abi) & (folder ? UINT64_MAX : RIGHTS_FILE);
}

int landlock_allow(const struct landlock *l, const char *path, enum landlock_access access,
		   struct error *err)
{
	struct landlock_path_beneath_attr rule;
	struct stat st;
	int fd, failed;

	if (l->abi == 0)
		return 0;
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ENXIO
			       ? 0
			       : error_set_errno(err, ERR_IO, errno, "cannot look at %s", path);
	failed = fstat(fd, &st) < 0 ? errno : 0;
	rule.parent_fd = fd;
	rule.allowed_access = rights_of(l, access, S_ISDIR(st.st_mode));
	if (!failed &&
	    syscall(SYS_landlock_add_rule, l->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
		failed = errno;
	(void)close(fd);
	return failed ? error_set_errno(err, ERR_IO, failed, "cannot allow %s by Landlock", path)
		      : 0;
}

int landlock_enforce(struct landlock *l, struct error *err)
{
	long r;

	if (l->abi == 0)
		return 0;
	r = syscall(SYS_landlock_restrict_self, l->fd, 0);
	if (r < 0)
		(void)error_set_errno(err, ERR_IO, errno, "cannot enforce rules of Landlock");
	(void)close(l->fd);
	l->fd = -1;
	return r < 0 ? -ERR_IO : 0;
}
