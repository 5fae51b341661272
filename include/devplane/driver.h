/*
 * devplane driver SDK - write a DRA driver with device health, or a device plugin, in C.
 *
 * A driver lists a node's devices and says what a container needs to use one. The SDK does the
 * rest:
 *
 * - registers with the kubelet, or with devplane's node agent;
 * - serves NodePrepareResources and NodeUnprepareResources, in v1 and v1beta1;
 * - fetches and validates claims, and records in a file which ones are prepared;
 * - writes CDI files;
 * - publishes ResourceSlices, and restores them if somebody changes them;
 * - reports device health to every client that watches (KEP-4680), in all protocol versions, and
 *   repeats each report before it times out;
 * - writes device status into ResourceClaims (KEP-4817).
 *
 *	struct dp_driver_config config = { .size = sizeof(config), .abi = DP_DRIVER_ABI, .. };
 *
 *	dp_driver_new(&config, &driver, message, sizeof(message));
 *	dp_driver_set_devices(driver, devices, count, message, sizeof(message));
 *	dp_driver_run(driver, message, sizeof(message));
 *	dp_driver_free(driver);
 *
 * ABI. Structs only grow at the end. Set `size`, the first field, to sizeof the struct. For arrays,
 * every element carries the same `size`, which is also the stride. Fields beyond `size` count as
 * zero, and zero means the default. `abi` must be DP_DRIVER_ABI; any other value is rejected.
 *
 * Text is UTF-8 and NUL-terminated. The SDK copies everything you pass before the call returns.
 * Each function or struct below says how long the data that it hands out stays valid. A call that
 * fails returns a negative number. If it has a `message` parameter, it writes an error message
 * there, cut at `message_size`. Pass NULL and 0 if you don't need the message.
 *
 * Threads. Callbacks run on the thread that called dp_driver_run(), one at a time. The driver
 * serves nothing else while a callback runs, so do slow work on another thread (see DP_LATER).
 * Functions marked "Any thread" are thread-safe; call all others only from callbacks, or before
 * dp_driver_run(). Make sure that no other thread is inside the SDK when you call dp_driver_free().
 */
#ifndef DEVPLANE_DRIVER_H
#define DEVPLANE_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DP_DRIVER_ABI       1
#define DP_DRIVER_ABI_MINOR 1 /* what the structs of this header have; never checked */

struct dp_driver;

/* --- devices -------------------------------------------------------------------------- */

enum {
	DP_HEALTHY = 0,
	DP_UNHEALTHY = 1,
	DP_UNKNOWN = 2,
	/* Omitted from reports. Clients then time out to Unknown. */
	DP_UNREPORTED = 3,
};

enum { DP_STRING = 0, DP_INT = 1, DP_BOOL = 2, DP_VERSION = 3 /* SemVer 2.0.0 */ };

struct dp_attribute {
	uint32_t size;
	uint32_t type; /* DP_STRING .. */
	const char *name; /* "model", or "example.com/model" */
	const char *text; /* value of a string or version */
	int64_t number; /* value of an integer, or 0 or 1 for a boolean */
};

struct dp_capacity {
	uint32_t size;
	uint32_t reserved;
	const char *name; /* "memory" */
	const char *quantity; /* "40Gi" */
	/* --- ABI 1.0 ends here --- */
	/*
	 * The amounts that claims may consume of a shared device (KEP-5075); only with
	 * `allow_multiple`. NULL: not set. The amount of a claim is rounded up to one of
	 * `valid_values` (at most 10, in ascending order), or to `min` plus a multiple of `step` up
	 * to `max`; a capacity has one of the two, or neither. A claim that requests no amount gets
	 * `default_quantity`, which both need. Without any of these the claim gets all of it.
	 */
	const char *default_quantity;
	const char *const *valid_values; /* ended by NULL */
	const char *min, *max, *step;
};

/* An amount of a counter: what a set has, or what a device consumes. */
struct dp_counter {
	uint32_t size;
	uint32_t reserved;
	const char *name; /* DNS label: "memory-slice-0" */
	const char *quantity; /* "40Gi", "1" */
};

