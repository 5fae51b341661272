/*
 * The outcome of writes when etcd's answers are lost, late or out of order. Uses the etcd of
 * etcd_world.h, because a real one cannot be made to fail at will.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "store/etcd/client_world.h"

#define KEY "/registry/core/pods/ns a"

struct setup {
	struct etcd_world world;
	struct etcd_client_world client;
	struct etcd_world_write a, b, c, d;
};

static int set_up(void **state)
{
	struct setup *z = XNEW(struct setup);

	etcd_world_init(&z->world, 1, 1);
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

static void befall(struct setup *z, enum etcd_world_fate fate, unsigned n)
{
	z->world.fate = fate;
	z->world.fated = n;
}

static int64_t must_put(struct setup *z, const char *value, int64_t expected)
{
	etcd_client_world_put(&z->client, &z->d, "a", value, expected);
	assert_int_equal(etcd_world_write_wait(&z->d), 0);
	return z->d.write.revision;
}

static void a_write_ends_when_everything_before_it_was_delivered(void **state)
{
	struct setup *z = *state;

	z->world.hold_events = true;
	(void)etcd_world_change(&z->world, KEY "theirs", "0");
	etcd_client_world_put(&z->client, &z->a, "a", "1", 0);
	etcd_world_run(&z->world, 100);
	assert_string_equal(etcd_world_get(&z->world, KEY).p, "1");
	assert_false(z->a.done);
	etcd_world_let_events(&z->world);
	assert_int_equal(etcd_world_write_wait(&z->a), 0);
	assert_string_equal(z->client.events.p, "atheirs=0@3 a=1@4* ");
	assert_int_equal(z->a.delivered_then, 4);
}

static void an_answer_delivers_a_write_before_the_watch_does(void **state)
{
	struct setup *z = *state;

	z->world.hold_events = true;
	etcd_client_world_put(&z->client, &z->a, "a", "1", 0);
	assert_int_equal(etcd_world_write_wait(&z->a), 0);
	assert_int_equal(z->a.delivered_then, 3);
	etcd_client_world_put(&z->client, &z->b, "a", NULL, 3);
	assert_int_equal(etcd_world_write_wait(&z->b), 0);
	assert_string_equal(z->client.events.p, "a=1@3* a-@4* ");
	etcd_world_let_events(&z->world);
	(void)etcd_world_change(&z->world, KEY, "theirs");
	etcd_world_run(&z->world, 100);
	assert_string_equal(z->client.events.p, "a=1@3* a-@4* a=theirs@5 ");
}

static void answers_do_not_overtake_changes_of_others(void **state)
{
	struct setup *z = *state;

	z->world.hold_events = true;
	etcd_client_world_put(&z->client, &z->a, "a", "1", 0);
	etcd_world_run(&z->world, 100);
	(void)etcd_world_change(&z->world, KEY, "theirs");
	etcd_client_world_put(&z->client, &z->b, "b", "2", 0);
	etcd_world_run(&z->world, 100);
	assert_true(z->a.done);
	assert_false(z->b.done);
	etcd_world_let_events(&z->world);
	assert_int_equal(etcd_world_write_wait(&z->b), 0);
	assert_string_equal(z->client.events.p, "a=1@3* a=theirs@4 b=2@5* ");
}

static void an_event_before_its_answer_is_known_for_ours(void **state)
{
	struct setup *z = *state;

	befall(z, ETCD_WORLD_HOLD, 1);
	etcd_client_world_put(&z->client, &z->a, "a", "1", 0);
	etcd_world_run(&z->world, 100);
	assert_string_equal(z->client.events.p, "a=1@3* ");
	assert_false(z->a.done);
	etcd_world_answer(&z->world);
	assert_int_equal(etcd_world_write_wait(&z->a), 0);
	assert_int_equal(z->a.write.revision, 3);
}

static void somebody_elses_change_is_not_taken_for_ours(void **state)
{
	struct setup *z = *state;
	int64_t first = must_put(z, "1", 0);

	befall(z, ETCD_WORLD_HOLD, 1);
	etcd_client_world_put(&z->client, &z->a, "a", "mine", first);
	etcd_world_run(&z->world, 100);
	(void)etcd_world_change(&z->world, KEY, "theirs");
	etcd_world_run(&z->world, 100);
	assert_string_equal(z->client.events.p, "a=1@3* a=mine@4* a=theirs@5 ");
	etcd_world_answer(&z->world);
	assert_int_equal(etcd_world_write_wait(&z->a), 0);
	assert_int_equal(z->a.write.revision, 4);
}

static void answers_may_come_in_any_order(void **state)
{
	struct setup *z = *state;

	befall(z, ETCD_WORLD_HOLD, 3);
	z->world.hold_events = true;
	etcd_client_world_put(&z->client, &z->a, "a", "1", 0);
	etcd_client_world_put(&z->client, &z->b, "b", "2", 0);
	etcd_client_world_put(&z->client, &z->c, "c", "3", 0);
	etcd_world_run(&z->world, 100);
	etcd_world_answer(&z->world);
	assert_int_equal(etcd_world_write_wait(&z->a), 0);
	assert_int_equal(etcd_world_write_wait(&z->b), 0);
	assert_int_equal(etcd_world_write_wait(&z->c), 0);
	assert_true(z->a.delivered_then >= z->a.write.revision);
	assert_string_equal(z->client.events.p, "a=1@3* b=2@4* c=3@5* ");
}

static void a_conflict_is_told_after_what_it_conflicts_with(void **state)
{
	struct setup *z = *state;
	int64_t first = must_put(z, "1", 0);

	z->world.hold_events = true;
	(void)etcd_world_change(&z->world, KEY, "theirs");
	etcd_client_world_put(&z->client, &z->a, "a", "mine", first);
	etcd_world_run(&z->world, 100);
	assert_false(z->a.done);
	etcd_world_let_events(&z->world);
	assert_int_equal(etcd_world_write_wait(&z->a), -ERR_CONFLICT);
	assert_string_equal(z->client.events.p, "a=1@3* a=theirs@4 ");
	assert_int_equal(z->a.events_then, z->client.events.n);
}

static void an_update_whose_answer_is_lost_succeeds_once(void **state)
{
	struct setup *z = *state;
	int64_t first = must_put(z, "1", 0);

	befall(z, ETCD_WORLD_LOSE, 1);
	etcd_client_world_put(&z->client, &z->a, "a", "2", first);
	assert_int_equal(etcd_world_write_wait(&z->a), 0);
	assert_int_equal(z->a.write.revision, first + 1);
	assert_string_equal(z->client.events.p, "a=1@3* a=2@4* ");
	assert_int_equal(z->world.log.revision, 4);
}

static void a_deletion_whose_answer_is_lost_succeeds_once(void **state)
{
	struct setup *z = *state;
	int64_t first = must_put(z, "1", 0);

	befall(z, ETCD_WORLD_LOSE, 1);
	etcd_client_world_put(&z->client, &z->a, "a", NULL, first);
	assert_int_equal(etcd_world_write_wait(&z->a), 0);
	assert_int_equal(z->a.write.revision, first + 1);
	assert_string_equal(z->client.events.p, "a=1@3* a-@4* ");
}

static void an_update_that_got_lost_is_sent_again(void **state)
{
	struct setup *z = *state;
	int64_t first = must_put(z, "1", 0);

	befall(z, ETCD_WORLD_DROP, 3);
	etcd_client_world_put(&z->client, &z->a, "a", "2", first);
	assert_int_equal(etcd_world_write_wait(&z->a), 0);
	assert_int_equal(z->world.txns, 1 + 4);
	assert_string_equal(etcd_world_get(&z->world, KEY).p, "2");
}

static void an_update_that_is_applied_late_takes_no_effect_twice(void **state)
{
	struct setup *z = *state;
	int64_t first = must_put(z, "1", 0);

	befall(z, ETCD_WORLD_DELAY, 1);
	etcd_client_world_put(&z->client, &z->a, "a", "2", first);
	assert_int_equal(etcd_world_write_wait(&z->a), 0);
	etcd_world_apply(&z->world);
	etcd_world_run(&z->world, 100);
	assert_string_equal(z->client.events.p, "a=1@3* a=2@4* ");
}

static void an_update_that_somebody_forestalled_conflicts_also_in_doubt(void **state)
{
	struct setup *z = *state;
	int64_t first = must_put(z, "1", 0);

	(void)etcd_world_change(&z->world, KEY, "theirs");
	befall(z, ETCD_WORLD_LOSE, 1);
	etcd_client_world_put(&z->client, &z->a, "a", "mine", first);
	assert_int_equal(etcd_world_write_wait(&z->a), -ERR_CONFLICT);
	assert_string_equal(etcd_world_get(&z->world, KEY).p, "theirs");
}

/* Our update took effect first, although another writer has changed the key before we check. */
static void an_update_that_was_overwritten_has_succeeded(void **state)
{
	struct setup *z = *state;
	int64_t first = must_put(z, "1", 0);

	z->world.hold_events = true;
	befall(z, ETCD_WORLD_LOSE, 1);
	etcd_client_world_put(&z->client, &z->a, "a", "mine", first);
	while (z->world.log.revision == first)
		assert_true(sim_step(z->world.sim));
	(void)etcd_world_change(&z->world, KEY, "theirs");
	etcd_world_run(&z->world, 500);
	assert_false(z->a.done);
	etcd_world_let_events(&z->world);
	assert_int_equal(etcd_world_write_wait(&z->a), 0);
	assert_int_equal(z->a.write.revision, first + 1);
	assert_string_equal(z->client.events.p, "a=1@3* a=mine@4* a=theirs@5 ");
}

