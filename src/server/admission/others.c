/*
 * The same questions on the state's loop and on a lane, so that a plugin has one code for both.
 */
#include "server/admission/request.h"
#include "server/engine/looks.h"

struct object *admission_object(struct admission_request *req, const struct schema_kind *kind,
				struct str ns, struct str name)
{
	const struct resource *r = state_resource(req->state, kind);
	struct object *tip;

	if (req->looks)
		return looks_object(req->looks, r, ns, name);
	tip = resource_tip(r, ns, name);
	return tip ? tip : resource_get(r, ns, name);
}

struct tips {
	const struct resource *resource;
	struct arena *arena;
	struct object **v;
	size_t n;
};

static void take_tips(void *arg, const struct list_result *result, const struct error *err UNUSED)
{
	struct tips *t = arg;

	if (!result || !result->n)
		return;
	t->v = ARENA_ARRAY(t->arena, struct object *, result->n);
	for (size_t i = 0; i < result->n; i++) {
		const struct object *o = result->items[i];
		struct object *tip = resource_tip(t->resource, object_ns(o), object_name(o));

		if (tip)
			t->v[t->n++] = tip;
	}
}

size_t admission_objects(struct admission_request *req, const struct schema_kind *kind,
			 struct str ns, struct object *const **ret_v)
{
	struct resource *r = state_resource(req->state, kind);
	struct tips t = { .resource = r, .arena = req->write->arena };
	struct list_query q = { .ns = ns };

	if (req->looks)
		return looks_list(req->looks, r, ns, ret_v);
	*ret_v = NULL;
	resource_show(r);
	if (!resource_count(r))
		return 0;
	resource_list(r, &q, t.arena, take_tips, &t);
	*ret_v = t.v;
	return t.n;
}
