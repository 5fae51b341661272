/*
 * connect_impl - shared by the files of the connecting subresources.
 */
#ifndef SERVER_CONNECT_CONNECT_IMPL_H
#define SERVER_CONNECT_CONNECT_IMPL_H

#include "net/loop/addr.h"
#include "server/http/exchange.h"
#include "server/request/connect_query.h"

struct mutation;

/* A request that is proxied. Lives in x->work. */
struct connect {
	struct exchange *x;
	struct mutation *m; /* writes nothing, but runs admission as for a write */
	struct json *options; /* the requested options (connect_options.h); NULL for a log */
	struct connect_query query; /* for log, exec, attach, portforward */
	struct str tail; /* for a proxy: the path there, escaped */
	bool proxy; /* otherwise one of log, exec, attach, portforward */
	bool log;
	bool upgrade; /* to WebSocket or SPDY */

	/* The destination, found on the state's loop (connect/place.c). */
	struct addr to;
	struct str target; /* path and query */
	bool clear; /* without TLS */
	bool kubelet; /* the destination is a kubelet */
	const char *kubelet_name; /* name that its certificate must have; NULL: its address */
	bool nowhere; /* a log, but the pod has no node yet */
	/* `err` says that a service has no endpoints: the client need not retry soon */
	bool nobody;

	struct error err; /* or why there is no destination */
};

/* The destination of a proxy request: "name", "name:port" or "scheme:name:port". */
struct proxy_id {
	struct str scheme, name, port;
};

/*
 * On the state's loop: runs admission, which may reject or change the request, or park c->m,
 * which is resumed later. Not for logs. Sets `err` on failure.
 */
int connect_admit(struct connect *c);

/* On the state's loop: finds the destination, or sets `err`. */
int connect_find(struct connect *c, struct state *st);

/* --- for connect_find() ----------------------------------------------------------- */

/* The tree of an object of core/v1; -ERR_NOT_FOUND in `err`. */
int connect_get(struct connect *c, struct state *st, const char *resource, struct str ns,
		struct str name, struct json **ret_tree);

/* Finds a pod behind a service in the request's namespace. */
int connect_locate_service(struct connect *c, struct state *st, struct proxy_id *id);

#endif
