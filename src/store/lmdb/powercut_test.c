/*
 * Power cuts. A random workload runs on the LMDB store in a simulated world, while all operations
 * on its file are recorded. Then the power is cut at random places of that record: the disk holds
 * everything that was synced and some of what was not, in pieces of blocks and of sectors. A store
 * is opened from each such disk. It must have the state after exactly one of the batches, not older
 * than the last write that was acknowledged before the cut.
 *
 * With a journal, the cut leaves any combination of what the two files have of their unsynced
 * writes.
 *
 * POWERCUTS sets the number of cuts, POWERCUT_SEED repeats a run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/system/file.h"
#include "net/sim/sim.h"
#include "store/lmdb/faults.h"
#include "store/journal/journal.h"
#include "store/lmdb/lmdb_world.h"
#include "store/lmdb/tools.h"

enum {
	CUTS = SANITIZED ? 200 : 1000,
	CUTS_PER_WORKLOAD = 50,
	CONTROL_CUTS = 40,
	ROUNDS = 40,
	WRITES_PER_ROUND = 12,
	KEYS = 72,
	VALUE_MAX = 6000,
	BLOCK = 4096,
	SECTOR = 512,
	WAIT_MS = 60000,
	FILES = 2,
	SEGMENT_MIB = 8, /* more than a workload writes */
};

#define SEGMENT "journal/segment-0000000000000001"

static const char *const resources[] = { "core/pods", "core/nodes", "apps/things" };

/* A key, its last committed state, and its last unfinished write. */
struct key {
	const char *resource;
	char ns[8], name[8];
	int64_t revision;
	uint64_t digest; /* of its item; 0: it does not exist */
	struct write *last;
};

struct write {
	struct store_write store;
	struct workload *workload;
	struct key *key;
};

/* The state after a batch. */
struct state {
	int64_t revision;
	uint64_t digest;
};

struct workload {
	struct lmdb_world *world;
	struct sim *sim;
	struct loop *loop;
	struct store *store;
	struct prng prng;
	struct key keys[KEYS];
	uint64_t digest;
	VEC(struct state) states;
	bool closed;
	bool journal;
	/* The files when recording started: data.mdb, and the journal's only segment. */
	char *base[FILES];
	size_t base_n[FILES];
};

/* --- the workload --------------------------------------------------------------------- */

static uint64_t digest_of(struct str resource, struct str ns, struct str name, int64_t revision,
			  struct str value)
{
	char text[128];
	int n = snprintf(text, sizeof(text), "%.*s/%.*s/%.*s@%" PRId64, STR_ARG(resource),
			 STR_ARG(ns), STR_ARG(name), revision);

	return hash_bytes(str_of(text, (size_t)n), hash_bytes(value, 1)) | 1;
}

static void on_events(void *arg, const struct store_event *events, size_t n, int64_t revision)
{
	struct workload *w = arg;

	for (size_t i = 0; i < n; i++) {
		const struct store_event *e = &events[i];
		struct key *k = CONTAINER_OF(e->write, struct write, store)->key;

		w->digest ^= k->digest;
		k->revision = e->value ? e->revision : 0;
		k->digest = e->value ? digest_of(e->key.resource, e->key.ns, e->key.name,
						 e->revision, bytes_str(e->value))
				     : 0;
		w->digest ^= k->digest;
	}
	(void)vec_push(&w->states, (struct state){ revision, w->digest });
}

static void on_lost(void *arg UNUSED, const struct error *err)
{
	fail_msg("the feed was lost: %s", err->msg);
}

static void on_done(struct store_write *sw, const struct error *err)
{
	struct write *z = CONTAINER_OF(sw, struct write, store);

	if (!err)
		lmdb_faults_mark(sw->revision);
	else
		assert_int_equal(err->code, ERR_CONFLICT);
	if (z->key->last == z)
		z->key->last = NULL;
	bytes_unref(sw->value);
	free(z);
}

