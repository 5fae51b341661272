/*
 * A namespace without limit ranges costs one map lookup. Otherwise its limit ranges are parsed,
 * as they are few and small.
 */
#include "server/plugins/limits.h"

#include "api/quota/limit_range.h"
#include "server/admission/request.h"
#include "server/core/parts.h"
#include "server/engine/in_namespace.h"

static struct resource *ranges(const struct admission_request *req)
{
	const struct schema_kind *kind = schema_find_resource(STR(""), STR("v1"),
							      STR("limitranges"));

	return state_resource(req->state, kind);
}

bool admit_limits_concerns(const struct admission_request *req)
{
	struct str sub = req->write->subresource;
	bool pods = str_eq(req->write->kind->resource, STR("pods"));

	if (req->write->kind->group.n || !req->ns.n || !resource_count(ranges(req)))
		return false;
	if (sub.n)
		return pods && req->op == ADMIT_UPDATE && str_eq(sub, STR("resize"));
	if (pods)
		return req->op == ADMIT_CREATE;
	return str_eq(req->write->kind->resource, STR("persistentvolumeclaims"));
}

static bool is_deleted(const struct json *old)
{
	return old && json_getz(json_getz(old, "metadata"), "deletionTimestamp");
}

int admit_limits_fill(struct admission_request *req, const struct json *old, struct json *object,
		      struct error *err)
{
	struct arena *a = req->write->arena;
	struct object **v = NULL;
	struct json *range;
	size_t n;
	int r = 0;

	if (!object || is_deleted(old) || !str_eq(req->write->kind->resource, STR("pods")))
		return 0;
	n = in_namespace(ranges(req), req->ns, a, &v);
	for (size_t i = 0; i < n && r == 0; i++) {
		r = object_tree(v[i], a, &range, err);
		if (r == 0)
			r = limit_range_fill(range, object, a, err);
	}
	return r;
}

int admit_limits_check(struct admission_request *req, const struct json *old, struct json *object,
		       struct error *err)
{
	bool pods = str_eq(req->write->kind->resource, STR("pods"));
	struct arena *a = req->write->arena;
	struct object **v = NULL;
	struct json *range;
	size_t n;
	int r = 0;

	if (!object || is_deleted(old))
		return 0;
	n = in_namespace(ranges(req), req->ns, a, &v);
	for (size_t i = 0; i < n && r == 0; i++) {
		r = object_tree(v[i], a, &range, err);
		if (r < 0)
			break;
		r = pods ? limit_range_check_pod(range, object, a, err)
			 : limit_range_check_volume_claim(range, object, a, err);
	}
	/* Without enough memory the result is not valid. */
	if (a->refused)
		r = admission_check_memory(a, err);
	if (r < 0)
		req->about.name = req->name;
	return r;
}
