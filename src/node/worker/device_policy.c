/*
 * A case is a container id, so it ends with the container, or when all its devices have recovered.
 * There are never more cases than running containers.
 */
#include "node/worker/device_policy.h"

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/time/duration.h"

bool device_policy_parse(struct str text, enum device_policy_action *ret_action)
{
	static const char *const names[] = { "none", "fail", "restart", "evict" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!str_eqz(text, names[i]))
			continue;
		*ret_action = (enum device_policy_action)i;
		return true;
	}
	return false;
}

/* As much of a user's text as a message needs. */
static struct str head(struct str s, size_t n)
{
	return str_of(s.p, MIN(s.n, n));
}

struct device_policy device_policy_of(const struct pod *pod, const struct device_policy *node,
				      struct arena *a, struct str *ret_problem)
{
	const struct json *all = json_getz(pod->metadata, "annotations");
	const struct json *action = json_getz(all, DEVICE_POLICY_ANNOTATION);
	const struct json *grace = json_getz(all, DEVICE_POLICY_GRACE_ANNOTATION);
	struct device_policy p = *node;
	int64_t ns;

	*ret_problem = STR_NULL;
	if (action && !device_policy_parse(json_str(action), &p.action))
		*ret_problem = str_from(arena_printf(
			a, "annotation %s: \"%.*s\" is not none, fail, restart or evict; ignored",
			DEVICE_POLICY_ANNOTATION, STR_ARG(head(json_str(action), 64))));
	if (grace && duration_parse(json_str(grace), &ns, NULL) == 0 && ns >= 0)
		p.grace_ms = ns / CLOCK_MS;
	else if (grace)
		*ret_problem = str_from(arena_printf(
			a, "annotation %s: \"%.*s\" is not a duration such as 30s; ignored",
			DEVICE_POLICY_GRACE_ANNOTATION, STR_ARG(head(json_str(grace), 64))));
	return p;
}

/* --- cases --------------------------------------------------------------------------------- */

static struct device_policy_case *device_policy_find(struct device_policy_book *b, struct str id)
{
	for (size_t i = 0; i < b->cases.n; i++) {
		if (str_eqz(id, b->cases.v[i].container_id))
			return &b->cases.v[i];
	}
	return NULL;
}

void device_policy_release(struct device_policy_book *b)
{
	for (size_t i = 0; i < b->cases.n; i++)
		free(b->cases.v[i].container_id);
	vec_release(&b->cases);
}

void device_policy_again(struct device_policy_book *b, struct str container_id, int64_t now_ms)
{
	struct device_policy_case *c = device_policy_find(b, container_id);

	if (!c)
		return;
	c->done = false;
	c->since_ms = now_ms;
}

/* Finds the container's first unhealthy plugin device. */
static bool is_sick(const struct assign *s, const struct assign_use *uses, size_t n,
		    const struct runtime_container *c, struct device_policy_due *due)
{
	for (size_t i = 0; i < n; i++) {
		const struct assign_use *u = &uses[i];
		enum assign_health health = ASSIGN_UNKNOWN;
		struct str message = STR_NULL;

		if (u->pod_claim.n > 0 || u->past || !str_eq(u->container, c->name) ||
		    !assign_device_health(s, u->resource, u->id, &health, &message) ||
		    health != ASSIGN_UNHEALTHY)
			continue;
		*due = (struct device_policy_due){ .container = c->name,
						   .container_id = c->id,
						   .resource = u->resource,
						   .device = u->id,
						   .message = message };
		return true;
	}
	return false;
}

/* Moves cases of this call to the front; those behind them have ended. */
static struct device_policy_case *device_policy_keep(struct device_policy_book *b, size_t *nkept,
						     struct str id, int64_t now_ms)
{
	struct device_policy_case *c = device_policy_find(b, id), other;

	if (!c) {
		(void)vec_push(&b->cases, (struct device_policy_case){ .container_id = str_dup(id),
								       .since_ms = now_ms });
		c = &b->cases.v[b->cases.n - 1];
	}
	other = b->cases.v[*nkept];
	b->cases.v[*nkept] = *c;
	*c = other;
	return &b->cases.v[(*nkept)++];
}

/* Whether the container's grace period is over; else when it will be. */
static bool is_due(struct device_policy_case *c, const struct device_policy_input *in,
		   int64_t *wake_ms)
{
	int64_t at = c->since_ms + in->policy.grace_ms;

	if (!c->done && in->now_ms < at)
		*wake_ms = MIN(*wake_ms, at);
	return !c->done && in->now_ms >= at;
}

bool device_policy_look(struct device_policy_book *b, const struct device_policy_input *in,
			struct arena *a, struct device_policy_due *ret_due, int64_t *ret_wake_ms)
{
	const struct assign_use *uses = NULL;
	bool off = in->policy.action == DEVICE_POLICY_NONE || !in->seen, found = false;
	size_t n = off ? 0 : assign_uses(in->assign, in->pod->uid, a, &uses), nkept = 0;
	struct device_policy_due due;

	*ret_wake_ms = INT64_MAX;
	for (size_t i = 0; n > 0 && i < in->seen->ncontainers; i++) {
		const struct runtime_container *r = &in->seen->containers[i];
		struct device_policy_case *c;

		if (r->state != RUNTIME_RUNNING || !is_sick(in->assign, uses, n, r, &due))
			continue;
		c = device_policy_keep(b, &nkept, r->id, in->now_ms);
		if (!is_due(c, in, ret_wake_ms))
			continue;
		if (found) {
			*ret_wake_ms = in->now_ms;
			continue;
		}
		c->done = found = true;
		*ret_due = due;
	}
	while (b->cases.n > nkept)
		free(b->cases.v[--b->cases.n].container_id);
	return found;
}
