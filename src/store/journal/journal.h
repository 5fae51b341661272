/*
 * journal - files of records in front of data.mdb (journal/record.h).
 *
 * The folder `journal` has numbered segments. Appending writes one record at the end of the newest
 * segment and syncs it, so only the last record can be torn by a power cut. A segment whose records
 * are all in data.mdb becomes a spare, and later a new segment: its blocks are allocated and
 * written already, so that a sync has no metadata to write. A segment gets its name when its header
 * is durable, and its first record when its name is.
 *
 * A segment's header has the cluster id, its number, the sequence of its first record and a random
 * salt, which is in each of its records.
 *
 * Threads: the committer's.
 */
#ifndef STORE_JOURNAL_JOURNAL_H
#define STORE_JOURNAL_JOURNAL_H

#include <stdatomic.h>

#include "base/core/vec.h"
#include "base/system/uuid.h"
#include "store/journal/record.h"

enum { JOURNAL_SPARES = 2, JOURNAL_PATH_MAX = 4096 };

#define JOURNAL_DIR "journal"

struct journal_segment {
	uint64_t number;
	int64_t first; /* sequence of its first record */
	int64_t last; /* of its last one so far; first - 1: none */
	size_t bytes;
	uint64_t salt;
};

struct journal {
	char dir[JOURNAL_PATH_MAX];
	char cluster_id[UUID_TEXT_SIZE];
	int dir_fd; /* -1: not open */
	int fd; /* of the newest segment; -1 before the first one */
	size_t segment_bytes;
	size_t at; /* where the next record begins */
	int64_t sequence; /* of the last record */
	VEC(struct journal_segment) segments; /* oldest first */
	size_t spare_bytes[JOURNAL_SPARES];
	size_t spares;
	uint64_t number; /* of the newest segment */
	struct buf scratch;
	atomic_size_t bytes; /* of all files; any thread */
	int64_t sync_ns; /* duration of the last sync */
};

/*
 * Opens an empty journal in the store's folder `dir`; whatever was there is removed. Its first
 * record follows `sequence`.
 */
int journal_open(struct journal *j, const char *dir, const char *cluster_id, int64_t sequence,
		 size_t segment_bytes, struct error *err);
void journal_close(struct journal *j);

/*
 * Appends the record, which gets the next sequence, and syncs it. -ERR_UNAVAILABLE: there is no
 * space, and nothing was written. -ERR_IO: never append again; the record may come back when the
 * journal is read.
 */
int journal_append(struct journal *j, struct journal_record *r, struct error *err);

/* Reuses or removes the segments that have no record after `sequence`. */
void journal_release(struct journal *j, int64_t sequence);

/* Whether the store's folder has a journal. */
bool journal_exists(const char *dir);

/* Removes the journal, whether or not its records are in data.mdb. */
int journal_remove(const char *dir, struct error *err);

struct journal_reader {
	const char *dir; /* the store's */
	const char *cluster_id;
	int64_t after; /* the sequence of the last record that is not wanted */
	/*
	 * A server appends meanwhile: what is not whole may be about to be written, and is no
	 * damage. All records that were there before are read, or are in data.mdb.
	 */
	bool live;
	/* Gets each record and owns it; its bytes live until forget(). Return 0 to go on. */
	int (*each)(void *arg, struct journal_record *r, struct error *err);
	int (*forget)(void *arg, struct error *err); /* or NULL */
	void *arg;
};

/*
 * Reads the records after `after` in order. -ERR_INVALID, before or after some of them were read:
 * the journal belongs to another store, or a record is missing or damaged that is not the last one.
 * *ret_last: the last record's sequence, or `after`.
 */
int journal_read(const struct journal_reader *in, int64_t *ret_last, struct error *err);

/* --- for tests and tools -------------------------------------------------------------- */

/* Parses the header of a segment; false if it is not one. ret_cluster_id has UUID_TEXT_SIZE. */
bool journal_segment_parse(struct str bytes, struct journal_segment *ret_segment,
			   char *ret_cluster_id);

/*
 * Finds the records of a segment's bytes from `*at` on, first JOURNAL_RECORD_BLOCK. Returns 1 and
 * the record's bytes; 0 at the end; -ERR_INVALID if a record is damaged that is not the last one.
 */
int journal_segment_next(struct str bytes, struct journal_segment *s, size_t *at,
			 struct str *ret_record);

#endif
