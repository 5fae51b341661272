/*
 * policy - the roles and bindings that every cluster has, made sure of at each start.
 *
 * What is missing is created. What is there gets the rules and subjects that it lacks and
 * keeps those that were added, unless it says that it is not to be touched
 * (rbac.authorization.kubernetes.io/autoupdate: "false"). A start that finds all in place
 * writes nothing.
 */
#ifndef SERVER_AUTHZ_POLICY_H
#define SERVER_AUTHZ_POLICY_H

#include "base/core/error.h"

struct server;

/*
 * On the state's loop, once the namespaces are there. `done` when all is written and the
 * aggregated roles have their rules, or with why that cannot be.
 */
void policy_ensure(struct server *s, void (*done)(void *arg, const struct error *err), void *arg);

#endif
