/*
 * The API server has validated the names in paths, but some kinds allow characters that a path
 * does not (RBAC allows spaces and colons). So all but unreserved characters are percent-encoded.
 */
#include "client/api/resource.h"

#include <assert.h>

#include "api/schema/schema.h"

struct resource resource_builtin(const char *group, const char *version, const char *plural)
{
	const struct schema_kind *k = schema_find_resource(str_from(group), str_from(version),
							   str_from(plural));

	assert(k);
	return (struct resource){ .group = k->group,
				  .version = k->version,
				  .resource = k->resource,
				  .kind = k->kind,
				  .namespaced = k->flags & SCHEMA_NAMESPACED };
}

struct resource resource_copy(struct arena *a, const struct resource *r)
{
	return (struct resource){ .group = arena_str(a, r->group),
				  .version = arena_str(a, r->version),
				  .resource = arena_str(a, r->resource),
				  .kind = arena_str(a, r->kind),
				  .namespaced = r->namespaced };
}

bool resource_equal(const struct resource *a, const struct resource *b)
{
	return str_eq(a->group, b->group) && str_eq(a->version, b->version) &&
	       str_eq(a->resource, b->resource);
}

struct str resource_api_version(struct arena *a, const struct resource *r)
{
	if (!r->group.n)
		return arena_str(a, r->version);
	return str_from(arena_printf(a, "%.*s/%.*s", STR_ARG(r->group), STR_ARG(r->version)));
}

void resource_escape(struct buf *out, struct str text)
{
	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];

		if (str_is_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~')
			(void)buf_addc(out, c);
		else
			(void)buf_printf(out, "%%%02X", (unsigned char)c);
	}
}

static void add_segment(struct buf *out, struct str segment)
{
	(void)buf_addc(out, '/');
	resource_escape(out, segment);
}

void resource_path(struct buf *out, const struct resource *r, struct resource_name name)
{
	if (r->group.n) {
		(void)buf_addz(out, "/apis");
		add_segment(out, r->group);
	} else {
		(void)buf_addz(out, "/api");
	}
	add_segment(out, r->version);
	if (r->namespaced && name.ns.n) {
		(void)buf_addz(out, "/namespaces");
		add_segment(out, name.ns);
	}
	add_segment(out, r->resource);
	if (name.name.n)
		add_segment(out, name.name);
	if (name.subresource.n)
		add_segment(out, name.subresource);
}
