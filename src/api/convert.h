/*
 * convert - kinds whose versions differ in more than apiVersion.
 *
 * Each pair changes a tree in place into the storage version and back. They never
 * fail on what was validated, and what they make of an object is lossless
 * both ways. They do not touch apiVersion and kind: the caller does.
 */
#ifndef API_CONVERT_H
#define API_CONVERT_H

struct arena;
struct json;

/* events.k8s.io/v1 Event, stored as core/v1's. */
void convert_event_to_core(struct arena *a, struct json *object);
void convert_event_from_core(struct arena *a, struct json *object);

/* resource.k8s.io/v1beta1, stored as v1: requests gain `exactly`, devices lose `basic`. */
void convert_resource_v1beta1_resource_claim_to_storage(struct arena *a, struct json *object);
void convert_resource_v1beta1_resource_claim_from_storage(struct arena *a, struct json *object);
void convert_resource_v1beta1_resource_claim_template_to_storage(struct arena *a,
								 struct json *object);
void convert_resource_v1beta1_resource_claim_template_from_storage(struct arena *a,
								   struct json *object);
void convert_resource_v1beta1_resource_slice_to_storage(struct arena *a, struct json *object);
void convert_resource_v1beta1_resource_slice_from_storage(struct arena *a, struct json *object);

#endif
