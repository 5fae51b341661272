/*
 * checks - the functions that schema/ names to check built-in kinds, except those for devices,
 * services and custom resource definitions.
 *
 * check_resource_status checks the device health in pod status (KEP-4680).
 */
#ifndef API_CHECK_CHECKS_H
#define API_CHECK_CHECKS_H

#include "api/validate/validate.h"

/* meta */
schema_check check_conditions; /* []metav1.Condition */
schema_check check_label_selector;
schema_check check_template_metadata; /* labels and annotations; any other member is an error */
schema_check
	check_pod_template_metadata; /* labels and annotations; other members are not checked */

/* admissionregistration.k8s.io */
schema_check_kind check_webhooks;
schema_check_kind check_validating_policy;
schema_check_kind check_validating_binding;
schema_check_kind check_mutating_policy;
schema_check_kind check_mutating_binding;

/* core: node selectors */
schema_check check_node_selector;
schema_check check_node_selector_term;

/* core: pods, also in templates */
schema_check check_pod_certificate; /* a projected volume's */
schema_check check_pod_spec;
schema_check check_toleration;
schema_check check_resources;
schema_check check_resource_status; /* health of the devices of one resource */
schema_check_update check_pod_update;
schema_check_update check_pod_status_update;

/* core: the rest */
schema_check_kind check_config_map;
schema_check_kind check_secret;
schema_check_kind check_node;
schema_check_update check_node_update;
schema_check_kind check_event;
schema_check_kind check_volume_claim;
schema_check_kind check_limit_range;
schema_check_kind check_resource_quota;
schema_check_update check_resource_quota_update;
schema_check_update check_resource_quota_status;

/*
 * A number of pods, such as 3, or a share of them, such as "25%": its form, and that a share is at
 * most 100%. The amount is 0 if the value is absent or malformed, and that of "3" is 3.
 */
int64_t check_amount_of(const struct json *value);
schema_check check_amount;
schema_check check_amount_at_most_all;

/* apps, batch, coordination */
schema_check check_workload_spec;
schema_check check_deployment_spec;
schema_check check_deployment_status;
schema_check check_replica_set_status;
schema_check_update check_deployment_status_update;
schema_check check_daemon_set_strategy;
schema_check_update check_daemon_set_status;
schema_check_kind check_controller_revision;
schema_check check_cron_job_spec;
schema_check_kind check_job;
schema_check_update check_job_update, check_job_status;
schema_check check_job_spec;
schema_check check_lease_spec;

/* scheduling */
schema_check_kind check_priority_class;
schema_check_update check_priority_class_update;

/* rbac */
schema_fill fill_subject;
schema_check_kind check_role;
schema_check_kind check_cluster_role;
schema_check_kind check_role_binding;
schema_check_kind check_cluster_role_binding;

/* flowcontrol.apiserver.k8s.io */
schema_check check_flow_conditions;
schema_check_kind check_flow_schema;
schema_check_kind check_flow_level;

/* internal.apiserver.k8s.io */
schema_check_kind check_storage_version;
schema_check_update check_storage_version_status;

#endif
