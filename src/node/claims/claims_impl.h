/*
 * claims_impl - an operation and its parts; shared by the files of src/node/claims.
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

/* One claim of an operation. Everything lives in the operation's arena. */
struct claims_item {
	struct claims_op *op;
	struct client_request request; /* GET */
	struct str pod_claim; /* name in the pod's spec */
	struct assign_claim claim; /* uid, ns, name, drivers */
	struct json *tree;
	struct error err; /* error of the GET */
	bool owned; /* made from a template: must belong to the pod */
	bool repeated; /* another item has the same claim */
	bool asks; /* its drivers must be called */
	bool failed; /* a driver reported an error */
};

/* A call to one driver. */
struct claims_call {
	struct claims_op *op;
	struct str driver;
	struct claims_item **items;
	struct plugin_claim *v;
	size_t n;
};

struct claims_op_type {
	const char *metric, *method, *wrap;
	/* Determines the items; ends in claims_op_ready() or claims_op_end(). */
	void (*start)(struct claims_op *op);
	/* The operation now has exclusive use of all its claims. */
	void (*go)(struct claims_op *op);
	/* A driver's successful reply for one claim. */
	void (*answered)(struct claims_item *item, struct str driver,
			 const struct plugin_claim_result *result);
	/* All drivers have replied; op->err is the first failure. */
	void (*all_answered)(struct claims_op *op);
};

struct claims_op {
	struct list link;
	struct claims *claims;
	const struct claims_op_type *type;
	struct pod *pod; /* for prepare */
	struct str pod_uid; /* empty: the operation unprepares claims without pods */
	claims_done *done;
	void *arg;
	struct arena arena;
	struct claims_item *items;
	size_t n;
	struct claims_call *calls;
	size_t ncalls;
	size_t pending; /* GETs or driver calls in flight */
	struct error err; /* the first failure, or ERR_OK */
	int64_t began_ms;
	bool started, waiting, holds;
};

struct claims {
	struct claims_opts opts;
	const struct claims_drivers *drivers;
	struct list ops; /* in the order of requests */
	struct map busy; /* claim uid -> the operation that has exclusive use of it */
	struct loop_task look;
	struct loop_timer reconcile;
	bool asked; /* a check was requested while operations ran: if one fails, check again */
	struct metrics_family *durations, *in_use;
	struct map counts; /* driver -> struct claims_count */
};

extern const struct claims_op_type claims_prepare_type, claims_unprepare_type;

/* The items are known: waits until no other operation uses one of them, then calls type->go. */
void claims_op_ready(struct claims_op *op);

/* Calls the drivers of all items with `asks`. */
void claims_op_call(struct claims_op *op);

/* Records the first failure. */
void claims_op_fail(struct claims_op *op, const struct error *err);

/* Ends the operation: calls `done` and frees it. */
void claims_op_end(struct claims_op *op);
/* The same, after the log is saved. */
void claims_op_save(struct claims_op *op);

/* GETs the items' claims, then checks them and calls `then`; a failure ends the operation. */
void claims_fetch(struct claims_op *op);

/* claims/metrics.c; all do nothing without metrics. */
void claims_metrics_init(struct claims *c);
void claims_metrics_release(struct claims *c);
void claims_metrics_over(struct claims *c, const struct claims_op *op);
void claims_metrics_count(struct claims *c);

#endif
