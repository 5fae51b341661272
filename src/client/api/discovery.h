/*
 * discovery - what a server serves: groups, versions, resources.
 *
 * Asks for the aggregated form (two requests); a server that does not know it
 * is asked for each group version. A result is replaced as a whole when a refresh
 * succeeds, and kept when it fails. Versions of a group come in the server's
 * order of preference.
 * Threads: the client's loop.
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
	unsigned verbs; /* enum discovery_verb; others are left out */
	bool preferred; /* its version is the first of the group that has this resource */
};

struct discovery *discovery_open(struct client *c);
void discovery_close(struct discovery *d); /* NULL allowed; `done` is not called any more */

/*
 * Asks the server. `done` is called once, later; `err` is NULL when there is a
 * new result. Asking while it is asked joins: only the last `done` is called.
 */
void discovery_refresh(struct discovery *d, void (*done)(void *arg, const struct error *err),
		       void *arg);

/*
 * A group version could not be asked, or is served by an aggregated server that does not
 * answer: what is absent may exist.
 */
bool discovery_incomplete(const struct discovery *d);

/* All of them, in the server's order. */
const struct discovery_resource *discovery_resources(const struct discovery *d, size_t *ret_n);

/* By group, version and plural; version empty: the preferred one. NULL when unknown. */
const struct discovery_resource *discovery_find(const struct discovery *d, struct str group,
						struct str version, struct str resource);
/* As objects name themselves and their owners. */
const struct discovery_resource *discovery_find_kind(const struct discovery *d,
						     struct str api_version, struct str kind);

#endif
