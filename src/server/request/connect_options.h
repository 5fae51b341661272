/*
 * connect_options - what a connection is asked for with, as an object.
 *
 * A PodExecOptions, PodAttachOptions, PodPortForwardOptions, PodProxyOptions, NodeProxyOptions or
 * ServiceProxyOptions of v1: what admission sees of a request that leads on, and may change. Pure.
 */
#ifndef SERVER_REQUEST_CONNECT_OPTIONS_H
#define SERVER_REQUEST_CONNECT_OPTIONS_H

#include "base/core/error.h"
#include "base/core/str.h"

struct arena;
struct json;

/*
 * The options of that kind that a query asks for and, of a proxy, the path behind it (`tail`, as
 * it was sent). All in the arena. -ERR_BAD_REQUEST for what cannot be read.
 */
int connect_options_read(struct arena *a, struct str kind, struct str query, struct str tail,
			 struct json **ret_options, struct error *err);

/*
 * Makes what somebody changed options again: members that the kind does not know go, those it
 * knows must be of their types. -ERR_BAD_REQUEST.
 */
int connect_options_fit(struct json *options, struct error *err);

/* Whether the query has this parameter. */
bool connect_options_given(struct arena *a, struct str query, const char *name);

/* A query that asks for the same. -ERR_TOO_LARGE. */
int connect_options_query(struct arena *a, const struct json *options, struct str *ret_query,
			  struct error *err);

/* The path of a proxy's options, as it is sent: escaped, with its first slash. -ERR_TOO_LARGE. */
int connect_options_path(struct arena *a, const struct json *options, struct str *ret_path,
			 struct error *err);

#endif
