/*
 * devices - the inventory of a cluster, kept up to date by informers.
 *
 * It follows ResourceSlices and ResourceClaims, and DeviceTaintRules if requested and served, and
 * puts each object into one struct inventory. On request it also follows Pods and Nodes, for the
 * health of devices (KEP-4680) and to know which nodes exist, with which labels. Watchers get the
 * names of slices whose status may have changed. An event affects the slices that it touches, all
 * slices of a pool only if devices_touch.h says so, and never the whole cluster. An event that
 * changes neither the spec of a slice nor a claim's allocation and users affects no slice.
 *
 * If the inventory rejects an object, `refused` is called after each change of it. inventory.h
 * says how the object is treated. Threads: the client's loop.
 */
#ifndef CONTROLLER_DEVICES_DEVICES_H
#define CONTROLLER_DEVICES_DEVICES_H

#include "base/core/error.h"
#include "base/core/list.h"
#include "client/api/resource.h"
#include "dra/inventory/inventory.h"

struct arena;
struct cached;
struct device_health_book;
struct devices;
struct discovery;
struct informer;
struct informers;
struct loop;

/* The resources that the server serves; the text of the others is empty. */
struct devices_served {
	struct resource slices, claims, rules; /* resource.k8s.io in the newest version */
	bool slice_status; /* slices have the status subresource */
};

/*
 * v1 and v1beta2 have the format that the inventory reads. If the server serves only v1beta1,
 * `slices` is empty. Text is borrowed from the discovery.
 */
struct devices_served devices_find_served(const struct discovery *d);

/*
 * A subscriber. Embed it; each function may be NULL. It gets every existing slice, then on_synced,
 * then changes. Functions are never called from within devices_watch(). They may stop watching,
 * but may not free the devices.
 */
struct devices_watcher {
	/*
	 * The slice's availability may have changed; also if the slice is new, changed, or deleted.
	 */
	void (*on_slice)(struct devices_watcher *w, struct str slice);
	/* Called once, when the inventory holds the whole initial state. */
	void (*on_synced)(struct devices_watcher *w);
	/*
	 * The inventory holds all events of this turn, and on_slice was called for them. From
	 * on_synced on.
	 */
	void (*on_turn)(struct devices_watcher *w);
	struct list link; /* next == NULL: not watching */
	bool synced; /* private: on_synced was called */
};

/* Everything is borrowed, except the text of `served`, which is copied. */
struct devices_opts {
	struct loop *loop;
	struct informers *informers;
	struct devices_served served; /* must have claims and slices */
	bool health; /* track the health of devices: needs permission to list Pods and Nodes */
	bool nodes; /* track nodes and labels, as `health` does: needs permission to list Nodes */
	void (*refused)(void *arg, const char *what, struct str key, const struct error *err);
	void *arg;
};

struct devices *devices_new(const struct devices_opts *opts);

/* Watchers are not called any more. NULL allowed. */
void devices_free(struct devices *d);

void devices_watch(struct devices *d, struct devices_watcher *w);
void devices_unwatch(struct devices_watcher *w); /* a no-op if not watching */

bool devices_synced(const struct devices *d);
struct inventory *devices_inventory(struct devices *d);
struct device_health_book *devices_health(struct devices *d); /* NULL: not tracked */
/* For reading objects. The slices' index DEVICES_BY_POOL has "driver/pool". */
struct informer *devices_slices(struct devices *d);
struct informer *devices_claims(struct devices *d);
struct informer *devices_rules(struct devices *d); /* NULL: not followed */
size_t devices_claims_held(const struct devices *d); /* claims that have an allocation */

/* The slice in our copy, or NULL. */
const struct cached *devices_find_slice(const struct devices *d, struct str name);

#define DEVICES_BY_POOL "pool"

/* Build "driver/pool" from names, or from a slice. A driver's name has no slash. */
struct str devices_pool_key(struct str driver, struct str pool, struct arena *a);
struct str devices_pool_key_of(const struct cached *slice, struct arena *a);

#endif
