/*
 * landlock - which files this process and its children may still use.
 *
 * Landlock is the kernel's: rules are added to a set, and the set is enforced for good. A file that
 * no rule names is refused with EACCES, whatever its mode says. Opening is what is checked, so that
 * descriptors that are open already stay usable.
 */
#ifndef CLI_ROLES_LANDLOCK_H
#define CLI_ROLES_LANDLOCK_H

#include "base/core/error.h"

enum landlock_access {
	LANDLOCK_READ,
	LANDLOCK_EXECUTE, /* and read: programs and libraries */
	LANDLOCK_WRITE, /* and read, make and remove */
};

struct landlock {
	int abi; /* 0: this kernel has no Landlock, or it is switched off */
	int fd;
};

/* Makes an empty set. Without Landlock in the kernel the other functions do nothing. */
int landlock_begin(struct landlock *l, struct error *err);

/* Allows `path`, a file or a folder with all below it. A path that does not exist is left out. */
int landlock_allow(const struct landlock *l, const char *path, enum landlock_access access,
		   struct error *err);

/* Enforces the set; no_new_privs must be set. Frees it. */
int landlock_enforce(struct landlock *l, struct error *err);

#endif
