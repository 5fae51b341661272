/*
 * attach_merge - what a kubelet's answers and the API together say of a node's pods, as changes of
 * a book (podres.h). Pure: no I/O, no clock; whoever makes the calls says when.
 *
 * A kubelet's answers name pods by namespace and name, the API knows their uids; the two are joined
 * by name. The rules:
 *
 *  - An entry whose pod the API has not shown is left for a later answer.
 *  - A pod is in the book from the first answer that shows it to the first List without it,
 *    whatever its phase: what the kubelet shows, it holds. One exception: a kubelet that has just
 *    restarted shows few pods or none, so a pod that the API says is active stays for a time of
 *    grace with such answers. Meanwhile it gives up whatever an answer shows with another pod.
 *  - Another pod of the same name (another uid) follows in the same change as its predecessor's
 *    end, which is told first. Until then the entry is the predecessor's. An answer speaks of the
 *    new one only if the call began after it was seen here, and: the kubelet had said something of
 *    it to the API before the call; or the entry is not what the predecessor had; or the grace is
 *    over. (A kubelet may learn of a pod later than we do.)
 *  - A List in which a device or a CPU is with two pods, a device with two claims that did not have
 *    it in the last List or in the book, memory with more than there is, or that has two pods of
 *    one name, was put together while something moved: it is torn, changes nothing, and is to be
 *    asked for again. When that goes on and on, the pods that contradict each other are left as
 *    they are and all others follow.
 *  - A Get that does not go with what the other pods have, or knows nothing of a pod that is in the
 *    book: the List must be asked for.
 *
 * So no device and no CPU is with two pods of the book at any time, and what is given back is told
 * before it is taken (podres_set_pods()).
 *
 * Calls must be made one after the other, each marked by attach_merge_begin().
 * Threads: one at a time.
 */
#ifndef NODE_ATTACH_MERGE_H
#define NODE_ATTACH_MERGE_H

#include "base/core/error.h"
#include "node/book/podres.h"

struct attach_merge;

/* `grace_ms`: see above; 0: 10 s. The book must outlive it. */
struct attach_merge *attach_merge_new(struct podres *book, int64_t grace_ms);
void attach_merge_free(struct attach_merge *m); /* NULL allowed; the book keeps what it has */

/* --- the API ------------------------------------------------------------------------- */

/* How far a pod is, as the API has it. */
enum attach_life {
	ATTACH_COMING, /* its kubelet has said nothing of it yet */
	ATTACH_STARTING, /* it has */
	ATTACH_RUNNING,
	ATTACH_ENDED,
};

struct attach_pod_info {
	struct str uid, ns, name;
	enum attach_life life;
	bool deleting; /* it was asked to end */
};

/* A pod of this node is there, or has changed. -ERR_TOO_LARGE: too many; it is left out. */
int attach_merge_pod(struct attach_merge *m, const struct attach_pod_info *info, int64_t now_ms,
		     struct error *err);

/* It is no more. */
void attach_merge_pod_gone(struct attach_merge *m, struct str uid);

/*
 * Nothing more is to be expected of it: it is in the book and runs, or has ended and is out of the
 * book. Also for a uid that is not known.
 */
bool attach_merge_settled(const struct attach_merge *m, struct str uid);

/* Walks the pods that are not settled, by uid; *at_uid begins empty. Borrowed until a change. */
bool attach_merge_next_unsettled(const struct attach_merge *m, struct str *at_uid);

/*
 * The pod's namespace and name for Get, borrowed until it is gone. False when only List tells what
 * becomes of it: it ends, or the last List did not have it (Get also knows pods that hold nothing
 * any more).
 */
bool attach_merge_asks_get(const struct attach_merge *m, struct str uid, struct str *ret_ns,
			   struct str *ret_name);

/* --- the kubelet --------------------------------------------------------------------- */

/* A call for pods begins now. */
void attach_merge_begin(struct attach_merge *m);

enum attach_verdict {
	ATTACH_TAKEN,
	ATTACH_TORN, /* ask again soon */
	ATTACH_NEEDS_LIST, /* only of Get */
};

/* What came of an answer, in words where it was not taken. */
struct attach_outcome {
	enum attach_verdict verdict;
	bool applied; /* also true of a torn List of which a part was believed at last */
	size_t unknown; /* entries of pods that the API has not shown */
	char why[256]; /* for people; empty when taken */
};

/* The answer to the call that began last. It is put in order (attach/order.h), and not kept. */
void attach_merge_list(struct attach_merge *m, const Podresources__ListResponse *list,
		       int64_t now_ms, struct attach_outcome *ret_outcome);

/* The same of Get for this pod; NULL: the kubelet does not know it. */
void attach_merge_get(struct attach_merge *m, struct str uid, const Podresources__PodResources *pod,
		      int64_t now_ms, struct attach_outcome *ret_outcome);

/*
 * Whether the pods of an answer have only devices and CPUs that the node was known to have, or that
 * are in the book already. If not, what the node could hand out has grown: whoever asks for that
 * first, and for the pods again, never tells of more in use than there is.
 */
bool attach_merge_foresees(const struct attach_merge *m, Podresources__PodResources *const *v,
			   size_t n);

/* What the node could hand out. */
void attach_merge_allocatable(struct attach_merge *m,
			      const Podresources__AllocatableResponse *state);

#endif
