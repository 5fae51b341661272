/*
 * kubelet_server - the kubelet's HTTPS API: logs, exec, attach, port-forward, pods, health,
 * metrics.
 *
 * Each request is first authenticated and authorized (kubelet/auth.h), then its path is parsed
 * (kubelet/route.h). Replies and errors are plain text or JSON, as kubelet's. Exec, attach and
 * port-forward are tunnels: the request is forwarded to the URL that the runtime returned, and the
 * reply of the runtime's streaming server, upgraded or not, is sent back (net/relay/http_relay.h).
 * Threads: the loop's.
 */
#ifndef NODE_KUBELET_SERVER_H
#define NODE_KUBELET_SERVER_H

#include "net/loop/addr.h"
#include "node/kubelet/route.h"
#include "node/kubelet/tls.h"

struct client;
struct kubelet_server;
struct log;
struct loop;
struct metrics;

/* The log of a container; texts are borrowed until the call returns. */
struct kubelet_log {
	struct str pod_uid, container_id, path;
};

/* Callbacks to the node agent. */
struct kubelet_host {
	/* Returns an error if the node is not healthy. */
	int (*healthy)(void *arg, struct error *err);
	/* Appends a PodList: the pods of the API; the pods that the runtime runs. */
	void (*print_pods)(void *arg, struct buf *out);
	void (*print_running)(void *arg, struct buf *out);
	/* Finds the log for a request. Errors are sent to the client unchanged. */
	int (*find_log)(void *arg, const struct kubelet_route *route, bool previous,
			struct kubelet_log *ret_log, struct error *err);
	bool (*is_running)(void *arg, struct str pod_uid, struct str container_id);
	/*
	 * Sets the id of the container or sandbox, borrowed until the call returns, and whether an
	 * attached container has a terminal.
	 */
	int (*find_stream)(void *arg, const struct kubelet_route *route,
			   struct runtime_stream *stream, struct error *err);
};

struct kubelet_server_opts {
	struct loop *loop;
	struct client *client; /* for reviews */
	const char *node_name;
	struct addr at;
	/* Read again every day. Its texts are borrowed while the server lives. */
	struct kubelet_tls_opts tls;
	bool anonymous;
	const char *log_dir; /* the machine's logs; NULL: not served */
	struct runtime *runtime;
	const struct kubelet_host *host;
	void *arg; /* for the host's callbacks */
	struct metrics *metrics; /* or NULL */
	const struct log *log;
};

int kubelet_server_new(const struct kubelet_server_opts *opts, struct kubelet_server **ret_server,
		       struct error *err);

/* The address on which it listens. */
const struct addr *kubelet_server_addr(const struct kubelet_server *s);

/*
 * Cuts open connections and closes; `done` is called once, later. Until then the host may be
 * called.
 */
void kubelet_server_close(struct kubelet_server *s, void (*done)(void *arg), void *arg);

/* Call it after `done`, or before the loop ran; the runtime must be freed. NULL allowed. */
void kubelet_server_free(struct kubelet_server *s);

#endif
