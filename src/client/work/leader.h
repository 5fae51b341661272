/*
 * leader - one of several equal processes is chosen to work.
 *
 * As client-go's leaderelection does it, on a coordination.k8s.io/v1 Lease, so
 * that its processes and ours may stand for the same election. A candidate looks
 * at the lease every retry period (plus up to 1.2 of it, at random). It takes the
 * lease when nobody holds it, or when the holder's record has not changed for the
 * lease's duration, measured by our own monotonic clock from when we saw it: clocks
 * of machines need not agree. The leader renews every retry period; when it could
 * not for the renew deadline it stops leading, before another may begin.
 *
 * After losing it the election is over: leader_start() begins anew. Most roles exit
 * instead, since what they began cannot be taken back.
 * Threads: the client's loop.
 */
#ifndef CLIENT_WORK_LEADER_H
#define CLIENT_WORK_LEADER_H

#include "base/core/error.h"
#include "base/core/str.h"

struct client;
struct leader;
struct log;
struct metrics;

/* Zero means the default. Texts are copied. */
struct leader_opts {
	struct client *client;
	const char *ns, *name; /* of the Lease */
	const char *identity; /* ours; of no other process */
	int64_t lease_duration_ms; /* 15 s; whole seconds count */
	int64_t renew_deadline_ms; /* 10 s */
	int64_t retry_period_ms; /* 2 s */
	/* We lead from now on. */
	void (*started_leading)(void *arg);
	/* We do not lead any more, against our will: stop all work now. Not after leader_stop(). */
	void (*stopped_leading)(void *arg, const struct error *why);
	/* Another holder than before was seen, us included; empty: nobody. Or NULL. */
	void (*new_leader)(void *arg, struct str identity);
	void *arg;
	struct metrics *metrics; /* leader_election_*; or NULL */
	const struct log *log; /* debug only; or NULL */
};

/* -ERR_INVALID when the times do not fit together, as client-go demands it. */
int leader_new(const struct leader_opts *opts, struct leader **ret_leader, struct error *err);

/* Without release: another has to wait for the lease to run out. NULL allowed. */
void leader_free(struct leader *l);

void leader_start(struct leader *l);

/*
 * Ends it. The holder gives the lease back, so that another can take it at once:
 * all work must have ended before. `done` is called once, later, also when
 * giving back failed; it is tried for the renew deadline.
 */
void leader_stop(struct leader *l, void (*done)(void *arg), void *arg);

/*
 * Whether nobody else can have the lease now, by our own clock. A process that was stopped for a
 * while may have lost it without having been told yet: ask before what must not be done twice.
 */
bool leader_is_leader(const struct leader *l);

/* Who was last seen to hold it; empty: nobody. Borrowed until the next turn. */
struct str leader_holder(const struct leader *l);

/*
 * For health checks: -ERR_INTERNAL when we lead and our lease ran out more than
 * this time ago, which only a stuck loop can bring about.
 */
int leader_check(const struct leader *l, int64_t tolerable_ms, struct error *err);

#endif
