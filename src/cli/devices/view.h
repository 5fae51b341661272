/*
 * device_view - the devices of a cluster and what is free of them, for commands that print it.
 *
 * Where availability comes from, in this order: the status of slices, when somebody has
 * published it; objects of kind ResourceSliceStatus of group devplane.dev, where slices have no
 * status; else it is computed here from slices, claims, taint rules and reports of health, which
 * takes the right to list claims in all namespaces. A slice whose published status is missing
 * (nobody runs the controller, or not yet) is computed as well. Taint rules and reports (pods,
 * nodes) that may not be read are left out. `note` says what could not be read; that nodes could
 * not be listed is said on stderr, with the same words in every command.
 *
 * With the gate DRAResourceAvailabilityVisibility off nothing of it is looked at or computed.
 * All memory is the run's (cli->arena).
 */
#ifndef CLI_DEVICES_VIEW_H
#define CLI_DEVICES_VIEW_H

#include "base/json/json.h"
#include "cli/connect/kube.h"
#include "cli/devices/fact.h"

enum device_view_source {
	DEVICE_VIEW_NONE, /* hidden by the gate, or it cannot be known: see the note */
	DEVICE_VIEW_STATUS, /* of slices */
	DEVICE_VIEW_OBJECT, /* ResourceSliceStatus */
	DEVICE_VIEW_COMPUTED,
};

/* One slice. */
struct device_view_slice {
	const struct json *object, *spec;
	struct str name, node; /* the latter empty when it is not tied to one */
	const struct json *status; /* as KEP-5677 has it; NULL: none */
	enum device_view_source source;
	/* The slice has changed since its status was written (observedGeneration). */
	bool stale;
	/* The pool has a newer generation: its devices are not given out any more. */
	bool older;
	/* Computed without reports of health: these may not be read. */
	bool blind;
};

struct device_newest;

struct device_view {
	struct device_view_slice *slices; /* by driver, pool, name */
	size_t n;
	struct device_newest *newest; /* generations; NULL: not looked at */
	/* A sentence for the reader when something was computed here or could not be; or empty. */
	struct str note;
	struct str version; /* resourceVersion of the list that it comes from; or empty */
};

/* Which of them; each may be empty. */
struct device_view_query {
	struct str slice; /* by name; -ERR_NOT_FOUND when there is none */
	struct str label_selector, field_selector;
	bool hidden; /* the gate is off */
};

/*
 * Prints on stderr that it is not known which nodes exist, and what follows from that.
 * device_view_load() does so if it computes; for others that compute.
 */
void device_view_say_nodes_unknown(struct cli *cli);

int device_view_load(struct kube *k, const struct device_view_query *q,
		     struct device_view *ret_view, struct error *err);

/*
 * resource.k8s.io in the newest version that has the form of v1: v1, else v1beta2. -ERR_NOT_FOUND
 * says what the server has instead.
 */
int device_view_resource(struct kube *k, const char *plural, struct resource *ret_resource,
			 struct error *err);

/*
 * ResourceSliceStatus objects as an array: all, or the one of that name. -ERR_NOT_FOUND: there is
 * none, or no such type.
 */
int device_view_objects(struct kube *k, struct str name, struct json **ret_objects,
			struct error *err);

/* --- the steps of it, without questions to a server ------------------------------------------- */

/* The slices of an array, with the status that they have. */
void device_view_make(struct arena *a, const struct json *slices, struct device_view *ret_view);

/* Marks those that are of an older generation than their pool has in `all`; v->newest is made. */
void device_view_mark_older(struct arena *a, struct device_view *v, const struct json *all);

/* The newest generation of each pool that was told of; in the arena. */
struct device_newest *device_newest_new(struct arena *a);
/* False: a newer one is known, so that the slice of this spec does not count. */
bool device_newest_put(struct device_newest *n, const struct json *spec);

/* Some slice of the newest generation has no status yet. */
bool device_view_lacks(const struct device_view *v);

/* Takes statuses of ResourceSliceStatus objects for slices that have none. */
void device_view_adopt(struct device_view *v, const struct json *objects);

/*
 * Whether a ResourceSliceStatus is of that slice, by their metadata: one of an earlier slice of
 * the name may still be there.
 */
bool device_view_is_of(const struct json *status_meta, const struct json *slice_meta);

/* What devices are computed from: arrays of objects. `slices` has every slice of the pools. */
struct device_view_inputs {
	const struct json *slices, *claims;
	const struct json *rules; /* NULL: none, or they may not be read */
	const struct json *pods; /* NULL: health is not known */
	const struct json *nodes; /* NULL: which nodes exist is not known */
};

/* Computes what is missing. */
void device_view_compute(struct arena *a, struct device_view *v,
			 const struct device_view_inputs *in, int64_t now_ns);

/* Gives a slice a status, which may be of an earlier generation of it. */
void device_view_take(struct device_view_slice *s, const struct json *status,
		      enum device_view_source source);

/* Without any availability. */
void device_view_hide(struct device_view *v);

/* --- reading ---------------------------------------------------------------------------------- */

/* NULL when there is none of that name. */
const struct device_view_slice *device_view_find(const struct device_view *v, struct str name);

/* The entry of a device in the slice's status; NULL when there is none. */
const struct json *device_view_device(const struct device_view_slice *s, struct str device);

/*
 * Whether the writer of the slice's status knew health: then a device without health is
 * NotReported. False if the slice has changed since, or if the writer could not read reports of
 * health.
 */
bool device_view_has_health(const struct device_view_slice *s);

/* What is known of the device. */
struct device_fact device_view_fact(const struct device_view_slice *s, struct str device);

/*
 * DeviceTaintRules in any version, as an array. -ERR_NOT_FOUND: they are not served, so that there
 * are none.
 */
int device_view_rules(struct kube *k, const struct json **ret_rules, struct error *err);

/*
 * Counts the devices of the slice's spec; a device that is not in the status is unknown. Without a
 * spec (the slice is gone) it counts the devices of the status.
 */
struct device_counts device_view_count(const struct device_view_slice *s);

/* The node of a slice: its name, <all>, or <some> where a selector or each device says which. */
struct str device_view_node(const struct json *spec);

/* "key=value:NoSchedule", without what is empty. */
struct str device_view_taint(struct arena *a, struct str key, struct str value, struct str effect);

#endif
