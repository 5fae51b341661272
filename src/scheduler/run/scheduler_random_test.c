/*
 * Anything may happen, in any order: pods and nodes come and go, requests fail, answers are lost,
 * watches lag and break, another scheduler binds, ours is restarted. Sums are right at all times;
 * when the world has become quiet nothing is left over and every pod that fits is bound.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "scheduler/run/scheduler_world.h"

enum { NODES = 4, NODE_CPU = 8, PODS = 24, SEEDS = 20, ROUNDS = 4, STEPS = 40 };

struct random_world {
	struct scheduler_world *w;
	struct prng prng;
	double faults; /* chance of a request */
	bool rival; /* another scheduler is about */
	bool breaks; /* connections die, and who only listens does not hear of it */
	int made; /* pods */
	bool late;
};

/* --- faults ------------------------------------------------------------------------------- */

static int fault(void *arg, const struct fakeapi_query *q)
{
	static const int kinds[] = { 409,
				     429,
				     500,
				     503,
				     FAKEAPI_CUT,
				     FAKEAPI_DO_AND_CUT,
				     FAKEAPI_DO_AND_CUT,
				     FAKEAPI_HOLD,
				     FAKEAPI_HOLD_ANSWER };
	struct random_world *r = arg;
	int kind = kinds[prng_below(&r->prng, ARRAY_SIZE(kinds))];
	double chance = r->faults;

	/*
	 * Reads fail rarely: a scheduler that cannot read gives a binding up in the end, though it
	 * was done.
	 */
	if (str_eq(q->method, STR("GET")))
		chance = MIN(chance, 0.1);
	if (str_find(q->path, STR("/pods/")) < 0 || prng_unit(&r->prng) >= chance)
		return FAKEAPI_WELL;
	/* A request that takes effect long after it was abandoned is like a rival scheduler. */
	if (kind == FAKEAPI_HOLD && !r->rival)
		return FAKEAPI_HOLD_ANSWER;
	return kind;
}

/* --- what the server has ------------------------------------------------------------------- */

struct pod_view {
	const char *name;
	int cpu;
	char node[16]; /* empty: none */
};

static bool read_pod(const struct fakeapi_object *o, struct pod_view *ret)
{
	const char *at;

	if (strcmp(o->kind->resource, "pods") != 0)
		return false;
	*ret = (struct pod_view){ .name = strrchr(o->key, '/') + 1 };
	ret->cpu = strrchr(ret->name, '-')[1] - '0';
	at = strstr(o->text, "\"nodeName\":\"");
	if (at)
		(void)sscanf(at + strlen("\"nodeName\":\""), "%15[^\"]", ret->node);
	return true;
}

static int taken_on(const struct random_world *r, const char *node)
{
	struct omap_cursor c;
	struct pod_view p;
	int sum = 0;

	for (bool ok = omap_first(&r->w->api->objects, &c); ok; ok = omap_next(&c)) {
		if (read_pod(omap_value(&c), &p) && strcmp(p.node, node) == 0)
			sum += p.cpu;
	}
	return sum;
}

static bool has_node(const struct random_world *r, const char *node)
{
	return fakeapi_find(r->w->api, "nodes", "", node) != NULL;
}

static const char *node_name(size_t i)
{
	static const char *const names[NODES] = { "n0", "n1", "n2", "n3" };

	return names[i];
}

/*
 * Picks a random pod, only among unbound ones if `unbound`. Returns false if there is no such pod.
 */
static bool pick_pod(struct random_world *r, bool unbound, char name[32])
{
	struct omap_cursor c;
	struct pod_view p;
	size_t n = 0;

	for (bool ok = omap_first(&r->w->api->objects, &c); ok; ok = omap_next(&c)) {
		if (!read_pod(omap_value(&c), &p) || (unbound && p.node[0]))
			continue;
		if (prng_below(&r->prng, ++n) == 0)
			(void)snprintf(name, 32, "%s", p.name);
	}
	return n > 0;
}

/* --- what happens -------------------------------------------------------------------------- */

static void add_pod(struct random_world *r)
{
	int cpu = 1 + (int)prng_below(&r->prng, 5);
	char name[32];

	if (fakeapi_count(r->w->api, "pods") >= PODS)
		return;
	/* Names are used again, with other requests and uids. */
	(void)snprintf(name, sizeof(name), "p%d-%d", r->made++ % 40, cpu);
	if (!fakeapi_find(r->w->api, "pods", "default", name))
		scheduler_world_pod(r->w, name, cpu);
}

static void remove_pod(struct random_world *r)
{
	char name[32];

	if (pick_pod(r, false, name))
		scheduler_world_remove_pod(r->w, name);
}

static void replace_pod(struct random_world *r)
{
	char name[32];

	if (!pick_pod(r, false, name))
		return;
	scheduler_world_remove_pod(r->w, name);
	scheduler_world_pod(r->w, name, strrchr(name, '-')[1] - '0');
}

static void change_node(struct random_world *r)
{
	const char *node = node_name(prng_below(&r->prng, NODES));

	if (!has_node(r, node))
		scheduler_world_node(r->w, node, NODE_CPU);
	else if (prng_below(&r->prng, 3) == 0)
		scheduler_world_remove_node(r->w, node);
}

