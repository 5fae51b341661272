/*
 * CREATE, and the subresources that are created: a Binding, an Eviction. If a generated name is
 * taken, another one is generated, as often as upstream does.
 */
#include "api/quota/disruption.h"
#include "server/core/parts.h"
#include "server/http/metrics.h"
#include "server/http/reply.h"
#include "server/plugins/table.h"
#include "server/verbs/evict.h"
#include "server/verbs/mutation.h"
#include "server/verbs/verb.h"

enum { NAMES_MAX = 8 };

/* --- objects ---------------------------------------------------------------------- */

static int create_decode(struct mutation *m, struct error *err)
{
	return write_decode(&m->write, m->x->body, m->decoded.format, &m->req.tree, err);
}

static struct str create_name_of(const struct json *object)
{
	return json_text_at(json_getz(object, "metadata"), "name");
}

static void refuse_taken(struct mutation *m)
{
	struct error err = { .code = ERR_ALREADY_EXISTS };
	struct str group = m->write.kind->group;

	m->req.about.name = m->req.name;
	if (m->write.generated_from.n) {
		m->req.about.retry_after_s = 1;
		(void)error_set(&err, ERR_ALREADY_EXISTS,
				"%.*s%s%.*s \"%.*s\" already exists, the server was not able to "
				"generate a unique name for the object",
				STR_ARG(m->write.kind->resource), group.n ? "." : "",
				STR_ARG(group), STR_ARG(m->req.name));
	}
	mutation_fail(m, &err);
}

/* Forgets why an earlier try was rejected. A rejection does not show a generated name. */
static void reset_about(struct mutation *m, const struct json *object)
{
	m->req.about = (struct about){
		.name = m->write.generated_from.n ? STR_NULL : create_name_of(object),
		.annotations = m->req.about.annotations,
	};
}

static void place_again(struct mutation *m);

/*
 * The object is complete: finds a free name and commits. Also called if the name was taken
 * meanwhile.
 */
static void create_place(struct mutation *m)
{
	struct json *object = m->decided.object;

	m->req.name = create_name_of(object);
	for (int i = 1; mutation_base(m); i++) {
		if (!m->write.generated_from.n || i == NAMES_MAX) {
			if (!mutation_wait(m, place_again))
				refuse_taken(m);
			return;
		}
		write_rename(&m->write, object);
		m->req.name = create_name_of(object);
	}
	mutation_commit(m, place_again);
}

/* Its namespace or kind may have been deleted while it waited. */
static void place_again(struct mutation *m)
{
	struct error err = { 0 };

	if (m->req.cancelled) {
		mutation_fail(m, m->req.cancelled);
		return;
	}
	m->again = place_again;
	reset_about(m, m->decided.object);
	if (mutation_check_home(m, &err) == 0)
		create_place(m);
	else if (!m->req.parked)
		mutation_fail(m, &err);
}

static void create_attempt(struct mutation *m)
{
	struct error err = { 0 };
	int r;

	reset_about(m, m->req.tree);
	m->decided.status = 201;
	m->again = mutation_again;
	r = mutation_check_home(m, &err);
	if (r == 0) {
		mutation_prepare_tip(&m->req);
		r = write_create(&m->write, m->req.tree, &m->decided.object, &err);
	}
	server_metrics_compiled(m->x->server->counts, m->write.compile_steps);
	if (r == 0)
		r = admission_check_memory(m->write.arena, &err);
	if (m->req.parked)
		return;
	if (r == 0)
		create_place(m);
	else if (!mutation_wait(m, mutation_again))
		mutation_fail(m, &err);
}

/* Its home was checked. The state checks that the name is free. */
static int create_draft(struct mutation *m, struct json **ret_object, struct error *err)
{
	int r;

	reset_about(m, m->req.tree);
	m->decided.status = 201;
	r = write_create(&m->write, m->req.tree, ret_object, err);
	if (r == 0)
		m->req.name = create_name_of(*ret_object);
	return r;
}

static const struct mutation_ops create_ops = {
	.decode = create_decode,
	.attempt = create_attempt,
	.drafts = true,
	.draft_new = create_draft,
};

/* --- bindings --------------------------------------------------------------------- */

static void answer_success(struct mutation *m)
{
	reply_success(m->x, m->decided.status);
}

