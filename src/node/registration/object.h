/*
 * node_object - registers the Node, keeps its status up to date, and renews its lease.
 *
 * As kubelet does:
 *
 * - A missing Node is created, with labels kubernetes.io/hostname, os, arch and the taints of
 *   flags. An existing one is adopted, and our labels are merged into it.
 * - Status (addresses, capacity, allocatable, conditions, nodeInfo) is patched when something
 *   changed, and every 5 minutes. Changes of devices are written at once; changes within one turn,
 *   or while a write is in flight, are written together. Resources that no longer exist are
 *   removed.
 * - The Lease in kube-node-lease (40 s) is renewed every 10 s.
 * - If the server is away, writes are retried with back-off (0.1 s to 7 s); the lease has its own.
 * - If someone deletes the Node, it is not created again before the agent restarts.
 *
 * Threads: the loop's.
 */
#ifndef NODE_REGISTRATION_OBJECT_H
#define NODE_REGISTRATION_OBJECT_H

#include "base/core/error.h"
#include "node/assign/assign.h"
#include "node/host/machine.h"

struct client;
struct health;
struct log;
struct loop;
struct node_object;
struct recorder;

struct node_object_opts {
	struct loop *loop;
	struct client *client;
	struct recorder *recorder;
	const char *name;
	const char *node_ip; /* NULL: the default route's, else 127.0.0.1 */
	const char *const *labels; /* "key=value" */
	size_t nlabels;
	const char *const *taints; /* "key=value:Effect" */
	size_t ntaints;
	bool register_node;
	int64_t max_pods; /* 110 */
	int64_t lease_duration_s; /* 40 */
	int64_t status_period_ms; /* 5 min */
	const struct machine *machine;
	const struct assign *assign; /* extended resources */
	const struct health *health; /* for DRA devices; or NULL */
	const char *root_dir; /* its file system is ephemeral-storage; NULL: not reported */
	/* Reserved: "cpu=500m", "memory=1Gi"; kube-reserved and system-reserved together. */
	int64_t reserved_cpu_milli, reserved_memory;
	bool hollow; /* labelled and annotated as such */
	/* Called with the Node whenever it changed: admission needs its labels and allocatable. */
	void (*on_node)(void *arg, const struct json *node);
	void *arg;
	const struct log *log;
};

/* Starts in the next turn. -ERR_INVALID for an invalid label, taint or address. */
int node_object_new(const struct node_object_opts *opts, struct node_object **ret_node,
		    struct error *err);
void node_object_free(struct node_object *n); /* NULL allowed */

/* Capacity or allocatable may have changed: check, and write if so. */
void node_object_touch(struct node_object *n);
/*
 * The health of a DRA device has changed. The annotation is written a second later, together with
 * all changes until then, so that a device whose health flaps does not cost a write each time.
 */
void node_object_touch_health(struct node_object *n);
/* The runtime's state: Ready and its message; name and version for nodeInfo. */
void node_object_set_runtime(struct node_object *n, bool ready, struct str message, struct str name,
			     struct str version);
/* The machine was read again; it must live until the next one is set. */
void node_object_set_machine(struct node_object *n, const struct machine *m);

/* The conditions MemoryPressure and DiskPressure. */
void node_object_set_pressure(struct node_object *n, bool memory, bool disk);
/* Writes an event about the Node. */
void node_object_warn(struct node_object *n, const char *reason, const char *message);

/* The port of the kubelet's API; 0: not served. */
void node_object_set_port(struct node_object *n, uint16_t port);

/* Whether the server has the Node, as far as we know. */
bool node_object_registered(const struct node_object *n);
/* The first address in its status. */
struct str node_object_ip(const struct node_object *n);
/* Allocatable, for env and admission. */
int64_t node_object_cpu_milli(const struct node_object *n);
int64_t node_object_memory(const struct node_object *n);

DEFINE_CLEANUP(node_object_free, struct node_object *);

#endif
