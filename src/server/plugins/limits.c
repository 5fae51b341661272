/*
 * If the cluster has limit ranges, those of the namespace are parsed, as they are few and small.
 */
#include "server/plugins/limits.h"

#include "api/quota/limit_range.h"
#include "server/admission/request.h"
#include "server/core/parts.h"

static const struct schema_kind *range_kind(void)
{
	return schema_find_resource(STR(""), STR("v1"), STR("limitranges"));
}

bool admit_limits_fills(const struct admission_request *req)
{
	struct str sub = req->write->subresource;

	if (req->write->kind->group.n || !str_eq(req->write->kind->resource, STR("pods")))
		return false;
	return sub.n ? req->op == ADMIT_UPDATE && str_eq(sub, STR("resize"))
		     : req->op == ADMIT_CREATE;
}

static bool is_volume_claim(const struct admission_request *req)
{
	return !req->write->kind->group.n && !req->write->subresource.n &&
	       str_eq(req->write->kind->resource, STR("persistentvolumeclaims"));
}

bool admit_limits_concerns(const struct admission_request *req)
{
	return resource_count(state_resource(req->state, range_kind())) &&
	       (admit_limits_fills(req) || is_volume_claim(req));
}

static bool is_deleted(const struct json *old)
{
	return old && json_getz(json_getz(old, "metadata"), "deletionTimestamp");
}

int admit_limits_fill(struct admission_request *req, const struct json *old, struct json *object,
		      struct error *err)
{
	struct arena *a = req->write->arena;
	struct object *const *v;
	struct json *range;
	size_t n;
	int r = 0;

	if (!object || is_deleted(old))
		return 0;
	n = admission_objects(req, range_kind(), req->ns, &v);
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
	struct object *const *v;
	struct json *range;
	size_t n;
	int r = 0;

	if (!object || is_deleted(old))
		return 0;
	n = admission_objects(req, range_kind(), req->ns, &v);
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
