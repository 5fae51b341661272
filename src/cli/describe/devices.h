/*
 * describe_devices - devices and their availability (KEP-5677), as text of `devplane describe`.
 *
 * These functions send no requests, except for access reviews (d->sight) and where a comment says
 * so.
 */
#ifndef CLI_DESCRIBE_DEVICES_H
#define CLI_DESCRIBE_DEVICES_H

#include "cli/describe/describe.h"
#include "cli/devices/pools.h"
#include "cli/devices/view.h"

/* --- trees: describe/tree.c ------------------------------------------------------------------ */

/* Makes foreign text safe as a part of one line: nothing in it moves the cursor. */
struct str describe_clean(struct describe *d, struct str text);

/* "resourceSliceCount" as "Resource Slice Count". */
struct str describe_label(struct describe *d, struct str field);

/*
 * A map sorted by name: attributes, capacities, counters, amounts. The first letter of a name is
 * capitalized, unless the name has a domain or would collide with another.
 */
void describe_named(struct describe *d, int level, const struct json *map);
void describe_values(struct describe *d, int level, const struct json *map); /* without policies */

/* A member of an object, with everything below it. */
void describe_member(struct describe *d, int level, const struct json *member);

/* --- availability: describe/state.c ---------------------------------------------------------- */

/*
 * "Allocated", or "Allocated (2 claims)" if the claims may not be named. A free device that is
 * known to be unhealthy is marked. `device` is an entry of a slice's status; NULL: "<unknown>".
 */
struct str describe_state(struct describe *d, const struct json *device);

/* "Unhealthy (Xid 79) since TIME"; empty: not reported. */
struct str describe_fact_health(struct describe *d, const struct json *device);

/*
 * "default/a, default/b, 2 more claims, 9 more allocations". The 2 claims are in namespaces that
 * the user may not read; the status leaves the 9 allocations out. Empty if no claim holds the
 * device.
 */
struct str describe_holders(struct describe *d, const struct json *device);

/* The same, but "2 claims" if none may be named. Empty: no claim holds the device. */
struct str describe_held_by(struct describe *d, const struct json *device);

/*
 * The number of claims in namespaces that the user may not read. *ret_shown is the number of
 * allocations that may be shown.
 */
size_t describe_hidden_claims(struct describe *d, const struct json *device, size_t *ret_shown);

/* A message of a pool's status, without the name of a claim that the user may not read. */
struct str describe_pool_message(struct describe *d, struct str message);

/* "key=value:NoSchedule, key:NoExecute (rule NAME), .." or empty. */
struct str describe_device_taints(struct describe *d, const struct device_view_slice *s,
				  const struct json *device);

/* "Summary:" of slices: counts, capacities, groups of partitionable devices. */
void describe_summary(struct describe *d, int level, const struct device_view_slice *v, size_t n,
		      const struct json *classes);

/*
 * Prints in parentheses: the note, if a status of these slices is not a published one, and which
 * slices have changed since their status was written.
 */
void describe_origins(struct describe *d, int level, const struct device_view_slice *v, size_t n,
		      struct str note);

/* --- whole descriptions, without events ------------------------------------------------------ */

/* describe/slice.c; `note` is the view's. If the gate is off, d->hidden is set. */
void describe_slice_text(struct describe *d, const struct device_view_slice *s, struct str note,
			 const struct json *classes);
/* describe/slice_status.c */
void describe_slice_status(struct describe *d, const struct device_view_slice *s, struct str note,
			   const struct json *classes);
/*
 * describe/node_devices.c: the slices that are tied to the node. The view must have all slices,
 * because the status of a pool as a whole may be on any slice of it.
 */
void describe_node_devices(struct describe *d, const struct device_pool *pools, size_t n,
			   struct str node, struct str note);
/* The same file: state, health, holders, taints, attributes and capacity of one device. */
void describe_device_state(struct describe *d, int level, const struct device_view_slice *s,
			   const struct json *device);
/* describe/device.c: `device` is an element of the slice's spec. */
void describe_device_text(struct describe *d, const struct device_pool *p,
			  const struct device_view_slice *s, const struct json *device,
			  struct str note);
/* describe/pool.c */
void describe_pool_text(struct describe *d, const struct device_pool *p, struct str note,
			const struct json *classes);

/*
 * Reads DeviceClasses if a summary of these slices needs them. NULL: not needed, or they cannot be
 * read. They are read once if d->classes is there to cache them.
 */
const struct json *describe_classes(struct describe *d, const struct device_view_slice *v,
				    size_t n);

/* Reads DeviceTaintRules in the same way; NULL also if they are not served. */
const struct json *describe_rules(struct describe *d);

#endif
