/*
 * devplane driver SDK - write a DRA driver with device health, or a device plugin, in C.
 *
 * A driver says which devices a node has and what a container needs to use one; the SDK does
 * the rest. It registers with the kubelet (or with devplane's node agent), answers
 * NodePrepareResources and NodeUnprepareResources in v1 and v1beta1, fetches and checks the
 * claims, remembers in a file which are prepared, writes CDI files, publishes ResourceSlices
 * and keeps them as they should be, and reports health to every client that watches, in all
 * dialects, again and again before the time-out:
 *
 *	struct dp_driver_config config = { .size = sizeof(config), .abi = DP_DRIVER_ABI, .. };
 *
 *	dp_driver_new(&config, &driver, message, sizeof(message));
 *	dp_driver_set_devices(driver, devices, count, message, sizeof(message));
 *	dp_driver_run(driver);
 *	dp_driver_free(driver);
 *
 * ABI. Structs grow at their end only. `size` comes first: what the caller was compiled with.
 * Of an array it is the distance between its elements, which all have the same. What lies beyond
 * it is taken for zero, and zero means the default. `abi` is DP_DRIVER_ABI; another is refused.
 *
 * Text is UTF-8 and ends with a NUL. What a driver gives is copied before the call returns; what
 * it is given lives as long as is said. A call that fails returns a negative number and, where
 * it has `message`, a sentence (cut at `message_size`; NULL and 0: not wanted).
 *
 * Threads. Callbacks come on the thread that is in dp_driver_run(), one at a time; while one
 * runs nothing else is served, so what takes long belongs to another thread (see DP_LATER).
 * Functions may be called on any thread where it is said, else on that thread, or on any
 * before dp_driver_run(). Between dp_driver_free() and the calls of other threads order is
 * the driver's business.
 */
#ifndef DEVPLANE_DRIVER_H
#define DEVPLANE_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DP_DRIVER_ABI 1

struct dp_driver;

/* --- devices -------------------------------------------------------------------------- */

enum {
	DP_HEALTHY = 0,
	DP_UNHEALTHY = 1,
	DP_UNKNOWN = 2,
	/* Left out of reports, so that whoever watches comes to Unknown by himself. */
	DP_UNREPORTED = 3,
};

enum { DP_STRING = 0, DP_INT = 1, DP_BOOL = 2, DP_VERSION = 3 /* SemVer 2.0.0 */ };

struct dp_attribute {
	uint32_t size;
	uint32_t type; /* DP_STRING .. */
	const char *name; /* "model", or "example.com/model" */
	const char *text; /* of a string or version */
	int64_t number; /* of an integer; of a boolean 0 or 1 */
};

struct dp_capacity {
	uint32_t size;
	uint32_t reserved;
	const char *name; /* "memory" */
	const char *quantity; /* "40Gi" */
};

struct dp_taint {
	uint32_t size;
	uint32_t reserved;
	const char *key, *value; /* value may be NULL */
	const char *effect; /* "NoSchedule", "NoExecute" or "None" */
};

struct dp_device {
	uint32_t size;
	uint32_t health; /* DP_HEALTHY .. */
	const char *name; /* DNS label; of a device plugin its id */
	const char *pool; /* NULL: the node's own, which has the node's name */
	const struct dp_attribute *attributes;
	const struct dp_capacity *capacity;
	const struct dp_taint *taints;
	uint32_t nattributes, ncapacity, ntaints;
	uint32_t health_timeout_s; /* a report is good for so long; 0: the driver's */
	const char *message; /* about its health; NULL: none */
	int32_t has_numa, numa; /* device plugins: the NUMA node, when has_numa is not 0 */
	/* --- ABI 1 ends here; append below --- */
};

/*
 * From now on these are all devices, with this health. -1 when one cannot be: nothing has
 * changed then. Any thread.
 */
int dp_driver_set_devices(struct dp_driver *d, const struct dp_device *v, size_t n, char *message,
			  size_t message_size);

/*
 * The state of one device, told at once to all who watch. `pool` NULL: the node's own.
 * -1 for a health that is none; a device that there is not is reported to `log`.
 * Any thread.
 */
int dp_driver_set_health(struct dp_driver *d, const char *pool, const char *device, uint32_t health,
			 const char *message);

/* 1: no reports, no heartbeat; 0: on again, with a report at once. Any thread. */
void dp_driver_pause_health(struct dp_driver *d, uint32_t paused);

/* --- what a container gets -------------------------------------------------------------- */

struct dp_node {
	uint32_t size;
	uint32_t reserved;
	const char *path; /* in the container: "/dev/gpu0" */
	const char *host_path; /* NULL: the same */
	const char *permissions; /* of r, w, m; NULL: "rw" */
};

