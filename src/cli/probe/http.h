/*
 * probe_http - the HTTP resources of `devplane probe serve`.
 *
 * They show whether requests, bodies and streams of any size pass through everything between two
 * machines, with every protocol that the cluster's own servers use. GET / lists them.
 */
#ifndef CLI_PROBE_HTTP_H
#define CLI_PROBE_HTTP_H

#include "net/http/http.h"

struct metrics;

/* Answers the request. `metrics` is served at /metrics. */
void probe_http_handle(struct http_stream *s, struct metrics *metrics);

#endif
