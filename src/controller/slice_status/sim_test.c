/*
 * In the end every slice's status equals one computed from all objects at once, wherever it is
 * stored and whatever happened to slices, claims and connections. The times of a pool's conditions
 * change only with the conditions.
 */
#include "controller/slice_status/slice_status_fixture.h"

#include "base/core/limits.h"
#include "base/core/random.h"

enum {
	SEEDS = 60,
	STEPS = 60,
	POOLS = 3,
	NAMES = 4,
	DEVICES = 6,
	HOLDERS = 8,
	TAINTS = 3,
	CONDITIONS = 2
};

/* A condition of a pool as last published; `time` is empty before. */
struct since {
	struct str status, time;
	unsigned breaks; /* how often connections had been broken by then */
};

/* A pool on the server, and as published. */
struct pool {
	unsigned slices;
	int64_t empty_at; /* the version at which it lost its last slice */
	struct since told[CONDITIONS];
};

/* The pool of a slice in some version of it. */
struct place {
	struct pool *pool;
	int64_t rv;
};

struct story {
	struct bench bench;
	struct prng prng;
	size_t seen; /* position in the server's log */
	unsigned breaks;
	struct pool pools[POOLS];
	struct map in; /* name of an existing slice -> struct pool */
	struct map places; /* "name version" and "uid generation" -> struct place */
	struct arena arena;
};

static unsigned pick(struct story *s, unsigned n)
{
	return (unsigned)(prng_u64(&s->prng) % n);
}

static bool chance(struct story *s, double p)
{
	return prng_unit(&s->prng) < p;
}

static struct json *parse(struct arena *a, struct str text)
{
	struct json *v;

	assert_int_equal(json_parse(a, arena_str(a, text), NULL, &v, NULL), 0);
	return v;
}

/* --- pools on the server --------------------------------------------------------------------- */

static void forget_times(struct pool *p)
{
	memset(p->told, 0, sizeof(p->told));
}

static void leave(struct story *s, struct str slice, int64_t rv)
{
	struct pool *p = map_remove(&s->in, slice);

	if (!p || --p->slices > 0)
		return;
	p->empty_at = rv;
	forget_times(p);
}

static void note_place(struct story *s, char *key, struct pool *p, int64_t rv)
{
	struct place *at = ARENA_NEW(&s->arena, struct place);

	*at = (struct place){ .pool = p, .rv = rv };
	if (!map_get(&s->places, str_from(key)))
		(void)map_put(&s->places, str_from(key), at);
}

static void see_slice(struct story *s, const struct fakeapi_event *e, const struct json *v)
{
	struct str name = str_from(strrchr(e->key, '/') + 1);
	const struct json *meta = json_getz(v, "metadata");
	struct str pool = json_text_at(json_pointer(v, STR("/spec/pool")), "name");
	struct pool *p = &s->pools[pool.p[1] - '0'];

	if (strcmp(e->type, "DELETED") == 0) {
		leave(s, name, e->rv);
		return;
	}
	if (map_get(&s->in, name) != p) {
		leave(s, name, e->rv);
		(void)map_put(&s->in, arena_str(&s->arena, name), p);
		p->slices++;
	}
	note_place(s, arena_printf(&s->arena, "%.*s %lld", STR_ARG(name), (long long)e->rv), p,
		   e->rv);
	note_place(s,
		   arena_printf(&s->arena, "%.*s %lld", STR_ARG(json_text_at(meta, "uid")),
				(long long)json_i64_at(meta, "generation", 0)),
		   p, e->rv);
}

/* Replays every state of every slice since the last call. */
static void see(struct story *s)
{
	const struct fakeapi *api = s->bench.w->api;
	struct arena a;

	arena_init(&a, SIZE_MAX);
	for (; s->seen < api->log.n; s->seen++) {
		const struct fakeapi_event *e = &api->log.v[s->seen];

		if (strcmp(e->kind->resource, "resourceslices") == 0)
			see_slice(s, e, parse(&a, str_from(e->text)));
	}
	arena_release(&a);
}

