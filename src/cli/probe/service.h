/*
 * probe_service - what `devplane probe serve` answers over gRPC, and the rows
 * of its methods for `devplane probe call`.
 *
 * The services are proto/probe.proto and gRPC's own health checking. They hold
 * no state beyond a call, so calls may come on any loop.
 */
#ifndef CLI_PROBE_SERVICE_H
#define CLI_PROBE_SERVICE_H

#include "grpc/grpc.h"

struct grpc_server;

/* Echo and Upload take messages of up to 64 MiB, Chat keeps to gRPC's 4 MiB. */
extern const struct grpc_method probe_echo, probe_download, probe_upload, probe_chat;
extern const struct grpc_method probe_health_check, probe_health_watch;

void probe_service_add(struct grpc_server *s);

#endif
