/*
 * Each step of attaching and of detaching is made to fail, and to be where a process dies. The node
 * is to look as before when nic_detach() has run, in the same process or in the next one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/wait.h>
#include <unistd.h>

#include "drivers/nic_attach/world.h"
#include "drivers/rtnl/netns.h"

enum { STEPS_MAX = 40 };

/* Each kind of step once is enough. */
static void with_few_steps(struct attach_world *w, struct nic_use *u)
{
	u->config.naddresses = 1;
	u->config.routes = &u->config.routes[1];
	u->config.nroutes = 1;
	NIC_MUST(w, nic_book_save(w->book, &w->err));
}

/* --- steps that fail ---------------------------------------------------------------------- */

static void check_each_failure_of_attaching(struct attach_world *w, struct nic_use *u)
{
	char when[96];

	with_few_steps(w, u);
	for (unsigned n = 1;; n++) {
		assert_true(n < STEPS_MAX);
		(void)snprintf(when, sizeof(when), "%s, step %u", u->nic.device, n);
		attach_world_stop_at(w, n);
		if (attach_world_put(w, u) == 0) {
			assert_true(n > 3);
			break;
		}
		assert_non_null(strstr(w->err.msg, " fails"));
		attach_world_assert_prepared(w, u, when);
		assert_int_equal(attach_world_state_in_file(w), NIC_PREPARED);
	}
	attach_world_stop_at(w, 0);
	NIC_MUST(w, attach_world_detach(w, u));
}

static void a_step_of_attaching_that_fails_is_undone(void **state)
{
	if (attach_world_can(*state))
		attach_world_for_each(*state, ATTACH_WORLD_MOST, check_each_failure_of_attaching);
	else
		skip();
}

/* Undoing fails, too: the disk is full, say. Trying again is of use. */
static void check_attaching_that_cannot_be_undone(struct attach_world *w, struct nic_use *u)
{
	char when[96];

	with_few_steps(w, u);
	w->for_good = true;
	for (unsigned n = 2;; n++) {
		assert_true(n < STEPS_MAX);
		(void)snprintf(when, sizeof(when), "%s, from step %u on", u->nic.device, n);
		attach_world_stop_at(w, n);
		if (attach_world_put(w, u) == 0)
			break;
		assert_int_equal(u->state, NIC_ATTACHING);
		assert_non_null(strstr(w->err.msg, "it could not be undone"));
		assert_int_equal(attach_world_state_in_file(w), NIC_ATTACHING);
		attach_world_stop_at(w, 0);
		if (n % 2 == 0) {
			NIC_MUST(w, attach_world_detach(w, u));
		} else {
			/* The runtime asks again: the rest is cleared away on the way. */
			NIC_MUST(w, attach_world_put(w, u));
			assert_true(attach_world_look(w, u).there);
			NIC_MUST(w, attach_world_detach(w, u));
		}
		attach_world_assert_prepared(w, u, when);
	}
	attach_world_stop_at(w, 0);
	NIC_MUST(w, attach_world_detach(w, u));
	w->for_good = false;
}

static void a_failed_cleanup_is_retried_later(void **state)
{
	if (attach_world_can(*state))
		attach_world_for_each(*state,
				      1 << ATTACH_WORLD_HOST | 1 << ATTACH_WORLD_VETH_BRIDGE,
				      check_attaching_that_cannot_be_undone);
	else
		skip();
}

static void check_each_failure_of_detaching(struct attach_world *w, struct nic_use *u)
{
	bool failed = true;

	with_few_steps(w, u);
	for (unsigned n = 1; failed; n++) {
		assert_true(n < STEPS_MAX);
		attach_world_stop_at(w, 0);
		NIC_MUST(w, attach_world_put(w, u));
		attach_world_stop_at(w, n);
		failed = attach_world_detach(w, u) < 0;
		if (failed)
			assert_int_equal(u->state, n == 1 ? NIC_ATTACHED : NIC_DETACHING);
		attach_world_stop_at(w, 0);
		NIC_MUST(w, attach_world_detach(w, u));
		attach_world_assert_prepared(w, u, u->nic.device);
	}
}

static void a_step_of_detaching_that_fails_is_made_up_for(void **state)
{
	if (attach_world_can(*state))
		attach_world_for_each(*state, 1 << ATTACH_WORLD_HOST,
				      check_each_failure_of_detaching);
	else
		skip();
}

/* --- crashes ------------------------------------------------------------------------------ */

/*
 * Another process does it and is gone before step n. Returns true if it came to its
 * end. This process drops its state before and reads it again afterwards.
 */
