/*
 * up_prometheus - prometheus.json: the metrics endpoints of all roles, as Prometheus' file_sd reads
 * them.
 *
 * Ports are free ones, so they change when a role restarts. The file is written at each such
 * change, and Prometheus reads it again. Each target has the labels `role` (server, controller,
 * scheduler, node, driver), `instance` (the role's name in `devplane status`, which does not
 * change) and, for nodes and drivers, `node`. A role that has no endpoint yet is left out. The
 * server's endpoint is HTTPS and needs a user, so scrape it with a job of its own.
 */
#ifndef CLI_UP_PROMETHEUS_H
#define CLI_UP_PROMETHEUS_H

#include "base/core/buf.h"

struct up_role;

struct up_target {
	const struct up_role *role;
	struct str url; /* "http://127.0.0.1:33921"; or empty: left out */
};

void up_prometheus_print(const struct up_target *targets, size_t n, struct buf *out);

#endif
