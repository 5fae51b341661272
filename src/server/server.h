/*
 * server - the API server: `devplane server`.
 *
 * Opens the store, loads the state, listens, and serves until it is stopped.
 * On its first start it makes a CA, a serving certificate and an administrator's
 * kubeconfig in the data folder.
 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include "base/core/error.h"
#include "net/loop/addr.h"
#include "server/core/options.h"

struct server;

/* Also when it fails *ret_server is set, to what there is of it: stop and free it. */
int server_new(const struct server_opts *opts, struct server **ret_server, struct error *err);

/* Where it listens, and the kubeconfig that it wrote (or NULL); after on_ready. */
const struct addr *server_address(const struct server *s);
const char *server_kubeconfig(const struct server *s);

/* Drains: no new connections, watches end, writes are finished, the store is closed. */
void server_stop(struct server *s, int64_t grace_ms, void (*done)(void *arg), void *arg);
void server_free(struct server *s);

#endif
