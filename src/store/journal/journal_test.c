/*
 * The journal's files: torn, damaged, recycled and foreign ones, and a full disk.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/core/random.h"
#include "base/system/file.h"
#include "net/loop/gzip.h"
#include "store/journal/journal.h"
#include "store/lmdb/keys.h"
#include "store/lmdb/lmdb_world.h"

#define ID    "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
#define OTHER "7ba7b810-9dad-41d1-80b4-00c04fd430c8"

enum { SEGMENT = 64 * KIB, BIG = 9000, SMALL = 50 };

struct world {
	struct lmdb_world *place;
	struct journal journal;
	int64_t revision;
};

/* The sequences and sums of what was read. */
struct heard {
	size_t n;
	int64_t sequence[256];
	uint32_t sum[256];
};

static void begin(struct world *w)
{
	*w = (struct world){ .place = lmdb_world_new(), .revision = 1 };
	assert_int_equal(mkdir(w->place->dir, 0700), 0);
	assert_int_equal(journal_open(&w->journal, w->place->dir, ID, 0, SEGMENT, NULL), 0);
}

static void end(struct world *w)
{
	journal_close(&w->journal);
	lmdb_world_free(w->place);
}

/* One change, whose value depends on its revision. */
static struct journal_record *make_record(struct world *w, size_t size)
{
	struct journal_record *r = journal_record_new(1, LMDB_KEY_MAX);
	struct lmdb_key key;
	struct journal_entry *e;

	assert_true(lmdb_key_make(&key, 1, STR("ns"), STR("name")));
	e = journal_record_add(r, lmdb_key_str(&key));
	e->resource = STR("core/pods");
	e->revision = ++w->revision;
	e->owner = bytes_new(size);
	memset(e->owner->data, (int)('a' + w->revision % 26), size);
	e->value = bytes_str(e->owner);
	r->time_ms = w->revision * 10;
	return r;
}

static int append(struct world *w, size_t size, struct error *err)
{
	struct journal_record *r = make_record(w, size);
	int rc = journal_append(&w->journal, r, err);

	journal_record_free(r);
	return rc;
}

static void must_append(struct world *w, size_t size)
{
	struct error err = { 0 };

	if (append(w, size, &err) < 0)
		fail_msg("%s", err.msg);
}

static int hear(void *arg, struct journal_record *r, struct error *err UNUSED)
{
	struct heard *h = arg;

	assert_true(h->n < ARRAY_SIZE(h->sum));
	assert_int_equal(r->n, 1);
	assert_true(str_eq(r->entries[0].resource, STR("core/pods")));
	assert_int_equal(r->time_ms, r->entries[0].revision * 10);
	h->sequence[h->n] = r->sequence;
	h->sum[h->n++] = gzip_crc32(r->entries[0].value);
	journal_record_free(r);
	return 0;
}

static int read_journal(struct world *w, const char *id, int64_t after, struct heard *h,
			struct error *err)
{
	struct journal_reader in = {
		.dir = w->place->dir, .cluster_id = id, .after = after, .each = hear, .arg = h
	};
	int64_t last;
	int r;

	*h = (struct heard){ .n = 0 };
	r = journal_read(&in, &last, err);
	if (r == 0)
		assert_int_equal(last, h->n ? h->sequence[h->n - 1] : after);
	return r;
}

/* The records read are the first of those written. */
static void check_beginning(const struct heard *now, const struct heard *all)
{
	assert_true(now->n <= all->n);
	assert_memory_equal(now->sequence, all->sequence, now->n * sizeof(int64_t));
	assert_memory_equal(now->sum, all->sum, now->n * sizeof(uint32_t));
}

static const char *path_of(struct world *w, unsigned number, char *path, size_t size)
{
	(void)snprintf(path, size, "%s/journal/segment-%016x", w->place->dir, number);
	return path;
}

static char *load(const char *path, size_t *ret_n)
{
	struct buf b = BUF_INIT(64 * MIB);

	assert_int_equal(file_read(path, &b, NULL), 0);
	*ret_n = b.n;
	return buf_take(&b);
}

static size_t count_files(struct world *w)
{
	char path[128];
	size_t n = 0;
	DIR *folder;

	(void)snprintf(path, sizeof(path), "%s/journal", w->place->dir);
	folder = opendir(path);
	assert_non_null(folder);
	for (struct dirent *e; (e = readdir(folder));)
		n += e->d_name[0] != '.';
	(void)closedir(folder);
	return n;
}

