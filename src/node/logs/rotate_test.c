/*
 * Which files of a log stay, and in which form, with real files and a simulated loop.
 */
#include "node/logs/rotate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system/file.h"
#include "net/loop/gzip.h"
#include "net/loop/loop.h"
#include "net/sim/sim.h"
#include "node/runtime/runtime.h"

struct world {
	struct arena a;
	struct sim *sim;
	struct loop *loop;
	struct runtime runtime;
	char dir[64];
	unsigned done;
	bool fail; /* the runtime does not reopen */
	struct error err;
};

static void reopen(struct runtime *r, struct str id, runtime_done *done, void *arg)
{
	struct world *w = CONTAINER_OF(r, struct world, runtime);
	struct error err;

	assert_true(str_eqz(id, "c0"));
	(void)error_set(&err, ERR_UNAVAILABLE, "no runtime");
	done(arg, w->fail ? &err : NULL);
}

static const struct runtime_ops ops = { .reopen_log = reopen };

static const char *at(struct world *w, const char *name)
{
	return arena_printf(&w->a, "%s/c/%s", w->dir, name);
}

static void put(struct world *w, const char *name, struct str text)
{
	assert_int_equal(file_write_atomic(at(w, name), text, 0600, NULL), 0);
}

static bool has(struct world *w, const char *name)
{
	return access(at(w, name), F_OK) == 0;
}

static int begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct sim_opts so = { .seed = 1 };

	arena_init(&w->a, SIZE_MAX);
	w->sim = sim_new(&so);
	w->loop = sim_loop_new(w->sim, "agent");
	w->runtime.ops = &ops;
	(void)snprintf(w->dir, sizeof(w->dir), "/tmp/log_rotate_test.XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	assert_int_equal(mkdir(at(w, ""), 0700), 0);
	*state = w;
	return 0;
}

static int end(void **state)
{
	struct world *w = *state;

	log_rotate_remove_pod(w->dir);
	assert_int_not_equal(access(w->dir, F_OK), 0);
	loop_free(w->loop);
	sim_free(w->sim);
	arena_release(&w->a);
	free(w);
	return 0;
}

static void on_done(void *arg, const struct error *err)
{
	struct world *w = arg;

	w->done++;
	w->err = err ? *err : (struct error){ 0 };
}

static void rotate(struct world *w)
{
	struct log_rotate *r;

	r = log_rotate_new(&(struct log_rotate_opts){ .loop = w->loop,
						      .runtime = &w->runtime,
						      .container_id = STR("c0"),
						      .path = str_from(at(w, "0.log")),
						      .max_files = 4,
						      .done = on_done,
						      .arg = w });
	w->done = 0;
	sim_run_for(w->sim, 1);
	assert_int_equal(w->done, 1);
	log_rotate_free(r);
}

static void check_plan(const char *names, size_t max_files, const char *remove,
		       const char *compress)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf removed = BUF_INIT(1024), squeezed = BUF_INIT(1024);
	struct str v[16], rest = str_from(names);
	struct log_rotate_plan p;
	size_t n = 0;

	arena_init(&a, SIZE_MAX);
	while (rest.n > 0 && str_split(&rest, ' ', &v[n]))
		n++;
	log_rotate_plan(v, n, max_files, &a, &p);
	for (size_t i = 0; i < p.nremove; i++)
		(void)buf_printf(&removed, "%.*s ", STR_ARG(p.remove[i]));
	for (size_t i = 0; i < p.ncompress; i++)
		(void)buf_printf(&squeezed, "%.*s ", STR_ARG(p.compress[i]));
	assert_string_equal(removed.p ? removed.p : "", remove);
	assert_string_equal(squeezed.p ? squeezed.p : "", compress);
}

