/*
 * landlock - restricts the files that this process and its children may use.
 *
 * Landlock is a feature of the kernel: rules are added to a set, and the set is enforced
 * permanently. Access to a file without a rule fails with EACCES, whatever its mode. Only opening
 * is checked, so descriptors that are already open remain usable.
 */
#ifndef CLI_ROLES_LANDLOCK_H
#define CLI_ROLES_LANDLOCK_H

#include "base/core/error.h"

enum landlock_access {
	LANDLOCK_READ,
	LANDLOCK_EXECUTE, /* and read: programs and libraries */
	LANDLOCK_WRITE, /* and read, create and remove */
};

struct landlock {
	int abi; /* 0: this kernel has no Landlock, or it is disabled */
	int fd;
};

/* Creates an empty set. If the kernel has no Landlock, the other functions do nothing. */
int landlock_begin(struct landlock *l, struct error *err);

/*
 * Allows `path`: a file, or a folder with everything below it. A path that does not exist is
 * skipped.
 */
int landlock_allow(const struct landlock *l, const char *path, enum landlock_access access,
		   struct error *err);

/* Enforces the set; no_new_privs must be set. Frees it. */
int landlock_enforce(struct landlock *l, struct error *err);

#endif
