/*
 * auth_config - the ConfigMap kube-system/extension-apiserver-authentication, which lists for
 * other servers of the cluster the CAs of client certificates that this server trusts.
 */
#ifndef SERVER_STARTUP_AUTH_CONFIG_H
#define SERVER_STARTUP_AUTH_CONFIG_H

#include "base/core/arena.h"
#include "base/core/str.h"

struct ensure;
struct server;

/* Creates it, or adds missing entries. On the state's loop. */
void auth_config_ensure(struct server *s, struct ensure *e);

/* `there`, followed by those certificates of `ours` that it lacks; both PEM. */
struct str auth_config_join(struct arena *a, struct str there, struct str ours);

#endif
