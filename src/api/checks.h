/*
 * checks - what fields, types and kinds must obey that tables cannot say.
 *
 * The functions that schema/ names: their rows say which is called for what. A
 * check of a field gets the field's value, one of a type gets the object, and one
 * of a kind the whole object; v->old_value is the stored counterpart, or
 * NULL. A fill changes an object after its other defaults.
 */
#ifndef API_CHECKS_H
#define API_CHECKS_H

#include "api/schema.h"
#include "api/validate.h"

#define CHECK(name) \
	void name(struct validation *v, const struct json *value, const struct field_path *path)
#define CHECK_KIND(name) void name(struct validation *v, const struct json *object)
#define CHECK_KIND_UPDATE(name) \
	void name(struct validation *v, const struct json *object, const struct json *old)
#define FILL(name) void name(struct arena *a, struct json *parent, int64_t now_ns)

/* meta */
CHECK(check_conditions); /* []metav1.Condition */
CHECK(check_label_selector);
CHECK(check_template_metadata); /* labels and annotations, nothing else */
CHECK(check_pod_template_metadata); /* labels and annotations; the rest is not looked at */

/* admissionregistration.k8s.io */
CHECK_KIND(check_webhooks);
CHECK_KIND(check_validating_policy);
CHECK_KIND(check_validating_binding);
CHECK_KIND(check_mutating_policy);
CHECK_KIND(check_mutating_binding);

/* resource.k8s.io: classes, and what they share with claims */
CHECK(check_cel_selector);
CHECK(check_derived_attribute);
CHECK(check_opaque_configuration);
CHECK(check_extended_resource_name);

/* resource.k8s.io: claims */
FILL(fill_device_count);
CHECK(check_device_count);
CHECK(check_device_request);
CHECK(check_device_constraint);
CHECK(check_device_claim);
CHECK(check_claim_status);
CHECK(check_device_data);
CHECK(check_interface_addresses);
CHECK_KIND(check_resource_claim);
CHECK_KIND(check_resource_claim_template);

/* resource.k8s.io: slices */
CHECK(check_resource_pool);
CHECK(check_resource_slice_spec);
CHECK(check_skip_node_operations);
CHECK(check_device);
CHECK(check_binding_conditions);

/* A device's capacity, when it is new; `several`: the device may be shared. */
void check_device_capacity(struct validation *v, const struct json *capacities, bool several,
			   const struct field_path *path);

/* resource.k8s.io: taints */
FILL(fill_device_taint);
CHECK(check_device_toleration);
CHECK(check_driver_name);
CHECK(check_pool_name);

/* resource.k8s.io: status of pools */
CHECK_KIND_UPDATE(check_pool_request_status);
CHECK(check_resource_summary);
CHECK(check_slice_status);

/* apiextensions.k8s.io */
FILL(fill_crd_names); /* singular and list kind, of a definition's spec */

/* core: what selects nodes */
CHECK(check_node_selector);
CHECK(check_node_selector_term);

/* core: pods, also in templates */
FILL(fill_container);
FILL(fill_image_volume);
FILL(fill_volume);
FILL(fill_pod_spec);
FILL(fill_pod); /* of pods alone */
FILL(fill_pod_status);
FILL(fill_replication_controller);
CHECK(check_pod_certificate); /* a projected one */
CHECK(check_pod_spec);
CHECK(check_toleration);
CHECK(check_resources);
CHECK(check_resource_status); /* health of the devices of one resource */
CHECK_KIND_UPDATE(check_pod_update);
CHECK_KIND_UPDATE(check_pod_status_update);

/* core: the rest */
FILL(fill_service_port);
FILL(fill_service_spec);
FILL(fill_node_status);
FILL(fill_limit_range_item);
CHECK_KIND(check_config_map);
CHECK_KIND(check_secret);
CHECK(check_service_spec);
CHECK_KIND_UPDATE(check_service_update);
CHECK_KIND(check_node);
CHECK_KIND_UPDATE(check_node_update);
CHECK_KIND(check_event);
CHECK_KIND(check_volume_claim);
CHECK_KIND(check_limit_range);
CHECK_KIND(check_resource_quota);
CHECK_KIND_UPDATE(check_resource_quota_update);
CHECK_KIND_UPDATE(check_resource_quota_status);

/* apps, batch */
CHECK(check_workload_spec);
CHECK(check_cron_job_spec);
CHECK_KIND(check_job);
CHECK_KIND_UPDATE(check_job_update);

/* apps, batch, coordination */
FILL(fill_deployment_strategy);
FILL(fill_daemon_set_strategy);
FILL(fill_stateful_set_spec);
FILL(fill_job_spec);
CHECK(check_lease_spec);

/* networking */
CHECK_KIND(check_ip_address);
CHECK(check_service_cidr_spec);
CHECK_KIND_UPDATE(check_service_cidr_update);

/* scheduling */
CHECK_KIND(check_priority_class);
CHECK_KIND_UPDATE(check_priority_class_update);

/* rbac */
FILL(fill_subject);
CHECK_KIND(check_role);
CHECK_KIND(check_cluster_role);
CHECK_KIND(check_role_binding);
CHECK_KIND(check_cluster_role_binding);

/* flowcontrol.apiserver.k8s.io */
CHECK(check_flow_conditions);
CHECK_KIND(check_flow_schema);
CHECK_KIND(check_flow_level);

/* apiextensions.k8s.io: definitions */
CHECK_KIND(check_crd);
CHECK_KIND_UPDATE(check_crd_update);
CHECK_KIND_UPDATE(check_crd_status);

/* internal.apiserver.k8s.io */
CHECK_KIND(check_storage_version);
CHECK_KIND_UPDATE(check_storage_version_status);

/* strategy_certificates.c */
CHECK_KIND_UPDATE(check_signing_request_update);
CHECK_KIND_UPDATE(check_signing_request_status);

#undef CHECK
#undef CHECK_KIND
#undef CHECK_KIND_UPDATE
#undef FILL

#endif
