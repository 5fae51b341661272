/*
 * connect_impl - what the files of the connecting subresources share.
 */
#ifndef SERVER_CONNECT_IMPL_H
#define SERVER_CONNECT_IMPL_H

#include "net/addr.h"
#include "server/connect_query.h"
#include "server/exchange.h"

/* A request that is led on. Lives in x->work. */
struct connect {
	struct exchange *x;
	struct connect_query query; /* of log, exec, attach, portforward */
	bool proxy; /* else one of these */
	bool log;

	/* Where to; found at the state (connect_place.c). */
	struct addr to;
	struct str target; /* path and query */
	bool clear; /* without TLS */
	bool kubelet; /* who is asked is one */
	bool nowhere; /* the log of a pod that is on no node */

	/* Or why not. */
	struct error err;
	const struct schema_kind *about_kind; /* NULL: the request's */
	struct str about_name;
};

/* At the state: finds where the request leads to, or fills in `err`. */
int connect_find(struct connect *c, struct state *st);

#endif
