/*
 * beside - the health of devices on a node whose kubelet is another program.
 *
 * Attach (attach.h) knows from the kubelet who holds which device. This adds the health of these
 * devices (KEP-4680), from the same sources that the node agent has: it opens the health streams of
 * the DRA drivers in the kubelet's plugins_registry, and the lists of device plugins that the user
 * names. Cache, expiry, statuses, events and annotation are the node agent's own (node/health,
 * node/status, node/registration).
 *
 * - Events about pods, with the node agent's reasons and text.
 * - Health in the book, from which PodResources is served.
 * - Metrics: the health of each held device, and differences to the kubelet's reports.
 * - The condition devplane.dev/DevicesHealthy, if requested. All other fields of the pod's status
 *   are the kubelet's.
 * - The Node's annotation devplane.dev/device-health, if requested.
 *
 * The kubelet's folders, drivers and plugins notice nothing but a second reader
 * (plugins_opts.beside). A pod that has ended is followed until it is deleted. In the first ten
 * seconds, a pod waits for the first reports of its devices, so that a restart is not a change of
 * health. A device of a plugin that the user did not name has no health here.
 *
 * A kubelet's allocatedResourcesStatus that differs from the driver's report for `grace_ms` is
 * counted and logged, once per change.
 * Threads: the loop's.
 */
#ifndef NODE_BESIDE_BESIDE_H
#define NODE_BESIDE_BESIDE_H

#include "base/core/error.h"
#include "node/attach/hooks.h"

struct beside;
struct client;
struct informer;
struct log;
struct loop;
struct metrics;
struct podres;

/* A device plugin whose lists are read, and its socket. See plugins_follow() for the risk. */
struct beside_plugin {
	struct str resource;
	const char *socket;
};

struct beside_opts {
	struct loop *loop;
	struct client *client;
	const char *node_name;
	const char *root_dir; /* the kubelet's */
	struct podres *book; /* that attach fills; must outlive it */
	bool messages; /* gate ResourceHealthStatusMessage */
	bool pod_condition; /* write the condition */
	bool node_annotation; /* write the annotation */
	const struct beside_plugin *plugins; /* borrowed */
	size_t nplugins;
	int64_t grace_ms; /* 0: 15 s */
	struct metrics *metrics; /* or NULL */
	const struct log *log;
};

int beside_new(const struct beside_opts *opts, struct beside **ret_beside, struct error *err);

/* For attach_opts: the book's states get health, and their devices are followed. */
struct attach_hooks beside_hooks(struct beside *b);
/* Follows the pods of this node, and the Node. The informers must live until beside_stop(). */
void beside_follow(struct beside *b, struct informer *pods, struct informer *node);

/* Whether the folder in which DRA drivers register can be read, and how many are known there. */
int beside_check_registry(const struct beside *b, struct error *err);
size_t beside_drivers(const struct beside *b);

/* Closes connections and leaves the informers; `done` is called once. Then free it. */
void beside_stop(struct beside *b, void (*done)(void *arg), void *arg);
/* The loop must run a few more turns if it was not stopped. NULL allowed. */
void beside_free(struct beside *b);

#endif
