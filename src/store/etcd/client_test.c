/*
 * Which member gets a call, for how long, and how often: on the etcd of etcd_world.h. The meaning
 * of errors: on statuses as etcd sends them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "store/etcd/client.h"
#include "store/etcd/client_world.h"
#include "store/etcd/store.h"

struct setup {
	struct etcd_world world;
	struct etcd_client_world client;
};

static int set_up(void **state)
{
	struct setup *z = XNEW(struct setup);

	etcd_world_init(&z->world, 4, 2);
	etcd_client_world_open(&z->client, &z->world);
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

static void one_member_is_asked_as_long_as_it_answers(void **state)
{
	struct setup *z = *state;
	unsigned calls;

	assert_true(etcd_client_world_current(&z->client) > 0);
	calls = z->world.members[0].calls + z->world.members[1].calls;
	for (int i = 0; i < 10; i++)
		assert_true(etcd_client_world_current(&z->client) > 0);
	assert_int_equal(z->world.members[0].calls + z->world.members[1].calls, calls + 10);
	assert_true(z->world.members[0].calls == 0 || z->world.members[1].calls == 0);
}

static void another_member_serves_when_one_is_down(void **state)
{
	struct setup *z = *state;

	assert_true(etcd_client_world_current(&z->client) > 0);
	etcd_world_crash(&z->world, 0);
	assert_true(etcd_client_world_current(&z->client) > 0);
	etcd_world_start(&z->world, 0);
	etcd_world_run(&z->world, 3000);
	etcd_world_crash(&z->world, 1);
	assert_true(etcd_client_world_current(&z->client) > 0);
}

static void a_member_without_leader_is_avoided(void **state)
{
	struct setup *z = *state;
	struct etcd_world_write write;

	z->world.members[0].leaderless = true;
	etcd_client_world_put(&z->client, &write, "a", "1", 0);
	assert_int_equal(etcd_world_write_wait(&write), 0);
	z->world.members[0].leaderless = false;
	z->world.members[1].leaderless = true;
	assert_true(etcd_client_world_current(&z->client) > 0);
}

static void a_silent_member_is_given_up(void **state)
{
	struct setup *z = *state;
	struct error err;

	assert_true(etcd_client_world_current(&z->client) > 0);
	z->world.members[0].mute = z->world.members[1].mute = true;
	assert_int_equal(etcd_client_world_current(&z->client), -ERR_UNAVAILABLE);
	etcd_world_run(&z->world, 4000);
	assert_int_equal(store_health(z->client.store, &err), -ERR_UNAVAILABLE);
	assert_non_null(strstr(err.msg, "http://127.0.0.1:2379"));
	assert_non_null(strstr(err.msg, "http://127.0.0.2:2379"));
	z->world.members[0].mute = z->world.members[1].mute = false;
	/* The health check itself sends the only requests. */
	(void)store_health(z->client.store, &err);
	etcd_world_run(&z->world, 12000);
	(void)store_health(z->client.store, &err);
	etcd_world_run(&z->world, 1000);
	assert_int_equal(store_health(z->client.store, &err), 0);
}

/* The member that has got calls so far. */
static struct etcd_world_member *member_in_use(struct setup *z)
{
	struct etcd_world_member *m = z->world.members;

	assert_true(etcd_client_world_current(&z->client) > 0);
	assert_true((m[0].calls > 0) != (m[1].calls > 0));
	return m[0].calls > 0 ? &m[0] : &m[1];
}

static void a_store_opens_though_a_member_is_silent(void **state)
{
	struct setup *z = *state;

	z->world.members[0].mute = true;
	assert_true(etcd_client_world_current(&z->client) > 0);
	assert_true(sim_elapsed_ms(z->world.sim) < 100);
	assert_int_equal(z->world.members[0].calls, 0);
}

static void a_read_leaves_a_silent_member(void **state)
{
	struct setup *z = *state;
	int64_t began;

	member_in_use(z)->mute = true;
	began = sim_elapsed_ms(z->world.sim);
	assert_true(etcd_client_world_current(&z->client) > 0);
	assert_in_range(sim_elapsed_ms(z->world.sim) - began, 500, 2000);
}