static void a_creation_whose_answer_is_lost_is_found_in_the_feed(void **state)
{
	struct setup *z = *state;

	befall(z, ETCD_WORLD_LOSE, 1);
	etcd_client_world_put(&z->client, &z->a, "a", "1", 0);
	assert_int_equal(etcd_world_write_wait(&z->a), 0);
	assert_int_equal(z->a.write.revision, 3);
	assert_int_equal(z->world.txns, 1);
}

static void a_creation_that_may_still_come_is_unknown_and_the_feed_tells(void **state)
{
	struct setup *z = *state;

	befall(z, ETCD_WORLD_DELAY, 1);
	etcd_client_world_put(&z->client, &z->a, "a", "1", 0);
	assert_int_equal(etcd_world_write_wait(&z->a), -ERR_TIMEOUT);
	assert_string_equal(z->client.events.p, "");
	etcd_world_apply(&z->world);
	etcd_world_run(&z->world, 100);
	assert_string_equal(z->client.events.p, "a=1@3 ");
	assert_int_equal(z->world.txns, 1);
}

static void a_creation_behind_a_lost_deletion_is_told_from_it(void **state)
{
	struct setup *z = *state;
	int64_t first = must_put(z, "1", 0);

	z->world.hold_events = true;
	etcd_client_world_put(&z->client, &z->a, "a", NULL, first);
	etcd_client_world_after(&z->b, &z->a, "2");
	etcd_world_run(&z->world, 100);
	etcd_world_let_events(&z->world);
	assert_int_equal(etcd_world_write_wait(&z->b), 0);
	assert_true(z->a.done && z->a.result == 0);
	assert_string_equal(z->client.events.p, "a=1@3* a-@4* a=2@5* ");
}

