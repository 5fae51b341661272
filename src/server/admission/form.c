/*
 * The objects that webhooks and policies see, and the results of their patches. Upstream shows an
 * object before the server sets its uid and times. Here it has them already, so they are removed
 * before, and restored after the patch, which therefore cannot change them. Nor can it change
 * managedFields.
 */
#include "server/admission/form.h"

#include "api/write/scale.h"
#include "base/core/map.h"
#include "server/admission/attr.h"
#include "server/admission/request.h"
#include "server/request/connect_options.h"
#include "server/server_limits.h"

/* Fields of the server that a new object does not have yet. */
static const char *const unborn[] = { "uid", "creationTimestamp", "generation" };

/* Fields that no patch changes. */
static const char *const kept[] = { "uid",
				    "creationTimestamp",
				    "generation",
				    "deletionTimestamp",
				    "deletionGracePeriodSeconds",
				    "managedFields",
				    "namespace",
				    "resourceVersion",
				    "selfLink" };

static struct json *meta_of(const struct json *object)
{
	return json_getz(object, "metadata");
}

int admission_show(struct admission_request *req, const struct admission_attr *attr,
		   const struct schema_kind *kind, struct json **ret_shown, struct error *err)
{
	const struct json *seen = admission_seen(req, attr, attr->object, kind);
	struct json *shown, *meta;
	int r;

	if (!seen)
		return error_set(err, ERR_INTERNAL, "the object cannot be converted to %.*s",
				 STR_ARG(kind->api_version));
	r = json_copy(req->write->arena, seen, &shown, err);
	if (r < 0)
		return r;
	meta = meta_of(shown);
	if (attr->op == ADMIT_CREATE && !attr->foreign && meta) {
		for (size_t i = 0; i < ARRAY_SIZE(unborn); i++)
			json_remove(meta, str_from(unborn[i]));
		if (req->write->generated_from.n)
			json_remove(meta, STR("name"));
	}
	*ret_shown = shown;
	return 0;
}

uint64_t admission_hash(const struct json *object)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(WEBHOOK_REVIEW_MAX);

	if (object)
		(void)json_print(&text, object, NULL);
	return hash_bytes(buf_str(&text), hash_process_seed());
}

/* --- patches ---------------------------------------------------------------------- */

static void carry(struct arena *a, struct json *to, const struct json *from, const char *key)
{
	const struct json *value = json_getz(from, key);
	struct json *copy;

	if (value && json_copy(a, value, &copy, NULL) == 0)
		json_setz(to, key, copy);
	else
		json_remove(to, str_from(key));
}

static void restore_meta(struct admission_request *req, const struct admission_attr *attr,
			 struct json *doc, const struct json *object)
{
	struct arena *a = req->write->arena;
	struct json *meta = meta_of(doc);
	const struct json *own = meta_of(object);

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		carry(a, meta, own, kept[i]);
	/* A patch may set the name only if the client requested none. */
	if (attr->op != ADMIT_CREATE || req->write->name.n || !json_text_at(meta, "name").n)
		carry(a, meta, own, "name");
	else if (req->write->generated_from.n)
		req->write->generated_from = STR_NULL; /* now it has one */
}

static int take_own(struct admission_request *req, const struct admission_attr *attr,
		    const struct schema_kind *kind, struct json *doc, struct json *object,
		    bool *ret_changed, struct error *err)
{
	int r;

	if (!json_is(meta_of(doc), JSON_OBJECT))
		return error_set(err, ERR_INTERNAL, "the patch leaves no metadata");
	restore_meta(req, attr, doc, object);
	r = write_readmit(req->write, doc, kind, err);
	if (r < 0)
		return r;
	*ret_changed = !json_equal(doc, object);
	req->write->mutated |= *ret_changed;
	if (*ret_changed)
		json_assign(object, doc);
	return 0;
}

/* The options of a connection; connect/admit.c validates the changed ones. */
static int take_options(struct json *doc, struct json *options, bool *ret_changed,
			struct error *err)
{
	int r = connect_options_fit(doc, err);

	if (r < 0)
		return r;
	*ret_changed = !json_equal(doc, options);
	json_assign(options, doc);
	return 0;
}

/* A Scale changes the count of its object; a Binding and an Eviction stay as they are. */
static int take_foreign(struct admission_request *req, const struct admission_attr *attr,
			struct json *doc, struct json *object, bool *ret_changed, struct error *err)
{
	const struct schema_kind *kind = schema_find_kind(json_text_at(doc, "apiVersion"),
							  json_text_at(doc, "kind"));
	int r;

	if (attr->op == ADMIT_CONNECT)
		return take_options(doc, object, ret_changed, err);
	if (!kind)
		return error_set(err, ERR_BAD_REQUEST, "the object is of no kind any more");
	r = decode_fit(req->write->arena, doc, kind->type, NULL, err);
	if (r < 0)
		return r;
	*ret_changed = !json_equal(doc, attr->object);
	if (!str_eqz(attr->subresource, "scale")) {
		json_assign(object, doc);
		return 0;
	}
	req->write->mutated |= *ret_changed;
	if (!scale_set(req->write->arena, scale_paths(req->path_kind), object, doc))
		return error_set(err, ERR_BAD_REQUEST, "the object has no place for a count");
	return 0;
}

int admission_take(struct admission_request *req, const struct admission_attr *attr,
		   const struct schema_kind *kind, struct json *doc, struct json *object,
		   bool *ret_changed, struct error *err)
{
	*ret_changed = false;
	if (!json_is(doc, JSON_OBJECT))
		return error_set(err, ERR_INTERNAL, "the patch leaves no object");
	return attr->foreign ? take_foreign(req, attr, doc, object, ret_changed, err)
			     : take_own(req, attr, kind, doc, object, ret_changed, err);
}