static void submit(struct workload *w)
{
	struct key *k = &w->keys[prng_below(&w->prng, KEYS)];
	struct write *z = XNEW(struct write);
	size_t n = prng_below(&w->prng, prng_below(&w->prng, 4) ? 600 : VALUE_MAX);

	z->workload = w;
	z->key = k;
	z->store = (struct store_write){ .key = { str_from(k->resource), str_from(k->ns),
						  str_from(k->name) },
					 .expected = k->revision,
					 .after = k->last ? &k->last->store : NULL,
					 .done = on_done };
	if (prng_below(&w->prng, 3) || (!k->last && !k->revision)) {
		z->store.value = bytes_new(n);
		prng_bytes(&w->prng, z->store.value->data, n);
	}
	if (prng_below(&w->prng, 20) == 0)
		z->store.expected += 7; /* a conflict */
	k->last = z;
	store_write(w->store, &z->store);
}

static bool is_idle(void *arg)
{
	return store_pending(((struct workload *)arg)->store) == 0;
}

static void on_compacted(void *arg UNUSED, const struct error *err)
{
	assert_null(err);
}

static void play(struct workload *w)
{
	for (int i = 0; i < ROUNDS; i++) {
		for (uint64_t n = prng_below(&w->prng, WRITES_PER_ROUND) + 1; n; n--)
			submit(w);
		if (prng_below(&w->prng, 10) == 0)
			store_compact(w->store, w->states.v[w->states.n - 1].revision / 2,
				      on_compacted, NULL);
		assert_true(sim_run_until(w->sim, is_idle, w, WAIT_MS));
		sim_run_for(w->sim, (int64_t)prng_below(&w->prng, 3000));
	}
}

static void on_closed(void *arg)
{
	*(bool *)arg = true;
}

static bool is_set(void *arg)
{
	return *(bool *)arg;
}

static void close_store(struct sim *sim, struct store *store)
{
	bool closed = false;

	store_close(store, on_closed, &closed);
	assert_true(sim_run_until(sim, is_set, &closed, WAIT_MS));
}

static void name_keys(struct workload *w)
{
	for (size_t i = 0; i < KEYS; i++) {
		struct key *k = &w->keys[i];

		k->resource = resources[i % ARRAY_SIZE(resources)];
		(void)snprintf(k->ns, sizeof(k->ns), "ns%zu", i / 3 % 2);
		(void)snprintf(k->name, sizeof(k->name), "n%zu", i / 6);
	}
}

/* Without zeros at the end, which say nothing to the journal's reader. */
static void load_base(struct workload *w, size_t i, const char *path)
{
	struct buf file = BUF_INIT(SIZE_MAX / 2);

	assert_int_equal(file_read(path, &file, NULL), 0);
	while (i && file.n && file.p[file.n - 1] == 0)
		file.n--;
	w->base_n[i] = file.n;
	w->base[i] = buf_take(&file);
}

static void watch(struct workload *w)
{
	char path[128];

	(void)lmdb_world_path(w->world, "data.mdb", path, sizeof(path));
	load_base(w, 0, path);
	lmdb_faults_watch(path);
	if (!w->journal)
		return;
	(void)lmdb_world_path(w->world, SEGMENT, path, sizeof(path));
	load_base(w, 1, path);
	lmdb_faults_watch_second(path);
}

static void record(struct workload *w, uint64_t seed, bool journal)
{
	struct store_feed feed = { .on_events = on_events, .on_lost = on_lost, .arg = w };

	*w = (struct workload){ .world = lmdb_world_new(), .journal = journal };
	vec_init(&w->states, SIZE_MAX / sizeof(struct state));
	prng_init(&w->prng, seed);
	name_keys(w);
	w->sim = sim_new(&(struct sim_opts){ .seed = seed });
	w->loop = sim_loop_new(w->sim, "host");
	w->world->opts.inline_commit = true;
	w->world->opts.history_ms = 4000;
	w->world->opts.journal = journal;
	w->world->opts.journal_segment_bytes = SEGMENT_MIB * MIB;
	assert_int_equal(store_lmdb_open(w->loop, &w->world->opts, &w->store, NULL), 0);
	store_follow(w->store, 0, &feed);
	/* A new store is at revision 1. */
	(void)vec_push(&w->states, (struct state){ 1, 0 });
	while (journal && w->states.n < 2) { /* the first record makes the file */
		submit(w);
		assert_true(sim_run_until(w->sim, is_idle, w, WAIT_MS));
	}
	watch(w);
	lmdb_faults_record(true);
	play(w);
	close_store(w->sim, w->store);
	lmdb_faults_record(false);
}

