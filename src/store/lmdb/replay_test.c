/*
 * Stores with a journal: a killed process, applying twice, the option switched on and off, full
 * disks, the bound of the backlog, and tools.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/report/metrics.h"
#include "base/system/file.h"
#include "base/system/folder_fixture.h"
#include "store/journal/journal.h"
#include "store/lmdb/keys.h"
#include "store/lmdb/lmdb_world.h"
#include "store/lmdb/store_impl.h"
#include "store/lmdb/tools.h"
#include "store/store_limits.h"

#define PODS "core/pods"

static void begin(struct store_contract *c)
{
	assert_true(store_contract_begin(c, &lmdb_world_journal));
}

static void check_clean(struct lmdb_world *place)
{
	struct store_lmdb_report report;
	struct error err = { 0 };

	if (store_lmdb_check(place->dir, &report, &err) < 0)
		fail_msg("%s", err.msg);
	if (report.faults)
		fail_msg("%s", report.text.p);
	store_lmdb_report_release(&report);
}

static const char *items(struct store_contract *c)
{
	return store_contract_items(
		c, &store_contract_range(c, &(struct store_range){ .resource = STR(PODS) })->got);
}

static const char *in_root(struct store_contract *c, const char *name)
{
	return arena_printf(&c->arena, "%s/%s", lmdb_world_of(c)->root, name);
}

/* --- a child that is killed ---------------------------------------------------------------- */

enum { CHILD_KEYS = 7 };

struct killed {
	struct store_write write;
	struct store *store;
	int out;
	int64_t last[CHILD_KEYS];
	char name[16];
	uint64_t n;
};

static void next_write(struct killed *k);

static void on_written(struct store_write *w, const struct error *err)
{
	struct killed *k = CONTAINER_OF(w, struct killed, write);

	if (err || write(k->out, &k->n, sizeof(k->n)) != sizeof(k->n))
		_Exit(1);
	k->last[k->n % CHILD_KEYS] = w->value ? w->revision : 0;
	bytes_unref(w->value);
	next_write(k);
}

/* Write n is of key n % 7, with the value n; every fifth one deletes the key, if it exists. */
static bool deletes(uint64_t n, bool exists)
{
	return exists && n % 5 == 0;
}

static void next_write(struct killed *k)
{
	struct bytes *value = NULL;
	int64_t last;

	k->n++;
	last = k->last[k->n % CHILD_KEYS];
	(void)snprintf(k->name, sizeof(k->name), "pod-%d", (int)(k->n % CHILD_KEYS));
	if (!deletes(k->n, last != 0)) {
		value = bytes_new(sizeof(k->n));
		memcpy(value->data, &k->n, sizeof(k->n));
	}
	k->write = (struct store_write){ .key = { STR(PODS), STR("ns"), str_from(k->name) },
					 .value = value,
					 .expected = last,
					 .done = on_written };
	store_write(k->store, &k->write);
}

static void run_child(struct lmdb_world *place, int out)
{
	struct killed k = { .out = out };
	struct loop *loop = NULL;

	if (loop_new(&loop, NULL) < 0 || store_lmdb_open(loop, &place->opts, &k.store, NULL) < 0)
		_Exit(1);
	next_write(&k);
	loop_run(loop);
	_Exit(1);
}

static uint64_t kill_after(pid_t pid, int in, uint64_t count)
{
	uint64_t n, last = 0;

	while (read(in, &n, sizeof(n)) == sizeof(n)) {
		last = n;
		if (n == count)
			(void)kill(pid, SIGKILL);
	}
	(void)waitpid(pid, NULL, 0);
	return last;
}

/* Returns the number of the last acknowledged write. */
static uint64_t run_and_kill(struct lmdb_world *place, uint64_t count)
{
	uint64_t acked;
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		run_child(place, ends[1]);
	(void)close(ends[1]);
	acked = kill_after(pid, ends[0], count);
	(void)close(ends[0]);
	assert_true(acked >= count);
	return acked;
}

