/*
 * fixture - for tests: a server, a service with knobs, and a channel to it.
 *
 * Both on hosts of their own in a simulated world (net/sim/sim.h), "server" and
 * "client". The service speaks proto/probe.proto; its knobs make it slow,
 * silent or wrong. Both ends note what they saw.
 */
#ifndef GRPC_FIXTURE_H
#define GRPC_FIXTURE_H

#include "grpc/channel.h"
#include "grpc/server.h"
#include "net/http/server.h"
#include "net/loop/loop.h"
#include "net/sim/sim.h"
#include "probe.pb-c.h"

/* What one end of a call saw. */
struct seen {
	struct grpc_call *call;
	unsigned metadata, messages, half_closes, writables, ends;
	uint64_t bytes; /* of the chunks' data */
	uint64_t sequence; /* of the last chunk */
	enum grpc_code code; /* of on_end */
	char message[256];
	bool pause; /* after each message */
	bool cancel; /* at the first message */
	uint64_t to_send; /* chunks that on_writable still sends */
	uint32_t size; /* bytes of data in each */
	size_t held_peak; /* most that was queued when sending */
};

struct fixture {
	struct sim *sim;
	struct loop *server_loop, *client_loop;
	struct http_server *http; /* NULL: nobody listens */
	struct grpc_server *grpc;
	struct grpc_channel *channel;
	struct addr at;
	struct seen server; /* the latest call's server end */
	unsigned calls; /* that reached a handler */
	bool hold; /* Echo does not answer */
	/* When set, requests go here and not to the gRPC server. */
	void (*raw)(struct fixture *f, struct http_stream *s);
	void *data;
	unsigned done; /* drains that have ended */
};

extern const struct grpc_method fixture_echo, fixture_download, fixture_upload, fixture_chat;

/* A limit on messages that tests can pass without much memory: that of Chat. */
enum { FIXTURE_MESSAGE_MAX = 64 * 1024 };

/* Serving, and a channel to it. `opts` may be NULL: a lazy one; its address is set here. */
void fixture_init(struct fixture *f, uint64_t seed, const struct grpc_channel_opts *opts,
		  const struct grpc_server_opts *server_opts);
void fixture_release(struct fixture *f);

/* Lets so much time pass; and enough for what needs no time to be done. */
void fixture_run(struct fixture *f, int64_t ms);
void fixture_settle(struct fixture *f);

/* Ends the server, with GOAWAY, or kills its process; and starts another one. */
void fixture_stop(struct fixture *f, int64_t grace_ms);
void fixture_crash(struct fixture *f);
void fixture_start(struct fixture *f);

/* A client's callbacks that fill a struct seen, which is the call's data. */
extern const struct grpc_call_ops seen_ops;

/* Begins a call whose data is `z`. */
struct grpc_call *fixture_call(struct fixture *f, const struct grpc_method *m,
			       const struct grpc_call_opts *opts, struct seen *z);

/* Sends a chunk of z->size bytes. */
int fixture_send_chunk(struct grpc_call *c, uint64_t sequence, uint32_t size);

/* Sends z->to_send chunks as there is room, then half-closes or finishes. */
void fixture_pump(struct grpc_call *c, struct seen *z);

#endif
