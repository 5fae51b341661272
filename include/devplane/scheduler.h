/*
 * devplane scheduler plugins - extend the scheduler, and its cache of nodes, in C.
 *
 * A plugin is a shared object that exports one function, dp_scheduler_plugin_entry(). It may take
 * part in scheduling (filter, score, ..). It may also add its own resources to the scheduler's
 * cache, as described by KEP-4187:
 *
 *	ExtendedResource   struct dp_resource_type, and one `void *` of the plugin per node: add
 *	                   pod, remove pod, admit pod, clone, free
 *	ExtendedCache      struct dp_cache: get, set, update, delete by node
 *	Handle             struct dp_handle: run, get
 *	HandleRegistry     host->register_handle, from the plugin's init
 *
 * A resource is part of the node's entry in the cache. The cache adds a pod to it in the same step
 * in which it counts the pod's other requests. It clones the resource with the node, for the
 * snapshot of a scheduling cycle and for what-ifs (preemption tries out nodes without some of their
 * pods). In filter and score read it with host->node_resource(), not from the live cache, so that
 * all plugins decide on the same state.
 *
 * ABI. Structs only grow at the end. `size`, the first field, is the size that the plugin was
 * compiled with. Fields beyond it count as zero, and functions that are NULL are not called. Use
 * DP_HAS() to check whether the host has a newer function. A different `abi_major` is rejected.
 *
 * Text is UTF-8. A `const char *` is NUL-terminated, a struct dp_text is not. Arguments of a
 * callback are valid until it returns, unless noted otherwise. The host copies the text and structs
 * that a plugin passes before the call returns.
 *
 * Threads. All callbacks run on the scheduler's thread, one at a time. Nothing else happens while
 * one runs, so a callback must not block. Call the host's functions on that thread only, except
 * those marked "Any thread".
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

/* True if the other side was compiled with `member` and has set it. */
#define DP_HAS(p, member) \
	((p)->size >= offsetof(__typeof__(*(p)), member) + sizeof((p)->member) && (p)->member)

struct dp_scheduler_host; /* the scheduler's functions, below */
struct dp_object; /* a read-only API object: a pod, or an object from a watch */
struct dp_path; /* a compiled JSON pointer; see host->path */
struct dp_node_info; /* a node and its pods, in a cycle's snapshot or a what-if */
struct dp_cycle; /* one attempt to schedule one pod */
struct dp_binding; /* a pod that is being bound to its node */
struct dp_cache; /* the live cache's values of one resource type, by node */
struct dp_sink; /* output of dp_resource_type.describe */
struct dp_metric;

struct dp_text {
	const char *p; /* NULL: absent */
	size_t n;
};

/* --- what a callback answers ------------------------------------------------------------- */

enum {
	DP_SUCCESS = 0,
	DP_ERROR = 1, /* a fault of the plugin or the cluster; the pod is retried with back-off */
	DP_UNSCHEDULABLE = 2, /* not on this node; preempting other pods may help */
	DP_UNRESOLVABLE = 3, /* not on this node; preempting other pods would not help */
	DP_WAIT = 4, /* permit: wait for host->allow or host->reject */
	DP_SKIP = 5, /* pre_filter, pre_score: skip this plugin for this pod; bind: not mine */
	DP_PENDING = 6, /* permit, reserve: like DP_UNSCHEDULABLE; an event will retry the pod */
	DP_SCHED_LATER = 7, /* pre_bind, bind: host->binding_done will be called */
};

/* A callback writes here why it did not succeed. The host copies the text. */
struct dp_reason {
	uint32_t size;
	char text[256]; /* "Insufficient disk write bandwidth"; nodes are counted by text */
};

/* --- ExtendedResource ---------------------------------------------------------------------- */

/*
 * The operations on a plugin's resource of a node. They are called very often, and in the middle of
 * updates of the cache. Keep them fast, and call no host functions but those that read the object.
 * add_pod and remove_pod must be exact inverses. If add_pod fails (returns nonzero), the error is
 * logged, and remove_pod is not called for that pod.
 */
