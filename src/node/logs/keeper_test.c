/*
 * Which logs are rotated or reopened, and when, with real files, a simulated loop and a runtime
 * whose replies the test sets.
 */
#include "node/logs/keeper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/report/log.h"
#include "base/system/file.h"
#include "net/loop/loop.h"
#include "net/sim/sim.h"
#include "node/logs/rotate.h"
#include "node/runtime/runtime.h"

enum { INTERVAL = 1000, LARGE = 10, LOGS = 3 };

struct world {
	struct arena a;
	struct sim *sim;
	struct loop *loop;
	struct runtime runtime;
	struct log_keeper *keeper;
	char dir[64];
	unsigned asked[LOGS]; /* calls of the runtime, for c0 to c2 */
	const char *refused; /* a container whose log the runtime does not open; or NULL */
	bool silent; /* it does not reply */
	runtime_done *done; /* then: the pending callback */
	void *done_arg;
};

static const char *at(struct world *w, size_t i)
{
	return arena_printf(&w->a, "%s/c/%zu.log", w->dir, i);
}

static void put(struct world *w, size_t i, const char *text)
{
	assert_int_equal(file_write_atomic(at(w, i), str_from(text), 0600, NULL), 0);
}

static off_t size_of(struct world *w, size_t i)
{
	struct stat st;

	return stat(at(w, i), &st) == 0 ? st.st_size : -1;
}

static void reopen(struct runtime *r, struct str id, runtime_done *done, void *arg)
{
	struct world *w = CONTAINER_OF(r, struct world, runtime);
	size_t i = (size_t)(id.p[1] - '0');
	struct error err;

	w->asked[i]++;
	if (w->silent) {
		w->done = done;
		w->done_arg = arg;
	} else if (w->refused && str_eqz(id, w->refused)) {
		(void)error_set(&err, ERR_UNAVAILABLE, "not that one");
		done(arg, &err);
	} else {
		put(w, i, "");
		done(arg, NULL);
	}
}

static const struct runtime_ops ops = { .reopen_log = reopen };

static void each(void *arg, struct log_keeper *k)
{
	struct world *w = arg;

	for (size_t i = 0; i < LOGS; i++)
		log_keeper_add(k, str_from(arena_printf(&w->a, "c%zu", i)), str_from(at(w, i)));
	log_keeper_add(k, STR("no-log"), STR(""));
}

static int begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct sim_opts so = { .seed = 1 };

	arena_init(&w->a, SIZE_MAX);
	w->sim = sim_new(&so);
	w->loop = sim_loop_new(w->sim, "agent");
	w->runtime.ops = &ops;
	(void)snprintf(w->dir, sizeof(w->dir), "/tmp/log_keeper_test.XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	assert_int_equal(mkdir(arena_printf(&w->a, "%s/c", w->dir), 0700), 0);
	for (size_t i = 0; i < LOGS; i++)
		put(w, i, "small");
	w->keeper = log_keeper_new(&(struct log_keeper_opts){ .loop = w->loop,
							      .runtime = &w->runtime,
							      .interval_ms = INTERVAL,
							      .max_size = LARGE,
							      .max_files = 3,
							      .each = each,
							      .arg = w,
							      .log = log_null() });
	*state = w;
	return 0;
}

static int end(void **state)
{
	struct world *w = *state;

	log_keeper_free(w->keeper);
	log_rotate_remove_pod(w->dir);
	loop_free(w->loop);
	sim_free(w->sim);
	arena_release(&w->a);
	free(w);
	return 0;
}

static void look(struct world *w)
{
	sim_run_for(w->sim, INTERVAL + 10);
}

static void check_asked(struct world *w, unsigned a, unsigned b, unsigned c)
{
	assert_int_equal(w->asked[0], a);
	assert_int_equal(w->asked[1], b);
	assert_int_equal(w->asked[2], c);
}