static void forget(struct workload *w)
{
	lmdb_faults_watch(NULL);
	loop_free(w->loop);
	sim_free(w->sim);
	lmdb_world_free(w->world);
	vec_release(&w->states);
	for (size_t i = 0; i < FILES; i++)
		free(w->base[i]);
}

/* --- the disk ----------------------------------------------------------------------------- */

struct disk {
	char *p;
	size_t n;
};

static void disk_write(struct disk *d, size_t at, const char *p, size_t n)
{
	if (n == 0)
		return;
	if (at + n > d->n) {
		d->p = xrealloc(d->p, at + n);
		memset(d->p + d->n, 0, at + n - d->n);
		d->n = at + n;
	}
	memcpy(d->p + at, p, n);
}

/* Writes some pieces of this size; a piece does not cross a boundary. */
static void disk_write_some(struct disk *d, const struct lmdb_op *op, size_t piece,
			    struct prng *prng)
{
	size_t at = 0, n;

	while (at < op->n) {
		n = MIN(op->n - at, piece - ((size_t)op->at + at) % piece);
		if (prng_below(prng, 2))
			disk_write(d, (size_t)op->at + at, op->data + at, n);
		at += n;
	}
}

/* Writes the part of an unsynced write that a power cut leaves. */
static void disk_write_unsynced(struct disk *d, const struct lmdb_op *op, unsigned mode,
				struct prng *prng)
{
	switch (mode) {
	case 0:
		break;
	case 1:
		disk_write(d, (size_t)op->at, op->data, op->n);
		break;
	case 2:
		disk_write_some(d, op, BLOCK, prng);
		break;
	default:
		disk_write_some(d, op, SECTOR, prng);
		break;
	}
}

/* The last revision acknowledged in the first `end` operations. */
static int64_t acked_at(const struct lmdb_op *ops, size_t end)
{
	int64_t acked = 0;

	for (size_t i = 0; i < end; i++)
		if (ops[i].kind == LMDB_OP_MARK)
			acked = ops[i].at;
	return acked;
}

/* A file after the first `end` operations. */
static struct disk disk_at(const struct workload *w, int file, size_t end, bool syncs_work,
			   struct prng *prng)
{
	unsigned mode = (unsigned)prng_below(prng, 4);
	struct disk d = { NULL, 0 };
	const struct lmdb_op *ops;
	size_t synced = 0, n;

	ops = lmdb_faults_ops(&n);
	disk_write(&d, 0, w->base[file], w->base_n[file]);
	for (size_t i = 0; i < end; i++)
		if (ops[i].kind == LMDB_OP_SYNC && ops[i].file == file && syncs_work)
			synced = i;
	for (size_t i = 0; i < end; i++) {
		if (ops[i].kind != LMDB_OP_WRITE || ops[i].file != file)
			continue;
		if (i < synced)
			disk_write(&d, (size_t)ops[i].at, ops[i].data, ops[i].n);
		else
			disk_write_unsynced(&d, &ops[i], mode, prng);
	}
	return d;
}

static void disk_save(const struct disk *d, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	for (size_t at = 0; at < d->n;) {
		ssize_t n = write(fd, d->p + at, d->n - at);

		assert_true(n > 0);
		at += (size_t)n;
	}
	(void)close(fd);
}

/* --- checks after the cut -------------------------------------------------------------------- */

struct survivor {
	struct sim *sim;
	struct loop *loop;
	struct store *store;
	struct arena arena;
	struct store_range_result got;
	bool done, failed;
};

static void on_range(void *arg, const struct store_range_result *result, const struct error *err)
{
	struct survivor *s = arg;

	s->done = true;
	s->failed = err != NULL;
	if (!err)
		s->got = *result;
}

