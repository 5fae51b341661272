/*
 * The points after the decision that end at once: reserve, unreserve, permit, post_bind.
 * (pre_bind and bind take their time: binding.c.)
 */
#include "scheduler/framework/profile_metrics.h"

/* The longest that a plugin of permit may make a pod wait. */
enum { PERMIT_MAX_MS = 15 * 60 * 1000 };

static struct verdict reserve_all(struct profile *p, struct cycle *c, struct str node)
{
	for (size_t i = 0; i < p->reserve.n; i++) {
		struct plugin *pl = &p->plugins[p->reserve.at[i]];
		int64_t since = profile_now(p);
		struct verdict v;

		if (!pl->kind->reserve)
			continue;
		v = pl->kind->reserve(pl, c, node);
		profile_took(p, c, pl, MEASURE_RESERVE, v.code, since);
		v.plugin = pl;
		if (verdict_rejects(&v))
			return v;
		if (v.code != VERDICT_SUCCESS)
			return profile_failure(&c->arena, "running Reserve plugin", pl, "", &v);
	}
	return VERDICT_OK;
}

struct verdict profile_reserve(struct profile *p, struct cycle *c, struct str node)
{
	int64_t since = profile_now(p);
	struct verdict v = reserve_all(p, c, node);

	profile_took(p, c, NULL, MEASURE_RESERVE, v.code, since);
	if (v.code != VERDICT_SUCCESS)
		profile_unreserve(p, c, node);
	return v;
}

/*
 * Calls all plugins, even those whose reserve was not called, as upstream does. Plugins must accept
 * that.
 */
void profile_unreserve(struct profile *p, struct cycle *c, struct str node)
{
	int64_t since = profile_now(p);

	for (size_t i = p->reserve.n; i-- > 0;) {
		struct plugin *pl = &p->plugins[p->reserve.at[i]];

		if (pl->kind->unreserve)
			pl->kind->unreserve(pl, c, node);
	}
	profile_took(p, c, NULL, MEASURE_UNRESERVE, VERDICT_SUCCESS, since);
}

static struct verdict permit_all(struct profile *p, struct cycle *c, struct str node,
				 uint64_t *ret_waiting, int64_t ret_timeout_ms[PLUGINS_MAX])
{
	struct verdict waits = VERDICT_OK;

	for (size_t i = 0; i < p->permit.n; i++) {
		struct plugin *pl = &p->plugins[p->permit.at[i]];
		int64_t since = profile_now(p), timeout = 0;
		struct verdict v = pl->kind->permit(pl, c, node, &timeout);

		profile_took(p, c, pl, MEASURE_PERMIT, v.code, since);
		v.plugin = pl;
		if (verdict_rejects(&v))
			return v;
		if (v.code == VERDICT_WAIT) {
			ret_timeout_ms[pl->at] = MIN(timeout, (int64_t)PERMIT_MAX_MS);
			*ret_waiting |= UINT64_C(1) << pl->at;
			waits = v;
		} else if (v.code != VERDICT_SUCCESS) {
			return profile_failure(&c->arena, "running Permit plugin", pl, "", &v);
		}
	}
	return waits;
}

struct verdict profile_permit(struct profile *p, struct cycle *c, struct str node,
			      uint64_t *ret_waiting, int64_t ret_timeout_ms[PLUGINS_MAX])
{
	int64_t since = profile_now(p);
	struct verdict v;

	*ret_waiting = 0;
	v = permit_all(p, c, node, ret_waiting, ret_timeout_ms);
	if (v.code == VERDICT_WAIT)
		verdict_add(&c->arena, &v,
			    STR("one or more plugins asked to wait and no plugin rejected pod"));
	else
		*ret_waiting = 0;
	profile_took(p, c, NULL, MEASURE_PERMIT, v.code, since);
	return v;
}

void profile_post_bind(struct profile *p, struct cycle *c, struct str node)
{
	int64_t since = profile_now(p);

	for (size_t i = 0; i < p->post_bind.n; i++) {
		struct plugin *pl = &p->plugins[p->post_bind.at[i]];

		pl->kind->post_bind(pl, c, node);
	}
	profile_took(p, c, NULL, MEASURE_POST_BIND, VERDICT_SUCCESS, since);
}
