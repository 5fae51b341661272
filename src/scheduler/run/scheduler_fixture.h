/*
 * scheduler_fixture - a cluster in memory with one profile, for tests of plugins and of the cycle.
 *
 * Objects are written as JSON with ' for ". Either whole, with metadata, or short:
 *
 *	{'name':'n1','labels':{..},'taints':[..],'cpu':'4','memory':'8Gi','pods':10,
 *	 'allocatable':{more ..},'images':[..]}
 *	{'name':'p1','namespace':'x','labels':{..},'requests':{'cpu':'1'},'nodeName':'n1', ..spec}
 *
 * Members of a short node other than name, labels and annotations go to its spec (taints,
 * unschedulable) or status. Members of a short pod go to its spec, except owners (metadata),
 * status, deleting, and requests and image of its only container. Defaults are added: uid,
 * namespace "default", a container, 110 pods per node.
 *
 * A mistake in a text fails the test.
 */
#ifndef SCHEDULER_RUN_SCHEDULER_FIXTURE_H
#define SCHEDULER_RUN_SCHEDULER_FIXTURE_H

#include "api/schema/gates.h"
#include "client/informer/cache.h"
#include "scheduler/cache/nodecache.h"
#include "scheduler/cycle/cycle.h"
#include "scheduler/framework/profile.h"

struct scheduler_fixture {
	/* Services of the fixture; add more before you create the profile. */
	struct services services;
	struct amount_names names;
	struct gates gates;
	struct cache namespaces, pdbs, kube_services, replication_controllers, replica_sets;
	struct cache stateful_sets, pvcs, pvs, storage_classes, csi_nodes, csi_drivers;
	struct cache csi_capacities, attachments;
	struct profile *profile; /* NULL until it is created */
	struct arena arena; /* of texts and names */
	unsigned made; /* for uids */
};

void scheduler_fixture_init(struct scheduler_fixture *f);
void scheduler_fixture_release(struct scheduler_fixture *f);

/*
 * Creates the profile "default-scheduler", replacing an earlier one. `plugins` lists names
 * ("NodeName NodePorts"; "*": all built-in plugins that upstream enables by default); they have
 * default weights, at all their extension points. PrioritySort and DefaultBinder are added. `args`
 * is pluginConfig as an object by plugin name, or NULL.
 */
void scheduler_fixture_profile(struct scheduler_fixture *f, const char *plugins, const char *args);
/* The same, but returns errors in the arguments. */
int scheduler_fixture_try_profile(struct scheduler_fixture *f, const char *plugins,
				  const char *args, struct error *err);
struct plugin *scheduler_fixture_plugin(struct scheduler_fixture *f, const char *name);

/* --- objects ------------------------------------------------------------------------------ */

struct cached *scheduler_fixture_object(struct scheduler_fixture *f, const char *text);
/* Puts the object into one of the caches above. */
void scheduler_fixture_put(struct scheduler_fixture *f, struct cache *c, const char *text);

/* Return a reference that the caller owns. */
struct nodeobject *scheduler_fixture_make_node(struct scheduler_fixture *f, const char *text);
struct podinfo *scheduler_fixture_make_pod(struct scheduler_fixture *f, const char *text);

/* Add a node, or a pod on its node, to the cluster. */
void scheduler_fixture_node(struct scheduler_fixture *f, const char *text);
void scheduler_fixture_pod(struct scheduler_fixture *f, const char *text);

/* --- asking -------------------------------------------------------------------------------- */

/* Returns a cycle on the current snapshot. Every node is feasible, sorted by name. */
struct cycle *scheduler_fixture_cycle(struct scheduler_fixture *f, const char *pod);

/*
 * Runs pre_filter and filter of one plugin, on nodes sorted by name. Returns, in the fixture's
 * arena, "skip", or "Unschedulable[why]" from pre_filter, or "n1 n2:Unschedulable[why, why]".
 */
const char *scheduler_fixture_filter(struct scheduler_fixture *f, const char *plugin,
				     const char *pod);
/* Runs only the filters, in a cycle in which pre_filter was called. */
const char *scheduler_fixture_filters(struct scheduler_fixture *f, struct plugin *p,
				      struct cycle *c);

/* Scores of all nodes by name, raw and normalised: "skip", or "n1=3/100 n2=0/0". */
const char *scheduler_fixture_score(struct scheduler_fixture *f, const char *plugin,
				    const char *pod);

/* Checks a table of such results; fails with both texts if they differ. */
struct fixture_row {
	const char *pod, *expected;
};
void scheduler_fixture_check_filters(struct scheduler_fixture *f, const char *plugin,
				     const struct fixture_row *rows, size_t n);
void scheduler_fixture_check_scores(struct scheduler_fixture *f, const char *plugin,
				    const struct fixture_row *rows, size_t n);

/* Whether the event wakes the pod after the plugin rejected it. */
bool scheduler_fixture_wakes(struct scheduler_fixture *f, const char *plugin, const char *pod,
			     const struct cluster_event *e);
/*
 * The same for an event about a pod on a node, with old and new state (or NULL) and these actions.
 */
bool scheduler_fixture_pod_wakes(struct scheduler_fixture *f, const char *plugin, const char *pod,
				 unsigned actions, const char *old, const char *now);
bool scheduler_fixture_node_wakes(struct scheduler_fixture *f, const char *plugin, const char *pod,
				  unsigned actions, const char *old, const char *now);

#endif
