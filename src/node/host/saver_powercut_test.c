/*
 * Power cuts. A saver writes a file again and again while every call that reaches its folder is
 * recorded. Then the power is cut at any place of that record. The disk has everything that was
 * synced, and some of the rest: changes of the folder up to some point; of a file, nothing, a part,
 * or some sectors. The state is loaded from each such disk. It must be complete and not older than
 * the last one acknowledged before the cut, and there may be no other files beside it. If syncs do
 * nothing, the same must fail, or the test is meaningless; but even then a broken file is set
 * aside.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/core/random.h"
#include "base/core/vec.h"
#include "base/system/folder_fixture.h"
#include "net/loop/loop.h"
#include "net/sim/sim.h"
#include "node/host/saver.h"

enum { SAVES = 40, CUTS = 400, SECTOR = 512, BODY_MAX = 9000, FILES_MAX = 64 };

enum op_kind { OP_CREATE, OP_WRITE, OP_SYNC, OP_RENAME, OP_SYNC_FOLDER, OP_ACKNOWLEDGED };

struct op {
	enum op_kind kind;
	int file; /* for all but the last two */
	char name[64]; /* CREATE, RENAME: in the folder */
	char *data; /* WRITE */
	size_t n; /* ACKNOWLEDGED: which save */
};

/* Recorded by the functions below; cmocka runs one test at a time, in one thread. */
static struct {
	char folder[64];
	bool on;
	VEC(struct op) ops;
	int fd, file, files; /* the one that is being written */
} record;

static void add_op(struct op op)
{
	assert_true(vec_push(&record.ops, op));
}

static const char *name_in_folder(const char *path)
{
	size_t n = strlen(record.folder);

	return record.on && strncmp(path, record.folder, n) == 0 ? path + n + 1 : NULL;
}

/* --- interposed calls of file_write_atomic() ----------------------------------------- */

int mkostemp(char *template, int flags)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
	char *suffix = template + strlen(template) - 6;
	struct op op = { .kind = OP_CREATE, .file = record.files };
	int fd;

	for (int i = 0, at = record.files; i < 6; i++, at /= 26)
		suffix[i] = letters[at % 26];
	fd = (int)syscall(SYS_openat, AT_FDCWD, template, O_RDWR | O_CREAT | O_EXCL | flags, 0600);
	if (fd >= 0 && name_in_folder(template)) {
		(void)snprintf(op.name, sizeof(op.name), "%s", name_in_folder(template));
		add_op(op);
		record.fd = fd;
		record.file = record.files++;
	}
	return fd;
}

ssize_t write(int fd, const void *p, size_t n)
{
	ssize_t r = (ssize_t)syscall(SYS_write, fd, p, n);
	struct op op = { .kind = OP_WRITE, .file = record.file };

	if (record.on && fd == record.fd && r > 0) {
		op.n = (size_t)r;
		op.data = xmalloc(op.n);
		memcpy(op.data, p, op.n);
		add_op(op);
	}
	return r;
}

int fsync(int fd)
{
	struct stat st;

	if (!record.on)
		return (int)syscall(SYS_fsync, fd);
	assert_int_equal(fstat(fd, &st), 0);
	if (S_ISDIR(st.st_mode))
		add_op((struct op){ .kind = OP_SYNC_FOLDER });
	else
		add_op((struct op){ .kind = OP_SYNC, .file = record.file });
	return 0;
}

