/*
 * devplane scheduler plugins - extend the scheduler, and what its cache holds, in C.
 *
 * A plugin is a shared object that exports one function, dp_scheduler_plugin_entry(). It may take
 * part in scheduling (filter, score, ..), and it may put resources of its own into the scheduler's
 * cache, as KEP-4187 describes it:
 *
 *	ExtendedResource   struct dp_resource_type and a `void *` of the plugin's per node: add pod,
 *	                   remove pod, admit pod, clone, free
 *	ExtendedCache      struct dp_cache: get, set, update, delete by node
 *	Handle             struct dp_handle: run, get
 *	HandleRegistry     host->register_handle, from the plugin's init
 *
 * A resource lives in the node's entry in the cache. It is told of a pod in the same step in which
 * the pod's other requests are counted, it is cloned with the node for a cycle's snapshot and for
 * preemption's what-if, and it is read through them: in filter and score take
 * host->node_resource(), not the live cache. So all plugins decide on one state of the world.
 *
 * ABI. Structs grow at their end only, `size` comes first: what the plugin was compiled with. What
 * lies beyond it is taken for zero; a function that is NULL is not called. A plugin looks whether
 * the host has a newer function by DP_HAS(). Another `abi_major` is refused.
 *
 * Text is UTF-8; a struct dp_text is not terminated, a `const char *` is. What a plugin is given
 * lives until it returns unless said otherwise; what it gives is copied before the call returns.
 *
 * Threads. All callbacks come on the scheduler's thread, one at a time; while one runs nothing
 * else happens, so none may wait. Functions of the host are for that thread, except those that
 * say "any thread".
 */
#ifndef DEVPLANE_SCHEDULER_H
#define DEVPLANE_SCHEDULER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DP_SCHEDULER_ABI_MAJOR 1
#define DP_SCHEDULER_ABI_MINOR 1

/* `member` is inside what the other side was compiled with, and there. */
#define DP_HAS(p, member) \
	((p)->size >= offsetof(__typeof__(*(p)), member) + sizeof((p)->member) && (p)->member)

struct dp_scheduler_host; /* the scheduler's functions, below */
struct dp_object; /* an API object: a pod, or what a watch brought; never changes */
struct dp_path; /* where in an object; see host->path */
struct dp_node_info; /* a node in a cycle's snapshot or what-if, with what is on it */
struct dp_cycle; /* one pod's way through the extension points */
struct dp_binding; /* a pod on its way to its node */
struct dp_cache; /* the entries of one type of resource in the live cache */
struct dp_sink; /* where text is written to */
struct dp_metric;

struct dp_text {
	const char *p; /* NULL: there is none */
	size_t n;
};

/* --- what a callback answers ------------------------------------------------------------- */

enum {
	DP_SUCCESS = 0,
	DP_ERROR = 1, /* the plugin or the cluster is at fault: tried again with back-off */
	DP_UNSCHEDULABLE = 2, /* not here; removing other pods may help */
	DP_UNRESOLVABLE = 3, /* not here, and removing other pods would not help */
	DP_WAIT = 4, /* permit: not yet; see host->allow and host->reject */
	DP_SKIP = 5, /* pre_filter, pre_score: do not ask me again for this pod; bind: not mine */
	DP_PENDING = 6, /* permit, reserve: as unschedulable, and something will wake it */
	DP_SCHED_LATER = 7, /* pre_bind, bind: host->binding_done will be called */
};

/* Where a callback says why; the text is copied. Used when it does not succeed. */
struct dp_reason {
	uint32_t size;
	char text[256]; /* "Insufficient disk write bandwidth"; many nodes' are counted by text */
};

/* --- ExtendedResource ---------------------------------------------------------------------- */

/*
 * What can be done with a plugin's resource on a node. The functions are called very often and
 * inside the cache's own changes: they must be quick and must not call the host but for reading
 * the object. add_pod and remove_pod are exact inverses; what add_pod refuses (not 0) is logged,
 * and remove_pod is then not called for it.
 */
struct dp_resource_type {
	uint32_t size;
	uint32_t reserved;
	const char *name; /* "fake.example.com" */
	int (*add_pod)(void *resource, const struct dp_object *pod);
	int (*remove_pod)(void *resource, const struct dp_object *pod);
	/* What the pod asks for and what there is for it, in the plugin's unit. */
	void (*admit_pod)(const void *resource, const struct dp_object *pod, int64_t *requested,
			  int64_t *available);
	void *(*clone)(const void *resource); /* never NULL */
	void (*free)(void *resource);
	/* Writes it as one JSON value, for /debug/cache. NULL: it is shown as null. */
	void (*describe)(const void *resource, struct dp_sink *out);
	/* --- ABI 1.0 ends here --- */