static bool dies_at(struct attach_world *w, unsigned n,
		    int (*work)(struct attach_world *w, struct nic_use *u))
{
	int status;
	pid_t child;

	attach_world_close(w);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		attach_world_open(w);
		w->crash = true;
		attach_world_stop_at(w, n);
		_exit(work(w, w->use) < 0 ? 1 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == ATTACH_WORLD_CRASHED);
	attach_world_open(w);
	assert_non_null(w->use);
	return WEXITSTATUS(status) == 0;
}

static void check_each_crash_of_attaching(struct attach_world *w, struct nic_use *u)
{
	bool whole = false;
	char when[96];

	with_few_steps(w, u);
	for (unsigned n = 1; !whole; n++) {
		assert_true(n < STEPS_MAX);
		whole = dies_at(w, n, attach_world_put);
		assert_true(n > 3 || !whole);
		assert_int_equal(w->use->state, whole    ? NIC_ATTACHED
						: n == 1 ? NIC_PREPARED
							 : NIC_ATTACHING);
		(void)snprintf(when, sizeof(when), "%s, died before step %u", w->use->nic.device,
			       n);
		NIC_MUST(w, attach_world_detach(w, w->use));
		attach_world_assert_prepared(w, w->use, when);
	}
	NIC_MUST(w, attach_world_put(w, w->use));
	assert_true(attach_world_look(w, w->use).there);
	NIC_MUST(w, attach_world_detach(w, w->use));
	attach_world_assert_prepared(w, w->use, "after all crashes");
}

static void a_crash_at_any_step_of_attaching_is_undone_by_the_next_start(void **state)
{
	if (attach_world_can(*state))
		attach_world_for_each(*state, ATTACH_WORLD_MOST, check_each_crash_of_attaching);
	else
		skip();
}

static void check_each_crash_of_detaching(struct attach_world *w, struct nic_use *u)
{
	bool whole = false;
	char when[96];

	with_few_steps(w, u);
	for (unsigned n = 1; !whole; n++) {
		assert_true(n < STEPS_MAX);
		NIC_MUST(w, attach_world_put(w, w->use));
		whole = dies_at(w, n, attach_world_detach);
		assert_int_equal(w->use->state, whole    ? NIC_PREPARED
						: n == 1 ? NIC_ATTACHED
							 : NIC_DETACHING);
		(void)snprintf(when, sizeof(when), "%s, died before step %u", w->use->nic.device,
			       n);
		NIC_MUST(w, attach_world_detach(w, w->use));
		attach_world_assert_prepared(w, w->use, when);
	}
}

static void a_crash_at_any_step_of_detaching_is_made_up_for(void **state)
{
	if (attach_world_can(*state))
		attach_world_for_each(*state, ATTACH_WORLD_MOST, check_each_crash_of_detaching);
	else
		skip();
}

static void a_crash_while_the_namespace_ends_leaves_nothing(void **state)
{
	struct attach_world *w = *state;
	struct attach_world_dump now;

	if (!attach_world_can(*state))
		skip();
	(void)attach_world_add_full(w, ATTACH_WORLD_VETH_BRIDGE);
	for (unsigned n = 2; n < 4; n++) {
		assert_false(dies_at(w, n, attach_world_put));
		assert_int_equal(w->use->state, NIC_ATTACHING);
		attach_world_end_pod(w);
		NIC_MUST(w, nic_detach(w->attach, w->use, -1, &w->err));
		assert_int_equal(w->use->state, NIC_PREPARED);
		attach_world_dump(w, w->here, &now);
		attach_world_assert_same(&w->home, &now, "the namespace has ended");
		NIC_MUST(w, netns_make(&w->pod_fd, &w->err));
		NIC_MUST(w, rtnl_open(w->pod_fd, &w->pod, &w->err));
	}
}

#define CRASH_TEST(f) cmocka_unit_test_setup_teardown(f, attach_world_setup, attach_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CRASH_TEST(a_step_of_attaching_that_fails_is_undone),
		CRASH_TEST(a_failed_cleanup_is_retried_later),
		CRASH_TEST(a_step_of_detaching_that_fails_is_made_up_for),
		CRASH_TEST(a_crash_at_any_step_of_attaching_is_undone_by_the_next_start),
		CRASH_TEST(a_crash_at_any_step_of_detaching_is_made_up_for),
		CRASH_TEST(a_crash_while_the_namespace_ends_leaves_nothing),
	};

	return cmocka_run_group_tests_name("drivers/nic_crash", tests, NULL, NULL);
}