static void an_update_leaves_a_silent_member(void **state)
{
	struct setup *z = *state;
	struct etcd_world_write write;
	int64_t revision, began;

	etcd_client_world_follow(&z->client, etcd_client_world_current(&z->client));
	etcd_client_world_put(&z->client, &write, "a", "1", 0);
	assert_int_equal(etcd_world_write_wait(&write), 0);
	revision = write.write.revision;
	member_in_use(z)->mute = true;
	began = sim_elapsed_ms(z->world.sim);
	etcd_client_world_put(&z->client, &write, "a", "2", revision);
	assert_int_equal(etcd_world_write_wait(&write), 0);
	assert_in_range(sim_elapsed_ms(z->world.sim) - began, 500, 2000);
}

static void an_idle_client_notices_a_silent_member(void **state)
{
	struct setup *z = *state;
	int64_t began;

	member_in_use(z)->mute = true;
	etcd_world_run(&z->world, 2500);
	began = sim_elapsed_ms(z->world.sim);
	assert_true(etcd_client_world_current(&z->client) > 0);
	assert_true(sim_elapsed_ms(z->world.sim) - began < 100);
}

static void a_member_that_was_silent_is_used_again(void **state)
{
	struct setup *z = *state;
	struct etcd_world_member *first = member_in_use(z);

	first->mute = true;
	assert_true(etcd_client_world_current(&z->client) > 0);
	first->mute = false;
	etcd_world_run(&z->world, 10000);
	etcd_world_crash(&z->world, first == z->world.members ? 1 : 0);
	assert_true(etcd_client_world_current(&z->client) > 0);
}

/* etcd loses proposals on their way to the old leader, and reports that late. */
static void a_write_is_sent_again_when_the_leader_has_changed(void **state)
{
	struct setup *z = *state;
	struct etcd_world_write write;
	int64_t revision, began;

	etcd_client_world_follow(&z->client, etcd_client_world_current(&z->client));
	etcd_client_world_put(&z->client, &write, "a", "1", 0);
	assert_int_equal(etcd_world_write_wait(&write), 0);
	revision = write.write.revision;
	z->world.fate = ETCD_WORLD_VANISH;
	z->world.fated = 1;
	began = sim_elapsed_ms(z->world.sim);
	etcd_client_world_put(&z->client, &write, "a", "2", revision);
	etcd_world_run(&z->world, 1000);
	assert_false(write.done);
	z->world.log.term++;
	assert_int_equal(etcd_world_write_wait(&write), 0);
	assert_in_range(sim_elapsed_ms(z->world.sim) - began, 1000, 1500);
}

/* Its disk may need seconds for a write; sending it again would make that worse. */
static void a_slow_etcd_gets_no_write_twice(void **state)
{
	struct setup *z = *state;
	struct etcd_world_write write;

	assert_true(etcd_client_world_current(&z->client) > 0);
	z->world.fate = ETCD_WORLD_HOLD;
	z->world.fated = 1;
	etcd_client_world_put(&z->client, &write, "a", "1", 0);
	etcd_world_run(&z->world, 6000);
	assert_false(write.done);
	assert_int_equal(z->world.txns, 1);
	etcd_world_answer(&z->world);
	assert_int_equal(etcd_world_write_wait(&write), 0);
	assert_int_equal(z->world.txns, 1);
}

static void calls_stay_while_no_member_is_better(void **state)
{
	struct setup *z = *state;
	struct etcd_world_write write;
	unsigned calls;

	assert_true(etcd_client_world_current(&z->client) > 0);
	z->world.fate = ETCD_WORLD_HOLD;
	z->world.fated = 1;
	etcd_client_world_put(&z->client, &write, "a", "1", 0);
	etcd_world_run(&z->world, 10);
	z->world.members[0].mute = z->world.members[1].mute = true;
	calls = z->world.members[0].calls + z->world.members[1].calls;
	etcd_world_run(&z->world, 5000);
	assert_false(write.done);
	assert_int_equal(z->world.members[0].calls + z->world.members[1].calls, calls);
	etcd_world_answer(&z->world);
	assert_int_equal(etcd_world_write_wait(&write), 0);
}

