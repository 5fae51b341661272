/*
 * namespaces - creates the namespaces that every cluster has: default, kube-system, kube-public,
 * kube-node-lease.
 */
#ifndef SERVER_STARTUP_NAMESPACES_H
#define SERVER_STARTUP_NAMESPACES_H

#include "base/core/error.h"

struct server;

/*
 * Creates the missing ones and calls `done` when all exist, or with the error. On the state's
 * loop, once the state is loaded.
 */
void namespaces_ensure(struct server *s, void (*done)(void *arg, const struct error *err),
		       void *arg);

#endif
