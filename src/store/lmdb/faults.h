/*
 * lmdb_faults - for tests: a failing disk, and a record of the writes to it.
 *
 * Link a test program with lmdb/faults.c (as one of its own sources, exported to shared libraries).
 * Its pwrite, writev, fdatasync and fsync calls, including LMDB's, then pass through here. Only the
 * watched file is affected, and a second one that is only recorded.
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
	/* Each descriptor's next sync fails once with EIO, as Linux reports it. */
	LMDB_FAULT_SYNC,
};

/* Selects the file to watch, by its current name; NULL: none. Clears fault and record. */
void lmdb_faults_watch(const char *path);

/* Also records the operations on this file. */
void lmdb_faults_watch_second(const char *path);

/*
 * The fault occurs after `skip` more calls of its kind, and on every later call until it is
 * changed.
 */
void lmdb_faults_set(enum lmdb_fault fault, size_t skip);

/* How often a fault occurred. */
size_t lmdb_faults_struck(void);

enum lmdb_op_kind { LMDB_OP_WRITE, LMDB_OP_SYNC, LMDB_OP_MARK };

/* An operation on the file, or a mark that the test set in between. */
struct lmdb_op {
	enum lmdb_op_kind kind;
	int file; /* 0, or 1: the second one */
	int64_t at; /* a write's offset; a mark's value */
	size_t n;
	char *data;
};

/* While recording, syncs are only recorded, not executed. */
void lmdb_faults_record(bool on);
void lmdb_faults_mark(int64_t value);
const struct lmdb_op *lmdb_faults_ops(size_t *ret_n);

#endif
