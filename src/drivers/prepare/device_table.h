/*
 * device_table - a driver's inventory: devices, counter sets and pools, validated and copied.
 *
 * It is created on the vendor's thread and then handed to the loop, where only health and taints
 * change. A new inventory is a new table.
 */
#ifndef DRIVERS_PREPARE_DEVICE_TABLE_H
#define DRIVERS_PREPARE_DEVICE_TABLE_H

#include "base/core/arena.h"
#include "base/core/error.h"
#include "base/core/map.h"
#include "base/json/json.h"
#include "devplane/driver.h"

struct device_pool {
	struct str name; /* NUL-terminated */
	/* The nodes of its slices: {"nodeName":..}, {"nodeSelector":..} or {"allNodes":true}. */
	struct json *nodes;
	struct json **sets; /* counter sets as in a ResourceSlice */
	size_t nsets;
	bool per_device; /* a device selects nodes itself, so all of them do */
	bool common; /* its slices do not name the node */
	bool prepare_only; /* somebody else publishes it */
	bool costly; /* its devices have counters or taints, or may get taints */
};

/* Taints that replace those of the device's spec. */
struct device_taints {
	struct arena arena;
	struct json *list;
};

struct device {
	struct str key; /* "pool/name" */
	struct str pool, name; /* NUL-terminated */
	struct device_pool *in; /* its pool */
	struct json *spec; /* the device as in a ResourceSlice, with its own taints */
	struct device_taints *taints; /* heap, or NULL: those of `spec` */
	uint32_t health; /* DP_HEALTHY .. */
	char *message; /* heap, or NULL */
	int64_t updated_s; /* time of the last health report, in unix seconds */
	uint32_t timeout_s;
	int32_t numa; /* NUMA node; -1: not set */
};

struct device_table {
	struct arena arena;
	struct device *v;
	size_t n;
	struct map by_key;
	struct device_pool *pools; /* listed ones, and those of devices and counter sets */
	size_t npools;
	struct map by_pool; /* name to struct device_pool */
};

struct device_defaults {
	struct str pool; /* of the node; named like it */
	uint32_t timeout_s;
	int64_t now_s; /* unix */
	bool plugin; /* device plugin: names are device IDs, and there are no slices */
};

/* Returns -ERR_INVALID with the name of the invalid part and the reason. */
int device_table_from(const struct dp_inventory *inventory, const struct device_defaults *defaults,
		      struct device_table **ret_table, struct error *err);

/* The same for an inventory that has only devices. */
int device_table_new(const struct dp_device *v, size_t n, const struct device_defaults *defaults,
		     struct device_table **ret_table, struct error *err);
void device_table_free(struct device_table *t); /* NULL allowed */

/* Return NULL if not found. `t` may be NULL. */
struct device *device_table_find(const struct device_table *t, struct str pool, struct str name);
struct device_pool *device_table_pool(const struct device_table *t, struct str name);

/* Takes ownership of `message`, which must come from device_message_dup() or be NULL. */
void device_set_health(struct device *d, uint32_t health, char *message, int64_t now_s);

/* Validates and copies taints, for device_set_taints(). */
int device_taints_new(const struct dp_taint *v, size_t n, struct device_taints **ret_taints,
		      struct error *err);
void device_taints_free(struct device_taints *t); /* NULL allowed */

/* Takes ownership of `taints`. Returns false if the device has these already. */
bool device_set_taints(struct device *d, struct device_taints *taints);

/* The device's taints, a list; NULL if it has none. */
const struct json *device_taints_of(const struct device *d);

/* A copy on the heap, cut to the longest message allowed. NULL for NULL, "" and invalid UTF-8. */
char *device_message_dup(const char *text);

DEFINE_CLEANUP(device_table_free, struct device_table *);

#endif
