/*
 * fit_report - on which nodes claims fit, and why not on the others, told once for all nodes
 * that have the same reasons.
 *
 * No I/O: an inventory and nodes in, groups and text out. Everything lives in the arena.
 */
#ifndef CLI_FIT_REPORT_H
#define CLI_FIT_REPORT_H

#include "base/core/buf.h"
#include "base/json/json.h"
#include "dra/inventory/inventory.h"

struct explain_sight;

struct fit_node {
	struct str name;
	const struct json *labels;
	/* What keeps the pod away from the node whatever its devices; or empty. */
	struct str away;
	bool gone; /* it does not exist: it is explained, but not counted */
};

/* Nodes of which the same is to be said. */
struct fit_group {
	bool fits; /* the claims do, and nothing else keeps the pod away */
	bool devices; /* the claims do */
	struct str away;
	struct str text; /* whole lines, one paragraph for each request; empty when devices fit */
	struct str *nodes;
	size_t n, cap;
};

struct fit_report {
	struct fit_group *groups; /* those that fit, then the others, larger ones first */
	size_t n;
	size_t nodes, fitting; /* how many; without those that are gone */
	struct str *names; /* of those that fit */
};

struct fit_query {
	struct inventory *inventory;
	const struct json *const *claims; /* that have no allocation yet */
	size_t nclaims;
	const struct fit_node *nodes;
	size_t nnodes;
	/* Devices are named in every group, and nodes are put together only when those agree. */
	bool detailed;
	const struct explain_sight *sight; /* which claims may be named; NULL: all */
};

void fit_report_make(const struct fit_query *q, struct arena *a, struct fit_report *ret_report);

/* "n1, n2, n3 and 7 more"; `max` 0: all. */
void fit_report_names(struct buf *out, const struct str *names, size_t n, size_t max);

/* A paragraph for each group that does not fit. */
void fit_report_print(const struct fit_report *r, size_t names_max, struct buf *out);

/* The groups as an array: nodes, fits, nodeReason, explanation. */
struct json *fit_report_tree(const struct fit_report *r, struct arena *a);

#endif
