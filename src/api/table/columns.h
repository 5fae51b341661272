/*
 * columns - cells of Table output that are more than a field.
 *
 * Rows in schema/ name these functions. Each appends one JSON value, as upstream's printers show
 * it; `now_ns` is for ages. They accept an object of any version of their kind.
 */
#ifndef API_TABLE_COLUMNS_H
#define API_TABLE_COLUMNS_H

#include "api/schema/schema.h"

/* Many kinds. */
void column_age(const struct json *object, int64_t now_ns, struct buf *out);
void column_template_containers(const struct json *object, int64_t now_ns, struct buf *out);
void column_template_images(const struct json *object, int64_t now_ns, struct buf *out);
void column_selector(const struct json *object, int64_t now_ns, struct buf *out);
void column_selector_map(const struct json *object, int64_t now_ns, struct buf *out);
void column_data_count(const struct json *object, int64_t now_ns, struct buf *out);
void column_ready_replicas(const struct json *object, int64_t now_ns, struct buf *out);
void column_webhook_count(const struct json *object, int64_t now_ns, struct buf *out);
void column_updated_replicas(const struct json *object, int64_t now_ns, struct buf *out);
void column_available_replicas(const struct json *object, int64_t now_ns, struct buf *out);
void column_template_object_containers(const struct json *object, int64_t now_ns, struct buf *out);
void column_template_object_images(const struct json *object, int64_t now_ns, struct buf *out);
void column_template_object_labels(const struct json *object, int64_t now_ns, struct buf *out);

/* admissionregistration.k8s.io */
void column_validation_count(const struct json *object, int64_t now_ns, struct buf *out);
void column_mutation_count(const struct json *object, int64_t now_ns, struct buf *out);
void column_param_kind(const struct json *object, int64_t now_ns, struct buf *out);
void column_param_ref(const struct json *object, int64_t now_ns, struct buf *out);

/* Storage versions. */
void column_common_encoding(const struct json *object, int64_t now_ns, struct buf *out);
void column_storage_versions(const struct json *object, int64_t now_ns, struct buf *out);

/* Pods. */
void column_pod_ready(const struct json *object, int64_t now_ns, struct buf *out);
void column_pod_status(const struct json *object, int64_t now_ns, struct buf *out);
void column_pod_restarts(const struct json *object, int64_t now_ns, struct buf *out);
void column_pod_ip(const struct json *object, int64_t now_ns, struct buf *out);
void column_pod_node(const struct json *object, int64_t now_ns, struct buf *out);
void column_pod_nominated_node(const struct json *object, int64_t now_ns, struct buf *out);
void column_pod_readiness_gates(const struct json *object, int64_t now_ns, struct buf *out);

/* Nodes, services, endpoints, events. */
void column_node_status(const struct json *object, int64_t now_ns, struct buf *out);
void column_node_roles(const struct json *object, int64_t now_ns, struct buf *out);
void column_node_internal_ip(const struct json *object, int64_t now_ns, struct buf *out);
void column_node_external_ip(const struct json *object, int64_t now_ns, struct buf *out);
void column_node_os_image(const struct json *object, int64_t now_ns, struct buf *out);
void column_node_kernel(const struct json *object, int64_t now_ns, struct buf *out);
void column_node_runtime(const struct json *object, int64_t now_ns, struct buf *out);
void column_service_cluster_ip(const struct json *object, int64_t now_ns, struct buf *out);
void column_service_external_ip(const struct json *object, int64_t now_ns, struct buf *out);
void column_service_ports(const struct json *object, int64_t now_ns, struct buf *out);
void column_endpoints(const struct json *object, int64_t now_ns, struct buf *out);
void column_slice_ports(const struct json *object, int64_t now_ns, struct buf *out);
void column_slice_endpoints(const struct json *object, int64_t now_ns, struct buf *out);
void column_event_last_seen(const struct json *object, int64_t now_ns, struct buf *out);
void column_event_first_seen(const struct json *object, int64_t now_ns, struct buf *out);
void column_event_object(const struct json *object, int64_t now_ns, struct buf *out);
void column_event_subobject(const struct json *object, int64_t now_ns, struct buf *out);
void column_event_source(const struct json *object, int64_t now_ns, struct buf *out);
void column_event_message(const struct json *object, int64_t now_ns, struct buf *out);
void column_event_count(const struct json *object, int64_t now_ns, struct buf *out);

/* Quotas. */
void column_quota_requests(const struct json *object, int64_t now_ns, struct buf *out);
void column_quota_limits(const struct json *object, int64_t now_ns, struct buf *out);

/* Volumes, claims, classes, CSI drivers. */
void column_volume_phase(const struct json *object, int64_t now_ns, struct buf *out);
void column_volume_capacity(const struct json *object, int64_t now_ns, struct buf *out);
void column_volume_modes(const struct json *object, int64_t now_ns, struct buf *out);
void column_volume_claim(const struct json *object, int64_t now_ns, struct buf *out);
void column_volume_class(const struct json *object, int64_t now_ns, struct buf *out);
void column_volume_attributes(const struct json *object, int64_t now_ns, struct buf *out);
void column_volume_mode(const struct json *object, int64_t now_ns, struct buf *out);
void column_volume_claim_capacity(const struct json *object, int64_t now_ns, struct buf *out);
void column_volume_claim_modes(const struct json *object, int64_t now_ns, struct buf *out);
void column_class_reclaim(const struct json *object, int64_t now_ns, struct buf *out);
void column_class_binding(const struct json *object, int64_t now_ns, struct buf *out);
void column_class_expansion(const struct json *object, int64_t now_ns, struct buf *out);
void column_csi_node_drivers(const struct json *object, int64_t now_ns, struct buf *out);
void column_csi_driver_attach(const struct json *object, int64_t now_ns, struct buf *out);
void column_csi_driver_tokens(const struct json *object, int64_t now_ns, struct buf *out);
void column_csi_driver_modes(const struct json *object, int64_t now_ns, struct buf *out);

