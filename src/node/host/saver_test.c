/*
 * The saver on a real loop and thread, with real files and disks that fail.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/system/file.h"
#include "base/system/folder_fixture.h"
#include "net/loop/gzip.h"
#include "net/loop/loop.h"
#include "net/sim/sim.h"
#include "node/host/saver.h"
#include "node/host/saver_header.h"
#include "node/node_limits.h"

struct test {
	char dir[32], path[64];
	struct loop *loop;
	struct saver *saver;
	unsigned done, failed;
	struct error last;
	unsigned stop_after; /* the loop ends after this many */
	/* A disk that can block and can fail. */
	struct event hold, held;
	bool holding;
	int fail_errno;
	unsigned writes;
};

static void begin(struct test *t)
{
	*t = (struct test){ .dir = "/tmp/saver-XXXXXX" };
	assert_non_null(mkdtemp(t->dir));
	(void)snprintf(t->path, sizeof(t->path), "%s/state", t->dir);
	assert_int_equal(loop_new(&t->loop, NULL), 0);
	event_init(&t->hold);
	event_init(&t->held);
}

static void end(struct test *t)
{
	saver_free(t->saver);
	loop_free(t->loop);
	event_release(&t->hold);
	event_release(&t->held);
	folder_fixture_remove(t->dir);
}

static int write_slowly(void *arg, const char *path, struct str content, struct error *err)
{
	struct test *t = arg;

	t->writes++;
	if (t->holding) {
		event_set(&t->held);
		(void)event_wait(&t->hold, -1);
	}
	if (t->fail_errno)
		return error_set_errno(err, ERR_IO, t->fail_errno, "cannot write %s", path);
	return file_write_atomic(path, content, 0600, err);
}

static void begin_slow(struct test *t)
{
	begin(t);
	assert_int_equal(saver_new_with(t->loop,
					&(struct saver_opts){ .write = write_slowly, .arg = t },
					&t->saver, NULL),
			 0);
}

static void on_done(void *arg, const struct error *err)
{
	struct test *t = arg;

	t->done++;
	if (err) {
		t->failed++;
		t->last = *err;
	}
	if (t->done == t->stop_after)
		loop_stop(t->loop);
}

static void save(struct test *t, const char *text)
{
	saver_save(t->saver, t->path, "test", 3, str_from(text), on_done, t);
}

static void run_until(struct test *t, unsigned done)
{
	t->stop_after = done;
	if (t->done < done)
		loop_run(t->loop);
	assert_int_equal(t->done, done);
}

static void assert_saved(const struct test *t, const char *text)
{
	CLEANUP(buf_release) struct buf body = BUF_INIT(MIB);
	struct error err = { 0 };

	if (saver_load(t->path, "test", 3, &body, &err) != 1)
		fail_msg("not there: %s", err.msg);
	assert_true(str_eqz(buf_str(&body), text));
}

static unsigned files_in(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	unsigned n = 0;

	assert_non_null(d);
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	(void)closedir(d);
	return n;
}

/* --- saving -------------------------------------------------------------------------------- */