static void logs_are_rotated_when_they_are_large(void **state)
{
	struct world *w = *state;

	look(w);
	check_asked(w, 0, 0, 0);
	put(w, 1, "ten bytes.");
	look(w);
	check_asked(w, 0, 1, 0);
	assert_int_equal(size_of(w, 1), 0);
	look(w);
	check_asked(w, 0, 1, 0);
}

static void a_log_that_is_missing_is_opened_anew_once_per_look(void **state)
{
	struct world *w = *state;

	assert_int_equal(unlink(at(w, 0)), 0);
	w->refused = "c0";
	look(w);
	check_asked(w, 1, 0, 0);
	look(w);
	check_asked(w, 2, 0, 0);
	w->refused = NULL;
	look(w);
	check_asked(w, 3, 0, 0);
	assert_int_equal(size_of(w, 0), 0);
	look(w);
	check_asked(w, 3, 0, 0);
}

static void one_that_cannot_be_rotated_holds_up_no_other(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < LOGS; i++)
		put(w, i, "large enough");
	w->refused = "c0";
	look(w);
	check_asked(w, 1, 1, 1);
	assert_int_equal(size_of(w, 0), 12);
	assert_int_equal(size_of(w, 1), 0);
	assert_int_equal(size_of(w, 2), 0);
}

/* Always large: as if its container wrote faster than it can be rotated. */
static void one_that_is_large_again_at_once_waits_for_its_next_turn(void **state)
{
	struct world *w = *state;

	put(w, 0, "large enough");
	put(w, 1, "large enough");
	w->silent = true;
	look(w);
	check_asked(w, 1, 0, 0);
	w->silent = false;
	put(w, 0, "large again!");
	w->done(w->done_arg, NULL);
	sim_run_for(w->sim, 10);
	check_asked(w, 1, 1, 0);
	look(w);
	check_asked(w, 2, 1, 0);
}

static void a_stop_waits_for_the_runtime_but_not_for_ever(void **state)
{
	struct world *w = *state;

	put(w, 0, "large enough");
	w->silent = true;
	look(w);
	assert_int_equal(size_of(w, 0), -1);
	log_keeper_stop(w->keeper);
	assert_true(log_keeper_pending(w->keeper));
	sim_run_for(w->sim, 10000);
	assert_false(log_keeper_pending(w->keeper));
	/* The runtime is gone without a reply: the log has its old name. */
	log_keeper_free(TAKE(w->keeper));
	assert_int_equal(size_of(w, 0), 12);
}

static void a_stop_ends_with_the_answer(void **state)
{
	struct world *w = *state;

	put(w, 0, "large enough");
	put(w, 1, "large enough");
	w->silent = true;
	look(w);
	log_keeper_stop(w->keeper);
	put(w, 0, "");
	w->done(w->done_arg, NULL);
	assert_false(log_keeper_pending(w->keeper));
	look(w);
	check_asked(w, 1, 0, 0);
	assert_int_equal(size_of(w, 0), 0);
}

static void a_new_log_is_not_replaced_when_only_the_answer_is_lost(void **state)
{
	struct world *w = *state;
	struct error err;

	put(w, 0, "large enough");
	w->silent = true;
	look(w);
	put(w, 0, "new");
	(void)error_set(&err, ERR_TIMEOUT, "no answer");
	w->done(w->done_arg, &err);
	assert_int_equal(size_of(w, 0), 3);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(logs_are_rotated_when_they_are_large),
		CASE(a_log_that_is_missing_is_opened_anew_once_per_look),
		CASE(one_that_cannot_be_rotated_holds_up_no_other),
		CASE(one_that_is_large_again_at_once_waits_for_its_next_turn),
		CASE(a_stop_waits_for_the_runtime_but_not_for_ever),
		CASE(a_stop_ends_with_the_answer),
		CASE(a_new_log_is_not_replaced_when_only_the_answer_is_lost),
	};

	return cmocka_run_group_tests_name("node/log_keeper", tests, NULL, NULL);
}
