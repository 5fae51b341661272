/*
 * quota - how objects use the ResourceQuotas of their namespace.
 *
 * Upstream's evaluators: from an object to its usage (by the names that quotas use), the scopes it
 * is in, and the names of a quota that apply to a kind; and the decision whether a write fits.
 * Pure: the server's admission charges with it, the controller counts with it, and both agree.
 * Trees are of the storage version.
 */
#ifndef API_QUOTA_QUOTA_H
#define API_QUOTA_QUOTA_H

#include "api/quota/amount_list.h"
#include "base/core/error.h"

struct json;

/*
 * How long a charge may precede its object. The server charges a quota first and writes the object
 * later. The controller takes a charge back if no object follows. Both rely on the same times:
 *
 *  - The server hands the object's write to the store, and etcd's client sends it, within
 *    QUOTA_CHARGE_MS after the server began to charge. Otherwise it charges again.
 *  - A write that was sent takes effect within QUOTA_WRITE_MS, or never: etcd's client waits 5 s
 *    for a member and 10 s for the answer.
 *  - The controller sees the object within QUOTA_SEEN_MS: a client notices a dead connection within
 *    a minute.
 */
enum {
	QUOTA_CHARGE_MS = 30 * 1000,
	QUOTA_WRITE_MS = 30 * 1000,
	QUOTA_SEEN_MS = 60 * 1000,
	/* A charge seen this long ago has become a visible object, or never will. */
	QUOTA_SETTLED_MS = QUOTA_CHARGE_MS + QUOTA_WRITE_MS + QUOTA_SEEN_MS,
};

/* --- kinds -------------------------------------------------------------------------------- */

enum quota_sort {
	QUOTA_COUNTED, /* only their number counts */
	QUOTA_PODS,
	QUOTA_SERVICES,
	QUOTA_VOLUME_CLAIMS,
	QUOTA_DEVICE_CLAIMS,
};

struct quota_kind {
	struct str group, resource;
	enum quota_sort sort;
	struct str alias; /* the older name of its count ("secrets"), or empty */
};

/*
 * Returns false for resources that quotas never count: events, and resources that are not stored.
 * Borrows the names.
 */
bool quota_kind_of(struct str group, struct str resource, struct quota_kind *ret_kind);

/*
 * Finds the kind of "count/RESOURCE.GROUP" or of an older name. Returns false if `name` is neither.
 * Borrows from the name.
 */
bool quota_kind_counted(struct str name, struct quota_kind *ret_kind);

/* Facts about the cluster that matter beside the object itself. Each function may be NULL. */
struct quota_context {
	int64_t now_ns;
	struct arena *arena; /* for the functions' results */
	/* Returns the extended resource of a device class; empty if it has none. */
	struct str (*resource_of)(const struct quota_context *ctx, struct str device_class);
	/* Whether a device class provides that extended resource. */
	bool (*is_device)(const struct quota_context *ctx, struct str extended_resource);
	/* Returns NULL if not found. */
	const struct json *(*pod)(const struct quota_context *ctx, struct str ns, struct str name);
	void *arg;
};

/* Whether a quota's amount of this name applies to objects of the kind. */
bool quota_kind_has(const struct quota_kind *k, const struct quota_context *ctx, struct str name);

/* --- objects ------------------------------------------------------------------------------ */

enum { QUOTA_REQUIRED = 6, QUOTA_VOLUME_CLASSES = 3 };

/* The usage of one object, and the properties that scopes check. */
struct quota_item {
	struct amount_list usage;
	enum quota_sort sort;
	bool terminating, best_effort, crosses_namespaces; /* pods */
	struct str priority_class; /* pods */
	struct str volume_classes[QUOTA_VOLUME_CLASSES]; /* of a volume claim; empty: none */
	/*
	 * Pods: for each name of quota_required, the containers ("a,b") that do not set it although
	 * a quota may demand it.
	 */
	struct str lacking[QUOTA_REQUIRED];
};

/* Measures an object. The result is in the arena and borrows from the tree. */
void quota_measure(const struct quota_kind *k, const struct quota_context *ctx,
		   const struct json *object, struct arena *a, struct quota_item *ret_item);

/* Whether both are equal to every quota: usage, scopes, missing resources. */
bool quota_item_equal(const struct quota_item *a, const struct quota_item *b);

/* --- quotas ------------------------------------------------------------------------------- */

struct quota_scope {
	struct str name, op; /* "PriorityClass", "In" */
	const struct json *values;
};

struct quota {
	struct str name, uid;
	struct amount_list wanted; /* spec.hard */
	struct amount_list hard, used; /* status */
	struct quota_scope *scopes;
	size_t nscopes;
	bool changed; /* `used` was changed since it was read */
};

/* Reads a quota. The result is in the arena and borrows from the tree. */
void quota_read(const struct json *object, struct arena *a, struct quota *ret_quota);

/* Whether an object is in all of the quota's scopes. */
bool quota_covers(const struct quota *q, const struct quota_item *item);

/* --- decisions ------------------------------------------------------------------------------ */

/* A write to charge. */
struct quota_request {
	struct quota_kind kind;
	struct quota_item item;
	const struct quota_item *old; /* usage of the stored object; NULL: a creation */
	bool status_only; /* a write of the status is charged, but never rejected */
	bool dry_run; /* a dry run is not charged */
};

/*
 * Whether a write can change the usage. `old` is NULL for a creation; `object` is the object to
 * store.
 */
bool quota_concerns(const struct quota_kind *k, struct str subresource, const struct json *old,
		    const struct json *object);

/*
 * Charges all quotas that cover the write, or fails and charges none: -ERR_FORBIDDEN with
 * upstream's message. *ret_changed: something was charged. Lists are made in the quotas' arenas.
 */
int quota_charge(struct quota *quotas, size_t n, const struct quota_request *rq,
		 const struct quota_context *ctx, bool *ret_changed, struct error *err);

#endif
