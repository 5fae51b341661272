/*
 * device - CEL selectors of devices: their variable `device`, and their limits.
 *
 * `device` has driver, attributes, capacity and allowMultipleAllocations. Attributes and capacities
 * are maps by domain, then by name. A missing domain is an empty map; a missing name is an error.
 * Names without a domain are in the driver's domain.
 */
#ifndef CEL_KUBERNETES_DEVICE_H
#define CEL_KUBERNETES_DEVICE_H

#include "base/core/error.h"
#include "base/json/json.h"
#include "cel/run/program.h"

#define CEL_DEVICE_COST_MAX 1000000 /* limit of the estimate, and of an evaluation */

/* Feature gates that change libraries, rules and the variable of the environment. */
struct cel_device_features {
	bool consumable_capacity; /* device.allowMultipleAllocations exists */
	bool list_attributes;
};
void cel_device_env(struct cel_env *env, struct cel_device_features features);

/* The name of an attribute or capacity. Devices with the same name may share the struct. */
struct cel_device_name {
	struct str domain, id;
};

/* One attribute or capacity; all text is borrowed. */
struct cel_device_item {
	const struct cel_device_name *name;
	struct cel_value value;
};

/*
 * A device as selectors see it. Items are sorted by domain, then ID, in byte order. Both arrays end
 * with an item whose name is NULL. An empty array may be NULL.
 */
struct cel_device {
	struct str driver;
	const struct cel_device_item *attributes, *capacity;
	uint16_t nattributes, ncapacity;
	bool allow_multiple;
};

/*
 * Reads an element of spec.devices of a ResourceSlice (resource.k8s.io/v1) into the arena. Text is
 * borrowed from the tree. Returns -ERR_INVALID for a device that validation would reject.
 */
int cel_device_read(const struct json *device, struct str driver, struct arena *a,
		    struct cel_device *ret_device, struct error *err);

/* The same with a custom allocator, which may copy or share text and names. */
struct cel_device_memory {
	void *(*alloc)(struct cel_device_memory *m, size_t n, size_t align); /* cleared */
	struct str (*text)(struct cel_device_memory *m, struct str s);
	const struct cel_device_name *(*name)(struct cel_device_memory *m, struct str domain,
					      struct str id);
	/*
	 * Returns memory for a struct that depends only on `text`. If it was requested before with
	 * this size, returns the same memory and sets *ret_known. If the function is NULL, nothing
	 * is shared.
	 */
	void *(*shared)(struct cel_device_memory *m, struct str text, size_t n, bool *ret_known);
};
int cel_device_read_in(const struct json *device, struct str driver, struct cel_device_memory *m,
		       struct cel_device *ret_device, struct error *err);

/* Splits "domain/id"; an "id" alone is in the given domain. */
struct cel_device_name cel_device_name(struct str qualified, struct str domain);

/* Returns the value of an attribute, or NULL. */
const struct cel_value *cel_device_attribute(const struct cel_device *device, struct str domain,
					     struct str id);

/* Returns the value of the variable `device`, which reads the struct in place. */
struct cel_value cel_device_value(const struct cel_device *device);

/*
 * Whether a program has the right result type: a selector must yield bool or the type of an
 * attribute (which is unknown without a device), a derived attribute must yield an attribute's
 * type. If not, sets `why`: "must evaluate to bool or the unknown type, not int".
 */
enum cel_device_use {
	CEL_DEVICE_SELECTOR,
	CEL_DEVICE_DERIVED,
};
bool cel_device_yields(const struct cel_program *p, struct cel_device_features features,
		       enum cel_device_use use, struct buf *why);

/*
 * Compiles a selector. `budget` may be NULL. Returns NULL with issues; a wrong result type is one,
 * too.
 */
const struct cel_program *cel_device_compile(struct cel_device_features features, struct str text,
					     struct cel_budget *budget, struct arena *a,
					     struct cel_issues *issues);

/*
 * Returns 1 if it selects the device, 0 if not, or -ERR_INVALID with the evaluation's error. The
 * caller clears ev->scratch.
 */
int cel_device_matches(const struct cel_program *selector, struct cel_eval *ev,
		       const struct cel_device *device, struct error *err);

#endif
