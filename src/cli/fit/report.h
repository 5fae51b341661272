/*
 * fit_report - on which nodes claims fit, and why not on the others. Nodes with the same reasons
 * are reported together.
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
	/* Why the pod cannot use the node, whatever its devices; or empty. */
	struct str away;
	bool gone; /* it does not exist: it is explained, but not counted */
};

/* Nodes with the same result. */
struct fit_group {
	bool fits; /* the claims fit, and nothing else keeps the pod away */
	bool devices; /* the claims fit */
	struct str away;
	struct str text; /* whole lines, one paragraph for each request; empty if the claims fit */
	struct json *requests; /* the same as data; NULL if the claims fit */
	struct str between; /* why requests that fit alone do not fit together; or empty */
	struct str *nodes;
	size_t n, cap;
};

struct fit_report {
	struct fit_group *groups; /* those that fit first, then larger ones first */
	size_t n;
	size_t nodes, fitting; /* counts, without nodes that do not exist */
	struct str *names; /* of those that fit */
};

struct fit_query {
	struct inventory *inventory;
	const struct json *const *claims; /* those without an allocation */
	size_t nclaims;
	const struct fit_node *nodes;
	size_t nnodes;
	/* Name the devices in every group, and group nodes only if their devices are the same. */
	bool detailed;
	const struct explain_sight *sight; /* which claims may be named; NULL: all */
};

void fit_report_make(const struct fit_query *q, struct arena *a, struct fit_report *ret_report);

/* "n1, n2, n3 and 7 more"; `max` 0: all. */
void fit_report_names(struct buf *out, const struct str *names, size_t n, size_t max);

/* A paragraph for each group that does not fit. */
void fit_report_print(const struct fit_report *r, size_t names_max, struct buf *out);

/* The groups as an array: nodes, fits, nodeReason, requests, between, explanation. */
struct json *fit_report_tree(const struct fit_report *r, struct arena *a);

#endif
