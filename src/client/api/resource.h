/*
 * resource - one collection of the API: its names, scope and paths.
 *
 * Built-in kinds come from the compiled schema, others from discovery. Text is borrowed: the
 * schema's lives for ever, discovery's until the next refresh. resource_copy() keeps it.
 */
#ifndef CLIENT_API_RESOURCE_H
#define CLIENT_API_RESOURCE_H

#include "base/core/arena.h"
#include "base/core/buf.h"

struct resource {
	struct str group; /* "" for core */
	struct str version;
	struct str resource; /* "resourceclaims" */
	struct str kind; /* "ResourceClaim"; may be empty if only used for paths */
	bool namespaced;
};

/* One object, or a subresource of it. */
struct resource_name {
	struct str ns, name, subresource; /* each may be empty */
};

/* Finds a built-in resource by name and asserts that it exists. For names written in the code. */
struct resource resource_builtin(const char *group, const char *version, const char *plural);

struct resource resource_copy(struct arena *a, const struct resource *r);
bool resource_equal(const struct resource *a, const struct resource *b);

/* "v1" or "resource.k8s.io/v1", in the arena. */
struct str resource_api_version(struct arena *a, const struct resource *r);

/*
 * Appends the path: /api/v1/namespaces/NS/pods/NAME/SUBRESOURCE, without the parts that are empty.
 * The namespace is left out for cluster-scoped resources. Names are percent-encoded where needed.
 */
void resource_path(struct buf *out, const struct resource *r, struct resource_name name);

/* Appends text for a path or query: percent-encodes all but unreserved characters. */
void resource_escape(struct buf *out, struct str text);

#endif
