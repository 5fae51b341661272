/*
 * policy - creates and updates the roles and bindings that every cluster has, at each start.
 *
 * Missing objects are created. Existing ones get the rules and subjects that they lack and keep
 * those that someone added, unless they are marked rbac.authorization.kubernetes.io/autoupdate:
 * "false". If everything is in place, nothing is written.
 */
#ifndef SERVER_AUTHZ_POLICY_H
#define SERVER_AUTHZ_POLICY_H

#include "base/core/error.h"

struct server;

/*
 * On the state's loop, once the namespaces exist. Calls `done` when everything is written and the
 * aggregated roles have their rules, or with the error.
 */
void policy_ensure(struct server *s, void (*done)(void *arg, const struct error *err), void *arg);

#endif
