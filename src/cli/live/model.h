/*
 * top_model - the devices that `top` and `watch` show: their state, health and holders, by slice.
 *
 * It is made from a slice's spec and its status in KEP-5677's format, published or computed here.
 * A slice is replaced as a whole; top_changes() then reports the differences per device. No I/O,
 * no clock.
 */
#ifndef CLI_LIVE_MODEL_H
#define CLI_LIVE_MODEL_H

#include "base/json/json.h"
#include "base/ordered/omap.h"
#include "cli/devices/fact.h"

struct top_holder {
	struct str ns, claim;
	struct str pods; /* pods that use the claim, "train-0, train-1"; empty: none, or unknown */
};

struct top_device {
	struct str name;
	struct device_fact fact; /* fact.omitted: number of allocations beyond the holders */
	/* The first taint that keeps pods away, "key=value:NoExecute"; or empty. */
	struct str taint;
	struct top_holder *holders;
	size_t nholders;
};

enum top_truth { TOP_UNTOLD, TOP_NO, TOP_YES };

/* One slice; all of it lives in its arena. */
struct top_slice {
	struct arena arena;
	struct str name, driver, pool;
	struct str node; /* or "<all>", "<some>" */
	struct top_device *devices;
	size_t n;
	bool has_pool; /* the pool's conditions are on this slice */
	enum top_truth complete, valid;
	struct str pool_message;
	bool stale; /* the status is of an earlier generation of the slice */
	bool elsewhere; /* outside of the filter: without devices, only for the pool's conditions */
};

/* Sources of the other facts. Each function may be NULL; text is copied. */
struct top_facts {
	/* The first taint that keeps pods away from the device; NULL: top_taint(). */
	struct str (*taint)(void *arg, const struct json *spec, const struct json *device,
			    struct arena *a);
	/* All claims that hold the device, each once. NULL: those in the status. */
	size_t (*holders)(void *arg, const struct json *spec, struct str device, struct arena *a,
			  struct top_holder **ret_holders);
	struct str (*pods)(void *arg, struct str ns, struct str claim, struct arena *a);
	bool health_known; /* the status includes all health reports */
	bool computed; /* the status was computed here */
	bool stale, elsewhere; /* as in struct top_slice */
	void *arg;
};

/*
 * If `status` is NULL, all devices are unknown. Free it with top_slice_free(), or pass it to a
 * model.
 */
struct top_slice *top_slice_new(struct str name, const struct json *spec, const struct json *status,
				const struct top_facts *facts);
void top_slice_free(struct top_slice *s); /* NULL allowed */

/* The first taint of a device in a slice's spec that keeps pods away: "key=value:NoExecute". */
struct str top_taint(const struct json *device, struct arena *a);

struct top_model {
	struct omap slices; /* name -> struct top_slice */
};

void top_model_init(struct top_model *m);
void top_model_release(struct top_model *m);

/*
 * Takes over the slice (NULL: deleted). Returns the previous one, which the caller owns, or NULL.
 */
struct top_slice *top_model_put(struct top_model *m, struct str name, struct top_slice *s);

/* --- differences ---------------------------------------------------------------------------- */

enum top_change_kind {
	TOP_ADDED, /* also for devices of the initial state */
	TOP_REMOVED,
	TOP_STATE,
	TOP_HEALTH,
	TOP_TAINT, /* unless a change of the state covers it */
	TOP_POOL,
};

/* Text is borrowed from the slices. */
struct top_change {
	enum top_change_kind kind;
	struct str driver, pool, device; /* device: empty for a change of the pool */
	struct str from,
		to; /* "Available", "Healthy", "incomplete"; empty: did not exist, does not exist */
	struct str reason; /* for a pool it may name a claim (claim_sight_message()) */
	const struct top_holder *holders; /* the current holders, or the last ones */
	size_t nholders;
	size_t omitted; /* allocations beyond the holders */
};

/*
 * Reports all changes from the slices `old` to the slices `now` (any number, in any order). A
 * device that moved from one slice to another is the same device.
 */
void top_changes(struct top_slice *const *old, size_t nold, struct top_slice *const *now,
		 size_t nnow, void (*tell)(void *arg, const struct top_change *c), void *arg);

#endif
