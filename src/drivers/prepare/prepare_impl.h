/*
 * prepare_impl - between prepare.c, prepare/answer.c and prepare_file.c.
 */
#ifndef DRIVERS_PREPARE_PREPARE_IMPL_H
#define DRIVERS_PREPARE_PREPARE_IMPL_H

#include "base/core/map.h"
#include "dra.pb-c.h"
#include "drivers/prepare/claim.h"
#include "drivers/prepare/prepare.h"

struct grpc_call;
struct metrics_counter;

/* One claim in one call. */
struct batch;
struct prepare_op {
	struct list link; /* in its claim's */
	struct list wait; /* for the lock */
	struct batch *batch;
	struct dp_claim *claim; /* NULL: was refused at once */
	bool unprepare;
	Dra__PreparedEntry prepared;
	Dra__NodePrepareResourceResponse prepared_value;
	Dra__UnpreparedEntry unprepared;
	Dra__NodeUnprepareResourceResponse unprepared_value;
};

/* One call. */
struct batch {
	struct prepare *owner;
	struct grpc_call *call; /* reference */
	struct arena arena; /* of the answer */
	size_t n, left;
	bool unprepare;
	struct prepare_op ops[];
};

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

/* The answer for the op's claim: its devices, or what failed. */
void prepare_answer(struct prepare_op *op, const struct error *err);
/* All claims of the call are answered: it is sent, and the batch freed. */
void prepare_reply(struct batch *b);
void prepare_batch_free(struct batch *b);

/*
 * Reads the checkpoint into p->claims: adds what is new there, drops what has gone from it. No op
 * may be beyond the lock.
 */
int prepare_load(struct prepare *p, struct error *err);
int prepare_save(struct prepare *p, struct error *err);

#endif