struct dp_mount {
	uint32_t size;
	uint32_t read_only; /* not 0: yes */
	const char *path; /* in the container */
	const char *host_path;
};

struct dp_edits {
	uint32_t size;
	uint32_t nnodes, nmounts, reserved;
	const char *const *env; /* "NAME=VALUE" .., NULL; or NULL */
	const struct dp_node *nodes;
	const struct dp_mount *mounts;
};

/*
 * Writes a CDI file that lasts, for one device, and returns in `id` (of 256 bytes or more)
 * its name: "k8s.DRIVER/device=NAME". For what does not depend on the claim. Any thread.
 */
int dp_driver_write_cdi(struct dp_driver *d, const char *device, const struct dp_edits *e, char *id,
			size_t id_size, char *message, size_t message_size);
/* 0 also when there is none. Any thread. */
int dp_driver_remove_cdi(struct dp_driver *d, const char *device);

/* --- claims: DRA ------------------------------------------------------------------------ */

/*
 * A claim that is prepared or unprepared. It, and all that it gives, lives until the callback
 * has returned; after DP_LATER until dp_claim_done(), and belongs to one thread at a time.
 */
struct dp_claim;

enum { DP_FROM_CLASS = 0, DP_FROM_CLAIM = 1 };

/* What an administrator or user wrote for this driver, as JSON. */
struct dp_opaque {
	uint32_t size;
	uint32_t source; /* DP_FROM_CLASS .. */
	const char *parameters;
};

/* One device that was allocated for the claim. */
struct dp_result {
	uint32_t size;
	uint32_t admin; /* not 0: adminAccess; others may use it at the same time */
	const char *request; /* without its subrequest */
	const char *subrequest; /* or NULL */
	const char *pool, *device;
	const char *share_id; /* or NULL */
	/* For this request, in the order in which they count: the last has the last word. */
	const struct dp_opaque *const *configs;
	uint64_t nconfigs;
};

const char *dp_claim_namespace(const struct dp_claim *c);
const char *dp_claim_name(const struct dp_claim *c);
const char *dp_claim_uid(const struct dp_claim *c);

/* Its devices that are this driver's. At unprepare without configs. */
size_t dp_claim_count(const struct dp_claim *c);
const struct dp_result *dp_claim_result(const struct dp_claim *c, size_t i); /* NULL: no such */

/*
 * Who the claim is reserved for: pods, by name and uid. Known at prepare only. A device that bears
 * one user refuses a claim that has several, and wants DP_FLAG_PREPARE_AGAIN.
 */
struct dp_consumer {
	uint32_t size;
	uint32_t reserved;
	const char *api_group; /* "" of pods */
	const char *resource; /* "pods" */
	const char *name, *uid;
};
size_t dp_claim_consumer_count(const struct dp_claim *c);
const struct dp_consumer *dp_claim_consumer(const struct dp_claim *c, size_t i); /* NULL: no such */

/* Adds to what a container with result `i` gets, by the claim's own CDI file. */
int dp_claim_edit(struct dp_claim *c, size_t i, const struct dp_edits *e);
/* Adds a CDI device by its name, such as dp_driver_write_cdi() gives. */
int dp_claim_add_cdi(struct dp_claim *c, size_t i, const char *id);
/* What to say when it fails. Returns -1, so that a callback can end with it. */
int dp_claim_fail(struct dp_claim *c, const char *message);

/* A callback's answer that is still to come. */
#define DP_LATER 1
/* The answer, 0 or negative, after DP_LATER; the claim is gone then. Any thread. */
void dp_claim_done(struct dp_claim *c, int result);

/* --- what a claim's status says of a device --------------------------------------------- */

enum { DP_FALSE = 0, DP_TRUE = 1, DP_UNKNOWN_CONDITION = 2 };

/* When it last changed the SDK knows. */
struct dp_condition {
	uint32_t size;
	uint32_t status; /* DP_FALSE .. */
	const char *type; /* "Ready": the device is configured as the claim and class want it */
	const char *reason; /* one word, "LinkDown" */
	const char *message; /* for people; NULL: none */
};

