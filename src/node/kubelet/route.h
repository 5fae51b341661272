/*
 * kubelet_route - what a request to the kubelet's API asks for, and which right it needs. Pure.
 *
 * Paths, parameters and rights are kubelet's: a request is for nodes/SUBRESOURCE of this node, with
 * the verb of its method. Where there is a fine-grained subresource, either that or nodes/proxy is
 * enough.
 */
#ifndef NODE_KUBELET_ROUTE_H
#define NODE_KUBELET_ROUTE_H

#include "base/core/arena.h"
#include "base/core/error.h"
#include "node/logs/reader.h"
#include "node/runtime/runtime.h"

enum kubelet_page {
	KUBELET_HEALTHZ,
	KUBELET_PODS,
	KUBELET_RUNNING_PODS,
	KUBELET_LOGS,
	KUBELET_EXEC,
	KUBELET_ATTACH,
	KUBELET_PORT_FORWARD,
	KUBELET_RUN,
	KUBELET_METRICS,
	KUBELET_PAGES,
};

struct kubelet_route {
	enum kubelet_page page;
	struct str ns, pod, uid, container; /* decoded; uid may be empty */
};

/*
 * -ERR_NOT_FOUND for a path that is not served, -ERR_METHOD_NOT_ALLOWED for a method that the page
 * does not take. Texts are the arena's or the path's.
 */
int kubelet_route_find(struct str method, struct str path, struct arena *a,
		       struct kubelet_route *ret_route, struct error *err);

enum { KUBELET_SUBRESOURCES_MAX = 2 };

/* Subresources of nodes of which any is enough, in the order of asking; how many. */
size_t kubelet_route_subresources(struct str path,
				  const char *ret_names[static KUBELET_SUBRESOURCES_MAX]);

/*
 * The verb that a right must have: "get" for GET; empty for a method that has none. Running
 * something in a pod is "create" by whatever method, as a WebSocket begins with GET.
 */
const char *kubelet_route_verb(struct str method, struct str path);

/* What a reader of a log asked for. */
struct kubelet_log_query {
	struct log_reader_opts reader; /* without records */
	int64_t tail; /* -1: all */
	bool follow, previous;
};

/* -ERR_BAD_REQUEST for what cannot be read, -ERR_INVALID for what may not be. */
int kubelet_route_log_query(struct str query, int64_t wall_ns, struct arena *a,
			    struct kubelet_log_query *ret_query, struct error *err);

/*
 * Command, streams and ports of a request for `kind`; id is not set. -ERR_BAD_REQUEST when there is
 * no stream, or a port that is none.
 */
int kubelet_route_stream_query(struct str query, enum runtime_stream_kind kind, struct arena *a,
			       struct runtime_stream *ret_stream, struct error *err);

#endif
