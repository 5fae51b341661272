/*
 * The contract of store.h on a real etcd: one etcd for all cases, and a prefix for each case.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "store/contract_fixture.h"
#include "store/etcd/etcd_fixture.h"
#include "store/etcd/store.h"

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

struct wait {
	struct loop *loop;
	bool done;
};

static void on_current(void *arg, int64_t revision UNUSED, const struct error *err UNUSED)
{
	struct wait *w = arg;

	w->done = true;
	loop_stop(w->loop);
}

/* Waits for the first answer: before it, the store has no cluster id. */
static int open_place(void *place, struct loop *l, struct store **ret_store, struct error *err)
{
	const struct place *p = place;
	const char *endpoints[] = { world.etcd.url };
	struct store_etcd_opts opts = {
		.endpoints = endpoints, .nendpoints = 1, .prefix = p->prefix, .history_ms = -1
	};
	struct wait w = { .loop = l };
	int r = store_etcd_open(l, &opts, ret_store, err);

	if (r < 0)
		return r;
	store_current(*ret_store, on_current, &w);
	assert_false(w.done);
	while (!w.done)
		loop_run(l);
	return 0;
}

int main(void)
{
	static const struct store_contract_backend backend = {
		.name = "store/store_etcd",
		.unordered = true,
		.make = make_place,
		.destroy = destroy_place,
		.open = open_place,
	};
	int failures;

	world.runs = etcd_fixture_init(&world.etcd);
	failures = store_contract_run(&backend);
	if (world.runs)
		etcd_fixture_release(&world.etcd);
	return failures;
}
