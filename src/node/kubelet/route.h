/*
 * kubelet_route - parses a request to the kubelet's API, and finds the permission it needs. Pure.
 *
 * Paths, parameters and permissions are kubelet's: a request needs access to nodes/SUBRESOURCE of
 * this node, with the verb of its method. If there is a fine-grained subresource, either that or
 * nodes/proxy is enough.
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
	KUBELET_SYSTEM_LOGS,
	KUBELET_PAGES,
};

struct kubelet_route {
	enum kubelet_page page;
	struct str ns, pod, uid, container; /* decoded; uid may be empty */
	struct str rest; /* of SYSTEM_LOGS: the path below it, decoded; empty: the folder itself */
};

/*
 * -ERR_NOT_FOUND for a path that is not served, -ERR_METHOD_NOT_ALLOWED for a method that the path
 * does not support. Texts live in the arena or in the path.
 */
int kubelet_route_find(struct str method, struct str path, struct arena *a,
		       struct kubelet_route *ret_route, struct error *err);

enum { KUBELET_SUBRESOURCES_MAX = 2 };

/*
 * The subresources of nodes of which any one is enough, in the order to check; returns their
 * number.
 */
size_t kubelet_route_subresources(struct str path,
				  const char *ret_names[static KUBELET_SUBRESOURCES_MAX]);

/*
 * The verb that the permission needs: "get" for GET; empty for a method without a verb. Running a
 * command in a pod is "create" with any method, because a WebSocket begins with GET.
 */
const char *kubelet_route_verb(struct str method, struct str path);

/* Parameters of a request for a log. */
struct kubelet_log_query {
	struct log_reader_opts reader; /* without records */
	int64_t tail; /* -1: all */
	bool follow, previous;
};

/*
 * -ERR_BAD_REQUEST for a value that cannot be parsed, -ERR_INVALID for a value that is not allowed.
 */
int kubelet_route_log_query(struct str query, int64_t wall_ns, struct arena *a,
			    struct kubelet_log_query *ret_query, struct error *err);

/*
 * Command, streams and ports of a request for `kind`; does not set the id. -ERR_BAD_REQUEST if no
 * stream is requested, or a port is invalid.
 */
int kubelet_route_stream_query(struct str query, enum runtime_stream_kind kind, struct arena *a,
			       struct runtime_stream *ret_stream, struct error *err);

#endif
