/*
 * device_table - the devices that a driver has said it has, checked and copied.
 *
 * Made on whatever thread the driver calls from, then handed to the loop, where only health
 * changes. A new list is a new table.
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
	struct str pool, name; /* terminated */
	struct json *spec; /* as a ResourceSlice has it, with its own taints */
	uint32_t health; /* DP_HEALTHY .. */
	char *message; /* heap; NULL: none */
	int64_t updated_s; /* unix seconds of the last word about its health */
	uint32_t timeout_s;
	int32_t numa; /* -1: not said */
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
	bool plugin; /* device plugin: names are ids, nothing goes to a slice */
};

/* -ERR_INVALID names the device and what is wrong with it. */
int device_table_new(const struct dp_device *v, size_t n, const struct device_defaults *defaults,
		     struct device_table **ret_table, struct error *err);
void device_table_free(struct device_table *t); /* NULL allowed */

/* NULL when there is none. */
struct device *device_table_find(const struct device_table *t, struct str pool, struct str name);

/* Takes the text over, cut to what may be said. */
void device_set_health(struct device *d, uint32_t health, char *message, int64_t now_s);

/* A heap copy, NULL for NULL and "". */
char *device_message_dup(const char *text);

DEFINE_CLEANUP(device_table_free, struct device_table *);

#endif
