/*
 * device_checks - the functions that schema/ names to check the kinds of resource.k8s.io.
 *
 * check_claim_status and check_device_data check the device status in claims (KEP-4817),
 * check_slice_status the availability in slices (KEP-5677).
 */
#ifndef API_DEVICES_CHECKS_H
#define API_DEVICES_CHECKS_H

#include "api/validate/validate.h"

/* Classes, and rules that they share with claims. */
schema_check check_cel_selector;
schema_check check_derived_attribute;
schema_check check_opaque_configuration;
schema_check check_extended_resource_name;

/* Claims. */
schema_fill fill_device_count;
schema_check check_device_count;
schema_check check_device_request;
schema_check check_device_constraint;
schema_check check_device_claim;
schema_check check_claim_status;
schema_check check_device_data;
schema_check check_interface_addresses;
schema_check_kind check_resource_claim;
schema_check_kind check_resource_claim_template;

/* Slices. */
schema_check check_resource_pool;
schema_check check_resource_slice_spec;
schema_check check_skip_node_operations;
schema_check check_device;
schema_check check_binding_conditions;

/* Checks the capacity of a new device; `several`: the device may be shared. */
void check_device_capacity(struct validation *v, const struct json *capacities, bool several,
			   const struct field_path *path);

/* Taints. */
schema_fill fill_device_taint;
schema_check check_device_toleration;
schema_check check_driver_name;
schema_check check_pool_name;

/* Status of pools and slices. */
schema_check_update check_pool_request_status;
schema_check check_resource_summary;
schema_check check_slice_status;

#endif
