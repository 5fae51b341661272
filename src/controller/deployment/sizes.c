/*
 * Sums are of at most INT32_MAX each, so 64 bits hold sums of any number of ReplicaSets.
 */
#include "controller/deployment/sizes.h"

int64_t deployment_bounded(const struct json *object, const char *key, int64_t absent)
{
	int64_t v = json_i64_at(object, key, absent);

	return v < 0 ? 0 : MIN(v, (int64_t)INT32_MAX);
}

/* --- limits ---------------------------------------------------------------------------------- */

/* "25%" or 3. */
static int64_t scaled(const struct json *rolling, const char *key, int64_t total, bool up)
{
	struct str text = json_text_at(rolling, key);
	int64_t percent = 0;

	if (!text.p)
		return deployment_bounded(rolling, key, 0);
	if (!str_ends(text, STR("%")) || !str_to_i64(str_of(text.p, text.n - 1), &percent) ||
	    percent < 0)
		return 0;
	percent = MIN(percent, (int64_t)INT32_MAX) * total;
	return MIN((percent + (up ? 99 : 0)) / 100, (int64_t)INT32_MAX);
}

struct deployment_limits deployment_limits(const struct json *spec)
{
	const struct json *strategy = json_getz(spec, "strategy");
	const struct json *rolling = json_getz(strategy, "rollingUpdate");
	struct deployment_limits l = { .replicas = deployment_bounded(spec, "replicas", 1) };

	l.rolling = !str_eq(json_text_at(strategy, "type"), STR("Recreate"));
	if (!l.rolling)
		return l;
	l.surge = scaled(rolling, "maxSurge", l.replicas, true);
	l.unavailable = scaled(rolling, "maxUnavailable", l.replicas, false);
	if (l.surge == 0 && l.unavailable == 0)
		l.unavailable = 1;
	l.unavailable = MIN(l.unavailable, l.replicas);
	return l;
}

/* --- rolling --------------------------------------------------------------------------------- */

int64_t deployment_new_size(const struct deployment_limits *l, int64_t all, int64_t now)
{
	int64_t room = l->replicas + l->surge - all;

	if (!l->rolling || now >= l->replicas)
		return l->replicas;
	if (room <= 0)
		return now;
	return now + MIN(room, l->replicas - now);
}

/*
 * How many pods will surely stay available. Those beyond `replicas` are about to be deleted. If the
 * status is older than the spec, its controller may be at work with another size. Upstream relies
 * on the status in both cases, and may then scale down too far.
 */
static int64_t lasting(const struct deployment_size *s)
{
	return s->lagging ? 0 : MIN(s->available, s->replicas);
}

static int64_t unhealthy(const struct deployment_size *s)
{
	return s->lagging ? 0 : s->replicas - lasting(s);
}

static int64_t shrink(struct deployment_size *s, int64_t by)
{
	by = MIN(by, s->replicas);
	s->replicas -= by;
	return by;
}

/* Unhealthy pods are deleted first, so this does not lower availability. */
static int64_t shrink_unhealthy(struct deployment_size **old, size_t n, int64_t most)
{
	int64_t done = 0;

	for (size_t i = 0; i < n && done < most; i++) {
		if (unhealthy(old[i]) > 0)
			done += shrink(old[i], MIN(unhealthy(old[i]), most - done));
	}
	return done;
}

int64_t deployment_shrink_old(const struct deployment_limits *l, const struct deployment_size *now,
			      struct deployment_size **old, size_t n)
{
	int64_t least = l->replicas - l->unavailable, all = now->replicas;
	int64_t available = lasting(now), most, done, spare;

	for (size_t i = 0; i < n; i++) {
		all += old[i]->replicas;
		available += lasting(old[i]);
	}
	most = all - least - (now->replicas - lasting(now));
	if (most <= 0)
		return 0;
	done = shrink_unhealthy(old, n, most);
	spare = available - least;
	for (size_t i = 0; i < n && spare > 0; i++) {
		int64_t by = shrink(old[i], spare);

		spare -= by;
		done += by;
	}
	return done;
}

/* --- proportions ----------------------------------------------------------------------------- */

/* How much of a change a ReplicaSet should get, rounded to the nearest. */
static int64_t fraction(const struct deployment_limits *l, const struct deployment_size *s,
			int64_t was)
{
	int64_t before = s->max > 0 ? s->max : was;
	double size;

	if (l->replicas == 0)
		return -s->replicas;
	if (before <= 0)
		return 0;
	size = (double)s->replicas * (double)(l->replicas + l->surge) / (double)before;
	return (int64_t)(MIN(size, (double)INT32_MAX) + 0.5) - s->replicas;
}

void deployment_scale_proportionally(const struct deployment_limits *l,
				     struct deployment_size **active, size_t n, int64_t was)
{
	int64_t wanted = l->replicas > 0 ? l->replicas + l->surge : 0, left = wanted;

	for (size_t i = 0; i < n; i++)
		left -= active[i]->replicas;
	wanted = left;
	for (size_t i = 0; i < n && left != 0; i++) {
		int64_t part = fraction(l, active[i], was);

		part = wanted > 0 ? MIN(part, left) : MAX(part, left);
		active[i]->replicas += part;
		left -= part;
	}
	if (n > 0)
		active[0]->replicas = MAX(active[0]->replicas + left, (int64_t)0);
}
