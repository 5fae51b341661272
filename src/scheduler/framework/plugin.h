/*
 * plugin - the interface of scheduler plugins: a function table per kind, an instance per profile.
 *
 * Every function may be NULL if the plugin does not implement that extension point. All are called
 * on the scheduler's thread. Functions of the scheduling cycle (pre_filter to permit) use the
 * cycle's snapshot and do no I/O. pre_bind and bind may start requests and finish later.
 *
 * Built-in plugins are rows of plugins.c; plugins from shared objects are adapted to the same table
 * by extension.c.
 */
#ifndef SCHEDULER_FRAMEWORK_PLUGIN_H
#define SCHEDULER_FRAMEWORK_PLUGIN_H

#include "base/core/error.h"
#include "scheduler/cache/cluster_event.h"
#include "scheduler/framework/verdict.h"

struct amount_names;
struct binding;
struct cache;
struct client;
struct clock;
struct cycle;
struct dra_state;
struct json;
struct log;
struct loop;
struct metrics;
struct nodecache;
struct nodeinfo;
struct plugin;
struct podinfo;
struct podqueue;
struct queued_pod;
struct recorder;
struct extended_types;

enum { PLUGINS_MAX = 64 }; /* per profile */
enum { SCORE_MAX = 100 };

/*
 * Services for plugins. Objects other than pods and nodes come from informer caches
 * (client/informer/cache.h). A cache is NULL if the API server does not serve the kind, and counts
 * as empty. Tests fill the caches by hand, and set unused ones to NULL.
 */
struct leader;

struct services {
	struct loop *loop;
	struct client *client; /* NULL in unit tests: no writes */
	const struct leader *leader; /* NULL: no election */
	struct nodecache *nodes;
	struct podqueue *queue;
	struct amount_names *names;
	struct dra_state *dra; /* NULL: DynamicResourceAllocation is off */
	struct extended_types *extended;
	struct recorder *recorder;
	struct metrics *metrics;
	const struct clock *clock; /* for durations in metrics; NULL: not measured */
	const struct log *log;
	const struct cache *namespaces, *pdbs;
	const struct cache *pvcs, *pvs, *storage_classes, *csi_nodes, *csi_drivers, *csi_capacities,
		*attachments;
	const struct cache *replication_controllers, *replica_sets, *stateful_sets, *kube_services;
	const struct gates *gates; /* api/schema/gates.h */
};

/* An event that may make a pod schedulable after this plugin rejected it. */
struct plugin_event {
	enum event_kind kind;
	unsigned actions;
	uint32_t extension; /* with EVENT_EXTENSION */
	/* NULL: the event always wakes the pod. `waiting` is the rejected pod. */
	enum event_hint (*hint)(const struct plugin *p, const struct podinfo *waiting,
				const struct cluster_event *e);
};

struct plugin_kind {
	const char *name;

	/*
	 * `args` comes from pluginConfig, with upstream's kinds (NodeResourcesFitArgs ..), or is
	 * NULL.
	 */
	int (*init)(struct plugin *p, const struct json *args, struct error *err);
	void (*release)(struct plugin *p);

	/* Rows, ended by one without actions; or a function, if they depend on args. */
	const struct plugin_event *events;
	const struct plugin_event *(*events_of)(const struct plugin *p);

	struct verdict (*pre_enqueue)(struct plugin *p, const struct podinfo *pod, struct arena *a);
	/* Queue sort: whether a comes before b. */
	bool (*less)(const struct plugin *p, const struct queued_pod *a,
		     const struct queued_pod *b);

	/*
	 * If it returns SKIP, filter is not called. It may set *cycle_state(), and restrict nodes
	 * with cycle_only().
	 */
	struct verdict (*pre_filter)(struct plugin *p, struct cycle *c);
	/*
	 * Returns a copy of *cycle_state() for a what-if, in its arena. If NULL, the state is
	 * shared.
	 */
	void *(*clone_state)(const struct plugin *p, struct cycle *c, void *state);
	void (*add_pod)(struct plugin *p, struct cycle *c, const struct podinfo *other,
			const struct nodeinfo *n);
	void (*remove_pod)(struct plugin *p, struct cycle *c, const struct podinfo *other,
			   const struct nodeinfo *n);
	struct verdict (*filter)(struct plugin *p, struct cycle *c, const struct nodeinfo *n);
	/*
	 * Called if no node fits; see cycle->diagnosis. *ret_nominated is STR_NULL before. If it
	 * stays so, the nomination is unchanged. A node's name nominates that node, and an empty
	 * text (p not NULL) clears the nomination.
	 */
	struct verdict (*post_filter)(struct plugin *p, struct cycle *c, struct str *ret_nominated);

	struct verdict (*pre_score)(struct plugin *p, struct cycle *c);
	/* cycle->feasible[at] is the node. */
	struct verdict (*score)(struct plugin *p, struct cycle *c, size_t at, int64_t *ret_score);
	void (*normalize)(struct plugin *p, struct cycle *c, int64_t *scores, size_t n);

	struct verdict (*reserve)(struct plugin *p, struct cycle *c, struct str node);
	void (*unreserve)(struct plugin *p, struct cycle *c, struct str node); /* must not fail */
	struct verdict (*permit)(struct plugin *p, struct cycle *c, struct str node,
				 int64_t *ret_timeout_ms);

	/*
	 * Must call binding_done(b, ..) once, now or later. Check binding_cancelled() to see
	 * whether the pod was deleted meanwhile. pre_bind runs for one plugin after the other.
	 */
	void (*pre_bind)(struct plugin *p, struct binding *b);
	/* SKIP: the next plugin is called. */
	void (*bind)(struct plugin *p, struct binding *b);
	void (*post_bind)(struct plugin *p, struct cycle *c, struct str node);
};

/* An instance of a kind, in one profile. */
struct plugin {
	const struct plugin_kind *kind;
	const char *name;
	const struct services *services;
	void *state; /* the plugin's own */
	unsigned at; /* its number in the profile: index of cycle->state */
	int32_t weight; /* of its scores */
};

/* The kinds that a configuration can enable. */
struct plugin_kinds {
	const struct plugin_kind *const *built_in; /* ended by NULL */
	const struct plugin_kind *const *loaded; /* from shared objects */
	size_t nloaded;
};

#endif
