/*
 * Reading the journal into data.mdb: when a store is opened, and for tools.
 */
#include <errno.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/vec.h"
#include "store/lmdb/apply.h"
#include "store/journal/journal.h"
#include "store/lmdb/keys.h"
#include "store/store_limits.h"

enum { POLL_MS = 20, WAIT_S = 60 };

struct replay_pass {
	const struct lmdb_env *e;
	MDB_txn *snapshot; /* reset */
	VEC(struct journal_record *) records; /* read, not applied yet */
	size_t n, bytes; /* changes in them, and their values */
	struct buf scratch;
};

static int replay_apply(struct replay_pass *p, struct error *err)
{
	struct lmdb_batch b = { .records = p->records.v,
				.nrecords = p->records.n,
				.snapshot = p->snapshot,
				.lengthen = true };

	if (!p->records.n)
		return 0;
	list_init(&b.writes);
	lmdb_batch_run(&b, p->e, &p->scratch);
	if (b.committed)
		mdb_txn_reset(p->snapshot);
	for (size_t i = 0; i < p->records.n; i++)
		journal_record_free(p->records.v[i]);
	p->records.n = 0;
	p->n = p->bytes = 0;
	if (b.result == 0)
		return 0;
	(void)error_copy(err, &b.err);
	return error_wrap(err, b.result, "cannot apply the journal in %s/" JOURNAL_DIR, p->e->dir);
}

/* Whether data.mdb can store its changes. The journal itself does not look into keys. */
static bool is_possible(const struct journal_record *r)
{
	struct str ns, name;
	uint32_t id;

	for (size_t i = 0; i < r->n; i++)
		if (r->entries[i].key.n > LMDB_KEY_MAX - LMDB_NUMBER ||
		    !lmdb_key_parse(r->entries[i].key, &id, &ns, &name) ||
		    r->entries[i].revision > LMDB_REVISION_MAX)
			return false;
	return true;
}

static int on_record(void *arg, struct journal_record *r, struct error *err)
{
	struct replay_pass *p = arg;

	if (!is_possible(r)) {
		journal_record_free(r);
		return error_set(err, ERR_INVALID, "%s/" JOURNAL_DIR ": a change of no known key",
				 p->e->dir);
	}
	(void)vec_push(&p->records, r);
	p->n += r->n;
	p->bytes += r->bytes;
	return p->n < STORE_APPLY_MAX && p->bytes < STORE_APPLY_BYTES ? 0 : replay_apply(p, err);
}

static int on_forget(void *arg, struct error *err)
{
	return replay_apply(arg, err);
}

static int read_sequence(const struct lmdb_env *e, int64_t *ret_sequence, struct error *err)
{
	MDB_txn *txn;
	int rc = mdb_txn_begin(e->mdb, NULL, MDB_RDONLY, &txn);

	if (rc == 0) {
		rc = lmdb_apply_sequence(e, txn, ret_sequence);
		mdb_txn_abort(txn);
	}
	return rc ? lmdb_error(err, ERR_IO, rc, e->dir) : 0;
}

static int replay_from(struct replay_pass *p, struct error *err)
{
	struct journal_reader in = { .dir = p->e->dir,
				     .cluster_id = p->e->cluster_id,
				     .each = on_record,
				     .forget = on_forget,
				     .arg = p };
	int64_t last;
	int r = read_sequence(p->e, &in.after, err);

	if (r == 0)
		r = journal_read(&in, &last, err);
	for (size_t i = 0; i < p->records.n; i++)
		journal_record_free(p->records.v[i]);
	return r;
}