static bool read_state(struct survivor *s, struct state *ret)
{
	*ret = (struct state){ 0, 0 };
	for (size_t i = 0; i < ARRAY_SIZE(resources); i++) {
		s->done = false;
		store_range(s->store, &(struct store_range){ .resource = str_from(resources[i]) },
			    &s->arena, on_range, s);
		if (!sim_run_until(s->sim, is_set, &s->done, WAIT_MS) || s->failed)
			return false;
		ret->revision = s->got.revision;
		for (size_t k = 0; k < s->got.n; k++) {
			const struct store_item *it = &s->got.items[k];

			ret->digest ^= digest_of(it->key.resource, it->key.ns, it->key.name,
						 it->revision, str_of(it->value.p, it->value.n));
		}
	}
	return true;
}

static bool is_a_state_of(const struct workload *w, const struct state *found, int64_t acked)
{
	for (size_t i = 0; i < w->states.n; i++)
		if (w->states.v[i].revision == found->revision)
			return w->states.v[i].digest == found->digest && found->revision >= acked;
	return false;
}

static void on_late(struct store_write *w, const struct error *err)
{
	w->result = err ? -1 : 1;
}

/* The store can continue: it accepts a new write, with a new revision. */
static bool goes_on(struct survivor *s, int64_t revision)
{
	struct store_write w = { .key = { STR("core/pods"), STR("late"), STR("late") },
				 .value = bytes_copy(STR("late")),
				 .done = on_late };

	store_write(s->store, &w);
	while (store_pending(s->store) && sim_step(s->sim))
		;
	bytes_unref(w.value);
	return w.result == 1 && w.revision > revision;
}

static bool survives(const struct workload *w, struct lmdb_world *place, int64_t acked, bool write)
{
	struct survivor s = { .sim = sim_new(&(struct sim_opts){ .seed = 1 }) };
	struct store_lmdb_report report = { .faults = 1 };
	struct state found = { -1, 0 };
	struct error err = { 0 };
	bool ok;

	arena_init(&s.arena, SIZE_MAX);
	s.loop = sim_loop_new(s.sim, "host");
	ok = store_lmdb_open(s.loop, &place->opts, &s.store, &err) == 0;
	if (ok) {
		ok = read_state(&s, &found) && is_a_state_of(w, &found, acked);
		ok = ok && (!write || goes_on(&s, found.revision));
		close_store(s.sim, s.store);
	}
	ok = ok && store_lmdb_check(place->dir, &report, &err) == 0 && report.faults == 0;
	if (!ok)
		(void)fprintf(stderr, "# revision %" PRId64 " of %" PRId64 "; %s\n%s",
			      found.revision, acked, err.msg, report.text.n ? report.text.p : "");
	store_lmdb_report_release(&report);
	arena_release(&s.arena);
	loop_free(s.loop);
	sim_free(s.sim);
	return ok;
}

/* --- cuts ------------------------------------------------------------------------------------- */

static struct lmdb_world *new_place(void)
{
	struct lmdb_world *place = lmdb_world_new();

	place->opts.inline_commit = true;
	assert_int_equal(mkdir(place->dir, 0700), 0);
	return place;
}

static uint64_t number_from(const char *variable, uint64_t otherwise)
{
	const char *text = getenv(variable);
	uint64_t value;

	return text && str_to_u64(str_from(text), &value) ? value : otherwise;
}

/* Makes the place what the cut leaves of both files. */
static void cut(const struct workload *w, struct lmdb_world *place, size_t end, bool syncs_work,
		struct prng *prng)
{
	char path[128];
	struct disk d = disk_at(w, 0, end, syncs_work, prng);

	disk_save(&d, lmdb_world_path(place, "data.mdb", path, sizeof(path)));
	free(d.p);
	assert_int_equal(journal_remove(place->dir, NULL), 0);
	if (!w->journal)
		return;
	assert_int_equal(mkdir(lmdb_world_path(place, "journal", path, sizeof(path)), 0700), 0);
	d = disk_at(w, 1, end, syncs_work, prng);
	disk_save(&d, lmdb_world_path(place, SEGMENT, path, sizeof(path)));
	free(d.p);
}

