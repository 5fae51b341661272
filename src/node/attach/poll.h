/*
 * attach_poll - decides when to call a kubelet, and which method. Pure.
 *
 * The caller passes events and the time; attach_poll returns the next call to make, or how long to
 * wait. Reasons that come together (within 20 ms) make one call. One changed pod is requested with
 * Get; several, or one shortly before another, with List. List and allocatable are also called from
 * time to time without a reason. If more changes of a pod are expected, it is requested again after
 * 50 ms, 100 ms and so on up to 4 s. There is one call at a time, and a limit of calls per second
 * with a burst of 5. After a rejected or failed call there are no calls for a while. The reasons of
 * a failed call stay.
 * Threads: one at a time. No I/O, no clock.
 */
#ifndef NODE_ATTACH_POLL_H
#define NODE_ATTACH_POLL_H

#include "base/core/map.h"
#include "base/time/backoff.h"
#include "client/api/bucket.h"

struct prng;

enum attach_ask {
	ATTACH_ASK_NOTHING,
	ATTACH_ASK_LIST,
	ATTACH_ASK_GET,
	ATTACH_ASK_ALLOCATABLE,
};

/* Only attach/poll.c uses its fields. Times in ms; INT64_MAX: never. */
struct attach_poll {
	struct bucket bucket;
	struct backoff backoff; /* after failures */
	int64_t idle_ms;
	struct map pods; /* uid to struct attach_poll_pod: pods to request */
	int64_t list_due, allocatable_due;
	int64_t hold_until;
	enum attach_ask asking;
	char *asking_uid; /* for Get */
	bool again; /* a new reason came for the List or allocatable call in flight */
	bool no_get;
	bool allocatable_failed; /* the last call failed: other calls go first */
};

/* Whether Get can be used for this pod, and whether no further change of it is expected. */
struct attach_poll_ops {
	bool (*asks_get)(void *arg, struct str uid);
	bool (*settled)(void *arg, struct str uid);
	void *arg;
};

/*
 * 0 means the default: 10 calls per second; 10 s between calls without a reason. List and
 * allocatable are due at once.
 */
void attach_poll_init(struct attach_poll *p, double calls_per_s, int64_t idle_ms, int64_t now);
void attach_poll_release(struct attach_poll *p);

/* --- reasons ------------------------------------------------------------------------- */

/* The pod has changed. */
void attach_poll_pod(struct attach_poll *p, struct str uid, int64_t now);
/* More changes of the pod are expected. Does nothing if the pod is waiting already. */
void attach_poll_expect(struct attach_poll *p, struct str uid, int64_t now);
/* Everything may have changed. */
void attach_poll_list(struct attach_poll *p, int64_t now);
void attach_poll_allocatable(struct attach_poll *p, int64_t now);

/* Whether the kubelet offers Get. */
void attach_poll_offer_get(struct attach_poll *p, bool offered);

/* --- calls --------------------------------------------------------------------------- */

/*
 * Returns the call to make now; it counts as begun, and attach_poll_answered() or _failed() must
 * follow. *ret_uid: the pod for Get, borrowed until then. For ATTACH_ASK_NOTHING, wait *ret_wait
 * ms; -1: until an event.
 */
enum attach_ask attach_poll_next(struct attach_poll *p, const struct attach_poll_ops *ops,
				 int64_t now, struct str *ret_uid, int64_t *ret_wait);

/* The call succeeded. */
void attach_poll_answered(struct attach_poll *p, const struct attach_poll_ops *ops, int64_t now);

/* The call failed: its reasons stay, and there is no call for a while, with back-off. */
void attach_poll_failed(struct attach_poll *p, struct prng *g, int64_t now);

/* The kubelet is back: ends the wait after failures. */
void attach_poll_resume(struct attach_poll *p);

/* Since when the oldest reason has been waiting; INT64_MAX: there is no reason. */
int64_t attach_poll_waiting_since(const struct attach_poll *p, int64_t now);

#endif
