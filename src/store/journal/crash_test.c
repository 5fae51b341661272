/*
 * Power cuts while segments are made, filled, recycled and removed. All operations on the journal's
 * folder are recorded. Then the power is cut at random places of that record: a file has what was
 * synced and some of its later writes; the folder has the names as of its last sync, and some of
 * the changes since then, in order. Everything acknowledged must be read from what is left.
 *
 * CRASHES sets the number of cuts, CRASH_SEED repeats a run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/core/random.h"
#include "net/loop/gzip.h"
#include "store/journal/journal.h"
#include "store/lmdb/lmdb_world.h"

#define ID "6ba7b810-9dad-41d1-80b4-00c04fd430c8"

enum {
	SEGMENT = 32 * KIB,
	ROUNDS = 120,
	CRASHES = SANITIZED ? 300 : 3000,
	FILES_MAX = 256,
	NAME_SIZE = 40,
	SIZE_MAX_KIB = 256,
};

enum op_kind { OP_WRITE, OP_SYNC, OP_RENAME, OP_UNLINK, OP_SYNC_FOLDER, OP_ACKED, OP_APPLIED };

struct op {
	enum op_kind kind;
	int file;
	int64_t at; /* a write's offset; a mark's sequence */
	size_t n;
	char *data;
	char from[NAME_SIZE], to[NAME_SIZE];
};

/* What is recorded. The functions below replace libc's, so it cannot be a parameter. */
static struct {
	bool on;
	int folder; /* descriptor */
	ino_t inodes[FILES_MAX]; /* of each file; 0: it was removed */
	int files;
	VEC(struct op) ops;
} tape;

/* --- recording --------------------------------------------------------------------------- */

static void tape_add(struct op op)
{
	(void)vec_push(&tape.ops, op);
}

static void tape_mark(enum op_kind kind, int64_t sequence)
{
	tape_add((struct op){ .kind = kind, .at = sequence });
}

static int file_of(const struct stat *st)
{
	for (int i = 0; i < tape.files; i++)
		if (tape.inodes[i] == st->st_ino)
			return i;
	assert_true(tape.files < FILES_MAX);
	tape.inodes[tape.files] = st->st_ino;
	return tape.files++;
}

static int file_at(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return file_of(&st);
}

static int file_named(const char *name)
{
	struct stat st;

	return fstatat(tape.folder, name, &st, 0) == 0 ? file_of(&st) : -1;
}

ssize_t crash_test_pwrite(int fd, const void *p, size_t n, off_t at) __asm__("pwrite64");
int crash_test_renameat(int a, const char *from, int b, const char *to) __asm__("renameat");
int crash_test_unlinkat(int fd, const char *name, int flags) __asm__("unlinkat");

ssize_t crash_test_pwrite(int fd, const void *p, size_t n, off_t at)
{
	struct op op = { .kind = OP_WRITE, .at = at, .n = n };

	if (tape.on) {
		op.file = file_at(fd);
		op.data = xmalloc(n);
		memcpy(op.data, p, n);
		tape_add(op);
	}
	return syscall(SYS_pwrite64, fd, p, n, at);
}

int fdatasync(int fd)
{
	if (!tape.on)
		return (int)syscall(SYS_fdatasync, fd);
	tape_add((struct op){ .kind = OP_SYNC, .file = file_at(fd) });
	return 0;
}

int fsync(int fd)
{
	if (!tape.on)
		return (int)syscall(SYS_fsync, fd);
	tape_add((struct op){ .kind = OP_SYNC_FOLDER });
	return 0;
}

int crash_test_renameat(int a, const char *from, int b, const char *to)
{
	struct op op = { .kind = OP_RENAME };

	if (tape.on) {
		op.file = file_named(from);
		(void)snprintf(op.from, sizeof(op.from), "%s", from);
		(void)snprintf(op.to, sizeof(op.to), "%s", to);
		tape_add(op);
	}
	return (int)syscall(SYS_renameat2, a, from, b, to, 0);
}

int crash_test_unlinkat(int fd, const char *name, int flags)
{
	struct op op = { .kind = OP_UNLINK };

	op.file = tape.on ? file_named(name) : -1;
	if (op.file >= 0) {
		(void)snprintf(op.from, sizeof(op.from), "%s", name);
		tape.inodes[op.file] = 0; /* its number may be used again */
		tape_add(op);
	}
	return (int)syscall(SYS_unlinkat, fd, name, flags);
}

/* --- the workload ------------------------------------------------------------------------- */

