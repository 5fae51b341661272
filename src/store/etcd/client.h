/*
 * etcd_client - calls to an etcd cluster, through whichever member can serve them.
 *
 * The client keeps a connection to each endpoint and reconnects by itself. Calls go to one member
 * as long as it serves, then to another: a member that is unreachable, has no leader or has failed
 * a call is avoided for a while. A call waits up to 5 s (ETCD_WAIT_MS) for a live member. The
 * member then has 10 s (ETCD_CALL_MS) to answer.
 *
 * A call moves to another member early, if one can take it:
 *  - when the member is silent (etcd/pulse.h), after 1.75 s at the latest;
 *  - when it has no leader, or another leader than when the call was sent. etcd loses requests
 *    that were on their way to the old leader, and reports that only after 7 s.
 * While no member is better, calls stay where they are: a slow etcd gets no request twice.
 *
 * A call that certainly had no effect is retried until its time is up. A call that may have had an
 * effect is retried only if its owner marked it `repeatable`; otherwise it ends with ETCD_UNKNOWN.
 * Threads: belongs to its loop.
 */
#ifndef STORE_ETCD_CLIENT_H
#define STORE_ETCD_CLIENT_H

#include "base/core/bytes.h"
#include "base/core/list.h"
#include "net/loop/loop.h"
#include "store/etcd/rpc.h"

struct etcd_client;
struct etcd_endpoint;
struct metrics;
struct store_etcd_opts;

enum {
	ETCD_WAIT_MS = 5 * 1000, /* to wait for a live member */
	ETCD_CALL_MS = 10 * 1000, /* to wait for its answer */
};

/* The outcome of a call. Borrowed until return. */
struct etcd_answer {
	enum etcd_outcome outcome; /* never ETCD_RETRY */
	const void *reply; /* the method's reply; NULL unless ETCD_ANSWERED */
	/*
	 * Set unless ETCD_ANSWERED. ERR_TOO_LARGE also if the time was up while the answer to a
	 * read arrived.
	 */
	struct error err;
};

/* One call. Embed it and fill the first fields; it belongs to the client until done(). */
struct etcd_call {
	enum etcd_op op;
	bool repeatable; /* idempotent: the client may send it again */
	bool urgent; /* is sent even while the client is held */
	/* Called once, never from inside etcd_client_call(). May free the call. */
	void (*done)(struct etcd_call *c, const struct etcd_answer *answer);

	/* Private. */
	struct list link;
	struct etcd_client *client;
	struct etcd_endpoint *endpoint; /* the member that serves it */
	struct grpc_call *grpc;
	struct bytes *request;
	const void *reply;
	bool begun; /* the answer has begun to arrive */
	struct loop_timer timer;
	int64_t give_up; /* ms: it waits, and is retried, until then */
	int64_t sent_at; /* ns */
	uint64_t term; /* raft term that the member knew when the call was sent */
	unsigned moves; /* how often it has moved to another member */
};

/*
 * Connects in the background. -ERR_INVALID for malformed endpoints and certificates; also errors of
 * reading the files.
 */
int etcd_client_new(struct loop *l, const struct store_etcd_opts *opts,
		    struct etcd_client **ret_client, struct error *err);

/* No call may be in flight. The loop must run one more turn. NULL allowed. */
void etcd_client_free(struct etcd_client *client);

/* Starts the call. Packs the request before it returns. */
void etcd_client_call(struct etcd_client *client, struct etcd_call *c,
		      const ProtobufCMessage *request);

/* Cancels a call that has not ended: done() will not be called. */
void etcd_call_drop(struct etcd_call *c);

/* While held, only urgent calls are sent. */
void etcd_client_hold(struct etcd_client *client, bool held);

/*
 * Opens a member's watch stream. Returns NULL if no member is ready, or while held: try again when
 * the listener's `on_ready` is called.
 */
struct grpc_call *etcd_client_watch(struct etcd_client *client, const struct grpc_call_ops *ops,
				    void *data);

/*
 * Reports that the member of the watch stream failed. The next stream uses another member, if
 * possible.
 */
void etcd_client_avoid_watched(struct etcd_client *client);

/* Reports that the stream has received something: its member is alive. */
void etcd_client_watch_heard(struct etcd_client *client);

/* Whether a member other than the stream's could serve it. */
bool etcd_client_has_other(const struct etcd_client *client);

/*
 * Sets the only listener. on_ready: a member can be used, or the client is no longer held.
 * on_stuck: the member of the watch stream is silent or has no leader, and another member is
 * better.
 */
void etcd_client_listen(struct etcd_client *client, void (*on_ready)(void *arg),
			void (*on_stuck)(void *arg), void *arg);

/* Returns 0, or why calls are not expected to be answered. The error names the endpoints. */
int etcd_client_health(const struct etcd_client *client, struct error *err);

/* The highest revision in any answer; the revision of the last answer. */
int64_t etcd_client_revision(const struct etcd_client *client);
int64_t etcd_client_latest(const struct etcd_client *client);

struct loop *etcd_client_loop(const struct etcd_client *client);

DEFINE_CLEANUP(etcd_client_free, struct etcd_client *);

#endif
