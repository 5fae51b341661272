/*
 * describe_devices - devices and what is free of them, as text of `devplane describe`.
 *
 * Nothing here asks a server but for claims' namespaces (d->sight) and where a function says so.
 */
#ifndef CLI_DESCRIBE_DEVICES_H
#define CLI_DESCRIBE_DEVICES_H

#include "cli/describe/describe.h"
#include "cli/devices/pools.h"
#include "cli/devices/view.h"

/* --- trees: describe/tree.c ------------------------------------------------------------------ */

/* Text of somebody else's as a part of one line: nothing in it moves the cursor. */
struct str describe_clean(struct describe *d, struct str text);

/* "resourceSliceCount" as "Resource Slice Count". */
struct str describe_label(struct describe *d, struct str field);

/*
 * What names have, by name: attributes, capacities, counters, amounts. The first letter of a name
 * becomes a capital one, unless the name has a domain or would be another's.
 */
void describe_named(struct describe *d, int level, const struct json *map);
void describe_values(struct describe *d, int level, const struct json *map); /* without policies */

/* A member of an object, with all that is below it. */
void describe_member(struct describe *d, int level, const struct json *member);

/* --- availability: describe/state.c ---------------------------------------------------------- */

/*
 * "Allocated", or with claims that may not be named "Allocated (2 claims)". A free device that is
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

/* The same also where none may be named: "2 claims". Empty: nobody has it. */
struct str describe_held_by(struct describe *d, const struct json *device);

/* Claims of other namespaces; the allocations that may be shown are told by `shown`. */
size_t describe_hidden_claims(struct describe *d, const struct json *device, size_t *ret_shown);

/* A message of a pool's status; a claim that it names is left out where it may not be named. */
struct str describe_pool_message(struct describe *d, struct str message);

/* "key=value:NoSchedule, key:NoExecute (rule NAME), .." or empty. */
struct str describe_device_taints(struct describe *d, const struct device_view_slice *s,
				  const struct json *device);

/* "Summary:" of slices: counts, capacities, groups of partitionable devices. */
void describe_summary(struct describe *d, int level, const struct device_view_slice *v, size_t n,
		      const struct json *classes);

/*
 * In parentheses: the note, when nobody has published the status of one of these slices, and which
 * of them have changed since their status was written.
 */
void describe_origins(struct describe *d, int level, const struct device_view_slice *v, size_t n,
		      struct str note);

/* --- whole descriptions, but for events ------------------------------------------------------ */

/* describe/slice.c; `note` of the view. The gate's off: d->hidden. */
void describe_slice_text(struct describe *d, const struct device_view_slice *s, struct str note,
			 const struct json *classes);
/* describe/slice_status.c */
void describe_slice_status(struct describe *d, const struct device_view_slice *s, struct str note,
			   const struct json *classes);
/*
 * describe/node_devices.c: slices that are tied to the node. What is known of a pool as a whole is
 * told whatever slice of it has that, so that the view must have them all.
 */
void describe_node_devices(struct describe *d, const struct device_pool *pools, size_t n,
			   struct str node, struct str note);
/* describe/pool.c */
void describe_pool_text(struct describe *d, const struct device_pool *p, struct str note,
			const struct json *classes);

/*
 * DeviceClasses, where a summary of these slices needs them; NULL: not, or they cannot be read.
 * Asked for once when d->classes keeps them.
 */
const struct json *describe_classes(struct describe *d, const struct device_view_slice *v,
				    size_t n);

/* DeviceTaintRules, by the same rules; NULL also where they are not served. */
const struct json *describe_rules(struct describe *d);

#endif
