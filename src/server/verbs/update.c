/*
 * UPDATE and PATCH of objects and of their subresources. If the kind allows it, a missing object
 * is created.
 */
#include "server/authz/authz.h"
#include "server/core/parts.h"
#include "server/http/reply.h"
#include "server/plugins/claim_access.h"
#include "server/verbs/mutation.h"
#include "server/verbs/verb.h"

/* --- update ----------------------------------------------------------------------- */

static int update_decode(struct mutation *m, struct error *err)
{
	return write_decode(&m->write, m->x->body, m->decoded.format, &m->req.tree, err);
}

static int update_decide(struct mutation *m, const struct json *old, struct json **ret_object,
			 struct error *err)
{
	m->decided.status = 200;
	if (str_eq(m->write.subresource, STR("finalize")))
		return write_finalize(&m->write, old, m->req.tree, ret_object, err);
	return write_update(&m->write, old, m->req.tree, ret_object, err);
}

/* The right to update does not include creation: that needs a right of its own. */
static int require_create(struct mutation *m, struct error *err)
{
	struct exchange *x = m->x;
	const struct authz_query q = { .user = &x->user,
				       .verb = STR("create"),
				       .group = m->write.kind->group,
				       .version = m->write.kind->version,
				       .resource = m->write.kind->resource,
				       .target = m->req.target };

	return authz_require(x->server->authz, &q, &x->work, err);
}

static int decide_new(struct mutation *m, struct json **ret_object, struct error *err)
{
	bool may = (m->write.kind->flags & SCHEMA_CREATE_ON_UPDATE) && !m->x->sub;
	const struct json *meta = json_getz(m->req.tree, "metadata");
	struct str uid = json_text_at(meta, "uid"), name = json_text_at(meta, "name");
	int r;

	if (!str_eq(name, m->req.name))
		return error_set(err, ERR_BAD_REQUEST,
				 "the name of the object (%.*s) does not match the name on the URL "
				 "(%.*s)",
				 STR_ARG(name), STR_ARG(m->req.name));
	/* A client that names a uid means an existing object. */
	if (!may || uid.n) {
		(void)error_copy(err, &(struct error){ .code = ERR_NOT_FOUND });
		return mutation_blame(m, m->write.kind, m->req.name, -ERR_NOT_FOUND);
	}
	r = require_create(m, err);
	if (r < 0)
		return mutation_blame(m, m->write.kind, m->req.name, r);
	r = mutation_check_home(m, err);
	if (r < 0)
		return r;
	m->decided.status = 201;
	return write_create(&m->write, m->req.tree, ret_object, err);
}

static const struct mutation_ops update_ops = {
	.decode = update_decode,
	.decide = update_decide,
	.decide_new = decide_new,
	.drafts = true,
};

void verb_update(struct exchange *x)
{
	struct mutation *m = mutation_new(x, &update_ops);
	struct error err = { 0 };

	claim_access_attach(&m->req);
	if (verb_is_foreign(x))
		mutation_refuse(m, &(struct error){ .code = ERR_METHOD_NOT_ALLOWED });
	else if (verb_body_format(m, &err) < 0)
		mutation_refuse(m, &err);
	else
		mutation_start(m);
}

/* --- patch ------------------------------------------------------------------------ */

/*
 * Checks an applied configuration. A null is left to the apply engine, which rejects it as a type
 * that does not fit.
 */
static int check_is_object(const struct json *config, struct error *err)
{
	static const char *const names[] = {
		[JSON_BOOL] = "bool",     [JSON_INT] = "number",    [JSON_UINT] = "number",
		[JSON_DOUBLE] = "number", [JSON_STRING] = "string", [JSON_ARRAY] = "array",
	};

	if (!config || config->type == JSON_NULL || config->type == JSON_OBJECT)
		return 0;
	return error_set(err, ERR_BAD_REQUEST,
			 "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal %s "
			 "into Go value of type map[string]interface {}",
			 names[config->type]);
}

/* Applying does not change the patch: it is parsed once. */
int mutation_decode_patch(struct mutation *m, struct error *err)
{
	struct mutation_decoded *d = &m->decoded;
	int r;

	if (m->req.tree)
		return 0;
	r = decode_parse(&m->x->work, m->x->body, d->format, &d->patch_report, &m->req.tree, err);
	if (r == 0 && d->patch_type == PATCH_APPLY)
		r = check_is_object(m->req.tree, err);
	if (r < 0)
		return error_wrap(err, r, "error decoding patch");
	decode_tell_patch(&m->x->work, m->x->body, d->format, m->req.tree,
			  d->patch_type == PATCH_JSON, &d->patch_report);
	m->write.patch_report = &d->patch_report;
	return 0;
}

static int decide_patch(struct mutation *m, const struct json *old, struct json **ret_object,
			struct error *err)
{
	m->decided.status = 200;
	if (m->decoded.patch_type == PATCH_APPLY)
		return write_apply(&m->write, old, m->req.tree, ret_object, err);
	return write_patch(&m->write, old, m->decoded.patch_type, m->req.tree, ret_object, err);
}

/* Apply creates a missing object. */
static int decide_new_patch(struct mutation *m, struct json **ret_object, struct error *err)
{
	int r;

	if (m->decoded.patch_type != PATCH_APPLY || m->x->sub) {
		(void)error_copy(err, &(struct error){ .code = ERR_NOT_FOUND });
		return mutation_blame(m, m->write.kind, m->req.name, -ERR_NOT_FOUND);
	}
	r = require_create(m, err);
	if (r < 0)
		return mutation_blame(m, m->write.kind, m->req.name, r);
	r = mutation_check_home(m, err);
	if (r < 0)
		return r;
	m->decided.status = 201;
	return write_apply(&m->write, NULL, m->req.tree, ret_object, err);
}

static const struct mutation_ops patch_ops = {
	.decode = mutation_decode_patch,
	.decide = decide_patch,
	.decide_new = decide_new_patch,
	.drafts = true,
};

bool verb_patch_options(struct mutation *m)
{
	struct exchange *x = m->x;
	struct str type = http_fields_get(&x->stream->in.fields, STR("content-type"));
	struct error err = { 0 };
	bool apply;

	if (negotiate_patch(type, &m->decoded.patch_type, &err) < 0) {
		mutation_refuse(m, &err);
		return false;
	}
	apply = m->decoded.patch_type == PATCH_APPLY;
	m->decoded.format = apply ? DECODE_YAML : DECODE_JSON;
	request_check_patch(&x->request, apply, &m->write.errs);
	if (field_errors_any(&m->write.errs)) {
		err.code = ERR_INVALID;
		reply_bad_options(x, "PatchOptions", &err, &m->write.errs);
		return false;
	}
	/* Whether or not the object exists. A Scale's patch types do not depend on its resource. */
	if ((apply || !verb_is_foreign(x)) &&
	    write_check_patch(&m->write, m->decoded.patch_type, &err) < 0) {
		mutation_refuse(m, &err);
		return false;
	}
	return true;
}

void verb_patch(struct exchange *x)
{
	struct mutation *m = mutation_new(x, &patch_ops);

	claim_access_attach(&m->req);
	if (verb_is_foreign(x))
		mutation_refuse(m, &(struct error){ .code = ERR_METHOD_NOT_ALLOWED });
	else if (verb_patch_options(m))
		mutation_start(m);
}
