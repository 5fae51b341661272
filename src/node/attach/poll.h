/*
 * attach_poll - when to ask a kubelet what. Pure: it is told what happens and the time, and says
 * what to ask next or how long to wait.
 *
 * Reasons that come together (within 20 ms) make one call. One changed pod is asked for by Get,
 * several, or one shortly before another, by List; List and allocatable also now and then without
 * a reason. A pod of which more is to be expected is asked for again after 50 ms, 100 ms and so on
 * up to 4 s. One call at a time, and no more of them in a second than allowed, but for a burst of
 * 5; after a refusal or failure, none for a while. What was asked for in vain stays a reason.
 * Threads: one at a time.
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

/* Its fields are attach/poll.c's. Times in ms; INT64_MAX: never. */
struct attach_poll {
	struct bucket bucket;
	struct backoff backoff; /* after failures */
	int64_t idle_ms;
	struct map pods; /* uid to struct attach_poll_pod: to be asked for */
	int64_t list_due, allocatable_due;
	int64_t hold_until;
	enum attach_ask asking;
	char *asking_uid; /* of Get */
	bool again; /* a new reason came for the List, or allocatable, that is being asked for */
	bool no_get;
	bool allocatable_failed; /* by the last call: then it is the others' turn */
};

/* Whether Get can be used for this pod, and whether nothing more is to be expected of it. */
struct attach_poll_ops {
	bool (*asks_get)(void *arg, struct str uid);
	bool (*settled)(void *arg, struct str uid);
	void *arg;
};

/* 0: 10 calls in a second; without a reason each 10 s. List and allocatable are due at once. */
void attach_poll_init(struct attach_poll *p, double calls_per_s, int64_t idle_ms, int64_t now);
void attach_poll_release(struct attach_poll *p);

/* --- reasons ------------------------------------------------------------------------- */

/* Something of this pod has changed. */
void attach_poll_pod(struct attach_poll *p, struct str uid, int64_t now);
/* More is to be expected of it; unless it is known already. */
void attach_poll_expect(struct attach_poll *p, struct str uid, int64_t now);
/* It may be that everything has. */
void attach_poll_list(struct attach_poll *p, int64_t now);
void attach_poll_allocatable(struct attach_poll *p, int64_t now);

/* Get is, or is not, offered. */
void attach_poll_offer_get(struct attach_poll *p, bool offered);

/* --- asking -------------------------------------------------------------------------- */

/*
 * What to ask now; the call counts as begun, and attach_poll_answered() or _failed() must follow.
 * *ret_uid: of Get, borrowed until then. ATTACH_ASK_NOTHING: not before *ret_wait ms, -1: not
 * before something happens.
 */
enum attach_ask attach_poll_next(struct attach_poll *p, const struct attach_poll_ops *ops,
				 int64_t now, struct str *ret_uid, int64_t *ret_wait);

/* What was asked for is known. */
void attach_poll_answered(struct attach_poll *p, const struct attach_poll_ops *ops, int64_t now);

/* It is not: the reasons stay, and nothing is asked for a while that grows. */
void attach_poll_failed(struct attach_poll *p, struct prng *g, int64_t now);

/* The kubelet is there again: the wait after failures ends. */
void attach_poll_resume(struct attach_poll *p);

/* Since when the oldest reason has been waiting; INT64_MAX: there is none. */
int64_t attach_poll_waiting_since(const struct attach_poll *p, int64_t now);

#endif