static void a_chain_goes_out_before_the_feed_has_shown_its_head(void **state)
{
	struct setup *z = *state;

	z->world.hold_events = true;
	(void)etcd_world_change(&z->world, KEY "theirs", "0");
	etcd_client_world_put(&z->client, &z->a, "a", "1", 0);
	etcd_client_world_after(&z->b, &z->a, "2");
	etcd_client_world_after(&z->c, &z->b, "3");
	etcd_world_run(&z->world, 100);
	assert_string_equal(etcd_world_get(&z->world, KEY).p, "3");
	assert_false(z->a.done);
	etcd_world_let_events(&z->world);
	assert_int_equal(etcd_world_write_wait(&z->c), 0);
	assert_string_equal(z->client.events.p, "atheirs=0@3 a=1@4* a=2@5* a=3@6* ");
}

static void a_chain_behind_an_unknown_write_conflicts(void **state)
{
	struct setup *z = *state;

	befall(z, ETCD_WORLD_DROP, 1);
	etcd_client_world_put(&z->client, &z->a, "a", "1", 0);
	etcd_client_world_after(&z->b, &z->a, "2");
	etcd_client_world_after(&z->c, &z->b, "3");
	assert_int_equal(etcd_world_write_wait(&z->c), -ERR_CONFLICT);
	assert_int_equal(z->a.result, -ERR_TIMEOUT);
	assert_int_equal(z->b.result, -ERR_CONFLICT);
	assert_int_equal(store_pending(z->client.store), 0);
}

