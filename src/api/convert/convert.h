/*
 * convert - an object from one version of its kind into another.
 *
 * A tree is changed in place into the storage version and back, by the rows of
 * its kind (`convert` lines in schema/) and by functions for what rows cannot
 * say. That never fails, whatever the tree holds; of what fits its type nothing
 * is lost either way. apiVersion and kind are the caller's matter.
 */
#ifndef API_CONVERT_CONVERT_H
#define API_CONVERT_CONVERT_H

#include <stdbool.h>

struct arena;
struct json;
struct schema_kind;

/* Whether the version differs from the stored one in more than its name. */
bool convert_differs(const struct schema_kind *kind);

/* Of compiled kinds; custom ones have crd_convert(). */
void convert_to_storage(struct arena *a, struct json *object, const struct schema_kind *kind);
void convert_from_storage(struct arena *a, struct json *object, const struct schema_kind *kind);

/* Functions of rows: events.k8s.io/v1 Event, stored as core/v1's. */
void convert_event_to_core(struct arena *a, struct json *object);
void convert_event_from_core(struct arena *a, struct json *object);

/* autoscaling/v1 HorizontalPodAutoscaler, stored as v2's. */
void convert_autoscaler_to_v2(struct arena *a, struct json *object);
void convert_autoscaler_from_v2(struct arena *a, struct json *object);

#endif
