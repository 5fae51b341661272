/*
 * garbage_graph - the owners and dependents of objects, by uid.
 *
 * There is one node per object that was observed or that an object names as its owner. A node has
 * its identity, its owners, its dependents and a few flags. None of the object's content is kept:
 * a node costs about 150 bytes, its name and namespace, and 64 bytes per owner. There are three
 * kinds of nodes:
 *
 * - observed: seen by an informer.
 * - virtual: only named as an owner. A live read must show whether it exists.
 * - gone: known not to exist. It is kept while a dependent names it, because uids are never
 *   reused, so no second read is needed.
 *
 * Pure: events go in, and the callbacks get the uids that need work. An event costs the number of
 * the object's owners. It costs the number of dependents only if each of them needs work anyway.
 * Threads: one at a time.
 */
#ifndef CONTROLLER_GARBAGE_GRAPH_H
#define CONTROLLER_GARBAGE_GRAPH_H

#include "base/core/list.h"
#include "base/core/map.h"

struct garbage_graph;
struct garbage_node;

/* A type named by objects and references; shared by all of them. */
struct garbage_kind {
	struct str api_version, kind;
	size_t refs;
	char text[];
};

/* A reference from a dependent to its owner. */
struct garbage_edge {
	struct garbage_node *owner, *dependent;
	struct list link; /* owner->dependents */
	struct garbage_kind *kind; /* as written in the reference */
	char *name; /* as written in the reference; NULL: the owner's */
	bool blocking; /* blockOwnerDeletion */
};

struct garbage_node {
	struct garbage_kind *kind;
	struct list dependents; /* struct garbage_edge, in the order of arrival */
	struct garbage_edge *owners;
	uint32_t nowners;
	bool virt, gone;
	bool deleting; /* has a deletionTimestamp */
	bool orphaning, deleting_dependents; /* and it has the finalizer */
	uint32_t mark; /* of the last search that visited it */
	bool check; /* needs work for another reason than being virtual */
	struct str uid, ns, name; /* ns: for a virtual node, that of the first dependent */
	char *text; /* owned: the memory of the three */
};

/* --- input -------------------------------------------------------------------------- */

struct garbage_owner {
	struct str api_version, kind, name, uid;
	bool blocking;
};

/* Borrowed for the call. */
struct garbage_object {
	struct str api_version, kind, ns, name, uid;
	const struct garbage_owner *owners;
	size_t nowners;
	bool deleting; /* has a deletionTimestamp */
	bool orphan, foreground; /* has the finalizer */
};

/* --- output ------------------------------------------------------------------------- */

struct garbage_graph_ops {
	/* Check whether the object must be deleted. `later`: after a delay. */
	void (*attempt_delete)(void *arg, struct str uid, bool later);
	/* Remove it from its dependents' references, then remove its finalizer. */
	void (*attempt_orphan)(void *arg, struct str uid);
	/* The dependent's namespace differs from that of its observed owner. */
	void (*invalid_namespace)(void *arg, const struct garbage_edge *e);
};

struct garbage_graph *garbage_graph_new(const struct garbage_graph_ops *ops, void *arg);
void garbage_graph_free(struct garbage_graph *g); /* NULL allowed */

/* An informer reported the object as added or changed. */
void garbage_graph_observe(struct garbage_graph *g, const struct garbage_object *o);

/* An informer reported the object as deleted. */
void garbage_graph_deleted(struct garbage_graph *g, struct str uid);

/* The full identity of an object. */
struct garbage_identity {
	struct str api_version, kind, ns, name, uid;
};

/* A live read showed that no object of this identity exists. */
void garbage_graph_absent(struct garbage_graph *g, const struct garbage_identity *who);

/* Borrowed until the next event. NULL for unknown nodes and those that are gone. */
struct garbage_node *garbage_graph_find(const struct garbage_graph *g, struct str uid);

/*
 * Whether the owner named by a reference in namespace `ns` is known not to exist, so that no read
 * is needed.
 */
bool garbage_graph_is_absent(const struct garbage_graph *g, const struct garbage_owner *o,
			     struct str ns);

/* The kind of the virtual node turned out to be cluster-scoped. */
void garbage_graph_clusterwide(struct garbage_graph *g, struct garbage_node *n);

/* Requests that the node is checked again, now or later. */
void garbage_graph_check(struct garbage_graph *g, struct garbage_node *n, bool later);

/* The number of nodes of all three kinds. */
size_t garbage_graph_count(const struct garbage_graph *g);

/* The owner's name as the reference has it. */
static inline struct str garbage_edge_name(const struct garbage_edge *e)
{
	return e->name ? str_from(e->name) : e->owner->name;
}

/* Whether some dependent blocks the deletion of this owner. */
bool garbage_node_is_blocked(const struct garbage_node *n);

/*
 * Whether the deletion is deadlocked: all blocking dependents wait for their own dependents and,
 * through those, for this node. The search visits a bounded number of nodes; it returns false for
 * larger cycles.
 */
bool garbage_graph_is_knot(struct garbage_graph *g, struct garbage_node *n);

#endif
