/*
 * syscalls - restricts the system calls that a role may make.
 *
 * There is an allow-list per role. A call that is not in it fails with EPERM and has no effect. A
 * call that is newer than this program fails with ENOSYS, as in an older kernel, so that the C
 * library falls back. No role with a list can start a program or create a process.
 */
#ifndef CLI_ROLES_SYSCALLS_H
#define CLI_ROLES_SYSCALLS_H

#include "base/core/error.h"

/* The variable in which `devplane confine` passes the list to the role that it becomes. */
#define SYSCALLS_VARIABLE "DEVPLANE_SYSCALLS"

/* Names of the lists, for a flag's choices; "all" means no limit. */
#define SYSCALLS_CHOICES "all|server|controller|scheduler|node|driver|explain"

/*
 * Limits all threads of this process permanently. Returns -ERR_INVALID for an unknown list, and
 * -ERR_UNIMPLEMENTED if the kernel has no filters; then nothing is limited. Builds with sanitizers
 * and processors other than x86-64 and ARM64 have no limit.
 */
int syscalls_limit(const char *list, struct error *err);

/*
 * The same with the list in SYSCALLS_VARIABLE, which is removed from the environment. Without the
 * variable there is no limit.
 */
int syscalls_limit_by_variable(struct error *err);

#endif
