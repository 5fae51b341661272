/*
 * probe_http - what `devplane probe serve` answers over HTTP.
 *
 * A few resources that show whether requests, bodies and streams of any size
 * cross whatever lies between two machines, on every protocol that the
 * cluster's own servers speak. GET / lists them.
 */
#ifndef CLI_PROBE_HTTP_H
#define CLI_PROBE_HTTP_H

#include "net/http/http.h"

struct metrics;

/* Answers the request. `metrics` serves /metrics. */
void probe_http_handle(struct http_stream *s, struct metrics *metrics);

#endif
