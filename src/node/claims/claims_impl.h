/*
 * claims_impl - what the files of claims share: an operation and its parts.
 */
#ifndef NODE_CLAIMS_CLAIMS_IMPL_H
#define NODE_CLAIMS_CLAIMS_IMPL_H

#include "base/core/list.h"
#include "base/core/map.h"
#include "client/api/client.h"
#include "net/loop/loop.h"
#include "node/claims/claims.h"

struct claims_op;
struct metrics_family;

/* A claim of an operation. All in the operation's arena. */
struct claims_item {
	struct claims_op *op;
	struct client_request request; /* GET */
	struct str pod_claim; /* in the pod's spec */
	struct assign_claim claim; /* uid, ns, name, drivers */
	struct json *tree;
	struct error err; /* of the GET */
	bool owned; /* made from a template: must be the pod's */
	bool repeated; /* another item is the same claim */
	bool asks; /* drivers are asked */
	bool failed; /* by a driver */
};

/* A call of one driver. */
struct claims_call {
	struct claims_op *op;
	struct str driver;
	struct claims_item **items;
	struct plugin_claim *v;
	size_t n;
};

struct claims_op_type {
	const char *metric, *method, *wrap;
	/* Works out the items; ends in claims_op_ready() or claims_op_end(). */
	void (*start)(struct claims_op *op);
	/* Has all its claims for itself. */
	void (*go)(struct claims_op *op);
	/* What a driver said to one claim, without error. */
	void (*answered)(struct claims_item *item, struct str driver,
			 const struct plugin_claim_result *result);
	/* All drivers have answered; op->err is the first failure. */
	void (*all_answered)(struct claims_op *op);
};

struct claims_op {
	struct list link;
	struct claims *claims;
	const struct claims_op_type *type;
	struct pod *pod; /* of prepare */
	struct str pod_uid; /* empty: what belongs to nobody */
	claims_done *done;
	void *arg;
	struct arena arena;
	struct claims_item *items;
	size_t n;
	struct claims_call *calls;
	size_t ncalls;
	size_t pending; /* GETs or calls */
	struct error err; /* the first failure; ERR_OK: none */
	int64_t began_ms;
	bool started, waiting, holds;
};

struct claims {
	struct claims_opts opts;
	const struct claims_drivers *drivers;
	struct list ops; /* in the order in which they came */
	struct map busy; /* claim uid -> the operation that has it for itself */
	struct loop_task look;
	struct loop_timer reconcile;
	bool asked; /* for a look, while operations were under way: their failure looks again */
	struct metrics_family *durations, *in_use;
	struct map counts; /* driver -> struct claims_count */
};

extern const struct claims_op_type claims_prepare_type, claims_unprepare_type;

/* Items are known: waits until no other operation has one of them, then calls type->go. */
void claims_op_ready(struct claims_op *op);

/* Asks the drivers of all items that ask. */
void claims_op_call(struct claims_op *op);

/* Notes the first failure. */
void claims_op_fail(struct claims_op *op, const struct error *err);

/* Over: tells, and frees it. */
void claims_op_end(struct claims_op *op);
/* The same once all is on the disk. */
void claims_op_save(struct claims_op *op);

/* GETs the items' claims, then checks them and calls `then`; a failure ends the operation. */
void claims_fetch(struct claims_op *op);

/* claims/metrics.c; all do nothing without metrics. */
void claims_metrics_init(struct claims *c);
void claims_metrics_release(struct claims *c);
void claims_metrics_over(struct claims *c, const struct claims_op *op);
void claims_metrics_count(struct claims *c);

#endif
