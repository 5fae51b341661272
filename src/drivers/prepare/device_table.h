/*
 * device_table - a driver's list of devices, validated and copied.
 *
 * It is created on the vendor's thread and then handed to the loop, where only the health changes.
 * A new list is a new table.
 */
#ifndef DRIVERS_PREPARE_DEVICE_TABLE_H
#define DRIVERS_PREPARE_DEVICE_TABLE_H

#include "base/core/arena.h"
#include "base/core/error.h"
#include "base/core/map.h"
#include "base/json/json.h"
#include "devplane/driver.h"

struct device {
	struct str key; /* "pool/name" */
	struct str pool, name; /* NUL-terminated */
	struct json *spec; /* the device as in a ResourceSlice, with its own taints */
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
};

struct device_defaults {
	struct str pool;
	uint32_t timeout_s;
	int64_t now_s; /* unix */
	bool plugin; /* device plugin: names are device IDs, and there are no slices */
};

/* Returns -ERR_INVALID with the device's name and the reason. */
int device_table_new(const struct dp_device *v, size_t n, const struct device_defaults *defaults,
		     struct device_table **ret_table, struct error *err);
void device_table_free(struct device_table *t); /* NULL allowed */

/* Returns NULL if not found. */
struct device *device_table_find(const struct device_table *t, struct str pool, struct str name);

/* Takes ownership of `message`, which must come from device_message_dup() or be NULL. */
void device_set_health(struct device *d, uint32_t health, char *message, int64_t now_s);

/* A copy on the heap, cut to the longest message allowed. NULL for NULL, "" and invalid UTF-8. */
char *device_message_dup(const char *text);

DEFINE_CLEANUP(device_table_free, struct device_table *);

#endif
