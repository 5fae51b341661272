/*
 * Admission functions get trees in the storage version. If a policy wants that version, the trees
 * are passed on unchanged; otherwise a copy is converted.
 */
#include "server/admission/attr.h"
#include "server/admission/request.h"

#include "api/write/scale.h"
#include "base/text/print.h"

/* --- attributes --------------------------------------------------------------------- */

/* A copy in the version of the kind. */
static int converted(struct admission_request *req, const struct json *tree,
		     const struct schema_kind *kind, struct json **ret_tree, struct error *err)
{
	int r;

	r = json_copy(req->write->arena, tree, ret_tree, err);
	if (r == 0)
		write_from_storage(req->write->arena, *ret_tree, kind);
	return r;
}

static int scale_of(struct admission_request *req, const struct json *tree,
		    const struct json **ret_scale, struct error *err)
{
	struct json *copy, *scale;
	int r;

	*ret_scale = NULL;
	if (!tree)
		return 0;
	r = converted(req, tree, req->path_kind, &copy, err);
	if (r == 0)
		r = scale_get(req->write->arena, scale_paths(req->path_kind), copy, &scale, err);
	if (r == 0)
		*ret_scale = scale;
	return r;
}

/* Bindings and Evictions are created, options are connected with, a Scale is updated. */
static int foreign_objects(struct admission_request *req, struct admission_attr *attr,
			   struct error *err)
{
	const struct json *old = attr->old, *object = attr->object;
	int r;

	attr->foreign = true;
	if (str_eqz(attr->subresource, "scale")) {
		r = scale_of(req, old, &attr->old, err);
		return r < 0 ? r : scale_of(req, object, &attr->object, err);
	}
	attr->object = req->tree;
	attr->old = NULL;
	return 0;
}

/* The name in the request: a generated name is not known to it. */
static struct str attr_name_of(const struct admission_request *req, const struct json *object)
{
	if (req->request->verb == REQUEST_DELETE_COLLECTION || req->write->generated_from.n)
		return STR("");
	return req->name.n ? req->name : json_text_at(json_getz(object, "metadata"), "name");
}

/* For an update that removes an object: the object that it was updated to. */
static const struct json *object_of(const struct admission_request *req, const struct json *object)
{
	if (req->op == ADMIT_DELETE)
		return NULL;
	return !object && req->op == ADMIT_UPDATE ? req->write->last : object;
}

int admission_attr(struct admission_request *req, const struct json *old, const struct json *object,
		   struct admission_attr *ret_attr, struct error *err)
{
	*ret_attr = (struct admission_attr){
		.op = req->op,
		.kind = req->path_kind,
		.target = req->target,
		.object = object_of(req, object),
		.old = req->op == ADMIT_CREATE ? NULL : old,
		.namespace_labels = req->write->namespace_labels,
	};
	ret_attr->name = attr_name_of(req, object);
	if (req->path_kind->flags & SCHEMA_OWN_NAMESPACE) {
		ret_attr->ns = ret_attr->name;
		ret_attr->namespace_labels = json_getz(json_getz(old, "metadata"), "labels");
	}
	if (req->foreign)
		return foreign_objects(req, ret_attr, err);
	return 0;
}

const struct json *admission_seen(struct admission_request *req, const struct admission_attr *attr,
				  const struct json *tree, const struct schema_kind *kind)
{
	struct json *seen;

	if (!tree || attr->foreign)
		return tree;
	if (str_eq(json_text_at(tree, "apiVersion"), kind->api_version))
		return tree;
	return converted(req, tree, kind, &seen, NULL) < 0 ? NULL : seen;
}

/* --- the request -------------------------------------------------------------------- */

static void attr_put(struct arena *a, struct json *object, const char *key, struct str text)
{
	json_put_str(a, object, key, text);
}

static void put_if(struct arena *a, struct json *object, const char *key, struct str text)
{
	if (text.n)
		json_put_str(a, object, key, text);
}

static void put_dry_run(struct arena *a, struct json *options)
{
	struct json *all = json_make_array(a);

	json_append(all, json_make_str(a, STR("All")));
	json_setz(options, "dryRun", all);
}

/* The request's options: a CreateOptions, UpdateOptions or DeleteOptions; JSON null for CONNECT. */
static struct json *admission_options(struct admission_request *req, enum admission_op op)
{
	const struct request *r = req->request;
	struct arena *a = req->write->arena;
	struct json *options = NULL;

	if (op == ADMIT_DELETE) {
		if (!req->tree || json_copy(a, req->tree, &options, NULL) < 0)
			options = json_make_object(a);
		attr_put(a, options, "kind", STR("DeleteOptions"));
		attr_put(a, options, "apiVersion", STR("meta.k8s.io/v1"));
		return options;
	}
	if (op == ADMIT_CONNECT)
		return json_make_null(a);
	options = json_make_object(a);
	attr_put(a, options, "kind",
		 op == ADMIT_CREATE ? STR("CreateOptions") : STR("UpdateOptions"));
	attr_put(a, options, "apiVersion", STR("meta.k8s.io/v1"));
	if (req->dry_run)
		put_dry_run(a, options);
	put_if(a, options, "fieldManager", r->write.field_manager);
	put_if(a, options, "fieldValidation", r->field_validation);
	return options;
}

