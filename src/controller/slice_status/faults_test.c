/*
 * The status of slices under failures: rejected and lost writes, outdated copies, restarts,
 * servers restored from a backup.
 */
#include "controller/slice_status/slice_status_fixture.h"

#define AVAILABLE "\"Available\""

static int conflict_thrice(struct bench *b, const struct fakeapi_query *q UNUSED)
{
	return b->faults++ < 3 ? 409 : FAKEAPI_WELL;
}

static void a_conflict_is_tried_again(void **state)
{
	struct bench b = { .fault = conflict_thrice };

	(void)state;
	bench_init(&b, 15);
	tell(&b, "slice a p 1/1 n g0");
	run(&b);
	assert_int_equal(b.writes.n, 4);
	assert_all_right(&b, "conflict");
	/* The slice changed unseen: a write with the version that we know is rejected. */
	fakeapi_hold_back(b.w->api, "resourceslices");
	tell(&b, "slice a p 1/1 n g0 g1");
	tell(&b, "claim ns/c p/g0");
	controller_world_run(b.w, 300);
	assert_true(b.writes.n > 5);
	assert_status(&b, "a", "/devices/0/state", AVAILABLE);
	fakeapi_catch_up(b.w->api);
	run(&b);
	assert_all_right(&b, "caught up");
	assert_status(&b, "a", "/summary/totalDevices", "2");
	bench_release(&b);
}

static int lose_answers(struct bench *b, const struct fakeapi_query *q UNUSED)
{
	return b->faults++ % 2 == 0 ? FAKEAPI_DO_AND_CUT : FAKEAPI_WELL;
}

static void a_lost_answer_does_no_harm(void **state)
{
	struct bench b = { .fault = lose_answers };

	(void)state;
	bench_init(&b, 16);
	tell(&b, "slice a p 1/1 n g0");
	run(&b);
	tell(&b, "claim ns/c p/g0");
	run(&b);
	assert_all_right(&b, "lost answers");
	bench_release(&b);
}

static int hold_answer(struct bench *b, const struct fakeapi_query *q UNUSED)
{
	return b->faults++ == 0 ? FAKEAPI_HOLD_ANSWER : FAKEAPI_WELL;
}

/* There is no second write while one is under way, and changes meanwhile are not lost. */
static void changes_during_a_write_are_written_after_it(void **state)
{
	struct bench b = { .fault = hold_answer };

	(void)state;
	bench_init(&b, 17);
	tell(&b, "slice a p 1/1 n g0 g1");
	controller_world_run(b.w, 100);
	tell(&b, "claim ns/c p/g0");
	tell(&b, "claim ns/d p/g1");
	controller_world_run(b.w, 1000);
	assert_int_equal(b.writes.n, 1);
	assert_false(slice_status_settled(b.status));
	fakeapi_let_go(b.w->api);
	run(&b);
	assert_int_equal(b.writes.n, 2);
	assert_all_right(&b, "after it");
	/* A slice that is deleted during its write. */
	b.faults = 0;
	tell(&b, "remove claim ns/c");
	controller_world_run(b.w, 100);
	tell(&b, "remove slice a");
	controller_world_run(b.w, 100);
	fakeapi_let_go(b.w->api);
	run(&b);
	tell(&b, "slice a p 1/1 n g0");
	run(&b);
	assert_all_right(&b, "a new one");
	bench_release(&b);
}

/* Our copy is older than our write: nothing is decided before it has caught up. */
static void a_write_is_awaited_before_the_next_look(void **state)
{
	struct bench b = { 0 };

	(void)state;
	bench_init(&b, 18);
	tell(&b, "slice a p 1/1 n g0 g1");
	run(&b);
	fakeapi_hold_back(b.w->api, "resourceslices");
	tell(&b, "claim ns/c p/g0");
	controller_world_run(b.w, 500);
	assert_int_equal(b.writes.n, 2);
	tell(&b, "claim ns/d p/g1");
	controller_world_run(b.w, 500);
	assert_int_equal(b.writes.n, 2);
	fakeapi_catch_up(b.w->api);
	run(&b);
	assert_int_equal(b.writes.n, 3);
	assert_all_right(&b, "caught up");
	bench_release(&b);
}

static void a_restart_finds_what_changed_meanwhile(void **state)
{
	struct bench b = { 0 };

	(void)state;
	bench_init(&b, 19);
	tell(&b, "slice a p 1/2 n g0");
	tell(&b, "slice b p 1/2 n g1");
	tell(&b, "slice z q 1/1 n g9");
	tell(&b, "claim ns/c p/g0");
	run(&b);
	bench_stop(&b);
	tell(&b, "remove claim ns/c");
	tell(&b, "claim ns/d p/g1");
	tell(&b, "slice z q 1/1 n g9 g10");
	b.writes.n = 0;
	bench_start(&b);
	run(&b);
	assert_all_right(&b, "restarted");
	assert_int_equal(b.writes.n, 3);
	bench_release(&b);
}

/* Its deletion was not seen: a list shows another claim in its place, with the same allocation. */
static void a_claim_that_was_replaced_unseen_is_told(void **state)
{
	struct bench b = { 0 };

	(void)state;
	bench_init(&b, 22);
	tell(&b, "slice a p 1/1 n g0");
	tell(&b, "claim ns/c p/g0");
	run(&b);
	fakeapi_hold_back(b.w->api, "resourceclaims");
	tell(&b, "claim ns/c uid=other p/g0");
	fakeapi_forget_past(b.w->api);
	b.w->api->late = NULL;
	controller_world_run(b.w, 60 * 1000);
	run(&b);
	assert_status(&b, "a", "/devices/0/allocations/0/claimUID", "\"uid-other\"");
	bench_release(&b);
}

