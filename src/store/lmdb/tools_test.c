/*
 * Checking, copying and compacting the store's folder; and a process that is
 * killed in the middle of writing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <lmdb.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "store/lmdb/lmdb_world.h"
#include "store/lmdb/tools.h"

#define PODS "core/pods"

static void fill(struct store_contract *c, int rounds)
{
	enum { KEYS = 200 };
	struct store_contract_write *w[KEYS] = { NULL };
	char name[16], value[3000];

	memset(value, 'v', sizeof(value));
	for (int round = 0; round < rounds; round++) {
		for (int i = 0; i < KEYS; i++) {
			(void)snprintf(name, sizeof(name), "pod-%03d", i);
			w[i] = store_contract_put(c, PODS, "ns", name,
						  str_of(value, 500 + (size_t)i * 10),
						  w[i] ? w[i]->write.revision : 0);
		}
		store_contract_settle(c);
	}
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

static void begin(struct store_contract *c)
{
	assert_true(store_contract_begin(c, &lmdb_world_threaded));
}

static void check_counts_what_is_there(void **state UNUSED)
{
	struct store_lmdb_report report;
	struct store_contract c;

	begin(&c);
	fill(&c, 3);
	store_contract_close(&c);
	assert_int_equal(store_lmdb_check(lmdb_world_of(&c)->dir, &report, NULL), 0);
	assert_int_equal(report.faults, 0);
	assert_int_equal(report.objects, 200);
	assert_int_equal(report.superseded, 400);
	assert_int_equal(report.changes, 600);
	assert_int_equal(report.resources, 1);
	assert_int_equal(report.revision, 601); /* the first is 2 */
	assert_true(report.file_bytes > report.object_bytes + report.superseded_bytes);
	store_lmdb_report_release(&report);
	store_contract_end(&c);
}

static void check_needs_a_store(void **state UNUSED)
{
	struct store_lmdb_report report;
	struct error err = { 0 };

	assert_int_equal(store_lmdb_check("/nonexistent", &report, &err), -ERR_NOT_FOUND);
	assert_non_null(strstr(err.msg, "/nonexistent"));
	store_lmdb_report_release(&report);
}

/* Removes the first entry of a table, behind the store's back. */
static void damage(struct store_contract *c, const char *table)
{
	char path[128];
	MDB_cursor *cursor;
	MDB_env *env;
	MDB_txn *txn;
	MDB_val k, v;
	MDB_dbi dbi;

	(void)lmdb_world_path(lmdb_world_of(c), "data.mdb", path, sizeof(path));
	assert_int_equal(mdb_env_create(&env), 0);
	assert_int_equal(mdb_env_set_maxdbs(env, 4), 0);
	assert_int_equal(mdb_env_open(env, path, MDB_NOSUBDIR, 0600), 0);
	assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
	assert_int_equal(mdb_dbi_open(txn, table, 0, &dbi), 0);
	assert_int_equal(mdb_cursor_open(txn, dbi, &cursor), 0);
	assert_int_equal(mdb_cursor_get(cursor, &k, &v, MDB_FIRST), 0);
	assert_int_equal(mdb_cursor_del(cursor, 0), 0);
	mdb_cursor_close(cursor);
	assert_int_equal(mdb_txn_commit(txn), 0);
	mdb_env_close(env);
}

static void check_finds_what_is_missing(void **state UNUSED)
{
	static const char *const tables[] = { "current", "superseded", "log" };
	struct store_lmdb_report report;
	struct store_contract c;

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		begin(&c);
		fill(&c, 2);
		store_contract_close(&c);
		damage(&c, tables[i]);
		assert_int_equal(store_lmdb_check(lmdb_world_of(&c)->dir, &report, NULL), 0);
		assert_true(report.faults > 0);
		assert_true(report.text.n > 0);
		store_lmdb_report_release(&report);
		store_contract_end(&c);
	}
}

static void a_copy_of_a_stopped_store_restores_to_the_same(void **state UNUSED)
{
	const char *before, *file, *other, *id;
	struct store_contract c;
	struct error err = { 0 };

	begin(&c);
	fill(&c, 2);
	before = items(&c);
	id = arena_strdup(&c.arena, store_cluster_id(c.store));
	file = in_root(&c, "copy");
	other = in_root(&c, "other");
	store_contract_close(&c);
	assert_int_equal(store_lmdb_backup(lmdb_world_of(&c)->dir, file, false, &err), 0);
	assert_int_equal(store_lmdb_backup(lmdb_world_of(&c)->dir, file, false, &err),
			 -ERR_ALREADY_EXISTS);
	assert_int_equal(store_lmdb_backup(lmdb_world_of(&c)->dir, file, true, &err), 0);
	assert_int_equal(store_lmdb_restore(lmdb_world_of(&c)->dir, file, &err),
			 -ERR_ALREADY_EXISTS);
	assert_int_equal(store_lmdb_restore(other, in_root(&c, "nothing"), &err), -ERR_NOT_FOUND);
	assert_int_equal(store_lmdb_restore(other, file, &err), 0);
	lmdb_world_of(&c)->opts.dir = other;
	store_contract_open(&c);
	assert_string_equal(items(&c), before);
	assert_true(str_eqz(store_cluster_id(c.store), id));
	store_contract_end(&c);
}