/* Workloads, budgets, networking, role bindings. */
void column_scale_desired(const struct json *object, int64_t now_ns, struct buf *out);
void column_job_status(const struct json *object, int64_t now_ns, struct buf *out);
void column_job_completions(const struct json *object, int64_t now_ns, struct buf *out);
void column_job_duration(const struct json *object, int64_t now_ns, struct buf *out);
void column_cron_job_time_zone(const struct json *object, int64_t now_ns, struct buf *out);
void column_cron_job_suspend(const struct json *object, int64_t now_ns, struct buf *out);
void column_cron_job_active(const struct json *object, int64_t now_ns, struct buf *out);
void column_cron_job_last(const struct json *object, int64_t now_ns, struct buf *out);
void column_cron_job_containers(const struct json *object, int64_t now_ns, struct buf *out);
void column_cron_job_images(const struct json *object, int64_t now_ns, struct buf *out);
void column_cron_job_selector(const struct json *object, int64_t now_ns, struct buf *out);
void column_daemon_set_nodes(const struct json *object, int64_t now_ns, struct buf *out);
void column_revision_controller(const struct json *object, int64_t now_ns, struct buf *out);
void column_revision_number(const struct json *object, int64_t now_ns, struct buf *out);
void column_budget_min(const struct json *object, int64_t now_ns, struct buf *out);
void column_budget_max(const struct json *object, int64_t now_ns, struct buf *out);
void column_policy_pods(const struct json *object, int64_t now_ns, struct buf *out);
void column_ingress_class(const struct json *object, int64_t now_ns, struct buf *out);
void column_ingress_hosts(const struct json *object, int64_t now_ns, struct buf *out);
void column_ingress_address(const struct json *object, int64_t now_ns, struct buf *out);
void column_ingress_ports(const struct json *object, int64_t now_ns, struct buf *out);
void column_ingress_class_parameters(const struct json *object, int64_t now_ns, struct buf *out);
void column_service_cidrs(const struct json *object, int64_t now_ns, struct buf *out);
void column_ip_address_parent(const struct json *object, int64_t now_ns, struct buf *out);
void column_binding_role(const struct json *object, int64_t now_ns, struct buf *out);
void column_binding_users(const struct json *object, int64_t now_ns, struct buf *out);
void column_binding_groups(const struct json *object, int64_t now_ns, struct buf *out);
void column_binding_accounts(const struct json *object, int64_t now_ns, struct buf *out);

/* Definitions of custom resources. */
void column_definition_versions(const struct json *object, int64_t now_ns, struct buf *out);
void column_definition_short_names(const struct json *object, int64_t now_ns, struct buf *out);
void column_definition_established(const struct json *object, int64_t now_ns, struct buf *out);

/* Flow control. */
void column_flow_dangling(const struct json *object, int64_t now_ns, struct buf *out);
void column_flow_distinguisher(const struct json *object, int64_t now_ns, struct buf *out);
void column_flow_shares(const struct json *object, int64_t now_ns, struct buf *out);
void column_flow_queues(const struct json *object, int64_t now_ns, struct buf *out);
void column_flow_hand(const struct json *object, int64_t now_ns, struct buf *out);
void column_flow_length(const struct json *object, int64_t now_ns, struct buf *out);

/* resource.k8s.io. */
void column_claim_state(const struct json *object, int64_t now_ns, struct buf *out);
void column_claim_devices(const struct json *object, int64_t now_ns, struct buf *out);
void column_claim_addresses(const struct json *object, int64_t now_ns, struct buf *out);
void column_taint_time(const struct json *object, int64_t now_ns, struct buf *out);
void column_pool_total(const struct json *object, int64_t now_ns, struct buf *out);
void column_pool_available(const struct json *object, int64_t now_ns, struct buf *out);
void column_pool_allocated(const struct json *object, int64_t now_ns, struct buf *out);
void column_pool_unavailable(const struct json *object, int64_t now_ns, struct buf *out);
void column_pool_errors(const struct json *object, int64_t now_ns, struct buf *out);
void column_pool_status(const struct json *object, int64_t now_ns, struct buf *out);
void column_pool_completed(const struct json *object, int64_t now_ns, struct buf *out);

/* Autoscaling, certificates, API services, migrations. */
void column_autoscaler_targets(const struct json *object, int64_t now_ns, struct buf *out);
void column_autoscaler_reference(const struct json *object, int64_t now_ns, struct buf *out);
void column_autoscaler_min(const struct json *object, int64_t now_ns, struct buf *out);
void column_autoscaler_max(const struct json *object, int64_t now_ns, struct buf *out);
void column_autoscaler_replicas(const struct json *object, int64_t now_ns, struct buf *out);
void column_signing_signer(const struct json *object, int64_t now_ns, struct buf *out);
void column_signing_requestor(const struct json *object, int64_t now_ns, struct buf *out);
void column_signing_duration(const struct json *object, int64_t now_ns, struct buf *out);
void column_signing_condition(const struct json *object, int64_t now_ns, struct buf *out);
void column_pod_certificate_state(const struct json *object, int64_t now_ns, struct buf *out);
void column_pod_certificate_annotations(const struct json *object, int64_t now_ns, struct buf *out);
void column_api_service(const struct json *object, int64_t now_ns, struct buf *out);
void column_api_service_available(const struct json *object, int64_t now_ns, struct buf *out);
void column_migration_resource(const struct json *object, int64_t now_ns, struct buf *out);
void column_migration_status(const struct json *object, int64_t now_ns, struct buf *out);

#endif