/* As upstream, an object in a body must not name another namespace than the path. */
static int check_body_namespace(const struct mutation *m, struct error *err)
{
	struct str ns = json_text_at(json_getz(m->req.tree, "metadata"), "namespace");

	if (!ns.n || str_eq(ns, m->req.ns))
		return 0;
	return error_set(err, ERR_BAD_REQUEST,
			 "the namespace of the provided object does not match the namespace sent "
			 "on the request");
}

static int decode_binding(struct mutation *m, struct error *err)
{
	int r;

	r = create_decode(m, err);
	if (r == 0)
		r = check_body_namespace(m, err);
	/* POST .../bindings has the name only in the body. */
	if (r == 0 && !m->req.name.n) {
		m->req.name = m->write.name = create_name_of(m->req.tree);
		if (!m->req.name.n)
			r = error_set(err, ERR_BAD_REQUEST, "name must be provided");
	}
	return r;
}

static int decide_binding(struct mutation *m, const struct json *old, struct json **ret_object,
			  struct error *err)
{
	int r;

	m->decided.status = 201;
	r = admission_mutate_foreign(&m->req, m->req.tree, err);
	return r < 0 ? r : write_bind(&m->write, old, m->req.tree, ret_object, err);
}

static const struct mutation_ops binding_ops = {
	.decode = decode_binding,
	.decide = decide_binding,
	.answer = answer_success,
};

/* --- evictions -------------------------------------------------------------------- */

static int decode_eviction(struct mutation *m, struct error *err)
{
	int r;

	r = create_decode(m, err);
	return r < 0 ? r : check_body_namespace(m, err);
}

static int decide_eviction(struct mutation *m, const struct json *old, struct json **ret_object,
			   struct error *err)
{
	struct delete_options options;
	int r;

	m->decided.status = 201;
	r = admission_mutate_foreign(&m->req, m->req.tree, err);
	if (r == 0)
		r = write_evict(&m->write, old, m->req.tree, &options, err);
	if (r < 0)
		return r;
	m->req.dry_run = m->req.dry_run || options.dry_run;
	r = evict_ask_budget(&m->req, old, err);
	if (r < 0)
		return r;
	r = write_delete(&m->write, old, &options, ret_object, err);
	if (r == 0 && *ret_object)
		disruption_mark(m->write.arena, *ret_object, m->write.now_ns);
	return r;
}

static const struct mutation_ops eviction_ops = {
	.decode = decode_eviction,
	.decide = decide_eviction,
	.answer = answer_success,
};

/* --- the verb --------------------------------------------------------------------- */

/* A kind that is not stored: to create it writes an object of another kind. */
struct create_kind {
	struct str subresource; /* of the object that is written */
	/* The kind may also have a collection, which names the object in the body alone. */
	struct str collection; /* storage name; p NULL: none */
	struct str resource; /* of the object that is written, in core/v1 */
	const struct mutation_ops *ops;
};

static const struct create_kind create_kinds[] = {
	{ STR("binding"), STR("core/bindings"), STR("pods"), &binding_ops },
	{ STR("eviction"), STR_NULL, STR("pods"), &eviction_ops },
};

/* Returns NULL for an object that is stored as it is created. */
static const struct create_kind *create_kind_of(const struct exchange *x)
{
	for (size_t i = 0; i < ARRAY_SIZE(create_kinds); i++) {
		const struct create_kind *k = &create_kinds[i];

		if (str_eq(x->request.subresource, k->subresource) ||
		    str_eq(x->kind->storage_name, k->collection))
			return k;
	}
	return NULL;
}

/* If the request is to the collection, it becomes one to the subresource. */
static void aim_at_object(struct mutation *m, const struct create_kind *k)
{
	if (m->x->sub)
		return;
	m->write.kind = schema_find_resource(STR(""), STR("v1"), k->resource);
	m->write.subresource = k->subresource;
	m->req.foreign = true;
}

void verb_create(struct exchange *x)
{
	const struct create_kind *kind = create_kind_of(x);
	struct mutation *m;
	struct error err = { 0 };

	if (!kind && x->sub) {
		reply_error(x, &(struct error){ .code = ERR_METHOD_NOT_ALLOWED }, NULL);
		return;
	}
	m = mutation_new(x, kind ? kind->ops : &create_ops);
	if (verb_body_format(m, &err) < 0) {
		mutation_refuse(m, &err);
		return;
	}
	if (kind)
		aim_at_object(m, kind);
	mutation_start(m);
}
