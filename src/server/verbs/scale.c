/*
 * The scale subresource: GET, UPDATE and PATCH of an object's replica count, implemented as reads
 * and writes of the object itself.
 */
#include "api/write/scale.h"
#include "server/http/reply.h"
#include "server/verbs/mutation.h"
#include "server/verbs/verb.h"

/* --- replies ---------------------------------------------------------------------- */

static void answer_tree(struct exchange *x, struct json *object)
{
	struct error err = { 0 };
	struct json *scale;

	write_from_storage(&x->work, object, x->kind);
	if (scale_get(&x->work, scale_paths(x->kind), object, &scale, &err) < 0)
		reply_error(x, &err, NULL);
	else
		reply_tree(x, 200, scale);
}

static void answer_object(struct exchange *x, const struct object *o)
{
	struct error err = { 0 };
	struct json *tree;

	if (object_tree(o, &x->work, &tree, &err) < 0)
		reply_error(x, &err, NULL);
	else
		answer_tree(x, tree);
}

/* --- writes ----------------------------------------------------------------------- */

static int scale_decode(struct mutation *m, struct error *err)
{
	return write_decode(&m->write, m->x->body, m->decoded.format, &m->req.tree, err);
}

static int decide_on(struct mutation *m, const struct json *old, struct json *scale,
		     struct json **ret_object, struct error *err)
{
	int r;

	r = scale_check(&m->write, scale, err);
	if (r < 0)
		return mutation_blame(m, scale_kind(), m->req.name, r);
	return scale_update(&m->write, old, scale, ret_object, err);
}

static int scale_decide(struct mutation *m, const struct json *old, struct json **ret_object,
			struct error *err)
{
	return decide_on(m, old, m->req.tree, ret_object, err);
}

/* Applies the patch to the Scale of the stored object, again for each try. */
static int decide_patch(struct mutation *m, const struct json *old, struct json **ret_object,
			struct error *err)
{
	struct json *scale;
	int r;

	if (m->decoded.patch_type == PATCH_APPLY) {
		r = scale_apply(&m->write, old, m->req.tree, ret_object, err);
		return r == -ERR_INVALID ? mutation_blame(m, scale_kind(), m->req.name, r) : r;
	}
	r = scale_patch(&m->write, old, m->decoded.patch_type, m->req.tree, &scale, err);
	if (r < 0)
		return r == -ERR_INVALID ? mutation_blame(m, scale_kind(), m->req.name, r) : r;
	return decide_on(m, old, scale, ret_object, err);
}

static void scale_answer(struct mutation *m)
{
	if (m->committed.shown)
		answer_tree(m->x, m->committed.shown);
	else
		answer_object(m->x, m->committed.object);
}

static const struct mutation_ops update_ops = {
	.decode = scale_decode,
	.decide = scale_decide,
	.answer = scale_answer,
};

static const struct mutation_ops patch_ops = {
	.decode = mutation_decode_patch,
	.decide = decide_patch,
	.answer = scale_answer,
};

static void update(struct exchange *x)
{
	struct str type = http_fields_get(&x->stream->in.fields, STR("content-type"));
	struct mutation *m = mutation_new(x, &update_ops);
	struct error err = { 0 };

	if (negotiate_body(type, &m->decoded.format, &err) < 0)
		mutation_refuse(m, &err);
	else
		mutation_start(m);
}

static void patch(struct exchange *x)
{
	struct mutation *m = mutation_new(x, &patch_ops);

	if (verb_patch_options(m))
		mutation_start(m);
}

void verb_scale(struct exchange *x)
{
	if (x->request.verb == REQUEST_GET)
		verb_get_object(x, answer_object);
	else if (x->request.verb == REQUEST_UPDATE)
		update(x);
	else
		patch(x);
}
