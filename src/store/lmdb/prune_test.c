/*
 * Deleting history by time, in a simulated world where hours pass at once; and by size, before a
 * write is rejected for lack of space.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>

#include "base/core/arena.h"
#include "base/core/limits.h"
#include "net/loop/loop.h"
#include "net/sim/sim.h"
#include "store/lmdb/lmdb_world.h"
#include "store/lmdb/quota.h"
#include "store/lmdb/tools.h"

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

/* Writes the value, whose reference it takes. Returns the revision or -ERR_*. NULL: a deletion. */
static int64_t try_write(struct fixture *f, const char *name, struct bytes *value, int64_t expected)
{
	struct store_write w = { .key = { STR("core/pods"), STR("ns"), str_from(name) },
				 .value = value,
				 .expected = expected,
				 .done = on_done };

	store_write(f->store, &w);
	while (store_pending(f->store) && sim_step(f->sim))
		;
	bytes_unref(w.value);
	return w.result == 1 ? w.revision : w.result;
}

static int64_t put(struct fixture *f, const char *name, const char *value, int64_t expected)
{
	int64_t r = try_write(f, name, bytes_copy(str_from(value)), expected);

	assert_true(r > 0);
	return r;
}

static int64_t try_size(struct fixture *f, const char *name, size_t size, int64_t expected)
{
	struct bytes *value = bytes_new(size);

	memset(value->data, 'x', size);
	return try_write(f, name, value, expected);
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

static void revisions_too_old_before_a_restart_are_dropped_after_it(void **state UNUSED)
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

/* The size of the file, including free pages. */
static size_t file_size(struct fixture *f)
{
	char path[256];
	struct stat st;

	assert_int_equal(stat(lmdb_world_path(f->place, "data.mdb", path, sizeof(path)), &st), 0);
	return (size_t)st.st_size;
}

static void the_past_has_a_bound_in_bytes(void **state UNUSED)
{
	int64_t first, r = 0;
	struct fixture f;

	begin(&f);
	close_store(&f);
	f.place->opts.history_bytes = 4 * MIB;
	open_store(&f);
	first = r = try_size(&f, "a", MIB, r);
	for (int i = 0; i < 3; i++)
		r = try_size(&f, "a", MIB, r);
	assert_int_equal(read_at(&f, first), 0);
	for (int i = 0; i < 60; i++)
		r = try_size(&f, "a", MIB, r);
	assert_int_equal(read_at(&f, first), -ERR_EXPIRED);
	assert_int_equal(read_at(&f, r), 0);
	assert_in_range(changes_left(&f), 1, 4);
	assert_in_range(file_size(&f), 5 * MIB, 12 * MIB);
	end(&f);
}

static void a_full_store_refuses_what_grows_and_takes_deletions(void **state UNUSED)
{
	int64_t a, b, r;
	struct fixture f;

	begin(&f);
	close_store(&f);
	f.place->opts.quota_bytes = 4 * MIB;
	open_store(&f);
	/* History makes room. */
	a = try_size(&f, "a", MIB, 0);
	for (int i = 0; i < 10; i++)
		a = try_size(&f, "a", MIB, a);
	b = try_size(&f, "b", MIB, 0);
	r = try_size(&f, "c", MIB, 0);
	assert_true(a > 0 && b > 0 && r > 0);
	assert_int_equal(try_size(&f, "d", MIB, 0), -ERR_UNAVAILABLE);
	assert_int_equal(try_size(&f, "a", 2 * MIB, a), -ERR_UNAVAILABLE);
	/* Objects that hardly grow may be written: there is a reserve. */
	b = try_size(&f, "b", MIB + 100, b);
	assert_true(b > 0);
	assert_int_equal(read_at(&f, 0), 0);
	assert_true(try_write(&f, "a", NULL, a) > 0);
	assert_true(try_size(&f, "d", MIB, 0) > 0);
	/* Opening the store counts its content. */
	assert_true(changes_left(&f) < 30);
	assert_int_equal(try_size(&f, "e", MIB, 0), -ERR_UNAVAILABLE);
	end(&f);
}

static void the_reserve_has_an_end(void **state UNUSED)
{
	struct lmdb_quota q = { .bytes = 16000 };

	assert_true(lmdb_quota_allows(&q, 15000, 0, 1000));
	assert_false(lmdb_quota_allows(&q, 15000, 0, 1001));
	assert_true(lmdb_quota_allows(&q, 16900, 5000, 5100));
	assert_false(lmdb_quota_allows(&q, 16900, 5000, 5101));
	assert_false(lmdb_quota_allows(&q, 15900, 5000, 6100));
	assert_true(lmdb_quota_allows(&q, 16900, 5000, 100));
	assert_int_equal(lmdb_quota_history(&q, 15000), 1000);
	assert_int_equal(lmdb_quota_history(&q, 17000), 0);
	q.history = 500;
	assert_int_equal(lmdb_quota_history(&q, 15000), 500);
	q.bytes = 0;
	assert_true(lmdb_quota_allows(&q, SIZE_MAX / 2, 0, 1000));
	assert_int_equal(lmdb_quota_history(&q, SIZE_MAX / 2), 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_past_is_kept_for_the_window_and_then_forgotten),
		cmocka_unit_test(revisions_too_old_before_a_restart_are_dropped_after_it),
		cmocka_unit_test(a_clock_that_is_set_back_or_forth_forgets_nothing),
		cmocka_unit_test(forgetting_keeps_up_with_writing),
		cmocka_unit_test(the_past_has_a_bound_in_bytes),
		cmocka_unit_test(a_full_store_refuses_what_grows_and_takes_deletions),
		cmocka_unit_test(the_reserve_has_an_end),
	};

	return cmocka_run_group_tests_name("store/lmdb_prune", tests, NULL, NULL);
}
