/*
 * nodecache - all nodes and the pods on them, assumed ones included; and snapshots of it.
 *
 *	none    --assume-->  assumed  --add (watch)-->  added  --remove-->  none
 *	assumed --forget-->  none     none --add-->     added  --update-->  added
 *
 * A pod that was assumed on one node and is seen on another is moved. What cannot be (a pod
 * that is assumed twice, an update that moves a bound pod) is an error of the caller or of the
 * API server: it is reported, and the cache holds what was told last.
 *
 * Pods and extended resources may come before their node and stay after it; such a ghost is in
 * no snapshot. A node that is gone is dropped when it has neither. So a node that is deleted and
 * created again has its extended resources, and a plugin takes away those that it no longer means.
 *
 * A snapshot is brought up to date at the beginning of a cycle and costs what changed since:
 * nodes are in a list, those changed last in front. Nothing in it changes while the cycle runs.
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
/* As it is counted; NULL when it is not. Borrowed. */
struct podinfo *nodecache_pod(const struct nodecache *c, struct str uid);

/* --- nodes --------------------------------------------------------------------------------- */

void nodecache_put_node(struct nodecache *c, struct nodeobject *n);
/* False when there was none. */
bool nodecache_remove_node(struct nodecache *c, struct str name);
/* Live, ghosts included; NULL when there is none. Borrowed until the next change. */
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
 * What a cycle reads. `nodes` is in the order in which nodes are tried: round-robin over
 * zones; it changes only when nodes come or go.
 */
struct snapshot {
	struct nodeinfo **nodes;
	size_t n;
	struct nodeinfo **with_affinity; /* those that have such pods; order as above */
	struct nodeinfo **with_required_anti_affinity;
	size_t nwith_affinity, nwith_required_anti_affinity;
	uint64_t generation;
	/* Of the last update, for measuring. */
	uint64_t changed, rebuilt;
};

struct snapshot *nodecache_snapshot(struct nodecache *c); /* the one, brought up to date */
struct nodeinfo *snapshot_find(const struct snapshot *s, struct str node); /* NULL: none */
/* Where the node is in `nodes`; `n`: nowhere. */
size_t snapshot_place(const struct snapshot *s, struct str node);
/* How many nodes have the image, and its size on one of them. */
uint32_t snapshot_image(const struct snapshot *s, struct str image, int64_t *ret_size);
/* How many of the pods in the snapshot use the volume claim ("ns/name"). */
uint32_t snapshot_pvc_users(const struct snapshot *s, struct str key);

/* --- to look at -------------------------------------------------------------------------- */

/*
 * Writes all of it as JSON for /debug/cache: an object with "nodes": by name "pods" (with
 * "assumed"), "requested", "allocatable", "ports", "extendedResources" (each as its type
 * describes it), "generation", "ghost".
 */
void nodecache_dump(const struct nodecache *c, const struct amount_names *names,
		    struct json_writer *w);

/* Recomputes every sum from the pods and compares; "" when all agree, else what does not. */
void nodecache_check(const struct nodecache *c, struct buf *ret_faults);

#endif
