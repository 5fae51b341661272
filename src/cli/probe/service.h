/*
 * probe_service - the gRPC services of `devplane probe serve`, and their methods for `devplane
 * probe call`.
 *
 * The services are those of proto/probe.proto, and gRPC's own health checking. They keep no state
 * beyond a call, so calls may arrive on any loop.
 */
#ifndef CLI_PROBE_SERVICE_H
#define CLI_PROBE_SERVICE_H

#include "grpc/grpc.h"

struct grpc_server;

/* Echo and Upload accept messages of up to 64 MiB; Chat keeps gRPC's limit of 4 MiB. */
extern const struct grpc_method probe_echo, probe_download, probe_upload, probe_chat;
extern const struct grpc_method probe_health_check, probe_health_watch;

void probe_service_add(struct grpc_server *s);

#endif