/*
 * Counters that devices of one pool share, such as the memory of a GPU that can be divided in
 * different ways (KEP-4815). A device can be allocated while the counters that it consumes suffice.
 */
struct dp_counter_set {
	uint32_t size;
	uint32_t ncounters; /* 1 to 32 */
	const char *pool; /* NULL: the node's pool */
	const char *name; /* DNS label, unique in the pool */
	const struct dp_counter *counters;
};

/* A device's consumption from one counter set of its pool. */
struct dp_counter_use {
	uint32_t size;
	uint32_t ncounters; /* 1 to 32 */
	const char *set;
	const struct dp_counter *counters;
};

struct dp_taint {
	uint32_t size;
	uint32_t reserved;
	const char *key, *value; /* value may be NULL */
	const char *effect; /* "NoSchedule", "NoExecute" or "None" */
	/* --- ABI 1.0 ends here --- */
	int64_t time_added; /* unix seconds; 0: when it was first published, which is kept */
};

struct dp_device {
	uint32_t size;
	uint32_t health; /* DP_HEALTHY .. */
	const char *name; /* DNS label; for device plugins, the device ID */
	const char *pool; /* NULL: the node's pool, which is named like the node */
	const struct dp_attribute *attributes;
	const struct dp_capacity *capacity;
	const struct dp_taint *taints;
	uint32_t nattributes, ncapacity, ntaints;
	uint32_t health_timeout_s; /* how long a report is valid; 0: the driver's default */
	const char *message; /* explains its health; may be NULL */
	int32_t has_numa, numa; /* device plugins: the NUMA node, when has_numa is not 0 */
	/* --- ABI 1.0 ends here --- */
	const struct dp_counter_use *consumes; /* 2 at most, each from a different set */
	uint32_t nconsumes;
	uint32_t allow_multiple; /* nonzero: several claims may share it (KEP-5075) */
	/*
	 * The nodes that can use the device, if they differ from those of its pool: at most one of
	 * the three. `node_selector` is a v1 NodeSelector with one term, as JSON.
	 */
	const char *node_name, *node_selector;
	uint32_t all_nodes; /* nonzero: yes */
	/*
	 * Nonzero: a claim that gets the device can be used only on the node that it was allocated
	 * for, although others could reach the device.
	 */
	uint32_t binds_to_node;
	/*
	 * Types of conditions in the claim's device status (KEP-5007). The pod waits until the
	 * former are True, and is scheduled anew if one of the latter is. Ended by NULL, at most 4
	 * each; give both or neither.
	 */
	const char *const *binding_conditions, *const *binding_failure_conditions;
	/* --- append below --- */
};

/*
 * A pool that other nodes can reach as well, such as one of devices on a fabric. The driver of one
 * node publishes it; drivers of other nodes list it with `prepare_only`.
 */
struct dp_pool {
	uint32_t size;
	uint32_t all_nodes; /* nonzero: every node; else `node_selector` is required */
	const char *name; /* DNS subdomains joined by '/'; not the name of the node */
	const char *node_selector; /* a v1 NodeSelector with one term, as JSON */
	/* Nonzero: this driver prepares the pool's devices, and publishes no slices of it. */
	uint32_t prepare_only;
	uint32_t reserved;
};

/* All that a driver offers. */
struct dp_inventory {
	uint32_t size;
	uint32_t flags; /* 0 */
	const struct dp_device *devices;
	uint64_t ndevices;
	const struct dp_counter_set *sets;
	uint64_t nsets;
	/*
	 * Pools that are not listed here belong to the node alone. To delete the slices of such a
	 * pool, list it without devices.
	 */
	const struct dp_pool *pools;
	uint64_t npools;
};

/*
 * Replaces the inventory: devices with their health, counter sets and pools. Returns -1 if it is
 * invalid; nothing changes then. Any thread.
 */