struct workload {
	struct lmdb_world *place;
	struct journal journal;
	struct prng prng;
	uint32_t sums[ROUNDS + 1]; /* of each record's value, by sequence */
};

static void append(struct workload *w, int64_t sequence)
{
	size_t size = prng_below(&w->prng, prng_below(&w->prng, 4) ? 3000 : 20000);
	struct journal_record *r = journal_record_new(1, 16);
	struct journal_entry *e = journal_record_add(r, STR("key"));

	e->resource = STR("core/pods");
	e->revision = sequence + 1;
	e->owner = bytes_new(size);
	prng_bytes(&w->prng, e->owner->data, size);
	e->value = bytes_str(e->owner);
	w->sums[sequence] = gzip_crc32(e->value);
	assert_int_equal(journal_append(&w->journal, r, NULL), 0);
	assert_int_equal(r->sequence, sequence);
	tape_mark(OP_ACKED, sequence);
	journal_record_free(r);
}

static void record(struct workload *w, uint64_t seed)
{
	int64_t applied = 0;

	prng_init(&w->prng, seed);
	w->place = lmdb_world_new();
	assert_int_equal(mkdir(w->place->dir, 0700), 0);
	assert_int_equal(journal_open(&w->journal, w->place->dir, ID, 0, SEGMENT, NULL), 0);
	vec_init(&tape.ops, SIZE_MAX / sizeof(struct op));
	tape.folder = w->journal.dir_fd;
	tape.files = 0;
	tape.on = true;
	for (int64_t i = 1; i <= ROUNDS; i++) {
		append(w, i);
		if (prng_below(&w->prng, 5))
			continue;
		applied += (int64_t)prng_below(&w->prng, (uint64_t)(i - applied) + 1);
		tape_mark(OP_APPLIED, applied);
		journal_release(&w->journal, applied);
	}
	tape.on = false;
	journal_close(&w->journal);
}

static void forget(struct workload *w)
{
	for (size_t i = 0; i < tape.ops.n; i++)
		free(tape.ops.v[i].data);
	vec_release(&tape.ops);
	lmdb_world_free(w->place);
}

/* --- the disk after a cut -------------------------------------------------------------------- */

struct disk {
	char *files[FILES_MAX];
	size_t sizes[FILES_MAX];
	char names[FILES_MAX][NAME_SIZE]; /* empty: none */
};

static void disk_put(struct disk *d, int file, size_t at, const char *p, size_t n)
{
	if (at + n > d->sizes[file]) {
		d->files[file] = xrealloc(d->files[file], at + n);
		memset(d->files[file] + d->sizes[file], 0, at + n - d->sizes[file]);
		d->sizes[file] = at + n;
	}
	memcpy(d->files[file] + at, p, n);
}

static void disk_write(struct disk *d, const struct op *op, bool synced, struct prng *prng)
{
	uint64_t mode = synced ? 1 : prng_below(prng, 3);
	size_t n;

	for (size_t at = 0; mode && at < op->n; at += n) {
		n = MIN(op->n - at, (size_t)512);
		if (mode == 1 || prng_below(prng, 2))
			disk_put(d, op->file, (size_t)op->at + at, op->data + at, n);
	}
}

static void disk_name(struct disk *d, const struct op *op)
{
	for (int i = 0; op->kind == OP_RENAME && i < FILES_MAX; i++)
		if (strcmp(d->names[i], op->to) == 0)
			d->names[i][0] = '\0';
	(void)snprintf(d->names[op->file], NAME_SIZE, "%s", op->kind == OP_RENAME ? op->to : "");
}

/* Returns the index of the file's last operation of that kind before `end`, or 0. */
static size_t last_of(enum op_kind kind, int file, size_t end)
{
	while (end-- > 0)
		if (tape.ops.v[end].kind == kind && tape.ops.v[end].file == file)
			return end;
	return 0;
}

static void make_disk(struct disk *d, size_t end, bool syncs_work, struct prng *prng)
{
	size_t synced[FILES_MAX], folder = last_of(OP_SYNC_FOLDER, 0, end);
	bool kept = true;

	for (int i = 0; i < tape.files; i++)
		synced[i] = syncs_work ? last_of(OP_SYNC, i, end) : 0;
	for (size_t i = 0; i < end; i++) {
		const struct op *op = &tape.ops.v[i];

		if (op->kind == OP_WRITE)
			disk_write(d, op, i < synced[op->file], prng);
		if (op->kind != OP_RENAME && op->kind != OP_UNLINK)
			continue;
		kept = kept && (i < folder || prng_below(prng, 2));
		if (kept)
			disk_name(d, op);
	}
}

