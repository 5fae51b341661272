/*
 * connect_impl - what the files of the connecting subresources share.
 */
#ifndef SERVER_CONNECT_CONNECT_IMPL_H
#define SERVER_CONNECT_CONNECT_IMPL_H

#include "net/loop/addr.h"
#include "server/http/exchange.h"
#include "server/request/connect_query.h"

struct mutation;

/* A request that is led on. Lives in x->work. */
struct connect {
	struct exchange *x;
	struct mutation *m; /* nothing is written, but admission is asked as for a write */
	struct json *options; /* that were asked for (connect_options.h); of a log NULL */
	struct connect_query query; /* of log, exec, attach, portforward */
	struct str tail; /* of a proxy: the path there, escaped */
	bool proxy; /* else one of these */
	bool log;
	bool upgrade; /* to a WebSocket or SPDY */

	/* Where to; found at the state (connect/place.c). */
	struct addr to;
	struct str target; /* path and query */
	bool clear; /* without TLS */
	bool kubelet; /* who is asked is one */
	const char *kubelet_name; /* that its certificate must be for; NULL: its address */
	bool nowhere; /* the log of a pod that is on no node */
	bool nobody; /* `err` says that a service has none: no reason to try again soon */

	struct error err; /* or why not */
};

/* Whom a proxy is asked for: "name", "name:port" or "scheme:name:port". */
struct proxy_id {
	struct str scheme, name, port;
};

/*
 * At the state: asks admission, which may refuse, change what is asked for, or park c->m, which is
 * then resumed. Not for logs. Failures are in `err`.
 */
int connect_admit(struct connect *c);

/* At the state: finds where the request leads to, or fills in `err`. */
int connect_find(struct connect *c, struct state *st);

/* --- for connect_find() ----------------------------------------------------------- */

/* The tree of an object of core/v1; -ERR_NOT_FOUND in `err`. */
int connect_get(struct connect *c, struct state *st, const char *resource, struct str ns,
		struct str name, struct json **ret_tree);

/* A pod behind a service of the request's namespace. */
int connect_locate_service(struct connect *c, struct state *st, struct proxy_id *id);

#endif