static void bind_as_rival(struct random_world *r)
{
	char name[32];

	if (r->rival && pick_pod(r, true, name))
		(void)scheduler_world_bind(r->w, name, node_name(prng_below(&r->prng, NODES)));
}

static void break_something(struct random_world *r)
{
	switch (prng_below(&r->prng, 4)) {
	case 0:
		if (r->breaks)
			(void)sim_break_conns(r->w->sim, 0.5);
		break;
	case 1:
		fakeapi_catch_up(r->w->api);
		fakeapi_forget_past(r->w->api);
		break;
	case 2:
		if (r->late)
			fakeapi_catch_up(r->w->api);
		else
			fakeapi_hold_back(r->w->api, "pods");
		r->late = !r->late;
		break;
	default:
		fakeapi_let_go(r->w->api);
	}
}

static void restart(struct random_world *r)
{
	if (prng_below(&r->prng, 4) > 0)
		return;
	fakeapi_catch_up(r->w->api);
	r->late = false;
	if (prng_below(&r->prng, 2) == 0)
		scheduler_world_stop(r->w);
	else
		scheduler_world_drop(r->w);
	scheduler_world_start(r->w);
}

static void step(struct random_world *r)
{
	static void (*const what[])(struct random_world * r) = {
		add_pod,     add_pod,       add_pod,         remove_pod,      replace_pod,
		change_node, bind_as_rival, break_something, break_something, restart,
	};
	static const int64_t times[] = { 0, 1, 3, 20, 300, 2000, 30000 };

	what[prng_below(&r->prng, ARRAY_SIZE(what))](r);
	scheduler_world_run(r->w, times[prng_below(&r->prng, ARRAY_SIZE(times))]);
	scheduler_world_check(r->w);
}

/* --- what must be ------------------------------------------------------------------------- */

/* A pod that waits fits nowhere. */
static void check_waiting(const struct random_world *r, const struct pod_view *p, uint64_t seed)
{
	for (size_t i = 0; i < NODES; i++) {
		if (has_node(r, node_name(i)) && taken_on(r, node_name(i)) + p->cpu <= NODE_CPU)
			fail_msg("seed %d: %s would fit on %s", (int)seed, p->name, node_name(i));
	}
}

static void check_pods(const struct random_world *r, uint64_t seed)
{
	const struct podqueue *q = r->w->scheduler->queue;
	struct omap_cursor c;
	struct pod_view p;
	size_t waiting = 0;

	for (bool ok = omap_first(&r->w->api->objects, &c); ok; ok = omap_next(&c)) {
		const struct fakeapi_object *o = omap_value(&c);

		if (!read_pod(o, &p))
			continue;
		waiting += !p.node[0];
		/* A rival does not wait until we have said our word. */
		if (!r->rival && p.node[0] && !strstr(o->text, "\"status\":\"True\""))
			fail_msg("seed %d: bound, and called unschedulable: %s", (int)seed,
				 o->text);
		if (!p.node[0])
			check_waiting(r, &p, seed);
	}
	assert_int_equal(podqueue_count(q, QUEUE_ACTIVE) + podqueue_count(q, QUEUE_BACKOFF) +
				 podqueue_count(q, QUEUE_UNSCHEDULABLE),
			 waiting);
}

static void check_nodes(const struct random_world *r, uint64_t seed)
{
	for (size_t i = 0; i < NODES; i++) {
		int taken = taken_on(r, node_name(i));

		if (!r->rival && taken > NODE_CPU)
			fail_msg("seed %d: %d on %s", (int)seed, taken, node_name(i));
		if (has_node(r, node_name(i)))
			assert_int_equal(scheduler_world_taken(r->w, node_name(i)), taken * 1000);
	}
}

/*
 * A watch on a dead connection is noticed when its time is over. Otherwise it is not so long that
 * pods are tried again only for their time.
 */
static void become_quiet(struct random_world *r)
{
	r->faults = 0;
	r->late = false;
	fakeapi_catch_up(r->w->api);
	fakeapi_let_go(r->w->api);
	scheduler_world_run(r->w, r->breaks ? 15 * 60 * 1000 : 200 * 1000);
}

static void in_the_end_every_pod_that_fits_is_bound_once(void **state UNUSED)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct random_world r = { .rival = seed % 2, .breaks = seed % 3 == 0 };

		prng_init(&r.prng, seed);
		r.w = scheduler_world_new(seed, "");
		r.w->api->fault = fault;
		r.w->api->fault_arg = &r;
		scheduler_world_node(r.w, "n0", NODE_CPU);
		scheduler_world_start(r.w);
		for (int round = 0; round < ROUNDS; round++) {
			r.faults = (double)(seed % 5) * 0.15;
			for (int i = 0; i < STEPS; i++)
				step(&r);
			become_quiet(&r);
			scheduler_world_check_quiet(r.w);
			check_pods(&r, seed);
			check_nodes(&r, seed);
		}
		scheduler_world_free(r.w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_the_end_every_pod_that_fits_is_bound_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
