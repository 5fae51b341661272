/*
 * The LMDB store on a disk that is full, or that fails: acknowledged writes stay, rejected writes
 * have a reason, and reads keep working.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/lmdb/faults.h"
#include "store/lmdb/lmdb_world.h"
#include "store/lmdb/tools.h"

#define PODS "core/pods"

static void begin(struct store_contract *c, bool inline_commit)
{
	char path[128];

	assert_true(
		store_contract_begin(c, inline_commit ? &lmdb_world_inline : &lmdb_world_threaded));
	(void)store_contract_must_put(c, PODS, "ns", "before", "kept", 0);
	lmdb_faults_watch(lmdb_world_path(lmdb_world_of(c), "data.mdb", path, sizeof(path)));
}

static const char *values(struct store_contract *c)
{
	return store_contract_values(
		c, &store_contract_range(c, &(struct store_range){ .resource = STR(PODS) })->got);
}

static void end(struct store_contract *c)
{
	struct store_lmdb_report report;

	lmdb_faults_watch(NULL);
	store_contract_close(c);
	assert_int_equal(store_lmdb_check(lmdb_world_of(c)->dir, &report, NULL), 0);
	if (report.faults)
		fail_msg("%s", report.text.p);
	store_lmdb_report_release(&report);
	store_contract_end(c);
}

/*
 * A full disk: writes are rejected with a reason, reads work, and so do writes once there is space.
 */
static void recovers_from(enum lmdb_fault fault, bool inline_commit)
{
	struct store_contract_write *bad, *then;
	struct store_contract c;

	begin(&c, inline_commit);
	store_contract_follow(&c, store_contract_current(&c));
	for (size_t skip = 0; skip < 4; skip++) {
		lmdb_faults_set(fault, skip);
		bad = store_contract_put(&c, PODS, "ns", "new", STR("refused"), 0);
		then = store_contract_after(bad, "refused, too");
		if (store_contract_wait(bad) == 0) /* fewer writes than the fault skipped */
			break;
		assert_true(lmdb_faults_struck() > 0);
		assert_int_equal(bad->result, -ERR_UNAVAILABLE);
		assert_non_null(strstr(bad->err.msg, "No space left on device"));
		assert_non_null(strstr(bad->err.msg, lmdb_world_of(&c)->dir));
		assert_true(store_contract_wait(then) < 0);
		assert_string_equal(values(&c), "ns/before=kept");
		assert_int_equal(store_health(c.store, NULL), 0);
		assert_int_equal(c.events.n, 0);
	}
	lmdb_faults_set(LMDB_FAULT_NONE, 0);
	store_contract_settle(&c);
	(void)store_contract_must_put(&c, PODS, "ns", "room", "again", 0);
	assert_non_null(strstr(values(&c), "ns/room=again"));
	end(&c);
}

static void a_full_disk_refuses_writes_until_there_is_room(void **state UNUSED)
{
	recovers_from(LMDB_FAULT_FULL, false);
	recovers_from(LMDB_FAULT_FULL, true);
}

static void a_write_that_is_cut_short_counts_as_a_full_disk(void **state UNUSED)
{
	recovers_from(LMDB_FAULT_SHORT, false);
	recovers_from(LMDB_FAULT_SHORT, true);
}

/* The disk cannot be trusted any more: the store rejects writes until a restart; reads work. */
static void gives_up_after(enum lmdb_fault fault, size_t skip)
{
	struct store_contract_write *bad, *later;
	struct error err = { 0 };
	struct store_contract c;

	begin(&c, false);
	store_contract_follow(&c, store_contract_current(&c));
	lmdb_faults_set(fault, skip);
	bad = store_contract_put(&c, PODS, "ns", "new", STR("lost"), 0);
	assert_int_equal(store_contract_wait(bad), -ERR_IO);
	assert_true(lmdb_faults_struck() > 0);
	assert_true(store_health(c.store, &err) < 0);
	assert_non_null(strstr(err.msg, "restart"));
	lmdb_faults_set(LMDB_FAULT_NONE, 0);
	later = store_contract_put(&c, PODS, "ns", "later", STR("refused"), 0);
	assert_int_equal(store_contract_wait(later), -ERR_IO);
	assert_true(store_health(c.store, NULL) < 0);
	assert_string_equal(values(&c), "ns/before=kept");
	assert_int_equal(c.events.n, 0);
	store_contract_close(&c);
	store_contract_open(&c);
	assert_non_null(strstr(values(&c), "ns/before=kept"));
	(void)store_contract_must_put(&c, PODS, "ns", "restarted", "x", 0);
	end(&c);
}

static void a_failed_sync_of_the_pages_is_the_end(void **state UNUSED)
{
	gives_up_after(LMDB_FAULT_SYNC, 0);
}

static void a_failed_sync_of_the_meta_page_is_the_end(void **state UNUSED)
{
	gives_up_after(LMDB_FAULT_SYNC, 1);
}

static void a_failed_write_of_the_meta_page_is_the_end(void **state UNUSED)
{
	gives_up_after(LMDB_FAULT_META, 0);
}

