/*
 * The feed when streams are lost, fragmented, canceled or behind. Uses the etcd of etcd_world.h,
 * because a real one cannot be made to fail at will.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/report/metrics.h"
#include "store/etcd/client_world.h"
#include "store/etcd/store.h"

/* Long enough for pings to detect a connection that was lost silently. */
enum { SILENCE_MS = 60 * 1000 };

#define POD(name) "/registry/core/pods/ns " name

struct setup {
	struct etcd_world world;
	struct etcd_client_world client;
};

static int set_up(void **state)
{
	struct setup *z = XNEW(struct setup);

	etcd_world_init(&z->world, 2, 2);
	etcd_client_world_init(&z->client, &z->world);
	*state = z;
	return 0;
}

static int tear_down(void **state)
{
	struct setup *z = *state;

	etcd_client_world_release(&z->client);
	etcd_world_release(&z->world);
	free(z);
	return 0;
}

static void changes_of_others_are_delivered_in_order(void **state)
{
	struct setup *z = *state;

	(void)etcd_world_change(&z->world, POD("a"), "1");
	(void)etcd_world_change(&z->world, POD("b"), "2");
	(void)etcd_world_change(&z->world, POD("a"), NULL);
	etcd_world_run(&z->world, 100);
	assert_string_equal(z->client.events.p, "a=1@3 b=2@4 a-@5 ");
}

static void keys_of_others_advance_the_revision(void **state)
{
	struct setup *z = *state;
	int64_t last;

	(void)etcd_world_change(&z->world, "compact_rev_key", "1");
	last = etcd_world_change(&z->world, "/other/core/pods/ns a", "1");
	etcd_world_run(&z->world, 100);
	assert_string_equal(z->client.events.p, "");
	assert_int_equal(z->client.delivered, last);
}

static void a_lost_stream_goes_on_where_it_was(void **state)
{
	struct setup *z = *state;

	(void)etcd_world_change(&z->world, POD("a"), "1");
	etcd_world_run(&z->world, 100);
	etcd_world_crash(&z->world, 0);
	etcd_world_crash(&z->world, 1);
	(void)etcd_world_change(&z->world, POD("b"), "2");
	etcd_world_run(&z->world, 2000);
	(void)etcd_world_change(&z->world, POD("c"), "3");
	etcd_world_start(&z->world, 1);
	etcd_world_run(&z->world, 3000);
	(void)etcd_world_change(&z->world, POD("d"), "4");
	etcd_world_run(&z->world, 100);
	assert_string_equal(z->client.events.p, "a=1@3 b=2@4 c=3@5 d=4@6 ");
}

static void a_stream_on_a_member_without_leader_moves_to_another(void **state)
{
	struct setup *z = *state;

	z->world.members[0].leaderless = true;
	(void)sim_break_conns(z->world.sim, 1);
	etcd_world_run(&z->world, SILENCE_MS);
	(void)etcd_world_change(&z->world, POD("a"), "1");
	etcd_world_run(&z->world, 100);
	assert_string_equal(z->client.events.p, "a=1@3 ");
}

static void fragments_are_joined_at_revisions(void **state)
{
	struct setup *z = *state;

	z->world.hold_events = true;
	z->world.piece = 1;
	(void)etcd_world_change(&z->world, POD("a"), "1");
	(void)etcd_world_change_both(&z->world, POD("b"), POD("c"), "2");
	(void)etcd_world_change(&z->world, POD("d"), "3");
	etcd_world_let_events(&z->world);
	etcd_world_run(&z->world, 100);
	assert_string_equal(z->client.events.p, "a=1@3 b=2@4 c=2@4 d=3@5 ");
	/*
	 * First a, when b showed that its revision was complete; the rest with the last fragment.
	 */
	assert_int_equal(z->client.batches, 2);
}

