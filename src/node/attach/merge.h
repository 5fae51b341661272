/*
 * attach_merge - joins a kubelet's replies and the API into changes of a book (podres.h). Pure.
 *
 * A kubelet's replies name pods by namespace and name, the API has their uids; the two are joined
 * by name. The rules:
 *
 * - An entry whose pod the API has not shown yet is left for a later reply.
 * - A pod is in the book from the first reply that has it until the first List without it, whatever
 *   its phase: if the kubelet lists it, it holds its devices. One exception: a kubelet that has
 *   just restarted lists few pods or none. So a pod that is active in the API stays in the book for
 *   a grace period. Meanwhile it loses every device that a reply shows for another pod.
 * - If a pod is replaced by another one of the same name (another uid), both happen in one change,
 *   and the old pod's end comes first. Until then the entry belongs to the old pod, because a
 *   kubelet may learn of a pod later than we do. A reply is about the new pod only if the call
 *   began after we had seen it. In addition, the kubelet must have reported on it to the API
 *   before the call, or the entry must differ from the old pod's, or the grace period must be
 *   over.
 * - A List is torn (it was built while something moved) if a device or a CPU is with two pods, or
 *   if two pods have one name. It is also torn if a device is with two claims that did not have it
 *   in the last List or in the book, or if pods have more memory than there is. A torn List
 *   changes nothing and must be requested again. If that persists, the contradicting pods stay as
 *   they are and all others are updated.
 * - If a Get reply contradicts the other pods, or a pod in the book is unknown to Get, a List is
 *   needed.
 *
 * So no device and no CPU is with two pods of the book at any time, and releases are reported
 * before the things are held again (podres_set_pods()).
 *
 * Make one call at a time, and mark each with attach_merge_begin().
 * Threads: one at a time. No I/O, no clock.
 */
#ifndef NODE_ATTACH_MERGE_H
#define NODE_ATTACH_MERGE_H

#include "base/core/error.h"
#include "node/attach/hooks.h"
#include "node/book/podres.h"

struct attach_merge;

/* `grace_ms`: see above; 0: 10 s. The book must outlive it. */
struct attach_merge *attach_merge_new(struct podres *book, int64_t grace_ms);
void attach_merge_free(struct attach_merge *m); /* NULL allowed; the book keeps its state */

/* `h` is copied. Call it before the first reply. */
void attach_merge_hook(struct attach_merge *m, const struct attach_hooks *h);

/* --- the API ------------------------------------------------------------------------- */

/* A pod's progress, as the API shows it. */
enum attach_life {
	ATTACH_COMING, /* the kubelet has not reported on it yet */
	ATTACH_STARTING, /* the kubelet has reported on it */
	ATTACH_RUNNING,
	ATTACH_ENDED,
};

struct attach_pod_info {
	struct str uid, ns, name;
	enum attach_life life;
	bool deleting; /* its deletion was requested */
};

/* A pod of this node was added or has changed. -ERR_TOO_LARGE: too many pods; it is left out. */
int attach_merge_pod(struct attach_merge *m, const struct attach_pod_info *info, int64_t now_ms,
		     struct error *err);

/* The pod is deleted. */
void attach_merge_pod_gone(struct attach_merge *m, struct str uid);

/*
 * Whether no further change is expected: the pod is in the book and runs, or has ended and is out
 * of the book. True for an unknown uid.
 */
bool attach_merge_settled(const struct attach_merge *m, struct str uid);

/*
 * Walks the pods that are not settled, by uid; start with an empty *at_uid. Borrowed until a
 * change.
 */
bool attach_merge_next_unsettled(const struct attach_merge *m, struct str *at_uid);

/*
 * Returns the pod's namespace and name for Get, borrowed until it is deleted. Returns false if only
 * List can show its state: the pod ends, or the last List did not have it (Get also knows pods that
 * no longer hold anything).
 */
bool attach_merge_asks_get(const struct attach_merge *m, struct str uid, struct str *ret_ns,
			   struct str *ret_name);

/* --- the kubelet --------------------------------------------------------------------- */

/* A call for pods begins now. */
void attach_merge_begin(struct attach_merge *m);

enum attach_verdict {
	ATTACH_TAKEN,
	ATTACH_TORN, /* request it again soon */
	ATTACH_NEEDS_LIST, /* only for Get */
};

/* The result of a reply, with a message if it was not applied. */
struct attach_outcome {
	enum attach_verdict verdict;
	bool applied; /* also true for a torn List that was partly applied at last */
	size_t unknown; /* entries of pods that the API has not shown */
	char why[256]; /* for logs; empty if it was applied */
};

/* The reply to the call that began last. It is sorted in place (attach/order.h), and not stored. */
void attach_merge_list(struct attach_merge *m, const Podresources__ListResponse *list,
		       int64_t now_ms, struct attach_outcome *ret_outcome);

/* The same for a Get of this pod; NULL: the kubelet does not know it. */
void attach_merge_get(struct attach_merge *m, struct str uid, const Podresources__PodResources *pod,
		      int64_t now_ms, struct attach_outcome *ret_outcome);

/*
 * Whether the pods of a reply have only devices and CPUs that are in allocatable or in the book
 * already. If not, allocatable has grown: ask for it first, and then for the pods again. That way
 * the book never shows more in use than there is.
 */
bool attach_merge_foresees(const struct attach_merge *m, Podresources__PodResources *const *v,
			   size_t n);

/* Sets the node's allocatable. */
void attach_merge_allocatable(struct attach_merge *m,
			      const Podresources__AllocatableResponse *state);

#endif
