/*
 * podres_http - calls of PodResources as bare HTTP streams, for clients that must cost little.
 */
#ifndef BENCH_PODRES_HTTP_H
#define BENCH_PODRES_HTTP_H

#include "grpc/grpc.h"
#include "net/http/client.h"

/* Calls with an empty message. A failure ends the program. */
void podres_http_call(struct http_client *c, const struct grpc_method *m,
		      const struct http_stream_ops *ops, void *data);

/* Its status was OK, at the end. */
bool podres_http_ok(const struct http_stream *s);

#endif
