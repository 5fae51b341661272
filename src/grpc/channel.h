/*
 * channel - a client's connection to one server: connects, reconnects, makes calls.
 *
 * States and their meaning are gRPC's. A lazy channel connects when a call needs it, an eager one
 * at once and again whenever the connection is lost. After a failure it waits with exponential
 * back-off (1 s, times 1.6, up to 120 s, a fifth of it random). The back-off is reset by a
 * connection that has responded, or has stayed up for a second.
 *
 * After a GOAWAY, running calls end in order, and new ones go to a new connection. When a
 * connection fails, its calls end with UNAVAILABLE. Nothing is retried.
 * Threads: belongs to its loop.
 */
#ifndef GRPC_CHANNEL_H
#define GRPC_CHANNEL_H

#include "grpc/grpc.h"
#include "net/loop/addr.h"

struct grpc_channel;
struct tls;

enum grpc_channel_state {
	GRPC_CHANNEL_IDLE,
	GRPC_CHANNEL_CONNECTING,
	GRPC_CHANNEL_READY,
	GRPC_CHANNEL_TRANSIENT_FAILURE, /* backing off */
	GRPC_CHANNEL_SHUTDOWN,
};

/* Zero means the default. */
struct grpc_channel_opts {
	struct addr to;
	struct tls *tls; /* NULL: plain text. Must offer "h2" by ALPN */
	const char *server_name; /* for TLS; NULL: the address's host */
	const char *authority; /* NULL: "localhost" for unix sockets, else the address */
	bool eager;
	int64_t connect_timeout_ms; /* 20 s */
	int64_t ping_interval_ms; /* keep-alive while calls run in silence; 0: never */
	int64_t backoff_initial_ms, backoff_max_ms;
	uint32_t window; /* bytes received and not consumed, per call; HTTP_WINDOW */

	/* The state changed; `err` says why it is TRANSIENT_FAILURE. May free the channel. */
	void (*on_state)(void *arg, enum grpc_channel_state state, const struct error *err);
	void *arg;
};

/* The channel copies strings, and takes a reference to `tls`. */
struct grpc_channel *grpc_channel_new(struct loop *l, const struct grpc_channel_opts *opts);

/*
 * Ends all calls with CANCELLED, then closes the connections. May be called from callbacks. The
 * loop must run one more turn to free all memory.
 */
void grpc_channel_free(struct grpc_channel *ch);

enum grpc_channel_state grpc_channel_state(const struct grpc_channel *ch);

/*
 * When the server last sent bytes on the present connection, in ms of the loop; 0: not connected.
 */
int64_t grpc_channel_input_at(const struct grpc_channel *ch);

/* If idle, connects without a call. Ends a back-off early. */
void grpc_channel_connect(struct grpc_channel *ch);

/* Zero means the default; NULL for all defaults. */
struct grpc_call_opts {
	int64_t deadline_ms; /* from now, including the wait for a connection; default none */
	size_t max_response; /* of one message; default the method's */
	const struct grpc_metadata *metadata;
	size_t nmetadata;
	/* Wait for a connection for any time, instead of failing during back-off. */
	bool wait_for_ready;
};

/*
 * Starts a call; `method` and `ops` must outlive it. It never fails here: errors are reported by
 * on_end, and no callback comes before this returns. You may send at once. The call is borrowed
 * until on_end.
 */
struct grpc_call *grpc_channel_call(struct grpc_channel *ch, const struct grpc_method *method,
				    const struct grpc_call_opts *opts,
				    const struct grpc_call_ops *ops, void *data);

/*
 * One request, one reply. Calls `done` exactly once, like on_end: `reply` is NULL unless the status
 * is OK. The returned call, for its metadata and to cancel it, is borrowed until `done` has
 * returned.
 */
struct grpc_call *grpc_channel_unary(struct grpc_channel *ch, const struct grpc_method *method,
				     const ProtobufCMessage *request,
				     const struct grpc_call_opts *opts,
				     void (*done)(void *arg, struct grpc_call *c,
						  const struct grpc_status *st, const void *reply),
				     void *arg);

DEFINE_CLEANUP(grpc_channel_free, struct grpc_channel *);

#endif
