/*
 * A model of ReplicaSets, their controllers and their pods rolls out at random, with changes on the
 * way and controllers that die between two writes. It watches the limits of the rolling update.
 */
#include "controller/deployment/plan_fixture.h"

#include "base/core/random.h"

struct model_set {
	int64_t version, replicas, generation;
	int64_t acting, acting_generation; /* what its controller knows */
	int64_t pods, ready; /* as they are */
	int64_t shown_pods, shown_ready, observed; /* the status */
	char desired[24], max[24];
};

struct model {
	struct prng prng;
	int64_t replicas, surge, unavailable, version;
	struct model_set sets[SETS_MAX];
	size_t n;
	bool steady; /* replicas have not changed lately: the limits must hold */
};

/*
 * Some pods start, become ready, or are deleted: those that are not ready first. A ReplicaSet's
 * controller learns its spec late, and writes the status later, if the spec is still the same.
 */
static void model_step_set(struct model *m, struct model_set *s)
{
	if (prng_below(&m->prng, 2)) {
		s->acting = s->replicas;
		s->acting_generation = s->generation;
	}
	if (s->pods < s->acting && prng_below(&m->prng, 2))
		s->pods++;
	s->pods = MIN(s->pods, s->acting);
	s->ready = MIN(s->ready, s->pods);
	if (s->ready < s->pods && prng_below(&m->prng, 2))
		s->ready++;
	if (s->acting_generation == s->generation && prng_below(&m->prng, 2)) {
		s->shown_pods = s->pods;
		s->shown_ready = s->ready;
		s->observed = s->generation;
	}
}

static void model_step(struct model *m)
{
	for (size_t i = 0; i < m->n; i++)
		model_step_set(m, &m->sets[i]);
}

static struct planner *model_planner(const struct model *m)
{
	char spec[256];
	struct planner *p;

	(void)snprintf(spec, sizeof(spec), ",\"replicas\":%lld" ROLLING("%lld", "%lld"),
		       (long long)m->replicas, (long long)m->surge, (long long)m->unavailable);
	p = planner_new(spec, "", "");
	json_put_i64(&p->arena,
		     json_getz(json_getz(json_getz(p->tree, "spec"), "template"), "spec"), "v",
		     m->version);
	for (size_t i = 0; i < m->n; i++) {
		const struct model_set *s = &m->sets[i];
		char annotations[200];

		(void)snprintf(annotations, sizeof(annotations), DESIRED("%s", "%s"), s->desired,
			       s->max);
		add_set(p,
			&(struct given_set){ (int)s->version, (int)s->replicas, (int)s->shown_ready,
					     annotations, (int)s->shown_pods });
		json_put_i64(&p->arena, json_getz(p->sets[i].tree, "metadata"), "generation",
			     s->generation);
		json_put_i64(&p->arena, json_getz(p->sets[i].tree, "status"), "observedGeneration",
			     s->observed);
		deployment_set_read(&p->sets[i]);
	}
	return p;
}

static struct model_set *model_set_of(struct model *m, int64_t version)
{
	for (size_t i = 0; i < m->n; i++) {
		if (m->sets[i].version == version)
			return &m->sets[i];
	}
	assert_in_range(m->n, 0, SETS_MAX - 1);
	m->sets[m->n].version = version;
	return &m->sets[m->n++];
}

static void model_apply(struct model *m, const struct deployment_write *w)
{
	const struct json *spec = json_getz(w->tree, "spec");
	struct model_set *s;

	if (w->verb > DEPLOYMENT_UPDATE_SET)
		return;
	s = model_set_of(m, json_i64_at(json_getz(json_getz(spec, "template"), "spec"), "v", 0));
	s->generation++;
	s->replicas = json_i64_at(spec, "replicas", 0);
	(void)snprintf(s->desired, sizeof(s->desired), "%.*s",
		       STR_ARG(deployment_annotation(w->tree, DEPLOYMENT_DESIRED)));
	(void)snprintf(s->max, sizeof(s->max), "%.*s",
		       STR_ARG(deployment_annotation(w->tree, DEPLOYMENT_MAX)));
}

static void model_check(const struct model *m)
{
	int64_t all = 0, ready = 0;

	for (size_t i = 0; i < m->n; i++) {
		all += m->sets[i].replicas;
		ready += m->sets[i].ready;
	}
	if (all > m->replicas + m->surge)
		fail_msg("%lld of %lld + %lld", (long long)all, (long long)m->replicas,
			 (long long)m->surge);
	if (m->steady && ready < m->replicas - m->unavailable)
		fail_msg("%lld ready of %lld - %lld", (long long)ready, (long long)m->replicas,
			 (long long)m->unavailable);
}

static bool model_over(const struct model *m)
{
	bool found = false;

	for (size_t i = 0; i < m->n; i++) {
		bool now = m->sets[i].version == m->version;

		found = found || now;
		if (m->sets[i].shown_ready != (now ? m->replicas : 0))
			return false;
	}
	return found;
}

/* One plan, of which only the first writes may be done: then the controller died. */
static void model_plan(struct model *m)
{
	struct planner *p = model_planner(m);
	size_t most = prng_below(&m->prng, 4);

	(void)planned(p);
	for (const struct deployment_write *w = p->plan.writes; w && most > 0; w = w->next) {
		model_apply(m, w);
		model_check(m);
		most--;
	}
	planner_free(p);
}

/* Returns the patience that is left. */
static int model_roll(struct model *m, int patience, int *turns)
{
	for (; !model_over(m) && patience > 0; patience--, ++*turns) {
		model_plan(m);
		model_step(m);
		model_check(m);
	}
	return patience;
}

static void rollouts_stay_within_their_limits(void **state UNUSED)
{
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct model m = { .version = 1 };
		int turns = 0;

		prng_init(&m.prng, seed);
		m.replicas = (int64_t)prng_below(&m.prng, 12);
		m.surge = (int64_t)prng_below(&m.prng, 5);
		m.unavailable = (int64_t)prng_below(&m.prng, 5);
		m.unavailable = m.surge + m.unavailable == 0 ? 1 : m.unavailable;
		for (int rollout = 0; rollout < 6; rollout++) {
			/* The next version comes at the end, or on the way. */
			int patience = prng_below(&m.prng, 2) ? 3 : 2000;

			patience = model_roll(&m, patience, &turns);
			assert_true(patience > 0 || turns < 2000);
			m.steady = m.steady || model_over(&m);
			m.version = 1 + (int64_t)prng_below(&m.prng, 7);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rollouts_stay_within_their_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
