/*
 * device_spec - the form that devices and counters of a vendor have in a ResourceSlice.
 *
 * Text is checked and copied into the arena. Quantities get their canonical form, which the API
 * server returns as well.
 */
#ifndef DRIVERS_PREPARE_DEVICE_SPEC_H
#define DRIVERS_PREPARE_DEVICE_SPEC_H

#include "base/core/arena.h"
#include "base/core/error.h"
#include "base/json/json.h"
#include "devplane/driver.h"

/* Adds everything except the name to `spec`. */
int device_spec_fill(struct arena *a, struct json *spec, const struct dp_device *in,
		     struct error *err);

/* Adds the node selection; `selector` is JSON text, or NULL. At most one of the three is set. */
int device_spec_nodes(struct arena *a, struct json *to, const char *name, const char *selector,
		      bool all, struct error *err);

/* A list of taints. */
int device_spec_taints(struct arena *a, const struct dp_taint *v, size_t n, struct json **ret_list,
		       struct error *err);

/* A map of counters, {"memory":{"value":"40Gi"}}. */
int device_spec_counters(struct arena *a, const struct dp_counter *v, size_t n,
			 struct json **ret_map, struct error *err);

#endif
