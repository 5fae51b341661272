/*
 * The write parks while it is charged and is then decided anew. When that yields the same usage, it
 * has been paid for. If it yields another usage because the stored object has changed meanwhile, or
 * if the charge has become too old, the write is charged again and the first charge is given back.
 * So is the charge of a write that fails, unless nobody knows whether the store has it.
 */
#include "server/admit_quota.h"

#include "server/quotas.h"
#include "server/server_impl.h"
#include "server/verb_impl.h"

enum { UNSURE_MAX = 100 }; /* commits that a refusal waits for; one or two are usual */

/* What a write remembers of its charge. */
struct paid {
	enum { PAID_NOTHING, PAID_WAITS, PAID_ALL, PAID_REFUSED } state;
	struct quota_wait wait;
	struct quota_item old;
	struct mutation *m;
	struct error err;
	bool unsure;
	bool hooked; /* on_over() will be called */
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

/* Where there is no quota at all, nothing is parsed. */
static bool any_quota(const struct mutation *m)
{
	return resource_count(state_quotas(m->state)) > 0;
}

bool admit_quota_concerns(const struct mutation *m)
{
	struct quota_kind k;

	return m->ns.n && (m->kind->flags & SCHEMA_NAMESPACED) && any_quota(m) &&
	       quota_kind_of(m->kind->group, m->kind->resource, &k) &&
	       may_concern(&k, m->op, m->write.subresource);
}

static void on_charged(struct quota_wait *w, const struct error *err, bool unsure)
{
	struct paid *p = CONTAINER_OF(w, struct paid, wait);

	p->state = err ? PAID_REFUSED : PAID_ALL;
	p->unsure = unsure;
	if (err) {
		p->err = *err;
		quotas_give_back(p->m->x->server->quotas, w);
	}
	mutation_resume(p->m);
}

/* A success whose last try needed no charge did not use it. */
static void on_over(struct mutation *m, void *arg, bool done)
{
	struct paid *p = arg;

	if (done ? !m->send_by : !m->in_doubt)
		quotas_give_back(m->x->server->quotas, &p->wait);
}

/* A refusal is told once: whoever asks again has it judged again. */
static int refuse(struct mutation *m, struct paid *p, struct error *err)
{
	p->state = PAID_NOTHING;
	if (p->unsure && ++p->waits < UNSURE_MAX)
		return mutation_park_for_commit(m, err);
	m->about_name = m->name;
	*err = p->err;
	return -(int)err->code;
}

/* Until when the write must be sent. */
static int64_t paid_until(const struct paid *p)
{
	return p->wait.begun_ms + QUOTA_CHARGE_MS;
}

/* Whether that is what was paid for, and not too long ago. */
static bool is_paid(const struct paid *p, const struct quota_item *item,
		    const struct quota_item *old, int64_t now_ms)
{
	const struct quota_request *rq = &p->wait.request;

	return p->state == PAID_ALL && now_ms < paid_until(p) &&
	       quota_item_equal(&rq->item, item) && !rq->old == !old &&
	       (!old || quota_item_equal(rq->old, old));
}

/* Values of the request outlive the tries; the trees that they are read from do not. */
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

static int pay(struct mutation *m, struct paid *p, const struct quota_kind *k,
	       const struct quota_item *item, const struct quota_item *old, struct error *err)
{
	struct quota_request *rq = &p->wait.request;
	struct arena *a = &m->x->work;
	int r;

	/* None of the tries until now was written. */
	if (p->state == PAID_ALL)
		quotas_give_back(m->x->server->quotas, &p->wait);
	if (!p->hooked)
		mutation_on_over(m, on_over, p);
	p->hooked = true;
	p->state = PAID_NOTHING;
	p->wait.ns = m->ns;
	p->wait.arena = a;
	p->wait.done = on_charged;
	rq->kind = *k;
	keep_item(&rq->item, item, a);
	if (old)
		keep_item(&p->old, old, a);
	r = mutation_check_memory(a, err);
	if (r < 0)
		return r;
	p->m = m;
	p->state = PAID_WAITS;
	rq->old = old ? &p->old : NULL;
	rq->dry_run = m->dry_run;
	rq->status_only = str_eq(m->write.subresource, STR("status"));
	quotas_charge(m->x->server->quotas, &p->wait);
	return mutation_park(m, err);
}

int admit_quota(struct mutation *m, const struct json *old, struct json *object, struct error *err)
{
	static const char key;
	struct quotas *quotas = m->x->server->quotas;
	struct quota_item item, before;
	struct quota_context ctx;
	struct quota_kind k;
	struct paid *p;
	int r;

	if (!quota_kind_of(m->kind->group, m->kind->resource, &k) ||
	    !quota_concerns(&k, m->write.subresource, old, object) ||
	    !quotas_limit(quotas, m->ns, &k, m->write.arena))
		return 0;
	p = mutation_memo(m, &key, sizeof(*p));
	if (p->state == PAID_REFUSED)
		return refuse(m, p, err);
	ctx = quotas_context(quotas, m->write.arena);
	quota_measure(&k, &ctx, object, m->write.arena, &item);
	if (old)
		quota_measure(&k, &ctx, old, m->write.arena, &before);
	r = mutation_check_memory(m->write.arena, err);
	if (r < 0)
		return r;
	if (is_paid(p, &item, old ? &before : NULL, loop_now(m->x->server->opts.loops[0]))) {
		m->send_by = p->wait.debits ? paid_until(p) : 0;
		return 0;
	}
	return pay(m, p, &k, &item, old ? &before : NULL, err);
}
