/*
 * node_view - caches the answer to one question about the pods of every node, across cycles.
 *
 * Pods of one owner are scheduled one after the other and ask the same of all nodes ("how many pods
 * does this selector select there?"), and only a few nodes change in between. Each state of a node
 * has a unique generation, so an answer for a generation stays true. A view is a table from
 * generation to answer, and a cycle only visits the pods of nodes that changed. There are few
 * views; the least recently used one is replaced by a new question.
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
	uint32_t domain; /* numbered per view, from 0; or NODE_VIEW_NOWHERE */
	uint32_t pods;
};

/*
 * Answers the question for a node: returns the number of pods, and the node's domain (p NULL:
 * none). The answer must depend only on the question and the node's state. Text is copied.
 */
typedef uint32_t node_view_fn(const void *question, const struct nodeinfo *n,
			      struct str *ret_domain);

struct node_views *node_views_new(void);
void node_views_free(struct node_views *v); /* NULL allowed */

/*
 * Call it at the beginning of a cycle. Views that are returned afterwards stay valid until the next
 * call.
 */
void node_views_begin(struct node_views *v);

/*
 * Returns a buffer for the text of the next node_views_get()'s question. Questions with equal texts
 * are the same. If the text is too long, the question counts as new.
 */
struct buf *node_views_question(struct node_views *v);
/* Adds a part to the text, so that different parts never yield the same text. */
void node_views_add(struct buf *question, struct str part);
struct selector;
void node_views_add_selector(struct buf *question, const struct selector *s);

/* Returns the view of the question, for at most `nodes` nodes. */
struct node_view *node_views_get(struct node_views *v, size_t nodes);

/*
 * Returns the cached answer for the node, or calls `look`. A domain keeps its number until the next
 * node_views_begin().
 */
struct node_seen node_view_node(struct node_view *v, const struct nodeinfo *n, node_view_fn *look,
				const void *question);

/* Numbers of domains are below this. */
uint32_t node_view_domains(const struct node_view *v);

#endif
