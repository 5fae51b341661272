/*
 * nodecache - all nodes and the pods on them, including assumed pods; and snapshots of the cache.
 *
 *	none    --assume-->  assumed  --add (watch)-->  added  --remove-->  none
 *	assumed --forget-->  none     none --add-->     added  --update-->  added
 *
 * If a pod was assumed on one node and the watch shows it on another, it is moved. Impossible
 * changes (a pod is assumed twice, an update moves a bound pod) are bugs of the caller or the API
 * server: they are reported, and the cache keeps the latest state.
 *
 * Pods and extended resources may arrive before their node and stay after it. Such a ghost node is
 * not in snapshots, and is dropped when it has neither. So a node that is deleted and created again
 * keeps its extended resources; the plugin must remove them if they are obsolete.
 *
 * The snapshot is updated at the beginning of a cycle, at the cost of the nodes that changed: the
 * list of nodes has the most recently changed first. The snapshot does not change during the cycle.
 * Threads: the scheduler's.
 */
#ifndef SCHEDULER_CACHE_NODECACHE_H
#define SCHEDULER_CACHE_NODECACHE_H

#include "base/core/error.h"
#include "scheduler/cache/nodeinfo.h"

struct json_writer;
struct nodecache;
struct extended_type;

struct nodecache *nodecache_new(void);
void nodecache_free(struct nodecache *c);

/* --- pods: `p->node` is where. -ERR_CONFLICT or -ERR_NOT_FOUND as above. ----------------- */

int nodecache_assume(struct nodecache *c, struct podinfo *p, struct error *err);
int nodecache_forget(struct nodecache *c, struct podinfo *p, struct error *err);
int nodecache_add_pod(struct nodecache *c, struct podinfo *p, struct error *err);
int nodecache_update_pod(struct nodecache *c, struct podinfo *p, struct error *err);
int nodecache_remove_pod(struct nodecache *c, struct podinfo *p, struct error *err);
bool nodecache_is_assumed(const struct nodecache *c, struct str uid);
/* Returns the pod as the cache counts it, or NULL. Borrowed. */
struct podinfo *nodecache_pod(const struct nodecache *c, struct str uid);

/* --- nodes --------------------------------------------------------------------------------- */

void nodecache_put_node(struct nodecache *c, struct nodeobject *n);
/* Returns false if there is no such node. */
bool nodecache_remove_node(struct nodecache *c, struct str name);
/* Returns the live node, ghosts included, or NULL. Borrowed until the next change. */
const struct nodeinfo *nodecache_node(const struct nodecache *c, struct str name);
size_t nodecache_nodes(const struct nodecache *c); /* without ghosts */
size_t nodecache_pods(const struct nodecache *c); /* with assumed ones */
size_t nodecache_assumed(const struct nodecache *c);

/* --- extended resources: NULL takes away. A node that is not known becomes a ghost. --------- */

/* `fresh` as in nodeinfo_set_extended(). */
void nodecache_set_extended(struct nodecache *c, struct str node, const struct extended_type *type,
			    void *value, bool fresh);

/* --- snapshots ----------------------------------------------------------------------------- */

/*
 * The state that a cycle reads. `nodes` is in the order in which nodes are tried: round-robin over
 * zones. The order changes only when nodes are added or removed.
 */
struct snapshot {
	struct nodeinfo **nodes;
	size_t n;
	struct nodeinfo **with_affinity; /* nodes with such pods, in the same order */
	struct nodeinfo **with_required_anti_affinity;
	size_t nwith_affinity, nwith_required_anti_affinity;
	uint64_t generation;
	/* Counts of the last update, for metrics. */
	uint64_t changed, rebuilt;
};

/* Updates and returns the only snapshot. */
struct snapshot *nodecache_snapshot(struct nodecache *c);
struct nodeinfo *snapshot_find(const struct snapshot *s, struct str node); /* NULL: none */
/* Returns the index of the node in `nodes`, or `n` if not found. */
size_t snapshot_place(const struct snapshot *s, struct str node);
/* Returns how many nodes have the image, and its size on one of them. */
uint32_t snapshot_image(const struct snapshot *s, struct str image, int64_t *ret_size);
/* Returns how many pods in the snapshot use the PersistentVolumeClaim "ns/name". */
uint32_t snapshot_pvc_users(const struct snapshot *s, struct str key);

/* --- to look at -------------------------------------------------------------------------- */

/*
 * Writes the cache as JSON for /debug/cache. "nodes" has an object for each node: "pods" (with
 * "assumed"), "requested", "allocatable", "ports", "extendedResources" (as their types describe
 * them), "generation", "ghost".
 */
void nodecache_dump(const struct nodecache *c, const struct amount_names *names,
		    struct json_writer *w);

/*
 * Recomputes every sum from the pods, and appends the differences to ret_faults; empty if all
 * agree.
 */
void nodecache_check(const struct nodecache *c, struct buf *ret_faults);

#endif