/* --- cases --------------------------------------------------------------------------------- */

static void records_come_back_in_order(void **state UNUSED)
{
	struct heard h;
	struct world w;

	begin(&w);
	assert_int_equal(read_journal(&w, ID, 0, &h, NULL), 0);
	assert_int_equal(h.n, 0);
	for (size_t i = 0; i < 40; i++)
		must_append(&w, i % 3 ? SMALL : BIG);
	assert_int_equal(read_journal(&w, ID, 0, &h, NULL), 0);
	assert_int_equal(h.n, 40);
	assert_int_equal(read_journal(&w, ID, 33, &h, NULL), 0);
	assert_int_equal(h.n, 7);
	assert_int_equal(h.sequence[0], 34);
	end(&w);
}

/* A record that is larger than a segment gets a larger one. */
static void a_record_may_be_larger_than_a_segment(void **state UNUSED)
{
	struct heard h;
	struct world w;

	begin(&w);
	must_append(&w, SMALL);
	must_append(&w, (size_t)3 * SEGMENT);
	must_append(&w, SMALL);
	assert_int_equal(read_journal(&w, ID, 0, &h, NULL), 0);
	assert_int_equal(h.n, 3);
	end(&w);
}

/* From each byte of the last record on, the disk has something else. */
static void torn(struct world *w, int filler)
{
	struct heard all, now;
	char path[160], *whole;
	size_t n, first = JOURNAL_RECORD_BLOCK * 2, last = first + 3 * JOURNAL_RECORD_BLOCK;
	char piece[3 * JOURNAL_RECORD_BLOCK];

	whole = load(path_of(w, 1, path, sizeof(path)), &n);
	assert_int_equal(read_journal(w, ID, 0, &all, NULL), 0);
	assert_int_equal(all.n, 2);
	memset(piece, filler, sizeof(piece));
	for (size_t at = first; at < last; at++) {
		size_t rest = last - at;
		bool same = memcmp(whole + at, piece, rest) == 0;
		bool padding = at >= first + JOURNAL_RECORD_HEAD + 32 + 11 + 9 + BIG;
		int fd = open(path, O_WRONLY | O_CLOEXEC);

		assert_int_equal(pwrite(fd, piece, rest, (off_t)at), rest);
		assert_int_equal(read_journal(w, ID, 0, &now, NULL), 0);
		assert_int_equal(now.n, same || padding ? 2 : 1);
		check_beginning(&now, &all);
		assert_int_equal(pwrite(fd, whole + at, rest, (off_t)at), rest);
		(void)close(fd);
	}
	free(whole);
}

static void a_torn_last_record_is_cut_off_at_every_byte(void **state UNUSED)
{
	struct world w;

	begin(&w);
	must_append(&w, SMALL);
	must_append(&w, BIG);
	torn(&w, 0);
	torn(&w, 0xff);
	end(&w);
}

static void a_file_that_is_cut_short_is_read_so_far(void **state UNUSED)
{
	struct heard all, now;
	struct world w;
	char path[160];

	begin(&w);
	must_append(&w, SMALL);
	must_append(&w, BIG);
	assert_int_equal(read_journal(&w, ID, 0, &all, NULL), 0);
	(void)path_of(&w, 1, path, sizeof(path));
	for (off_t n = 5 * JOURNAL_RECORD_BLOCK; n >= JOURNAL_RECORD_BLOCK; n -= 100) {
		assert_int_equal(truncate(path, n), 0);
		assert_int_equal(read_journal(&w, ID, 0, &now, NULL), 0);
		check_beginning(&now, &all);
	}
	end(&w);
}

