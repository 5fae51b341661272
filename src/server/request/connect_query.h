/*
 * connect_query - what the query of pods/log, exec, attach and portforward says.
 *
 * Pure: a query in, what we need of it and the query for the kubelet out. The
 * parameters are those of PodLogOptions, PodExecOptions, PodAttachOptions and
 * PodPortForwardOptions.
 */
#ifndef SERVER_REQUEST_CONNECT_QUERY_H
#define SERVER_REQUEST_CONNECT_QUERY_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "base/report/field_errors.h"

struct arena;

struct connect_query {
	struct str container; /* empty: the only one */
	struct str kubelet; /* the query that it is asked with, encoded */
	bool skip_verify; /* insecureSkipTLSVerifyBackend */
};

/*
 * `subresource` is one of the four. -ERR_BAD_REQUEST for what cannot be read, -ERR_INVALID with
 * `errs` for what may not be. Text lives in the arena.
 */
int connect_query_parse(struct str subresource, struct str query, struct arena *a,
			struct connect_query *ret_query, struct field_errors *errs,
			struct error *err);

/* Appends as a part of a path or, with `form`, of a query: what is special as %XX. */
struct buf;
void connect_escape(struct buf *out, struct str s, bool form);

#endif
