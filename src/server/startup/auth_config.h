/*
 * auth_config - ConfigMap kube-system/extension-apiserver-authentication, which tells other
 * servers of the cluster whose client certificates to trust: those that this one trusts.
 */
#ifndef SERVER_STARTUP_AUTH_CONFIG_H
#define SERVER_STARTUP_AUTH_CONFIG_H

#include "base/core/arena.h"
#include "base/core/str.h"

struct ensure;
struct server;

/* Creates it, or adds to it what is missing. On the state's loop. */
void auth_config_ensure(struct server *s, struct ensure *e);

/* `there` and the certificates of `ours`, both PEM, that it lacks. */
struct str auth_config_join(struct arena *a, struct str there, struct str ours);

#endif