static struct json *kind_tree(struct arena *a, const struct schema_kind *k, struct str subresource)
{
	const struct schema_subresource *sub = subresource.n ? schema_subresource(k, subresource)
							     : NULL;
	bool own = sub && sub->kind.n;
	struct json *tree = json_make_object(a);

	attr_put(a, tree, "group", own ? sub->group : k->group);
	attr_put(a, tree, "version", own ? sub->version : k->version);
	attr_put(a, tree, "kind", own ? sub->kind : k->kind);
	return tree;
}

static struct json *resource_tree(struct arena *a, const struct schema_kind *k)
{
	struct json *tree = json_make_object(a);

	attr_put(a, tree, "group", k->group);
	attr_put(a, tree, "version", k->version);
	attr_put(a, tree, "resource", k->resource);
	return tree;
}

struct json *admission_request_tree(struct admission_request *req,
				    const struct admission_attr *attr,
				    const struct schema_kind *kind)
{
	struct arena *a = req->write->arena;
	struct json *tree = json_make_object(a);

	attr_put(a, tree, "uid", STR(""));
	json_setz(tree, "kind", kind_tree(a, kind, attr->subresource));
	json_setz(tree, "resource", resource_tree(a, kind));
	put_if(a, tree, "subResource", attr->subresource);
	json_setz(tree, "requestKind", kind_tree(a, attr->kind, attr->subresource));
	json_setz(tree, "requestResource", resource_tree(a, attr->kind));
	put_if(a, tree, "requestSubResource", attr->subresource);
	put_if(a, tree, "name", attr->name);
	put_if(a, tree, "namespace", attr->ns);
	attr_put(a, tree, "operation", admission_op_name(attr->op));
	json_setz(tree, "userInfo", user_info(a, req->user));
	json_setz(tree, "object", json_make_null(a));
	json_setz(tree, "oldObject", json_make_null(a));
	json_put_bool(a, tree, "dryRun", req->dry_run);
	json_setz(tree, "options", admission_options(req, attr->op));
	return tree;
}

/* --- rejecting ---------------------------------------------------------------------- */

static struct str shown_name(const struct admission_request *req, const struct admission_attr *attr)
{
	const struct json *meta = json_getz(attr->object, "metadata");
	struct str generated = json_text_at(meta, "generateName");

	if (attr->name.n)
		return attr->name;
	if (req->name.n && !req->write->generated_from.n)
		return req->name;
	return json_text_at(meta, "name").n ? json_text_at(meta, "name")
	       : generated.n                ? generated
					    : STR("Unknown");
}

static void add_cause(struct arena *a, struct json *causes, struct str message)
{
	struct json *cause = json_make_object(a);

	attr_put(a, cause, "message", message);
	json_append(causes, cause);
}

/* A Status that rejects, without its causes, which it returns. */
static struct json *denial(struct admission_request *req, const struct schema_kind *k,
			   struct str name, struct str reason, struct str message, int code)
{
	struct arena *a = req->work;
	struct json *status = json_make_object(a), *details = json_make_object(a);
	struct json *causes = json_make_array(a);

	attr_put(a, status, "kind", STR("Status"));
	attr_put(a, status, "apiVersion", STR("v1"));
	json_setz(status, "metadata", json_make_object(a));
	attr_put(a, status, "status", STR("Failure"));
	attr_put(a, status, "message", message);
	attr_put(a, status, "reason", reason);
	put_if(a, details, "name", name);
	put_if(a, details, "group", k->group);
	attr_put(a, details, "kind", k->resource);
	json_setz(details, "causes", causes);
	json_setz(status, "details", details);
	json_put_i64(a, status, "code", code);
	req->about.status = status;
	return causes;
}

int admission_deny(struct admission_request *req, const struct admission_attr *attr,
		   enum error_code code, const char *message, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(SIZE_MAX);
	struct arena *a = req->work;
	const struct schema_kind *k = attr->kind;
	struct str name = arena_str(a, shown_name(req, attr));
	struct json *causes;

	message = arena_strdup(a, str_from(message));
	(void)buf_printf(&text, "%.*s%s%.*s ", STR_ARG(k->resource), k->group.n ? "." : "",
			 STR_ARG(k->group));
	(void)print_quoted(&text, name);
	(void)buf_printf(&text, " is forbidden: %s", message);
	causes = denial(req, k, name, str_from(error_reason((int)code)),
			arena_str(a, buf_str(&text)), error_http_status((int)code));
	add_cause(a, causes, str_from(message));
	return error_set(err, code, "%s", message);
}

int admission_deny_all(struct admission_request *req, const struct admission_attr *attr,
		       struct str reason, const struct json *texts, struct error *err)
{
	struct arena *a = req->work;
	struct str first = arena_str(a, json_str(json_first(texts)));
	struct json *causes = denial(req, attr->kind, arena_str(a, shown_name(req, attr)), reason,
				     first, error_http_status(ERR_FORBIDDEN));

	JSON_FOREACH (it, texts)
		add_cause(a, causes, arena_str(a, json_str(it)));
	return error_set(err, ERR_FORBIDDEN, "%.*s", STR_ARG(first));
}
