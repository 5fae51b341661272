/*
 * Without this plugin, users may have the garbage collector delete what they may not delete
 * themselves, or keep the owner of an object from being deleted.
 */
#include "base/core/map.h"
#include "server/admission/request.h"
#include "server/authz/authz.h"
#include "server/core/parts.h"
#include "server/custom/custom.h"
#include "server/plugins/authz.h"

static const struct json *owners_of(const struct json *object)
{
	return json_getz(json_getz(object, "metadata"), "ownerReferences");
}

/* A pod's status leaves its owners as they are. */
bool admit_owners_concerns(const struct admission_request *req)
{
	const struct schema_kind *k = req->path_kind;

	return !req->foreign && !(!k->group.n && str_eq(k->resource, STR("pods")) &&
				  str_eq(req->write->subresource, STR("status")));
}

static bool allows(struct admission_request *req, struct authz_query *q, struct str *ret_reason)
{
	q->user = req->user;
	return authz_decide(req->server->authz, q, req->work, ret_reason) == AUTHZ_ALLOW;
}

static int require_deletion(struct admission_request *req, struct error *err)
{
	const struct schema_kind *k = req->path_kind;
	struct authz_query q = { .verb = STR("delete"),
				 .group = k->group,
				 .version = k->version,
				 .resource = k->resource,
				 .subresource = req->write->subresource,
				 .ns = req->ns,
				 .name = req->name };
	struct str reason = STR("");

	if (allows(req, &q, &reason))
		return 0;
	return error_set(err, ERR_FORBIDDEN,
			 "cannot set an ownerRef on a resource you can't delete: %.*s, <nil>",
			 STR_ARG(reason));
}

/* --- owners whose deletion is blocked ----------------------------------------------- */

/* Those owners that block their deletion, by uid. */
static void add_blocking(struct map *blocking, const struct json *object)
{
	JSON_FOREACH (it, owners_of(object))
		if (json_true_at(it, "blockOwnerDeletion"))
			(void)map_put(blocking, json_text_at(it, "uid"), it);
}

static const struct schema_kind *kind_of(const struct admission_request *req,
					 const struct json *owner)
{
	struct str api = json_text_at(owner, "apiVersion"), kind = json_text_at(owner, "kind");
	const struct schema_kind *k = schema_find_kind(api, kind);
	struct str group = STR("");

	if (k && k->resource.n)
		return k;
	if (str_chr(api, '/') >= 0)
		(void)str_split(&api, '/', &group);
	return req->server->custom ? custom_find_kind(req->server->custom, group, api, kind) : NULL;
}

static int require_finalizing(struct admission_request *req, const struct json *owner,
			      struct error *err)
{
	const struct schema_kind *k = kind_of(req, owner);
	struct authz_query q = { .verb = STR("update"), .subresource = STR("finalizers") };
	struct str reason = STR("");

	if (!k)
		return error_set(err, ERR_FORBIDDEN,
				 "cannot set blockOwnerDeletion in this case because cannot find "
				 "RESTMapping for APIVersion %.*s Kind %.*s",
				 STR_ARG(json_text_at(owner, "apiVersion")),
				 STR_ARG(json_text_at(owner, "kind")));
	q.group = k->group;
	q.version = k->version;
	q.resource = k->resource;
	q.name = json_text_at(owner, "name");
	q.ns = k->flags & SCHEMA_NAMESPACED ? req->ns : STR("");
	if (allows(req, &q, &reason))
		return 0;
	return error_set(err, ERR_FORBIDDEN,
			 "cannot set blockOwnerDeletion if an ownerReference refers to a resource "
			 "you can't set finalizers on: %.*s, <nil>",
			 STR_ARG(reason));
}

static bool may_finalize_anything(struct admission_request *req)
{
	struct authz_query q = { .verb = STR("update"),
				 .group = STR("*"),
				 .version = STR("*"),
				 .resource = STR("*"),
				 .subresource = STR("finalizers"),
				 .name = STR("*") };

	return allows(req, &q, NULL);
}

static int check_blocking(struct admission_request *req, const struct json *old,
			  const struct json *object, struct error *err)
{
	struct map before;
	int anything = -1, r = 0; /* -1: not asked yet */

	map_init(&before);
	add_blocking(&before, old);
	JSON_FOREACH (it, owners_of(object)) {
		if (r < 0 || !json_true_at(it, "blockOwnerDeletion") ||
		    map_get(&before, json_text_at(it, "uid")))
			continue;
		if (anything < 0)
			anything = may_finalize_anything(req);
		if (!anything)
			r = require_finalizing(req, it, err);
	}
	map_release(&before);
	return r;
}

int admit_owners(struct admission_request *req, const struct json *old, struct json *object,
		 struct error *err)
{
	const struct json *owners = owners_of(object);
	int r = 0;

	if (!object || (!json_count(owners) && !json_count(owners_of(old))) ||
	    (old && json_equal(owners, owners_of(old))))
		return 0;
	if (req->op != ADMIT_CREATE)
		r = require_deletion(req, err);
	return r < 0 ? r : check_blocking(req, old, object, err);
}
