/*
 * connect_options - the query of exec, attach, port-forward or a proxy, as an object.
 *
 * A PodExecOptions, PodAttachOptions, PodPortForwardOptions, PodProxyOptions, NodeProxyOptions or
 * ServiceProxyOptions of v1. Admission sees this object for a proxied request, and may change it.
 * No side effects.
 */
#ifndef SERVER_REQUEST_CONNECT_OPTIONS_H
#define SERVER_REQUEST_CONNECT_OPTIONS_H

#include "base/core/error.h"
#include "base/core/str.h"

struct arena;
struct json;

/*
 * Reads options of that kind from a query and, for a proxy, from the path after it (`tail`, as it
 * was sent). The result is in the arena. -ERR_BAD_REQUEST if they cannot be parsed.
 */
int connect_options_read(struct arena *a, struct str kind, struct str query, struct str tail,
			 struct json **ret_options, struct error *err);

/*
 * Fits options to their kind after admission changed them: removes unknown members; known members
 * must have the right types. -ERR_BAD_REQUEST.
 */
int connect_options_fit(struct json *options, struct error *err);

/* Whether the query has this parameter. */
bool connect_options_given(struct arena *a, struct str query, const char *name);

/* A query that means the same as the options. -ERR_TOO_LARGE. */
int connect_options_query(struct arena *a, const struct json *options, struct str *ret_query,
			  struct error *err);

/* The path in a proxy's options, as it is sent: escaped, with its leading slash. -ERR_TOO_LARGE. */
int connect_options_path(struct arena *a, const struct json *options, struct str *ret_path,
			 struct error *err);

#endif
