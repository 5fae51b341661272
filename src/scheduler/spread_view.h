/*
 * spread_view - of every node, how many pods a selector selects there and in which domain it lies;
 * remembered from cycle to cycle.
 *
 * Pods of one owner come one after the other and ask the same question, while between two of them
 * a node or two change. A node's state has a generation that no other state has, so what was
 * found for a generation stays true: a view is a table from generation to answer, and a
 * cycle looks only at the pods of nodes that changed. Views are few; the one that was not used for
 * the longest time makes room for a new question.
 * Threads: the scheduler's.
 */
#ifndef SCHEDULER_SPREAD_VIEW_H
#define SCHEDULER_SPREAD_VIEW_H

#include "scheduler/nodeinfo.h"
#include "scheduler/podinfo.h"

struct spread_view;
struct spread_views;

enum { SPREAD_NOWHERE = UINT32_MAX }; /* the node lacks the key */

/* What is known of one node. */
struct spread_seen {
	uint32_t domain; /* a number of the view's own, from 0; or SPREAD_NOWHERE */
	uint32_t pods;
};

struct spread_views *spread_views_new(void);
void spread_views_free(struct spread_views *v); /* NULL allowed */

/* A cycle's questions begin: views that are given out from here on stay until the next begin. */
void spread_views_begin(struct spread_views *v);

/* The view of what the constraint selects in the namespace; at most so many nodes are asked for. */
struct spread_view *spread_views_get(struct spread_views *v, const struct spread_constraint *k,
				     struct str ns, size_t nodes);

/* A domain keeps its number until the next begin. */
struct spread_seen spread_view_node(struct spread_view *v, const struct nodeinfo *n);

/* Numbers of domains are below this. */
uint32_t spread_view_domains(const struct spread_view *v);

#endif