static void half_a_revision_is_not_delivered_twice(void **state)
{
	struct setup *z = *state;
	struct etcd_world *w = &z->world;

	w->hold_events = true;
	w->piece = 1;
	(void)etcd_world_change_both(w, POD("a"), POD("b"), "1");
	(void)etcd_world_change(w, POD("c"), "2");
	etcd_world_let_events(w);
	/* Runs until the connection is lost, somewhere between the fragments. */
	for (int i = 0; i < 5; i++)
		assert_true(sim_step(w->sim));
	(void)sim_break_conns(w->sim, 1);
	etcd_world_run(w, SILENCE_MS);
	assert_string_equal(z->client.events.p, "a=1@3 b=1@3 c=2@4 ");
}

static void changes_that_etcd_compacted_lose_the_feed(void **state)
{
	struct setup *z = *state;
	int64_t last;

	(void)etcd_world_change(&z->world, POD("a"), "1");
	etcd_world_run(&z->world, 100);
	etcd_world_crash(&z->world, 0);
	etcd_world_crash(&z->world, 1);
	last = etcd_world_change(&z->world, POD("b"), "2");
	etcd_world_compact(&z->world, last);
	etcd_world_start(&z->world, 0);
	etcd_world_until(&z->world, &z->client.lost);
	assert_int_equal(z->client.lost_why.code, ERR_EXPIRED);
	etcd_client_world_follow(&z->client, last);
	(void)etcd_world_change(&z->world, POD("c"), "3");
	etcd_world_run(&z->world, 2000);
	assert_string_equal(z->client.events.p, "a=1@3 c=3@5 ");
}

static void a_write_waits_for_the_feed_that_follows_a_lost_one(void **state)
{
	struct setup *z = *state;
	struct etcd_world_write write;

	z->world.hold_events = true;
	(void)etcd_world_change(&z->world, POD("theirs"), "0");
	etcd_client_world_put(&z->client, &write, "a", "1", 0);
	etcd_world_run(&z->world, 100);
	assert_false(write.done);
	etcd_world_crash(&z->world, 0);
	etcd_world_crash(&z->world, 1);
	etcd_world_compact(&z->world, z->world.log.revision);
	etcd_world_start(&z->world, 0);
	etcd_world_until(&z->world, &z->client.lost);
	etcd_world_run(&z->world, 1000);
	assert_false(write.done);
	etcd_client_world_follow(&z->client, z->world.log.revision);
	assert_false(write.done);
	assert_int_equal(etcd_world_write_wait(&write), 0);
	assert_true(write.delivered_then >= write.write.revision);
}

static void data_that_was_put_back_loses_the_feed(void **state)
{
	struct setup *z = *state;
	int64_t first = etcd_world_change(&z->world, POD("a"), "1");

	(void)etcd_world_change(&z->world, POD("b"), "2");
	etcd_world_run(&z->world, 100);
	etcd_world_crash(&z->world, 0);
	etcd_world_crash(&z->world, 1);
	etcd_world_go_back(&z->world, first);
	etcd_world_start(&z->world, 0);
	etcd_world_until(&z->world, &z->client.lost);
	assert_non_null(strstr(z->client.lost_why.msg, "put back"));
}

/* The follower is reading everything again: what it reads may be older than the answer. */
static void a_lost_feed_delivers_no_answers(void **state)
{
	struct setup *z = *state;
	struct etcd_world_write writes[2];

	data_that_was_put_back_loses_the_feed(state);
	etcd_client_world_put(&z->client, &writes[0], "c", "3", 0);
	etcd_client_world_put(&z->client, &writes[1], "d", "4", 0);
	etcd_world_run(&z->world, 100);
	assert_int_equal(z->world.log.revision, 5);
	assert_string_equal(z->client.events.p, "a=1@3 b=2@4 ");
	etcd_client_world_follow(&z->client, 4);
	assert_int_equal(etcd_world_write_wait(&writes[1]), 0);
	assert_string_equal(z->client.events.p, "a=1@3 b=2@4 d=4@5* ");
}