static void cut_often(const struct workload *w, struct prng *prng, size_t cuts)
{
	struct lmdb_world *place = new_place();
	const struct lmdb_op *ops;
	size_t nops, end;

	ops = lmdb_faults_ops(&nops);
	for (size_t i = 0; i < cuts; i++) {
		end = prng_below(prng, nops + 1);
		cut(w, place, end, true, prng);
		place->opts.journal = w->journal && prng_below(prng, 2);
		if (!survives(w, place, acked_at(ops, end), i % 8 == 0))
			fail_msg("not a state of the store: cut %zu at operation %zu of %zu", i,
				 end, nops);
	}
	lmdb_world_free(place);
}

static void cut_workloads(uint64_t seed, size_t cuts, bool journal)
{
	struct workload *w = XNEW(struct workload);
	struct prng prng;
	size_t n;

	(void)fprintf(stderr, "# POWERCUT_SEED=%" PRIu64 "\n", seed);
	prng_init(&prng, seed);
	for (; cuts; cuts -= n) {
		n = MIN(cuts, (size_t)CUTS_PER_WORKLOAD);
		record(w, prng_u64(&prng), journal);
		cut_often(w, &prng, n);
		forget(w);
	}
	free(w);
}

static void no_power_cut_loses_or_tears_an_acknowledged_write(void **state UNUSED)
{
	cut_workloads(number_from("POWERCUT_SEED", random_u64() >> 32),
		      number_from("POWERCUTS", CUTS), false);
}

static void nor_with_a_journal(void **state UNUSED)
{
	cut_workloads(number_from("POWERCUT_SEED", random_u64() >> 32),
		      number_from("POWERCUTS", CUTS), true);
}

/* With this seed, a workload allocates pages at the end and frees them before it writes them. */
static void a_file_that_ends_before_free_pages_is_whole(void **state UNUSED)
{
	cut_workloads(384114568, CUTS, false);
}

/* In a separate process, because LMDB may crash on such a disk. */
static bool survives_apart(const struct workload *w, struct lmdb_world *place, int64_t acked)
{
	pid_t pid = fork();
	int status, quiet;

	assert_true(pid >= 0);
	if (pid == 0) {
		quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);
		(void)dup2(quiet, STDOUT_FILENO);
		(void)dup2(quiet, STDERR_FILENO);
		(void)signal(SIGABRT, SIG_DFL);
		(void)signal(SIGSEGV, SIG_DFL);
		(void)signal(SIGBUS, SIG_DFL);
		(void)alarm(20);
		_Exit(survives(w, place, acked, false) ? 0 : 1);
	}
	assert_true(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The control: if syncs did not work, this test would have to notice. */
static void notices_that_syncs_do_not_work(bool journal)
{
	struct workload *w = XNEW(struct workload);
	struct lmdb_world *place = new_place();
	const struct lmdb_op *ops;
	size_t nops, end, noticed = 0;
	struct prng prng;

	prng_init(&prng, 4711);
	record(w, 4711, journal);
	ops = lmdb_faults_ops(&nops);
	for (size_t i = 0; i < CONTROL_CUTS; i++) {
		end = prng_below(&prng, nops + 1);
		cut(w, place, end, false, &prng);
		noticed += !survives_apart(w, place, acked_at(ops, end));
	}
	assert_true(noticed > 0);
	lmdb_world_free(place);
	forget(w);
	free(w);
}

static void a_disk_that_ignores_syncs_is_noticed(void **state UNUSED)
{
	notices_that_syncs_do_not_work(false);
	notices_that_syncs_do_not_work(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_power_cut_loses_or_tears_an_acknowledged_write),
		cmocka_unit_test(nor_with_a_journal),
		cmocka_unit_test(a_file_that_ends_before_free_pages_is_whole),
		cmocka_unit_test(a_disk_that_ignores_syncs_is_noticed),
	};

	return cmocka_run_group_tests_name("store/store_powercut", tests, NULL, NULL);
}
