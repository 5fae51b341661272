/*
 * plugin_metrics - upstream kubelet's metrics of plugins and drivers, under the same names.
 *
 *	kubelet_device_plugin_registration_total{resource_name}
 *	kubelet_device_plugin_alloc_duration_seconds{resource_name}
 *	dra_grpc_operations_duration_seconds{driver_name,method_name,grpc_status_code}
 */
#ifndef NODE_PLUGINS_METRICS_H
#define NODE_PLUGINS_METRICS_H

#include "grpc/status.h"
#include "node/plugins/plugins_impl.h"

/* If `registry` is NULL, nothing is counted. */
void plugin_metrics_init(struct plugin_metrics *m, struct metrics *registry);

void plugin_metrics_registered(struct plugins *p, struct str resource);

/* Counts a call that has ended; methods without a metric are ignored. */
void plugin_metrics_called(const struct plugin_request *q, enum grpc_code code);

#endif