int dp_driver_set_inventory(struct dp_driver *d, const struct dp_inventory *inventory,
			    char *message, size_t message_size);

/*
 * The simple form of dp_driver_set_inventory(), without counter sets and pools: replaces the list
 * of devices and their health. Returns -1 if a device is invalid; nothing changes then. Any thread.
 */
int dp_driver_set_devices(struct dp_driver *d, const struct dp_device *v, size_t n, char *message,
			  size_t message_size);

/*
 * Sets the health of one device, and reports it to all watching clients at once. `pool` may be NULL
 * for the node's pool, `message` may be NULL. The message is reported with any health: a device
 * that is DP_HEALTHY with a message works, but not as well as it should. Returns -1 if `health` is
 * not a valid value or `device` is NULL. An unknown device is only logged. Any thread.
 */
int dp_driver_set_health(struct dp_driver *d, const char *pool, const char *device, uint32_t health,
			 const char *message);

/*
 * Replaces the taints of one device, and publishes them. `pool` may be NULL for the node's pool.
 * Returns -1 if a taint is invalid; nothing changes then. An unknown device is only logged. Any
 * thread.
 */
int dp_driver_set_taints(struct dp_driver *d, const char *pool, const char *device,
			 const struct dp_taint *v, size_t n, char *message, size_t message_size);

/* 1 stops all reports, including repeated ones; 0 resumes with a report at once. Any thread. */
void dp_driver_pause_health(struct dp_driver *d, uint32_t paused);

/* --- container edits -------------------------------------------------------------------- */

struct dp_node {
	uint32_t size;
	uint32_t reserved;
	const char *path; /* in the container: "/dev/gpu0" */
	const char *host_path; /* NULL: same as `path` */
	const char *permissions; /* a combination of r, w and m; NULL: "rw" */
	/* --- ABI 1.0 ends here --- */
	/*
	 * The runtime reads type and numbers from the host's node if they are not given. Give them
	 * if the host may lack the node.
	 */
	const char *type; /* "c", "b" or "p"; NULL: not given */
	int64_t major, minor; /* when has_numbers is not 0; they need a type of "c" or "b" */
	uint32_t has_numbers;
	uint32_t has_mode, mode; /* permission bits in the container, such as 0666 */
	uint32_t has_owner, uid, gid; /* in the container */
};

struct dp_mount {
	uint32_t size;
	uint32_t read_only; /* nonzero: yes */
	const char *path; /* in the container */
	const char *host_path;
};

/* A program that the runtime executes on the host. Not for device plugins. */
struct dp_hook {
	uint32_t size;
	uint32_t timeout_s; /* 0: the runtime's default */
	/*
	 * "prestart", "createRuntime", "createContainer", "startContainer", "poststart" or
	 * "poststop".
	 */
	const char *name;
	const char *path; /* absolute */
	const char *const *args; /* args[0] is the program's name; ended by NULL; may be NULL */
	const char *const *env; /* "NAME=VALUE" strings, ended by NULL; may be NULL */
};

struct dp_edits {
	uint32_t size;
	uint32_t nnodes, nmounts, reserved;
	const char *const *env; /* "NAME=VALUE" strings, ended by NULL; may be NULL */
	const struct dp_node *nodes;
	const struct dp_mount *mounts;
	/* --- ABI 1.0 ends here --- */
	const struct dp_hook *hooks;
	uint64_t nhooks;
};

/*
 * Writes a CDI file for one device, for edits that don't depend on the claim. The file stays until
 * dp_driver_remove_cdi(). Stores its CDI name, "k8s.DRIVER/device=NAME", in `id`, which must have
 * at least 256 bytes. Any thread.
 */
int dp_driver_write_cdi(struct dp_driver *d, const char *device, const struct dp_edits *e, char *id,
			size_t id_size, char *message, size_t message_size);
/* Deletes that file. Returns 0 also if it does not exist. Any thread. */
int dp_driver_remove_cdi(struct dp_driver *d, const char *device);

/* --- claims: DRA ------------------------------------------------------------------------ */

