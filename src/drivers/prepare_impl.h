/*
 * prepare_impl - between prepare.c and prepare_file.c.
 */
#ifndef DRIVERS_PREPARE_IMPL_H
#define DRIVERS_PREPARE_IMPL_H

#include "base/map.h"
#include "drivers/claim.h"
#include "drivers/prepare.h"

struct metrics_counter;

struct prepare {
	struct prepare_opts opts;
	struct resource claims_resource;
	struct map claims; /* uid to struct dp_claim */
	char *file; /* the checkpoint */
	char *boot; /* id of this boot: what was prepared before a reboot is not any more */
	int lock_fd; /* -1: no other instances */
	unsigned locked; /* ops that hold it */
	unsigned working; /* ops begun and not ended */
	unsigned asked; /* claims whose answer the vendor owes */
	struct list waiting; /* ops that wait for the lock */
	struct loop_timer retry; /* of the lock */
	struct metrics_counter *counts[2][2]; /* [unprepare][failed]; NULL: none */
};

/*
 * Reads the checkpoint into p->claims: adds what is new there, drops what has gone from it. No op
 * may be beyond the lock.
 */
int prepare_load(struct prepare *p, struct error *err);
int prepare_save(struct prepare *p, struct error *err);

#endif
