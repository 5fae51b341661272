/*
 * Decides whether a write fits, and computes the new usage. First checks for every quota that
 * covers the object whether it can be decided at all, then adds up. Charges only if all quotas
 * allow it.
 */
#include "api/quota/quota.h"

#include "api/quota/quota_impl.h"

struct charge {
	const struct quota_request *rq;
	const struct quota_context *ctx;
	struct arena *arena;
};

/* Whether any name of the quota applies to the kind. */
static bool any_name(const struct charge *c, const struct quota *q)
{
	for (size_t i = 0; i < q->hard.n; i++)
		if (quota_kind_has(&c->rq->kind, c->ctx, q->hard.v[i].name))
			return true;
	return false;
}

static bool is_judged_by(const struct charge *c, const struct quota *q,
			 const struct quota_item *item)
{
	return any_name(c, q) && quota_covers(q, item);
}

static int check_required(const struct charge *c, const struct quota *q, struct error *err)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(8192);

	for (size_t i = 0; i < QUOTA_REQUIRED; i++) {
		struct str lacking = c->rq->item.lacking[i];

		if (lacking.n && amount_list_get(&q->hard, quota_required[i]))
			(void)buf_printf(&b, "%s%.*s for: %.*s", b.n ? "; " : "",
					 STR_ARG(quota_required[i]), STR_ARG(lacking));
	}
	if (!b.n)
		return 0;
	return error_set(err, ERR_FORBIDDEN, "failed quota: %.*s: must specify %s",
			 STR_ARG(q->name), b.p);
}

/* Fails if the controller has not computed the usage yet. */
static int check_known(const struct charge *c, const struct quota *q, struct error *err)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(8192);
	bool unknown = false;

	for (size_t i = 0; i < q->hard.n; i++) {
		struct str name = q->hard.v[i].name;

		if (!quota_kind_has(&c->rq->kind, c->ctx, name))
			continue;
		(void)buf_printf(&b, "%s%.*s", b.n ? "," : "", STR_ARG(name));
		unknown |= !amount_list_get(&q->used, name);
	}
	if (!unknown)
		return 0;
	return error_set(err, ERR_FORBIDDEN, "status unknown for quota: %.*s, resources: %s",
			 STR_ARG(q->name), b.p ? b.p : "");
}

static int check_sign(const struct charge *c, struct error *err)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(8192);
	const struct amount_list *usage = &c->rq->item.usage;

	for (size_t i = 0; i < usage->n; i++)
		if (quantity_sign(usage->v[i].q) < 0)
			(void)buf_printf(&b, "%s%.*s", b.n ? "," : "", STR_ARG(usage->v[i].name));
	if (!b.n)
		return 0;
	return error_set(err, ERR_FORBIDDEN, "quota usage is negative for resource(s): %s", b.p);
}

/* Returns what the write adds to the amounts that the quota limits, without zeros. */
static struct amount_list delta_of(const struct charge *c, const struct quota *q)
{
	const struct quota_item *old = c->rq->old;
	struct amount_list delta = c->rq->item.usage, masked = amount_list_new(c->arena);

	delta.arena = c->arena;
	if (old && is_judged_by(c, q, old))
		amount_list_reduce(&delta, &old->usage);
	masked.v = ARENA_ARRAY(c->arena, struct amount, delta.n + 1);
	for (size_t i = 0; i < delta.n; i++)
		if (quantity_sign(delta.v[i].q) != 0 && amount_list_get(&q->hard, delta.v[i].name))
			masked.v[masked.n++] = delta.v[i];
	return masked;
}

/* Returns the amounts of `l` whose names are in `names`. */
static struct amount_list masked(const struct amount_list *l, const struct amount_list *names,
				 struct arena *a)
{
	struct amount_list m = amount_list_new(a);

	m.v = ARENA_ARRAY(a, struct amount, names->n + 1);
	for (size_t i = 0; i < names->n; i++) {
		const struct quantity *q = amount_list_get(l, names->v[i].name);

		if (q)
			m.v[m.n++] = (struct amount){ names->v[i].name, *q };
	}
	return m;
}

static int charge_refuse(const struct charge *c, const struct quota *q,
			 const struct amount_list *exceeded, struct error *err)
{
	CLEANUP(buf_release) struct buf requested = BUF_INIT(8192);
	CLEANUP(buf_release) struct buf used = BUF_INIT(8192);
	CLEANUP(buf_release) struct buf limited = BUF_INIT(8192);
	struct amount_list u = masked(&q->used, exceeded, c->arena);
	struct amount_list h = masked(&q->hard, exceeded, c->arena);

	amount_list_print(exceeded, &requested);
	amount_list_print(&u, &used);
	amount_list_print(&h, &limited);
	return error_set(err, ERR_FORBIDDEN,
			 "exceeded quota: %.*s, requested: %.*s, used: %.*s, limited: %.*s",
			 STR_ARG(q->name), STR_ARG(buf_str(&requested)), STR_ARG(buf_str(&used)),
			 STR_ARG(buf_str(&limited)));
}

/* Computes the new usage of the quota. */
static int add_up(const struct charge *c, const struct quota *q, struct amount_list *ret_used,
		  struct error *err)
{
	struct amount_list delta = delta_of(c, q), used = q->used;
	struct amount_list exceeded = amount_list_new(c->arena);

	used.arena = c->arena;
	amount_list_add(&used, &delta);
	exceeded.v = ARENA_ARRAY(c->arena, struct amount, delta.n + 1);
	for (size_t i = 0; i < delta.n; i++) {
		const struct quantity *now = amount_list_get(&used, delta.v[i].name);
		const struct quantity *most = amount_list_get(&q->hard, delta.v[i].name);

		if (now && most && quantity_cmp(*now, *most) > 0)
			exceeded.v[exceeded.n++] = delta.v[i];
	}
	*ret_used = used;
	return exceeded.n && !c->rq->status_only ? charge_refuse(c, q, &exceeded, err) : 0;
}

static int check_quotas(const struct charge *c, const struct quota *quotas, size_t n, bool *judged,
			struct error *err)
{
	for (size_t i = 0; i < n; i++) {
		int r;

		judged[i] = is_judged_by(c, &quotas[i], &c->rq->item);
		if (!judged[i])
			continue;
		r = check_required(c, &quotas[i], err);
		if (r == 0)
			r = check_known(c, &quotas[i], err);
		if (r < 0)
			return r;
	}
	return check_sign(c, err);
}

int quota_charge(struct quota *quotas, size_t n, const struct quota_request *rq,
		 const struct quota_context *ctx, bool *ret_changed, struct error *err)
{
	struct charge c = { rq, ctx, n ? quotas[0].used.arena : NULL };
	struct amount_list *used;
	bool *judged;
	int r;

	*ret_changed = false;
	if (!n)
		return 0;
	judged = ARENA_ARRAY(c.arena, bool, n);
	used = ARENA_ARRAY(c.arena, struct amount_list, n);
	r = check_quotas(&c, quotas, n, judged, err);
	for (size_t i = 0; i < n && r == 0; i++)
		if (judged[i])
			r = add_up(&c, &quotas[i], &used[i], err);
	if (r < 0 || rq->dry_run)
		return r;
	for (size_t i = 0; i < n; i++) {
		if (!judged[i] || amount_list_equal(&used[i], &quotas[i].used))
			continue;
		quotas[i].used = used[i];
		quotas[i].changed = *ret_changed = true;
	}
	return 0;
}
