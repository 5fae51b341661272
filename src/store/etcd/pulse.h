/*
 * etcd_pulse - detects whether a member of etcd is alive.
 *
 * A hung process keeps its connections open, and etcd permits keepalive pings only every 5 s. So a
 * member that owes an answer gets a probe: a serializable read of one key, which every live member
 * answers at once, regardless of its disk and of the other members. A member that neither answers
 * its probe nor sends anything else counts as silent until it sends an answer. Any received bytes
 * count: on a slow connection the probe's answer is queued behind a long one, and leaving the
 * member would only make the next one send all of that again.
 *
 * A new connection counts as dead until its first answer: the kernel accepts connections for a
 * stopped process.
 */
#ifndef STORE_ETCD_PULSE_H
#define STORE_ETCD_PULSE_H

#include "store/etcd/rpc.h"

struct grpc_channel;
struct loop;

enum { ETCD_SILENT_MS = 750 }; /* silent: neither a probe's answer nor other bytes for so long */

struct etcd_pulse {
	struct loop *loop;
	struct grpc_channel *channel;
	void (*on_change)(void *arg); /* the member has become alive, or has found a leader */
	void *arg;

	bool heard; /* the member has answered on this connection */
	bool silent;
	bool leaderless; /* its last answer said that it has no leader */
	uint64_t term; /* raft term of its last answer; 0: unknown */
	int64_t heard_at; /* ms */

	/* Private. */
	struct grpc_call *probe; /* in flight; or NULL */
	int64_t probed_at; /* ms */
};

/* The connection is new, or was lost. */
void etcd_pulse_reset(struct etcd_pulse *p);

/* Sends a probe, unless one is in flight. */
void etcd_pulse_probe(struct etcd_pulse *p);

/* The member has sent something. `header` may be NULL. */
void etcd_pulse_heard(struct etcd_pulse *p, const Etcd__ResponseHeader *header);

/* A call has failed with this status. */
void etcd_pulse_failed(struct etcd_pulse *p, const struct grpc_status *st);

/* Marks the member silent if it owes an answer to a probe and has sent nothing for too long. */
void etcd_pulse_judge(struct etcd_pulse *p);

/* Call it after this process itself was stopped: the elapsed time then means nothing. */
void etcd_pulse_forgive(struct etcd_pulse *p);

static inline bool etcd_pulse_alive(const struct etcd_pulse *p)
{
	return p->heard && !p->silent;
}

/* Whether a probe is in flight that can still be answered in time. */
static inline bool etcd_pulse_waits(const struct etcd_pulse *p)
{
	return p->probe && !p->silent;
}

#endif
