/*
 * fakeapi_world - for tests: an API server in memory, in a simulated world.
 *
 * It holds objects of a few kinds and serves them over HTTP on one of the world's loops. It
 * supports get, list, watch (from a version, or with the initial state), create, update, patches
 * (merge, strategic merge, JSON), delete collection, binding of pods, and aggregated discovery.
 * Delete supports preconditions, finalizers and propagation. The rules are as simple as possible
 * while clients and controllers still see what a real server would show them. Direct calls
 * (fakeapi_call) and requests over the wire have the same effect.
 */
#ifndef CLIENT_TESTING_FAKEAPI_WORLD_H
#define CLIENT_TESTING_FAKEAPI_WORLD_H

#include "base/core/buf.h"
#include "base/core/list.h"
#include "base/core/random.h"
#include "base/core/vec.h"
#include "base/json/json.h"
#include "base/ordered/omap.h"
#include "net/http/server.h"
#include "net/sim/sim.h"

struct client;
struct loop;

struct fakeapi_kind {
	const char *group, *version, *resource, *kind;
	bool namespaced, no_collection;
	bool defined; /* served only while its definition exists */
	/* Changes of the spec raise the generation, and the status is written separately. */
	bool generations;
};

struct fakeapi_object {
	const struct fakeapi_kind *kind;
	int64_t rv;
	char *key; /* "resource/namespace/name" */
	char *text; /* JSON, resourceVersion included */
};

/* A change, for watches. */
struct fakeapi_event {
	const struct fakeapi_kind *kind;
	int64_t rv;
	const char *type;
	char *key, *text;
};

struct fakeapi_query {
	struct str method, path, query, body;
	struct str type; /* of the body: "application/json" and the like; or empty */
};

/* The fate of a request over the wire; or the HTTP status of an error reply. */
enum fakeapi_fault {
	FAKEAPI_WELL,
	FAKEAPI_CUT, /* not executed; the connection is closed */
	FAKEAPI_DO_AND_CUT, /* executed, but no reply is sent */
	FAKEAPI_HOLD, /* executed by fakeapi_let_go(), unless the client has left */
	FAKEAPI_HOLD_ANSWER, /* executed; fakeapi_let_go() sends the reply */
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
	double fail; /* probability that a request over the wire is answered with 500 */
	int (*fault)(void *arg, const struct fakeapi_query *q); /* enum fakeapi_fault; or NULL */
	void *fault_arg;
	const char *refusal; /* the body of a fault's error reply; NULL: a plain one */
	bool hide_widgets, hide_claims; /* discovery does not list them */
	bool slice_status; /* discovery lists the status subresource of slices */
	const char *late; /* a resource whose watches get no events for now; or NULL */
	size_t late_from; /* position in the log */
	uint64_t requests, writes; /* over the wire */
	bool drained;
};

/* Its loop is on host "api" and listens on "api:80". */
struct fakeapi *fakeapi_new(struct sim *s, uint64_t seed);
/* All clients must have been freed. */
void fakeapi_free(struct fakeapi *f);

/* A client on a loop of the same world. Failures are cmocka's. */
struct client *fakeapi_client(struct fakeapi *f, struct loop *l);

/*
 * Executes a request: "/api/v1/namespaces/x/configmaps/y?propagationPolicy=Orphan". Returns the
 * HTTP status; *out (or NULL) gets the reply. No watches.
 */
int fakeapi_call(struct fakeapi *f, const char *method, const char *target, struct str body,
		 struct buf *out);

/* Adds an object. `meta` is more metadata (",\"uid\":\"1\""), `rest` are more members; or "". */
void fakeapi_add(struct fakeapi *f, const char *resource, const char *ns, const char *name,
		 const char *meta, const char *rest);

/* NULL: not found. */
const struct fakeapi_object *fakeapi_find(const struct fakeapi *f, const char *resource,
					  const char *ns, const char *name);

/* Whether the object exists and contains this text. */
bool fakeapi_has(const struct fakeapi *f, const char *resource, const char *ns, const char *name,
		 const char *text);

/* The number of objects of that resource; of those that contain this text. */
size_t fakeapi_count(const struct fakeapi *f, const char *resource);
size_t fakeapi_count_with(const struct fakeapi *f, const char *resource, const char *text);

/* The name of an object of that resource, counted from 0 in the order of keys. Must exist. */
const char *fakeapi_name_at(const struct fakeapi *f, const char *resource, size_t index);

/* Closes every watch and drops the history: watchers must list again (410). */
void fakeapi_forget_past(struct fakeapi *f);

/* Watches of a resource get no events until fakeapi_catch_up(), as from a slow server. */
void fakeapi_hold_back(struct fakeapi *f, const char *resource);
void fakeapi_catch_up(struct fakeapi *f);

/* Executes or answers the requests that a fault held back. */
void fakeapi_let_go(struct fakeapi *f);

/* --- between its two files ------------------------------------------------------------ */

/* Executes the request; returns the status. */
int fakeapi_answer(struct fakeapi *f, const struct fakeapi_query *q, struct buf *out);

const struct fakeapi_kind *fakeapi_kind_of_path(struct str path, struct str *ret_ns,
						struct str *ret_name, struct str *ret_sub);
/* Whether discovery lists the kind. */
bool fakeapi_serves(const struct fakeapi *f, const struct fakeapi_kind *k);
/* The value of a query's parameter, unescaped where tests need it; empty: absent. */
struct str fakeapi_param(struct str query, const char *name);

/* Whether a list or watch selects the object. */
bool fakeapi_selects(const struct fakeapi_kind *kind, struct str ns, struct str query,
		     const char *key);

/* An event was added to the log: sends it to the watches. */
void fakeapi_tell(struct fakeapi *f, const struct fakeapi_event *e);

#endif
