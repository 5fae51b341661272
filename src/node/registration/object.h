/*
 * node_object - the Node: registered, its status kept true, its lease renewed.
 *
 * As kubelet does it: created when it is not there (labels kubernetes.io/hostname, os, arch;
 * taints given by flags), an existing one is adopted, our labels merged into its own; status
 * (addresses, capacity, allocatable, conditions, nodeInfo) is patched when something changed
 * and every 5 minutes; the Lease in kube-node-lease is renewed every 10 s of its 40 s. A change
 * of devices is written at once, several within a turn or while a write is under way together.
 * Resources that are not there any more leave the status. A server that is away is tried again
 * with back-off (0.1 s to 7 s); the lease has its own. A Node that somebody deletes is not made
 * again, as kubelet does not, before the agent is started anew.
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
	const char *node_ip; /* or NULL: that of the default route, else 127.0.0.1 */
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
	const struct health *health; /* of drivers' devices; or NULL */
	const char *root_dir; /* whose file system is ephemeral-storage; NULL: none is told */
	const char *procfs; /* NULL: memory is never short */
	/* Kept from pods: "cpu=500m", "memory=1Gi"; kube-reserved and system-reserved together. */
	int64_t reserved_cpu_milli, reserved_memory;
	bool hollow; /* labelled and annotated as such */
	/*
	 * The node's object, whenever it changed: its labels and allocatable matter for
	 * admission.
	 */
	void (*on_node)(void *arg, const struct json *node);
	void *arg;
	const struct log *log;
};

/* Begins in the next turn. -ERR_INVALID for a label, taint or address that is none. */
int node_object_new(const struct node_object_opts *opts, struct node_object **ret_node,
		    struct error *err);
void node_object_free(struct node_object *n); /* NULL allowed */

/* Capacity or allocatable may have changed: look, and write when so. */
void node_object_touch(struct node_object *n);
/* The runtime's state: Ready and its message; name and version for nodeInfo. */
void node_object_set_runtime(struct node_object *n, bool ready, struct str message, struct str name,
			     struct str version);
/* The machine was read again; it must live until the next one is set. */
void node_object_set_machine(struct node_object *n, const struct machine *m);

/* Where the kubelet's API is; 0: nowhere. */
void node_object_set_port(struct node_object *n, uint16_t port);

/* The server has the Node, as far as we know. */
bool node_object_registered(const struct node_object *n);
/* Its address, as its status has it first. */
struct str node_object_ip(const struct node_object *n);
/* Allocatable, for env and admission. */
int64_t node_object_cpu_milli(const struct node_object *n);
int64_t node_object_memory(const struct node_object *n);

DEFINE_CLEANUP(node_object_free, struct node_object *);

#endif
