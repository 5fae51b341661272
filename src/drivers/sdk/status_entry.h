/*
 * status_entry - what a claim's status says of one device: made of a vendor's words, and merged
 * into the list that the API server has.
 *
 * Entries of other drivers stay byte for byte as they were, but for the second spelling of network
 * data that some servers add to their answers. A condition keeps the time of its last transition
 * as long as its status is the same.
 */
#ifndef DRIVERS_SDK_STATUS_ENTRY_H
#define DRIVERS_SDK_STATUS_ENTRY_H

#include "base/core/buf.h"
#include "base/core/error.h"
#include "base/core/list.h"
#include "devplane/driver.h"

struct status_entry {
	struct list link; /* the holder's */
	char *pool, *device, *share; /* share: "" for none */
	char *text; /* the entry as JSON, without times of transition */
	size_t n; /* bytes of text */
	bool sent; /* the holder's */
	bool placed; /* status_entry_merge()'s own */
};

/* `pool` is the one of devices that name none. -ERR_INVALID says why it cannot be an entry. */
int status_entry_new(const struct dp_device_status *s, const char *driver, const char *pool,
		     struct status_entry **ret_entry, struct error *err);
void status_entry_free(struct status_entry *e); /* NULL allowed */

bool status_entry_same_device(const struct status_entry *a, const struct status_entry *b);

/* Whether it is the driver's in a claim's allocation; `results` is that list as JSON, or empty. */
bool status_entry_is_allocated(const struct status_entry *e, const char *driver,
			       struct str results);

struct status_merge {
	const char *driver;
	struct list *wanted; /* of struct status_entry, each for another device */
	bool clear; /* the driver's entries that are not wanted go */
	int64_t now_ns; /* wall clock */
};

/*
 * Appends to `out` what the list `devices` (JSON, or empty) is to become; "null" for none. 1; 0
 * when it is so already; -ERR_PROTOCOL when it cannot be read.
 */
int status_entry_merge(const struct status_merge *m, struct str devices, struct buf *out,
		       struct error *err);

#endif