static void the_newest_stay_and_are_compressed(void **state)
{
	check_plan("", 5, "", "");
	check_plan("l.3", 5, "", "l.3 ");
	check_plan("l.3 l.1.gz l.2.gz", 5, "", "l.3 ");
	check_plan("l.4 l.3.gz l.1.gz l.2.gz", 5, "l.1.gz ", "l.4 ");
	check_plan("l.2 l.1", 2, "l.1 l.2 ", "");
}

static void files_of_an_unfinished_rotation_are_removed(void **state)
{
	check_plan("l.1.tmp l.2 l.2.gz", 5, "l.1.tmp l.2 ", "");
}

static void the_log_moves_away_and_older_ones_are_compressed(void **state)
{
	CLEANUP(buf_release) struct buf file = BUF_INIT(1 << 20), text = BUF_INIT(1 << 20);
	struct world *w = *state;
	char *large = malloc(200000);

	for (size_t i = 0; i < 200000; i++)
		large[i] = (char)('a' + i * i % 23);
	put(w, "0.log", STR("new"));
	put(w, "0.log.20200101-000003", str_of(large, 200000));
	put(w, "0.log.20200101-000002.gz", STR("x"));
	put(w, "0.log.20200101-000001.gz", STR("x"));
	put(w, "1.log", STR("other"));
	rotate(w);
	assert_int_equal(w->err.code, ERR_OK);
	assert_false(has(w, "0.log"));
	assert_true(has(w, "1.log"));
	assert_false(has(w, "0.log.20200101-000001.gz"));
	assert_true(has(w, "0.log.20200101-000002.gz"));
	assert_false(has(w, "0.log.20200101-000003"));
	assert_int_equal(file_read(at(w, "0.log.20200101-000003.gz"), &file, NULL), 0);
	assert_int_equal(gzip_inflate(buf_str(&file), &text, 1 << 20, NULL), 0);
	assert_true(str_eq(buf_str(&text), str_of(large, 200000)));
	log_rotate_remove(at(w, "0.log"));
	assert_false(has(w, "0.log.20200101-000002.gz"));
	assert_true(has(w, "1.log"));
	free(large);
}

static void a_runtime_that_does_not_reopen_keeps_its_log(void **state)
{
	struct world *w = *state;

	put(w, "0.log", STR("new"));
	w->fail = true;
	rotate(w);
	assert_int_equal(w->err.code, ERR_UNAVAILABLE);
	assert_true(has(w, "0.log"));
}

static void a_log_that_is_gone_is_a_failure(void **state)
{
	struct world *w = *state;

	rotate(w);
	assert_int_equal(w->err.code, ERR_IO);
}

/* Compressing it would wait for a writer. */
static void a_pipe_among_the_files_is_left_alone(void **state)
{
	struct world *w = *state;

	put(w, "0.log", STR("new"));
	assert_int_equal(mkfifo(at(w, "0.log.20200101-000003"), 0600), 0);
	rotate(w);
	assert_int_equal(w->err.code, ERR_OK);
	assert_false(has(w, "0.log"));
	assert_true(has(w, "0.log.20200101-000003"));
}

static void a_link_in_the_place_of_a_folder_is_not_followed(void **state)
{
	struct world *w = *state;
	const char *link = arena_printf(&w->a, "%s/link", w->dir);

	put(w, "0.log", STR("x"));
	assert_int_equal(symlink(w->dir, link), 0);
	log_rotate_remove_pod(link);
	assert_true(has(w, "0.log"));
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_stay_and_are_compressed),
		cmocka_unit_test(files_of_an_unfinished_rotation_are_removed),
		CASE(the_log_moves_away_and_older_ones_are_compressed),
		CASE(a_runtime_that_does_not_reopen_keeps_its_log),
		CASE(a_log_that_is_gone_is_a_failure),
		CASE(a_pipe_among_the_files_is_left_alone),
		CASE(a_link_in_the_place_of_a_folder_is_not_followed),
	};

	return cmocka_run_group_tests_name("node/log_rotate", tests, NULL, NULL);
}