/* One read per second at the member in use, one every five seconds at a silent one. */
static void probes_are_few(void **state)
{
	struct setup *z = *state;
	struct etcd_world_member *m = z->world.members;

	(void)member_in_use(z);
	m[0].probes = m[1].probes = 0;
	etcd_world_run(&z->world, 60000);
	assert_in_range(m[0].probes + m[1].probes, 30, 62);
	m[0].mute = m[1].mute = true;
	etcd_world_run(&z->world, 2000);
	m[0].probes = m[1].probes = 0;
	etcd_world_run(&z->world, 60000);
	assert_in_range(m[0].probes + m[1].probes, 10, 26);
}

static void nobody_is_healthy_before_the_first_connection(void **state)
{
	struct setup *z = *state;
	struct error err;

	assert_int_equal(store_health(z->client.store, &err), -ERR_UNAVAILABLE);
	assert_true(etcd_client_world_current(&z->client) > 0);
	assert_int_equal(store_health(z->client.store, &err), 0);
}

static void a_call_waits_for_a_connection_but_not_for_ever(void **state)
{
	struct setup *z = *state;
	int64_t began;

	assert_true(etcd_client_world_current(&z->client) > 0);
	etcd_world_crash(&z->world, 0);
	etcd_world_crash(&z->world, 1);
	etcd_world_run(&z->world, 100);
	began = sim_elapsed_ms(z->world.sim);
	assert_int_equal(etcd_client_world_current(&z->client), -ERR_UNAVAILABLE);
	assert_in_range(sim_elapsed_ms(z->world.sim) - began, 4900, 5200);
}

struct asked {
	unsigned n;
	int64_t revision;
};

static void on_current(void *arg, int64_t revision, const struct error *err)
{
	struct asked *a = arg;

	assert_null(err);
	a->n++;
	a->revision = revision;
}

static void one_question_serves_all_who_wait(void **state)
{
	struct setup *z = *state;
	struct etcd_world_member *m = z->world.members;
	struct asked a = { 0 };
	unsigned calls;

	assert_true(etcd_client_world_current(&z->client) > 0);
	calls = m[0].calls + m[1].calls;
	for (int i = 0; i < 100; i++)
		store_current(z->client.store, on_current, &a);
	etcd_world_run(&z->world, 100);
	assert_int_equal(a.n, 100);
	/* One for the first, one for all that came while it was in flight. */
	assert_int_equal(m[0].calls + m[1].calls, calls + 2);
}

/* The answer to an earlier request does not count: it may be too old. */
static void a_later_caller_never_gets_an_older_revision(void **state)
{
	struct setup *z = *state;
	struct asked first = { 0 }, later = { 0 };
	unsigned calls = 0;
	int64_t now;

	assert_true(etcd_client_world_current(&z->client) > 0);
	calls = z->world.members[0].calls + z->world.members[1].calls;
	store_current(z->client.store, on_current, &first);
	while (z->world.members[0].calls + z->world.members[1].calls == calls)
		assert_true(sim_step(z->world.sim));
	now = etcd_world_change(&z->world, "x", "1");
	assert_int_equal(first.n, 0);
	store_current(z->client.store, on_current, &later);
	etcd_world_run(&z->world, 100);
	assert_int_equal(first.revision, now - 1);
	assert_int_equal(later.revision, now);
}

struct ranged {
	bool done;
	size_t n;
};

static void on_range(void *arg, const struct store_range_result *result,
		     const struct error *err UNUSED)
{
	struct ranged *r = arg;

	r->done = true;
	r->n = result ? result->n : 0;
}

