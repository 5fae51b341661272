/*
 * The contract of store.h with sealed values, on a real etcd; and two servers of which one has a
 * key that the other does not have yet.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "store/etcd/etcd_fixture.h"
#include "store/etcd/store.h"
#include "store/sealed/sealed_world.h"

#define SECRETS "core/secrets"
#define HEAD    SEALED_WORLD_HEAD
#define RULE    SEALED_WORLD_RULE
#define K1      SEALED_WORLD_KEY("aesgcm", "k1", SEALED_WORLD_A)
#define K2      SEALED_WORLD_KEY("aesgcm", "k2", SEALED_WORLD_B)

/* A global, because cmocka passes no argument to the backend's functions. */
static struct {
	struct etcd_fixture etcd;
	bool runs;
	unsigned places;
} world;

struct place {
	char prefix[32];
};

static void *make_place(void)
{
	struct place *p;

	if (!world.runs)
		return NULL;
	p = XNEW(struct place);
	(void)snprintf(p->prefix, sizeof(p->prefix), "/test-%u", ++world.places);
	return p;
}

static void destroy_place(void *place)
{
	free(place);
}

static void on_current(void *arg, int64_t revision UNUSED, const struct error *err UNUSED)
{
	struct loop **loop = arg;

	loop_stop(TAKE(*loop));
}

/* Waits for the first answer: before it, the store has no cluster id. */
static int open_place(void *place, struct loop *l, struct store **ret_store, struct error *err)
{
	const struct place *p = place;
	const char *endpoints[] = { world.etcd.url };
	struct store_etcd_opts opts = {
		.endpoints = endpoints, .nendpoints = 1, .prefix = p->prefix, .history_ms = -1
	};
	struct loop *waiting = l;
	int r = store_etcd_open(l, &opts, ret_store, err);

	if (r < 0)
		return r;
	store_current(*ret_store, on_current, (void *)&waiting);
	while (waiting)
		loop_run(l);
	return 0;
}

static const struct store_contract_backend plain = {
	.make = make_place,
	.destroy = destroy_place,
	.open = open_place,
};

static void *make_sealed(void)
{
	return sealed_world_new(&plain);
}

static void destroy_sealed(void *place)
{
	sealed_world_free(place);
}

static const struct store_contract_backend backend = {
	.name = "store/sealed_etcd",
	.unordered = true,
	.more = SEALED_WORLD_MORE,
	.make = make_sealed,
	.destroy = destroy_sealed,
	.open = sealed_world_open,
};

/* --- two servers -------------------------------------------------------------------------- */

/* Another server on the same etcd, with its own configuration and its own loop's turns. */
struct other {
	struct store_contract c;
	struct sealed_world world;
};

static void other_begin(struct other *o, const struct store_contract *first, const char *config)
{
	o->world = *sealed_world_of(first);
	(void)snprintf(o->world.file, sizeof(o->world.file), "%.100s.other",
		       sealed_world_of(first)->file);
	o->world.opts.file = o->world.file;
	o->world.opts.arg = &o->world;
	sealed_world_configure(&o->world, config);
	o->c = (struct store_contract){ .backend = &backend,
					.place = &o->world,
					.loop = first->loop };
	arena_init(&o->c.arena, SIZE_MAX);
	vec_init(&o->c.events, 1 << 20);
	store_contract_open(&o->c);
}

static void other_end(struct other *o)
{
	store_contract_close(&o->c);
	vec_release(&o->c.events);
	arena_release(&o->c.arena);
	(void)remove(o->world.file);
}

struct tick {
	struct loop_timer timer;
	struct loop *loop;
};

static void on_tick(struct loop_timer *t)
{
	loop_stop(CONTAINER_OF(t, struct tick, timer)->loop);
	loop_timer_start(t, 10);
}

/* Like store_contract_until(), for conditions that no callback of the test announces. */
static void look_until(struct store_contract *c, bool (*holds)(void *arg), void *arg)
{
	struct tick tick = { .loop = c->loop };

	loop_timer_init(&tick.timer, c->loop, on_tick);
	loop_timer_start(&tick.timer, 10);
	store_contract_until(c, holds, arg);
	loop_timer_stop(&tick.timer);
}

static bool has_events(void *arg)
{
	const struct store_contract *c = arg;

	return c->events.n >= 3;
}

static bool has_event(void *arg)
{
	return ((const struct store_contract *)arg)->events.n > 0;
}

static bool is_unhealthy(void *arg)
{
	struct error err;

	return store_health(arg, &err) < 0 && strstr(err.msg, "\"k2\"");
}

