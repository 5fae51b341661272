/*
 * discovery_impl - private to discovery*.c: a catalogue, and reading answers into it.
 */
#ifndef CLIENT_API_DISCOVERY_IMPL_H
#define CLIENT_API_DISCOVERY_IMPL_H

#include "base/core/map.h"
#include "base/core/vec.h"
#include "base/json/json.h"
#include "client/api/discovery.h"

struct catalogue {
	struct arena arena; /* all text, and the answers' trees */
	VEC(struct discovery_resource) resources;
	VEC(struct resource) versions; /* group and version alone, in the server's order */
	struct map by_resource, by_kind, preferred; /* values point into `resources` */
	bool incomplete;
};

/* An answer to /api or /apis: group versions and, when aggregated, their resources. */
void discovery_add_groups(struct catalogue *c, const struct json *tree, bool aggregated);

/* An APIResourceList of one version. */
void discovery_add_legacy(struct catalogue *c, const struct resource *version,
			  const struct json *tree);

#endif