static void a_copy_that_is_damaged_is_not_restored(void **state UNUSED)
{
	struct store_contract c;
	struct error err = { 0 };
	const char *file, *other;
	struct stat st;

	begin(&c);
	fill(&c, 2);
	file = in_root(&c, "copy");
	other = in_root(&c, "other");
	store_contract_close(&c);
	damage(&c, "superseded");
	assert_int_equal(store_lmdb_backup(lmdb_world_of(&c)->dir, file, false, &err), 0);
	assert_int_equal(store_lmdb_restore(other, file, &err), -ERR_INVALID);
	assert_non_null(strstr(err.msg, "not a good copy"));
	assert_int_equal(truncate(file, 5000), 0);
	assert_true(store_lmdb_restore(other, file, &err) < 0);
	assert_true(stat(arena_printf(&c.arena, "%s/data.mdb", other), &st) < 0);
	store_contract_end(&c);
}

static void compacting_gives_space_back_and_keeps_the_objects(void **state UNUSED)
{
	size_t size_before, size_after;
	struct store_contract c;
	struct error err = { 0 };
	const char *before;
	int64_t revision;

	begin(&c);
	fill(&c, 10);
	before = items(&c);
	revision = store_contract_current(&c);
	assert_int_equal(store_lmdb_compact_file(lmdb_world_of(&c)->dir, false, &size_before,
						 &size_after, &err),
			 -ERR_CONFLICT);
	store_contract_close(&c);
	assert_int_equal(store_lmdb_compact_file(lmdb_world_of(&c)->dir, true, &size_before,
						 &size_after, &err),
			 0);
	assert_int_equal(store_lmdb_compact_file(lmdb_world_of(&c)->dir, false, &size_before,
						 &size_after, &err),
			 0);
	assert_true(size_after < size_before / 4);
	store_contract_open(&c);
	assert_string_equal(items(&c), before);
	assert_int_equal(store_contract_current(&c), revision);
	assert_true(store_contract_must_put(&c, PODS, "ns", "new", "x", 0) > revision);
	store_contract_end(&c);
}

/* --- a process that is killed --------------------------------------------------------------- */

struct killed {
	struct store_write write;
	struct store *store;
	int out;
	int64_t last; /* revision of the key */
	uint64_t n;
};

static void next_write(struct killed *k);

/* The parent may rely on a number once it has read it. */
static void on_written(struct store_write *w, const struct error *err)
{
	struct killed *k = CONTAINER_OF(w, struct killed, write);

	if (err || write(k->out, &k->n, sizeof(k->n)) != sizeof(k->n))
		_Exit(1);
	k->last = w->revision;
	bytes_unref(w->value);
	next_write(k);
}

static void next_write(struct killed *k)
{
	struct bytes *value = bytes_new(sizeof(k->n));

	k->n++;
	memcpy(value->data, &k->n, sizeof(k->n));
	k->write = (struct store_write){ .key = { STR(PODS), STR("ns"), STR("counter") },
					 .value = value,
					 .expected = k->last,
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

/* Reads the child's numbers until it is dead, and kills it after so many. */
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

static void acknowledged_writes_survive_kill_9(void **state UNUSED)
{
	struct lmdb_world *place = lmdb_world_new();
	struct store_contract c = { .backend = &lmdb_world_threaded, .place = place };
	struct store_lmdb_report report;
	struct store_contract_read *r;
	uint64_t acked, stored;
	int ends[2];
	pid_t pid;

	for (uint64_t count = 5; count <= 100; count += 19) {
		assert_int_equal(pipe(ends), 0);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			run_child(place, ends[1]);
		(void)close(ends[1]);
		acked = kill_after(pid, ends[0], count);
		(void)close(ends[0]);
		assert_true(acked >= count);
		assert_int_equal(loop_new(&c.loop, NULL), 0);
		arena_init(&c.arena, SIZE_MAX);
		store_contract_open(&c);
		r = store_contract_range(&c, &(struct store_range){ .resource = STR(PODS) });
		assert_int_equal(r->got.n, 1);
		memcpy(&stored, r->got.items[0].value.p, sizeof(stored));
		assert_true(stored == acked || stored == acked + 1);
		(void)store_contract_must_delete(&c, PODS, "ns", "counter",
						 r->got.items[0].revision);
		store_contract_close(&c);
		assert_int_equal(store_lmdb_check(place->dir, &report, NULL), 0);
		assert_int_equal(report.faults, 0);
		store_lmdb_report_release(&report);
		loop_free(c.loop);
		arena_release(&c.arena);
	}
	lmdb_world_free(place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(acknowledged_writes_survive_kill_9),
		cmocka_unit_test(check_counts_what_is_there),
		cmocka_unit_test(check_needs_a_store),
		cmocka_unit_test(check_finds_what_is_missing),
		cmocka_unit_test(a_copy_of_a_stopped_store_restores_to_the_same),
		cmocka_unit_test(a_copy_that_is_damaged_is_not_restored),
		cmocka_unit_test(compacting_gives_space_back_and_keeps_the_objects),
	};

	return cmocka_run_group_tests_name("store/lmdb_tools", tests, NULL, NULL);
}
