/*
 * health_impl - shared by the files of the health cache (health.h).
 */
#ifndef NODE_HEALTH_HEALTH_IMPL_H
#define NODE_HEALTH_HEALTH_IMPL_H

#include "base/core/list.h"
#include "base/ordered/heap.h"
#include "base/ordered/omap.h"
#include "node/health/health.h"
#include "node/node_limits.h"

struct health_driver {
	struct str name; /* stored behind the struct */
	struct omap devices; /* of struct health_entry, by key */
	struct list order; /* the same entries; those of the newest report last, in its order */
	uint64_t round; /* number of the newest report */
};

struct health_entry {
	struct list link;
	struct health_driver *driver;
	struct str key; /* pool, NUL, device; stored behind the struct */
	struct str pool, device; /* within key */
	char *message; /* or NULL */
	size_t message_n;
	int64_t updated_s, timeout_ms, expires_ms;
	uint64_t round; /* number of the last report that contained it */
	size_t pick; /* its index in that report */
	size_t at; /* index in the heap, SIZE_MAX when not in it */
	enum assign_health health;
	bool unconfirmed; /* loaded from the file and not reported since */
};

struct health {
	struct health_opts opts;
	struct omap drivers; /* of struct health_driver */
	struct heap heap; /* of struct health_entry, the earliest expiry first */
	size_t count, unconfirmed; /* number of entries; of unconfirmed entries */
};

enum { HEALTH_KEY_MAX = 2 * HEALTH_NAME_MAX + 1 };

/* Returns the driver; creates it if it is new. */
struct health_driver *health_driver_of(struct health *h, struct str name);

/* Whether a pool or device can have this name. */
bool health_name_ok(struct str s);

/*
 * Returns the entry; creates it (Unknown, without expiry) if it is new. Returns NULL if there are
 * too many, or a name is invalid.
 */
struct health_entry *health_entry_of(struct health *h, struct health_driver *d, struct str pool,
				     struct str device);

/* Returns now_ms + ms, saturated below INT64_MAX, which means never. */
int64_t health_after(int64_t now_ms, int64_t ms);

/*
 * Sets the entry without a callback. Returns whether health or message changed. INT64_MAX: never
 * expires.
 */
bool health_entry_set(struct health *h, struct health_entry *e, enum assign_health health,
		      struct str message, int64_t expires_ms);

void health_set_unconfirmed(struct health *h, struct health_entry *e, bool unconfirmed);

/* Frees all drivers. */
void health_clear(struct health *h);

#endif