static void a_watch_that_is_behind_the_answers_may_be_compacted(void **state)
{
	struct setup *z = *state;
	struct etcd_world_write writes[2];

	z->world.hold_events = true;
	etcd_client_world_put(&z->client, &writes[0], "a", "1", 0);
	etcd_client_world_put(&z->client, &writes[1], "b", "2", 0);
	assert_int_equal(etcd_world_write_wait(&writes[1]), 0);
	etcd_world_compact(&z->world, z->world.log.revision);
	etcd_world_let_events(&z->world);
	(void)etcd_world_change(&z->world, POD("c"), "3");
	etcd_world_run(&z->world, 2000);
	assert_false(z->client.lost);
	assert_string_equal(z->client.events.p, "a=1@3* b=2@4* c=3@5 ");
}

static void a_missing_feed_is_unhealthy(void **state)
{
	struct setup *z = *state;
	struct error err;

	assert_int_equal(store_health(z->client.store, &err), 0);
	etcd_world_crash(&z->world, 0);
	etcd_world_crash(&z->world, 1);
	etcd_world_run(&z->world, 5000);
	assert_int_equal(store_health(z->client.store, &err), -ERR_UNAVAILABLE);
	etcd_world_start(&z->world, 0);
	etcd_world_run(&z->world, 3000);
	assert_int_equal(store_health(z->client.store, &err), 0);
}

/* Members fail at random during writes: every event arrives once, in order. */
static void nothing_is_lost_or_repeated_whatever_fails(void **state UNUSED)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct etcd_client_world client;
		struct buf want = BUF_INIT(MIB);
		struct etcd_world world;
		char value[16];

		etcd_world_init(&world, seed, 2);
		etcd_client_world_init(&client, &world);
		world.piece = seed % 4;
		for (unsigned i = 0; i < 200; i++) {
			(void)snprintf(value, sizeof(value), "%u", i);
			(void)buf_printf(&want, "a=%s@%" PRId64 " ", value,
					 etcd_world_change(&world, POD("a"), value));
			etcd_world_run(&world, i % 7);
			if (i % 13 == 0)
				(void)sim_break_conns(world.sim, 0.5);
			if (i % 50 == 20)
				etcd_world_crash(&world, i / 50 % 2);
			if (i % 50 == 40)
				etcd_world_start(&world, i / 50 % 2);
		}
		etcd_world_run(&world, SILENCE_MS);
		assert_string_equal(client.events.p, want.p);
		buf_release(&want);
		etcd_client_world_release(&client);
		etcd_world_release(&world);
	}
}

static void reconnects_are_counted(void **state UNUSED)
{
	CLEANUP(metrics_free) struct metrics *m = metrics_new();
	struct store_etcd_opts opts = { .history_ms = -1, .metrics = m };
	struct buf text = BUF_INIT(MIB);
	struct etcd_client_world client;
	struct etcd_world world;

	etcd_world_init(&world, 3, 1);
	etcd_client_world_open(&client, &world);
	etcd_world_close(&world, client.store);
	client.store = etcd_world_open(&world, &opts);
	etcd_client_world_follow(&client, etcd_client_world_current(&client));
	etcd_world_run(&world, 100);
	(void)sim_break_conns(world.sim, 1);
	etcd_world_run(&world, SILENCE_MS);
	assert_int_equal(metrics_print(m, &text), 0);
	assert_non_null(strstr(text.p, "etcd_feed_reconnects_total 1\n"));
	assert_non_null(strstr(text.p, "etcd_requests_total{operation=\"range\",code=\"OK\"}"));
	assert_non_null(strstr(text.p, "etcd_request_duration_seconds_count{operation=\"txn\"}"));
	buf_release(&text);
	etcd_client_world_release(&client);
	etcd_world_release(&world);
}

static struct etcd_world_member *watched(struct setup *z)
{
	struct etcd_world_member *m = z->world.members;

