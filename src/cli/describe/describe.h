/*
 * describe - the writer of `devplane describe`: indented lines, and parts that many kinds share.
 *
 * Text has tabs and is aligned at the end as kubectl does it. Control characters in values never
 * reach the terminal. All memory is the run's.
 */
#ifndef CLI_DESCRIBE_DESCRIBE_H
#define CLI_DESCRIBE_DESCRIBE_H

#include "base/json/json.h"
#include "cli/connect/kube.h"

struct claim_sight;
struct device_pool;
struct device_view;

struct describe {
	struct kube *kube;
	struct arena *arena;
	const struct discovery_resource *type;
	const struct json *object, *metadata, *spec, *status;
	int64_t wall_ns;
	bool events;
	bool hidden; /* the gate DRAResourceAvailabilityVisibility is off */
	struct claim_sight *sight; /* which claims may be named; NULL: none */
	/* All devices and their pools, if the kind needs them. */
	const struct device_view *view;
	const struct device_pool *pools;
	size_t npools;
	const struct error *unread; /* why `view` could not be loaded; or NULL */
	const struct json **classes; /* caches the DeviceClasses; or NULL */
	const struct json **rules; /* caches the DeviceTaintRules; or NULL */
	struct buf text;
};

/* One kind's description of d->object. */
typedef int describe_fn(struct describe *d, struct error *err);
describe_fn describe_pod; /* describe/pod.c */
describe_fn describe_node; /* describe/node.c */
describe_fn describe_claim; /* describe/claim.c */
describe_fn describe_slice; /* describe/slice.c */
describe_fn describe_slice_object; /* describe/slice.c: ResourceSliceStatus */
describe_fn describe_any; /* describe/any.c */

/* Appends the text, aligned, with marks turned into colours or removed. */
void describe_finish(const struct describe *d, bool colour, struct buf *out);

/* --- lines ----------------------------------------------------------------------------------- */

/* Appends a line, indented by two spaces per level. */
void describe_line(struct describe *d, int level, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* "Name:\tvalue", or nothing if the value is empty. */
void describe_field(struct describe *d, int level, const char *name, struct str value);

/* The same with "<none>" for an empty value. */
void describe_field_or_none(struct describe *d, int level, const char *name, struct str value);

/* Column names with a line below them: "Type\tReason" and "----\t------". */
void describe_head(struct describe *d, const char *columns);
void describe_head_at(struct describe *d, int level, const char *columns); /* not at level 1 */

/* --- values ---------------------------------------------------------------------------------- */

/* "Mon, 02 Jan 2006 15:04:05 +0000"; unchanged if it is not a time. */
struct str describe_time(struct describe *d, struct str timestamp);

/* The age, "5m"; "<unknown>" if it is not a time. */
struct str describe_age(struct describe *d, struct str timestamp);

/* The text of a string, or any other value as JSON; empty for NULL. */
struct str describe_value(struct describe *d, const struct json *v);

/* A device's health, coloured. */
struct str describe_health(struct describe *d, struct str health);

/* The members of an object, sorted by name; *ret_n is their number. */
const struct json **describe_sorted(struct describe *d, const struct json *object, size_t *ret_n);

/* --- parts ----------------------------------------------------------------------------------- */

/* One line for each "key=value", the first next to the title. */
void describe_labels(struct describe *d, const char *title, const struct json *labels);
void describe_annotations(struct describe *d);

/* Each "name:\tvalue" at a level, sorted by name. */
void describe_map(struct describe *d, int level, const struct json *object);

/* Reads another list of the cluster, for optional parts. NULL if it cannot be read. */
struct json *describe_list(struct describe *d, const struct resource *r, struct str ns,
			   struct str field_selector);

/* Events about the object, oldest first. */
void describe_events(struct describe *d);

#endif
