/*
 * journal_record - the changes of one batch: in memory, and as bytes of the journal.
 *
 * A record begins at a block of 4 KiB and is padded to one, so that writing a record never touches
 * a block, or a sector, of an acknowledged one. Its header has a checksum of everything else, its
 * number in the sequence of records, and the random salt of its segment. So old bytes of a
 * recycled file are not taken for a record, and neither is a value that was made to look like one.
 *
 * Threads: a record belongs to one thread at a time. Encoding and parsing are pure functions.
 */
#ifndef STORE_JOURNAL_RECORD_H
#define STORE_JOURNAL_RECORD_H

#include "base/core/buf.h"
#include "base/core/bytes.h"
#include "base/core/list.h"

enum { JOURNAL_RECORD_BLOCK = 4096, JOURNAL_RECORD_HEAD = 48, JOURNAL_KEY_MAX = 1024 };

/* One change of a record. */
struct journal_entry {
	struct str key; /* 1 to JOURNAL_KEY_MAX bytes, which say nothing to the journal */
	struct str resource; /* the name that belongs to the key's id */
	int64_t revision;
	int64_t prev; /* the revision that it replaces; 0: it creates the key */
	bool deleted;
	struct str value;
	struct bytes *owner; /* of value; NULL: borrowed */
	struct journal_entry *older; /* the stage's, while its batch runs */
};

struct journal_record {
	struct list link;
	int64_t sequence; /* from 1, without gaps */
	int64_t time_ms; /* when its changes happened */
	struct journal_entry *entries; /* in the order of revisions */
	size_t n, max;
	size_t bytes; /* of the keys and values */
	int64_t growth; /* by how many bytes it makes the objects larger */
	char *text; /* the keys, if they are its own */
	size_t text_n;
};

/* Room for `max` entries, whose keys have `text` bytes together. */
struct journal_record *journal_record_new(size_t max, size_t text);
void journal_record_free(struct journal_record *r); /* NULL allowed */

/* The revision of its last change. It has one. */
int64_t journal_record_revision(const struct journal_record *r);

/* Appends an entry with a copy of the key; everything else is for the caller to set. */
struct journal_entry *journal_record_add(struct journal_record *r, struct str key);

/* Makes the record's bytes, padded to blocks. */
int journal_record_encode(const struct journal_record *r, uint64_t salt, struct buf *out);

/*
 * Whether `bytes` begins with a whole record of this salt. ret_size: of its blocks. Says nothing of
 * the entries.
 */
bool journal_record_is_at(struct str bytes, uint64_t salt, int64_t *ret_sequence, size_t *ret_size);

/*
 * Parses the record at the start of `bytes`, for which journal_record_is_at() is true. Its entries
 * borrow from `bytes`. Returns NULL if they are malformed.
 */
struct journal_record *journal_record_parse(struct str bytes);

#endif
