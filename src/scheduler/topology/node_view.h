/*
 * node_view - the answer to one question about the pods of every node, remembered between cycles.
 *
 * Pods of one owner come one after the other and ask the same of all nodes ("how many pods does
 * this selector select there?"), while between two of them a node or two change. A node's state
 * has a generation that no other state has, so what was found for a generation stays true: a view
 * is a table from generation to answer, and a cycle looks only at the pods of nodes that changed.
 * Views are few; the one that was not used for the longest time makes room for a new question.
 * Threads: the scheduler's.
 */
#ifndef SCHEDULER_TOPOLOGY_NODE_VIEW_H
#define SCHEDULER_TOPOLOGY_NODE_VIEW_H

#include "base/core/buf.h"
#include "scheduler/cache/nodeinfo.h"

struct node_view;
struct node_views;

enum { NODE_VIEW_NOWHERE = UINT32_MAX };

struct node_seen {
	uint32_t domain; /* a number of the view's own, from 0; or NODE_VIEW_NOWHERE */
	uint32_t pods;
};

/*
 * Looks at a node: how many pods, and the domain in which it lies (p NULL: none). Of nothing but
 * the question and the node's state. Text is copied.
 */
typedef uint32_t node_view_fn(const void *question, const struct nodeinfo *n,
			      struct str *ret_domain);

struct node_views *node_views_new(void);
void node_views_free(struct node_views *v); /* NULL allowed */

/* A cycle's questions begin: views that are given out from here on stay until the next begin. */
void node_views_begin(struct node_views *v);

/*
 * A question as text, to be filled: two that read the same are the same. Text that is too long
 * makes it one that was never asked before. Of the next node_views_get().
 */
struct buf *node_views_question(struct node_views *v);
/* Adds a part that no other part can be taken for. */
void node_views_add(struct buf *question, struct str part);
struct selector;
void node_views_add_selector(struct buf *question, const struct selector *s);

/* The view of the question; at most so many nodes are asked for. */
struct node_view *node_views_get(struct node_views *v, size_t nodes);

/* What is known of the node, by `look` when nothing is. A domain keeps its number until the next
 * begin. */
struct node_seen node_view_node(struct node_view *v, const struct nodeinfo *n, node_view_fn *look,
				const void *question);

/* Numbers of domains are below this. */
uint32_t node_view_domains(const struct node_view *v);

#endif