/*
 * A claim to prepare or unprepare. It is valid until the callback returns, or after DP_LATER until
 * dp_claim_done(); so is everything that you read from it. Only one thread may use it at a time.
 */
struct dp_claim;

enum { DP_FROM_CLASS = 0, DP_FROM_CLAIM = 1 };

/*
 * Opaque parameters for this driver, as JSON, from a DeviceClass or from the claim. Parameters for
 * other drivers are left out.
 */
struct dp_opaque {
	uint32_t size;
	uint32_t source; /* DP_FROM_CLASS .. */
	const char *parameters;
	/* --- ABI 1.0 ends here --- */
	uint32_t named; /* nonzero: it is for this request by name; 0: for all requests */
	uint32_t reserved;
};

/* One device that was allocated for the claim. */
struct dp_result {
	uint32_t size;
	uint32_t admin; /* nonzero: adminAccess; others may use the device at the same time */
	const char *request; /* without the name of the subrequest */
	const char *subrequest; /* or NULL */
	const char *pool, *device;
	const char *share_id; /* or NULL */
	/* The configs of this request in ascending precedence: the last one wins. */
	const struct dp_opaque *const *configs;
	uint64_t nconfigs;
	/* --- ABI 1.0 ends here --- */
	/* The amounts that the claim consumes of a shared device. Also known in unprepare(). */
	const struct dp_capacity *consumed;
	uint64_t nconsumed;
	/* Those of the device at allocation; ended by NULL, or NULL. Also known in unprepare(). */
	const char *const *binding_conditions, *const *binding_failure_conditions;
};

const char *dp_claim_namespace(const struct dp_claim *c);
const char *dp_claim_name(const struct dp_claim *c);
const char *dp_claim_uid(const struct dp_claim *c);

/* The claim's devices that belong to this driver. In unprepare() they have no configs. */
size_t dp_claim_count(const struct dp_claim *c);
const struct dp_result *dp_claim_result(const struct dp_claim *c, size_t i); /* NULL: no such */

/*
 * A consumer that the claim is reserved for, such as a pod. Known in prepare() only. If your
 * devices support a single user, reject claims with several consumers, and set
 * DP_FLAG_PREPARE_AGAIN to see consumers that are added later.
 */
struct dp_consumer {
	uint32_t size;
	uint32_t reserved;
	const char *api_group; /* "" for pods */
	const char *resource; /* "pods" */
	const char *name, *uid;
};
size_t dp_claim_consumer_count(const struct dp_claim *c);
const struct dp_consumer *dp_claim_consumer(const struct dp_claim *c, size_t i); /* NULL: no such */

/* Adds edits for containers that use result `i`, through the claim's own CDI file. */
int dp_claim_edit(struct dp_claim *c, size_t i, const struct dp_edits *e);
/* Adds a CDI device by name, such as an `id` from dp_driver_write_cdi(). */
int dp_claim_add_cdi(struct dp_claim *c, size_t i, const char *id);
/* Sets the error message. Returns -1, so you can write `return dp_claim_fail(..)`. */
int dp_claim_fail(struct dp_claim *c, const char *message);

/* Returned by a callback that will complete later, with dp_claim_done(). */
#define DP_LATER 1
/* Completes a claim after DP_LATER: 0, or negative for failure. Frees the claim. Any thread. */
void dp_claim_done(struct dp_claim *c, int result);

/* --- device status in claims ------------------------------------------------------------ */

enum { DP_FALSE = 0, DP_TRUE = 1, DP_UNKNOWN_CONDITION = 2 };

/* The SDK maintains lastTransitionTime. */
struct dp_condition {
	uint32_t size;
	uint32_t status; /* DP_FALSE .. */
	const char *type; /* "Ready": the device is configured as the claim and class want it */
	const char *reason; /* one CamelCase word: "LinkDown" */
	const char *message; /* for people; may be NULL */
};