/* The whole range takes longer than a call may. */
static void a_slow_connection_gets_smaller_pages(void **state UNUSED)
{
	enum { N = 100, BYTES = 2 * KIB, TRIES = 10 };
	struct store_range range = { .resource = STR("core/pods") };
	CLEANUP(arena_release) struct arena arena;
	struct etcd_client_world client;
	struct etcd_world world;
	struct ranged r = { 0 };
	char key[64], value[BYTES + 1];

	arena_init(&arena, SIZE_MAX);
	memset(value, 'x', BYTES);
	value[BYTES] = '\0';
	etcd_world_init_slow(&world, 1, 2);
	for (int i = 0; i < N; i++) {
		(void)snprintf(key, sizeof(key), "/registry/core/pods/ns p%d", i);
		(void)etcd_world_change(&world, key, value);
	}
	etcd_client_world_open(&client, &world);
	/* A truncated answer may delay the next one so long that this fails, too. */
	for (unsigned tries = 0; r.n == 0; tries++) {
		assert_true(tries < TRIES);
		r.done = false;
		store_range(client.store, &range, &arena, on_range, &r);
		while (!r.done)
			etcd_world_run(&world, ETCD_CALL_MS);
	}
	assert_int_equal(r.n, N);
	assert_true(sim_elapsed_ms(world.sim) > ETCD_CALL_MS);
	etcd_client_world_release(&client);
	etcd_world_release(&world);
}

static void the_name_is_given_once(void **state)
{
	struct setup *z = *state;
	struct etcd_client_world other;

	assert_int_equal(store_cluster_id(z->client.store).n, 0);
	assert_true(etcd_client_world_current(&z->client) > 0);
	assert_int_equal(store_cluster_id(z->client.store).n, 36);
	etcd_client_world_open(&other, &z->world);
	assert_true(etcd_client_world_current(&other) > 0);
	assert_true(str_eq(store_cluster_id(other.store), store_cluster_id(z->client.store)));
	etcd_client_world_release(&other);
}

static void bad_options_are_refused(void **state)
{
	struct setup *z = *state;
	const char *urls[] = { "127.0.0.1:2379", "http://[::1", "", "ftp://a:1" };
	struct store *s = NULL;
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
		struct store_etcd_opts opts = { .endpoints = &urls[i], .nendpoints = 1 };

		assert_int_equal(store_etcd_open(z->world.client_loop, &opts, &s, &err),
				 -ERR_INVALID);
	}
	assert_int_equal(
		store_etcd_open(z->world.client_loop, &(struct store_etcd_opts){ 0 }, &s, &err),
		-ERR_INVALID);
	assert_int_equal(store_etcd_open(z->world.client_loop,
					 &(struct store_etcd_opts){ .prefix = "//" }, &s, &err),
			 -ERR_INVALID);
	assert_null(s);
}

static void compaction_is_done_by_one_of_many(void **state UNUSED)
{
	enum { STORES = 3, WINDOW_MS = 60 * 1000, SOON_MS = WINDOW_MS / 8 };
	struct store_etcd_opts opts = { .history_ms = WINDOW_MS };
	struct store *stores[STORES];
	struct etcd_world world;
	int64_t then;

	etcd_world_init(&world, 5, 1);
	for (size_t i = 0; i < STORES; i++) {
		stores[i] = etcd_world_open(&world, &opts);
		etcd_world_run(&world, 7000);
	}
	(void)etcd_world_change(&world, "x", "1");
	then = world.log.revision;
	etcd_world_run(&world, WINDOW_MS - 20000);
	assert_true(world.log.compacted < then);
	(void)etcd_world_change(&world, "x", "2");
	etcd_world_run(&world, 2 * WINDOW_MS);
	assert_true(world.log.compacted >= then);
	/* In each window, one of them puts the key. */
	then = world.log.revision;
	etcd_world_run(&world, 10 * WINDOW_MS);
	assert_in_range(world.log.revision - then, 9, 11);
	/* And all learn of it soon. */
	then = world.log.compacted;
	while (world.log.compacted == then)
		etcd_world_run(&world, 10);
	etcd_world_run(&world, SOON_MS);
	for (size_t i = 0; i < STORES; i++)
		assert_int_equal(store_compacted(stores[i]), world.log.compacted);
	for (size_t i = 0; i < STORES; i++)
		etcd_world_close(&world, stores[i]);
	etcd_world_release(&world);
}

static void expect(enum grpc_code code, const char *text, bool sent, enum etcd_outcome want,
		   enum error_code error)
{
	struct grpc_status st = { code, str_from(text) };
	struct error err = { 0 };

