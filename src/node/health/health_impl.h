/*
 * health_impl - what the files of the health cache share.
 */
#ifndef NODE_HEALTH_HEALTH_IMPL_H
#define NODE_HEALTH_HEALTH_IMPL_H

#include "base/core/limits.h"
#include "base/core/list.h"
#include "base/core/omap.h"
#include "base/core/vec.h"
#include "node/health/health.h"

struct health_driver {
	struct str name; /* behind the struct */
	struct omap devices; /* of struct health_entry, by key */
	struct list order; /* the same; those of the newest report last, in its order */
	uint64_t round; /* number of the newest report */
};

struct health_entry {
	struct list link;
	struct health_driver *driver;
	struct str key; /* pool, NUL, device; behind the struct */
	struct str pool, device; /* within key */
	char *message; /* NULL when there is none */
	size_t message_n;
	int64_t updated_s, timeout_ms, expires_ms;
	uint64_t round; /* the report it was last in */
	size_t pick; /* its place in that report */
	size_t at; /* index in the heap, SIZE_MAX when not in it */
	enum assign_health health;
	bool unconfirmed; /* it was loaded, and not reported since */
};

struct health {
	struct health_opts opts;
	struct omap drivers; /* of struct health_driver */
	VEC(struct health_entry *) heap; /* the earliest expiry first */
	size_t count, unconfirmed; /* entries: all; those of that kind */
};

enum { HEALTH_KEY_MAX = 2 * HEALTH_NAME_MAX + 1 };

/* Made when it is new. */
struct health_driver *health_driver_of(struct health *h, struct str name);

/* A name that a pool or device can have. */
bool health_name_ok(struct str s);

/*
 * The entry, made (Unknown, without expiry) when it is new; NULL when there are too many, or its
 * names are no names.
 */
struct health_entry *health_entry_of(struct health *h, struct health_driver *d, struct str pool,
				     struct str device);

/* So long after `now_ms`; below INT64_MAX, which is never. */
int64_t health_after(int64_t now_ms, int64_t ms);

/* Sets without telling; whether it reads otherwise now. INT64_MAX: it does not expire. */
bool health_entry_set(struct health *h, struct health_entry *e, enum assign_health health,
		      struct str message, int64_t expires_ms);

void health_set_unconfirmed(struct health *h, struct health_entry *e, bool unconfirmed);

/* Frees all drivers. */
void health_clear(struct health *h);

#endif