/* Whether a flip of bit 4 at each place is refused, cut off, or harmless. */
static void flipped_bits_are_never_taken_for_data(void **state UNUSED)
{
	struct heard all, now;
	struct error err = { 0 };
	char path[160], *whole, byte;
	struct world w;
	size_t n;
	int r;

	begin(&w);
	must_append(&w, SMALL);
	must_append(&w, SMALL);
	must_append(&w, BIG);
	assert_int_equal(read_journal(&w, ID, 0, &all, NULL), 0);
	whole = load(path_of(&w, 1, path, sizeof(path)), &n);
	for (size_t at = 0; at < 6 * JOURNAL_RECORD_BLOCK; at++) {
		int fd = open(path, O_WRONLY | O_CLOEXEC);

		byte = (char)(whole[at] ^ 16);
		assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
		r = read_journal(&w, ID, 0, &now, &err);
		check_beginning(&now, &all);
		if (at < JOURNAL_RECORD_BLOCK)
			assert_int_equal(r, -ERR_INVALID);
		else if (at < (size_t)3 * JOURNAL_RECORD_BLOCK && now.n < 2)
			assert_int_equal(r, -ERR_INVALID);
		else
			assert_int_equal(r, 0);
		assert_int_equal(pwrite(fd, whole + at, 1, (off_t)at), 1);
		(void)close(fd);
	}
	assert_non_null(strstr(err.msg, "lose acknowledged writes"));
	free(whole);
	end(&w);
}

static void segments_are_recycled(void **state UNUSED)
{
	struct heard h;
	struct world w;

	begin(&w);
	for (int64_t i = 1; i <= 400; i++) {
		must_append(&w, SMALL + (size_t)(i % 5) * 3000);
		if (i % 20)
			continue;
		journal_release(&w.journal, i - 10);
		assert_true(count_files(&w) <= 8);
		assert_int_equal(read_journal(&w, ID, i - 10, &h, NULL), 0);
		assert_int_equal(h.n, 10);
		assert_int_equal(h.sequence[9], i);
		assert_true(atomic_load(&w.journal.bytes) <= (size_t)8 * SEGMENT);
	}
	end(&w);
}

/* The old records of a recycled file are whole, but of another salt. */
static void old_records_of_a_recycled_file_do_not_count(void **state UNUSED)
{
	char path[160], *whole;
	struct journal_segment s;
	char id[UUID_TEXT_SIZE];
	size_t n, size, stale = 0;
	int64_t sequence;
	struct heard h;
	struct world w;

	begin(&w);
	for (int i = 0; i < 32; i++)
		must_append(&w, SMALL);
	journal_release(&w.journal, 32);
	assert_int_equal(w.journal.spares, 2);
	for (int i = 0; i < 18; i++)
		must_append(&w, SMALL);
	whole = load(path_of(&w, (unsigned)w.journal.number, path, sizeof(path)), &n);
	assert_true(journal_segment_parse(str_of(whole, n), &s, id));
	assert_int_equal(n, SEGMENT);
	for (size_t at = JOURNAL_RECORD_BLOCK; at < n; at += JOURNAL_RECORD_BLOCK)
		if (!journal_record_is_at(str_of(whole + at, n - at), s.salt, &sequence, &size))
			stale += memcmp(whole + at, "dpJ1", 4) == 0;
	assert_true(stale > 0);
	assert_int_equal(read_journal(&w, ID, 32, &h, NULL), 0);
	assert_int_equal(h.n, 18);
	free(whole);
	end(&w);
}

static void a_journal_of_another_store_is_refused(void **state UNUSED)
{
	struct error err = { 0 };
	struct heard h;
	struct world w;

	begin(&w);
	must_append(&w, SMALL);
	assert_int_equal(read_journal(&w, OTHER, 0, &h, &err), -ERR_INVALID);
	assert_non_null(strstr(err.msg, ID));
	assert_int_equal(h.n, 0);
	end(&w);
}

static void a_missing_segment_is_noticed_unless_it_was_applied(void **state UNUSED)
{
	struct error err = { 0 };
	struct heard h;
	struct world w;
	char path[160];

	begin(&w);
	for (int i = 0; i < 40; i++)
		must_append(&w, SMALL); /* 15 in each segment */
	assert_int_equal(unlink(path_of(&w, 1, path, sizeof(path))), 0);
	assert_int_equal(read_journal(&w, ID, 0, &h, &err), -ERR_INVALID);
	assert_non_null(strstr(err.msg, "a record is missing after record 0"));
	assert_int_equal(read_journal(&w, ID, 14, &h, &err), -ERR_INVALID);
	assert_int_equal(read_journal(&w, ID, 15, &h, &err), 0);
	assert_int_equal(h.n, 25);
	assert_int_equal(unlink(path_of(&w, 2, path, sizeof(path))), 0);
	assert_int_equal(read_journal(&w, ID, 15, &h, &err), -ERR_INVALID);
	assert_int_equal(read_journal(&w, ID, 40, &h, &err), 0);
	end(&w);
}

