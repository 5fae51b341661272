/*
 * connect_query - parses the query of pods/log, exec, attach and portforward.
 *
 * Parses a query into the values that the server needs, and makes the query for the kubelet. The
 * parameters are those of PodLogOptions, PodExecOptions, PodAttachOptions and
 * PodPortForwardOptions. No side effects.
 */
#ifndef SERVER_REQUEST_CONNECT_QUERY_H
#define SERVER_REQUEST_CONNECT_QUERY_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "base/report/field_errors.h"

struct arena;

struct connect_query {
	struct str container; /* empty: the only one */
	struct str kubelet; /* the query to send to the kubelet, encoded */
	bool skip_verify; /* insecureSkipTLSVerifyBackend */
};

/*
 * `subresource` is one of the four. -ERR_BAD_REQUEST if the query cannot be parsed; -ERR_INVALID
 * with `errs` if values are not allowed. Text lives in the arena.
 */
int connect_query_parse(struct str subresource, struct str query, struct arena *a,
			struct connect_query *ret_query, struct field_errors *errs,
			struct error *err);

/* Appends a part of a path or, with `form`, of a query; special characters as %XX. */
struct buf;
void connect_escape(struct buf *out, struct str s, bool form);

#endif
