/*
 * lmdb_faults - a disk that fails, and a memory of what was written to it.
 *
 * A test program that is linked with lmdb/faults.c (as one of its own sources,
 * exported to shared libraries) has its pwrite, writev, fdatasync and fsync
 * calls, LMDB's included, pass through here. Only one file is affected: that
 * which is watched.
 * Threads: change settings only while nothing is being written.
 */
#ifndef STORE_LMDB_FAULTS_H
#define STORE_LMDB_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lmdb_fault {
	LMDB_FAULT_NONE,
	LMDB_FAULT_FULL, /* writes of pages fail with ENOSPC */
	LMDB_FAULT_SHORT, /* writes of pages are cut short */
	LMDB_FAULT_META, /* writes of a meta page fail with EIO */
	/* Each descriptor's next sync fails with EIO, once: as Linux reports it. */
	LMDB_FAULT_SYNC,
};

/* Which file, by its name now; NULL: none. Clears fault and record. */
void lmdb_faults_watch(const char *path);

/* The fault strikes after `skip` more calls of its kind, and goes on until it is changed. */
void lmdb_faults_set(enum lmdb_fault fault, size_t skip);

/* How often a fault struck. */
size_t lmdb_faults_struck(void);

enum lmdb_op_kind { LMDB_OP_WRITE, LMDB_OP_SYNC, LMDB_OP_MARK };

/* Something that was done to the file, or that the test noted in between. */
struct lmdb_op {
	enum lmdb_op_kind kind;
	int64_t at; /* a write's offset; a mark's value */
	size_t n;
	char *data;
};

/* While recording, syncs only seem to happen: what they did is in the record. */
void lmdb_faults_record(bool on);
void lmdb_faults_mark(int64_t value);
const struct lmdb_op *lmdb_faults_ops(size_t *ret_n);

#endif
