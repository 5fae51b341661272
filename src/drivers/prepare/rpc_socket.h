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
 * Listens at the path, with its folder made where missing. One that a dead process left is
 * replaced; -ERR_ALREADY_EXISTS when somebody answers there.
 */
int rpc_socket_listen(struct rpc_socket *s, struct str path, struct error *err);

/*
 * The files go at once; calls may end for so long, then it is freed and `done` (or NULL) called.
 */
void rpc_socket_close(struct rpc_socket *s, int64_t grace_ms, void (*done)(void *arg), void *arg);

#endif