static void save_disk(const struct disk *d, const char *folder)
{
	char path[160];
	int fd;

	assert_int_equal(mkdir(folder, 0700), 0);
	for (int i = 0; i < FILES_MAX; i++) {
		if (!d->names[i][0])
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", folder, d->names[i]);
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		assert_int_equal(write(fd, d->files[i], d->sizes[i]), d->sizes[i]);
		(void)close(fd);
	}
}

static int64_t mark_at(enum op_kind kind, size_t end)
{
	int64_t sequence = 0;

	for (size_t i = 0; i < end; i++)
		if (tape.ops.v[i].kind == kind)
			sequence = tape.ops.v[i].at;
	return sequence;
}

/* --- cuts ---------------------------------------------------------------------------- */

struct check {
	const struct workload *w;
	int64_t next;
	bool wrong;
};

static int check_record(void *arg, struct journal_record *r, struct error *err UNUSED)
{
	struct check *c = arg;

	if (r->sequence != c->next || c->next > ROUNDS ||
	    gzip_crc32(r->entries[0].value) != c->w->sums[r->sequence])
		c->wrong = true;
	c->next = r->sequence + 1;
	journal_record_free(r);
	return 0;
}

/* Whether everything acknowledged is there, and nothing else. */
static bool survives(const struct workload *w, size_t end, const char *dir, struct error *err)
{
	struct check c = { .w = w, .next = mark_at(OP_APPLIED, end) + 1 };
	struct journal_reader in = {
		.dir = dir, .cluster_id = ID, .after = c.next - 1, .each = check_record, .arg = &c
	};
	int64_t last = -1;
	int r = journal_read(&in, &last, err);

	return r == 0 && !c.wrong && last >= mark_at(OP_ACKED, end) && last <= ROUNDS;
}

static bool cut(const struct workload *w, size_t end, bool syncs_work, struct prng *prng,
		struct error *err)
{
	struct lmdb_world *place = lmdb_world_new();
	struct disk *d = XNEW(struct disk);
	char folder[160];
	bool ok;

	make_disk(d, end, syncs_work, prng);
	assert_int_equal(mkdir(place->dir, 0700), 0);
	save_disk(d, lmdb_world_path(place, JOURNAL_DIR, folder, sizeof(folder)));
	ok = survives(w, end, place->dir, err);
	for (int i = 0; i < FILES_MAX; i++)
		free(d->files[i]);
	free(d);
	lmdb_world_free(place);
	return ok;
}

static uint64_t number_from(const char *variable, uint64_t otherwise)
{
	const char *text = getenv(variable);
	uint64_t value;

	return text && str_to_u64(str_from(text), &value) ? value : otherwise;
}

static void no_power_cut_loses_an_acknowledged_record(void **state UNUSED)
{
	uint64_t seed = number_from("CRASH_SEED", random_u64() >> 32);
	struct workload *w = XNEW(struct workload);
	struct error err = { 0 };
	struct prng prng;
	size_t end;

	(void)fprintf(stderr, "# CRASH_SEED=%" PRIu64 "\n", seed);
	prng_init(&prng, seed);
	for (uint64_t left = number_from("CRASHES", CRASHES); left; left--) {
		if (left % 300 == 0 || !w->place) {
			if (w->place)
				forget(w);
			record(w, prng_u64(&prng));
		}
		end = prng_below(&prng, tape.ops.n + 1);
		if (!cut(w, end, true, &prng, &err))
			fail_msg("cut at operation %zu of %zu: %s", end, tape.ops.n, err.msg);
	}
	forget(w);
	free(w);
}

/* The control. */
static void a_disk_that_ignores_syncs_is_noticed(void **state UNUSED)
{
	struct workload *w = XNEW(struct workload);
	struct error err = { 0 };
	size_t noticed = 0;
	struct prng prng;

	prng_init(&prng, 4711);
	record(w, 4711);
	for (int i = 0; i < 40; i++)
		noticed += !cut(w, prng_below(&prng, tape.ops.n + 1), false, &prng, &err);
	assert_true(noticed > 0);
	forget(w);
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_power_cut_loses_an_acknowledged_record),
		cmocka_unit_test(a_disk_that_ignores_syncs_is_noticed),
	};

	return cmocka_run_group_tests_name("store/journal_crash", tests, NULL, NULL);
}
