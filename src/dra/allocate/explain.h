/*
 * explain - explains in plain text why a claim does not fit on a node.
 *
 * For each request it lists how many devices were considered and why they were rejected, grouped by
 * reason, with the devices' names. Then follow the obstacles between requests (constraints,
 * counters).
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
	EXPLAIN_NODE_GONE, /* see device_is_gone() */
	EXPLAIN_NODE_UNREACHABLE, /* see device_is_lost() */
	EXPLAIN_CAPACITY,
	EXPLAIN_COUNTERS,
	EXPLAIN_TAINT,
	EXPLAIN_CONSTRAINT,
	EXPLAIN_POOL_INCOMPLETE,
	EXPLAIN_POOL_INVALID,
	EXPLAIN_ADMIN_ACCESS,
	EXPLAIN_REASONS
};

/* The verdict on one device for one request. The text lives in the arena. */
struct explain_device {
	struct str driver, pool, device;
	enum explain_reason reason;
	struct str detail; /* selector, holder, taint, counter, attribute .. */
	struct str error; /* error of a failing selector; it may name the device */
};

struct explain_request {
	struct str claim, request; /* "gpu", or "gpu/large" for an alternative */
	struct str class_name;
	int64_t wanted; /* -1: all */
	int64_t fitting;
	struct explain_device *devices;
	size_t n;
	struct str fault; /* error message if the whole request is invalid: class missing, .. */
};

struct explain {
	bool fits;
	struct explain_request *requests;
	size_t n;
	struct str between; /* if each request fits alone, but not all together: why; or empty */
};

/*
 * Whether the reader may see names of claims in a namespace. Other claims are only counted: "2
 * claims".
 */
struct explain_sight {
	bool (*may)(void *arg, struct str ns);
	void *arg;
};

/*
 * Takes the arguments of allocate(). If `sight` is NULL, all claims may be named. Never fails: if
 * the search cannot decide, the explanation says so. On a node that does not exist (see
 * inventory_know_nodes()) or is lost (see inventory_put_lost_node()) nothing fits, and only devices
 * that name the node are listed.
 */
void explain_fit(struct inventory *inv, const struct allocate_node *node,
		 const struct json *const *claims, size_t n, const struct explain_sight *sight,
		 struct arena *a, struct explain *ret_explain);

/*
 * Appends the explanation in the form shown above. Each line lists at most `devices_max` names,
 * then "and 5 more". With 0, the text contains nothing that depends on devices' names.
 */
void explain_print(const struct explain *e, const struct allocate_node *node, size_t devices_max,
		   struct buf *out);

/*
 * The requests as an array: claim, request, deviceClass, wants or wantsAll, fits, fault, reasons
 * with their counts and at most `devices_max` devices each. With 0, nothing in it depends on
 * devices' names. All of it is copied into the arena.
 */
struct json *explain_tree(const struct explain *e, size_t devices_max, struct arena *a);

#endif
