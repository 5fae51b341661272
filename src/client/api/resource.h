/*
 * resource - which collection of the API: names, scope and paths.
 *
 * From the compiled schema for built-in kinds, from discovery for others. Text
 * is borrowed: the schema's lives for ever, discovery's until the next refresh;
 * resource_copy() keeps it.
 */
#ifndef CLIENT_API_RESOURCE_H
#define CLIENT_API_RESOURCE_H

#include "base/core/arena.h"
#include "base/core/buf.h"

struct schema_kind;

struct resource {
	struct str group; /* "" for core */
	struct str version;
	struct str resource; /* "resourceclaims" */
	struct str kind; /* "ResourceClaim"; may be empty where only paths are made */
	bool namespaced;
};

/* One object, or a part of it. */
struct resource_name {
	struct str ns, name, subresource; /* each may be empty */
};

struct resource resource_of_kind(const struct schema_kind *k);

/* By compiled name; asserts that there is one: for resources that code names. */
struct resource resource_builtin(const char *group, const char *version, const char *plural);

struct resource resource_copy(struct arena *a, const struct resource *r);
bool resource_equal(const struct resource *a, const struct resource *b);

/* "v1" or "resource.k8s.io/v1", in the arena. */
struct str resource_api_version(struct arena *a, const struct resource *r);

/*
 * Appends the path: /api/v1/namespaces/NS/pods/NAME/SUBRESOURCE, as much of it as
 * is given. A namespace is left out for what is not namespaced. Names are
 * percent-encoded where they must be.
 */
void resource_path(struct buf *out, const struct resource *r, struct resource_name name);

/* Appends text with all but unreserved characters percent-encoded: for paths and queries. */
void resource_escape(struct buf *out, struct str text);

#endif
