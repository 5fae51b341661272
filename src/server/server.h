/*
 * server - the API server: `devplane server`.
 *
 * Opens the store, loads the state, listens, and serves until it is stopped. On its first start
 * it creates a CA, a serving certificate and an administrator's kubeconfig in the data folder.
 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include "base/core/error.h"
#include "net/loop/addr.h"
#include "server/core/options.h"

struct server;

/* If it fails, *ret_server is set nevertheless: stop and free it. */
int server_new(const struct server_opts *opts, struct server **ret_server, struct error *err);

/*
 * The address that it listens on, and the kubeconfig that it wrote (or NULL). Valid after
 * on_ready.
 */
const struct addr *server_address(const struct server *s);
const char *server_kubeconfig(const struct server *s);

/* Drains: accepts no new connections, ends watches, finishes writes, closes the store. */
void server_stop(struct server *s, int64_t grace_ms, void (*done)(void *arg), void *arg);
void server_free(struct server *s);

#endif
