/*
 * leader - elects one of several equal processes to do the work.
 *
 * It follows client-go's leaderelection on a coordination.k8s.io/v1 Lease, so client-go's
 * processes and ours can compete in the same election. A candidate reads the lease every retry
 * period, plus a random 0 to 1.2 periods. It takes the lease if nobody holds it, or if the
 * holder's record has not changed for the lease's duration. That time is measured on our own
 * monotonic clock from when we saw the record, so machines' clocks need not agree. The leader
 * renews the lease every retry period. If it cannot renew for the renew deadline, it stops leading
 * before another process may begin.
 *
 * After a loss the election is over; leader_start() begins a new one. Most roles exit instead,
 * because they cannot undo work they have begun. Threads: the client's loop.
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
	const char *identity; /* ours; unique among all processes */
	int64_t lease_duration_ms; /* 15 s; truncated to whole seconds in the Lease */
	int64_t renew_deadline_ms; /* 10 s */
	int64_t retry_period_ms; /* 2 s */
	/* We lead from now on. */
	void (*started_leading)(void *arg);
	/* We lost the lease: stop all work now. Not called after leader_stop(). */
	void (*stopped_leading)(void *arg, const struct error *why);
	/* The holder changed; it may be us. Empty: nobody holds the lease. May be NULL. */
	void (*new_leader)(void *arg, struct str identity);
	void *arg;
	struct metrics *metrics; /* leader_election_*; or NULL */
	const struct log *log; /* debug only; or NULL */
};

/* Returns -ERR_INVALID if the times are inconsistent, by client-go's rules. */
int leader_new(const struct leader_opts *opts, struct leader **ret_leader, struct error *err);

/* Does not release the lease: others have to wait until it expires. NULL allowed. */
void leader_free(struct leader *l);

void leader_start(struct leader *l);

/*
 * Stops. A leader releases the lease, so that another can take it at once: all work must have
 * ended before. The release is retried for the renew deadline. `done` is called once, later, even
 * if the release failed.
 */
void leader_stop(struct leader *l, void (*done)(void *arg), void *arg);

/*
 * Whether we certainly hold the lease now, by our own clock. A process that was suspended for a
 * while may have lost the lease before stopped_leading() is called, so check this before any
 * action that must not happen twice.
 */
bool leader_is_leader(const struct leader *l);

/* The last known holder; empty: nobody. Borrowed until the next turn. */
struct str leader_holder(const struct leader *l);

/*
 * For health checks: returns -ERR_INTERNAL if we lead and our lease expired more than
 * `tolerable_ms` ago, which only a stuck loop can cause.
 */
int leader_check(const struct leader *l, int64_t tolerable_ms, struct error *err);

#endif
