/*
 * Whatever happens to slices and claims, and to the wires between, in the end every slice's status
 * is what one would compute from all of them at once; and the times of a pool's conditions change
 * with the conditions alone.
 */
#include "controller/slice_status_fixture.h"

#include "base/random.h"

enum { SEEDS = 60, STEPS = 60, POOLS = 3, NAMES = 4, DEVICES = 6, HOLDERS = 8 };

struct story {
	struct bench bench;
	struct prng prng;
	size_t seen; /* of the server's log */
	struct map times; /* "slice type" -> struct since */
	struct map tellers; /* name of a pool -> key of the slice that last told of it */
	struct arena arena;
};

struct since {
	struct str status, time;
};

static unsigned pick(struct story *s, unsigned n)
{
	return (unsigned)(prng_u64(&s->prng) % n);
}

static bool chance(struct story *s, double p)
{
	return prng_unit(&s->prng) < p;
}

/* --- times of transition --------------------------------------------------------------------- */

static void see_condition(struct story *s, const char *key, const struct json *c)
{
	struct str name = str_from(
		arena_printf(&s->arena, "%s %.*s", key, STR_ARG(json_text_at(c, "type"))));
	struct since *now = ARENA_NEW(&s->arena, struct since), *before;

	now->status = arena_str(&s->arena, json_text_at(c, "status"));
	now->time = arena_str(&s->arena, json_text_at(c, "lastTransitionTime"));
	before = map_put(&s->times, name, now);
	if (before && str_eq(before->status, now->status) && !str_eq(before->time, now->time))
		fail_msg("%.*s is %.*s as before, but since %.*s and not %.*s", STR_ARG(name),
			 STR_ARG(now->status), STR_ARG(now->time), STR_ARG(before->time));
}

/* A slice that tells nothing of its pool (any more) has no times to keep. */
static void forget_times(struct story *s, const char *key)
{
	static const char *const types[] = { "Complete", "Valid" };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		(void)map_remove(&s->times,
				 str_from(arena_printf(&s->arena, "%s %s", key, types[i])));
}

/* While another slice told of the pool, what this one had was not followed. */
static void note_teller(struct story *s, const char *key, const struct json *slice)
{
	struct str pool = json_text_at(json_pointer(slice, STR("/spec/pool")), "name");
	char *own = arena_strdup(&s->arena, str_from(key));
	const char *before = map_put(&s->tellers, arena_str(&s->arena, pool), own);

	if (before && strcmp(before, key) != 0)
		forget_times(s, key);
}

/* Looks at every state of every slice that the server had since. */
static void see(struct story *s)
{
	const struct fakeapi *api = s->bench.w->api;
	struct arena a;

	arena_init(&a, SIZE_MAX);
	for (; s->seen < api->log.n; s->seen++) {
		const struct fakeapi_event *e = &api->log.v[s->seen];
		const struct json *conditions;
		struct json *v;

		if (strcmp(e->kind->resource, "resourceslices") != 0)
			continue;
		assert_int_equal(json_parse(&a, str_from(arena_strdup(&a, str_from(e->text))), NULL,
					    &v, NULL),
				 0);
		conditions = json_pointer(v, STR("/status/poolStatus/conditions"));
		if (strcmp(e->type, "DELETED") == 0 || !conditions)
			forget_times(s, e->key);
		else
			note_teller(s, e->key, v);
		JSON_FOREACH (c, strcmp(e->type, "DELETED") == 0 ? NULL : conditions)
			see_condition(s, e->key, c);
	}
	arena_release(&a);
}

/* --- steps ----------------------------------------------------------------------------------- */

/* Names are few, so that pools have faults and claims hold what is not there. */
static void change_slice(struct story *s)
{
	struct buf line = BUF_INIT(KIB * 4);
	unsigned pool = pick(s, POOLS);
	bool counters = pool == 0 && chance(s, 0.3);

	buf_printf(&line, "%s s%u-%u p%u %u/%u n", counters ? "counters" : "slice",
		   chance(s, 0.9) ? pool : pick(s, POOLS), pick(s, NAMES), pool,
		   chance(s, 0.8) ? 2 : 1 + pick(s, 3), 1 + pick(s, NAMES));
	for (unsigned d = 0; counters && d < 2; d++)
		buf_printf(&line, " c%u.x=%u", d, 5 + pick(s, 15));
	for (unsigned d = 0; !counters && d < DEVICES; d++) {
		if (chance(s, 0.5))
			continue;
		buf_printf(&line, " g%u", d);
		if (pool == 0)
			buf_printf(&line, "(c%u.x:%u)", pick(s, 2), 1 + pick(s, 8));
		else if (pool == 1)
			buf_printf(&line, "(multi,memory=%uGi)", 1 + pick(s, 20));
		else if (chance(s, 0.3))
			buf_printf(&line, "(@model=m%u)", pick(s, 3));
	}
	tell_line(&s->bench, buf_str(&line));
	buf_release(&line);
}

