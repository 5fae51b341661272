/*
 * What expressions see beside the write: parameters, which are objects of any served kind,
 * compiled-in or custom, and the namespace; from the state.
 */
#include "server/admission/request.h"
#include "server/core/parts.h"
#include "server/custom/custom.h"
#include "server/engine/looks.h"
#include "server/policies/policy.h"

/* "v1" is of the core group. */
static void split_version(struct str api_version, struct str *ret_group, struct str *ret_version)
{
	ptrdiff_t slash = str_chr(api_version, '/');

	*ret_group = slash < 0 ? STR("") : str_of(api_version.p, (size_t)slash);
	*ret_version = slash < 0 ? api_version : str_skip(api_version, (size_t)slash + 1);
}

/* NULL: none. */
static const struct schema_kind *built_in_kind(const struct admission_policy *p)
{
	const struct schema_kind *k = schema_find_kind(p->param_version, p->param_kind);

	return k && k->resource.n && !(k->flags & SCHEMA_REVIEW) ? k : NULL;
}

bool admission_param_is_built_in(const struct admission_policy *p)
{
	return !p->has_params || built_in_kind(p);
}

int admission_param_kind(struct admission_request *req, const struct admission_policy *p,
			 const struct schema_kind **ret_kind, struct error *err)
{
	const struct schema_kind *k = built_in_kind(p);
	struct str group, version;

	*ret_kind = NULL;
	if (!p->has_params)
		return 0;
	split_version(p->param_version, &group, &version);
	if (!k)
		k = custom_find_kind(req->server->custom, group, version, p->param_kind);
	*ret_kind = k;
	if (k)
		return 0;
	return error_set(err, ERR_NOT_FOUND,
			 "failed to find resource referenced by paramKind: '%.*s/%.*s, Kind=%.*s'",
			 STR_ARG(group), STR_ARG(version), STR_ARG(p->param_kind));
}

struct gathering {
	struct admission_request *req;
	struct admission_ahead *ahead; /* NULL: on the state's loop */
	const struct schema_kind *kind;
	struct admission_params *params;
};

static void params_take(struct gathering *g, const struct object *o)
{
	struct arena *a = g->req->write->arena;
	struct json *tree;

	if (object_tree(o, a, &tree, NULL) < 0)
		return;
	write_from_storage(a, tree, g->kind);
	/* Upstream's caches of its own kinds do not keep them. */
	if (!g->kind->custom)
		json_remove(json_getz(tree, "metadata"), STR("managedFields"));
	g->params->v[g->params->n++] = tree;
}

static void params_on_listed(void *arg, const struct list_result *list, const struct error *err)
{
	struct gathering *g = arg;

	if (err)
		return;
	g->params->v = ARENA_ARRAY(g->req->write->arena, const struct json *, list->n + 1);
	for (size_t i = 0; i < list->n; i++)
		params_take(g, list->items[i]);
}

static struct object *look_up(struct gathering *g, const struct resource *r, struct str ns,
			      struct str name)
{
	struct looks *looks = g->req->looks;
	struct object *o;

	if (!g->ahead)
		return resource_get(r, ns, name);
	o = looks_object(looks, r, ns, name);
	g->ahead->unsure |= looks->failed;
	return o;
}

static void take_named(struct gathering *g, const struct resource *r, struct str ns,
		       struct str name)
{
	struct object *o = look_up(g, r, ns, name);

	g->params->v = ARENA_ARRAY(g->req->write->arena, const struct json *, 1);
	if (o)
		params_take(g, o);
}

/* The namespace of the parameters; empty for cluster-scoped kinds. */
static int namespace_of(const struct schema_kind *k, const struct admission_binding *b,
			struct str ns, struct str *ret_ns, struct error *err)
{
	*ret_ns = STR("");
	if (!(k->flags & SCHEMA_NAMESPACED)) {
		if (b->param_ns.n)
			return error_set(err, ERR_INVALID,
					 "paramRef.namespace must not be provided for a "
					 "cluster-scoped `paramKind`");
		return 0;
	}
	*ret_ns = b->param_ns.n ? b->param_ns : ns;
	if (!ret_ns->n)
		return error_set(err, ERR_INVALID,
				 "cannot use namespaced paramRef in policy binding that matches "
				 "cluster-scoped resources");
	return 0;
}

int admission_params(struct admission_request *req, const struct schema_kind *kind,
		     const struct admission_binding *b, struct str ns,
		     struct admission_ahead *ahead, struct admission_params *ret_params,
		     struct error *err)
{
	struct gathering g = { req, ahead, kind, ret_params };
	struct list_query query = { .labels = b->param_selector };
	struct resource *r;
	int ret;

	*ret_params = (struct admission_params){ 0 };
	if (!kind || !b->has_params) {
		ret_params->v = ARENA_ARRAY(req->write->arena, const struct json *, 1);
		ret_params->n = 1;
		return 0;
	}
	ret = namespace_of(kind, b, ns, &query.ns, err);
	if (ret < 0)
		return ret;
	r = state_resource(req->state, kind);
	if (ahead && b->by_selector) {
		ahead->unsure = true;
		return 0;
	}
	if (b->by_selector)
		resource_list(r, &query, req->write->arena, params_on_listed, &g);
	else
		take_named(&g, r, query.ns, b->param_name);
	if (ret_params->n == 0 && b->deny_without)
		return error_set(err, ERR_INVALID,
				 "no params found for policy binding with `Deny` "
				 "parameterNotFoundAction");
	return 0;
}

/* --- namespaces --------------------------------------------------------------------- */

/* Removes the parts of a namespace that expressions must not see. */
static void prune_namespace(struct json *tree)
{
	static const char *const hidden[] = { "selfLink", "managedFields", "ownerReferences" };
	struct json *meta = json_getz(tree, "metadata");

	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++)
		json_remove(meta, str_from(hidden[i]));
	json_remove(tree, STR("apiVersion"));
	json_remove(tree, STR("kind"));
}

const struct json *admission_namespace_object(struct admission_request *req,
					      const struct admission_attr *attr,
					      const struct admission_ahead *ahead)
{
	const struct object *o = NULL;
	struct json *tree;

	if (attr->kind->flags & SCHEMA_NAMESPACED)
		o = ahead ? ahead->ns
			  : resource_tip(state_namespaces(req->state), STR(""), attr->ns);
	if (!o || object_tree(o, req->write->arena, &tree, NULL) < 0)
		return NULL;
	prune_namespace(tree);
	return tree;
}
