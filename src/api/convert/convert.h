/*
 * convert - converts an object between versions of its kind.
 *
 * Converts a tree in place to the storage version and back, by the rows of its kind (`convert`
 * lines in schema/) and by functions for differences that rows cannot express. It never fails,
 * whatever the tree holds. A tree that fits its type loses nothing in either direction. The caller
 * sets apiVersion and kind.
 */
#ifndef API_CONVERT_CONVERT_H
#define API_CONVERT_CONVERT_H

#include <stdbool.h>

struct arena;
struct json;
struct schema_kind;

/* Whether the version differs from the storage version in more than its name. */
bool convert_differs(const struct schema_kind *kind);

/* For compiled kinds; custom ones use crd_convert(). */
void convert_to_storage(struct arena *a, struct json *object, const struct schema_kind *kind);
void convert_from_storage(struct arena *a, struct json *object, const struct schema_kind *kind);

/* Functions that rows name: events.k8s.io/v1 Event, stored as core/v1's. */
void convert_event_to_core(struct arena *a, struct json *object);
void convert_event_from_core(struct arena *a, struct json *object);

/* autoscaling/v1 HorizontalPodAutoscaler, stored as v2's. */
void convert_autoscaler_to_v2(struct arena *a, struct json *object);
void convert_autoscaler_from_v2(struct arena *a, struct json *object);

#endif
