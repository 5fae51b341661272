/*
 * devices - the inventory of a cluster, kept up to date by informers.
 *
 * Follows ResourceSlices and ResourceClaims (DeviceTaintRules when asked for and served), and puts
 * each into one struct inventory. If asked for, it also follows Pods and Nodes: for the health of
 * devices, and to know which nodes exist.
 * Watchers get the names of slices whose status may have changed. An event concerns the slices that
 * it touched, all of a pool only if devices_touch.h says so, and never all of a cluster. An event
 * that changes neither the spec of a slice nor a claim's allocation and users concerns none.
 *
 * An object that the inventory refuses is told with each change (`refused`), and treated as
 * inventory.h says.
 * Threads: the client's loop.
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

/* What a server serves of it; resource text is empty for what it does not. */
struct devices_served {
	struct resource slices, claims, rules; /* resource.k8s.io in the newest version */
	bool slice_status; /* slices have the status subresource */
};

/*
 * Versions v1 and v1beta2 have the form that the inventory reads; of v1beta1 alone nothing is
 * taken: then `slices` is empty. Text is borrowed from the discovery.
 */
struct devices_served devices_find_served(const struct discovery *d);

/*
 * Who is told. Embed it; each function may be NULL. First every slice that is there, then
 * on_synced, then changes. Never called from within devices_watch(). It may stop watching
 * meanwhile, but not free the devices.
 */
struct devices_watcher {
	/* The slice's availability may be another; also when the slice is new, changed, or gone. */
	void (*on_slice)(struct devices_watcher *w, struct str slice);
	/* All that was there at the beginning is in the inventory. Once. */
	void (*on_synced)(struct devices_watcher *w);
	/* All that came in a turn is in the inventory, and was told; from on_synced on. */
	void (*on_turn)(struct devices_watcher *w);
	struct list link; /* next == NULL: not watching */
	bool synced; /* the devices': it was told so */
};

/* All borrowed but `served`, whose text is copied. */
struct devices_opts {
	struct loop *loop;
	struct informers *informers;
	struct devices_served served; /* claims and slices must be there */
	bool health; /* keep the book of devices' health: needs to list Pods and Nodes */
	bool nodes; /* know which nodes exist, as with `health`: needs to list Nodes */
	void (*refused)(void *arg, const char *what, struct str key, const struct error *err);
	void *arg;
};

struct devices *devices_new(const struct devices_opts *opts);

/* Watchers are told nothing any more. NULL allowed. */
void devices_free(struct devices *d);

void devices_watch(struct devices *d, struct devices_watcher *w);
void devices_unwatch(struct devices_watcher *w); /* harmless when not watching */

bool devices_synced(const struct devices *d);
struct inventory *devices_inventory(struct devices *d);
struct device_health_book *devices_health(struct devices *d); /* NULL: it is not kept */
/* To read objects from; the slices' index DEVICES_BY_POOL has "driver/pool". */
struct informer *devices_slices(struct devices *d);
struct informer *devices_claims(struct devices *d);
struct informer *devices_rules(struct devices *d); /* NULL: they are not followed */
size_t devices_claims_held(const struct devices *d); /* claims that have an allocation */

/* The slice as our copy has it; or NULL. */
const struct cached *devices_find_slice(const struct devices *d, struct str name);

#define DEVICES_BY_POOL "pool"

/* "driver/pool", and that of a slice. A driver's name has no slash. */
struct str devices_pool_key(struct str driver, struct str pool, struct arena *a);
struct str devices_pool_key_of(const struct cached *slice, struct arena *a);

#endif