/* The values that n writes leave, by key; 0: it does not exist. */
static void expect_state(uint64_t n, uint64_t ret_values[CHILD_KEYS])
{
	memset(ret_values, 0, CHILD_KEYS * sizeof(*ret_values));
	for (uint64_t i = 1; i <= n; i++)
		ret_values[i % CHILD_KEYS] = deletes(i, ret_values[i % CHILD_KEYS]) ? 0 : i;
}

static bool has_state(struct store_contract *c, uint64_t n)
{
	struct store_contract_read *r = store_contract_range(
		c, &(struct store_range){ .resource = STR(PODS) });
	uint64_t wanted[CHILD_KEYS], found[CHILD_KEYS] = { 0 };

	expect_state(n, wanted);
	for (size_t i = 0; i < r->got.n; i++)
		memcpy(&found[r->got.items[i].key.name.p[4] - '0'], r->got.items[i].value.p,
		       sizeof(found[0]));
	return memcmp(wanted, found, sizeof(found)) == 0;
}

static void open_here(struct store_contract *c)
{
	assert_int_equal(loop_new(&c->loop, NULL), 0);
	arena_init(&c->arena, SIZE_MAX);
	store_contract_open(c);
}

static void close_here(struct store_contract *c)
{
	store_contract_close(c);
	loop_free(c->loop);
	arena_release(&c->arena);
}

/* Killed before, between and after transactions of the applier, which are 0.1 s apart. */
static void acknowledged_writes_survive_kill_9(void **state UNUSED)
{
	static const uint64_t counts[] = { 1, 5, 33, 400, 900 };
	struct lmdb_world *place;
	struct store_contract c;
	uint64_t acked;

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		place = lmdb_world_new();
		place->opts.journal = true;
		place->opts.journal_segment_bytes = 64 * KIB;
		c = (struct store_contract){ .backend = &lmdb_world_journal, .place = place };
		acked = run_and_kill(place, counts[i]);
		place->opts.journal = i % 2;
		open_here(&c);
		assert_int_equal(journal_exists(place->dir), i % 2);
		assert_true(has_state(&c, acked) || has_state(&c, acked + 1));
		(void)store_contract_must_put(&c, PODS, "ns", "late", "x", 0);
		close_here(&c);
		check_clean(place);
		lmdb_world_free(place);
	}
}

/* Replaces a folder by a copy of another one. */
static void copy_folder(struct arena *arena, const char *from, const char *to)
{
	DIR *folder = opendir(from);
	struct dirent *entry;

	assert_non_null(folder);
	(void)folder_fixture_try_remove(to);
	assert_int_equal(mkdir(to, 0700), 0);
	while ((entry = readdir(folder))) {
		const char *name = arena_printf(arena, "%s/%s", from, entry->d_name);
		struct buf b = BUF_INIT(64 * MIB);

		if (entry->d_name[0] == '.')
			continue;
		assert_int_equal(file_read(name, &b, NULL), 0);
		name = arena_printf(arena, "%s/%s", to, entry->d_name);
		assert_int_equal(file_write_atomic(name, buf_str(&b), 0600, NULL), 0);
		buf_release(&b);
	}
	(void)closedir(folder);
}

/* The journal is applied, then comes back, as if its removal had been lost. */
static void a_journal_may_be_applied_twice(void **state UNUSED)
{
	struct lmdb_world *place = lmdb_world_new();
	struct store_contract c = { .backend = &lmdb_world_journal, .place = place };
	uint64_t acked;

	place->opts.journal = true;
	acked = run_and_kill(place, 60);
	arena_init(&c.arena, SIZE_MAX);
	copy_folder(&c.arena, in_root(&c, "store/journal"), in_root(&c, "kept"));
	arena_release(&c.arena);
	for (int i = 0; i < 3; i++) {
		place->opts.journal = i == 1;
		open_here(&c);
		assert_true(has_state(&c, acked) || has_state(&c, acked + 1));
		store_contract_close(&c);
		copy_folder(&c.arena, in_root(&c, "kept"), in_root(&c, "store/journal"));
		loop_free(c.loop);
		arena_release(&c.arena);
	}
	check_clean(place);
	lmdb_world_free(place);
}

