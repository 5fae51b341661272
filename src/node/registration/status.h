/*
 * node_status - what a Node object should say, and how it differs from what it says. Pure.
 *
 * Fields, reasons and messages are kubelet's. What others keep in the object is left alone:
 * labels and annotations that are not ours, conditions of other types, resources that somebody
 * else advertises in the node's capacity. Which extended resources are ours is kept in an
 * annotation, so that an agent that was restarted takes back what its predecessor advertised.
 */
#ifndef NODE_REGISTRATION_STATUS_H
#define NODE_REGISTRATION_STATUS_H

#include "base/json/json.h"
#include "node/assign/assign.h"
#include "node/host/machine.h"

/* Extended resources that the agent put into capacity: names joined by ','. */
#define NODE_STATUS_RESOURCES "devplane.dev/extended-resources"
/* Label and annotation of nodes on which nothing runs. */
#define NODE_STATUS_RUNTIME_LABEL "devplane.dev/runtime"
#define NODE_STATUS_HOLLOW        "devplane.dev/hollow"

struct health;

struct node_status_input {
	struct str name, ip;
	uint16_t port; /* of the kubelet's API; 0: none */
	const char *const *labels; /* "key=value" */
	size_t nlabels;
	const char *const *taints; /* "key=value:Effect"; of a new node only */
	size_t ntaints;
	const struct machine *machine;
	const struct assign *assign;
	const struct health *health; /* or NULL: nothing is said about devices' health */
	int64_t max_pods, reserved_cpu_milli, reserved_memory;
	int64_t storage_bytes; /* of the file system that pods write to; 0: not known */
	bool memory_pressure, disk_pressure, pid_pressure;
	bool hollow;
	bool runtime_ready;
	struct str runtime_message; /* why it is not ready */
	struct str runtime_name, runtime_version;
	int64_t wall_ns;
};

/* -ERR_INVALID names the label or taint that is none. */
int node_status_check(const struct node_status_input *in, struct error *err);

/* Allocatable: what the machine has, without what is reserved, never below zero. */
int64_t node_status_cpu_milli(const struct node_status_input *in);
int64_t node_status_memory(const struct node_status_input *in);

/*
 * The object as it should be: metadata with our labels and annotations, spec with taints, and
 * status. Transition times of conditions are kept from `known`, the Node that the server has
 * (or NULL).
 */
struct json *node_status_make(struct arena *a, const struct node_status_input *in,
			      const struct json *known);

/*
 * A strategic merge patch of nodes/status that turns `known` into `wanted`; NULL when they
 * differ in heartbeats at most. Both are Nodes.
 */
struct json *node_status_patch(struct arena *a, const struct json *known,
			       const struct json *wanted);

/* A patch (NULL: of nothing else) with all conditions and their heartbeat. */
struct json *node_status_beat(struct arena *a, struct json *patch, const struct json *wanted);

/* The condition of that type; NULL when there is none. */
const struct json *node_status_condition(const struct json *node, struct str type);

#endif