	/* The name and version of the struct behind `resource`, for plugins that share the type:
	 * each of them must give the same two, else its init fails. NULL: not shared. */
	const char *layout; /* "example.com/licences" */
	uint32_t layout_version;
	uint32_t reserved2;
	/* --- ABI 1.1 ends here; append below --- */
};

/* --- Handle -------------------------------------------------------------------------------- */

/*
 * Keeps the resources of one type up to date. `run` is called once, after all plugins' init
 * and before any pod, node or watch event; there the handle begins its watches. `get` may be
 * NULL: then it is the cache's get.
 */
struct dp_handle {
	uint32_t size;
	uint32_t reserved;
	void *state;
	int (*run)(void *state, const struct dp_scheduler_host *host, struct dp_cache *cache,
		   struct dp_reason *why); /* 0, or the scheduler does not start */
	const void *(*get)(void *state, const char *node);
	void (*close)(void *state); /* last; after all resources have been freed */
	/* --- ABI 1.0 ends here; append below --- */
};

/* Makes the handle; 0, or the scheduler does not start. */
typedef int dp_handle_factory(void *arg, struct dp_handle *ret_handle, struct dp_reason *why);

/* --- events -------------------------------------------------------------------------------- */

enum {
	DP_EVENT_ADD = 1,
	DP_EVENT_DELETE = 2,
	DP_EVENT_UPDATE = 4,
};

/*
 * When a pod that this plugin rejected is to be tried again; a plugin without any is asked at
 * every event. `resource` is "Pod" (on a node), "UnscheduledPod" (the waiting one itself), "Node",
 * "ResourceClaim", "ResourceSlice", "DeviceClass", "PersistentVolumeClaim", .., "*" or
 * the name of an extended resource's type. `hint` NULL: always; else 1: this event may help
 * this pod, 0: it does not. Objects are NULL where there is none.
 */
struct dp_event_interest {
	uint32_t size;
	uint32_t actions; /* DP_EVENT_* */
	const char *resource;
	uint32_t (*hint)(void *state, const struct dp_object *pod,
			 const struct dp_object *old_object, const struct dp_object *object);
};

/* A watch of any resource. Callbacks may be NULL; all on the scheduler's thread, in one order
 * with those that change pods and nodes. */
struct dp_watch {
	uint32_t size;
	uint32_t reserved;
	const char *group, *version, *resource; /* "example.com", "v1", "widgets" (plural) */
	const char *ns; /* NULL: all */
	const char *label_selector; /* NULL: all */
	void (*on_add)(void *arg, const struct dp_object *object);
	void (*on_update)(void *arg, const struct dp_object *old_object,
			  const struct dp_object *object);
	void (*on_delete)(void *arg, const struct dp_object *last);
	void (*on_synced)(void *arg); /* once: the first state has been told */
	void *arg;
	/* --- ABI 1.0 ends here; append below --- */
};

/* The same in devplane/driver.h: a program may include both. */
#ifndef DEVPLANE_LOG_LEVELS
#define DEVPLANE_LOG_LEVELS
enum {
	DP_LOG_ERROR = 0,
	DP_LOG_WARN = 1,
	DP_LOG_WARNING = DP_LOG_WARN,
	DP_LOG_INFO = 2,
	DP_LOG_DEBUG = 3,
};
#endif
enum { DP_METRIC_COUNTER = 0, DP_METRIC_GAUGE = 1 };

/* --- the host ------------------------------------------------------------------------------ */

struct dp_scheduler_host {
	uint32_t size;
	uint32_t abi_major, abi_minor;
	uint32_t reserved;
	void *host; /* the scheduler's; first argument of every function below */

	/* Reading objects. Text and JSON live as long as the object. */
	struct dp_text (*name)(void *host, const struct dp_object *o);
	struct dp_text (*ns)(void *host, const struct dp_object *o);
	struct dp_text (*uid)(void *host, const struct dp_object *o);
	struct dp_text (*label)(void *host, const struct dp_object *o, const char *key);
	struct dp_text (*annotation)(void *host, const struct dp_object *o, const char *key);
	/* Compiles a JSON pointer ("/spec/nodeName", "/status/devices/0"); lives as long as the
	 * plugin. NULL when it is none. */
	const struct dp_path *(*path)(void *host, const char *pointer);
	/* A string's text, or the JSON text of anything else; p NULL: not there. */
	struct dp_text (*get)(void *host, const struct dp_object *o, const struct dp_path *path);
	struct dp_text (*find)(void *host, const struct dp_object *o, const char *pointer);
	/* Elements of the array or members of the object there; -1: neither. */
	int64_t (*count)(void *host, const struct dp_object *o, const char *pointer);
	/* "100Mi" as a whole number, rounded up; 0, or -1 when it is no quantity. */
	int (*quantity)(void *host, struct dp_text text, int64_t *ret_value);

