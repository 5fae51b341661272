/*
 * Any bytes as a segment of the store's journal: as they are, and as the entries of a record with a
 * correct header. An accepted record is, byte for byte, what the encoder writes for it.
 */
#include <string.h>

#include "base/core/limits.h"
#include "net/loop/gzip.h"
#include "store/journal/journal.h"
#include "store/lmdb/keys.h"
#include "target.h"

enum { SALT = 7 };

static void must_encode_to(const struct journal_record *r, uint64_t salt, struct str bytes)
{
	CLEANUP(buf_release) struct buf again = BUF_INIT(64 * MIB);

	require(journal_record_encode(r, salt, &again) == 0);
	require(bytes.n <= again.n);
	require(memcmp(again.p, bytes.p, bytes.n) == 0);
}

/* Puts the bytes behind a header that fits. */
static void parse_entries(struct str entries, uint64_t n)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(64 * MIB);
	char head[JOURNAL_RECORD_HEAD] = "dpJ1";
	struct journal_record *r;
	int64_t sequence;
	uint32_t sum;
	size_t size;

	lmdb_number_put(head + 8, SALT);
	lmdb_number_put(head + 16, 1);
	lmdb_number_put(head + 32, (int64_t)entries.n);
	lmdb_number_put(head + 40, (int64_t)n);
	require(buf_add(&b, head, sizeof(head)) == 0 && buf_add_str(&b, entries) == 0);
	sum = gzip_crc32(str_skip(buf_str(&b), 8));
	for (int i = 0; i < 4; i++)
		b.p[4 + i] = (char)(sum >> (24 - 8 * i));
	require(journal_record_is_at(buf_str(&b), SALT, &sequence, &size));
	require(sequence == 1 && size % JOURNAL_RECORD_BLOCK == 0 && size >= b.n);
	require(!journal_record_is_at(buf_str(&b), SALT + 1, &sequence, &size));
	r = journal_record_parse(buf_str(&b));
	if (r)
		must_encode_to(r, SALT, buf_str(&b));
	journal_record_free(r);
}

static void scan(struct str bytes)
{
	size_t at = JOURNAL_RECORD_BLOCK, before;
	char cluster_id[UUID_TEXT_SIZE];
	struct journal_segment s;
	struct str record;

	if (!journal_segment_parse(bytes, &s, cluster_id))
		return;
	for (before = at; journal_segment_next(bytes, &s, &at, &record) == 1; before = at) {
		require(at > before && record.n <= bytes.n);
		journal_record_free(journal_record_parse(record));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str bytes = str_of(data, size);

	scan(bytes);
	if (size > 0)
		parse_entries(str_skip(bytes, 1), data[0]);
	return 0;
}
