/*
 * etcd_pulse - whether a member of etcd is alive.
 *
 * A hung process keeps its connections open, and etcd permits keepalive pings
 * only every 5 s. So a member that owes an answer gets a probe: a serializable
 * read of one key, which every live member answers at once, whatever its disk
 * and the other members do. A member that leaves its probe unanswered, and sends
 * nothing else either, is silent until an answer arrives from it. Bytes of any kind
 * count: on a slow connection the probe's answer comes behind a long one, and to
 * leave the member would only make the next one send all of that again.
 *
 * A new connection counts as dead until its first answer: the kernel accepts
 * connections for a stopped process.
 */
#ifndef STORE_ETCD_PULSE_H
#define STORE_ETCD_PULSE_H

#include "store/etcd/rpc.h"

struct grpc_channel;
struct loop;

enum { ETCD_SILENT_MS = 750 }; /* a probe unanswered, and no bytes, for so long: silent */

struct etcd_pulse {
	struct loop *loop;
	struct grpc_channel *channel;
	void (*on_change)(void *arg); /* the member has become alive, or has found a leader */
	void *arg;

	bool heard; /* it has answered on this connection */
	bool silent;
	bool leaderless; /* it said so last */
	uint64_t term; /* of raft, by its last answer; 0: not known */
	int64_t heard_at; /* ms */

	/* Private. */
	struct grpc_call *probe; /* under way; or NULL */
	int64_t probed_at; /* ms */
};

/* The connection is new, or gone. */
void etcd_pulse_reset(struct etcd_pulse *p);

/* Asks the member for an answer, unless a probe is under way. */
void etcd_pulse_probe(struct etcd_pulse *p);

/* The member has sent something. `header` may be NULL. */
void etcd_pulse_heard(struct etcd_pulse *p, const Etcd__ResponseHeader *header);

/* A call has failed with this status. */
void etcd_pulse_failed(struct etcd_pulse *p, const struct grpc_status *st);

/* Marks the member silent if it owes an answer to a probe and has sent nothing for too long. */
void etcd_pulse_judge(struct etcd_pulse *p);

/* This process was stopped itself: the time that has passed says nothing. */
void etcd_pulse_forgive(struct etcd_pulse *p);

static inline bool etcd_pulse_alive(const struct etcd_pulse *p)
{
	return p->heard && !p->silent;
}

/* Waiting for the answer to a probe that may still come in time. */
static inline bool etcd_pulse_waits(const struct etcd_pulse *p)
{
	return p->probe && !p->silent;
}

#endif