struct dp_resource_type {
	uint32_t size;
	uint32_t reserved;
	const char *name; /* "fake.example.com" */
	int (*add_pod)(void *resource, const struct dp_object *pod);
	int (*remove_pod)(void *resource, const struct dp_object *pod);
	/* The amounts that the pod requests and that it could get, in the plugin's unit. */
	void (*admit_pod)(const void *resource, const struct dp_object *pod, int64_t *requested,
			  int64_t *available);
	void *(*clone)(const void *resource); /* never returns NULL */
	void (*free)(void *resource);
	/* Writes the resource as one JSON value, for /debug/cache. NULL: shown as null. */
	void (*describe)(const void *resource, struct dp_sink *out);
	/* --- ABI 1.0 ends here --- */

	/* Name and version of the struct behind `resource`, for plugins that share the type. If
	 * they differ between two plugins, the second one's init fails. NULL: not shared. */
	const char *layout; /* "example.com/licences" */
	uint32_t layout_version;
	uint32_t reserved2;
	/* --- ABI 1.1 ends here; append below --- */
};

/* --- Handle -------------------------------------------------------------------------------- */

/*
 * Keeps the resources of one type up to date. The host calls `run` once, after the init of all
 * plugins and before any pod, node or watch event; start watches there. `get` may be NULL: the host
 * then reads the cache.
 */
struct dp_handle {
	uint32_t size;
	uint32_t reserved;
	void *state;
	int (*run)(void *state, const struct dp_scheduler_host *host, struct dp_cache *cache,
		   struct dp_reason *why); /* 0, or the scheduler does not start */
	const void *(*get)(void *state, const char *node);
	void (*close)(void *state); /* called last, after all resources were freed */
	/* --- ABI 1.0 ends here; append below --- */
};

/* Makes the handle. Returns 0; on anything else the scheduler does not start. */
typedef int dp_handle_factory(void *arg, struct dp_handle *ret_handle, struct dp_reason *why);

/* --- events -------------------------------------------------------------------------------- */

enum {
	DP_EVENT_ADD = 1,
	DP_EVENT_DELETE = 2,
	DP_EVENT_UPDATE = 4,
};

/*
 * An event after which a pod that this plugin rejected is retried. A plugin without interests gets
 * its pods retried after every event. `resource` is "Pod" (assigned to a node), "UnscheduledPod"
 * (the waiting pod itself), "Node", "ResourceClaim", "ResourceSlice", "DeviceClass",
 * "PersistentVolumeClaim", .., "*", or the name of an extended resource's type. `hint` returns 1 if
 * this event may help this pod, 0 if not; NULL: always retry. The hint's objects are NULL where
 * they don't apply: an added object has no old version.
 */
struct dp_event_interest {
	uint32_t size;
	uint32_t actions; /* DP_EVENT_* */
	const char *resource;
	uint32_t (*hint)(void *state, const struct dp_object *pod,
			 const struct dp_object *old_object, const struct dp_object *object);
};

/* A watch of any resource. Callbacks may be NULL. They run on the scheduler's thread, in order with
 * the events of pods and nodes. */
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
	void (*on_synced)(void *arg); /* once, after the initial objects */
	void *arg;
	/* --- ABI 1.0 ends here; append below --- */
};

