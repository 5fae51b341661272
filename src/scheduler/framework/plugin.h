/*
 * plugin - what takes part in scheduling: a table of functions per kind, an instance per profile.
 *
 * Every function may be NULL: then the plugin does not take part there. All are called on the
 * scheduler's thread. Those of the scheduling cycle (pre_filter to permit) decide on the cycle's
 * snapshot and do no I/O; pre_bind and bind may begin requests and end later.
 *
 * Built-in plugins are rows of plugins.c; plugins from shared objects are adapted to the same
 * table by extension.c.
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

enum { PLUGINS_MAX = 64 }; /* of a profile */
enum { SCORE_MAX = 100 };

/*
 * What plugins are given. Objects beside pods and nodes are read from caches that informers keep
 * (client/informer/cache.h); NULL where the API server does not serve the kind, which counts as
 * empty. In tests they are filled by hand, and what is not needed is NULL.
 */
struct leader;

struct services {
	struct loop *loop;
	struct client *client; /* NULL in unit tests: nothing can be written */
	const struct leader *leader; /* NULL: no election */
	struct nodecache *nodes;
	struct podqueue *queue;
	struct amount_names *names;
	struct dra_state *dra; /* NULL: DynamicResourceAllocation is off */
	struct extended_types *extended;
	struct recorder *recorder;
	struct metrics *metrics;
	const struct clock *clock; /* for durations in metrics; NULL: none are measured */
	const struct log *log;
	const struct cache *namespaces, *pdbs;
	const struct cache *pvcs, *pvs, *storage_classes, *csi_nodes, *csi_drivers, *csi_capacities,
		*attachments;
	const struct cache *replication_controllers, *replica_sets, *stateful_sets, *kube_services;
	const struct gates *gates; /* api/schema/gates.h */
};

/* An event that may make a pod schedulable that this plugin rejected. */
struct plugin_event {
	enum event_kind kind;
	unsigned actions;
	uint32_t extension; /* with EVENT_EXTENSION */
	/* NULL: it always may. `waiting` is the pod that was rejected. */
	enum event_hint (*hint)(const struct plugin *p, const struct podinfo *waiting,
				const struct cluster_event *e);
};

struct plugin_kind {
	const char *name;

	/* `args` is pluginConfig's, of upstream's kinds (NodeResourcesFitArgs ..); or NULL. */
	int (*init)(struct plugin *p, const struct json *args, struct error *err);
	void (*release)(struct plugin *p);

	/* Rows, ended by one without actions; or a function where they depend on args. */
	const struct plugin_event *events;
	const struct plugin_event *(*events_of)(const struct plugin *p);

	struct verdict (*pre_enqueue)(struct plugin *p, const struct podinfo *pod, struct arena *a);
	/* Queue sort: a before b. */
	bool (*less)(const struct plugin *p, const struct queued_pod *a,
		     const struct queued_pod *b);

	/* SKIP: filter is not called. May keep *cycle_state(); may restrict nodes: cycle_only(). */
	struct verdict (*pre_filter)(struct plugin *p, struct cycle *c);
	/* A copy of *cycle_state() for a what-if, in its arena; NULL: the state is shared. */
	void *(*clone_state)(const struct plugin *p, struct cycle *c, void *state);
	void (*add_pod)(struct plugin *p, struct cycle *c, const struct podinfo *other,
			const struct nodeinfo *n);
	void (*remove_pod)(struct plugin *p, struct cycle *c, const struct podinfo *other,
			   const struct nodeinfo *n);
	struct verdict (*filter)(struct plugin *p, struct cycle *c, const struct nodeinfo *n);
	/*
	 * No node fits: see cycle->diagnosis. *ret_nominated is STR_NULL before: left so, nothing
	 * is said about nominations; a node nominates it, empty text (p not NULL) clears what
	 * there was.
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

	/* Must lead to binding_done(b, ..) once, now or later; binding_cancelled() tells when the
	 * pod has gone meanwhile. pre_bind runs one plugin after the other. */
	void (*pre_bind)(struct plugin *p, struct binding *b);
	/* SKIP: the next plugin is asked. */
	void (*bind)(struct plugin *p, struct binding *b);
	void (*post_bind)(struct plugin *p, struct cycle *c, struct str node);
};

/* An instance. */
struct plugin {
	const struct plugin_kind *kind;
	const char *name;
	const struct services *services;
	void *state; /* the plugin's own */
	unsigned at; /* its number in the profile: index of cycle->state */
	int32_t weight; /* of its scores */
};

/* The kinds that a configuration may name. */
struct plugin_kinds {
	const struct plugin_kind *const *built_in; /* ended by NULL */
	const struct plugin_kind *const *loaded; /* from shared objects */
	size_t nloaded;
};

#endif