	assert_int_equal(m[0].nwatches + m[1].nwatches, 1);
	return m[0].nwatches ? &m[0] : &m[1];
}

/* There are no calls meanwhile. */
static void a_stream_leaves_a_silent_member(void **state)
{
	struct setup *z = *state;

	watched(z)->mute = true;
	etcd_world_run(&z->world, 100);
	(void)etcd_world_change(&z->world, POD("a"), "1");
	etcd_world_run(&z->world, 2100);
	assert_string_equal(z->client.events.p, "a=1@3 ");
}

/* Answers to probes are queued behind the event, whose bytes show that the member is alive. */
static void a_stream_stays_while_a_long_event_arrives(void **state UNUSED)
{
	enum { SEEDS = 4, BYTES = 48 * KIB, PROBED_MS = 2000 };
	char *value = xcalloc(BYTES + 1, 1);

	memset(value, 'x', BYTES);
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct etcd_client_world client;
		struct etcd_world world;
		unsigned opened;
		int64_t last;

		etcd_world_init_slow(&world, seed, 2);
		etcd_client_world_init(&client, &world);
		etcd_world_run(&world, PROBED_MS);
		opened = world.watches_opened;
		last = etcd_world_change(&world, POD("a"), value);
		etcd_world_run(&world, PROBED_MS);
		assert_true(client.delivered < last);
		etcd_world_run(&world, SILENCE_MS);
		assert_int_equal(client.delivered, last);
		assert_int_equal(world.watches_opened, opened);
		etcd_client_world_release(&client);
		etcd_world_release(&world);
	}
	free(value);
}

static void a_stream_leaves_a_member_that_lags(void **state)
{
	struct setup *z = *state;

	watched(z)->lags = true;
	(void)etcd_world_change(&z->world, POD("a"), "1");
	/* Only an answer shows that events are missing. */
	assert_true(etcd_client_world_current(&z->client) > 0);
	etcd_world_run(&z->world, 4000);
	assert_string_equal(z->client.events.p, "a=1@3 ");
}

static void a_stream_stays_when_all_members_lag(void **state)
{
	struct setup *z = *state;
	unsigned opened;

	z->world.hold_events = true;
	(void)etcd_world_change(&z->world, POD("a"), "1");
	assert_true(etcd_client_world_current(&z->client) > 0);
	opened = z->world.watches_opened;
	etcd_world_run(&z->world, 60000);
	/* After 2 s, 4 s, 8 s and so on. */
	assert_in_range(z->world.watches_opened - opened, 1, 6);
	etcd_world_let_events(&z->world);
	etcd_world_run(&z->world, 100);
	assert_string_equal(z->client.events.p, "a=1@3 ");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(changes_of_others_are_delivered_in_order),
		TEST(keys_of_others_advance_the_revision),
		TEST(a_lost_stream_goes_on_where_it_was),
		TEST(a_stream_on_a_member_without_leader_moves_to_another),
		TEST(a_stream_leaves_a_silent_member),
		TEST(a_stream_leaves_a_member_that_lags),
		TEST(a_stream_stays_when_all_members_lag),
		TEST(fragments_are_joined_at_revisions),
		TEST(half_a_revision_is_not_delivered_twice),
		TEST(changes_that_etcd_compacted_lose_the_feed),
		TEST(a_write_waits_for_the_feed_that_follows_a_lost_one),
		TEST(data_that_was_put_back_loses_the_feed),
		TEST(a_lost_feed_delivers_no_answers),
		TEST(a_watch_that_is_behind_the_answers_may_be_compacted),
		TEST(a_missing_feed_is_unhealthy),
		cmocka_unit_test(a_stream_stays_while_a_long_event_arrives),
		cmocka_unit_test(nothing_is_lost_or_repeated_whatever_fails),
		cmocka_unit_test(reconnects_are_counted),
	};

	return cmocka_run_group_tests_name("store/etcd_feed", tests, NULL, NULL);
}
