/*
 * state_world - for tests: a state in a simulated cluster.
 *
 * One server: a state on its own loop or on the first lane's, lanes, a fake store (state_fake.h),
 * and HTTP with a few paths that do what the real server's verbs do, as simply as possible:
 *
 *	GET    /watch?kind=pods&ns=&labels=&fields=&rv=&initial=1&end=1&bookmarks=1&timeout=ms
 *	       &head=N   with N additional header fields
 *	GET    /list?kind=pods&ns=&labels=&fields=&limit=&after=&rv=
 *	GET    /get?kind=pods&ns=&name=
 *	PUT    /put?kind=pods&ns=&name=&rv=   with the object; rv 0: must not exist
 *	DELETE /put?kind=pods&ns=&name=&rv=
 *
 * Several worlds may share a simulation and data, as servers of one cluster. Failures are
 * cmocka's.
 */
#ifndef SERVER_TESTING_STATE_WORLD_H
#define SERVER_TESTING_STATE_WORLD_H

#include <stdatomic.h>

#include "base/core/arena.h"
#include "base/json/json.h"
#include "net/loop/addr.h"
#include "net/loop/loop.h"
#include "server/engine/state.h"
#include "server/testing/state_fake.h"

struct sim;

enum { STATE_WORLD_LANES = 3 };

struct state_world_opts {
	struct sim *sim; /* shared, or NULL: created here */
	struct fake_data *data; /* shared, or NULL: created here */
	const char *host; /* NULL: "server" */
	struct fake_opts store;
	const char *lmdb; /* a folder: use the real store, which commits in the loop's turns */
	uint64_t seed;
	size_t nlanes; /* 0: one, on the state's loop */
	bool apart; /* the state has a loop of its own */
	bool http;
	int port; /* added to 80: in a simulation all hosts share the ports */
	size_t ring_bytes;
	int64_t event_ttl_ms;
	const struct state_observer *observers;
	size_t nobservers;
};

struct state_world {
	struct state_world_opts opts;
	struct sim *sim;
	struct fake_data *data;
	struct store *store;
	struct state *state;
	struct gates gates;
	struct loop *loop, *lanes[STATE_WORLD_LANES];
	size_t nlanes;
	struct arena arena;
	struct http_server *http;
	struct addr at;
	bool ready, stopping, stopped, drained;
	struct error err; /* from on_ready */
	unsigned waits; /* number of on_waiting calls */
	atomic_size_t overs; /* number of ended watches */
};

/* Creates the world and runs until the state is ready. */
void state_world_init(struct state_world *w, const struct state_world_opts *opts);

/* Stops, checks that nothing is left, frees. */
void state_world_release(struct state_world *w);

/* Stops, and starts again, only the state, on the same data. */
void state_world_stop(struct state_world *w);
void state_world_start(struct state_world *w);

/* "pods", "configmaps", "nodes", "events". */
const struct schema_kind *state_world_kind(struct str resource);
struct resource *state_world_resource(struct state_world *w, const char *resource);

/* Objects as trees. `labels`: a JSON object as text, or NULL; `node`: spec.nodeName, or NULL. */
struct json *state_world_pod(struct arena *a, const char *ns, const char *name, const char *labels,
			     const char *node);
struct json *state_world_object(struct arena *a, const struct schema_kind *kind, const char *ns,
				const char *name, const char *rest);

/*
 * Writes (tree NULL: deletes) on the tip, runs until the write is done, and returns its revision
 * or -ERR_*.
 */
int64_t state_world_write(struct state_world *w, const char *resource, const char *ns,
			  const char *name, const struct json *tree);

/* Lists immediately; fails the test on an error. The result lives in w->arena. */
struct list_result state_world_list(struct state_world *w, const char *resource,
				    const struct list_query *q);

/* Removes a folder and its content. */
void state_world_remove(const char *folder);

/*
 * Part of state_world_init(), for worlds that are not simulated: the caller sets gates, loop,
 * lanes and data (or an open store), and runs the loops.
 */
void state_world_begin(struct state_world *w);

/* Serves HTTP (state_web_fixture.c) on this address; sets w->at. */
void state_world_serve(struct state_world *w, struct str at);

#endif
