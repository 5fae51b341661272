/*
 * device_view - the devices of a cluster and their availability (KEP-5677), for commands that
 * print it.
 *
 * Availability comes from the first of these sources:
 * - the status of slices, if it is published;
 * - objects of kind ResourceSliceStatus of group devplane.dev, if slices have no status;
 * - otherwise it is computed here from slices, claims, taint rules and health reports. That needs
 *   permission to list claims in all namespaces. A slice whose published status is missing (the
 *   controller does not run, or not yet) is computed as well. Taint rules and health reports
 *   (pods, nodes) that the user may not read are left out. `note` says what could not be read. If
 *   nodes could not be listed, that is printed on stderr, with the same words in every command.
 *
 * If the gate DRAResourceAvailabilityVisibility is off, nothing of this is read or computed. All
 * memory is the run's (cli->arena).
 */
#ifndef CLI_DEVICES_VIEW_H
#define CLI_DEVICES_VIEW_H

#include "base/json/json.h"
#include "cli/connect/kube.h"
#include "cli/devices/fact.h"

enum device_view_source {
	DEVICE_VIEW_NONE, /* hidden by the gate, or unknown: see the note */
	DEVICE_VIEW_STATUS, /* the slice's status */
	DEVICE_VIEW_OBJECT, /* ResourceSliceStatus */
	DEVICE_VIEW_COMPUTED,
};

/* One slice. */
struct device_view_slice {
	const struct json *object, *spec;
	struct str name, node; /* node: empty if the slice is not tied to one */
	const struct json *status; /* in KEP-5677's format; NULL: none */
	enum device_view_source source;
	/* The slice has changed since its status was written (observedGeneration). */
	bool stale;
	/* The pool has a newer generation: these devices are not allocated any more. */
	bool older;
	/* Computed without health reports, which the user may not read. */
	bool blind;
};

struct device_newest;

struct device_view {
	struct device_view_slice *slices; /* by driver, pool, name */
	size_t n;
	struct device_newest *newest; /* generations; NULL: not known */
	/* A note for the user if something was computed here or could not be; or empty. */
	struct str note;
	struct str version; /* resourceVersion of the list that it comes from; or empty */
};

/* Selects slices; each member may be empty. */
struct device_view_query {
	struct str slice; /* by name; -ERR_NOT_FOUND if it does not exist */
	struct str label_selector, field_selector;
	bool hidden; /* the gate is off */
};

/*
 * Prints on stderr that the set of nodes is unknown, and the consequences. device_view_load()
 * calls it if it computes; other code that computes must call it, too.
 */
void device_view_say_nodes_unknown(struct cli *cli);

int device_view_load(struct kube *k, const struct device_view_query *q,
		     struct device_view *ret_view, struct error *err);

/*
 * The newest version of resource.k8s.io that has the format of v1: v1, else v1beta2. The message
 * of -ERR_NOT_FOUND says what the server has instead.
 */
int device_view_resource(struct kube *k, const char *plural, struct resource *ret_resource,
			 struct error *err);

/*
 * ResourceSliceStatus objects as an array: all, or the one of that name. Returns -ERR_NOT_FOUND if
 * it does not exist, or if the type is not served.
 */
int device_view_objects(struct kube *k, struct str name, struct json **ret_objects,
			struct error *err);

/* --- the single steps, without requests ------------------------------------------------------ */

/* Makes a view of an array of slices, with their own status. */
void device_view_make(struct arena *a, const struct json *slices, struct device_view *ret_view);

/* Marks slices of an older generation than their pool has in `all`; creates v->newest. */
void device_view_mark_older(struct arena *a, struct device_view *v, const struct json *all);

/* The newest generation of each pool that was put in; in the arena. */
struct device_newest *device_newest_new(struct arena *a);
/* Returns false if a newer generation is known, so that the slice of this spec does not count. */
bool device_newest_put(struct device_newest *n, const struct json *spec);

/* Whether some slice of the newest generation has no status. */
bool device_view_lacks(const struct device_view *v);

/* Gives slices without a status that of their ResourceSliceStatus object. */
void device_view_adopt(struct device_view *v, const struct json *objects);

/*
 * Whether a ResourceSliceStatus belongs to that slice, by their metadata. An object of a deleted
 * slice of the same name may still exist.
 */
bool device_view_is_of(const struct json *status_meta, const struct json *slice_meta);

/* The objects to compute from, as arrays. `slices` must have every slice of the pools. */
struct device_view_inputs {
	const struct json *slices, *claims;
	const struct json *rules; /* NULL: none, or not readable */
	const struct json *pods; /* NULL: health is unknown */
	const struct json *nodes; /* NULL: the set of nodes is unknown */
};

/* Computes the statuses that are missing. */
void device_view_compute(struct arena *a, struct device_view *v,
			 const struct device_view_inputs *in, int64_t now_ns);

/* Sets a slice's status, which may belong to an earlier generation of the slice. */
void device_view_take(struct device_view_slice *s, const struct json *status,
		      enum device_view_source source);

/* Removes all availability. */
void device_view_hide(struct device_view *v);

/* --- reading ---------------------------------------------------------------------------------- */

/* NULL: not found. */
const struct device_view_slice *device_view_find(const struct device_view *v, struct str name);

/* The entry of a device in the slice's status; NULL: not found. */
const struct json *device_view_device(const struct device_view_slice *s, struct str device);

/*
 * Whether the writer of the slice's status knew the health of devices; then a device without
 * health is NotReported. False if the slice has changed since, or if the writer could not read
 * health reports.
 */
bool device_view_has_health(const struct device_view_slice *s);

struct device_fact device_view_fact(const struct device_view_slice *s, struct str device);

/*
 * DeviceTaintRules in any version, as an array. Returns -ERR_NOT_FOUND if they are not served, so
 * that none exist.
 */
int device_view_rules(struct kube *k, const struct json **ret_rules, struct error *err);

/*
 * Counts the devices of the slice's spec; a device without an entry in the status is unknown.
 * Without a spec (the slice was deleted) it counts the entries of the status.
 */
struct device_counts device_view_count(const struct device_view_slice *s);

/* The node of a slice: its name, <all>, or <some> if a selector or each device decides. */
struct str device_view_node(const struct json *spec);

/* "key=value:NoSchedule", without empty parts. */
struct str device_view_taint(struct arena *a, struct str key, struct str value, struct str effect);

#endif