static void the_option_may_be_switched(void **state UNUSED)
{
	struct store_contract c;
	const char *before;
	int64_t r;

	begin(&c);
	r = store_contract_must_put(&c, PODS, "ns", "a", "one", 0);
	for (int i = 0; i < 4; i++) {
		store_contract_close(&c);
		check_clean(lmdb_world_of(&c));
		lmdb_world_of(&c)->opts.journal = i % 2;
		store_contract_open(&c);
		assert_int_equal(journal_exists(lmdb_world_of(&c)->dir), i % 2);
		r = store_contract_must_put(&c, PODS, "ns", "a", "more", r);
		before = items(&c);
		store_contract_close(&c);
		store_contract_open(&c);
		assert_string_equal(items(&c), before);
	}
	store_contract_end(&c);
}

static void a_journal_of_another_store_is_refused(void **state UNUSED)
{
	struct lmdb_world *place = lmdb_world_new();
	struct store_contract c, other = { .backend = &lmdb_world_journal, .place = place };
	struct store *store = NULL;
	struct error err = { 0 };

	place->opts.journal = true;
	(void)run_and_kill(place, 10);
	begin(&c);
	(void)store_contract_must_put(&c, PODS, "ns", "a", "one", 0);
	store_contract_close(&c);
	copy_folder(&c.arena, arena_printf(&c.arena, "%s/journal", place->dir),
		    arena_printf(&c.arena, "%s/journal", lmdb_world_of(&c)->dir));
	assert_int_equal(store_lmdb_open(c.loop, &lmdb_world_of(&c)->opts, &store, &err),
			 -ERR_INVALID);
	assert_non_null(strstr(err.msg, "another store"));
	store_contract_end(&c);
	open_here(&other);
	close_here(&other);
	lmdb_world_free(place);
}

/* --- full disks -------------------------------------------------------------------------- */

static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = MIN(bytes, limit.rlim_max);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* There is no room for another segment: the batch is not written, and the store goes on. */
static void a_full_disk_fails_writes_until_there_is_room(void **state UNUSED)
{
	struct store_contract_write *w, *then;
	struct store_contract c;
	char big[60000];
	int64_t r;

	begin(&c);
	memset(big, 'x', sizeof(big));
	r = store_contract_must_put(&c, PODS, "ns", "before", "kept", 0);
	store_contract_follow(&c, r);
	(void)items(&c); /* in data.mdb */
	limit_files(4 * JOURNAL_RECORD_BLOCK);
	w = store_contract_put(&c, PODS, "ns", "big", str_of(big, sizeof(big)), 0);
	then = store_contract_after(w, "refused, too");
	assert_int_equal(store_contract_wait(w), -ERR_UNAVAILABLE);
	assert_non_null(strstr(w->err.msg, "free some space"));
	assert_true(store_contract_wait(then) < 0);
	assert_int_equal(c.events.n, 0);
	assert_int_equal(store_health(c.store, NULL), 0);
	limit_files(RLIM_INFINITY);
	assert_int_equal(store_contract_current(&c), r);
	(void)store_contract_must_put(&c, PODS, "ns", "big", "again", 0);
	assert_non_null(strstr(items(&c), "ns/big=again"));
	store_contract_close(&c);
	check_clean(lmdb_world_of(&c));
	store_contract_end(&c);
}

/*
 * The map is full: what was acknowledged stays in the journal, reads of it and new writes fail with
 * the reason, and after a restart with a larger map everything is there.
 */
