/*
 * The LMDB backend: the contract of all backends, and its own promises, with a committer thread and
 * on the loop's thread.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <lmdb.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/report/metrics.h"
#include "store/lmdb/keys.h"
#include "store/lmdb/lmdb_world.h"
#include "store/lmdb/tools.h"

#define PODS "core/pods"

static int open_again(struct store_contract *c, struct error *err)
{
	struct store *second = NULL;

	return store_lmdb_open(c->loop, &lmdb_world_of(c)->opts, &second, err);
}

/* A process must not open an environment twice, so this is for a store that is closed. */
static void check_clean(struct store_contract *c)
{
	struct store_lmdb_report report;
	struct error err = { 0 };

	if (store_lmdb_check(lmdb_world_of(c)->dir, &report, &err) < 0)
		fail_msg("%s", err.msg);
	if (report.faults)
		fail_msg("%s", report.text.p);
	store_lmdb_report_release(&report);
}

static void the_folder_is_private(struct store_contract *c)
{
	struct stat st;

	assert_int_equal(stat(lmdb_world_of(c)->dir, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
}

static void a_second_opening_is_refused_and_told_by_whom(struct store_contract *c)
{
	struct error err = { 0 };
	char pid[32];

	(void)snprintf(pid, sizeof(pid), "process %ld", (long)getpid());
	assert_int_equal(open_again(c, &err), -ERR_CONFLICT);
	assert_non_null(strstr(err.msg, pid));
	assert_non_null(strstr(err.msg, lmdb_world_of(c)->dir));
	(void)store_contract_must_put(c, PODS, "ns", "a", "still works", 0);
}

/* Writes a number of `meta` behind the store's back. */
static void set_meta(struct store_contract *c, const char *name, int64_t value)
{
	char path[128], number[LMDB_NUMBER];
	MDB_val k = { strlen(name), (void *)(uintptr_t)name }, v = { sizeof(number), number };
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;

	(void)lmdb_world_path(lmdb_world_of(c), "data.mdb", path, sizeof(path));
	lmdb_number_put(number, value);
	assert_int_equal(mdb_env_create(&env), 0);
	assert_int_equal(mdb_env_set_maxdbs(env, 4), 0);
	assert_int_equal(mdb_env_open(env, path, MDB_NOSUBDIR, 0600), 0);
	assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
	assert_int_equal(mdb_dbi_open(txn, "meta", 0, &dbi), 0);
	assert_int_equal(mdb_put(txn, dbi, &k, &v, 0), 0);
	assert_int_equal(mdb_txn_commit(txn), 0);
	mdb_env_close(env);
}

static void a_newer_format_is_refused(struct store_contract *c)
{
	struct error err = { 0 };

	store_contract_close(c);
	set_meta(c, "format", 3);
	assert_int_equal(open_again(c, &err), -ERR_INVALID);
	assert_non_null(strstr(err.msg, "format 3"));
	set_meta(c, "format", 1);
	store_contract_open(c);
}

static void what_is_not_a_store_is_refused(struct store_contract *c)
{
	struct error err = { 0 };
	char path[128];
	FILE *f;

	store_contract_close(c);
	(void)lmdb_world_path(lmdb_world_of(c), "data.mdb", path, sizeof(path));
	f = fopen(path, "we");
	assert_non_null(f);
	for (int i = 0; i < 10000; i++)
		(void)fputs("not a store\n", f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(open_again(c, &err), -ERR_INVALID);
	assert_int_equal(unlink(path), 0);
}

static void a_file_that_was_cut_short_is_refused(struct store_contract *c)
{
	struct error err = { 0 };
	char path[128];

	(void)store_contract_must_put(c, PODS, "ns", "a", "one", 0);
	store_contract_close(c);
	(void)lmdb_world_path(lmdb_world_of(c), "data.mdb", path, sizeof(path));
	assert_int_equal(truncate(path, 3 * 4096), 0);
	assert_int_equal(open_again(c, &err), -ERR_INVALID);
	assert_non_null(strstr(err.msg, "cut short"));
	assert_int_equal(unlink(path), 0);
}

static void revisions_go_on_though_all_changes_are_forgotten(struct store_contract *c)
{
	int64_t r = store_contract_must_put(c, PODS, "ns", "a", "one", 0);

	r = store_contract_must_put(c, PODS, "ns", "a", "two", r);
	r = store_contract_must_delete(c, PODS, "ns", "a", r);
	store_contract_compact(c, r);
	store_contract_close(c);
	check_clean(c);
	store_contract_open(c);
	assert_int_equal(store_contract_current(c), r);
	assert_true(store_contract_must_put(c, PODS, "ns", "b", "new", 0) > r);
}

/* Failed writes use up revisions; a reported revision must be that of a durable change. */
static void holes_are_not_told_as_revisions(struct store_contract *c)
{
	int64_t r = store_contract_must_put(c, PODS, "ns", "a", "one", 0);
	struct store_contract_write *bad;

	store_contract_follow(c, r);
	bad = store_contract_put(c, PODS, "ns", "a", STR("x"), 0);
	assert_int_equal(store_contract_wait(bad), -ERR_CONFLICT);
	assert_int_equal(store_contract_current(c), r);
	assert_int_equal(c->delivered, r);
	store_contract_close(c);
	store_contract_open(c);
	assert_int_equal(store_contract_current(c), r);
}

static bool is_lost(void *arg)
{
	return ((struct store_contract *)arg)->lost;
}

static void a_feed_from_a_compacted_revision_is_lost(struct store_contract *c)
{
	int64_t r1 = store_contract_must_put(c, PODS, "ns", "a", "one", 0);
	int64_t r2 = store_contract_must_put(c, PODS, "ns", "a", "two", r1);

	store_contract_compact(c, r2);
	store_contract_follow(c, r1);
	store_contract_until(c, is_lost, c);
	assert_int_equal(c->events.n, 0);
}

static void a_long_past_is_compacted_in_pieces(struct store_contract *c)
{
	enum { ROUNDS = 20, KEYS = 500 };
	struct store_contract_write *w[KEYS] = { NULL };
	struct store_lmdb_report report;
	char name[16];

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < KEYS; i++) {
			(void)snprintf(name, sizeof(name), "pod-%d", i);
			w[i] = store_contract_put(c, PODS, "ns", name, STR("value"),
						  w[i] ? w[i]->write.revision : 0);
		}
		store_contract_settle(c);
	}
	store_contract_compact(c, store_contract_current(c));
	(void)store_contract_must_put(c, PODS, "ns", "one-more", "x", 0);
	store_contract_close(c);
	check_clean(c);
	store_contract_open(c);
	/* Each takes at least one commit, and each commit deletes a part of the history. */
	for (int i = 0; i < ROUNDS; i++)
		store_contract_compact(c, store_contract_current(c));
	store_contract_close(c);
	assert_int_equal(store_lmdb_check(lmdb_world_of(c)->dir, &report, NULL), 0);
	assert_int_equal(report.objects, KEYS + 1);
	assert_int_equal(report.faults, 0);
	assert_int_equal(report.superseded + report.changes, 0);
	store_lmdb_report_release(&report);
}

static void a_reader_sees_what_the_writer_has_committed(struct store_contract *c)
{
	struct store_lmdb_opts opts = lmdb_world_of(c)->opts;
	struct store_contract_write *w;
	struct store_contract reader;

	(void)store_contract_must_put(c, PODS, "ns", "a", "one", 0);
	opts.read_only = true;
	opts.dir = lmdb_world_of(c)->dir;
	store_contract_close(c);
	reader = *c;
	assert_int_equal(store_lmdb_open(c->loop, &opts, &reader.store, NULL), 0);
	assert_string_equal(
		store_contract_values(
			&reader, &store_contract_range(
					  &reader, &(struct store_range){ .resource = STR(PODS) })
					  ->got),
		"ns/a=one");
	w = store_contract_put(&reader, PODS, "ns", "b", STR("x"), 0);
	assert_int_equal(store_contract_wait(w), -ERR_UNAVAILABLE);
	store_contract_close(&reader);
	c->arena = reader.arena;
}

static void figures_are_kept(struct store_contract *c)
{
	struct buf text = BUF_INIT(MIB);
	struct metrics *m = metrics_new();
	struct store_contract_write *bad;

	store_contract_close(c);
	lmdb_world_of(c)->opts.metrics = m;
	store_contract_open(c);
	(void)store_contract_must_put(c, PODS, "ns", "a", "one", 0);
	bad = store_contract_put(c, PODS, "ns", "a", STR("x"), 0);
	assert_int_equal(store_contract_wait(bad), -ERR_CONFLICT);
	assert_int_equal(metrics_print(m, &text), 0);
	assert_non_null(strstr(text.p, "devplane_store_commits_total 1\n"));
	assert_non_null(strstr(text.p, "devplane_store_writes_total{result=\"ok\"} 1\n"));
	assert_non_null(strstr(text.p, "devplane_store_writes_total{result=\"conflict\"} 1\n"));
	assert_non_null(strstr(text.p, "devplane_store_sync_duration_seconds_count 1\n"));
	assert_non_null(strstr(text.p, "devplane_store_revision 2\n"));
	assert_non_null(strstr(text.p, "devplane_store_file_bytes "));
	store_contract_close(c);
	metrics_free(m);
	buf_release(&text);
}

/* --- a model ------------------------------------------------------------------------------ */

enum { MODEL_NAMES = 12, MODEL_STEPS = 250 };

struct version {
	size_t name;
	int64_t revision;
	char value[16]; /* empty: deleted */
};

static void model_name(size_t i, char *buf, size_t size, const char **ret_ns)
{
	static const char *const spaces[] = { "", "a", "a-b", "ab" };
	static const char *const names[] = { "x", "xy", "x-y" };

	*ret_ns = spaces[i % ARRAY_SIZE(spaces)];
	(void)snprintf(buf, size, "%s", names[i / ARRAY_SIZE(spaces)]);
}

/* The model's answer for the range at the revision; names are visited in sorted order. */
static const char *model_state(struct store_contract *c, const struct version *v, size_t n,
			       int64_t revision)
{
	static const size_t order[MODEL_NAMES] = { 0, 8, 4, 1, 9, 5, 2, 10, 6, 3, 11, 7 };
	struct buf b = BUF_INIT(MIB);
	char name[8], *text;
	const char *ns;

	for (size_t i = 0; i < MODEL_NAMES; i++) {
		const struct version *last = NULL;

		for (size_t k = 0; k < n && v[k].revision <= revision; k++)
			last = v[k].name == order[i] ? &v[k] : last;
		if (!last || !last->value[0])
			continue;
		model_name(order[i], name, sizeof(name), &ns);
		(void)buf_printf(&b, "%s%s/%s=%s@%" PRId64, b.n ? " " : "", ns, name, last->value,
				 last->revision);
	}
	text = arena_strdup(&c->arena, buf_str(&b));
	buf_release(&b);
	return text;
}

static void every_revision_reads_as_the_model_says(struct store_contract *c)
{
	struct version v[MODEL_STEPS];
	int64_t at[MODEL_NAMES] = { 0 };
	struct prng prng;
	uint64_t seed = random_u64() >> 32;
	char name[8];
	const char *ns;

	(void)fprintf(stderr, "# seed %" PRIu64 "\n", seed);
	prng_init(&prng, seed);
	for (size_t i = 0; i < MODEL_STEPS; i++) {
		size_t k = prng_below(&prng, MODEL_NAMES);
		bool gone = at[k] && prng_below(&prng, 3) == 0;

		v[i] = (struct version){ .name = k };
		model_name(k, name, sizeof(name), &ns);
		if (!gone)
			(void)snprintf(v[i].value, sizeof(v[i].value), "v%zu", i);
		v[i].revision = gone ? store_contract_must_delete(c, PODS, ns, name, at[k])
				     : store_contract_must_put(c, PODS, ns, name, v[i].value,
							       at[k]);
		at[k] = gone ? 0 : v[i].revision;
	}
	for (size_t i = 0; i < MODEL_STEPS; i++) {
		struct store_contract_read *r = store_contract_range(
			c,
			&(struct store_range){ .resource = STR(PODS), .revision = v[i].revision });

		assert_int_equal(r->result, 0);
		assert_string_equal(store_contract_items(c, &r->got),
				    model_state(c, v, MODEL_STEPS, v[i].revision));
	}
	store_contract_close(c);
	check_clean(c);
}

#define CASE(fn)        \
	{               \
#fn, fn \
	}
static const struct store_contract_case extra[] = {
	CASE(the_folder_is_private),
	CASE(a_second_opening_is_refused_and_told_by_whom),
	CASE(a_newer_format_is_refused),
	CASE(what_is_not_a_store_is_refused),
	CASE(a_file_that_was_cut_short_is_refused),
	CASE(revisions_go_on_though_all_changes_are_forgotten),
	CASE(holes_are_not_told_as_revisions),
	CASE(a_feed_from_a_compacted_revision_is_lost),
	CASE(a_long_past_is_compacted_in_pieces),
	CASE(a_reader_sees_what_the_writer_has_committed),
	CASE(figures_are_kept),
	CASE(every_revision_reads_as_the_model_says),
	{ NULL, NULL },
};

int main(void)
{
	struct store_contract_backend threaded = lmdb_world_threaded, inlined = lmdb_world_inline;
	struct store_contract_backend journal = lmdb_world_journal,
				      journal_inline = lmdb_world_journal_inline;
	const struct store_contract_backend *backends[] = { &threaded, &inlined, &journal,
							    &journal_inline, NULL };

	threaded.extra = extra;
	inlined.extra = extra;
	journal.extra = extra;
	journal_inline.extra = extra;
	return store_contract_run_all("store/store_lmdb", backends);
}
