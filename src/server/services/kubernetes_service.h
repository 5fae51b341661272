/*
 * kubernetes_service - keeps the objects by which pods find the API: the ServiceCIDR
 * `kubernetes`, and in namespace default the service `kubernetes` with its Endpoints and
 * EndpointSlice.
 *
 * They are created at the start and checked periodically. If several servers share a store, each
 * keeps a Lease with its address in kube-system, and all servers whose Lease has not expired are
 * endpoints. With a data folder there is one server, whose address is the endpoint. Servers of
 * one store should listen on the same port: the endpoints have only one, so servers with another
 * port than that of the first Lease are left out.
 *
 * Threads: the state's loop.
 */
#ifndef SERVER_SERVICES_KUBERNETES_SERVICE_H
#define SERVER_SERVICES_KUBERNETES_SERVICE_H

#include "base/core/error.h"

struct kubernetes_service;
struct server;

/* Calls `done` when all objects exist for the first time, or with the error. */
struct kubernetes_service *kubernetes_service_new(struct server *s,
						  void (*done)(void *arg, const struct error *err),
						  void *arg);

/* Checks soon, because some object is known to be missing. */
void kubernetes_service_look(struct kubernetes_service *k);

/* Deletes the Lease, unless the store does not accept writes at the moment. */
void kubernetes_service_stop(struct kubernetes_service *k);
void kubernetes_service_free(struct kubernetes_service *k);

#endif