/* The last record of a segment that is not the last one is bad: the next one does not follow. */
static void a_bad_end_of_an_older_segment_is_noticed(void **state UNUSED)
{
	struct error err = { 0 };
	struct heard h;
	struct world w;
	char path[160];
	int fd;

	begin(&w);
	for (int i = 0; i < 16; i++)
		must_append(&w, SMALL);
	fd = open(path_of(&w, 1, path, sizeof(path)), O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "x", 1, 15 * JOURNAL_RECORD_BLOCK + 60), 1);
	(void)close(fd);
	assert_int_equal(read_journal(&w, ID, 0, &h, &err), -ERR_INVALID);
	assert_int_equal(h.n, 14);
	end(&w);
}

static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = MIN(bytes, limit.rlim_max);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* The disk is full in the middle of a record: it leaves nothing, and the journal goes on. */
static void a_full_disk_fails_a_record_that_never_comes_back(void **state UNUSED)
{
	struct error err;
	struct heard h;
	struct world w;

	begin(&w);
	must_append(&w, SMALL);
	for (rlim_t room = 0; room < (rlim_t)3 * JOURNAL_RECORD_BLOCK; room += 500) {
		err = (struct error){ 0 };
		limit_files(MAX(w.journal.at + room, (rlim_t)JOURNAL_RECORD_BLOCK));
		assert_int_equal(append(&w, BIG, &err), -ERR_UNAVAILABLE);
		limit_files(RLIM_INFINITY);
		assert_int_equal(read_journal(&w, ID, 0, &h, NULL), 0);
		assert_int_equal(h.n, 1);
	}
	must_append(&w, SMALL);
	assert_int_equal(read_journal(&w, ID, 0, &h, NULL), 0);
	assert_int_equal(h.n, 2);
	end(&w);
}

static void without_room_for_a_segment_nothing_is_written(void **state UNUSED)
{
	struct error err = { 0 };
	struct heard h;
	struct world w;

	begin(&w);
	limit_files(SEGMENT / 2);
	assert_int_equal(append(&w, SMALL, &err), -ERR_UNAVAILABLE);
	assert_non_null(strstr(err.msg, "free some space"));
	limit_files(RLIM_INFINITY);
	assert_int_equal(count_files(&w), 0);
	assert_int_equal(atomic_load(&w.journal.bytes), 0);
	must_append(&w, SMALL);
	assert_int_equal(read_journal(&w, ID, 0, &h, NULL), 0);
	assert_int_equal(h.n, 1);
	end(&w);
}

static void opening_again_removes_what_was_there(void **state UNUSED)
{
	struct heard h;
	struct world w;

	begin(&w);
	for (int i = 0; i < 20; i++)
		must_append(&w, SMALL);
	journal_close(&w.journal);
	assert_int_equal(journal_open(&w.journal, w.place->dir, ID, 20, SEGMENT, NULL), 0);
	assert_int_equal(count_files(&w), 0);
	must_append(&w, SMALL);
	assert_int_equal(read_journal(&w, ID, 20, &h, NULL), 0);
	assert_int_equal(h.n, 1);
	assert_int_equal(h.sequence[0], 21);
	journal_close(&w.journal);
	assert_int_equal(journal_remove(w.place->dir, NULL), 0);
	assert_false(journal_exists(w.place->dir));
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_come_back_in_order),
		cmocka_unit_test(a_record_may_be_larger_than_a_segment),
		cmocka_unit_test(a_torn_last_record_is_cut_off_at_every_byte),
		cmocka_unit_test(a_file_that_is_cut_short_is_read_so_far),
		cmocka_unit_test(flipped_bits_are_never_taken_for_data),
		cmocka_unit_test(segments_are_recycled),
		cmocka_unit_test(old_records_of_a_recycled_file_do_not_count),
		cmocka_unit_test(a_journal_of_another_store_is_refused),
		cmocka_unit_test(a_missing_segment_is_noticed_unless_it_was_applied),
		cmocka_unit_test(a_bad_end_of_an_older_segment_is_noticed),
		cmocka_unit_test(a_full_disk_fails_a_record_that_never_comes_back),
		cmocka_unit_test(without_room_for_a_segment_nothing_is_written),
		cmocka_unit_test(opening_again_removes_what_was_there),
	};

	return cmocka_run_group_tests_name("store/lmdb_journal", tests, NULL, NULL);
}
