/*
 * DELETE of one object. The reply depends on the outcome: the object if it stays (finalizers,
 * grace period); if it was deleted, the object or a Status, depending on its kind.
 */
#include "server/custom/custom.h"
#include "server/http/reply.h"
#include "server/verbs/mutation.h"
#include "server/verbs/verb.h"

/* --- options ---------------------------------------------------------------------- */

/* The query's parameters as the tree of a body. */
static int options_of_query(const struct request *r, struct arena *a, struct json **ret_tree,
			    struct error *err)
{
	struct json *tree = json_make_object(a), *values;
	int64_t grace;

	if (r->grace.n) {
		if (!str_to_i64(r->grace, &grace))
			return error_set(err, ERR_BAD_REQUEST,
					 "strconv.ParseInt: parsing \"%.*s\": invalid syntax",
					 STR_ARG(r->grace));
		json_add(tree, STR("gracePeriodSeconds"), json_make_i64(a, grace));
	}
	if (r->propagation.n)
		json_add(tree, STR("propagationPolicy"), json_make_str(a, r->propagation));
	if (r->orphan_given)
		json_add(tree, STR("orphanDependents"), json_make_bool(a, r->orphan));
	if (r->dry_run) {
		values = json_make_array(a);
		json_append(values, json_make_str(a, STR("All")));
		json_add(tree, STR("dryRun"), values);
	}
	*ret_tree = tree;
	return 0;
}

static int options_of_body(struct mutation *m, struct json **ret_tree, struct error *err)
{
	struct exchange *x = m->x;
	struct str type = http_fields_get(&x->stream->in.fields, STR("content-type")), kind;
	const struct schema_type *options = schema_delete_options();
	struct decode_report report = { 0 };
	int r;

	r = negotiate_body(type, &m->decoded.format, err);
	if (r == 0)
		r = decode_body(&x->work, x->body, m->decoded.format, schema_kind_of(options),
				&report, ret_tree, err);
	if (r < 0)
		return r;
	kind = json_text_at(*ret_tree, "kind");
	if (!json_is(*ret_tree, JSON_OBJECT) || (kind.n && !str_eq(kind, STR("DeleteOptions"))))
		return error_set(err, ERR_BAD_REQUEST,
				 "decoded object cannot be converted to DeleteOptions");
	return decode_fit(&x->work, *ret_tree, options, &report, err);
}

bool mutation_delete_options(struct mutation *m)
{
	struct exchange *x = m->x;
	struct error err = { 0 };
	int r;

	if (x->body.n)
		r = options_of_body(m, &m->req.tree, &err);
	else
		r = options_of_query(&x->request, &x->work, &m->req.tree, &err);
	if (r == 0)
		r = write_delete_options(&m->write, m->req.tree, &m->decoded.options, &err);
	if (r < 0) {
		reply_bad_options(x, "DeleteOptions", &err, &m->write.errs);
		return false;
	}
	m->req.dry_run = m->req.dry_run || m->decoded.options.dry_run;
	return true;
}

/* --- the verb --------------------------------------------------------------------- */

/* Why an object that the server needs must not be deleted; NULL if it may. */
static const char *immortal(const struct schema_kind *k, struct str name)
{
	static const struct {
		struct str kind;
		const char *name, *why;
	} all[] = {
		{ STR("core/namespaces"), "default", "this namespace may not be deleted" },
		{ STR("core/namespaces"), "kube-system", "this namespace may not be deleted" },
		{ STR("core/namespaces"), "kube-public", "this namespace may not be deleted" },
		{ STR("scheduling.k8s.io/priorityclasses"), "system-node-critical",
		  "this is a system priority class and cannot be deleted" },
		{ STR("scheduling.k8s.io/priorityclasses"), "system-cluster-critical",
		  "this is a system priority class and cannot be deleted" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (str_eq(k->storage_name, all[i].kind) && str_eqz(name, all[i].name))
			return all[i].why;
	return NULL;
}

static int delete_decide(struct mutation *m, const struct json *old, struct json **ret_object,
			 struct error *err)
{
	const char *why = immortal(m->write.kind, m->req.name);

	if (why)
		return error_set(err, ERR_FORBIDDEN, "%s", why);
	old = custom_delete_base(&m->write, old);
	return write_delete(&m->write, old, &m->decoded.options, ret_object, err);
}

static void delete_answer(struct mutation *m)
{
	const struct mutation_committed *c = &m->committed;
	bool gone = !m->decided.object, orphan = true,
	     whole = m->write.kind->flags & SCHEMA_RETURN_DELETED;
	int status;

	/*
	 * 202 is only for clients that use orphanDependents, the oldest form; others would not
	 * expect it.
	 */
	(void)json_bool(json_getz(m->req.tree, "orphanDependents"), &orphan);
	status = !gone && !orphan ? 202 : 200;
	if (gone) {
		if (whole)
			reply_object(m->x, status, c->object);
		else
			reply_deleted(m->x, m->req.name, c->object->uid);
	} else if (c->shown) {
		mutation_reply_shown(m, status);
	} else {
		reply_object(m->x, status, c->object);
	}
}

static const struct mutation_ops delete_ops = {
	.decide = delete_decide,
	.answer = delete_answer,
	.drafts = true,
};

void verb_delete(struct exchange *x)
{
	struct mutation *m = mutation_new(x, &delete_ops);

	if (mutation_delete_options(m))
		mutation_start(m);
}
