/*
 * kubernetes_service - what the cluster's own API is found by: the ServiceCIDR `kubernetes`, and in
 * namespace default the service `kubernetes` with its Endpoints and EndpointSlice.
 *
 * Made at the start and looked after from time to time. Where several servers share a store, each
 * keeps a Lease in kube-system with its address, and all that have not run out are endpoints; a
 * data folder has one server, whose address is the endpoint. Servers of one store should have the
 * same port: endpoints have one, so of servers with several ports only those are endpoints that
 * have the port of the first Lease.
 * Threads: the state's loop.
 */
#ifndef SERVER_SERVICES_KUBERNETES_SERVICE_H
#define SERVER_SERVICES_KUBERNETES_SERVICE_H

#include "base/core/error.h"

struct kubernetes_service;
struct server;

/* `done` when all is there for the first time, or with why that cannot be. */
struct kubernetes_service *kubernetes_service_new(struct server *s,
						  void (*done)(void *arg, const struct error *err),
						  void *arg);

/* Looks soon: something of it is known to be missing. */
void kubernetes_service_look(struct kubernetes_service *k);

/* Takes the Lease back, unless the store does not take writes just now. */
void kubernetes_service_stop(struct kubernetes_service *k);
void kubernetes_service_free(struct kubernetes_service *k);

#endif
