/*
 * podres_methods - the gRPC methods of PodResources, for servers and clients.
 */
#ifndef NODE_BOOK_METHODS_H
#define NODE_BOOK_METHODS_H

#include "grpc/grpc.h"

/* Largest List reply that our clients accept, in bytes. */
enum { PODRES_LIST_MAX = 16 << 20 };

extern const struct grpc_method podres_method_list; /* ListRequest, ListResponse */
extern const struct grpc_method podres_method_get;
extern const struct grpc_method podres_method_allocatable;
extern const struct grpc_method podres_method_watch; /* WatchRequest, PodEvent */
/* WatchRequest, AllocatableEvent */
extern const struct grpc_method podres_method_watch_allocatable;
extern const struct grpc_method podres_method_list_alpha;

/* Whether a failed Get means that there is no such pod: a kubelet replies UNKNOWN and a message. */
bool podres_method_get_found_none(const struct grpc_status *st);

#endif