/* Limits the time in which the write may be sent. */
static void limit(struct setup *z, struct etcd_world_write *w, int64_t ms)
{
	w->write.send_by = loop_now(z->world.client_loop) + ms;
}

static void a_write_that_waited_too_long_is_not_sent(void **state)
{
	struct setup *z = *state;

	befall(z, ETCD_WORLD_HOLD, 1);
	etcd_client_world_put(&z->client, &z->a, "a", "1", 0);
	etcd_client_world_after(&z->b, &z->a, "2");
	etcd_client_world_after(&z->c, &z->b, "3");
	limit(z, &z->b, 50);
	etcd_world_run(&z->world, 100);
	etcd_world_answer(&z->world);
	assert_int_equal(etcd_world_write_wait(&z->b), -ERR_CONFLICT);
	assert_int_equal(etcd_world_write_wait(&z->c), -ERR_CONFLICT);
	assert_int_equal(etcd_world_write_wait(&z->a), 0);
	assert_int_equal(z->world.txns, 1);
	assert_string_equal(etcd_world_get(&z->world, KEY).p, "1");
	assert_int_equal(store_pending(z->client.store), 0);
}

static void a_write_in_doubt_is_not_sent_again_when_it_is_late(void **state)
{
	struct setup *z = *state;
	int64_t first = must_put(z, "1", 0);

	befall(z, ETCD_WORLD_DROP, 1);
	etcd_client_world_put(&z->client, &z->a, "a", "2", first);
	limit(z, &z->a, -1);
	assert_int_equal(etcd_world_write_wait(&z->a), -ERR_TIMEOUT);
	assert_int_equal(z->world.txns, 1 + 1);
}

static void a_full_etcd_has_written_nothing_and_is_unhealthy(void **state)
{
	struct setup *z = *state;
	struct error err;

	befall(z, ETCD_WORLD_FULL, 1);
	etcd_client_world_put(&z->client, &z->a, "a", "1", 0);
	assert_int_equal(etcd_world_write_wait(&z->a), -ERR_UNAVAILABLE);
	assert_non_null(strstr(z->a.err.msg, "space exceeded"));
	assert_int_equal(store_health(z->client.store, &err), -ERR_UNAVAILABLE);
	(void)must_put(z, "1", 0);
	assert_int_equal(store_health(z->client.store, &err), 0);
}