	/* Extended resources. The first plugin that registers a type makes its handle, and its
	 * functions are called; others get the same handle if their layout is the same. Only from
	 * init. `type` is copied. 0, or -1 with a reason. */
	int (*register_handle)(void *host, const struct dp_resource_type *type,
			       dp_handle_factory *make, void *arg,
			       const struct dp_handle **ret_handle, struct dp_reason *why);
	/* The live cache. The value of `get` is the cache's own: to read, until the next change. */
	const void *(*cache_get)(struct dp_cache *cache, const char *node);
	/* A new value, which the cache owns from now on. It is told of all pods that are on
	 * the node, so it must know of none. What was there is freed. The cache keeps the value
	 * until the plugin deletes it, also while there is no node of that name. */
	void (*cache_set)(struct dp_cache *cache, const char *node, void *resource);
	/* Changes the value in one step: `change` gets a copy that nobody else sees (NULL: there
	 * is none) and returns what is to be there: the copy, or a new value (then as cache_set),
	 * or NULL for none. */
	void (*cache_update)(struct dp_cache *cache, const char *node,
			     void *(*change)(void *arg, void *copy), void *arg);
	void (*cache_delete)(struct dp_cache *cache, const char *node);

	/* Nodes in filter, score and so on. */
	struct dp_text (*node_name)(void *host, const struct dp_node_info *n);
	const struct dp_object *(*node_object)(void *host, const struct dp_node_info *n);
	/* The resource as this cycle, or this what-if, has it; NULL: none. */
	const void *(*node_resource)(void *host, const struct dp_node_info *n, const char *type);
	/* The same through the handle, by name. If a callback is about this very node (filter,
	 * score, pre_filter_add_pod, pre_filter_remove_pod), as node_resource() gives it, also in
	 * a what-if; another node: of the running cycle's snapshot; outside of a cycle: live. */
	const void *(*handle_get)(void *host, const struct dp_handle *handle, const char *node);
	size_t (*node_pods)(void *host, const struct dp_node_info *n);
	const struct dp_object *(*node_pod)(void *host, const struct dp_node_info *n, size_t at);
	/* "cpu" (thousandths), "memory", "ephemeral-storage", "pods" or another name. */
	void (*node_amount)(void *host, const struct dp_node_info *n, const char *resource,
			    int64_t *ret_allocatable, int64_t *ret_requested);

	/* A cycle. */
	const struct dp_object *(*cycle_pod)(void *host, const struct dp_cycle *c);
	/* Memory that lives as long as the cycle; zeroed. */
	void *(*cycle_alloc)(void *host, struct dp_cycle *c, size_t size);
	/* The plugin's own value in the cycle, from pre_filter to post_bind. A what-if has a copy
	 * of it, byte by byte, when cycle_alloc gave it; else it is the same. */
	void (*cycle_set)(void *host, struct dp_cycle *c, void *value);
	void *(*cycle_get)(void *host, const struct dp_cycle *c);
	/* pre_filter: only these nodes; may be called for each. */
	void (*cycle_only_node)(void *host, struct dp_cycle *c, const char *node);

	/* Pods that wait in permit, by uid: they are told soon, and one that does not wait is left
	 * alone. 0, or -1 from a handle, which has no part in permit. Any thread. */
	int (*allow)(void *host, const char *uid);
	int (*reject)(void *host, const char *uid, const char *reason);
	/* Ends a pre_bind or bind that answered DP_SCHED_LATER. `reason`: or NULL. Any thread. */
	void (*binding_done)(void *host, struct dp_binding *b, uint32_t code, const char *reason);

	/* Waiting pods that this plugin or others with an interest in the type rejected are tried
	 * again, as their hints say. What changes the cache does it by itself. */
	void (*wake)(void *host, const char *type);

	/* 0, or -1 with a reason. From init and run only. */
	int (*watch)(void *host, const struct dp_watch *watch, struct dp_reason *why);
	/* Runs fn on the scheduler's thread, soon. Any thread. */
	void (*post)(void *host, void (*fn)(void *arg), void *arg);
	int64_t (*now_ms)(void *host); /* monotonic */
	void (*log)(void *host, uint32_t level, const char *message); /* any thread */
	/* A metric with at most one label (NULL: none); lives as long as the scheduler. NULL when
	 * the name is taken by another. Adding and setting: any thread. */
	struct dp_metric *(*metric)(void *host, uint32_t type, const char *name, const char *help,
				    const char *label, const char *value);
	void (*metric_add)(struct dp_metric *m, double delta);
	void (*metric_set)(struct dp_metric *m, double value);