/* The claim's status entry for one of its devices. NULL and 0 mean "not set". */
struct dp_device_status {
	uint32_t size;
	uint32_t nconditions, nips, reserved;
	const char *pool; /* NULL: the node's pool */
	const char *device;
	const char *share_id;
	const struct dp_condition *conditions; /* 8 at most */
	const char *data; /* a JSON object, at most 10 KiB */
	const char *interface_name; /* of a network device, in the pod */
	const char *const *ips; /* "192.0.2.5/24" .., 16 at most */
	const char *hardware_address;
};

struct dp_claim_id {
	uint32_t size;
	uint32_t reserved;
	const char *ns, *name, *uid;
};

/*
 * Sets a device's entry in the claim's status.devices (KEP-4817), replacing the entry before. The
 * SDK writes it in the background, without touching other drivers' entries, and retries until it
 * succeeds. It stops retrying when the claim, or the device in it, is gone. Only the latest entry
 * per device is sent, and only if it differs from what the server has. Each claim may have 20
 * updates in a row, then ten per second. Returns -1 if the entry is invalid (limits, formats);
 * nothing changes then. Any thread, also from prepare().
 */
int dp_driver_set_status(struct dp_driver *d, const struct dp_claim_id *claim,
			 const struct dp_device_status *s, char *message, size_t message_size);

/* Removes all of this driver's entries from the claim, in the same way. Any thread. */
void dp_driver_clear_status(struct dp_driver *d, const struct dp_claim_id *claim);

/*
 * Calls `fn` for every prepared claim, including those prepared before a restart of the driver.
 * These claims have no configs and no consumers. Call it from callbacks only; `registered` is the
 * first callback that sees all of them.
 */
void dp_driver_each_claim(struct dp_driver *d, void (*fn)(void *arg, const struct dp_claim *c),
			  void *arg);

/* --- allocation: device plugins -------------------------------------------------------- */

/* The devices that one container gets. Valid until the callback returns. */
struct dp_allocation;

size_t dp_allocation_count(const struct dp_allocation *a);
const char *dp_allocation_device(const struct dp_allocation *a, size_t i); /* NULL: no such */
int dp_allocation_edit(struct dp_allocation *a, const struct dp_edits *e);
int dp_allocation_fail(struct dp_allocation *a, const char *message);

/* --- the driver ------------------------------------------------------------------------ */

enum { DP_MODE_DRA = 0, DP_MODE_PLUGIN = 1 };

enum {
	DP_HEALTH_V1 = 1, /* v1.DRAResourceHealth */
	DP_HEALTH_V1ALPHA1 = 2, /* v1alpha1.DRAResourceHealth */
	DP_HEALTH_NODE = 4, /* v1alpha1.NodeHealth */
	DP_HEALTH_ALL = 7,
};

enum {
	/* dp_driver_run() ends at SIGTERM and SIGINT. */
	DP_FLAG_SIGNALS = 1,
	/* Disables the DRA health services. */
	DP_FLAG_NO_HEALTH = 2,
	/* Adds the taint DRIVER/unhealthy:NoSchedule to unhealthy devices in ResourceSlices. */
	DP_FLAG_TAINT_UNHEALTHY = 4,
	/* Publishes no ResourceSlices. */
	DP_FLAG_NO_SLICES = 8,
	/*
	 * Calls prepare() on every request of the kubelet, even if the claim is already prepared.
	 * It gets the current claim, which may have different consumers. If it fails, the claim
	 * stays prepared.
	 */
	DP_FLAG_PREPARE_AGAIN = 16,
};

/* Also defined in devplane/scheduler.h; a program may include both. */
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

/* Samples for one scrape of /metrics. Valid until the callback returns. */
struct dp_metrics;

enum { DP_COUNTER = 0, DP_GAUGE = 1 };

/*
 * Adds a sample. `labels` has names and values in turn, and ends with NULL: { "gpu", "0", NULL };
 * it may be NULL. All samples of a name have the same `help` and `type`; those of the first count.
 * Returns -1 and adds nothing if the name, the type or a label is not valid, if there is such a
 * sample already, or if there are more than 16384 samples. Names must not begin with "devplane_".
 */