int rename(const char *from, const char *to)
{
	struct op op = { .kind = OP_RENAME, .file = record.file };

	if (name_in_folder(to)) {
		(void)snprintf(op.name, sizeof(op.name), "%s", name_in_folder(to));
		add_op(op);
	}
	return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* --- the workload -------------------------------------------------------------------- */

struct workload {
	char *bodies[SAVES];
	size_t sizes[SAVES];
	size_t saved;
};

static void on_saved(void *arg, const struct error *err)
{
	assert_null(err);
	add_op((struct op){ .kind = OP_ACKNOWLEDGED, .n = ((struct workload *)arg)->saved });
}

static void play(struct workload *w, struct prng *prng)
{
	struct sim *sim = sim_new(&(struct sim_opts){ .seed = 1 });
	struct loop *loop = sim_loop_new(sim, "node");
	struct saver *saver;
	char path[80];

	(void)snprintf(path, sizeof(path), "%s/state", record.folder);
	assert_int_equal(
		saver_new_with(loop, &(struct saver_opts){ .inline_write = true }, &saver, NULL),
		0);
	record.on = true;
	for (w->saved = 0; w->saved < SAVES; w->saved++) {
		size_t i = w->saved;

		w->sizes[i] = prng_below(prng, BODY_MAX) + 1;
		w->bodies[i] = xmalloc(w->sizes[i]);
		prng_bytes(prng, w->bodies[i], w->sizes[i]);
		saver_save(saver, path, "test", 1, str_of(w->bodies[i], w->sizes[i]), on_saved, w);
		sim_run_for(sim, 10);
	}
	record.on = false;
	saver_free(saver);
	loop_free(loop);
	sim_free(sim);
}

static void begin(struct workload *w, uint64_t seed)
{
	struct prng prng;

	*w = (struct workload){ 0 };
	memset(&record, 0, sizeof(record));
	vec_init(&record.ops, 100000);
	(void)snprintf(record.folder, sizeof(record.folder), "/tmp/powercut-XXXXXX");
	assert_non_null(mkdtemp(record.folder));
	prng_init(&prng, seed);
	play(w, &prng);
	folder_fixture_remove(record.folder);
}

static void end(struct workload *w)
{
	for (size_t i = 0; i < record.ops.n; i++)
		free(record.ops.v[i].data);
	vec_release(&record.ops);
	for (size_t i = 0; i < SAVES; i++)
		free(w->bodies[i]);
}

/* --- the disk ------------------------------------------------------------------------ */

struct disk {
	struct buf content[FILES_MAX]; /* by file */
	char names[FILES_MAX][64]; /* of each in the folder; empty: not there */
};

/* The last sync of the folder or file before `until`. */
static size_t last_sync(size_t until, enum op_kind kind, int file)
{
	for (size_t i = until; i-- > 0;) {
		if (record.ops.v[i].kind == kind && record.ops.v[i].file == file)
			return i;
	}
	return 0;
}

static void set_name(struct disk *d, const struct op *op)
{
	for (int i = 0; i < FILES_MAX; i++) {
		if (strcmp(d->names[i], op->name) == 0)
			d->names[i][0] = '\0';
	}
	(void)snprintf(d->names[op->file], sizeof(d->names[0]), "%s", op->name);
}

/* Data that was not synced may be there whole, in part, with holes, or not at all. */
static void add_data(struct buf *to, const struct op *op, unsigned mode, struct prng *prng)
{
	size_t n = mode == 0 ? op->n : prng_below(prng, op->n + 1), at = to->n;

	if (mode == 3)
		return;
	(void)buf_add(to, op->data, mode == 2 ? op->n : n);
	for (size_t s = 0; mode == 2 && s < op->n; s += SECTOR) {
		if (prng_below(prng, 2))
			memset(to->p + at + s, 0, MIN((size_t)SECTOR, op->n - s));
	}
}

static void cut(struct disk *d, size_t until, bool syncs_work, struct prng *prng)
{
	size_t folder = syncs_work ? last_sync(until, OP_SYNC_FOLDER, 0) : 0;
	size_t known = folder + prng_below(prng, until - folder + 1);

	for (size_t i = 0; i < until; i++) {
		const struct op *op = &record.ops.v[i];
		bool synced = op->kind == OP_WRITE && syncs_work &&
			      last_sync(until, OP_SYNC, op->file) > i;

		if (op->kind == OP_WRITE)
			add_data(&d->content[op->file], op,
				 synced ? 0 : (unsigned)prng_below(prng, 4), prng);
		else if ((op->kind == OP_CREATE || op->kind == OP_RENAME) && i < known)
			set_name(d, op);
	}
}

static void write_out(const struct disk *d, const char *folder)
{
	char path[160];

	for (int i = 0; i < FILES_MAX; i++) {
		int fd;

		if (!d->names[i][0])
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", folder, d->names[i]);
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		assert_true(fd >= 0);
		assert_int_equal(write(fd, d->content[i].p, d->content[i].n), d->content[i].n);
		(void)close(fd);
	}
}

static unsigned files_in(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *e;
	unsigned n = 0;

	assert_non_null(dir);
	while ((e = readdir(dir)))
		n += e->d_name[0] != '.';
	(void)closedir(dir);
	return n;
}

/* --- after the cut ------------------------------------------------------------------- */

/* Returns which save this is, or -1. */
static int which(const struct workload *w, struct str body)
{
	for (int i = 0; i < SAVES; i++) {
		if (str_eq(body, str_of(w->bodies[i], w->sizes[i])))
			return i;
	}
	return -1;
}

static int acknowledged(size_t until)
{
	for (size_t i = until; i-- > 0;) {
		if (record.ops.v[i].kind == OP_ACKNOWLEDGED)
			return (int)record.ops.v[i].n;
	}
	return -1;
}

/* Returns true if everything is as required. */
static bool survives(const struct workload *w, size_t until, bool syncs_work, struct prng *prng)
{
	CLEANUP(buf_release) struct buf body = BUF_INIT(MIB);
	struct disk *d = XNEW(struct disk);
	char folder[] = "/tmp/powercut-XXXXXX", path[64];
	struct error err = { 0 };
	bool fine;
	int r;

	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/state", folder);
	for (int i = 0; i < FILES_MAX; i++)
		buf_init(&d->content[i], MIB);
	cut(d, until, syncs_work, prng);
	write_out(d, folder);
	r = saver_load(path, "test", 1, &body, &err);
	if (r == -ERR_CONFLICT) {
		/* Never fatal: it is set aside, and the next start begins with nothing. */
		assert_int_equal(saver_load(path, "test", 1, &body, &err), 0);
		assert_int_equal(files_in(folder), 1);
		fine = false;
	} else {
		assert_true(r >= 0);
		assert_int_equal(files_in(folder), r);
		if (r == 1)
			assert_true(which(w, buf_str(&body)) >= 0);
		fine = (r == 1 ? which(w, buf_str(&body)) : -1) >= acknowledged(until);
	}
	for (int i = 0; i < FILES_MAX; i++)
		buf_release(&d->content[i]);
	free(d);
	folder_fixture_remove(folder);
	return fine;
}

static void a_power_cut_leaves_the_last_acknowledged_state_or_a_later_one(void **state UNUSED)
{
	struct workload w;
	struct prng prng;

	begin(&w, 7);
	prng_init(&prng, 8);
	assert_true(record.files == SAVES);
	for (size_t i = 0; i < CUTS; i++) {
		size_t until = prng_below(&prng, record.ops.n + 1);

		if (!survives(&w, until, true, &prng))
			fail_msg("cut after %zu of %zu calls", until, record.ops.n);
	}
	end(&w);
}

static void without_syncs_a_power_cut_is_noticed_and_never_fatal(void **state UNUSED)
{
	struct workload w;
	struct prng prng;
	size_t lost = 0;

	begin(&w, 9);
	prng_init(&prng, 10);
	for (size_t i = 0; i < CUTS; i++)
		lost += !survives(&w, prng_below(&prng, record.ops.n + 1), false, &prng);
	assert_true(lost > CUTS / 4);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_power_cut_leaves_the_last_acknowledged_state_or_a_later_one),
		cmocka_unit_test(without_syncs_a_power_cut_is_noticed_and_never_fatal),
	};

	return cmocka_run_group_tests_name("node/saver_powercut", tests, NULL, NULL);
}
