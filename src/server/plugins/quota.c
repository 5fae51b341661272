/*
 * The write is parked while it is charged, and then decided again. If the usage is the same, it
 * has been paid for. If the usage differs because the stored object has changed meanwhile, or if
 * the charge is too old, the write is charged again and the first charge is refunded. The charge
 * of a failed write is refunded too, unless it is unknown whether the store has the write.
 */
#include "server/plugins/quota.h"

#include "server/admission/request.h"
#include "server/core/parts.h"
#include "server/plugins/quotas.h"

enum { UNSURE_MAX = 100 }; /* commits that a rejection waits for; one or two are usual */

/* The charge of a write. */
struct paid {
	enum { PAID_NOTHING, PAID_WAITS, PAID_ALL, PAID_REFUSED } state;
	struct quota_wait wait;
	struct quota_item old;
	struct admission_request *req;
	struct error err;
	bool unsure;
	bool hooked; /* quota_on_over() will be called */
	int waits;
};

static bool may_concern(const struct quota_kind *k, unsigned op, struct str sub)
{
	if (op == ADMIT_CREATE)
		return !sub.n;
	switch (k->sort) {
	case QUOTA_PODS:
		return !sub.n || str_eq(sub, STR("resize"));
	case QUOTA_VOLUME_CLAIMS:
		return !sub.n || str_eq(sub, STR("status"));
	case QUOTA_SERVICES:
	case QUOTA_DEVICE_CLAIMS:
		return !sub.n;
	default:
		return false;
	}
}

bool admit_quota_concerns(const struct admission_request *req)
{
	struct quota_kind k;

	/* Without any quota, nothing is parsed. */
	return req->ns.n && (req->write->kind->flags & SCHEMA_NAMESPACED) &&
	       resource_count(state_quotas(req->state)) > 0 &&
	       quota_kind_of(req->write->kind->group, req->write->kind->resource, &k) &&
	       may_concern(&k, req->op, req->write->subresource);
}

static void on_charged(struct quota_wait *w, const struct error *err, bool unsure)
{
	struct paid *p = CONTAINER_OF(w, struct paid, wait);

	p->state = err ? PAID_REFUSED : PAID_ALL;
	p->unsure = unsure;
	if (err) {
		p->err = *err;
		quotas_give_back(p->req->server->quotas, w);
	}
	admission_resume(p->req);
}

/* If the write succeeded and its last try needed no charge, the charge was not used. */
static void quota_on_over(struct admission_request *req, void *arg, const struct error *err)
{
	struct paid *p = arg;

	if (err ? !req->in_doubt : !req->terms.send_by)
		quotas_give_back(req->server->quotas, &p->wait);
}

/* A rejection is returned once; the next try is checked again. */
static int quota_refuse(struct admission_request *req, struct paid *p, struct error *err)
{
	p->state = PAID_NOTHING;
	if (p->unsure && ++p->waits < UNSURE_MAX)
		return admission_park_for_commit(req, err);
	req->about.name = req->name;
	return error_copy(err, &p->err);
}

/* Deadline for sending the write. */
static int64_t paid_until(const struct paid *p)
{
	return p->wait.begun_ms + QUOTA_CHARGE_MS;
}

/* Whether this usage has been paid for, and recently enough. */
static bool is_paid(const struct paid *p, const struct quota_item *item,
		    const struct quota_item *old, int64_t now_ms)
{
	const struct quota_request *rq = &p->wait.request;

	return p->state == PAID_ALL && now_ms < paid_until(p) &&
	       quota_item_equal(&rq->item, item) && !rq->old == !old &&
	       (!old || quota_item_equal(rq->old, old));
}

/* The request's values outlive the tries; the trees that they are read from do not. */
static void keep_item(struct quota_item *to, const struct quota_item *from, struct arena *a)
{
	*to = *from;
	to->usage = amount_list_copy(&from->usage, a);
	to->priority_class = arena_str(a, from->priority_class);
	for (size_t i = 0; i < QUOTA_VOLUME_CLASSES; i++)
		to->volume_classes[i] = arena_str(a, from->volume_classes[i]);
	for (size_t i = 0; i < QUOTA_REQUIRED; i++)
		to->lacking[i] = arena_str(a, from->lacking[i]);
}

static int pay(struct admission_request *req, struct paid *p, const struct quota_kind *k,
	       const struct quota_item *item, const struct quota_item *old, struct error *err)
{
	struct quota_request *rq = &p->wait.request;
	struct arena *a = req->work;
	int r;

	/* No earlier try was written. */
	if (p->state == PAID_ALL)
		quotas_give_back(req->server->quotas, &p->wait);
	if (!p->hooked)
		admission_on_over(req, quota_on_over, p);
	p->hooked = true;
	p->state = PAID_NOTHING;
	p->wait.ns = req->ns;
	p->wait.arena = a;
	p->wait.done = on_charged;
	rq->kind = *k;
	keep_item(&rq->item, item, a);
	if (old)
		keep_item(&p->old, old, a);
	r = admission_check_memory(a, err);
	if (r < 0)
		return r;
	p->req = req;
	p->state = PAID_WAITS;
	rq->old = old ? &p->old : NULL;
	rq->dry_run = req->dry_run;
	rq->status_only = str_eq(req->write->subresource, STR("status"));
	quotas_charge(req->server->quotas, &p->wait);
	return admission_park(req, err);
}

int admit_quota(struct admission_request *req, const struct json *old, struct json *object,
		struct error *err)
{
	static const char key;
	struct quotas *quotas = req->server->quotas;
	struct quota_item item, before;
	struct quota_context ctx;
	struct quota_kind k;
	struct paid *p;
	int r;

	if (!quota_kind_of(req->write->kind->group, req->write->kind->resource, &k) ||
	    !quota_concerns(&k, req->write->subresource, old, object) ||
	    !quotas_limit(quotas, req->ns, &k, req->write->arena))
		return 0;
	p = admission_memo(req, &key, sizeof(*p));
	if (p->state == PAID_REFUSED)
		return quota_refuse(req, p, err);
	ctx = quotas_context(quotas, req->write->arena);
	quota_measure(&k, &ctx, object, req->write->arena, &item);
	if (old)
		quota_measure(&k, &ctx, old, req->write->arena, &before);
	r = admission_check_memory(req->write->arena, err);
	if (r < 0)
		return r;
	if (is_paid(p, &item, old ? &before : NULL, loop_now(req->server->opts.loops[0]))) {
		req->terms.send_by = p->wait.debits ? paid_until(p) : 0;
		return 0;
	}
	return pay(req, p, &k, &item, old ? &before : NULL, err);
}
