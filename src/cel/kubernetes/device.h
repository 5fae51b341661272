/*
 * device - selectors of devices: the one variable they have, and their limits.
 *
 * `device` has driver, attributes, capacity and allowMultipleAllocations. Attributes and
 * capacities are maps by domain, then by name; a domain that a device does not have is an
 * empty map, a name that it does not have an error. What has no domain is in the driver's.
 */
#ifndef CEL_KUBERNETES_DEVICE_H
#define CEL_KUBERNETES_DEVICE_H

#include "base/core/error.h"
#include "base/json/json.h"
#include "cel/run/program.h"

#define CEL_DEVICE_COST_MAX 1000000 /* of the estimate, and of an evaluation */

/* Of struct cel_env: libraries, rules and the variable. Features are those of the gates. */
struct cel_device_features {
	bool consumable_capacity; /* allowMultipleAllocations is known */
	bool list_attributes;
};
void cel_device_env(struct cel_env *env, struct cel_device_features features);

/* What an attribute or capacity is called; devices with the same names may share it. */
struct cel_device_name {
	struct str domain, id;
};

/* One attribute or capacity; all text is borrowed. */
struct cel_device_item {
	const struct cel_device_name *name;
	struct cel_value value;
};

/*
 * What selectors see of a device. Items are in byte order of domain, then id, and behind the last
 * of attributes and of capacity is one whose name is NULL. Either may be NULL when there is none.
 */
struct cel_device {
	struct str driver;
	const struct cel_device_item *attributes, *capacity;
	uint16_t nattributes, ncapacity;
	bool allow_multiple;
};

/*
 * A device as ResourceSlices of resource.k8s.io/v1 have it (an element of spec.devices), in the
 * arena; text is borrowed from the tree. -ERR_INVALID for one that validation would refuse.
 */
int cel_device_read(const struct json *device, struct str driver, struct arena *a,
		    struct cel_device *ret_device, struct error *err);

/* The same into memory of another kind, with text and names copied or shared as that likes. */
struct cel_device_memory {
	void *(*alloc)(struct cel_device_memory *m, size_t n, size_t align); /* cleared */
	struct str (*text)(struct cel_device_memory *m, struct str s);
	const struct cel_device_name *(*name)(struct cel_device_memory *m, struct str domain,
					      struct str id);
	/*
	 * Memory for what is made of `text` and nothing else: the same, and *ret_known, when
	 * that was asked for before with this size. NULL: never the same.
	 */
	void *(*shared)(struct cel_device_memory *m, struct str text, size_t n, bool *ret_known);
};
int cel_device_read_in(const struct json *device, struct str driver, struct cel_device_memory *m,
		       struct cel_device *ret_device, struct error *err);

/* "domain/id", or "id" in that domain. */
struct cel_device_name cel_device_name(struct str qualified, struct str domain);

/* The value of an attribute; NULL: the device has none of that name. */
const struct cel_value *cel_device_attribute(const struct cel_device *device, struct str domain,
					     struct str id);

/* The value of the variable: reads the struct in place. */
struct cel_value cel_device_value(const struct cel_device *device);

/*
 * Whether a program yields what it is for: a selector bool or what an attribute is (its type is
 * not known before there is a device), a derived attribute what attributes may be. If not, says so
 * in `why`: "must evaluate to bool or the unknown type, not int".
 */
enum cel_device_use {
	CEL_DEVICE_SELECTOR,
	CEL_DEVICE_DERIVED,
};
bool cel_device_yields(const struct cel_program *p, struct cel_device_features features,
		       enum cel_device_use use, struct buf *why);

/* A selector; `budget` may be NULL. NULL with issues; yielding something else is one, too. */
const struct cel_program *cel_device_compile(struct cel_device_features features, struct str text,
					     struct cel_budget *budget, struct arena *a,
					     struct cel_issues *issues);

/*
 * 1 or 0: whether it selects the device; -ERR_INVALID with what went wrong while evaluating.
 * Clears nothing: ev->scratch is the caller's.
 */
int cel_device_matches(const struct cel_program *selector, struct cel_eval *ev,
		       const struct cel_device *device, struct error *err);

#endif