static void change_claim(struct story *s)
{
	struct buf line = BUF_INIT(KIB * 4);
	unsigned holder = pick(s, HOLDERS);

	buf_printf(&line, "claim ns/c%u", holder);
	if (chance(s, 0.3))
		buf_printf(&line, " uid=%u", pick(s, 3));
	for (unsigned i = chance(s, 0.2) ? 0 : 1 + pick(s, 3); i > 0; i--) {
		unsigned pool = pick(s, POOLS);

		buf_printf(&line, " p%u/g%u", pool, pick(s, DEVICES + 1));
		if (pool == 1 && chance(s, 0.8))
			buf_printf(&line, "(share=s%u-%u,memory=%uGi)", holder, i, 1 + pick(s, 6));
		else if (chance(s, 0.1))
			buf_printf(&line, "(admin)");
	}
	tell_line(&s->bench, buf_str(&line));
	buf_release(&line);
}

static void remove_something(struct story *s)
{
	struct buf line = BUF_INIT(KIB);

	if (chance(s, 0.4))
		buf_printf(&line, "remove slice s%u-%u", pick(s, POOLS), pick(s, NAMES));
	else
		buf_printf(&line, "remove claim ns/c%u", pick(s, HOLDERS));
	tell_line(&s->bench, buf_str(&line));
	buf_release(&line);
}

/* Somebody writes what is ours; not the times, which we would keep. */
static void tamper(struct story *s)
{
	char target[128];

	(void)snprintf(target, sizeof(target), SLICES "/s%u-%u/status", pick(s, POOLS),
		       pick(s, NAMES));
	(void)fakeapi_call(s->bench.w->api, "PATCH", target,
			   STR("{\"status\":{\"summary\":{\"totalDevices\":99}}}"), NULL);
}

static int some_fault(struct bench *b, const struct fakeapi_query *q UNUSED)
{
	static const int faults[] = { FAKEAPI_CUT, FAKEAPI_DO_AND_CUT, 409, 500, 404, 429, 422 };
	struct story *s = CONTAINER_OF(b, struct story, bench);

	return chance(s, 0.3) ? faults[pick(s, ARRAY_SIZE(faults))] : FAKEAPI_WELL;
}

static void disturb(struct story *s)
{
	struct bench *b = &s->bench;

	switch (pick(s, 6)) {
	case 0:
		(void)sim_break_conns(b->w->sim, 0.7);
		break;
	case 1:
		see(s);
		fakeapi_catch_up(b->w->api);
		fakeapi_forget_past(b->w->api);
		s->seen = 0;
		break;
	case 2:
		fakeapi_catch_up(b->w->api);
		fakeapi_hold_back(b->w->api, chance(s, 0.5) ? "resourceslices" : "resourceclaims");
		break;
	case 3:
		bench_stop(b);
		bench_start(b);
		break;
	case 4:
		b->fault = b->fault ? NULL : some_fault;
		break;
	default:
		fakeapi_catch_up(b->w->api);
	}
}

static void step(struct story *s)
{
	double what = prng_unit(&s->prng);

	if (what < 0.35)
		change_slice(s);
	else if (what < 0.75)
		change_claim(s);
	else if (what < 0.88)
		remove_something(s);
	else if (what < 0.92)
		tamper(s);
	else
		disturb(s);
	if (chance(s, 0.7))
		controller_world_run(s->bench.w, pick(s, 60));
}

static void come_to_rest(struct story *s)
{
	struct bench *b = &s->bench;

	b->fault = NULL;
	fakeapi_catch_up(b->w->api);
	controller_world_run(b->w, 300 * 1000); /* informers rest up to a minute, twice */
	run(b);
}

static void tell_story(uint64_t seed)
{
	struct story s = { 0 };
	char when[64];

	prng_init(&s.prng, seed);
	map_init(&s.times);
	map_init(&s.tellers);
	arena_init(&s.arena, SIZE_MAX);
	bench_init(&s.bench, seed);
	for (int part = 0; part < 2; part++) {
		for (int i = 0; i < STEPS; i++)
			step(&s);
		come_to_rest(&s);
		see(&s);
		(void)snprintf(when, sizeof(when), "seed %llu", (unsigned long long)seed);
		assert_all_right(&s.bench, when);
		assert_false(s.bench.carried_spec);
	}
	bench_release(&s.bench);
	map_release(&s.times);
	map_release(&s.tellers);
	arena_release(&s.arena);
}

static void in_the_end_every_status_is_right(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		tell_story(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_the_end_every_status_is_right),
	};

	return cmocka_run_group_tests_name("controller/slice_status_sim", tests, NULL, NULL);
}
