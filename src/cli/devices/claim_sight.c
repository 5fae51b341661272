/*
 * Answers are cached: a cluster has far fewer namespaces than claims.
 */
#include "cli/devices/claim_sight.h"

#include "base/core/clock.h"
#include "base/core/map.h"
#include "cli/connect/kube.h"

enum { ANSWER_S = 60, FAILURE_S = 5 };

/* The cached answer for a namespace, or for all. */
struct answer {
	bool may;
	int64_t until; /* monotonic ns; 0: no answer */
};

struct claim_sight {
	struct arena *arena;
	const struct clock *clock;
	int (*ask)(void *arg, struct str ns, bool *ret_may); /* NULL: the answers are final */
	void *arg;
	struct answer all;
	struct map namespaces; /* name -> struct answer */
	int64_t silent_until; /* after a failure: do not ask before */
};

static void claim_sight_release(void *sight)
{
	map_release(&((struct claim_sight *)sight)->namespaces);
}

struct claim_sight *claim_sight_asking(struct arena *a, const struct clock *clock,
				       int (*ask)(void *arg, struct str ns, bool *ret_may),
				       void *arg)
{
	struct claim_sight *s = ARENA_NEW(a, struct claim_sight);

	*s = (struct claim_sight){ .arena = a, .clock = clock, .ask = ask, .arg = arg };
	map_init(&s->namespaces);
	arena_hold(a, claim_sight_release, s);
	return s;
}

static int ask_server(void *arg, struct str ns, bool *ret_may)
{
	struct resource claims = resource_builtin("resource.k8s.io", "v1", "resourceclaims");
	struct error err;

	return kube_may(arg, "get", &claims, ns, ret_may, &err);
}

struct claim_sight *claim_sight_new(struct kube *k)
{
	return claim_sight_asking(&k->cli->arena, loop_clock(k->loop), ask_server, k);
}

static struct answer *answer_of(struct claim_sight *s, struct str ns)
{
	struct answer *known = map_get(&s->namespaces, ns);

	if (known)
		return known;
	known = ARENA_NEW(s->arena, struct answer);
	*known = (struct answer){ 0 };
	(void)map_put(&s->namespaces, arena_str(s->arena, ns), known);
	return known;
}

struct claim_sight *claim_sight_known(struct arena *a, bool all, const struct str *namespaces,
				      size_t n)
{
	struct claim_sight *s = claim_sight_asking(a, NULL, NULL, NULL);

	s->all.may = all;
	for (size_t i = 0; i < n; i++)
		answer_of(s, namespaces[i])->may = true;
	return s;
}

/* Asks again if the answer has expired, but not for a while after a failure. */
static bool know(struct claim_sight *s, struct answer *known, struct str ns)
{
	int64_t now;

	if (!s->ask)
		return known->may;
	now = clock_monotonic(s->clock);
	if (known->until > now)
		return known->may;
	*known = (struct answer){ 0 };
	if (s->silent_until > now)
		return false;
	if (s->ask(s->arg, ns, &known->may) < 0) {
		s->silent_until = clock_monotonic(s->clock) + FAILURE_S * CLOCK_SEC;
		return false;
	}
	known->until = clock_monotonic(s->clock) + ANSWER_S * CLOCK_SEC;
	return known->may;
}

bool claim_sight_may(struct claim_sight *s, struct str ns)
{
	return know(s, &s->all, STR_NULL) || (ns.n > 0 && know(s, answer_of(s, ns), ns));
}

bool claim_sight_may_name(void *sight, struct str ns)
{
	return claim_sight_may(sight, ns);
}

struct str claim_sight_message(struct arena *a, bool (*may)(void *arg, struct str ns), void *arg,
			       struct str text)
{
	struct str lead = STR("ResourceClaim "), rest = str_skip(text, lead.n), claim, ns;

	if (!may || !str_starts(text, lead))
		return text;
	(void)str_split(&rest, ' ', &claim);
	if (str_split(&claim, '/', &ns) && may(arg, ns))
		return text;
	return str_from(arena_printf(a, "a ResourceClaim %.*s", STR_ARG(rest)));
}