	assert_int_equal(etcd_outcome_of(&st, sent, &err), want);
	assert_int_equal(err.code, error);
	/* The error is for people who know neither etcd's messages nor gRPC's. */
	assert_true(want == ETCD_ANSWERED || err.msg[0]);
	assert_true(!*text || !strstr(err.msg, text));
	assert_null(strstr(err.msg, "etcdserver"));
}

static void refusals_are_told_from_the_unknown(void **state UNUSED)
{
	expect(GRPC_OK, "", true, ETCD_ANSWERED, ERR_OK);
	expect(GRPC_UNAVAILABLE, "connection error", false, ETCD_RETRY, ERR_UNAVAILABLE);
	expect(GRPC_UNAVAILABLE, "connection reset", true, ETCD_UNKNOWN, ERR_TIMEOUT);
	expect(GRPC_UNAVAILABLE, "etcdserver: request timed out", true, ETCD_UNKNOWN, ERR_TIMEOUT);
	expect(GRPC_UNAVAILABLE, "etcdserver: leader changed", true, ETCD_UNKNOWN, ERR_TIMEOUT);
	expect(GRPC_UNAVAILABLE, "etcdserver: no leader", true, ETCD_RETRY, ERR_UNAVAILABLE);
	expect(GRPC_DEADLINE_EXCEEDED, "", true, ETCD_UNKNOWN, ERR_TIMEOUT);
	expect(GRPC_CANCELLED, "", true, ETCD_UNKNOWN, ERR_TIMEOUT);
	expect(GRPC_INTERNAL, "", true, ETCD_UNKNOWN, ERR_TIMEOUT);
	expect(GRPC_RESOURCE_EXHAUSTED, "etcdserver: too many requests", true, ETCD_RETRY,
	       ERR_UNAVAILABLE);
	expect(GRPC_RESOURCE_EXHAUSTED, "etcdserver: mvcc: database space exceeded", true,
	       ETCD_REFUSED, ERR_UNAVAILABLE);
	expect(GRPC_INVALID_ARGUMENT, "etcdserver: request is too large", true, ETCD_REFUSED,
	       ERR_TOO_LARGE);
	expect(GRPC_OUT_OF_RANGE, "etcdserver: mvcc: required revision has been compacted", true,
	       ETCD_REFUSED, ERR_EXPIRED);
	expect(GRPC_OUT_OF_RANGE, "etcdserver: mvcc: required revision is a future revision", true,
	       ETCD_REFUSED, ERR_TIMEOUT);
	expect(GRPC_PERMISSION_DENIED, "etcdserver: permission denied", true, ETCD_REFUSED,
	       ERR_UNAVAILABLE);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_member_is_asked_as_long_as_it_answers),
		TEST(another_member_serves_when_one_is_down),
		TEST(a_member_without_leader_is_avoided),
		TEST(a_silent_member_is_given_up),
		TEST(a_store_opens_though_a_member_is_silent),
		TEST(a_read_leaves_a_silent_member),
		TEST(an_update_leaves_a_silent_member),
		TEST(an_idle_client_notices_a_silent_member),
		TEST(a_member_that_was_silent_is_used_again),
		TEST(a_write_is_sent_again_when_the_leader_has_changed),
		TEST(a_slow_etcd_gets_no_write_twice),
		TEST(calls_stay_while_no_member_is_better),
		TEST(probes_are_few),
		TEST(nobody_is_healthy_before_the_first_connection),
		TEST(a_call_waits_for_a_connection_but_not_for_ever),
		TEST(one_question_serves_all_who_wait),
		TEST(a_later_caller_never_gets_an_older_revision),
		TEST(the_name_is_given_once),
		TEST(bad_options_are_refused),
		cmocka_unit_test(a_slow_connection_gets_smaller_pages),
		cmocka_unit_test(compaction_is_done_by_one_of_many),
		cmocka_unit_test(refusals_are_told_from_the_unknown),
	};

	return cmocka_run_group_tests_name("store/etcd_client", tests, NULL, NULL);
}
