/*
 * Claims are prepared and unprepared over gRPC in a simulated world: an API server that knows
 * two claims, a vendor that answers at once, later or not well, and crashes at any place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/system/file.h"
#include "drivers/prepare/prepare_world.h"

/* --- tests -------------------------------------------------------------------------------- */

static void preparing_twice_asks_the_vendor_once(void **state)
{
	struct prepare_world *t = *state;

	prepare_world_expect(t, false, "ab", "");
	assert_int_equal(t->devices, 2);
	assert_int_equal(t->prepares, 2);
	prepare_world_expect(t, false, "ab", "");
	assert_int_equal(t->devices, 2);
	assert_int_equal(t->prepares, 2);
	assert_int_equal(prepare_count(t->prepare), 2);
	prepare_world_expect(t, true, "a", "");
	assert_int_equal(t->unprepares, 1);
	prepare_world_expect(t, true, "ab", "");
	assert_int_equal(t->unprepares, 2);
	assert_int_equal(prepare_count(t->prepare), 0);
	assert_true(prepare_world_file_has(t, "prepared.json", "\"claims\":[]"));
}

static void a_claim_without_its_file_is_prepared_anew(void **state)
{
	struct prepare_world *t = *state;

	prepare_world_expect(t, false, "a", "");
	prepare_world_remove(t, "cdi/k8s.d-claim-uid-a.json");
	prepare_world_expect(t, false, "a", "");
	assert_int_equal(t->prepares, 2);
	assert_true(prepare_world_file_has(t, "cdi/k8s.d-claim-uid-a.json", "A=1"));
}

static void a_vendor_may_answer_later_and_others_go_on(void **state)
{
	struct prepare_world *t = *state;
	unsigned answers = t->answers;

	t->result = DP_LATER;
	(void)prepare_world_ask(t, false, "a");
	prepare_world_settle(t);
	assert_int_equal(t->nlater, 1);
	assert_false(prepare_idle(t->prepare));
	assert_true(prepare_owed(t->prepare));
	(void)prepare_world_ask(t, false, "a");
	(void)prepare_world_ask(t, true, "a");
	prepare_world_settle(t);
	assert_int_equal(t->answers, answers);
	assert_int_equal(t->prepares, 1);
	t->result = 0;
	prepare_world_expect(t, false, "b", "");
	dp_claim_done(t->later[0], 0);
	prepare_world_settle(t);
	/* The second prepare finds it done, then comes the unprepare. */
	assert_int_equal(t->answers, answers + 4);
	assert_int_equal(t->prepares, 2);
	assert_int_equal(t->unprepares, 1);
	assert_true(prepare_idle(t->prepare));
	assert_false(prepare_owed(t->prepare));
	assert_int_equal(prepare_count(t->prepare), 1);
}

static void a_vendor_that_fails_is_told_of_the_unprepare(void **state)
{
	struct prepare_world *t = *state;

	t->result = -1;
	prepare_world_expect(t, false, "a", "out of order");
	assert_true(prepare_world_file_has(t, "prepared.json", "\"prepared\":false"));
	prepare_world_expect(t, true, "a", "out of order");
	assert_int_equal(t->unprepares, 1);
	t->result = 0;
	prepare_world_expect(t, true, "a", "");
	assert_int_equal(t->unprepares, 2);
	prepare_world_expect(t, true, "a", "");
	assert_int_equal(t->unprepares, 2);
}

static void a_claim_twice_in_one_call_is_refused(void **state)
{
	struct prepare_world *t = *state;

	(void)prepare_world_ask(t, false, "aa");
	prepare_world_settle(t);
	assert_int_equal(t->claims, 2);
	assert_string_equal(t->error[0], "");
	assert_string_equal(t->error[1], "the claim is there twice");
	prepare_world_expect(t, false, "", "");
}

/* Between the vendor and the end of the call. */
static void a_claim_that_was_begun_before_a_crash_is_unprepared_after_it(void **state)
{
	struct prepare_world *t = *state;

	t->result = DP_LATER;
	(void)prepare_world_ask(t, false, "a");
	prepare_world_settle(t);
	assert_int_equal(t->nlater, 1);
	/* The process ends here; the next one has only the file. */
	prepare_free(t->prepare);
	prepare_world_begin(t);
	prepare_world_settle(t);
	assert_int_equal(t->code, GRPC_UNAVAILABLE);
	t->result = 0;
	t->gone = true;
	prepare_world_expect(t, true, "a", "");
	assert_int_equal(t->unprepares, 1);
	prepare_world_expect(t, false, "a", "retrieve claim ns/a: gone");
}