static void saved_state_is_loaded_again(void **state UNUSED)
{
	struct stat st;
	struct test t;

	begin(&t);
	assert_int_equal(saver_new(t.loop, &t.saver, NULL), 0);
	save(&t, "{\"a\":1}\n");
	assert_int_equal(t.done, 0);
	assert_int_equal(saver_pending(t.saver), 1);
	run_until(&t, 1);
	assert_int_equal(t.failed, 0);
	assert_int_equal(saver_pending(t.saver), 0);
	assert_saved(&t, "{\"a\":1}\n");
	assert_int_equal(stat(t.path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	save(&t, "");
	run_until(&t, 2);
	assert_saved(&t, "");
	assert_int_equal(files_in(t.dir), 1);
	end(&t);
}

static void only_the_latest_of_what_waits_is_written_and_all_are_told(void **state UNUSED)
{
	struct test t;

	begin_slow(&t);
	t.holding = true;
	save(&t, "one");
	save(&t, "two"); /* in the same turn: the first is never written */
	t.stop_after = 100;
	/* Runs until the thread holds "two". */
	while (!event_wait(&t.held, 0)) {
		loop_stop(t.loop);
		loop_run(t.loop);
	}
	save(&t, "three");
	save(&t, "four");
	assert_int_equal(saver_pending(t.saver), 2);
	t.holding = false;
	event_set(&t.hold);
	run_until(&t, 4);
	assert_int_equal(t.writes, 2);
	assert_saved(&t, "four");
	end(&t);
}

static void files_do_not_wait_for_each_others_failures(void **state UNUSED)
{
	struct test t;
	char bad[64];

	begin(&t);
	assert_int_equal(saver_new(t.loop, &t.saver, NULL), 0);
	(void)snprintf(bad, sizeof(bad), "%s/no/such/folder", t.dir);
	saver_save(t.saver, bad, "test", 3, STR("x"), on_done, &t);
	save(&t, "fine");
	run_until(&t, 2);
	assert_int_equal(t.failed, 1);
	assert_int_equal(t.last.sys_errno, ENOENT);
	assert_non_null(strstr(t.last.msg, bad));
	assert_saved(&t, "fine");
	end(&t);
}

static void a_full_disk_is_told_and_the_next_save_works_again(void **state UNUSED)
{
	struct test t;

	begin_slow(&t);
	save(&t, "before");
	run_until(&t, 1);
	t.fail_errno = ENOSPC;
	save(&t, "lost");
	run_until(&t, 2);
	assert_int_equal(t.failed, 1);
	assert_int_equal(t.last.sys_errno, ENOSPC);
	assert_saved(&t, "before");
	t.fail_errno = 0;
	save(&t, "after");
	run_until(&t, 3);
	assert_int_equal(t.failed, 1);
	assert_saved(&t, "after");
	end(&t);
}

/* The kernel accepts a part and rejects the rest, as a full disk does. */
static void a_write_that_fails_half_way_leaves_the_old_file_and_nothing_beside_it(
	void **state UNUSED)
{
	struct rlimit before, small;
	char text[4096];
	struct test t;

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	begin(&t);
	assert_int_equal(saver_new(t.loop, &t.saver, NULL), 0);
	save(&t, "before");
	run_until(&t, 1);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){ .rlim_cur = 1000, .rlim_max = before.rlim_max };
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	save(&t, text);
	run_until(&t, 2);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(t.failed, 1);
	assert_int_equal(t.last.sys_errno, EFBIG);
	assert_int_equal(files_in(t.dir), 1);
	assert_saved(&t, "before");
	save(&t, text);
	run_until(&t, 3);
	assert_saved(&t, text);
	end(&t);
}

static void state_that_is_too_large_is_not_written(void **state UNUSED)
{
	char *text = xcalloc(1, STATE_FILE_MAX);
	struct test t;

	begin_slow(&t);
	save(&t, "before");
	saver_save(t.saver, "other", "test", 3, str_of(text, STATE_FILE_MAX), on_done, &t);
	run_until(&t, 2);
	assert_int_equal(t.failed, 1);
	assert_int_equal(t.last.code, ERR_TOO_LARGE);
	assert_int_equal(t.writes, 1);
	end(&t);
	free(text);
}

static void freeing_writes_what_waits_and_tells_nobody(void **state UNUSED)
{
	struct test t;

	begin_slow(&t);
	t.holding = true;
	save(&t, "under way");
	while (!event_wait(&t.held, 0)) {
		loop_stop(t.loop);
		loop_run(t.loop);
	}
	save(&t, "last");
	t.holding = false;
	event_set(&t.hold);
	saver_free(TAKE(t.saver));
	loop_stop(t.loop);
	loop_run(t.loop);
	assert_int_equal(t.done, 0);
	assert_int_equal(t.writes, 2);
	assert_saved(&t, "last");
	end(&t);
}

struct nested {
	struct test *t;
	unsigned called;
};

static void free_saver(void *arg, const struct error *err UNUSED)
{
	struct nested *n = arg;

	n->called++;
	saver_free(TAKE(n->t->saver));
	loop_stop(n->t->loop);
}

static void a_callback_may_free_the_saver(void **state UNUSED)
{
	struct nested n = { 0 };
	struct test t;

	begin(&t);
	n.t = &t;
	assert_int_equal(saver_new(t.loop, &t.saver, NULL), 0);
	saver_save(t.saver, t.path, "test", 3, STR("a"), free_saver, &n);
	saver_save(t.saver, t.path, "test", 3, STR("b"), free_saver, &n);
	loop_run(t.loop);
	assert_int_equal(n.called, 1);
	assert_saved(&t, "b");
	end(&t);
}

static void forget_other(void *arg, const struct error *err UNUSED)
{
	struct nested *n = arg;

	n->called++;
	saver_forget(n->t->saver, n->t);
	loop_stop(n->t->loop);
}

static void a_cancelled_save_has_no_callback(void **state UNUSED)
{
	struct nested n = { 0 };
	struct test t;

	begin(&t);
	n.t = &t;
	assert_int_equal(saver_new(t.loop, &t.saver, NULL), 0);
	saver_save(t.saver, t.path, "test", 3, STR("a"), forget_other, &n);
	save(&t, "b"); /* its callback runs in the same turn, after the other */
	loop_run(t.loop);
	save(&t, "c");
	saver_forget(t.saver, &t);
	saver_save(t.saver, t.path, "test", 3, STR("d"), forget_other, &n);
	loop_run(t.loop);
	assert_int_equal(n.called, 2);
	assert_int_equal(t.done, 0);
	assert_saved(&t, "d");
	end(&t);
}

static bool is_done(void *arg)
{
	return ((struct test *)arg)->done > 0;
}

static void on_a_simulated_loop_it_writes_at_the_end_of_the_turn(void **state UNUSED)
{
	struct sim *sim = sim_new(&(struct sim_opts){ .seed = 1 });
	struct test t;

	begin(&t);
	loop_free(t.loop);
	t.loop = sim_loop_new(sim, "node");
	assert_int_equal(saver_new_with(t.loop, &(struct saver_opts){ .inline_write = true },
					&t.saver, NULL),
			 0);
	save(&t, "one");
	save(&t, "two");
	assert_int_equal(t.done, 0);
	assert_true(sim_run_until(sim, is_done, &t, 1000));
	assert_int_equal(t.done, 2);
	assert_saved(&t, "two");
	end(&t);
	sim_free(sim);
}

/* --- loading ------------------------------------------------------------------------------- */

static void put(const char *path, struct str content)
{
	assert_int_equal(file_write_atomic(path, content, 0600, NULL), 0);
}

static void a_file_that_is_not_there_is_no_fault(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf body = BUF_INIT(MIB);
	struct test t;

	begin(&t);
	assert_int_equal(saver_load(t.path, "test", 3, &body, NULL), 0);
	assert_int_equal(saver_load("/nowhere/at/all", "test", 3, &body, NULL), 0);
	/* A folder in its place cannot be read, and is not touched. */
	assert_int_equal(saver_load(t.dir, "test", 3, &body, NULL), -ERR_IO);
	end(&t);
}

/* Cut at every byte, every bit flipped, bytes added. */
static void any_changed_byte_is_noticed(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf file = BUF_INIT(MIB);
	struct str body = STR("{\"devices\":[\"a\",\"b\"]}"), found = STR_NULL;
	size_t whole;
	char *copy;

	assert_int_equal(saver_header_add(&file, "test", 3, body), 0);
	assert_int_equal(buf_add_str(&file, body), 0);
	whole = file.n;
	assert_int_equal(saver_header_check(buf_str(&file), "test", 3, &found, NULL), 0);
	assert_true(str_eq(found, body));
	for (size_t n = 0; n < whole; n++)
		assert_int_equal(saver_header_check(str_of(file.p, n), "test", 3, &found, NULL),
				 -ERR_CONFLICT);
	copy = xmalloc(whole);
	for (size_t bit = 0; bit < whole * 8; bit++) {
		memcpy(copy, file.p, whole);
		copy[bit / 8] = (char)(copy[bit / 8] ^ (1 << bit % 8));
		if (saver_header_check(str_of(copy, whole), "test", 3, &found, NULL) == 0)
			fail_msg("bit %zu", bit);
	}
	free(copy);
	assert_int_equal(buf_addc(&file, '\n'), 0);
	assert_int_equal(saver_header_check(buf_str(&file), "test", 3, &found, NULL),
			 -ERR_CONFLICT);
}

static void the_check_sum_is_the_one_that_other_tools_have(void **state UNUSED)
{
	assert_int_equal(gzip_crc32(STR("123456789")), 0xcbf43926);
	assert_int_equal(gzip_crc32(STR("")), 0);
}

static void broken_files_are_set_aside_a_few_at_most(void **state UNUSED)
{
	static const char *const contents[] = {
		"",
		"garbage\n",
		"devplane-state other 3 00000000 0\n",
		"devplane-state test 4 00000000 0\n",
		"devplane-state test 3 00000000 5\nab",
		"devplane-state test 3 12345678 2\nab",
		"devplane-state test 3 00000000 0 \n",
		"devplane-state  3 00000000 0\n",
		"{\"Data\":\"upstream's\",\"Checksum\":1}\n",
		"\xff\xfe\n",
		"the eleventh\n",
		"the twelfth\n",
	};
	CLEANUP(buf_release) struct buf body = BUF_INIT(MIB), kept = BUF_INIT(MIB);
	struct error err;
	struct test t;
	char name[80];

	begin(&t);
	for (size_t i = 0; i < ARRAY_SIZE(contents); i++) {
		put(t.path, str_from(contents[i]));
		assert_int_equal(saver_load(t.path, "test", 3, &body, &err), -ERR_CONFLICT);
		assert_int_equal(body.n, 0);
		assert_non_null(strstr(err.msg, ".broken"));
		assert_int_equal(saver_load(t.path, "test", 3, &body, &err), 0);
		assert_int_equal(files_in(t.dir), MIN(i + 1, (size_t)STATE_BROKEN_MAX));
	}
	(void)snprintf(name, sizeof(name), "%s.broken", t.path);
	assert_int_equal(file_read(name, &kept, NULL), 0);
	assert_int_equal(kept.n, 0);
	(void)snprintf(name, sizeof(name), "%s.broken.1", t.path);
	assert_int_equal(file_read(name, &kept, NULL), 0);
	assert_string_equal(kept.p, "garbage\n");
	buf_clear(&kept);
	(void)snprintf(name, sizeof(name), "%s.broken.%d", t.path, STATE_BROKEN_MAX - 1);
	assert_int_equal(file_read(name, &kept, NULL), 0);
	assert_string_equal(kept.p, "the twelfth\n");
	end(&t);
}

static void temporary_files_of_a_crash_are_removed(void **state UNUSED)
{
	static const char *const names[] = { "state.Ab3dEf", "state.broken", "state.other.x",
					     "state2.Ab3dEf", "state.Ab3dEfg" };
	CLEANUP(buf_release) struct buf body = BUF_INIT(MIB);
	struct test t;
	char path[80];

	begin(&t);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", t.dir, names[i]);
		put(path, STR("x"));
	}
	assert_int_equal(saver_load(t.path, "test", 3, &body, NULL), 0);
	assert_int_equal(files_in(t.dir), ARRAY_SIZE(names) - 1);
	(void)snprintf(path, sizeof(path), "%s/%s", t.dir, names[0]);
	assert_int_equal(access(path, F_OK), -1);
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(saved_state_is_loaded_again),
		cmocka_unit_test(only_the_latest_of_what_waits_is_written_and_all_are_told),
		cmocka_unit_test(files_do_not_wait_for_each_others_failures),
		cmocka_unit_test(a_full_disk_is_told_and_the_next_save_works_again),
		cmocka_unit_test(
			a_write_that_fails_half_way_leaves_the_old_file_and_nothing_beside_it),
		cmocka_unit_test(state_that_is_too_large_is_not_written),
		cmocka_unit_test(freeing_writes_what_waits_and_tells_nobody),
		cmocka_unit_test(a_callback_may_free_the_saver),
		cmocka_unit_test(a_cancelled_save_has_no_callback),
		cmocka_unit_test(on_a_simulated_loop_it_writes_at_the_end_of_the_turn),
		cmocka_unit_test(a_file_that_is_not_there_is_no_fault),
		cmocka_unit_test(any_changed_byte_is_noticed),
		cmocka_unit_test(the_check_sum_is_the_one_that_other_tools_have),
		cmocka_unit_test(broken_files_are_set_aside_a_few_at_most),
		cmocka_unit_test(temporary_files_of_a_crash_are_removed),
	};

	return cmocka_run_group_tests_name("node/saver", tests, NULL, NULL);
}