/* --- times of transition --------------------------------------------------------------------- */

/*
 * Times do not go back, and change only with the condition; but a write in between may have been
 * lost.
 */
static void see_condition(struct story *s, struct since *before, const struct json *c)
{
	struct str status = json_text_at(c, "status"), time = json_text_at(c, "lastTransitionTime");
	bool same = str_eq(status, before->status) && before->breaks == s->breaks;

	if (before->time.n > 0 &&
	    (str_cmp(time, before->time) < 0 || (same && !str_eq(time, before->time))))
		fail_msg("%.*s was %.*s since %.*s, and is %.*s since %.*s",
			 STR_ARG(json_text_at(c, "type")), STR_ARG(before->status),
			 STR_ARG(before->time), STR_ARG(status), STR_ARG(time));
	before->status = arena_str(&s->arena, status);
	before->time = arena_str(&s->arena, time);
	before->breaks = s->breaks;
}

/* The slice's pool in the version that the controller had when it wrote. */
static const struct place *find_place(struct story *s, const char *slice, const struct json *body)
{
	const struct json *uid = json_pointer(body, STR("/metadata/ownerReferences/0/uid"));
	const struct json *rv = json_pointer(body, STR("/0/value"));
	int64_t generation = json_i64_at(json_getz(body, "status"), "observedGeneration", 0);

	if (s->bench.objects)
		return map_get(&s->places,
			       str_from(arena_printf(&s->arena, "%.*s %lld", STR_ARG(json_str(uid)),
						     (long long)generation)));
	return map_get(&s->places,
		       str_from(arena_printf(&s->arena, "%s %.*s", slice, STR_ARG(json_str(rv)))));
}

/* A write has arrived, whether or not it succeeds. */
static void on_write(struct bench *b, const char *slice, struct str body)
{
	struct story *s = CONTAINER_OF(b, struct story, bench);
	const struct json *v, *status;
	const struct place *at;
	struct arena a;

	if (body.n == 0 || str_find(body, STR("\"poolStatus\"")) < 0)
		return;
	see(s);
	arena_init(&a, SIZE_MAX);
	v = parse(&a, body);
	status = b->objects ? json_getz(v, "status") : json_pointer(v, STR("/1/value"));
	at = find_place(s, slice, v);
	if (at && at->rv > at->pool->empty_at) {
		struct since *told = at->pool->told;

		JSON_FOREACH (c, json_pointer(status, STR("/poolStatus/conditions")))
			see_condition(s, told++, c);
	}
	arena_release(&a);
}

static bool is_told(const struct pool *p, const struct json *conditions)
{
	const struct since *told = p->told;

	JSON_FOREACH (c, conditions) {
		if (!str_eq(told->status, json_text_at(c, "status")) ||
		    !str_eq(told->time, json_text_at(c, "lastTransitionTime")))
			return false;
		told++;
	}
	return told == p->told + CONDITIONS;
}

/*
 * A starting controller reads the stored conditions and continues them if they are consistent. It
 * does not if more happens before its first check, nor for objects, which may belong to an earlier
 * generation.
 */
static void forget_unstored(struct story *s)
{
	unsigned stored[POOLS] = { 0 };
	struct arena a;
	struct str name;
	size_t at = 0;
	void *pool;

	see(s);
	arena_init(&a, SIZE_MAX);
	while (map_next(&s->in, &at, &name, &pool)) {
		const struct json *v = bench_status(&s->bench, name.p, &a);
		struct pool *p = pool;

		v = json_pointer(v, STR("/poolStatus/conditions"));
		if (v)
			stored[p - s->pools] += is_told(p, v) ? 1 : 2;
	}
	for (size_t i = 0; i < POOLS; i++)
		if (stored[i] != 1)
			forget_times(&s->pools[i]);
	arena_release(&a);
}

