/*
 * fixture - for tests: a server, a service with settings, and a channel to it.
 *
 * Both run on their own hosts in a simulated world (net/sim/sim.h), "server" and "client". The
 * service implements proto/probe.proto. Its settings make it slow, silent or wrong. Both ends
 * record what they receive.
 */
#ifndef GRPC_FIXTURE_H
#define GRPC_FIXTURE_H

#include "grpc/channel.h"
#include "grpc/server.h"
#include "net/http/server.h"
#include "net/loop/loop.h"
#include "net/sim/sim.h"
#include "probe.pb-c.h"

/* The events at one end of a call. */
struct seen {
	struct grpc_call *call;
	unsigned metadata, messages, half_closes, writables, ends;
	uint64_t bytes; /* of the chunks' data */
	uint64_t sequence; /* of the last chunk */
	enum grpc_code code; /* of on_end */
	char message[256];
	bool pause; /* pause after each message */
	bool cancel; /* cancel at the first message */
	uint64_t to_send; /* chunks that on_writable has yet to send */
	uint32_t size; /* bytes of data in each */
	size_t held_peak; /* most bytes queued when sending */
};

struct fixture {
	struct sim *sim;
	struct loop *server_loop, *client_loop;
	struct http_server *http; /* NULL: no server listens */
	struct grpc_server *grpc;
	struct grpc_channel *channel;
	struct addr at;
	struct seen server; /* the latest call's server end */
	unsigned calls; /* calls that reached a handler */
	bool hold; /* Echo does not reply */
	/* If set, requests go here instead of to the gRPC server. */
	void (*raw)(struct fixture *f, struct http_stream *s);
	void *data;
	unsigned done; /* number of completed drains */
};

extern const struct grpc_method fixture_echo, fixture_download, fixture_upload, fixture_chat;

/* A limit on messages that tests can exceed without much memory: that of Chat. */
enum { FIXTURE_MESSAGE_MAX = 64 * 1024 };

/* Starts the server, and a channel to it. `opts` may be NULL: a lazy channel. Sets its address. */
void fixture_init(struct fixture *f, uint64_t seed, const struct grpc_channel_opts *opts,
		  const struct grpc_server_opts *server_opts);
void fixture_release(struct fixture *f);

/* Lets this much time pass; and enough for everything that needs no time. */
void fixture_run(struct fixture *f, int64_t ms);
void fixture_settle(struct fixture *f);

/* Ends the server with GOAWAY, or kills its process; and starts another one. */
void fixture_stop(struct fixture *f, int64_t grace_ms);
void fixture_crash(struct fixture *f);
void fixture_start(struct fixture *f);

/* Client callbacks that fill in a struct seen, which is the call's data. */
extern const struct grpc_call_ops seen_ops;

/* Starts a call whose data is `z`. */
struct grpc_call *fixture_call(struct fixture *f, const struct grpc_method *m,
			       const struct grpc_call_opts *opts, struct seen *z);

/* Sends a chunk of z->size bytes. */
int fixture_send_chunk(struct grpc_call *c, uint64_t sequence, uint32_t size);

/* Sends z->to_send chunks as room allows, then half-closes or finishes. */
void fixture_pump(struct grpc_call *c, struct seen *z);

#endif
