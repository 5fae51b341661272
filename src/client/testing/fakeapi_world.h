/*
 * fakeapi_world - for tests: an API server in memory, in a simulated world.
 *
 * Holds objects of a few kinds and serves them over HTTP on one of the world's
 * loops: get, list, watch (from a version, or with the first state), create,
 * update, merge and JSON patch, delete with preconditions, finalizers and propagation,
 * delete collection, binding of pods, aggregated discovery. Its rules are as simple as they can
 * be while clients and controllers still see what they would see of a real one.
 * What it is asked directly (fakeapi_call) and what comes over the wire is the same.
 */
#ifndef CLIENT_TESTING_FAKEAPI_WORLD_H
#define CLIENT_TESTING_FAKEAPI_WORLD_H

#include "base/core/buf.h"
#include "base/core/list.h"
#include "base/core/omap.h"
#include "base/core/random.h"
#include "base/core/vec.h"
#include "base/json/json.h"
#include "net/http/server.h"
#include "net/sim/sim.h"

struct client;
struct loop;

struct fakeapi_kind {
	const char *group, *version, *resource, *kind;
	bool namespaced, no_collection;
	bool defined; /* served while there is a definition of it */
	bool generations; /* its spec's changes are counted, its status is written apart */
};

struct fakeapi_object {
	const struct fakeapi_kind *kind;
	int64_t rv;
	char *key; /* "resource/namespace/name" */
	char *text; /* JSON, resourceVersion included */
};

/* What happened, for watches. */
struct fakeapi_event {
	const struct fakeapi_kind *kind;
	int64_t rv;
	const char *type;
	char *key, *text;
};

struct fakeapi_query {
	struct str method, path, query, body;
};

/* What becomes of a request over the wire; or an HTTP status that it is answered instead. */
enum fakeapi_fault {
	FAKEAPI_WELL,
	FAKEAPI_CUT, /* not done; the connection is closed */
	FAKEAPI_DO_AND_CUT, /* done, and nobody is told */
	FAKEAPI_HOLD, /* not done before fakeapi_let_go(), and never when the client left before */
	FAKEAPI_HOLD_ANSWER, /* done; told by fakeapi_let_go() */
};

struct fakeapi {
	struct sim *sim;
	struct loop *loop;
	struct http_server *server;
	struct prng prng;
	struct omap objects; /* by key */
	VEC(struct fakeapi_event) log;
	struct list watches;
	struct list held; /* requests */
	int64_t rv;
	double fail; /* chance of each request over the wire to be answered 500 instead */
	int (*fault)(void *arg, const struct fakeapi_query *q); /* enum fakeapi_fault; or NULL */
	void *fault_arg;
	const char *refusal; /* the body of a status that a fault answers; NULL: a plain one */
	bool hide_widgets, hide_claims; /* discovery does not tell of them */
	bool slice_status; /* discovery tells that slices have a status */
	const char *late; /* a resource whose watches are told nothing for now; or NULL */
	size_t late_from; /* in the log */
	uint64_t requests, writes; /* over the wire */
	bool drained;
};

/* Its loop is on host "api" and listens on "api:80". */
struct fakeapi *fakeapi_new(struct sim *s, uint64_t seed);
/* All clients must be gone. */
void fakeapi_free(struct fakeapi *f);

/* A client on a loop of the same world. Failures are cmocka's. */
struct client *fakeapi_client(struct fakeapi *f, struct loop *l);

/*
 * A request: "/api/v1/namespaces/x/configmaps/y?propagationPolicy=Orphan". Returns the HTTP
 * status; *out (or NULL) gets the answer. No watches.
 */
int fakeapi_call(struct fakeapi *f, const char *method, const char *target, struct str body,
		 struct buf *out);

/* A new object: `meta` is more of its metadata (",\"uid\":\"1\""), `rest` of itself; or "". */
void fakeapi_add(struct fakeapi *f, const char *resource, const char *ns, const char *name,
		 const char *meta, const char *rest);

/* NULL when there is none. */
const struct fakeapi_object *fakeapi_find(const struct fakeapi *f, const char *resource,
					  const char *ns, const char *name);

/* Whether the object is there and has this text in it. */
bool fakeapi_has(const struct fakeapi *f, const char *resource, const char *ns, const char *name,
		 const char *text);

/* How many objects of that resource there are. */
size_t fakeapi_count(const struct fakeapi *f, const char *resource);

/* Cuts every watch, and forgets what happened: those who watch must list again (410). */
void fakeapi_forget_past(struct fakeapi *f);

/* Watches of a resource are told nothing until fakeapi_catch_up(), as by a slow server. */
void fakeapi_hold_back(struct fakeapi *f, const char *resource);
void fakeapi_catch_up(struct fakeapi *f);

/* What was held by a fault is done or answered now. */
void fakeapi_let_go(struct fakeapi *f);

/* --- between its two files ------------------------------------------------------------ */

/* Answers; returns the status. */
int fakeapi_answer(struct fakeapi *f, const struct fakeapi_query *q, struct buf *out);

const struct fakeapi_kind *fakeapi_kinds(size_t *ret_n);
const struct fakeapi_kind *fakeapi_kind_of_path(struct str path, struct str *ret_ns,
						struct str *ret_name, struct str *ret_sub);
/* Whether discovery tells of it. */
bool fakeapi_serves(const struct fakeapi *f, const struct fakeapi_kind *k);
/* The value of a query's parameter, unescaped where it matters to us; empty: none. */
struct str fakeapi_param(struct str query, const char *name);

/* A list's or a watch's selection. */
bool fakeapi_selects(const struct fakeapi_kind *kind, struct str ns, struct str query,
		     const char *key);

/* An event was added to the log: watches are told. */
void fakeapi_tell(struct fakeapi *f, const struct fakeapi_event *e);

#endif
