/*
 * store_lmdb_tools - maintenance of a store in a folder: check, back up, restore, compact.
 *
 * Checking and backing up read a snapshot: a server may have the store open and keep writing.
 * Restoring and compacting need the folder for themselves and fail with -ERR_CONFLICT while a
 * server runs. All of them block.
 */
#ifndef STORE_LMDB_TOOLS_H
#define STORE_LMDB_TOOLS_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/system/uuid.h"

/* The content of a store, and the faults found in it. */
struct store_lmdb_report {
	char cluster_id[UUID_TEXT_SIZE];
	int64_t revision, compacted;
	size_t resources, objects, superseded, changes;
	size_t object_bytes, superseded_bytes;
	size_t file_bytes, free_bytes;
	size_t faults; /* 0: the store is sound */
	struct buf text; /* one line for each of the first faults */
};

void store_lmdb_report_release(struct store_lmdb_report *r);

/*
 * Scans and compares all tables: every change has its bytes and the version that it replaced, every
 * kept version has its change, and revisions and times do not go backwards. Finding faults is not
 * an error; being unable to read the store is.
 */
int store_lmdb_check(const char *dir, struct store_lmdb_report *ret_report, struct error *err);

/*
 * Writes a consistent copy to a file, durably. -ERR_ALREADY_EXISTS if the file exists, unless
 * `force`.
 */
int store_lmdb_backup(const char *dir, const char *file, bool force, struct error *err);

/* Creates a store from a copy, which is checked first, in a folder that has none. */
int store_lmdb_restore(const char *dir, const char *file, struct error *err);

/* Returns free space to the file system. Also deletes history, unless `keep_history`. */
int store_lmdb_compact_file(const char *dir, bool keep_history, size_t *ret_before,
			    size_t *ret_after, struct error *err);

#endif