/* The claim's entry for one of its devices. NULL and 0: not said. */
struct dp_device_status {
	uint32_t size;
	uint32_t nconditions, nips, reserved;
	const char *pool; /* NULL: the node's own */
	const char *device;
	const char *share_id;
	const struct dp_condition *conditions; /* 8 at most */
	const char *data; /* a JSON object of 10 KiB at most */
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
 * From now on the claim's status shall say this of the device: the entry is replaced. It is
 * written at once and in the background, again and again until it is, without touching what other
 * drivers wrote; the last word counts, and nothing is written when it is there already. Of a flood
 * of words about one claim ten in a second are written. Given up when the claim, or the device in
 * it, is gone. -1 when it cannot be an entry (limits, formats),
 * and nothing has changed. Any thread, also from prepare().
 */
int dp_driver_set_status(struct dp_driver *d, const struct dp_claim_id *claim,
			 const struct dp_device_status *s, char *message, size_t message_size);

/* The same for the absence of all of this driver's entries in the claim. Any thread. */
void dp_driver_clear_status(struct dp_driver *d, const struct dp_claim_id *claim);

/*
 * Calls `fn` for every claim that is prepared, also before the driver was started anew; without
 * configs and consumers. From callbacks only: `registered` is the first that finds them all.
 */
void dp_driver_each_claim(struct dp_driver *d, void (*fn)(void *arg, const struct dp_claim *c),
			  void *arg);

/* --- allocation: device plugins -------------------------------------------------------- */

/* Devices that one container gets; lives until the callback has returned. */
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
	/* Tells no health: the services are not there. */
	DP_FLAG_NO_HEALTH = 2,
	/* A device that is Unhealthy has the taint DRIVER/unhealthy:NoSchedule in its slice. */
	DP_FLAG_TAINT_UNHEALTHY = 4,
	/* Publishes no ResourceSlices. */
	DP_FLAG_NO_SLICES = 8,
	/*
	 * prepare() is called whenever the claim is to be prepared, also when it is already, with
	 * the claim as it is then: it may have another consumer. When it fails the claim stays
	 * prepared.
	 */
	DP_FLAG_PREPARE_AGAIN = 16,
};

/* The same in devplane/scheduler.h: a program may include both. */
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

/* Zero means the default. */
struct dp_driver_config {
	uint32_t size;
	uint32_t abi; /* DP_DRIVER_ABI */
	uint32_t mode; /* DP_MODE_DRA .. */
	uint32_t flags; /* DP_FLAG_* */
	const char *name; /* "gpu.example.com": the driver; of a device plugin its socket's name */
	const char *node_name; /* required for DRA */
	const char *kubeconfig; /* NULL: $KUBECONFIG, ~/.kube/config or the pod's account */
	const char *root_dir; /* the kubelet's; /var/lib/kubelet */
	const char *cdi_dir; /* /var/run/cdi */
	const char *resource; /* device plugins: "example.com/gpu"; required */
	/*
	 * Rolling updates: something that differs between two instances of the driver that run
	 * at the same time, such as the pod's uid. Their sockets then have different names, they
	 * prepare one after the other, and the newer one's ResourceSlices stand.
	 */
	const char *instance;
	uint32_t health_dialects; /* DP_HEALTH_*; all of them */
	uint32_t health_timeout_s; /* of reports; 30 */
	uint32_t heartbeat_ms; /* between reports without news; a third of the time-out */
	uint32_t tick_ms; /* between two calls of `tick`; 0: none */

	void *arg; /* of the callbacks */

	/*
	 * Makes the devices of the claim usable. 0, DP_LATER, or negative. Called again for a
	 * claim that was being prepared when the driver ended, or whose CDI file is gone, and
	 * after a reboot.
	 */
	int (*prepare)(void *arg, struct dp_claim *c);
	/* The opposite; also of a claim whose prepare failed. NULL: nothing is to be done. */
	int (*unprepare)(void *arg, struct dp_claim *c);
	/* Device plugins: what the container needs. 0 or negative. */
	int (*allocate)(void *arg, struct dp_allocation *a);
	/* Whoever manages the node has taken the driver in (1), or not (0) and why. Or NULL. */
	void (*registered)(void *arg, uint32_t yes, const char *message);
	/* Every tick_ms: look at the devices, say what changed. Or NULL. */
	void (*tick)(void *arg);
	/* What is worth knowing; one line. NULL: to standard error, but for DP_LOG_DEBUG. */
	void (*log)(void *arg, uint32_t level, const char *line);
	/* --- ABI 1 ends here; append below --- */
};

/* Checks the configuration; nothing is opened yet. *ret_driver is untouched on failure. */
int dp_driver_new(const struct dp_driver_config *config, struct dp_driver **ret_driver,
		  char *message, size_t message_size);

/*
 * Opens the sockets and serves until dp_driver_stop() or a signal; claims that are under way
 * end first. Socket files are gone afterwards, slices and CDI files stay. 0, or -1 with
 * `message` when it could not begin.
 */
int dp_driver_run(struct dp_driver *d, char *message, size_t message_size);

/* Any thread, and from callbacks. */
void dp_driver_stop(struct dp_driver *d);

/* NULL allowed. Not while it runs. */
void dp_driver_free(struct dp_driver *d);

#ifdef __cplusplus
}
#endif

#endif