/* The only member crashes with writes in flight, and restarts. */
static void writes_survive_a_crash_of_etcd(void **state)
{
	struct setup *z = *state;
	int64_t first = must_put(z, "1", 0);

	befall(z, ETCD_WORLD_HOLD, 2);
	etcd_client_world_put(&z->client, &z->a, "a", "2", first);
	etcd_client_world_put(&z->client, &z->b, "b", "1", 0);
	while (z->world.log.revision < first + 2)
		assert_true(sim_step(z->world.sim));
	etcd_world_crash(&z->world, 0);
	etcd_world_run(&z->world, 700);
	etcd_world_start(&z->world, 0);
	assert_int_equal(etcd_world_write_wait(&z->a), 0);
	assert_int_equal(etcd_world_write_wait(&z->b), 0);
	assert_int_equal(z->world.log.revision, first + 2);
}

static void a_write_that_nobody_takes_is_certainly_not_written(void **state)
{
	struct setup *z = *state;

	etcd_world_crash(&z->world, 0);
	etcd_world_run(&z->world, 100);
	etcd_client_world_put(&z->client, &z->a, "a", "1", 0);
	assert_int_equal(etcd_world_write_wait(&z->a), -ERR_UNAVAILABLE);
	etcd_world_start(&z->world, 0);
	etcd_world_run(&z->world, 5000);
	assert_null(etcd_world_get(&z->world, KEY).p);
}

static void a_key_that_cannot_be_is_refused(void **state)
{
	struct setup *z = *state;

	etcd_client_world_put(&z->client, &z->a, "a/b", "1", 0);
	assert_int_equal(etcd_world_write_wait(&z->a), -ERR_INVALID);
}

static void closing_does_not_wait_for_a_feed_that_never_comes(void **state)
{
	struct setup *z = *state;
	struct etcd_client_world other;

	etcd_client_world_init(&other, &z->world);
	z->world.hold_events = true;
	etcd_client_world_put(&other, &z->a, "a", "1", 0);
	etcd_client_world_release(&other);
	assert_true(z->a.done);
	assert_int_equal(z->a.result, 0);
}

/* --- one change has one writer ------------------------------------------------------------- */

/* Both servers write "2" on the same revision, and neither gets an answer. */
static void equal_bytes_of_another_server_are_a_conflict(void **state)
{
	struct setup *z = *state;
	struct etcd_client_world other;
	int64_t first = must_put(z, "1", 0);

	etcd_client_world_init(&other, &z->world);
	befall(z, ETCD_WORLD_LOSE, 2);
	etcd_client_world_put(&z->client, &z->a, "a", "2", first);
	etcd_client_world_put(&other, &z->b, "a", "2", first);
	(void)etcd_world_write_wait(&z->a);
	(void)etcd_world_write_wait(&z->b);
	assert_true((z->a.result == 0 && z->b.result == -ERR_CONFLICT) ||
		    (z->b.result == 0 && z->a.result == -ERR_CONFLICT));
	assert_int_equal(z->world.log.revision, first + 1);
	etcd_client_world_release(&other);
}

static void a_deletion_by_another_server_is_a_conflict(void **state)
{
	struct setup *z = *state;
	struct etcd_client_world other;
	int64_t first = must_put(z, "1", 0);

	etcd_client_world_init(&other, &z->world);
	befall(z, ETCD_WORLD_LOSE, 2);
	etcd_client_world_put(&z->client, &z->a, "a", NULL, first);
	etcd_client_world_put(&other, &z->b, "a", NULL, first);
	(void)etcd_world_write_wait(&z->a);
	(void)etcd_world_write_wait(&z->b);
	assert_true((z->a.result == 0 && z->b.result == -ERR_CONFLICT) ||
		    (z->b.result == 0 && z->a.result == -ERR_CONFLICT));
	etcd_client_world_release(&other);
}

/* Another server's equal creation does not prove ours. */
static void an_equal_creation_of_another_server_proves_nothing(void **state)
{
	struct setup *z = *state;
	struct etcd_client_world other;

	etcd_client_world_init(&other, &z->world);
	befall(z, ETCD_WORLD_DROP, 1);
	etcd_client_world_put(&z->client, &z->a, "a", "1", 0);
	while (z->world.txns == 0)
		assert_true(sim_step(z->world.sim));
	etcd_client_world_put(&other, &z->b, "a", "1", 0);
	assert_int_equal(etcd_world_write_wait(&z->b), 0);
	assert_int_equal(etcd_world_write_wait(&z->a), -ERR_TIMEOUT);
	etcd_client_world_release(&other);
}

