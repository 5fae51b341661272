/*
 * Routes. Upstream registers a path for each verb of each resource. Here a table lists what each
 * verb needs, and the schema which resources have it. A path that is not a resource's is 404, a
 * path without this method is 405: clients of discovery (kubectl) distinguish the two.
 */
#include "server/front/route.h"

#include "api/codec/protobuf.h"
#include "server/connect/connect.h"
#include "server/core/parts.h"
#include "server/http/reply.h"
#include "server/verbs/review.h"
#include "server/verbs/verb.h"

struct route {
	uint16_t verb; /* SCHEMA_*: set for kinds that have it */
	bool named; /* for a single object */
	void (*run)(struct exchange *x);
};

static const struct route routes[REQUEST_VERBS] = {
	[REQUEST_GET] = { SCHEMA_GET, true, verb_get },
	[REQUEST_LIST] = { SCHEMA_LIST_VERB, false, verb_list },
	[REQUEST_WATCH] = { SCHEMA_WATCH, false, verb_watch },
	[REQUEST_CREATE] = { SCHEMA_CREATE, false, verb_create },
	[REQUEST_UPDATE] = { SCHEMA_UPDATE, true, verb_update },
	[REQUEST_PATCH] = { SCHEMA_PATCH, true, verb_patch },
	[REQUEST_DELETE] = { SCHEMA_DELETE, true, verb_delete },
	[REQUEST_DELETE_COLLECTION] = { SCHEMA_DELETE_COLLECTION, false, verb_delete_collection },
};

/* --- rejections ------------------------------------------------------------------- */

/* As upstream's router: the error does not name the requested resource. */
static bool route_refuse(struct exchange *x, enum error_code code)
{
	struct error err = { .code = code };

	reply_status(x, &err, &(struct status_about){ 0 });
	return false;
}

static bool is_served(const struct exchange *x, const struct schema_kind *k)
{
	return gates_on(&x->server->gates, (enum gate)k->gate) && k->resource.n;
}

/* Whether any resource has the group and version of the request. */
static bool has_version(const struct exchange *x)
{
	size_t n;
	const struct schema_kind *const *kinds = schema_kinds(&n);

	for (size_t i = 0; i < n; i++)
		if (is_served(x, kinds[i]) && str_eq(kinds[i]->group, x->request.group) &&
		    str_eq(kinds[i]->version, x->request.version))
			return true;
	return false;
}

static bool refuse_unknown(struct exchange *x)
{
	if (has_version(x))
		return route_refuse(x, ERR_NOT_FOUND);
	reply_no_page(x);
	return false;
}

/*
 * Paths of custom resources are not registered one by one: an unknown path is an object that was
 * not found.
 */
static bool refuse_object(struct exchange *x)
{
	struct error err = { .code = ERR_NOT_FOUND };

	reply_status(x, &err,
		     &(struct status_about){ .group = x->custom->group,
					     .resource = x->custom->resource,
					     .name = x->request.name });
	return false;
}

/* --- resources -------------------------------------------------------------------- */

static bool find_resource(struct exchange *x)
{
	const struct request *r = &x->request;
	const struct schema_kind *kind = x->custom ? x->custom : x->compiled;

	if (!kind || !is_served(x, kind))
		return refuse_unknown(x);
	if (r->subresource.n) {
		x->sub = schema_subresource(kind, r->subresource);
		if (!x->sub && x->custom)
			return refuse_object(x);
		if (!x->sub || !gates_on(&x->server->gates, (enum gate)x->sub->gate) ||
		    (r->rest.n && !str_eqz(r->subresource, "proxy")))
			return route_refuse(x, ERR_NOT_FOUND);
	}
	x->kind = kind;
	return true;
}

/* Returns 0, or the error for the path. */
static int check_scope(const struct exchange *x)
{
	const struct request *r = &x->request;
	bool namespaced = x->kind->flags & SCHEMA_NAMESPACED;

	if (!namespaced)
		return r->ns.n ? -ERR_NOT_FOUND : 0;
	if (r->ns.n)
		return 0;
	/* Across all namespaces: read only. */
	if (r->name.n)
		return -ERR_NOT_FOUND;
	return r->verb == REQUEST_LIST || r->verb == REQUEST_WATCH ? 0 : -ERR_METHOD_NOT_ALLOWED;
}

/* Proxies also accept OPTIONS, though it is not a verb; it needs the right to do everything. */
static bool is_options_of_proxy(const struct exchange *x)
{
	return x->sub && x->sub->connect && str_eqz(x->request.subresource, "proxy") &&
	       str_eqz(x->stream->in.method, "OPTIONS");
}

