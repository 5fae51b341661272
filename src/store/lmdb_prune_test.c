/*
 * Forgetting by time, in a simulated world: hours pass at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "net/loop.h"
#include "net/sim.h"
#include "store/lmdb_world.h"
#include "store/store_lmdb_tools.h"

enum { HISTORY_MS = 60000, WAIT_MS = 10000 };

struct fixture {
	struct lmdb_world *place;
	struct sim *sim;
	struct loop *loop;
	struct store *store;
	struct arena arena;
	int result;
	bool done;
};

static bool is_set(void *arg)
{
	return *(bool *)arg;
}

static void on_closed(void *arg)
{
	((struct fixture *)arg)->done = true;
}

static void open_store(struct fixture *f)
{
	assert_int_equal(store_lmdb_open(f->loop, &f->place->opts, &f->store, NULL), 0);
}

static void close_store(struct fixture *f)
{
	f->done = false;
	store_close(f->store, on_closed, f);
	assert_true(sim_run_until(f->sim, is_set, &f->done, WAIT_MS));
}

static void begin(struct fixture *f)
{
	*f = (struct fixture){ .place = lmdb_world_new(),
			       .sim = sim_new(&(struct sim_opts){ .seed = 7 }) };
	arena_init(&f->arena, SIZE_MAX);
	f->loop = sim_loop_new(f->sim, "host");
	f->place->opts.inline_commit = true;
	f->place->opts.history_ms = HISTORY_MS;
	open_store(f);
}

static void end(struct fixture *f)
{
	close_store(f);
	loop_free(f->loop);
	sim_free(f->sim);
	arena_release(&f->arena);
	lmdb_world_free(f->place);
}

static void on_done(struct store_write *w, const struct error *err)
{
	w->result = err ? -(int)err->code : 1;
}

static int64_t put(struct fixture *f, const char *name, const char *value, int64_t expected)
{
	struct store_write w = { .key = { STR("core/pods"), STR("ns"), str_from(name) },
				 .value = bytes_copy(str_from(value)),
				 .expected = expected,
				 .done = on_done };

	store_write(f->store, &w);
	while (store_pending(f->store) && sim_step(f->sim))
		;
	assert_int_equal(w.result, 1);
	bytes_unref(w.value);
	return w.revision;
}

static void on_range(void *arg, const struct store_range_result *result UNUSED,
		     const struct error *err)
{
	struct fixture *f = arg;

	f->done = true;
	f->result = err ? -(int)err->code : 0;
}

static int read_at(struct fixture *f, int64_t revision)
{
	f->done = false;
	store_range(f->store,
		    &(struct store_range){ .resource = STR("core/pods"), .revision = revision },
		    &f->arena, on_range, f);
	assert_true(sim_run_until(f->sim, is_set, &f->done, WAIT_MS));
	return f->result;
}

static size_t changes_left(struct fixture *f)
{
	struct store_lmdb_report report;
	size_t n;

	close_store(f);
	assert_int_equal(store_lmdb_check(f->place->dir, &report, NULL), 0);
	assert_int_equal(report.faults, 0);
	n = report.changes;
	store_lmdb_report_release(&report);
	open_store(f);
	return n;
}

static void the_past_is_kept_for_the_window_and_then_forgotten(void **state UNUSED)
{
	struct fixture f;
	int64_t r1, r2, r3;

	begin(&f);
	r1 = put(&f, "a", "1", 0);
	r2 = put(&f, "a", "2", r1);
	sim_run_for(f.sim, HISTORY_MS / 2);
	r3 = put(&f, "a", "3", r2);
	assert_int_equal(read_at(&f, r1), 0);
	sim_run_for(f.sim, HISTORY_MS / 2 + 5000);
	assert_int_equal(read_at(&f, r1), -ERR_EXPIRED);
	assert_int_equal(read_at(&f, r2), 0);
	assert_int_equal(read_at(&f, r3), 0);
	sim_run_for(f.sim, HISTORY_MS);
	assert_int_equal(read_at(&f, r2), -ERR_EXPIRED);
	assert_int_equal(read_at(&f, r3), 0);
	assert_int_equal(changes_left(&f), 0);
	end(&f);
}

static void what_was_too_old_before_a_restart_is_forgotten_after_it(void **state UNUSED)
{
	struct fixture f;
	int64_t r1, r2;

	begin(&f);
	r1 = put(&f, "a", "1", 0);
	r2 = put(&f, "a", "2", r1);
	close_store(&f);
	sim_run_for(f.sim, 2 * HISTORY_MS);
	open_store(&f);
	assert_int_equal(read_at(&f, r1), 0);
	sim_run_for(f.sim, 3000);
	assert_int_equal(read_at(&f, r1), -ERR_EXPIRED);
	assert_int_equal(read_at(&f, r2), 0);
	end(&f);
}

static void a_clock_that_is_set_back_or_forth_forgets_nothing(void **state UNUSED)
{
	struct fixture f;
	int64_t r1;

	begin(&f);
	r1 = put(&f, "a", "1", 0);
	(void)put(&f, "a", "2", r1);
	sim_skew(f.loop, 24 * 3600 * CLOCK_SEC);
	(void)put(&f, "b", "1", 0);
	sim_run_for(f.sim, HISTORY_MS / 2);
	assert_int_equal(read_at(&f, r1), 0);
	close_store(&f);
	sim_skew(f.loop, -24 * 3600 * CLOCK_SEC);
	open_store(&f);
	(void)put(&f, "c", "1", 0);
	sim_run_for(f.sim, 5000);
	assert_int_equal(read_at(&f, r1), 0);
	assert_int_equal(changes_left(&f), 4);
	sim_run_for(f.sim, 2 * HISTORY_MS);
	assert_int_equal(changes_left(&f), 0);
	end(&f);
}

static void forgetting_keeps_up_with_writing(void **state UNUSED)
{
	int64_t r = 0;
	struct fixture f;

	begin(&f);
	for (int i = 0; i < 300; i++) {
		r = put(&f, "a", "x", r);
		sim_run_for(f.sim, HISTORY_MS / 30);
	}
	assert_true(changes_left(&f) < 35);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_past_is_kept_for_the_window_and_then_forgotten),
		cmocka_unit_test(what_was_too_old_before_a_restart_is_forgotten_after_it),
		cmocka_unit_test(a_clock_that_is_set_back_or_forth_forgets_nothing),
		cmocka_unit_test(forgetting_keeps_up_with_writing),
	};

	return cmocka_run_group_tests_name("store/lmdb_prune", tests, NULL, NULL);
}
