/*
 * discovery - what a server serves: groups, versions, resources.
 *
 * It requests the aggregated form (two requests). If a server does not know that, it requests each
 * group version on its own. A successful refresh replaces the whole result; a failed one keeps the
 * old. Versions of a group are in the server's order of preference. Threads: the client's loop.
 */
#ifndef CLIENT_API_DISCOVERY_H
#define CLIENT_API_DISCOVERY_H

#include "client/api/client.h"
#include "client/api/resource.h"

struct discovery;

enum discovery_verb {
	DISCOVERY_GET = 1 << 0,
	DISCOVERY_LIST = 1 << 1,
	DISCOVERY_WATCH = 1 << 2,
	DISCOVERY_CREATE = 1 << 3,
	DISCOVERY_UPDATE = 1 << 4,
	DISCOVERY_PATCH = 1 << 5,
	DISCOVERY_DELETE = 1 << 6,
	DISCOVERY_DELETE_COLLECTION = 1 << 7,
};

/* One resource in one version. Text lives until the next successful refresh. */
struct discovery_resource {
	struct resource resource;
	struct str singular;
	struct str short_names, categories, subresources; /* joined by ',' */
	unsigned verbs; /* enum discovery_verb; unknown verbs are left out */
	bool preferred; /* its version is the first of the group that has this resource */
};

struct discovery *discovery_open(struct client *c);
void discovery_close(struct discovery *d); /* NULL allowed; a pending `done` is not called */

/*
 * Starts a refresh. `done` is called once, later; `err` is NULL if there is a new result. A call
 * during a refresh joins it and replaces its `done`: only the last one is called.
 */
void discovery_refresh(struct discovery *d, void (*done)(void *arg, const struct error *err),
		       void *arg);

/*
 * True if a group version could not be read, or if an aggregated server that serves one does not
 * answer. Then a resource that is missing here may still exist.
 */
bool discovery_incomplete(const struct discovery *d);

/* All of them, in the server's order. */
const struct discovery_resource *discovery_resources(const struct discovery *d, size_t *ret_n);

/* Finds by group, version and plural; if `version` is empty, the preferred one. NULL: unknown. */
const struct discovery_resource *discovery_find(const struct discovery *d, struct str group,
						struct str version, struct str resource);
/* Finds by apiVersion and kind, as written in objects and owner references. */
const struct discovery_resource *discovery_find_kind(const struct discovery *d,
						     struct str api_version, struct str kind);

#endif