/* The reply to a removal has no version, and arrives after the event. */
static int hold_removal(struct bench *b, const struct fakeapi_query *q)
{
	return str_eq(q->method, STR("DELETE")) && b->faults++ == 0 ? FAKEAPI_HOLD_ANSWER
								    : FAKEAPI_WELL;
}

static bool has_object(void *arg)
{
	return fakeapi_find(((struct bench *)arg)->w->api, "resourceslicestatuses", "", "a");
}

static void a_removal_that_was_seen_is_not_awaited(void **state)
{
	struct bench b = { .objects = true, .fault = hold_removal };

	(void)state;
	bench_init(&b, 40);
	tell(&b, "slice a p 1/1 n g0");
	run(&b);
	tell(&b, "slice b p 2/1 n g1");
	controller_world_run(b.w, 500);
	assert_false(has_object(&b));
	tell(&b, "remove slice b");
	controller_world_run(b.w, 500);
	fakeapi_let_go(b.w->api);
	assert_true(sim_run_until(b.w->sim, has_object, &b, 100));
	bench_release(&b);
}

/* Our copy shows a write after it was abandoned and something else was decided. */
static void a_write_that_comes_back_too_late_is_looked_at(void **state)
{
	struct bench b = { .objects = true };

	(void)state;
	bench_init(&b, 41);
	run(&b);
	fakeapi_hold_back(b.w->api, "resourceslicestatuses");
	tell(&b, "slice a p 1/1 n g0");
	controller_world_run(b.w, 500);
	assert_true(has_object(&b));
	tell(&b, "slice b p 2/1 n g1");
	controller_world_run(b.w, 20000);
	fakeapi_catch_up(b.w->api);
	run(&b);
	assert_false(has_object(&b));
	bench_release(&b);
}

/* The slice has the same generation as before, but another spec. */
static void a_server_that_was_put_back_is_believed(void **state)
{
	struct bench b = { 0 };
	const struct fakeapi_object *o;
	char *generation;

	(void)state;
	bench_init(&b, 42);
	tell(&b, "slice a p 1/1 n g0");
	run(&b);
	fakeapi_hold_back(b.w->api, "resourceslices");
	b.w->api->rv = 50;
	tell(&b, "slice a p 1/1 n g0 g1 g2");
	o = fakeapi_find(b.w->api, "resourceslices", "", "a");
	generation = strstr(o->text, "\"generation\":2");
	assert_non_null(generation);
	generation[strlen("\"generation\":")] = '1';
	b.w->api->rv = 1000; /* so that watches are rejected */
	fakeapi_forget_past(b.w->api);
	b.w->api->late = NULL;
	controller_world_run(b.w, 120 * 1000);
	run(&b);
	assert_status(&b, "a", "/summary/totalDevices", "3");
	assert_all_right(&b, "put back");
	bench_release(&b);
}

static int not_found(struct bench *b, const struct fakeapi_query *q UNUSED)
{
	return b->faults > 0 && b->faults-- > 0 ? 404 : FAKEAPI_WELL;
}

static void an_unserved_status_is_discovered_again(void **state)
{
	struct bench b = { .fault = not_found, .faults = 1 };

	(void)state;
	bench_init(&b, 43);
	tell(&b, "slice a p 1/1 n g0");
	run(&b);
	assert_int_equal(b.unserved, 0);
	b.faults = INT_MAX;
	tell(&b, "claim ns/c p/g0");
	controller_world_run(b.w, 30 * 1000);
	assert_in_range(b.unserved, 1, 4);
	b.faults = 0;
	run(&b);
	assert_all_right(&b, "served again");
	bench_release(&b);
}

static int refuse(struct bench *b, const struct fakeapi_query *q UNUSED)
{
	return b->faults ? 422 : FAKEAPI_WELL;
}

static void a_rejected_status_is_not_sent_at_every_change(void **state)
{
	struct bench b = { .fault = refuse, .faults = 1 };

	(void)state;
	bench_init(&b, 44);
	tell(&b, "slice a p 1/1 n g0");
	for (int i = 0; i < 200; i++) {
		tell_line(&b, i % 2 ? STR("claim ns/c") : STR("claim ns/c p/g0"));
		controller_world_run(b.w, 10);
	}
	assert_in_range(b.writes.n, 5, 12);
	b.faults = 0;
	run(&b);
	assert_all_right(&b, "taken");
	/* After the recovery there is no delay. */
	b.writes.n = 0;
	tell(&b, "claim ns/c p/g0");
	controller_world_run(b.w, 50);
	assert_int_equal(b.writes.n, 1);
	bench_release(&b);
}

/* A user who may not list taint rules can still publish. */
int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_conflict_is_tried_again),
		cmocka_unit_test(a_lost_answer_does_no_harm),
		cmocka_unit_test(changes_during_a_write_are_written_after_it),
		cmocka_unit_test(a_write_is_awaited_before_the_next_look),
		cmocka_unit_test(a_restart_finds_what_changed_meanwhile),
		cmocka_unit_test(a_claim_that_was_replaced_unseen_is_told),
		cmocka_unit_test(a_removal_that_was_seen_is_not_awaited),
		cmocka_unit_test(a_write_that_comes_back_too_late_is_looked_at),
		cmocka_unit_test(a_server_that_was_put_back_is_believed),
		cmocka_unit_test(an_unserved_status_is_discovered_again),
		cmocka_unit_test(a_rejected_status_is_not_sent_at_every_change),
	};

	return cmocka_run_group_tests_name("controller/slice_status_faults", tests, NULL, NULL);
}