int lmdb_apply_journal(const struct lmdb_env *e, struct error *err)
{
	struct replay_pass p = { .e = e, .scratch = BUF_INIT(SIZE_MAX / 2) };
	int rc, r;

	if (!journal_exists(e->dir))
		return 0;
	/*
	 * A process that was killed may have left a meta page that is not durable yet. What it says
	 * decides which records are removed.
	 */
	rc = mdb_env_sync(e->mdb, 1);
	if (rc == 0)
		rc = mdb_txn_begin(e->mdb, NULL, MDB_RDONLY, &p.snapshot);
	if (rc)
		return lmdb_error(err, ERR_IO, rc, e->dir);
	mdb_txn_reset(p.snapshot);
	vec_init(&p.records, SIZE_MAX / sizeof(struct journal_record *));
	r = replay_from(&p, err);
	mdb_txn_abort(p.snapshot);
	vec_release(&p.records);
	buf_release(&p.scratch);
	return r;
}

/* --- for tools -------------------------------------------------------------------------- */

static int drop(void *arg, struct journal_record *r, struct error *err)
{
	(void)arg;
	(void)err;
	journal_record_free(r);
	return 0;
}

/*
 * The sequences of the last record in data.mdb and, unless ret_last is NULL, of the last one in the
 * journal.
 */
static int read_ends(const char *dir, bool live, int64_t *ret_applied, int64_t *ret_last,
		     struct error *err)
{
	const struct lmdb_env_opts opts = { .dir = dir, .read_only = true };
	struct journal_reader in = { .dir = dir, .live = live, .each = drop };
	struct lmdb_env e;
	int r = lmdb_env_open(&e, &opts, err);

	if (r < 0)
		return r;
	r = read_sequence(&e, ret_applied, err);
	in.cluster_id = e.cluster_id;
	in.after = *ret_applied;
	if (r == 0 && ret_last)
		r = journal_read(&in, ret_last, err);
	lmdb_env_close(&e);
	return r;
}

static int wait_for_server(const char *dir, struct error *err)
{
	const struct clock *clock = clock_system();
	int64_t deadline = clock_monotonic(clock) + WAIT_S * CLOCK_SEC;
	int64_t applied, wanted;
	int r = read_ends(dir, true, &applied, &wanted, err);

	while (r == 0 && applied < wanted) {
		if (clock_monotonic(clock) > deadline)
			return error_set(err, ERR_TIMEOUT,
					 "the server has not applied its journal in %s within %d s",
					 dir, WAIT_S);
		(void)nanosleep(&(struct timespec){ .tv_nsec = POLL_MS * CLOCK_MS }, NULL);
		r = read_ends(dir, true, &applied, NULL, err);
	}
	return r;
}

static int apply_stopped(const char *dir, int lock, struct error *err)
{
	const struct lmdb_env_opts opts = { .dir = dir, .file = "data.mdb" };
	struct lmdb_env e;
	int r;

	(void)close(lock); /* opening takes it again */
	r = lmdb_env_open(&e, &opts, err);
	if (r < 0)
		return r;
	r = lmdb_apply_journal(&e, err);
	lmdb_env_close(&e);
	return r;
}

/* Returns a descriptor with the folder's lock, or -1 if a server has it. */
static int try_lock(const char *dir, int *ret_lock, struct error *err)
{
	int lock = lmdb_env_lock(dir, err);

	if (lock < 0 && lock != -ERR_CONFLICT)
		return lock;
	*ret_lock = MAX(lock, -1);
	return 0;
}

int lmdb_apply_wait(const char *dir, struct error *err)
{
	int lock, r;

	if (!journal_exists(dir))
		return 0;
	r = try_lock(dir, &lock, err);
	if (r < 0)
		return r;
	return lock < 0 ? wait_for_server(dir, err) : apply_stopped(dir, lock, err);
}

int lmdb_apply_check(const char *dir, struct error *err)
{
	int64_t applied, last;
	int lock, r;

	if (!journal_exists(dir))
		return 0;
	r = try_lock(dir, &lock, err);
	if (r < 0)
		return r;
	if (lock < 0)
		return wait_for_server(dir, err);
	r = read_ends(dir, false, &applied, &last, err);
	(void)close(lock);
	if (r == 0 && last > applied)
		r = error_set(err, ERR_CONFLICT,
			      "%s/" JOURNAL_DIR " has writes that are not in data.mdb yet; start "
			      "the server once, or make a backup, which applies them",
			      dir);
	return r;
}
