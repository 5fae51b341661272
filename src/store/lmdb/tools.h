/*
 * store_lmdb_tools - what can be done to the store in a folder besides using it.
 *
 * Checking and backing up read a snapshot: a server may have the store open and
 * go on writing. Restoring and compacting want the folder for themselves and
 * fail with -ERR_CONFLICT while a server runs. All of them block.
 */
#ifndef STORE_LMDB_TOOLS_H
#define STORE_LMDB_TOOLS_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/system/uuid.h"

/* What is in a store, and what is wrong with it. */
struct store_lmdb_report {
	char cluster_id[UUID_TEXT_SIZE];
	int64_t revision, compacted;
	size_t resources, objects, superseded, changes;
	size_t object_bytes, superseded_bytes;
	size_t file_bytes, free_bytes;
	size_t faults; /* 0: nothing is wrong */
	struct buf text; /* a line for each of the first faults */
};

void store_lmdb_report_release(struct store_lmdb_report *r);

/*
 * Goes over all tables and compares them: every change has its bytes and what
 * it replaced, everything that is kept has its change, revisions and times do
 * not go back. Failing is not finding faults but not being able to look.
 */
int store_lmdb_check(const char *dir, struct store_lmdb_report *ret_report, struct error *err);

/* Writes a copy of one moment to a file, durably; -ERR_ALREADY_EXISTS unless `force`. */
int store_lmdb_backup(const char *dir, const char *file, bool force, struct error *err);

/* Makes the store of a folder that has none from a copy, which is checked first. */
int store_lmdb_restore(const char *dir, const char *file, struct error *err);

/* Gives free space back to the file system; forgets the past, too, unless it is to be kept. */
int store_lmdb_compact_file(const char *dir, bool keep_history, size_t *ret_before,
			    size_t *ret_after, struct error *err);

#endif
