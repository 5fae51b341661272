/*
 * garbage_graph - who owns whom, by uid.
 *
 * A node per object that was observed or that an object names as its owner. A
 * node knows its identity, its owners, its dependents and a few flags; nothing of
 * the object's content is kept: about 150 bytes, its name and namespace, and 64
 * bytes per owner. Three kinds of nodes:
 *
 *	observed  seen by an informer
 *	virtual   only named as an owner; whether it exists must be looked up
 *	gone      known not to exist, and kept as long as a dependent names it:
 *	          uids never come back, so nobody needs to ask for it again
 *
 * Pure: events go in, and uids that want work come out through the callbacks.
 * Every event costs the number of the object's owners, and of the dependents only
 * where these have to be looked at one by one anyway.
 * Threads: one at a time.
 */
#ifndef CONTROLLER_GARBAGE_GRAPH_H
#define CONTROLLER_GARBAGE_GRAPH_H

#include "base/core/list.h"
#include "base/core/map.h"

struct garbage_graph;
struct garbage_node;

/* The type that objects and references name; shared by all that name it. */
struct garbage_kind {
	struct str api_version, kind;
	size_t refs;
	char text[];
};

/* A reference from a dependent to its owner. */
struct garbage_edge {
	struct garbage_node *owner, *dependent;
	struct list link; /* owner->dependents */
	struct garbage_kind *kind; /* as the reference has it */
	char *name; /* as the reference has it; NULL: the owner's */
	bool blocking; /* blockOwnerDeletion */
};

struct garbage_node {
	struct garbage_kind *kind;
	struct list dependents; /* struct garbage_edge, in the order of their coming */
	struct garbage_edge *owners;
	uint32_t nowners;
	bool virt, gone;
	bool deleting; /* has a deletionTimestamp */
	bool orphaning, deleting_dependents; /* and the finalizer for it */
	uint32_t mark; /* of the search that came by last */
	bool check; /* wants to be looked at for another reason than being virtual */
	struct str uid, ns, name; /* ns: of a virtual node, the first dependent's */
	char *text; /* owned: of the three */
};

/* --- what goes in ------------------------------------------------------------------- */

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

/* --- what comes out ----------------------------------------------------------------- */

struct garbage_graph_ops {
	/* Look whether it is to be deleted. `later`: after a while. */
	void (*attempt_delete)(void *arg, struct str uid, bool later);
	/* Take it out of its dependents' owners, then let it go. */
	void (*attempt_orphan)(void *arg, struct str uid);
	/* The edge's dependent is in another namespace than its observed owner. */
	void (*invalid_namespace)(void *arg, const struct garbage_edge *e);
};

struct garbage_graph *garbage_graph_new(const struct garbage_graph_ops *ops, void *arg);
void garbage_graph_free(struct garbage_graph *g); /* NULL allowed */

/* An informer told of the object: it was added or has changed. */
void garbage_graph_observe(struct garbage_graph *g, const struct garbage_object *o);

/* An informer told that it is gone. */
void garbage_graph_deleted(struct garbage_graph *g, struct str uid);

/* Who somebody is, in full. */
struct garbage_identity {
	struct str api_version, kind, ns, name, uid;
};

/* A live read said that nobody of this identity exists. */
void garbage_graph_absent(struct garbage_graph *g, const struct garbage_identity *who);

/* Borrowed until the next event. Not what is gone. */
struct garbage_node *garbage_graph_find(const struct garbage_graph *g, struct str uid);

/* A reference from namespace `ns` names something known not to exist: nobody needs to ask. */
bool garbage_graph_is_absent(const struct garbage_graph *g, const struct garbage_owner *o,
			     struct str ns);

/* The virtual node's kind turned out to have no namespaces. */
void garbage_graph_clusterwide(struct garbage_graph *g, struct garbage_node *n);

/* Asks for the node to be looked at again, or later. */
void garbage_graph_check(struct garbage_graph *g, struct garbage_node *n, bool later);

/* Nodes of all three kinds. */
size_t garbage_graph_count(const struct garbage_graph *g);

/* The name that the reference has. */
static inline struct str garbage_edge_name(const struct garbage_edge *e)
{
	return e->name ? str_from(e->name) : e->owner->name;
}

/* Some dependent blocks the deletion of its owner. */
bool garbage_node_is_blocked(const struct garbage_node *n);

/*
 * All that block it wait for their own dependents and, by way of those, for it: none would
 * ever go. Looks at a bounded number of nodes; in larger knots it finds nothing.
 */
bool garbage_graph_is_knot(struct garbage_graph *g, struct garbage_node *n);

#endif
