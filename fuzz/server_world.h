/*
 * server_world - for fuzz targets: a whole API server in a simulated world, and its clients.
 *
 * The real server with two I/O loops, on a real store in a temporary folder. Its start takes longer
 * than an input, so it serves many inputs. Clients are on another host, and time is the
 * simulation's.
 *
 * Namespace "fuzz" has three users: alice may use many kinds there, bob fewer, by a RoleBinding
 * that can be revoked, and carol is a service account that can be deleted. Requests without a token
 * are anonymous.
 */
#ifndef FUZZ_SERVER_WORLD_H
#define FUZZ_SERVER_WORLD_H

#include "base/core/buf.h"
#include "base/core/list.h"
#include "net/http/client.h"
#include "target.h"

enum world_user { WORLD_ADMIN, WORLD_ALICE, WORLD_BOB, WORLD_CAROL, WORLD_ANONYMOUS, WORLD_USERS };
enum world_kind {
	WORLD_MAPS,
	WORLD_SECRETS,
	WORLD_PODS,
	WORLD_CLAIMS,
	WORLD_LEASES,
	WORLD_BINDINGS, /* nobody but the administrator may touch them */
	WORLD_CLASSES, /* of devices: expressions */
	WORLD_DEFINITIONS, /* of custom kinds: rules and patterns */
	WORLD_KINDS
};
enum { WORLD_CONNS = 4 };

/* The RoleBinding that bob's rights hang on. */
#define WORLD_BIND_BOB                                                                         \
	"{\"metadata\":{\"name\":\"bob\"},\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s." \
	"io\","                                                                                \
	"\"kind\":\"Role\",\"name\":\"bob\"},\"subjects\":[{\"kind\":\"User\",\"apiGroup\":"   \
	"\"rbac.authorization.k8s.io\",\"name\":\"bob\"}]}"

#define WORLD_ACCOUNTS "/api/v1/namespaces/fuzz/serviceaccounts"

struct world;

/* A request and its answer. Lives until it is over, or its connection is cut. */
struct world_ask {
	struct list link; /* world_asks() */
	struct http_stream *stream;
	int status; /* 0: no head came */
	struct buf got; /* of a watch: the part of the last line that came so far */
	bool whole; /* the answer ended in order */
	bool held; /* the client takes nothing of it */
	unsigned conn;
	/* A piece of a watch's answer came: `got` has been added to. Or NULL. */
	void (*on_piece)(struct world_ask *k);
	/* It is over; the ask is freed afterwards. */
	void (*on_over)(struct world_ask *k);
};

struct world_request {
	const char *method, *target, *content_type;
	struct str body; /* p NULL: none */
	size_t cut; /* so many bytes of the body's end are never sent */
	size_t padding; /* bytes of a header field */
	enum world_user user;
};

struct world *world_new(void);
void world_free(struct world *w);

/* Where objects of a kind are: "/api/v1/namespaces/fuzz/configmaps". */
const char *world_path(enum world_kind kind);

/*
 * Opens the connection anew, if need be; sends. The ask's callbacks are set by the caller, and are
 * not called before.
 */
void world_send(struct world *w, unsigned conn, const struct world_request *r, struct world_ask *k);

/*
 * The form of the connection when it is opened next; NARROW: over HTTP/2, with a window of few
 * bytes.
 */
enum world_form { WORLD_HTTP2, WORLD_HTTP1, WORLD_NARROW };
void world_choose(struct world *w, unsigned conn, enum world_form form);

/* Ends the connection at once; asks on it are over. */
void world_cut(struct world *w, unsigned conn);

/* The client of the connection stops to read, or reads again. */
void world_hold(struct world *w, unsigned conn, bool hold);

/* A request of the administrator on a connection of its own, to its end; returns the status. */
int world_call(struct world *w, const char *method, const char *target, const char *body,
	       struct buf *ret_answer);

/* Makes carol's account, if it is missing, and gets a token for it. */
void world_admit_carol(struct world *w);

void world_run(struct world *w, int64_t ms);
struct list *world_asks(struct world *w);
struct sim *world_sim(struct world *w);
struct server *world_server(struct world *w);

/* How many objects of the kind are committed. */
size_t world_count(struct world *w, enum world_kind kind);
/* The uid of a committed object; empty if the object does not exist. */
struct str world_uid(struct world *w, enum world_kind kind, const char *name, char *buf,
		     size_t size);

#endif