/* Another server's change fell into a gap of the feed, so nothing proves what it was. */
static void a_write_in_doubt_across_a_gap_of_the_feed_is_unknown(void **state)
{
	struct setup *z = *state;
	int64_t first = must_put(z, "1", 0);

	z->world.hold_events = true;
	befall(z, ETCD_WORLD_LOSE, 1);
	etcd_client_world_put(&z->client, &z->a, "a", "2", first);
	etcd_world_run(&z->world, 500);
	assert_false(z->a.done);
	(void)etcd_world_change(&z->world, KEY, "theirs");
	etcd_world_compact(&z->world, z->world.log.revision);
	(void)sim_break_conns(z->world.sim, 1);
	etcd_world_until(&z->world, &z->client.lost);
	etcd_world_let_events(&z->world);
	etcd_client_world_follow(&z->client, z->world.log.revision);
	assert_int_equal(etcd_world_write_wait(&z->a), -ERR_TIMEOUT);
}

/* --- guards -------------------------------------------------------------------------------- */

static void a_guard_admits_one_of_two_servers(void **state)
{
	struct setup *z = *state;
	struct str guard = STR("gpu.example/node-1/gpu-0");
	struct etcd_client_world other;
	int64_t view;

	etcd_client_world_init(&other, &z->world);
	view = z->client.delivered;
	etcd_client_world_guarded(&z->client, &z->a, "a", &guard, 1, view);
	etcd_client_world_guarded(&other, &z->b, "b", &guard, 1, view);
	(void)etcd_world_write_wait(&z->a);
	(void)etcd_world_write_wait(&z->b);
	assert_true((z->a.result == 0 && z->b.result == -ERR_CONFLICT) ||
		    (z->b.result == 0 && z->a.result == -ERR_CONFLICT));
	/* A write decided on the newer view succeeds. */
	etcd_client_world_guarded(&other, &z->c, "c", &guard, 1, other.delivered);
	assert_int_equal(etcd_world_write_wait(&z->c), 0);
	etcd_client_world_release(&other);
}

static void a_guarded_write_whose_answer_is_lost_succeeds_once(void **state)
{
	struct setup *z = *state;
	struct str guard = STR("g");
	int64_t first = must_put(z, "1", 0);

	befall(z, ETCD_WORLD_LOSE, 1);
	z->a = (struct etcd_world_write){ 0 };
	etcd_client_world_guarded(&z->client, &z->a, "b", &guard, 1, first);
	assert_int_equal(etcd_world_write_wait(&z->a), 0);
	assert_int_equal(z->a.write.revision, first + 1);
	assert_string_equal(z->client.events.p, "a=1@3* b=guarded@4* ");
}

/* Nothing that the server writes has as many: a claim has at most 32 devices. */
static void a_write_with_too_many_guards_is_rejected(void **state)
{
	struct setup *z = *state;
	struct str guards[STORE_GUARDS_MAX + 1];
	char names[ARRAY_SIZE(guards)][8];

	for (size_t i = 0; i < ARRAY_SIZE(guards); i++) {
		(void)snprintf(names[i], sizeof(names[i]), "g%zu", i);
		guards[i] = str_from(names[i]);
	}
	etcd_client_world_guarded(&z->client, &z->a, "a", guards, STORE_GUARDS_MAX + 1, 0);
	assert_int_equal(etcd_world_write_wait(&z->a), -ERR_TOO_LARGE);
	assert_string_equal(z->a.err.msg, "a write with 65 guards; the maximum is 64");
	assert_int_equal(z->world.txns, 0);
	etcd_client_world_guarded(&z->client, &z->b, "a", guards, STORE_GUARDS_MAX,
				  z->client.delivered);
	assert_int_equal(etcd_world_write_wait(&z->b), 0);
}

