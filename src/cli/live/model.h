/*
 * top_model - devices as `top` and `watch` show them: their state, health and holders, by slice.
 *
 * Made from a slice's spec and its status as KEP-5677 has it, whoever computed that. A slice is
 * replaced as a whole; what is different then can be told device by device.
 * No I/O, no clock.
 */
#ifndef CLI_LIVE_MODEL_H
#define CLI_LIVE_MODEL_H

#include "base/core/omap.h"
#include "base/json/json.h"
#include "cli/devices/fact.h"

struct top_holder {
	struct str ns, claim;
	struct str pods; /* that use the claim: "train-0, train-1"; empty: none, or not known */
};

struct top_device {
	struct str name;
	struct device_fact fact; /* fact.omitted: more allocations than there are holders */
	struct str taint; /* the first that keeps pods away: "key=value:NoExecute"; or empty */
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
	bool has_pool; /* the pool's condition is told here */
	enum top_truth complete, valid;
	struct str pool_message;
	bool stale; /* the status is of an earlier generation of the slice */
	bool elsewhere; /* not asked for: without devices, only tells of the pool */
};

/* Where the rest is known from. Each function may be NULL; text is copied. */
struct top_facts {
	/* The first taint that keeps pods away from the device; NULL: top_taint(). */
	struct str (*taint)(void *arg, const struct json *spec, const struct json *device,
			    struct arena *a);
	/* All claims that hold it, each once. NULL: those that the status tells. */
	size_t (*holders)(void *arg, const struct json *spec, struct str device, struct arena *a,
			  struct top_holder **ret_holders);
	struct str (*pods)(void *arg, struct str ns, struct str claim, struct arena *a);
	bool health_known; /* a status has all reports of health */
	bool computed; /* the status is computed here */
	bool stale, elsewhere; /* as in struct top_slice */
	void *arg;
};

/*
 * `status` may be NULL: then all devices are unknown. Free it by top_slice_free(), or give it to
 * a model.
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

/* Takes the slice over (NULL: it is gone) and returns what was there, which is the caller's. */
struct top_slice *top_model_put(struct top_model *m, struct str name, struct top_slice *s);

/* --- what is different ---------------------------------------------------------------------- */

enum top_change_kind {
	TOP_ADDED, /* also: was there at the beginning */
	TOP_REMOVED,
	TOP_STATE,
	TOP_HEALTH,
	TOP_TAINT, /* unless a change of the state says it */
	TOP_POOL,
};

/* Text is borrowed from the slices. */
struct top_change {
	enum top_change_kind kind;
	struct str driver, pool, device; /* no device: of the pool */
	struct str from,
		to; /* "Available", "Healthy", "incomplete"; empty: was not, is not there */
	struct str reason; /* of a pool: it may name a claim (claim_sight_message()) */
	const struct top_holder *holders; /* that have it now, or had it until now */
	size_t nholders;
	size_t omitted; /* allocations beside these */
};

/*
 * All changes from the slices `old` to those `now` (both of any number, in any order): devices that
 * went with one slice and came with another are the same.
 */
void top_changes(struct top_slice *const *old, size_t nold, struct top_slice *const *now,
		 size_t nnow, void (*tell)(void *arg, const struct top_change *c), void *arg);

#endif
