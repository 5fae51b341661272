/*
 * beside_impl - shared by the files behind beside.h. For src/node/beside only.
 */
#ifndef NODE_BESIDE_BESIDE_IMPL_H
#define NODE_BESIDE_BESIDE_IMPL_H

#include "base/core/map.h"
#include "base/report/metrics.h"
#include "base/time/backoff.h"
#include "client/informer/informer.h"
#include "net/loop/loop.h"
#include "node/beside/beside.h"
#include "node/beside/difference.h"
#include "node/health/health.h"
#include "node/host/machine.h"
#include "node/plugins/plugins.h"
#include "node/status/device_events.h"
#include "node/status/writer.h"
#include "podresources.pb-c.h"

struct recorder;

/* The labels of one exported device: its driver or resource, its pool, its name. */
struct beside_series {
	struct str driver, pool, device;
	enum assign_health health;
};

/* A pod that the API or the book has. */
struct beside_pod {
	struct beside *b;
	char *uid;
	struct cached *object; /* NULL: not in the API */
	/*
	 * The object while the pod ran; or NULL. It names the claims that the pod had: a controller
	 * deletes claims of a template when the pod has ended, and may make others.
	 */
	struct cached *holder;
	/* The kubelet's last state with devices, packed; NULL: it never had any. */
	char *packed;
	size_t packed_n;
	bool in_book, current; /* it is in the book; `packed` is its state there */
	bool dirty;
	char *status; /* with health, as it was made last; or NULL */
	struct beside_differences differences;
	/* Exported series. */
	struct arena series_arena;
	char *ns, *name;
	const struct beside_series *series;
	size_t nseries, left_out;
};

/* The annotation of the Node. */
struct beside_node {
	struct resource nodes;
	struct informer *informer; /* NULL: not followed */
	struct informer_handler handler;
	struct client_request request;
	struct loop_timer timer;
	struct backoff backoff;
	char *failure; /* logged last; or NULL */
};

struct beside_metrics {
	struct metrics_family *health, *differences; /* NULL: not counted */
	struct metrics_counter *changes;
	struct metrics_gauge *left_out, *differs;
	size_t nseries, nleft_out;
};

struct beside {
	struct beside_opts opts;
	char *node_name;
	struct machine machine; /* made up: the log of assignments needs one */
	struct assign *assign; /* the lists of followed device plugins; no pod is in it */
	struct assign_watcher watcher;
	struct health *health;
	struct plugins *plugins;
	struct device_events *events;
	struct recorder *recorder;
	struct status_writer *writer; /* NULL: no condition is written */
	char *refusal; /* of the writer, logged last; or NULL */
	struct map pods; /* uid to struct beside_pod */
	struct informer_handler handler;
	struct loop_task dirty_task;
	struct loop_timer expiry_timer, events_timer, settle_timer, offers_timer, differ_timer;
	bool settling;
	uint64_t counted_changes; /* part of assign_health_changes() that is counted */
	char *room; /* the kubelet's allocatable, packed; NULL: not known */
	size_t room_n;
	struct beside_node node;
	struct beside_metrics metrics;
	void (*stopped)(void *arg);
	void *stopped_arg;
};

/* --- beside.c ------------------------------------------------------------------------ */

/* Looks at all pods again, at the end of the turn. */
void beside_mark_all(struct beside *b);

/* --- beside/uses.c ------------------------------------------------------------------- */

/*
 * The devices of a pod whose health is followed, by the kubelet's state: devices of claims, and
 * devices of plugins that the user named. In `a`; borrows from state and pod.
 */
size_t beside_uses(const struct beside *b, const Podresources__PodResources *state,
		   const struct pod *pod, struct arena *a, const struct assign_use **ret_uses);
bool beside_has_devices(const Podresources__PodResources *state);

/* --- beside/theirs.c ----------------------------------------------------------------- */

/* The pod's status by the kubelet, with the ids of devices as ours have them. In `a`; or NULL. */
struct json *beside_theirs(const struct pod *pod, const struct assign_use *uses, size_t n,
			   struct arena *a);

/* --- beside/pods.c ------------------------------------------------------------------- */

void beside_pods_follow(struct beside *b, struct informer *pods);
void beside_pods_release(struct beside *b);
/* For attach_hooks. */
void beside_on_pod(void *arg, struct str uid, Podresources__PodResources *state, struct arena *a);
/* Sends the events that were held back and are due, and sets the timer for the next ones. */
void beside_events_due(struct beside *b);
/* Makes the status of each marked pod. */
void beside_pods_look(struct beside *b);

/* --- beside/room.c: allocatable ------------------------------------------------------ */

void beside_on_allocatable(void *arg, Podresources__AllocatableResponse *state, struct arena *a);
void beside_room_set(struct beside *b);

/* --- beside/node.c: the annotation --------------------------------------------------- */

void beside_node_init(struct beside *b);
void beside_node_follow(struct beside *b, struct informer *node);
/* The health of a device has changed: the annotation is written a moment later. */
void beside_node_touch(struct beside *b);
void beside_node_release(struct beside *b);

/* --- beside/metrics.c ---------------------------------------------------------------- */

void beside_metrics_init(struct beside *b);
/* Exports the health of the pod's devices; `n` 0: removes its series. */
void beside_metrics_pod(struct beside *b, struct beside_pod *p, const struct assign_use *uses,
			size_t n);
/* Compares the kubelet's report of the pod with ours; either may be NULL. */
void beside_compare(struct beside *b, struct beside_pod *p, const struct json *kubelet,
		    const struct json *ours);
/* Counts and logs differences that have lasted, and sets the timer for the next ones. */
void beside_differences_look(struct beside *b);

#endif
