/*
 * The same clients as in the simulation (state_sim_test.c), but on real loops, threads, sockets
 * and LMDB with its own committer, for race detectors. The clients and the state are on the first
 * loop, lanes on all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <unistd.h>

#include "net/http/server.h"
#include "net/loop/io_threads.h"
#include "server/engine/watch.h"
#include "server/testing/state_world.h"
#include "server/testing/state_writer_fixture.h"
#include "server/testing/watch_guest_fixture.h"
#include "store/lmdb/store.h"

enum { LANES = 3, GUESTS = 6, WRITERS = 4, STEPS = 60, POLL_MS = 5, HANG_MS = 60 * 1000 };

struct scene {
	struct state_world world, *servers[1];
	struct watch_guest guests[GUESTS];
	struct state_writer writers[WRITERS];
	struct state_tally tally;
	struct loop_timer poll;
	int64_t deadline;
	bool begun, agreed, drained;
};

static void begin_clients(struct scene *s)
{
	static const struct watch_guest_opts kinds[GUESTS] = {
		{ .kind = "pods" },
		{ .kind = "pods", .list_first = true },
		{ .kind = "pods", .ns = "a" },
		{ .kind = "pods", .labels = "app=web" },
		{ .kind = "pods", .fields = "spec.nodeName=n1" },
		{ .kind = "configmaps", .slow_ms = 3, .bookmarks = true, .timeout_ms = 50 },
	};

	state_world_serve(&s->world, STR("127.0.0.1:0"));
	for (size_t i = 0; i < GUESTS; i++) {
		struct watch_guest_opts opts = kinds[i];

		opts.protocol = i % 2 ? HTTP_PROTOCOL_1 : HTTP_PROTOCOL_2;
		opts.seed = i;
		watch_guest_init(&s->guests[i], s->world.loop, s->servers, 1, &opts);
	}
	for (size_t i = 0; i < WRITERS; i++)
		state_writer_init(&s->writers[i], s->world.loop, s->servers, 1, &s->tally, STEPS,
				  100 + i);
	s->begun = true;
}

static bool all_agree(struct scene *s)
{
	for (size_t i = 0; i < WRITERS; i++)
		if (s->writers[i].left || s->writers[i].stream || s->writers[i].step != WRITER_IDLE)
			return false;
	for (size_t i = 0; i < GUESTS; i++)
		if (!s->guests[i].synced || !watch_guest_agrees(&s->guests[i], &s->world))
			return false;
	return true;
}

static void on_drained(void *arg)
{
	((struct scene *)arg)->drained = true;
}

static void on_stopped(void *arg)
{
	((struct scene *)arg)->world.stopped = true;
}

static void end_clients(struct scene *s)
{
	state_tally_check(&s->tally, &s->world);
	s->agreed = true;
	for (size_t i = 0; i < GUESTS; i++)
		watch_guest_stop(&s->guests[i]);
	for (size_t i = 0; i < WRITERS; i++)
		state_writer_release(&s->writers[i]);
	watch_stop(s->world.state);
	http_server_drain(s->world.http, 1000, on_drained, s);
}

/* Step by step: ready, agreed, drained, stopped. */
static void on_poll(struct loop_timer *t)
{
	struct scene *s = CONTAINER_OF(t, struct scene, poll);

	if (loop_now(t->loop) > s->deadline) {
		loop_stop(t->loop);
		return;
	}
	if (s->world.stopped) {
		loop_stop(t->loop);
		return;
	}
	if (!s->begun && s->world.ready)
		begin_clients(s);
	else if (s->begun && !s->agreed && all_agree(s))
		end_clients(s);
	else if (s->drained && !s->world.stopping) {
		s->world.stopping = true;
		state_stop(s->world.state, on_stopped, s);
	}
	loop_timer_start(t, POLL_MS);
}

static void everybody_agrees_on_real_threads(void **state UNUSED)
{
	char dir[] = "/tmp/state-threads-XXXXXX";
	/* A small map: a race detector has little address space. */
	struct store_lmdb_opts lmdb = { .dir = dir, .map_size = 64 * 1024 * 1024 };
	struct io_threads *threads;
	static const struct scene empty;
	struct scene s = empty;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(io_threads_new(LANES, &threads, NULL), 0);
	s.servers[0] = &s.world;
	s.world.nlanes = LANES;
	for (size_t i = 0; i < LANES; i++)
		s.world.lanes[i] = io_threads_loops(threads)[i];
	s.world.loop = s.world.lanes[0];
	gates_init(&s.world.gates);
	arena_init(&s.world.arena, SIZE_MAX);
	assert_int_equal(store_lmdb_open(s.world.loop, &lmdb, &s.world.store, NULL), 0);
	state_world_begin(&s.world);
	loop_timer_init(&s.poll, s.world.loop, on_poll);
	s.deadline = loop_now(s.world.loop) + HANG_MS;
	loop_timer_start(&s.poll, 0);
	assert_int_equal(io_threads_run(threads, NULL), 0);
	assert_true(s.agreed && s.world.stopped);

	http_server_free(s.world.http);
	state_free(s.world.state);
	for (size_t i = 0; i < GUESTS; i++)
		watch_guest_release(&s.guests[i]);
	arena_release(&s.world.arena);
	io_threads_free(threads);
	state_world_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everybody_agrees_on_real_threads),
	};

	return cmocka_run_group_tests_name("server/state_threads", tests, NULL, NULL);
}
