/*
 * A namespace is a range of keys.
 */
#include "server/engine/in_namespace.h"

#include "server/engine/resource_walk.h"

struct str in_namespace_name(const struct object *o)
{
	return str_skip(o->key, o->ns_n + 1u);
}

size_t in_namespace(struct resource *r, struct str ns, struct arena *a, struct object ***ret_v)
{
	struct str prefix;
	struct resource_walk w;
	struct object *o, **v;
	size_t n = 0, i = 0;

	if (!resource_count(r))
		return 0;
	prefix = str_from(arena_printf(a, "%.*s/", STR_ARG(ns)));
	resource_walk_init(&w, &r->objects, NULL, prefix, STR_NULL);
	while (resource_walk_next(&w))
		n++;
	if (!n)
		return 0;
	v = ARENA_ARRAY(a, struct object *, n);
	resource_walk_init(&w, &r->objects, NULL, prefix, STR_NULL);
	while ((o = resource_walk_next(&w))) {
		o = resource_tip(r, ns, in_namespace_name(o));
		if (o)
			v[i++] = o;
	}
	*ret_v = v;
	return i;
}
