/* prepare_impl - shared by prepare.c, answer.c and file.c. */
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
	struct list link; /* in the claim's list */
	struct list wait; /* in the list of ops waiting for the lock */
	struct batch *batch;
	struct dp_claim *claim; /* NULL: was rejected immediately */
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
	struct arena arena; /* for the reply */
	size_t n, left;
	bool unprepare;
	struct prepare_op ops[];
};

struct prepare {
	struct prepare_opts opts;
	struct resource claims_resource;
	struct map claims; /* uid to struct dp_claim */
	char *file; /* the checkpoint */
	char *boot; /* ID of this boot: a reboot undoes preparation */
	int lock_fd; /* -1: no other instances */
	unsigned locked; /* number of ops that hold it */
	unsigned working; /* number of ops started and not ended */
	unsigned asked; /* number of claims that the vendor has not completed */
	struct list waiting; /* ops that wait for the lock */
	struct loop_timer retry; /* to take the lock */
	struct metrics_counter *counts[2][2]; /* [unprepare][failed]; may be NULL */
};

/* Fills in the reply for the op's claim: its devices, or the error. NULL: no error. */
void prepare_answer(struct prepare_op *op, const struct error *err);
/* Sends the reply, once all claims of the call are done, and frees the batch. */
void prepare_reply(struct batch *b);
void prepare_batch_free(struct batch *b);

/*
 * Loads the checkpoint into p->claims: adds new claims, and drops missing ones. A missing claim
 * stays while ops wait for it, as not prepared. No op may hold the lock.
 */
int prepare_load(struct prepare *p, struct error *err);
int prepare_save(struct prepare *p, struct error *err);

#endif
