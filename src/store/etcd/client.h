/*
 * etcd_client - calls to an etcd cluster, whichever of its members answers.
 *
 * There is a connection to each endpoint, made anew by itself when it is lost.
 * Calls go to one of them as long as it serves, then to another: a member that
 * is unreachable, has no leader or has failed a call is avoided for a while. A
 * call waits up to five seconds for a member that is alive and is then given ten
 * to be answered.
 *
 * A call leaves its member early, if another one can take it:
 *  - when the member is silent (etcd/pulse.h), after 1.75 s at the latest;
 *  - when it has no leader, or has another one than when the call was sent: etcd
 *    loses what was on its way to the old leader and says so only after 7 s.
 * While no member is better, calls stay where they are: a slow etcd gets no
 * request twice.
 *
 * A call that certainly did nothing is tried again until its time is up; one
 * that may have done something is tried again only if its owner says that this
 * is harmless, and ends with ETCD_UNKNOWN otherwise.
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
	ETCD_WAIT_MS = 5 * 1000, /* for a member that is alive */
	ETCD_CALL_MS = 10 * 1000, /* for its answer */
};

/* How a call ended. Borrowed until return. */
struct etcd_answer {
	enum etcd_outcome outcome; /* never ETCD_RETRY */
	const void *reply; /* what the method gives; NULL unless ETCD_ANSWERED */
	/* Otherwise. ERR_TOO_LARGE: also if the time was up while the answer to a read arrived. */
	struct error err;
};

/* One call. Embed it and fill the first fields; it is the client's until done(). */
struct etcd_call {
	enum etcd_op op;
	bool repeatable; /* doing it twice is doing it once */
	bool urgent; /* goes out though the client is held */
	/* Called once, never from inside the call that asked. May free the call. */
	void (*done)(struct etcd_call *c, const struct etcd_answer *answer);

	/* Private. */
	struct list link;
	struct etcd_client *client;
	struct etcd_endpoint *endpoint; /* where it is being answered */
	struct grpc_call *grpc;
	struct bytes *request;
	const void *reply;
	bool begun; /* the answer has begun to arrive */
	struct loop_timer timer;
	int64_t give_up; /* ms: waits, and is tried again, until then */
	int64_t sent_at; /* ns */
	uint64_t term; /* of raft, as the member knew it then */
	unsigned moves; /* how often it has left a member */
};

/*
 * Connects in the background. -ERR_INVALID for malformed endpoints and
 * certificates, and what reading the files gives.
 */
int etcd_client_new(struct loop *l, const struct store_etcd_opts *opts,
		    struct etcd_client **ret_client, struct error *err);

/* No call may be under way. The loop must run one more turn. NULL allowed. */
void etcd_client_free(struct etcd_client *client);

/* Begins the call with this request, which is packed here. */
void etcd_client_call(struct etcd_client *client, struct etcd_call *c,
		      const ProtobufCMessage *request);

/* Forgets a call that has not ended: done() will not come. */
void etcd_call_drop(struct etcd_call *c);

/* While held, only urgent calls go out. */
void etcd_client_hold(struct etcd_client *client, bool held);

/*
 * A member's watch stream. NULL when no member is ready, or when held: then
 * `on_ready` of the client is told when to try again.
 */
struct grpc_call *etcd_client_watch(struct etcd_client *client, const struct grpc_call_ops *ops,
				    void *data);

/* The member that served this stream has failed it: takes another one next time, if there is. */
void etcd_client_avoid_watched(struct etcd_client *client);

/* The stream has brought something: its member is alive. */
void etcd_client_watch_heard(struct etcd_client *client);

/* Whether another member than the stream's could serve it. */
bool etcd_client_has_other(const struct etcd_client *client);

/*
 * on_ready: a member can be used, or the client is held no longer. on_stuck: the
 * member that serves the watch is silent or without a leader, and another one
 * is better. One listener.
 */
void etcd_client_listen(struct etcd_client *client, void (*on_ready)(void *arg),
			void (*on_stuck)(void *arg), void *arg);

/* 0, or why calls cannot be expected to be answered: names the endpoints. */
int etcd_client_health(const struct etcd_client *client, struct error *err);

/* Highest revision that any answer bore; that of the last answer. */
int64_t etcd_client_revision(const struct etcd_client *client);
int64_t etcd_client_latest(const struct etcd_client *client);

struct loop *etcd_client_loop(const struct etcd_client *client);

DEFINE_CLEANUP(etcd_client_free, struct etcd_client *);

#endif