static bool has_verb(const struct exchange *x)
{
	const struct request *r = &x->request;
	const struct route *route = &routes[r->verb];
	uint16_t verbs = x->sub ? x->sub->verbs : x->kind->verbs;

	if (is_options_of_proxy(x))
		return true;
	if (!route->run || !(verbs & route->verb))
		return false;
	/* Only subresources are created under a name, and only the old form of watches has one. */
	if (r->verb == REQUEST_CREATE)
		return !r->name.n == !x->sub;
	return r->verb == REQUEST_WATCH || route->named == (r->name.n > 0);
}

static bool has_field(const struct schema_kind *k, struct str path)
{
	if (str_eq(path, STR("metadata.name")) || str_eq(path, STR("metadata.namespace")))
		return true;
	for (size_t i = 0; i < k->nselectables; i++)
		if (str_eq(path, k->selectables[i].path))
			return true;
	return false;
}

/* Upstream has three error texts for this. */
static int check_fields(const struct schema_kind *k, const struct selector *fields,
			struct error *err)
{
	for (size_t i = 0; i < fields->n; i++) {
		struct str key = fields->terms[i].key;

		if (has_field(k, key))
			continue;
		if (!k->nselectables)
			return error_set(err, ERR_BAD_REQUEST,
					 "\"%.*s\" is not a known field selector: only "
					 "\"metadata.name\", \"metadata.namespace\"",
					 STR_ARG(key));
		if (str_eq(k->group, STR("resource.k8s.io")))
			return error_set(err, ERR_BAD_REQUEST,
					 "field label not supported for %.*s, Kind=%.*s: %.*s",
					 STR_ARG(k->api_version), STR_ARG(k->kind), STR_ARG(key));
		return error_set(err, ERR_BAD_REQUEST, "field label not supported: %.*s",
				 STR_ARG(key));
	}
	return 0;
}

/* --- the form of the reply -------------------------------------------------------- */

static int check_table(const struct exchange *x, struct error *err)
{
	static const char *const values[] = { "", "Metadata", "Object", "None" };
	struct str given = x->request.include_object;

	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		if (x->accept.as != ACCEPT_TABLE || str_eqz(given, values[i]))
			return 0;
	return error_set(err, ERR_BAD_REQUEST,
			 "Unable to convert to Table as requested: includeObject: Invalid value: "
			 "\"%.*s\": must be 'Metadata', 'Object', 'None', or empty",
			 STR_ARG(given));
}

/* Created only to get an answer; not stored. */
static bool is_review(const struct exchange *x)
{
	if (x->sub)
		return str_eqz(x->sub->kind, "TokenRequest");
	return x->kind->flags & SCHEMA_REVIEW;
}

static bool check_form(struct exchange *x)
{
	unsigned forms = is_review(x) ? 1U << ACCEPT_OBJECT : ACCEPT_OF_RESOURCES;
	struct error err = { 0 };
	int r;

	if (protobuf_has_kind(x->kind))
		forms |= ACCEPT_OBJECT_AS_PROTOBUF;
	r = exchange_negotiate(x, forms, &err);
	/* As upstream: earlier rejections by the router carry no deprecation warning. */
	if (r == 0 && !x->custom)
		x->deprecation = x->kind->deprecation;
	if (r == 0)
		r = check_table(x, &err);
	if (r == 0)
		r = check_fields(x->kind, &x->request.fields, &err);
	if (r < 0)
		reply_status(x, &err, &(struct status_about){ 0 });
	return r == 0;
}

static void (*verb_of(const struct exchange *x))(struct exchange *x)
{
	if (is_review(x))
		return verb_review;
	if (x->sub && str_eqz(x->sub->kind, "Scale"))
		return verb_scale;
	return routes[x->request.verb].run;
}

bool exchange_route(struct exchange *x)
{
	int r;

	if (!find_resource(x))
		return false;
	r = check_scope(x);
	if (r < 0 && x->custom) {
		reply_no_page(x);
		return false;
	}
	if (r < 0)
		return route_refuse(x, (enum error_code) - r);
	if (!has_verb(x))
		return route_refuse(x, ERR_METHOD_NOT_ALLOWED);
	if (x->sub && x->sub->connect) {
		/* Only error replies are ours to encode. */
		(void)exchange_negotiate(x, ACCEPT_OF_RESOURCES, NULL);
		x->verb = verb_connect;
		x->keeps = true;
		return true;
	}
	if (!check_form(x))
		return false;
	x->verb = verb_of(x);
	return true;
}