/* Also defined in devplane/driver.h; a program may include both. */
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
	void *host; /* pass it as the first argument of the functions below */

	/* Reading objects. The returned text lives as long as the object. */
	struct dp_text (*name)(void *host, const struct dp_object *o);
	struct dp_text (*ns)(void *host, const struct dp_object *o);
	struct dp_text (*uid)(void *host, const struct dp_object *o);
	struct dp_text (*label)(void *host, const struct dp_object *o, const char *key);
	struct dp_text (*annotation)(void *host, const struct dp_object *o, const char *key);
	/* Compiles a JSON pointer ("/spec/nodeName", "/status/devices/0"). It lives as long as the
	 * plugin. Returns NULL if `pointer` is invalid. */
	const struct dp_path *(*path)(void *host, const char *pointer);
	/* A string's text, or the JSON text of any other value. `p` is NULL if absent. */
	struct dp_text (*get)(void *host, const struct dp_object *o, const struct dp_path *path);
	struct dp_text (*find)(void *host, const struct dp_object *o, const char *pointer);
	/* The number of elements of an array or members of an object; -1 for anything else. */
	int64_t (*count)(void *host, const struct dp_object *o, const char *pointer);
	/* Parses "100Mi" and rounds up to an integer. Returns 0, or -1 if it is not a quantity. */
	int (*quantity)(void *host, struct dp_text text, int64_t *ret_value);

	/* Extended resources. The first plugin to register a type creates its handle, and its
	 * functions are the ones called. Later plugins get the same handle, if their layout is the
	 * same. Call it from init only. `type` is copied. Returns 0, or -1 with a reason. */
	int (*register_handle)(void *host, const struct dp_resource_type *type,
			       dp_handle_factory *make, void *arg,
			       const struct dp_handle **ret_handle, struct dp_reason *why);
	/* The live cache. The cache owns the returned value: read only, until the next change. */
	const void *(*cache_get)(struct dp_cache *cache, const char *node);
	/* Sets a new value, which the cache then owns, and frees the old one. NULL is ignored. The
	 * cache calls add_pod for every pod on the node, so the new value must not include any. It
	 * keeps the value until the plugin deletes it, even while no node of that name exists. */
	void (*cache_set)(struct dp_cache *cache, const char *node, void *resource);
	/* Changes the value in one step. `change` gets a private copy, or NULL if there is no
	 * value. It returns the copy, or a new value (handled as in cache_set), or NULL to delete
	 * it. */
	void (*cache_update)(struct dp_cache *cache, const char *node,
			     void *(*change)(void *arg, void *copy), void *arg);
	void (*cache_delete)(struct dp_cache *cache, const char *node);

	/* Nodes, in filter, score and so on. */
	struct dp_text (*node_name)(void *host, const struct dp_node_info *n);
	const struct dp_object *(*node_object)(void *host, const struct dp_node_info *n);
	/* The resource in this cycle or what-if; NULL if the node has none. */
	const void *(*node_resource)(void *host, const struct dp_node_info *n, const char *type);
	/* Reads the resource through its handle, by the node's name. For the node that the running
	 * callback is about (filter, score, pre_filter_add_pod, pre_filter_remove_pod), the result
	 * is that of node_resource(), also in a what-if. Other nodes are read from the cycle's
	 * snapshot. Outside of a cycle it calls the handle's `get`, or reads the live cache. */
	const void *(*handle_get)(void *host, const struct dp_handle *handle, const char *node);
	size_t (*node_pods)(void *host, const struct dp_node_info *n);
	const struct dp_object *(*node_pod)(void *host, const struct dp_node_info *n, size_t at);
	/* "cpu" (in thousandths), "memory", "ephemeral-storage", "pods", or another name. */
	void (*node_amount)(void *host, const struct dp_node_info *n, const char *resource,
			    int64_t *ret_allocatable, int64_t *ret_requested);

	/* The scheduling cycle. */
	const struct dp_object *(*cycle_pod)(void *host, const struct dp_cycle *c);
	/* Zeroed memory that lives as long as the cycle. */
	void *(*cycle_alloc)(void *host, struct dp_cycle *c, size_t size);
	/* The plugin's own value in this cycle, kept from pre_filter to post_bind. A what-if gets a
	 * byte-wise copy if the value came from cycle_alloc; otherwise it shares the value. */
	void (*cycle_set)(void *host, struct dp_cycle *c, void *value);
	void *(*cycle_get)(void *host, const struct dp_cycle *c);
	/* From pre_filter: restricts the cycle to the named nodes. Call it once per node. */
	void (*cycle_only_node)(void *host, struct dp_cycle *c, const char *node);

	/* Completes the wait of a pod in permit, by its UID. It takes effect soon. If the pod is
	 * not waiting, nothing happens. Returns 0, or -1 for a handle, which has no permit. Any
	 * thread. */
	int (*allow)(void *host, const char *uid);
	int (*reject)(void *host, const char *uid, const char *reason);
	/*
	 * Completes a pre_bind or bind that returned DP_SCHED_LATER. `reason` may be NULL. Any
	 * thread.
	 */
	void (*binding_done)(void *host, struct dp_binding *b, uint32_t code, const char *reason);

	/* Retries waiting pods that were rejected by plugins with an interest in `type`, subject to
	 * their hints. Changes of the cache do this by themselves. */
	void (*wake)(void *host, const char *type);

	/* Returns 0, or -1 with a reason. From init and run only. */
	int (*watch)(void *host, const struct dp_watch *watch, struct dp_reason *why);
	/* Runs `fn` on the scheduler's thread, soon. Any thread. */
	void (*post)(void *host, void (*fn)(void *arg), void *arg);
	int64_t (*now_ms)(void *host); /* monotonic */
	void (*log)(void *host, uint32_t level, const char *message); /* Any thread */
	/* A metric with at most one label (NULL: no label). It lives as long as the scheduler.
	 * Returns NULL if the name is taken by a different metric. metric_add and metric_set: Any
	 * thread. */
	struct dp_metric *(*metric)(void *host, uint32_t type, const char *name, const char *help,
				    const char *label, const char *value);
	void (*metric_add)(struct dp_metric *m, double delta);
	void (*metric_set)(struct dp_metric *m, double value);

	/* For dp_resource_type.describe. */
	void (*write)(struct dp_sink *out, const char *text, size_t n);
	/* --- ABI 1.0 ends here --- */

	/* AdmitPod of KEP-4187: calls admit_pod for the node's resource of that type, as returned
	 * by node_resource(), even if another plugin registered the type. Returns DP_SUCCESS if the
	 * requested amount is available, DP_UNSCHEDULABLE if not, DP_UNRESOLVABLE if the node has
	 * no such resource, and DP_ERROR if no plugin registered the type or it has no admit_pod.
	 * In the last two cases both amounts are 0. Either pointer may be NULL. */
	uint32_t (*admit)(void *host, const struct dp_node_info *n, const char *type,
			  const struct dp_object *pod, int64_t *ret_requested,
			  int64_t *ret_available);
	/* --- ABI 1.1 ends here; append below --- */
};

