/*
 * attach - follows a kubelet from the outside, and builds a book (podres.h) that can be watched.
 *
 * The book joins the kubelet's PodResources replies with this node's pods in the API. It adds the
 * PodResources watches (KEP "Enabling Watch support in Kubelet endpoint for pod resource
 * assignment") to a kubelet that lacks them.
 *
 * Attach calls the kubelet when a pod was added, deleted or changed in the API, when the node's
 * allocatable changed, and from time to time without a reason. Reasons that come together make one
 * call: Get for one changed pod, List for several. Calls stay well below the kubelet's rate limit,
 * which all its clients share. If the kubelet rejects calls (RESOURCE_EXHAUSTED) or is away, the
 * book keeps the last known state, attach waits longer, and reports that it is behind.
 *
 * attach/merge.h decides what a reply means; it does no I/O.
 * Threads: the loop's.
 */
#ifndef NODE_ATTACH_ATTACH_H
#define NODE_ATTACH_ATTACH_H

#include "base/core/error.h"
#include "node/attach/hooks.h"
#include "node/book/podres.h"

struct attach;
struct client;
struct informer;
struct log;
struct loop;
struct metrics;

struct attach_opts {
	struct loop *loop;
	struct client *client; /* for the API server */
	const char *node_name;
	const char *kubelet_socket; /* a path */
	struct podres *book; /* must outlive attach */
	/*
	 * Called once, when the book first has a complete state: the kubelet's pods, and
	 * allocatable if the kubelet reports that. May be NULL.
	 */
	void (*on_known)(void *arg);
	void *arg;
	const struct attach_hooks *hooks; /* copied; or NULL */
	double calls_per_s; /* limit; 0: 10 */
	int64_t idle_ms; /* interval of calls without a reason; 0: 10 s */
	struct metrics *metrics; /* or NULL */
	const struct log *log;
};

int attach_new(const struct attach_opts *opts, struct attach **ret_attach, struct error *err);

/* Ends calls and watches; `done` is called once. Then free it. */
void attach_stop(struct attach *a, void (*done)(void *arg), void *arg);
void attach_free(struct attach *a); /* NULL allowed */
DEFINE_CLEANUP(attach_free, struct attach *);

/* This node's pods, and the Node alone, as the API has them. They end with attach_free(). */
struct informer *attach_pods(const struct attach *a);
struct informer *attach_node(const struct attach *a);

/*
 * For /readyz: returns 0 if the kubelet has replied and the pods are known. The message of
 * -ERR_UNAVAILABLE has since when and why it is behind.
 */
int attach_check(const struct attach *a, struct error *err);

/* The same for the kubelet's socket alone: returns 0 while it is connected. */
int attach_check_socket(const struct attach *a, struct error *err);

#endif
