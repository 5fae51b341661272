/*
 * The steps of a review: decode on the stream's loop, fill in at the state, reply. Table rows map
 * kinds to functions.
 */
#include "server/verbs/review.h"

#include "server/authz/authz.h"
#include "server/core/parts.h"
#include "server/http/reply.h"
#include "server/verbs/mutation.h"

static const struct {
	struct str kind;
	int (*run)(struct review *r, struct error *err);
} rows[] = {
	{ { "SubjectAccessReview", 19 }, review_subject_access },
	{ { "SelfSubjectAccessReview", 23 }, review_self_subject_access },
	{ { "LocalSubjectAccessReview", 24 }, review_local_subject_access },
	{ { "SelfSubjectRulesReview", 22 }, review_self_subject_rules },
	{ { "TokenReview", 11 }, review_token },
	{ { "SelfSubjectReview", 17 }, review_self_subject },
	{ { "TokenRequest", 12 }, review_token_request },
};

struct course {
	struct review review;
	struct write write;
	struct error err;
};

/* Nodes get tokens only for their own pods. */
static int admit(struct review *r, struct error *err)
{
	const struct request *q = &r->x->request;

	if (!str_eqz(r->kind->kind, "TokenRequest"))
		return 0;
	return authz_admit_token(r->server->authz, &r->x->user,
				 (struct authz_account){ q->ns, q->name }, r->tree, r->arena, err);
}

static int fill_in(struct review *r, struct error *err)
{
	int ret = admit(r, err);

	if (ret < 0)
		return ret;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (str_eq(rows[i].kind, r->kind->kind))
			return rows[i].run(r, err);
	return error_set(err, ERR_METHOD_NOT_ALLOWED, "nobody answers a %.*s",
			 STR_ARG(r->kind->kind));
}

static void review_answer(struct state *st, struct job *j, const struct error *err)
{
	struct course *c = exchange_of(j)->data;

	c->review.state = st;
	if (err)
		c->err = *err;
	else
		(void)fill_in(&c->review, &c->err);
	job_finish(j);
}

/* The review sees every acknowledged write: the account of a token, a role. */
static void review_run(struct state *st, struct job *j)
{
	state_sync(st, j, 0, review_answer);
}

static void review_finish(struct exchange *x)
{
	struct course *c = x->data;
	struct review *r = &c->review;

	x->write = &c->write;
	if (r->about_kind) {
		x->about.kind = r->about_kind;
		x->about.name = r->about_name;
	}
	if (c->err.code)
		reply_error(x, &c->err, field_errors_any(&r->errs) ? &r->errs : NULL);
	else
		reply_tree(x, r->status, r->tree);
}

/* The kind of the body: the resource's own or, for a subresource, another. */
static const struct schema_kind *body_kind(const struct exchange *x)
{
	const struct schema_subresource *s = x->sub;

	if (!s)
		return x->kind;
	return schema_find_kind(str_from(arena_printf(x->arena, "%.*s/%.*s", STR_ARG(s->group),
						      STR_ARG(s->version))),
				s->kind);
}

static struct course *course_new(struct exchange *x)
{
	struct course *c = ARENA_NEW(&x->work, struct course);

	c->review = (struct review){
		.x = x, .server = x->server, .arena = &x->work, .kind = body_kind(x), .status = 201
	};
	field_errors_init(&c->review.errs, &x->work);
	c->write = (struct write){ .arena = &x->work,
				   .kind = c->review.kind,
				   .gates = &x->server->gates,
				   .now_ns = x->wall_ns,
				   .options = x->request.write };
	write_init(&c->write);
	c->review.warnings = &c->write.warnings;
	return c;
}

void verb_review(struct exchange *x)
{
	struct str type = http_fields_get(&x->stream->in.fields, STR("content-type"));
	struct course *c = course_new(x);
	enum decode_format format;
	struct error err = { 0 };
	int r;

	x->data = c;
	r = negotiate_body(type, &format, &err);
	if (r == 0)
		r = write_decode(&c->write, x->body, format, &c->review.tree, &err);
	if (r < 0) {
		x->write = &c->write;
		reply_error(x, &err, NULL);
		return;
	}
	exchange_submit(x, review_run, review_finish);
}