/* --- the plugin ------------------------------------------------------------------------------ */

struct dp_scheduler_plugin {
	uint32_t size;
	uint32_t abi_major; /* DP_SCHEDULER_ABI_MAJOR */
	const char *name; /* its name in the configuration: "DiskIO" */

	/* Makes an instance for a profile. `args` is the plugin's pluginConfig as JSON text, or
	 * NULL. Returns 0; on anything else the scheduler exits with the reason. */
	int (*init)(const struct dp_scheduler_host *host, const char *args, void **ret_state,
		    struct dp_reason *why);
	void (*close)(void *state);

	const struct dp_event_interest *interests;
	uint32_t ninterests;
	uint32_t interest_size; /* sizeof(struct dp_event_interest) */

	uint32_t (*pre_enqueue)(void *state, const struct dp_object *pod, struct dp_reason *why);
	/* Returns nonzero if `a` goes before `b`. Only one plugin of a profile may set it.
	 * `*_since_ms` is when the pod entered the queue. */
	int (*less)(void *state, const struct dp_object *a, int64_t a_since_ms,
		    const struct dp_object *b, int64_t b_since_ms);
	uint32_t (*pre_filter)(void *state, struct dp_cycle *c, const struct dp_object *pod,
			       struct dp_reason *why);
	/* A what-if adds a pod to the node, or removes one. Update what pre_filter computed here;
	 * the node's extended resources are updated by the cache. */
	void (*pre_filter_add_pod)(void *state, struct dp_cycle *c, const struct dp_object *other,
				   const struct dp_node_info *node);
	void (*pre_filter_remove_pod)(void *state, struct dp_cycle *c,
				      const struct dp_object *other,
				      const struct dp_node_info *node);
	uint32_t (*filter)(void *state, struct dp_cycle *c, const struct dp_object *pod,
			   const struct dp_node_info *node, struct dp_reason *why);
	/* No node fits. Return DP_SUCCESS if the plugin did something about it; it may write the
	 * name of the nominated node to `ret_nominated` (256 bytes). */
	uint32_t (*post_filter)(void *state, struct dp_cycle *c, const struct dp_object *pod,
				char *ret_nominated, struct dp_reason *why);
	uint32_t (*pre_score)(void *state, struct dp_cycle *c, const struct dp_object *pod,
			      struct dp_reason *why);
	/* A score from 0 to 100; any number if the plugin has normalize. */
	uint32_t (*score)(void *state, struct dp_cycle *c, const struct dp_object *pod,
			  const struct dp_node_info *node, int64_t *ret_score,
			  struct dp_reason *why);
	void (*normalize)(void *state, struct dp_cycle *c, int64_t *scores, size_t n);
	uint32_t (*reserve)(void *state, struct dp_cycle *c, const struct dp_object *pod,
			    const char *node, struct dp_reason *why);
	void (*unreserve)(void *state, struct dp_cycle *c, const struct dp_object *pod,
			  const char *node);
	/* With DP_WAIT set a timeout, at most 15 minutes. */
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

/* Exported by the shared object. Returns the same static struct at every call. */
const struct dp_scheduler_plugin *dp_scheduler_plugin_entry(void);

#ifdef __cplusplus
}
#endif

#endif