/* The feed of `c` waits for k2. Its own write is made, but not acknowledged before the change. */
static void the_feed_waits_for_a_key_and_keeps_order(struct store_contract *c)
{
	struct sealed_world *w = sealed_world_of(c);
	struct store_contract_write *mine;
	struct other o;

	other_begin(&o, c, HEAD RULE("secrets", K2 ", " K1));
	store_contract_follow(c, store_contract_current(c));
	(void)store_contract_must_put(&o.c, SECRETS, "ns", "a", "one", 0);
	mine = store_contract_put(c, SECRETS, "ns", "b", STR("two"), 0);
	look_until(c, is_unhealthy, c->store);
	assert_int_equal(c->events.n, 0);
	assert_false(mine->done);
	(void)store_contract_must_put(&o.c, SECRETS, "ns", "c", "three", 0);
	sealed_world_configure(w, HEAD RULE("secrets", K1 ", " K2));
	look_until(c, has_events, c);
	assert_int_equal(store_contract_wait(mine), 0);
	assert_true(str_eqz(c->events.v[0].value, "one"));
	assert_true(str_eqz(c->events.v[1].value, "two"));
	assert_ptr_equal(c->events.v[1].write, &mine->write);
	assert_int_equal(mine->events_before >= 2, 1);
	assert_true(str_eqz(c->events.v[2].value, "three"));
	assert_int_equal(store_health(c->store, NULL), 0);
	other_end(&o);
}

/* Closing ends what waits: nothing is leaked, and nobody waits for ever. */
static void a_store_closes_while_its_feed_waits(struct store_contract *c)
{
	struct store_contract_write *mine;
	struct other o;

	other_begin(&o, c, HEAD RULE("secrets", K2 ", " K1));
	store_contract_follow(c, store_contract_current(c));
	(void)store_contract_must_put(&o.c, SECRETS, "ns", "a", "one", 0);
	mine = store_contract_put(c, SECRETS, "ns", "b", STR("two"), 0);
	look_until(c, is_unhealthy, c->store);
	store_contract_close(c);
	assert_true(mine->done);
	assert_int_equal(mine->result, 0);
	other_end(&o);
	sealed_world_configure(sealed_world_of(c), HEAD RULE("secrets", K2 ", " K1));
	store_contract_open(c);
}

static bool is_lost(void *arg)
{
	return ((const struct store_contract *)arg)->lost;
}

/* Changes that wait have a limit. Beyond it, everything is read again when the key is there. */
static void a_feed_that_waits_for_too_long_is_lost(struct store_contract *c)
{
	const struct store_range range = { .resource = STR(SECRETS) };
	char *large = xcalloc(1, MIB + 1), name[16];
	struct store_contract_write *mine;
	struct other o;

	memset(large, 'x', MIB);
	other_begin(&o, c, HEAD RULE("secrets", K2 ", " K1));
	store_contract_follow(c, store_contract_current(c));
	(void)store_contract_must_put(&o.c, SECRETS, "ns", "a", "one", 0);
	mine = store_contract_put(c, SECRETS, "ns", "b", STR("two"), 0);
	look_until(c, is_unhealthy, c->store);
	for (int i = 0; !c->lost && i < 80; i++) {
		(void)snprintf(name, sizeof(name), "large-%d", i);
		(void)store_contract_must_put(&o.c, SECRETS, "ns", name, large, 0);
	}
	look_until(c, is_lost, c);
	assert_int_equal(c->events.n, 0);
	assert_int_equal(store_contract_wait(mine), 0);
	assert_int_equal(store_contract_range(c, &range)->result, -ERR_INVALID);
	sealed_world_configure(sealed_world_of(c), HEAD RULE("secrets", K1 ", " K2));
	while (store_contract_range(c, &range)->result < 0)
		;
	store_contract_follow(c, store_contract_current(c));
	(void)store_contract_must_put(&o.c, SECRETS, "ns", "c", "three", 0);
	look_until(c, has_event, c);
	assert_true(str_eqz(c->events.v[0].value, "three"));
	other_end(&o);
	free(large);
}

static const struct store_contract_case cases[] = {
	{ "the_feed_waits_for_a_key_and_keeps_order", the_feed_waits_for_a_key_and_keeps_order },
	{ "a_store_closes_while_its_feed_waits", a_store_closes_while_its_feed_waits },
	{ "a_feed_that_waits_for_too_long_is_lost", a_feed_that_waits_for_too_long_is_lost },
	{ NULL, NULL },
};

int main(void)
{
	struct store_contract_backend all = backend;
	int failures;

	world.runs = etcd_fixture_init(&world.etcd);
	all.extra = cases;
	failures = store_contract_run(&all);
	if (world.runs)
		etcd_fixture_release(&world.etcd);
	return failures;
}