/* --- bases ---------------------------------------------------------------------------------- */

static void a_write_needs_its_basis_as_it_was(void **state)
{
	struct setup *z = *state;
	int64_t first = must_put(z, "1", 0), second;

	etcd_client_world_based(&z->client, &z->a, "b", "a", first);
	assert_int_equal(etcd_world_write_wait(&z->a), 0);
	second = must_put(z, "2", first);
	etcd_client_world_based(&z->client, &z->a, "c", "a", first);
	assert_int_equal(etcd_world_write_wait(&z->a), -ERR_CONFLICT);
	/* A deleted basis is a conflict, too. */
	etcd_client_world_put(&z->client, &z->a, "a", NULL, second);
	assert_int_equal(etcd_world_write_wait(&z->a), 0);
	etcd_client_world_based(&z->client, &z->b, "c", "a", second);
	assert_int_equal(etcd_world_write_wait(&z->b), -ERR_CONFLICT);
}

/* Without the comparison the write would be made whatever became of its basis. */
static void a_basis_whose_key_cannot_be_fails_the_write(void **state)
{
	struct setup *z = *state;

	etcd_client_world_based(&z->client, &z->a, "b", "x/y", 1);
	assert_int_equal(etcd_world_write_wait(&z->a), -ERR_INVALID);
	assert_int_equal(z->world.txns, 0);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_write_ends_when_everything_before_it_was_delivered),
		TEST(an_answer_delivers_a_write_before_the_watch_does),
		TEST(answers_do_not_overtake_changes_of_others),
		TEST(an_event_before_its_answer_is_known_for_ours),
		TEST(somebody_elses_change_is_not_taken_for_ours),
		TEST(answers_may_come_in_any_order),
		TEST(a_conflict_is_told_after_what_it_conflicts_with),
		TEST(an_update_whose_answer_is_lost_succeeds_once),
		TEST(a_deletion_whose_answer_is_lost_succeeds_once),
		TEST(an_update_that_got_lost_is_sent_again),
		TEST(an_update_that_is_applied_late_takes_no_effect_twice),
		TEST(an_update_that_somebody_forestalled_conflicts_also_in_doubt),
		TEST(an_update_that_was_overwritten_has_succeeded),
		TEST(a_creation_whose_answer_is_lost_is_found_in_the_feed),
		TEST(a_creation_that_may_still_come_is_unknown_and_the_feed_tells),
		TEST(a_creation_behind_a_lost_deletion_is_told_from_it),
		TEST(a_chain_goes_out_before_the_feed_has_shown_its_head),
		TEST(a_chain_behind_an_unknown_write_conflicts),
		TEST(a_write_that_waited_too_long_is_not_sent),
		TEST(a_write_in_doubt_is_not_sent_again_when_it_is_late),
		TEST(a_full_etcd_has_written_nothing_and_is_unhealthy),
		TEST(writes_survive_a_crash_of_etcd),
		TEST(a_write_that_nobody_takes_is_certainly_not_written),
		TEST(a_key_that_cannot_be_is_refused),
		TEST(closing_does_not_wait_for_a_feed_that_never_comes),
		TEST(equal_bytes_of_another_server_are_a_conflict),
		TEST(a_deletion_by_another_server_is_a_conflict),
		TEST(an_equal_creation_of_another_server_proves_nothing),
		TEST(a_write_in_doubt_across_a_gap_of_the_feed_is_unknown),
		TEST(a_guard_admits_one_of_two_servers),
		TEST(a_guarded_write_whose_answer_is_lost_succeeds_once),
		TEST(a_write_with_too_many_guards_is_rejected),
		TEST(a_write_needs_its_basis_as_it_was),
		TEST(a_basis_whose_key_cannot_be_fails_the_write),
	};

	return cmocka_run_group_tests_name("store/etcd_write", tests, NULL, NULL);
}
