/*
 * podres_world - for tests: a PodResources server with a book and clients, simulated or real.
 *
 * Received messages are recorded as text, to be compared whole.
 */
#ifndef NODE_PODRESOURCES_WORLD_H
#define NODE_PODRESOURCES_WORLD_H

#include "base/core/buf.h"
#include "grpc/channel.h"
#include "net/loop/loop.h"
#include "node/podresources/server.h"

struct metrics;
struct sim;

enum {
	PODRES_WORLD_EPOCH = 1000,
	PODRES_WORLD_PAD = 4000, /* largest padding of a device id, in bytes */
};

struct podres_world {
	struct sim *sim; /* NULL: real loops */
	struct loop *loop, *client_loop; /* the same loop in the real world */
	struct podres *book;
	struct metrics *metrics;
	struct podres_server_opts opts;
	struct podres_server *server;
	struct grpc_channel *channel;
	char dir[32], path[64];
	bool closed;
	/* For podres_world_run_until() in the real world. */
	struct loop_task look;
	struct loop_timer guard;
	bool (*holds)(void *arg);
	void *arg;
	bool hung;
};

/* `w` must be zeroed. The real world has one loop for everything. */
void podres_world_init(struct podres_world *w, bool simulated);
/* Starts the server with w->opts; can be called again after podres_world_stop(). */
void podres_world_start(struct podres_world *w);
void podres_world_stop(struct podres_world *w);
void podres_world_release(struct podres_world *w);

void podres_world_run_until(struct podres_world *w, bool (*holds)(void *arg), void *arg);
/* Runs until everything that needs no time is done; only in a simulation. */
void podres_world_settle(struct podres_world *w);

/* Opens another connection, on w->client_loop. */
struct grpc_channel *podres_world_connect(struct podres_world *w);

/* Value of a metric; `series` includes labels and the space after it. */
double podres_world_value(struct podres_world *w, const char *series);

/* A pod with one container and one device; the id is `device` padded with zeroes (at least one). */
void podres_world_set_padded(struct podres_world *w, const char *name, const char *device,
			     size_t pad);
void podres_world_set_pod(struct podres_world *w, const char *name, const char *device);
void podres_world_drop_pod(struct podres_world *w, const char *name);
void podres_world_set_cpus(struct podres_world *w, size_t n);

/* --- calls ----------------------------------------------------------------------------- */

struct podres_answer {
	bool done;
	enum grpc_code code;
	char message[256];
	char text[512]; /* the part of the reply that tests compare */
	int64_t revision;
};

/* Waits for the answer. */
void podres_world_call(struct podres_world *w, const struct grpc_method *m,
		       const ProtobufCMessage *request, struct podres_answer *ret_answer);
void podres_world_get(struct podres_world *w, const char *ns, const char *name,
		      struct podres_answer *ret_answer);

/* --- watches --------------------------------------------------------------------------- */

/* Messages that one watch received. */
struct podres_seen {
	struct grpc_call *call; /* NULL: ended */
	bool opened; /* the headers have arrived */
	unsigned messages;
	struct buf lines; /* "ADDED a:gpu0 ", "DELETED a ", "END ", "RESET ", "ADDED 4 cpus " */
	int64_t revision;
	bool ended;
	enum grpc_code code;
	char message[256];
};

/* Opens a watch; `z` is its data and must not move until podres_seen_close(). */
void podres_seen_send(struct grpc_channel *ch, const struct grpc_method *m,
		      const Podresources__WatchRequest *request, const struct grpc_call_opts *opts,
		      struct podres_seen *z);
/* Opens a watch and waits for its headers or its end. */
void podres_seen_open(struct podres_world *w, const struct grpc_method *m, bool initial,
		      int64_t after, struct podres_seen *z);
void podres_seen_close(struct podres_seen *z);

/* For podres_world_run_until(). */
bool podres_seen_is_open(void *arg);
bool podres_seen_has_ended(void *arg);

/* Waits until the watch has the book's revision, or has ended. */
void podres_seen_catch_up(struct podres_world *w, struct podres_seen *z);
/* The same, then compares the lines received since the last call and clears them. */
void podres_seen_expect(struct podres_world *w, struct podres_seen *z, const char *lines);

#endif
