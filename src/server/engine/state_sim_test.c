/*
 * Everything in a simulated cluster: servers with several lanes on one store, writers that
 * contend, watchers that are slow, cut off and moved between servers, stores that fail and lose
 * their feed, servers that restart. The clients check everything that they receive (see their
 * headers). At the end every watcher's model equals a list, and no update was lost.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "net/sim/sim.h"
#include "server/testing/state_world.h"
#include "server/testing/state_writer_fixture.h"
#include "server/testing/watch_guest_fixture.h"

enum { SERVERS = 2, GUESTS = 9, WRITERS = 4, HANG_MS = 300 * 1000 };

struct climate {
	size_t servers;
	bool faults; /* of the network */
	bool losses; /* of feeds; and writes that fail or are not answered */
	bool restarts;
	bool lmdb; /* the real store, in a folder; one server */
	size_t ring_bytes;
	size_t steps; /* per writer */
};

struct cluster {
	struct climate climate;
	struct sim *sim;
	struct prng prng;
	struct fake_data *data;
	char folder[32]; /* of the real store */
	struct state_world worlds[SERVERS], *servers[SERVERS];
	struct loop *outside[GUESTS + WRITERS];
	struct watch_guest guests[GUESTS];
	struct state_writer writers[WRITERS];
	struct state_tally tally;
};

static void add_servers(struct cluster *c, uint64_t seed)
{
	static const char *const hosts[] = { "server-0", "server-1" };

	for (size_t i = 0; i < c->climate.servers; i++) {
		struct state_world_opts opts = {
			.sim = c->sim,
			.data = c->data,
			.host = hosts[i],
			.seed = seed * 10 + i,
			.nlanes = 1 + (size_t)prng_below(&c->prng, STATE_WORLD_LANES),
			.apart = prng_below(&c->prng, 2),
			.http = true,
			.port = (int)i,
			.ring_bytes = c->climate.ring_bytes,
			.lmdb = c->climate.lmdb ? c->folder : NULL,
			.store = { .local = c->climate.servers == 1,
				   .delay_ms = (int64_t)prng_below(&c->prng, 8),
				   .fail = c->climate.losses ? 0.02 : 0,
				   .unknown = c->climate.losses && c->climate.servers > 1 ? 0.02
											  : 0 },
		};

		state_world_init(&c->worlds[i], &opts);
		c->servers[i] = &c->worlds[i];
	}
}

static void add_clients(struct cluster *c, uint64_t seed)
{
	static const struct watch_guest_opts kinds[GUESTS] = {
		{ .kind = "pods" },
		{ .kind = "pods", .slow_ms = 40, .list_first = true },
		{ .kind = "pods", .ns = "a" },
		{ .kind = "pods", .labels = "app=web" },
		{ .kind = "pods", .labels = "app in (web,db)", .ns = "a-b", .bookmarks = true },
		{ .kind = "pods", .fields = "spec.nodeName=n1", .list_first = true },
		{ .kind = "pods", .ns = "a", .fields = "metadata.name=p0" },
		{ .kind = "configmaps", .slow_ms = 100 },
		{ .kind = "pods", .labels = "app!=mail", .fields = "spec.nodeName!=n0" },
	};

	for (size_t i = 0; i < GUESTS + WRITERS; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "client-%zu", i);
		c->outside[i] = sim_loop_new(c->sim, name);
	}
	for (size_t i = 0; i < GUESTS; i++) {
		struct watch_guest_opts opts = kinds[i];

		opts.protocol = prng_below(&c->prng, 2) ? HTTP_PROTOCOL_1 : HTTP_PROTOCOL_2;
		opts.seed = seed + i;
		opts.timeout_ms = prng_below(&c->prng, 2) ? 0 : 300;
		opts.patience_ms = 20 * 1000;
		watch_guest_init(&c->guests[i], c->outside[i], c->servers, c->climate.servers,
				 &opts);
	}
	for (size_t i = 0; i < WRITERS; i++)
		state_writer_init(&c->writers[i], c->outside[GUESTS + i], c->servers,
				  c->climate.servers, &c->tally, c->climate.steps, seed + 100 + i);
}

static void cluster_init(struct cluster *c, uint64_t seed, struct climate climate)
{
	static const size_t pipes[] = { 0, 900, 8000, 1000 * 1000 };
	struct sim_opts opts = { .seed = seed,
				 .pipe_max = pipes[seed % 4],
				 .stall = seed % 3 ? 0.01 : 0,
				 .stall_max_ms = 30 };

	*c = (struct cluster){ .climate = climate, .sim = sim_new(&opts), .data = fake_data_new() };
	prng_init(&c->prng, seed + 5);
	(void)snprintf(c->folder, sizeof(c->folder), "/tmp/state-sim-XXXXXX");
	if (climate.lmdb)
		assert_non_null(mkdtemp(c->folder));
	add_servers(c, seed);
	add_clients(c, seed);
}

/* --- faults ----------------------------------------------------------------------- */

static bool writers_done(const struct cluster *c)
{
	for (size_t i = 0; i < WRITERS; i++)
		if (c->writers[i].left || c->writers[i].stream || c->writers[i].step != WRITER_IDLE)
			return false;
	return true;
}