static void a_full_map_loses_nothing(void **state UNUSED)
{
	struct store_contract_write *w = NULL;
	struct store_contract_read *r;
	struct store_contract c;
	char name[16], big[8192];
	size_t acked = 0;

	begin(&c);
	store_contract_close(&c);
	lmdb_world_of(&c)->opts.map_size = MIB;
	store_contract_open(&c);
	memset(big, 'x', sizeof(big));
	do {
		(void)snprintf(name, sizeof(name), "pod-%04zu", acked);
		w = store_contract_put(&c, PODS, "ns", name, str_of(big, sizeof(big)), 0);
	} while (store_contract_wait(w) == 0 && ++acked < 5000);
	assert_int_equal(w->result, -ERR_UNAVAILABLE);
	assert_non_null(strstr(w->err.msg, "reads go on"));
	assert_int_equal(store_health(c.store, NULL), 0);
	r = store_contract_range(&c, &(struct store_range){ .resource = STR(PODS) });
	assert_int_equal(r->result, -ERR_UNAVAILABLE);
	store_contract_close(&c);
	lmdb_world_of(&c)->opts.map_size = 256 * MIB;
	store_contract_open(&c);
	r = store_contract_range(&c, &(struct store_range){ .resource = STR(PODS) });
	assert_int_equal(r->got.n, acked);
	store_contract_close(&c);
	check_clean(lmdb_world_of(&c));
	store_contract_end(&c);
}

/* Writes near the quota are decided with what is in the journal only. */
static void the_quota_counts_what_is_not_applied_yet(void **state UNUSED)
{
	struct store_contract_write *w = NULL;
	struct store_contract c;
	char name[16], big[4000];
	size_t n = 0;

	begin(&c);
	store_contract_close(&c);
	lmdb_world_of(&c)->opts.quota_bytes = MIB;
	store_contract_open(&c);
	memset(big, 'x', sizeof(big));
	do {
		(void)snprintf(name, sizeof(name), "pod-%04zu", n);
		w = store_contract_put(&c, PODS, "ns", name, str_of(big, sizeof(big)), 0);
	} while (store_contract_wait(w) == 0 && ++n < 5000);
	assert_int_equal(w->result, -ERR_UNAVAILABLE);
	assert_non_null(strstr(w->err.msg, "quota"));
	assert_in_range(n, 100, 262);
	(void)store_contract_must_delete(
		&c, PODS, "ns", "pod-0000",
		store_contract_range(&c, &(struct store_range){ .resource = STR(PODS), .limit = 1 })
			->got.items[0]
			.revision);
	store_contract_end(&c);
}

/* --- memory ---------------------------------------------------------------------------------- */

static void the_backlog_is_bounded(void **state UNUSED)
{
	enum { MOST = 300, KEYS = 6000 };
	struct store_contract_write *w[KEYS];
	struct buf text = BUF_INIT(MIB);
	struct metrics *m = metrics_new();
	const struct lmdb_applier *a;
	struct store_contract c;
	char name[16];

	begin(&c);
	store_contract_close(&c);
	lmdb_world_of(&c)->opts.journal_backlog = MOST;
	lmdb_world_of(&c)->opts.metrics = m;
	store_contract_open(&c);
	a = &lmdb_store_of(c.store)->applier;
	for (int i = 0; i < KEYS; i++) {
		(void)snprintf(name, sizeof(name), "pod-%d", i);
		w[i] = store_contract_put(&c, PODS, "ns", name, STR("value"), 0);
	}
	store_contract_settle(&c);
	for (int i = 0; i < KEYS; i++)
		assert_int_equal(w[i]->result, 0);
	assert_true(a->n_most >= MOST);
	assert_true(a->n_most < MOST + STORE_BATCH_MAX);
	(void)items(&c);
	assert_int_equal(a->n, 0);
	assert_int_equal(a->bytes, 0);
	assert_int_equal(metrics_print(m, &text), 0);
	assert_non_null(strstr(text.p, "devplane_store_journal_backlog 0\n"));
	assert_non_null(strstr(text.p, "devplane_store_journal_bytes 1.048576e+06\n"));
	store_contract_close(&c);
	check_clean(lmdb_world_of(&c));
	store_contract_end(&c);
	metrics_free(m);
	buf_release(&text);
}

/* --- tools ---------------------------------------------------------------------------------- */