int dp_metrics_add(struct dp_metrics *m, const char *name, const char *help, uint32_t type,
		   const char *const *labels, double value);

/* Zero means the default. */
struct dp_driver_config {
	uint32_t size;
	uint32_t abi; /* DP_DRIVER_ABI */
	uint32_t mode; /* DP_MODE_DRA .. */
	uint32_t flags; /* DP_FLAG_* */
	const char *name; /* "gpu.example.com"; for device plugins, the name of the socket */
	const char *node_name; /* required for DRA */
	const char *kubeconfig; /* NULL: $KUBECONFIG, ~/.kube/config or the pod's account */
	const char *root_dir; /* the kubelet's folder; default /var/lib/kubelet */
	const char *cdi_dir; /* default /var/run/cdi */
	const char *resource; /* required for device plugins: "example.com/gpu" */
	/*
	 * For rolling updates: a string that differs between two instances of the driver that run
	 * at the same time, such as the pod's UID. The instances then use different sockets, and
	 * prepare one after the other. The ResourceSlices of the newer instance win.
	 */
	const char *instance;
	uint32_t health_dialects; /* DP_HEALTH_*; default all */
	uint32_t health_timeout_s; /* how long a report is valid; default 30 */
	uint32_t heartbeat_ms; /* DRA: repeats reports; default a third of the timeout */
	uint32_t tick_ms; /* interval of `tick` calls; 0: never */

	void *arg; /* first argument of the callbacks */

	/*
	 * Makes the claim's devices usable. Returns 0, DP_LATER, or negative on failure. Must be
	 * idempotent: it is called again after a reboot, if the claim's CDI file is gone, and if
	 * the driver ended in the middle of it.
	 */
	int (*prepare)(void *arg, struct dp_claim *c);
	/* Undoes prepare(), also after one that failed. NULL: nothing to undo. */
	int (*unprepare)(void *arg, struct dp_claim *c);
	/* Device plugins: adds edits for a container. Returns 0, or negative on failure. */
	int (*allocate)(void *arg, struct dp_allocation *a);
	/* The kubelet (or node agent) accepted (1) or rejected (0, see message) us. May be NULL. */
	void (*registered)(void *arg, uint32_t yes, const char *message);
	/* Called every tick_ms: check the devices, and report changes. May be NULL. */
	void (*tick)(void *arg);
	/* Gets one line per log message. NULL: lines go to stderr, except those of DP_LOG_DEBUG. */
	void (*log)(void *arg, uint32_t level, const char *line);
	/* --- ABI 1.0 ends here --- */
	/*
	 * Serves HTTP at "127.0.0.1:9400", "[::]:9400" or "unix:/run/gpu.sock": /metrics, /healthz
	 * (200 while the driver runs) and /readyz (200 while it is registered and its slices are
	 * published). Port 0 picks a free one, which is logged. NULL: no HTTP.
	 */
	const char *metrics_address;
	/* Adds the driver's own samples to a scrape, with dp_metrics_add(). May be NULL. */
	void (*metrics)(void *arg, struct dp_metrics *m);
	/* --- append below --- */
};

/* Only checks the configuration. On failure *ret_driver is unchanged. */
int dp_driver_new(const struct dp_driver_config *config, struct dp_driver **ret_driver,
		  char *message, size_t message_size);

/*
 * Opens the sockets and serves until dp_driver_stop() or a signal. Then it finishes the claims in
 * progress and removes the socket files; ResourceSlices and CDI files stay. Returns 0, or -1 with
 * `message` if it could not start.
 */
int dp_driver_run(struct dp_driver *d, char *message, size_t message_size);

/* Makes dp_driver_run() return. Any thread, also from callbacks. */
void dp_driver_stop(struct dp_driver *d);

/* NULL allowed. Not while dp_driver_run() is running. */
void dp_driver_free(struct dp_driver *d);

#ifdef __cplusplus
}
#endif

#endif
