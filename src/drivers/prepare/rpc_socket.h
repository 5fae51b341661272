/*
 * rpc_socket - gRPC services on unix sockets.
 */
#ifndef DRIVERS_PREPARE_RPC_SOCKET_H
#define DRIVERS_PREPARE_RPC_SOCKET_H

#include "base/core/error.h"
#include "base/core/str.h"

struct grpc_server;
struct loop;
struct rpc_socket;

/* The services must outlive it. */
struct rpc_socket *rpc_socket_new(struct loop *l, struct grpc_server *services);

/*
 * Listens at the path. Creates the folder if missing, and replaces a socket left by a dead process.
 * Returns -ERR_ALREADY_EXISTS if a live process answers there.
 */
int rpc_socket_listen(struct rpc_socket *s, struct str path, struct error *err);

/*
 * Removes the socket files at once, and gives calls `grace_ms` to end. Then frees the rpc_socket
 * and calls `done`, which may be NULL.
 */
void rpc_socket_close(struct rpc_socket *s, int64_t grace_ms, void (*done)(void *arg), void *arg);

#endif
