/*
 * namespaces - those that every cluster has: default, kube-system, kube-public,
 * kube-node-lease.
 */
#ifndef SERVER_STARTUP_NAMESPACES_H
#define SERVER_STARTUP_NAMESPACES_H

#include "base/core/error.h"

struct server;

/*
 * Creates what is missing of them; `done` when all are there, or with why that
 * cannot be. On the state's loop, once the state is loaded.
 */
void namespaces_ensure(struct server *s, void (*done)(void *arg, const struct error *err),
		       void *arg);

#endif
