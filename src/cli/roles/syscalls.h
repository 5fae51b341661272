/*
 * syscalls - which system calls a role may still make.
 *
 * An allow-list per role. A call that is not in it fails with EPERM and has no effect; one that
 * was invented after this program fails with ENOSYS, as in an older kernel, so that the C library
 * does it another way. No role of a list can start a program or make a process.
 */
#ifndef CLI_ROLES_SYSCALLS_H
#define CLI_ROLES_SYSCALLS_H

#include "base/core/error.h"

/* The variable in which `devplane confine` names the list for the role that it becomes. */
#define SYSCALLS_VARIABLE "DEVPLANE_SYSCALLS"

/* Names of the lists, for a flag's choices; "all" is no limit. */
#define SYSCALLS_CHOICES "all|server|controller|scheduler|node|driver"

/*
 * Limits all threads of this process, for good. -ERR_INVALID: there is no such list;
 * -ERR_UNIMPLEMENTED: the kernel has no filters, and nothing is limited. Builds with
 * sanitizers and processors other than x86-64 and ARM64 have no limit.
 */
int syscalls_limit(const char *list, struct error *err);

/* By SYSCALLS_VARIABLE, which is taken out of the environment; without it there is no limit. */
int syscalls_limit_by_variable(struct error *err);

#endif
