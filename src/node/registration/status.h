/*
 * node_status - builds the Node object, and its difference to the present one. Pure.
 *
 * Fields, reasons and messages are kubelet's. Data of other writers is left alone: their labels and
 * annotations, conditions of other types, and resources that they advertise in the node's capacity.
 * An annotation lists the extended resources that are ours, so that a restarted agent can remove
 * the resources that its predecessor advertised.
 */
#ifndef NODE_REGISTRATION_STATUS_H
#define NODE_REGISTRATION_STATUS_H

#include "base/json/json.h"
#include "node/assign/assign.h"
#include "node/host/machine.h"

/* Extended resources that the agent put into capacity: names joined by ','. */
#define NODE_STATUS_RESOURCES "devplane.dev/extended-resources"
/* Label and annotation of hollow nodes. */
#define NODE_STATUS_RUNTIME_LABEL "devplane.dev/runtime"
#define NODE_STATUS_HOLLOW        "devplane.dev/hollow"

struct health;

struct node_status_input {
	struct str name, ip;
	uint16_t port; /* of the kubelet's API; 0: not served */
	const char *const *labels; /* "key=value" */
	size_t nlabels;
	const char *const *taints; /* "key=value:Effect"; only for a new node */
	size_t ntaints;
	const struct machine *machine;
	const struct assign *assign;
	const struct health *health; /* NULL: device health is not reported */
	bool health_stays; /* the known Node's annotation about health is not renewed */
	int64_t max_pods, reserved_cpu_milli, reserved_memory;
	int64_t storage_bytes; /* of the file system that pods write to; 0: unknown */
	bool memory_pressure, disk_pressure, pid_pressure;
	bool hollow;
	bool runtime_ready;
	struct str runtime_message; /* why it is not ready */
	struct str runtime_name, runtime_version;
	int64_t wall_ns;
};

/* The message of -ERR_INVALID names the invalid label or taint. */
int node_status_check(const struct node_status_input *in, struct error *err);

/* Allocatable: the machine's amount minus the reserved one, at least zero. */
int64_t node_status_cpu_milli(const struct node_status_input *in);
int64_t node_status_memory(const struct node_status_input *in);

/*
 * Returns the wanted object: metadata with our labels and annotations, spec with taints, and
 * status. Transition times of conditions are kept from `known`, the server's Node (or NULL).
 */
struct json *node_status_make(struct arena *a, const struct node_status_input *in,
			      const struct json *known);

/*
 * Returns a strategic merge patch of nodes/status that turns `known` into `wanted`, or NULL if they
 * differ at most in heartbeats. Both are Nodes.
 */
struct json *node_status_patch(struct arena *a, const struct json *known,
			       const struct json *wanted);

/* Adds all conditions with their heartbeat to a patch (NULL: a new one). */
struct json *node_status_beat(struct arena *a, struct json *patch, const struct json *wanted);

/* Returns the condition of that type, or NULL. */
const struct json *node_status_condition(const struct json *node, struct str type);

#endif