static void a_claim_is_prepared_again_after_a_reboot(void **state)
{
	struct prepare_world *t = *state;
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);
	char path[160];
	char *boot;

	prepare_world_expect(t, false, "a", "");
	(void)snprintf(path, sizeof(path), "%s/prepared.json", t->dir);
	assert_int_equal(file_read(path, &text, NULL), 0);
	boot = strstr(text.p, "\"bootID\":\"");
	assert_non_null(boot);
	boot[10] = boot[10] == '0' ? '1' : '0';
	assert_int_equal(file_write_atomic(path, buf_str(&text), 0600, NULL), 0);
	prepare_free(t->prepare);
	prepare_world_begin(t);
	prepare_world_expect(t, false, "a", "");
	assert_int_equal(t->prepares, 2);
}

static void a_disk_that_cannot_be_written_is_an_error_and_nothing_is_lost(void **state)
{
	struct prepare_world *t = *state;
	char path[160];

	prepare_world_expect(t, false, "a", "");
	/* A folder in the file's place: it cannot be replaced. */
	(void)snprintf(path, sizeof(path), "%s/prepared.json", t->dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	(void)prepare_world_ask(t, false, "b");
	prepare_world_settle(t);
	assert_true(strlen(t->error[0]) > 0);
	assert_int_equal(t->prepares, 1);
	(void)prepare_world_ask(t, true, "a");
	prepare_world_settle(t);
	assert_true(strlen(t->error[0]) > 0);
	assert_int_equal(rmdir(path), 0);
	prepare_world_expect(t, true, "a", "");
	prepare_world_expect(t, false, "b", "");
	assert_int_equal(t->prepares, 2);
}

/* --- calls that end early ----------------------------------------------------------------- */

/*
 * The kubelet's connection was lost, and the driver reads its prepare after the unprepare that
 * came by the next connection: nobody would ever undo that prepare.
 */
static void a_prepare_whose_caller_has_gone_never_reaches_the_vendor(void **state)
{
	struct prepare_world *t = *state;
	struct grpc_call *call;

	prepare_world_expect(t, true, "a", "");
	sim_pause(t->w.loop, 1000); /* the claim is not read before the caller has gone */
	call = prepare_world_ask(t, false, "a");
	sim_run_for(t->w.sim, 100);
	assert_false(prepare_idle(t->prepare));
	grpc_call_cancel(call);
	prepare_world_settle(t);
	assert_int_equal(t->code, GRPC_CANCELLED);
	assert_true(prepare_idle(t->prepare));
	assert_int_equal(t->prepares, 0);
	assert_int_equal(prepare_count(t->prepare), 0);
	/* A caller that still wants it asks again. */
	prepare_world_expect(t, false, "a", "");
	assert_int_equal(t->prepares, 1);
}

static void an_unprepare_whose_caller_has_gone_while_it_waited_is_dropped(void **state)
{
	struct prepare_world *t = *state;
	struct grpc_call *call;

	t->result = DP_LATER;
	(void)prepare_world_ask(t, false, "a");
	prepare_world_settle(t);
	call = prepare_world_ask(t, true, "a");
	prepare_world_settle(t);
	grpc_call_cancel(call);
	prepare_world_settle(t);
	t->result = 0;
	dp_claim_done(t->later[0], 0);
	prepare_world_settle(t);
	assert_true(prepare_idle(t->prepare));
	assert_int_equal(t->unprepares, 0);
	assert_int_equal(prepare_count(t->prepare), 1);
	prepare_world_expect(t, true, "a", "");
	assert_int_equal(t->unprepares, 1);
}

/* The vendor knows of the claim already, so its end is waited for. */
static void a_prepare_whose_caller_goes_while_the_vendor_works_is_finished(void **state)
{
	struct prepare_world *t = *state;
	struct grpc_call *call;

	t->result = DP_LATER;
	call = prepare_world_ask(t, false, "a");
	prepare_world_settle(t);
	grpc_call_cancel(call);
	prepare_world_settle(t);
	t->result = 0;
	dp_claim_done(t->later[0], 0);
	prepare_world_settle(t);
	assert_int_equal(prepare_count(t->prepare), 1);
	prepare_world_expect(t, false, "a", "");
	assert_int_equal(t->prepares, 1);
}

/* --- asked again -------------------------------------------------------------------------- */

#define POD(name) "{\"resource\":\"pods\",\"name\":\"" name "\",\"uid\":\"uid-" name "\"}"

static int set_up_again(void **state)
{
	struct prepare_world *t;

	(void)prepare_world_setup(state);
	t = *state;
	prepare_free(t->prepare);
	t->opts.again = true;
	prepare_world_begin(t);
	return 0;
}

static void a_vendor_who_wants_it_is_asked_again_with_the_claim_as_it_is(void **state)
{
	struct prepare_world *t = *state;

	t->reserved = "[" POD("q") "]";
	prepare_world_expect(t, false, "a", "");
	assert_int_equal(t->consumers, 1);
	t->reserved = "[" POD("q") "," POD("r") "]";
	t->env = "B=2";
	prepare_world_expect(t, false, "a", "");
	assert_int_equal(t->prepares, 2);
	assert_int_equal(t->consumers, 2);
	assert_int_equal(t->devices, 1);
	assert_true(prepare_world_file_has(t, "cdi/k8s.d-claim-uid-a.json", "B=2"));
	assert_false(prepare_world_file_has(t, "cdi/k8s.d-claim-uid-a.json", "A=1"));
	/* No edits any more: no file, and the file of claims knows it. */
	t->env = NULL;
	prepare_world_expect(t, false, "a", "");
	assert_false(prepare_world_file_has(t, "cdi/k8s.d-claim-uid-a.json", ""));
	assert_true(prepare_world_file_has(t, "prepared.json", "\"ownFile\":false"));
	assert_int_equal(prepare_count(t->prepare), 1);
	prepare_world_expect(t, true, "a", "");
	assert_int_equal(prepare_count(t->prepare), 0);
}

static void a_prepared_claim_stays_so_if_a_repeat_fails(void **state)
{
	struct prepare_world *t = *state;

	prepare_world_expect(t, false, "a", "");
	t->result = -1;
	t->env = "B=2";
	prepare_world_expect(t, false, "a", "out of order");
	assert_int_equal(t->prepares, 2);
	assert_int_equal(prepare_count(t->prepare), 1);
	assert_true(prepare_world_file_has(t, "cdi/k8s.d-claim-uid-a.json", "A=1"));
	assert_true(prepare_world_file_has(t, "prepared.json", "\"prepared\":true"));
	t->gone = true;
	prepare_world_expect(t, false, "a", "retrieve claim ns/a: gone");
	assert_int_equal(prepare_count(t->prepare), 1);
	t->result = 0;
	prepare_world_expect(t, true, "a", "");
	assert_int_equal(t->unprepares, 1);
	assert_int_equal(prepare_count(t->prepare), 0);
}

static void a_vendor_may_answer_again_later(void **state)
{
	struct prepare_world *t = *state;
	unsigned answers;

	prepare_world_expect(t, false, "a", "");
	answers = t->answers;
	t->result = DP_LATER;
	t->env = "B=2";
	(void)prepare_world_ask(t, false, "a");
	(void)prepare_world_ask(t, true, "a");
	prepare_world_settle(t);
	assert_int_equal(t->answers, answers);
	t->result = 0;
	dp_claim_done(t->later[0], 0);
	prepare_world_settle(t);
	assert_int_equal(t->answers, answers + 2);
	assert_int_equal(t->unprepares, 1);
	assert_int_equal(prepare_count(t->prepare), 0);
	/* The process ends while he is thinking: what was prepared still is. */
	prepare_world_expect(t, false, "b", "");
	t->result = DP_LATER;
	(void)prepare_world_ask(t, false, "b");
	prepare_world_settle(t);
	prepare_free(t->prepare);
	prepare_world_begin(t);
	assert_int_equal(prepare_count(t->prepare), 1);
}

static void collect(void *arg, const struct dp_claim *c)
{
	struct buf *names = arg;

	(void)buf_addz(names, dp_claim_name(c));
	assert_string_equal(dp_claim_result(c, 0)->device, "x");
}

static void claims_that_are_prepared_are_known_after_a_restart(void **state)
{
	CLEANUP(buf_release) struct buf names = BUF_INIT(KIB);
	struct prepare_world *t = *state;

	prepare_world_expect(t, false, "a", "");
	t->result = -1;
	prepare_world_expect(t, false, "b", "out of order");
	prepare_free(t->prepare);
	prepare_world_begin(t);
	prepare_each(t->prepare, collect, &names);
	assert_string_equal(names.p, "a");
}

/* --- two instances ------------------------------------------------------------------------ */

static void a_claim_that_another_instance_unprepared_is_forgotten(void **state)
{
	struct prepare *first, *second;
	struct prepare_world *t = *state;

	prepare_free(t->prepare);
	t->opts.shared = true;
	prepare_world_begin(t);
	second = t->prepare;
	prepare_world_begin(t);
	first = t->prepare;
	prepare_world_expect(t, false, "a", "");
	t->prepare = second;
	prepare_world_expect(t, true, "a", "");
	t->prepare = first;
	prepare_world_expect(t, false, "b", "");
	assert_null(map_get(&first->claims, STR("uid-a")));
	assert_int_equal(first->claims.n, 1);
	prepare_world_expect(t, false, "a", "");
	assert_int_equal(t->prepares, 3);
	prepare_free(second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(preparing_twice_asks_the_vendor_once,
						prepare_world_setup, prepare_world_teardown),
		cmocka_unit_test_setup_teardown(a_claim_without_its_file_is_prepared_anew,
						prepare_world_setup, prepare_world_teardown),
		cmocka_unit_test_setup_teardown(a_vendor_may_answer_later_and_others_go_on,
						prepare_world_setup, prepare_world_teardown),
		cmocka_unit_test_setup_teardown(a_vendor_that_fails_is_told_of_the_unprepare,
						prepare_world_setup, prepare_world_teardown),
		cmocka_unit_test_setup_teardown(a_claim_twice_in_one_call_is_refused,
						prepare_world_setup, prepare_world_teardown),
		cmocka_unit_test_setup_teardown(
			a_claim_that_was_begun_before_a_crash_is_unprepared_after_it,
			prepare_world_setup, prepare_world_teardown),
		cmocka_unit_test_setup_teardown(a_claim_is_prepared_again_after_a_reboot,
						prepare_world_setup, prepare_world_teardown),
		cmocka_unit_test_setup_teardown(
			a_disk_that_cannot_be_written_is_an_error_and_nothing_is_lost,
			prepare_world_setup, prepare_world_teardown),
		cmocka_unit_test_setup_teardown(
			a_prepare_whose_caller_has_gone_never_reaches_the_vendor,
			prepare_world_setup, prepare_world_teardown),
		cmocka_unit_test_setup_teardown(
			an_unprepare_whose_caller_has_gone_while_it_waited_is_dropped,
			prepare_world_setup, prepare_world_teardown),
		cmocka_unit_test_setup_teardown(
			a_prepare_whose_caller_goes_while_the_vendor_works_is_finished,
			prepare_world_setup, prepare_world_teardown),
		cmocka_unit_test_setup_teardown(
			a_vendor_who_wants_it_is_asked_again_with_the_claim_as_it_is, set_up_again,
			prepare_world_teardown),
		cmocka_unit_test_setup_teardown(a_prepared_claim_stays_so_if_a_repeat_fails,
						set_up_again, prepare_world_teardown),
		cmocka_unit_test_setup_teardown(a_vendor_may_answer_again_later, set_up_again,
						prepare_world_teardown),
		cmocka_unit_test_setup_teardown(claims_that_are_prepared_are_known_after_a_restart,
						prepare_world_setup, prepare_world_teardown),
		cmocka_unit_test_setup_teardown(
			a_claim_that_another_instance_unprepared_is_forgotten, prepare_world_setup,
			prepare_world_teardown),
	};

	return cmocka_run_group_tests_name("drivers/prepare", tests, NULL, NULL);
}
