/*
 * list - an intrusive, circular, doubly linked list.
 *
 * A node lives in the struct that is listed; LIST_ENTRY finds the struct. An
 * initialised node that is in no list points to itself, so removing twice is
 * harmless.
 */
#ifndef BASE_CORE_LIST_H
#define BASE_CORE_LIST_H

#include <stdbool.h>

#include "base/core/compiler.h"

struct list {
	struct list *next, *prev;
};

#define LIST_ENTRY(node, type, member) CONTAINER_OF(node, type, member)
/* The list must not change. */
#define LIST_FOREACH(it, head) for (struct list *it = (head)->next; it != (head); it = it->next)
/* The current node may be removed and freed. */
#define LIST_FOREACH_SAFE(it, head)                                               \
	for (struct list *it = (head)->next, *it##_next = it->next; it != (head); \
	     it = it##_next, it##_next = it->next)

static inline void list_init(struct list *l)
{
	l->next = l->prev = l;
}

static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}

static inline void list_insert_after(struct list *at, struct list *node)
{
	node->prev = at;
	node->next = at->next;
	at->next->prev = node;
	at->next = node;
}

static inline void list_push_front(struct list *head, struct list *node)
{
	list_insert_after(head, node);
}

static inline void list_push_back(struct list *head, struct list *node)
{
	list_insert_after(head->prev, node);
}

static inline void list_remove(struct list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}

/* Removes and returns the first node, or NULL. */
static inline struct list *list_pop_front(struct list *head)
{
	struct list *node = head->next;

	if (node == head)
		return NULL;
	list_remove(node);
	return node;
}

/* Moves all nodes of `from` to the end of `to`. */
static inline void list_splice_back(struct list *to, struct list *from)
{
	if (list_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	list_init(from);
}

#endif
