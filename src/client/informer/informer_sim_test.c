/*
 * The most important test: whatever happened to server, network and watches, the copy converges to
 * the server's state, and the handlers' calls add up to the copy. SIM_SEED=N runs one seed,
 * SIM_SEEDS=N runs N of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "client/informer/informer_fixture.h"

static void mishap(struct informer_fixture *t)
{
	static const struct {
		const char *reason;
		int code;
	} errors[] = { { NULL, 0 },
		       { "Expired", 410 },
		       { "InternalError", 500 },
		       { "TooManyRequests", 429 } };
	struct api_world *w = &t->w;
	size_t which = (size_t)prng_below(&w->prng, ARRAY_SIZE(errors));

	switch (prng_below(&w->prng, 9)) {
	case 0:
		(void)sim_break_conns(w->sim, 0.7);
		break;
	case 1:
		if (w->loop)
			api_world_compact(w);
		break;
	case 2:
		api_world_end_watches(w, errors[which].reason, errors[which].code);
		break;
	case 3:
		sim_cut(w->sim, "server", "outside");
		break;
	case 4:
		sim_heal(w->sim, NULL, NULL);
		break;
	case 5:
		if (w->loop)
			api_world_crash(w);
		else
			api_world_begin(w);
		break;
	case 6:
		w->fail_status = prng_below(&w->prng, 2) ? 503 : 429;
		w->fail_retry_after = prng_below(&w->prng, 2) ? 1 : -1;
		w->fail_count = (unsigned)prng_below(&w->prng, 3);
		break;
	case 7:
		w->no_watch_list = prng_below(&w->prng, 2);
		w->page_max = (size_t)prng_below(&w->prng, 4);
		break;
	default:
		if (w->slow_initial)
			w->slow_initial = false, api_world_end_watches(w, NULL, 0);
		else
			w->slow_initial = prng_below(&w->prng, 3) == 0;
		api_world_bookmark(w);
	}
}

static void change(struct informer_fixture *t)
{
	char name[16];

	(void)snprintf(name, sizeof(name), "o%llu", (unsigned long long)prng_below(&t->w.prng, 12));
	switch (prng_below(&t->w.prng, 5)) {
	case 0:
		api_world_delete(&t->w, name);
		break;
	case 1:
		api_world_replace(&t->w, name);
		break;
	default:
		(void)api_world_put(&t->w, name);
	}
}

static void calm(struct informer_fixture *t)
{
	struct api_world *w = &t->w;

	sim_heal(w->sim, NULL, NULL);
	if (!w->loop)
		api_world_begin(w);
	w->fail_count = 0;
	if (w->slow_initial) {
		w->slow_initial = false;
		api_world_end_watches(w, NULL, 0);
	}
}

/* Every object is found by its index, and the index has no others. */
static void check_index(const struct informer_fixture *t)
{
	const struct cache *c = informer_cache(t->informer);
	static const char *const groups[] = { "g0", "g1", "g2" };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		struct cache_walk walk = { 0 };
		struct cached *o;

		while ((o = cache_next_by(c, "group", str_from(groups[i]), &walk))) {
			assert_ptr_equal(cache_get(c, o->key), o);
			assert_true(str_eqz(cached_field(o, "spec.group", NULL), groups[i]));
			n++;
		}
	}
	assert_int_equal(n, cache_count(c));
}

static void run_seed(uint64_t seed)
{
	struct sim_opts opts = { .seed = seed,
				 .pipe_max = seed % 3 ? 0 : 700,
				 .lose = seed % 4 == 1 ? 0.002 : 0,
				 .refuse = seed % 4 == 1 ? 0.1 : 0 };
	static const struct cache_index by_group = { .name = "group", .path = "spec.group" };
	struct account late;
	struct informer_fixture t;

	informer_fixture_init(&t, &opts);
	t.w.repeats = seed % 2;
	informer_add_index(t.informer, &by_group);
	informers_start(t.set);
	account_init(&late);
	for (unsigned i = 0; i < 60; i++) {
		unsigned n = (unsigned)prng_below(&t.w.prng, 6);

		while (n--)
			change(&t);
		if (prng_below(&t.w.prng, 2))
			mishap(&t);
		sim_run_for(t.w.sim, (int64_t)prng_below(&t.w.prng, i % 10 ? 3000 : 200000));
		if (i == 30)
			informer_add_handler(t.informer, &late.handler);
		if (i == 40)
			informers_stop(t.set);
		if (i == 43)
			informers_start(t.set);
	}
	calm(&t);
	informer_fixture_wait(&t);
	assert_true(informer_fixture_matches(&t, &late));
	check_index(&t);
	informer_remove_handler(&late.handler);
	account_release(&late);
	informer_fixture_release(&t);
}

static void after_any_mishaps_the_copy_equals_the_server(void **state UNUSED)
{
	const char *one = getenv("SIM_SEED"), *many = getenv("SIM_SEEDS");
	uint64_t from = one ? strtoull(one, NULL, 10) : 0;
	uint64_t n = one ? 1 : many ? strtoull(many, NULL, 10) : 300;

	for (uint64_t seed = from; seed < from + n; seed++) {
		if (many || one)
			(void)fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
		run_seed(seed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(after_any_mishaps_the_copy_equals_the_server),
	};

	return cmocka_run_group_tests_name("client/informer_sim", tests, NULL, NULL);
}