static void a_file_at_its_limit_refuses_writes_and_is_read(void **state UNUSED)
{
	struct store_contract_write *w = NULL;
	struct store_contract c;
	char name[16], big[8192];
	size_t n = 0;

	assert_true(store_contract_begin(&c, &lmdb_world_threaded));
	store_contract_close(&c);
	lmdb_world_of(&c)->opts.map_size = 1 << 20;
	lmdb_world_of(&c)->opts.history_ms = 1;
	store_contract_open(&c);
	memset(big, 'x', sizeof(big));
	do {
		(void)snprintf(name, sizeof(name), "pod-%zu", n++);
		w = store_contract_put(&c, PODS, "ns", name, str_of(big, sizeof(big)), 0);
	} while (store_contract_wait(w) == 0 && n < 1000);
	assert_int_equal(w->result, -ERR_UNAVAILABLE);
	assert_non_null(strstr(w->err.msg, "reads go on"));
	assert_int_equal(store_health(c.store, NULL), 0);
	assert_int_equal(
		store_contract_range(&c, &(struct store_range){ .resource = STR(PODS) })->got.n,
		n - 1);
	end(&c);
}

/* With a journal: data.mdb cannot be trusted any more, and the journal has what is not in it. */
static void a_failed_sync_behind_the_journal_loses_nothing(void **state UNUSED)
{
	struct store_contract_write *later;
	struct store_contract_read *r;
	struct store_contract c;
	char path[128];

	assert_true(store_contract_begin(&c, &lmdb_world_journal));
	(void)store_contract_must_put(&c, PODS, "ns", "before", "kept", 0);
	assert_string_equal(values(&c), "ns/before=kept");
	lmdb_faults_watch(lmdb_world_path(lmdb_world_of(&c), "data.mdb", path, sizeof(path)));
	lmdb_faults_set(LMDB_FAULT_SYNC, 0);
	(void)store_contract_must_put(&c, PODS, "ns", "new", "journaled", 0);
	r = store_contract_range(&c, &(struct store_range){ .resource = STR(PODS) });
	assert_int_equal(r->result, -ERR_IO);
	assert_true(lmdb_faults_struck() > 0);
	assert_true(store_health(c.store, NULL) < 0);
	lmdb_faults_set(LMDB_FAULT_NONE, 0);
	later = store_contract_put(&c, PODS, "ns", "later", STR("refused"), 0);
	assert_int_equal(store_contract_wait(later), -ERR_IO);
	store_contract_close(&c);
	store_contract_open(&c);
	assert_string_equal(values(&c), "ns/before=kept ns/new=journaled");
	end(&c);
}

/* The store writes no more to this journal. Acknowledged writes can be read, now and later. */
static void a_failed_sync_of_the_journal_is_the_end(void **state UNUSED)
{
	struct store_contract_write *bad, *later;
	struct error err = { 0 };
	struct store_contract c;
	char path[128];

	assert_true(store_contract_begin(&c, &lmdb_world_journal));
	(void)store_contract_must_put(&c, PODS, "ns", "before", "kept", 0);
	store_contract_follow(&c, store_contract_current(&c));
	lmdb_faults_watch(lmdb_world_path(lmdb_world_of(&c), "journal/segment-0000000000000001",
					  path, sizeof(path)));
	lmdb_faults_set(LMDB_FAULT_SYNC, 0);
	bad = store_contract_put(&c, PODS, "ns", "new", STR("unknown"), 0);
	assert_int_equal(store_contract_wait(bad), -ERR_IO);
	assert_true(store_health(c.store, &err) < 0);
	assert_non_null(strstr(err.msg, "restart"));
	lmdb_faults_set(LMDB_FAULT_NONE, 0);
	later = store_contract_put(&c, PODS, "ns", "later", STR("refused"), 0);
	assert_int_equal(store_contract_wait(later), -ERR_IO);
	assert_string_equal(values(&c), "ns/before=kept");
	assert_int_equal(c.events.n, 0);
	store_contract_close(&c);
	store_contract_open(&c);
	assert_non_null(strstr(values(&c), "ns/before=kept"));
	(void)store_contract_must_put(&c, PODS, "ns", "restarted", "x", 0);
	end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_disk_refuses_writes_until_there_is_room),
		cmocka_unit_test(a_write_that_is_cut_short_counts_as_a_full_disk),
		cmocka_unit_test(a_failed_sync_of_the_pages_is_the_end),
		cmocka_unit_test(a_failed_sync_of_the_meta_page_is_the_end),
		cmocka_unit_test(a_failed_write_of_the_meta_page_is_the_end),
		cmocka_unit_test(a_failed_sync_behind_the_journal_loses_nothing),
		cmocka_unit_test(a_failed_sync_of_the_journal_is_the_end),
		cmocka_unit_test(a_file_at_its_limit_refuses_writes_and_is_read),
	};

	return cmocka_run_group_tests_name("store/lmdb_disk", tests, NULL, NULL);
}
