/*
 * defaults - values of fields that a client left out.
 *
 * The tables hold most of them. The functions that schema/ names compute defaults that depend on
 * other fields of the same object. Those for devices, RBAC and definitions are next to their
 * checks.
 */
#ifndef API_DEFAULTS_DEFAULTS_H
#define API_DEFAULTS_DEFAULTS_H

#include "api/schema/schema.h"

/* Sets the defaults of all unset fields of the tree. */
void defaults_fill(struct arena *a, struct json *tree, const struct schema_type *type,
		   int64_t now_ns);

/* Pods, also in templates. */
schema_fill fill_container;
schema_fill fill_image_volume;
schema_fill fill_volume;
schema_fill fill_pod_spec;
schema_fill fill_pod; /* only pods, not templates */
schema_fill fill_pod_status;
schema_fill fill_replication_controller;

/* Other kinds of the core group. */
schema_fill fill_service_port;
schema_fill fill_service_spec;
schema_fill fill_node_status;
schema_fill fill_limit_range_item;

/* apps, batch */
schema_fill fill_deployment_strategy;
schema_fill fill_daemon_set_strategy;
schema_fill fill_stateful_set_spec;
schema_fill fill_job_spec;

#endif