static void cut_somebody(struct cluster *c)
{
	char name[16];

	(void)snprintf(name, sizeof(name), "client-%u",
		       (unsigned)prng_below(&c->prng, GUESTS + WRITERS));
	sim_cut(c->sim, name, NULL);
	sim_run_for(c->sim, (int64_t)prng_below(&c->prng, 500));
	sim_heal(c->sim, NULL, NULL);
}

static void weather(struct cluster *c)
{
	struct state_world *w = c->servers[prng_below(&c->prng, c->climate.servers)];

	switch (prng_below(&c->prng, 8)) {
	case 0:
		if (c->climate.faults)
			(void)sim_break_conns(c->sim, 0.2);
		break;
	case 1:
		if (c->climate.faults)
			cut_somebody(c);
		break;
	case 2:
		if (c->climate.losses && c->climate.servers > 1)
			fake_store_lose(w->store);
		break;
	case 3:
		if (c->climate.restarts) {
			state_world_stop(w);
			state_world_start(w);
		}
		break;
	default:
		break;
	}
}

/* --- the end ---------------------------------------------------------------------- */

static bool all_agree(void *arg)
{
	struct cluster *c = arg;

	for (size_t i = 0; i < c->climate.servers; i++)
		if (!c->climate.lmdb &&
		    state_revision(c->worlds[i].state) != fake_data_revision(c->data))
			return false;
	for (size_t i = 0; i < GUESTS; i++)
		for (size_t k = 0; k < c->climate.servers; k++)
			if (!c->guests[i].synced ||
			    !watch_guest_agrees(&c->guests[i], &c->worlds[k]))
				return false;
	return true;
}

static void cluster_run(struct cluster *c)
{
	int64_t end = sim_elapsed_ms(c->sim) + HANG_MS;

	while (!writers_done(c) && sim_elapsed_ms(c->sim) < end) {
		sim_run_for(c->sim, (int64_t)prng_below(&c->prng, 60));
		weather(c);
	}
	assert_true(writers_done(c));
	if (!sim_run_until(c->sim, all_agree, c, HANG_MS))
		for (size_t i = 0; i < GUESTS; i++)
			if (!watch_guest_agrees(&c->guests[i], c->servers[0]))
				fail_msg("guest %zu does not have what there is; last: %s", i,
					 c->guests[i].last);
	for (size_t k = 0; k < c->climate.servers; k++)
		state_tally_check(&c->tally, &c->worlds[k]);
}

static void cluster_release(struct cluster *c)
{
	for (size_t i = 0; i < GUESTS; i++)
		watch_guest_release(&c->guests[i]);
	for (size_t i = 0; i < WRITERS; i++)
		state_writer_release(&c->writers[i]);
	sim_run_for(c->sim, 3000);
	for (size_t i = 0; i < GUESTS + WRITERS; i++)
		loop_free(c->outside[i]);
	for (size_t i = 0; i < c->climate.servers; i++)
		state_world_release(&c->worlds[i]);
	fake_data_free(c->data);
	sim_free(c->sim);
	if (c->climate.lmdb)
		state_world_remove(c->folder);
}

/* SIM_SEED picks one seed, SIM_SEEDS their number: to repeat, and to search. */
static void run_seeds(struct climate climate, uint64_t n)
{
	const char *one = getenv("SIM_SEED"), *many = getenv("SIM_SEEDS");
	uint64_t from = one ? strtoull(one, NULL, 10) : 0;

	n = one ? from + 1 : many ? strtoull(many, NULL, 10) : n;
	for (uint64_t seed = from; seed < n; seed++) {
		struct cluster c;

		print_message("# seed %llu\n", (unsigned long long)seed);
		cluster_init(&c, seed, climate);
		cluster_run(&c);
		cluster_release(&c);
	}
}

static void in_fair_weather_everybody_agrees(void **state UNUSED)
{
	run_seeds((struct climate){ .servers = 1, .steps = 60 }, 12);
}

static void over_bad_networks_everybody_agrees(void **state UNUSED)
{
	run_seeds((struct climate){ .servers = 1, .steps = 60, .faults = true, .restarts = true },
		  12);
}

static void on_the_real_store_everybody_agrees(void **state UNUSED)
{
	run_seeds(
		(struct climate){
			.servers = 1, .steps = 40, .faults = true, .restarts = true, .lmdb = true },
		5);
}

static void with_a_short_ring_who_is_late_begins_anew(void **state UNUSED)
{
	run_seeds((struct climate){ .servers = 1, .steps = 80, .faults = true, .ring_bytes = 4000 },
		  12);
}

static void two_servers_on_one_store_are_one(void **state UNUSED)
{
	run_seeds((struct climate){ .servers = 2, .steps = 60 }, 12);
}

static void no_fault_loses_a_write(void **state UNUSED)
{
	run_seeds((struct climate){ .servers = 2,
				    .steps = 80,
				    .faults = true,
				    .losses = true,
				    .restarts = true,
				    .ring_bytes = 20000 },
		  20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_fair_weather_everybody_agrees),
		cmocka_unit_test(over_bad_networks_everybody_agrees),
		cmocka_unit_test(on_the_real_store_everybody_agrees),
		cmocka_unit_test(with_a_short_ring_who_is_late_begins_anew),
		cmocka_unit_test(two_servers_on_one_store_are_one),
		cmocka_unit_test(no_fault_loses_a_write),
	};

	return cmocka_run_group_tests_name("server/state_sim", tests, NULL, NULL);
}
