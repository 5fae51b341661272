/*
 * explain - why a claim does not fit on a node, in words for people.
 *
 * For each request: how many devices were looked at and what ruled them out, by reason,
 * with the devices' names; then what holds between requests (constraints, counters).
 *
 *	node worker-1: request "gpu" wants 2 devices of class gpu.example.com, 1 fits
 *	  1 device in use: gpu-0 (claim default/train-0)
 *	  1 device: selector of the request is false: device.attributes["x"].model == "a100"
 *	  1 device Tainted: gpu-3 (example.com/unhealthy:NoExecute)
 */
#ifndef DRA_ALLOCATE_EXPLAIN_H
#define DRA_ALLOCATE_EXPLAIN_H

#include "base/core/buf.h"
#include "dra/allocate/allocate.h"

enum explain_reason {
	EXPLAIN_FITS,
	EXPLAIN_IN_USE,
	EXPLAIN_CLASS_SELECTOR,
	EXPLAIN_REQUEST_SELECTOR,
	EXPLAIN_SELECTOR_ERROR,
	EXPLAIN_OTHER_NODE, /* the device's own node selection */
	EXPLAIN_NODE_GONE, /* as device_is_gone() says */
	EXPLAIN_CAPACITY,
	EXPLAIN_COUNTERS,
	EXPLAIN_TAINT,
	EXPLAIN_CONSTRAINT,
	EXPLAIN_POOL_INCOMPLETE,
	EXPLAIN_POOL_INVALID,
	EXPLAIN_ADMIN_ACCESS,
	EXPLAIN_REASONS
};

/* A device and what became of it for one request; text lives in the arena. */
struct explain_device {
	struct str driver, pool, device;
	enum explain_reason reason;
	struct str detail; /* selector, holder, taint, counter, attribute .. */
	struct str error; /* what a selector fails with; it may name the device */
};

struct explain_request {
	struct str claim, request; /* "gpu", or "gpu/large" of an alternative */
	struct str class_name;
	int64_t wanted; /* -1: all */
	int64_t fitting;
	struct explain_device *devices;
	size_t n;
	struct str
		fault; /* a sentence when the request as a whole is at fault: class missing, .. */
};

struct explain {
	bool fits;
	struct explain_request *requests;
	size_t n;
	struct str between; /* each request could be served, but not all at once: why; or empty */
};

/* Whether claims of a namespace may be named to the reader; others are counted: "2 claims". */
struct explain_sight {
	bool (*may)(void *arg, struct str ns);
	void *arg;
};

/*
 * Same arguments as allocate(); sight NULL: all claims may be named. Never fails: what cannot be
 * decided is said. On a node that does not exist (inventory_know_nodes) nothing fits, and only the
 * devices that name the node are looked at.
 */
void explain_fit(struct inventory *inv, const struct allocate_node *node,
		 const struct json *const *claims, size_t n, const struct explain_sight *sight,
		 struct arena *a, struct explain *ret_explain);

/*
 * Appends it as above. `devices_max` names per line are told, then "and 5 more"; with 0 nothing is
 * told that depends on devices' names.
 */
void explain_print(const struct explain *e, const struct allocate_node *node, size_t devices_max,
		   struct buf *out);

#endif