	/* For dp_resource_type.describe. */
	void (*write)(struct dp_sink *out, const char *text, size_t n);
	/* --- ABI 1.0 ends here --- */

	/* AdmitPod: asks the node's resource of that type, as node_resource() gives it, through the
	 * type's admit_pod, also when another plugin registered the type. DP_SUCCESS: it has what
	 * the pod requests. DP_UNSCHEDULABLE: less is available. DP_UNRESOLVABLE: the node has no
	 * such resource. DP_ERROR: no plugin registered the type, or it has no admit_pod. The
	 * amounts are 0 in the last two cases; either pointer may be NULL. */
	uint32_t (*admit)(void *host, const struct dp_node_info *n, const char *type,
			  const struct dp_object *pod, int64_t *ret_requested,
			  int64_t *ret_available);
	/* --- ABI 1.1 ends here; append below --- */
};

/* --- the plugin ------------------------------------------------------------------------------ */

struct dp_scheduler_plugin {
	uint32_t size;
	uint32_t abi_major; /* DP_SCHEDULER_ABI_MAJOR */
	const char *name; /* as configuration names it: "DiskIO" */

	/* Makes an instance for a profile. `args` is the plugin's pluginConfig as JSON text; NULL:
	 * none. 0, or not: the scheduler does not start and says why. */
	int (*init)(const struct dp_scheduler_host *host, const char *args, void **ret_state,
		    struct dp_reason *why);
	void (*close)(void *state);

	const struct dp_event_interest *interests;
	uint32_t ninterests;
	uint32_t interest_size; /* sizeof(struct dp_event_interest) */

	uint32_t (*pre_enqueue)(void *state, const struct dp_object *pod, struct dp_reason *why);
	/* Not 0: a goes before b. One plugin of a profile may have it. `*_since_ms` is when they
	 * came into the queue. */
	int (*less)(void *state, const struct dp_object *a, int64_t a_since_ms,
		    const struct dp_object *b, int64_t b_since_ms);
	uint32_t (*pre_filter)(void *state, struct dp_cycle *c, const struct dp_object *pod,
			       struct dp_reason *why);
	/* What-if: another pod came to, or went from, the node. For what pre_filter summed up;
	 * resources in the node are told by themselves. */
	void (*pre_filter_add_pod)(void *state, struct dp_cycle *c, const struct dp_object *other,
				   const struct dp_node_info *node);
	void (*pre_filter_remove_pod)(void *state, struct dp_cycle *c,
				      const struct dp_object *other,
				      const struct dp_node_info *node);
	uint32_t (*filter)(void *state, struct dp_cycle *c, const struct dp_object *pod,
			   const struct dp_node_info *node, struct dp_reason *why);
	/* No node fits. DP_SUCCESS: something was done; `ret_nominated` (256 bytes) may name a
	 * node. */
	uint32_t (*post_filter)(void *state, struct dp_cycle *c, const struct dp_object *pod,
				char *ret_nominated, struct dp_reason *why);
	uint32_t (*pre_score)(void *state, struct dp_cycle *c, const struct dp_object *pod,
			      struct dp_reason *why);
	/* 0 to 100, or, with normalize, any number. */
	uint32_t (*score)(void *state, struct dp_cycle *c, const struct dp_object *pod,
			  const struct dp_node_info *node, int64_t *ret_score,
			  struct dp_reason *why);
	void (*normalize)(void *state, struct dp_cycle *c, int64_t *scores, size_t n);
	uint32_t (*reserve)(void *state, struct dp_cycle *c, const struct dp_object *pod,
			    const char *node, struct dp_reason *why);
	void (*unreserve)(void *state, struct dp_cycle *c, const struct dp_object *pod,
			  const char *node);
	/* DP_WAIT with a time-out (at most 15 minutes). */
	uint32_t (*permit)(void *state, struct dp_cycle *c, const struct dp_object *pod,
			   const char *node, int64_t *ret_timeout_ms, struct dp_reason *why);
	uint32_t (*pre_bind)(void *state, struct dp_binding *b, struct dp_cycle *c,
			     const struct dp_object *pod, const char *node, struct dp_reason *why);
	uint32_t (*bind)(void *state, struct dp_binding *b, struct dp_cycle *c,
			 const struct dp_object *pod, const char *node, struct dp_reason *why);
	void (*post_bind)(void *state, struct dp_cycle *c, const struct dp_object *pod,
			  const char *node);
	/* --- ABI 1.0 ends here; append below --- */
};

/* What the shared object exports. Static; the same at every call. */
const struct dp_scheduler_plugin *dp_scheduler_plugin_entry(void);

#ifdef __cplusplus
}
#endif

#endif
