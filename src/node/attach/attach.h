/*
 * attach - follows a kubelet from beside it: its PodResources answers, and this node's pods in the
 * API, become a book (podres.h) that can be watched.
 *
 * The kubelet is asked when there is reason to: a pod came, went or changed in the API, or the
 * node's allocatable did; and now and then without one. Reasons that come together make one call;
 * one changed pod is asked for by Get, several by List. Calls stay well below the kubelet's rate
 * limit, which all its clients share; when it refuses (RESOURCE_EXHAUSTED), or is away, the last
 * known state stands, attach waits longer, and says that it is behind.
 *
 * What an answer means is decided by attach/merge.h, which does no I/O.
 * Threads: the loop's.
 */
#ifndef NODE_ATTACH_ATTACH_H
#define NODE_ATTACH_ATTACH_H

#include "base/core/error.h"
#include "node/book/podres.h"

struct attach;
struct client;
struct log;
struct loop;
struct metrics;

struct attach_opts {
	struct loop *loop;
	struct client *client; /* of the API */
	const char *node_name;
	const char *kubelet_socket; /* a path */
	struct podres *book; /* must outlive it */
	/*
	 * The book has a whole state for the first time: the kubelet's pods and what is
	 * allocatable, if it tells that. Once. May be NULL.
	 */
	void (*on_known)(void *arg);
	void *arg;
	double calls_per_s; /* at most; 0: 10 */
	int64_t idle_ms; /* asked so often without a reason; 0: 10 s */
	struct metrics *metrics; /* or NULL */
	const struct log *log;
};

int attach_new(const struct attach_opts *opts, struct attach **ret_attach, struct error *err);

/* Calls and watches end; `done` comes once. Then free it. */
void attach_stop(struct attach *a, void (*done)(void *arg), void *arg);
void attach_free(struct attach *a); /* NULL allowed */
DEFINE_CLEANUP(attach_free, struct attach *);

/*
 * For /readyz: the kubelet has answered, the pods are known. -ERR_UNAVAILABLE says since when and
 * why it is behind.
 */
int attach_check(const struct attach *a, struct error *err);

#endif