static void tools_know_of_the_journal_of_a_killed_server(void **state UNUSED)
{
	struct lmdb_world *place = lmdb_world_new();
	struct store_contract c = { .backend = &lmdb_world_journal, .place = place };
	struct store_lmdb_report report;
	struct error err = { 0 };
	const char *file, *other;
	uint64_t acked;

	place->opts.journal = true;
	acked = run_and_kill(place, 20);
	assert_int_equal(store_lmdb_check(place->dir, &report, &err), -ERR_CONFLICT);
	assert_non_null(strstr(err.msg, "journal"));
	arena_init(&c.arena, SIZE_MAX);
	file = in_root(&c, "copy");
	other = in_root(&c, "other");
	assert_int_equal(store_lmdb_backup(place->dir, file, false, &err), 0);
	assert_int_equal(store_lmdb_check(place->dir, &report, &err), 0);
	assert_int_equal(report.faults, 0);
	store_lmdb_report_release(&report);
	assert_int_equal(unlink(arena_printf(&c.arena, "%s/data.mdb", place->dir)), 0);
	assert_int_equal(store_lmdb_restore(place->dir, file, &err), -ERR_ALREADY_EXISTS);
	assert_non_null(strstr(err.msg, "journal"));
	assert_int_equal(store_lmdb_restore(other, file, &err), 0);
	place->opts.dir = other;
	assert_int_equal(loop_new(&c.loop, NULL), 0);
	store_contract_open(&c);
	assert_true(has_state(&c, acked) || has_state(&c, acked + 1));
	close_here(&c);
	lmdb_world_free(place);
}

static void compacting_applies_the_journal(void **state UNUSED)
{
	struct lmdb_world *place = lmdb_world_new();
	struct store_contract c = { .backend = &lmdb_world_journal, .place = place };
	size_t before, after;
	uint64_t acked;

	place->opts.journal = true;
	acked = run_and_kill(place, 20);
	assert_int_equal(store_lmdb_compact_file(place->dir, false, &before, &after, NULL), 0);
	check_clean(place);
	open_here(&c);
	assert_true(has_state(&c, acked) || has_state(&c, acked + 1));
	close_here(&c);
	lmdb_world_free(place);
}

/* Everything that was acknowledged before the backup began is in it. */
static void a_backup_of_a_running_server_is_complete(void **state UNUSED)
{
	struct lmdb_world *place = lmdb_world_new();
	struct store_contract c = { .backend = &lmdb_world_journal, .place = place };
	uint64_t acked = 0, n = 0;
	struct error err = { 0 };
	const char *copy;
	int ends[2];
	pid_t pid;

	place->opts.journal = true;
	place->opts.journal_segment_bytes = 256 * KIB;
	arena_init(&c.arena, SIZE_MAX);
	copy = in_root(&c, "copy");
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		run_child(place, ends[1]);
	(void)close(ends[1]);
	while (acked < 50 && read(ends[0], &n, sizeof(n)) == sizeof(n))
		acked = n;
	if (store_lmdb_backup(place->dir, copy, false, &err) < 0)
		fail_msg("%s", err.msg);
	(void)kill(pid, SIGKILL);
	while (read(ends[0], &n, sizeof(n)) == sizeof(n))
		;
	(void)waitpid(pid, NULL, 0);
	(void)close(ends[0]);
	place->opts.dir = in_root(&c, "other");
	assert_int_equal(store_lmdb_restore(place->opts.dir, copy, &err), 0);
	assert_int_equal(loop_new(&c.loop, NULL), 0);
	store_contract_open(&c);
	while (acked <= n + 1 && !has_state(&c, acked))
		acked++;
	assert_true(acked <= n + 1);
	close_here(&c);
	lmdb_world_free(place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(acknowledged_writes_survive_kill_9),
		cmocka_unit_test(a_journal_may_be_applied_twice),
		cmocka_unit_test(the_option_may_be_switched),
		cmocka_unit_test(a_journal_of_another_store_is_refused),
		cmocka_unit_test(a_full_disk_fails_writes_until_there_is_room),
		cmocka_unit_test(a_full_map_loses_nothing),
		cmocka_unit_test(the_quota_counts_what_is_not_applied_yet),
		cmocka_unit_test(the_backlog_is_bounded),
		cmocka_unit_test(tools_know_of_the_journal_of_a_killed_server),
		cmocka_unit_test(compacting_applies_the_journal),
		cmocka_unit_test(a_backup_of_a_running_server_is_complete),
	};

	return cmocka_run_group_tests_name("store/lmdb_replay", tests, NULL, NULL);
}
