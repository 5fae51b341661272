/*
 * status_entry - one device's entry in a claim's status.devices (KEP-4817): built from the vendor's
 * struct, and merged into the list on the API server.
 *
 * Entries of other drivers are preserved byte for byte, except that aliases of network data fields,
 * which some servers add to their replies, are removed. A condition keeps its lastTransitionTime
 * while its status is the same.
 */
#ifndef DRIVERS_SDK_STATUS_ENTRY_H
#define DRIVERS_SDK_STATUS_ENTRY_H

#include "base/core/buf.h"
#include "base/core/error.h"
#include "base/core/list.h"
#include "devplane/driver.h"

struct status_entry {
	struct list link; /* for the owner's list */
	char *pool, *device, *share; /* share: "" if none */
	char *text; /* the entry as JSON, without lastTransitionTime */
	size_t n; /* bytes of text */
	bool sent; /* for the owner's use */
	bool placed; /* internal to status_entry_merge() */
};

/* `pool` is the default pool. Returns -ERR_INVALID with the reason if the entry is not valid. */
int status_entry_new(const struct dp_device_status *s, const char *driver, const char *pool,
		     struct status_entry **ret_entry, struct error *err);
void status_entry_free(struct status_entry *e); /* NULL allowed */

bool status_entry_same_device(const struct status_entry *a, const struct status_entry *b);

/*
 * Whether the claim's allocation `results` (a JSON list, or empty) has this device of the driver.
 */
bool status_entry_is_allocated(const struct status_entry *e, const char *driver,
			       struct str results);

struct status_merge {
	const char *driver;
	struct list *wanted; /* of struct status_entry, at most one per device */
	bool clear; /* remove the driver's entries that are not in `wanted` */
	int64_t now_ns; /* wall clock */
};

/*
 * Appends the new list to `out`, given the current list `devices` (JSON, or empty). An empty list
 * becomes "null". Returns 1 if it differs from `devices`, 0 if not, -ERR_PROTOCOL if `devices`
 * cannot be parsed.
 */
int status_entry_merge(const struct status_merge *m, struct str devices, struct buf *out,
		       struct error *err);

#endif