static bool is_synced(void *arg)
{
	return devices_synced(((struct bench *)arg)->devices);
}

static void restart(struct story *s)
{
	struct bench *b = &s->bench;

	bench_stop(b);
	forget_unstored(s);
	bench_start(b);
	if (!b->objects && chance(s, 0.5) && sim_run_until(b->w->sim, is_synced, b, 100)) {
		controller_world_run(b->w, 10);
		return;
	}
	for (size_t i = 0; i < POOLS; i++)
		forget_times(&s->pools[i]);
}

/* --- steps ----------------------------------------------------------------------------------- */

/* There are few names, so that pools have faults and claims hold missing devices. */
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

static void change_rule(struct story *s)
{
	static const char *const effects[] = { "NoSchedule", "NoExecute", "None" };
	struct buf line = BUF_INIT(KIB);

	buf_printf(&line, "rule r%u ", pick(s, TAINTS));
	if (chance(s, 0.7))
		buf_printf(&line, "p%u ", pick(s, POOLS));
	else
		buf_addz(&line, "* ");
	if (chance(s, 0.7))
		buf_printf(&line, "g%u ", pick(s, DEVICES));
	else
		buf_addz(&line, "* ");
	buf_addz(&line, effects[pick(s, ARRAY_SIZE(effects))]);
	tell_line(&s->bench, buf_str(&line));
	buf_release(&line);
}

static void remove_something(struct story *s)
{
	struct buf line = BUF_INIT(KIB);

	if (chance(s, 0.4))
		buf_printf(&line, "remove slice s%u-%u", pick(s, POOLS), pick(s, NAMES));
	else if (chance(s, 0.4))
		buf_printf(&line, "remove rule r%u", pick(s, TAINTS));
	else
		buf_printf(&line, "remove claim ns/c%u", pick(s, HOLDERS));
	tell_line(&s->bench, buf_str(&line));
	buf_release(&line);
}

/* Somebody else changes our status. */
static void tamper(struct story *s)
{
	struct fakeapi *api = s->bench.w->api;
	unsigned pool = pick(s, POOLS), name = pick(s, NAMES);
	char target[128];

	(void)snprintf(target, sizeof(target),
		       s->bench.objects ? OBJECTS "/s%u-%u" : SLICES "/s%u-%u/status", pool, name);
	if (s->bench.objects && chance(s, 0.3))
		(void)fakeapi_call(api, "DELETE", target, STR_NULL, NULL);
	else if (chance(s, 0.3))
		(void)fakeapi_call(api, "PATCH", target,
				   STR("{\"status\":{\"poolStatus\":{\"conditions\":[]}}}"), NULL);
	else
		(void)fakeapi_call(api, "PATCH", target,
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

	static const char *const kinds[] = { "resourceslices", "resourceclaims", "devicetaintrules",
					     "resourceslicestatuses" };

	switch (pick(s, 6)) {
	case 0:
		s->breaks++;
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
		fakeapi_hold_back(b->w->api, kinds[pick(s, b->objects ? 4 : 3)]);
		break;
	case 3:
		restart(s);
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
	else if (what < 0.70)
		change_claim(s);
	else if (what < 0.75)
		change_rule(s);
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
	map_init(&s.in);
	map_init(&s.places);
	arena_init(&s.arena, SIZE_MAX);
	s.bench.objects = seed % 3 == 0;
	s.bench.on_write = on_write;
	bench_init(&s.bench, seed);
	for (int part = 0; part < 2; part++) {
		for (int i = 0; i < STEPS; i++)
			step(&s);
		come_to_rest(&s);
		(void)snprintf(when, sizeof(when), "seed %llu", (unsigned long long)seed);
		assert_all_right(&s.bench, when);
		assert_false(s.bench.carried_spec);
	}
	bench_release(&s.bench);
	map_release(&s.in);
	map_release(&s.places);
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
