/*
 * kubelet_server - the HTTPS API that a kubelet serves: logs, exec, attach, port-forward, pods,
 * health, metrics.
 *
 * Every request is authenticated and authorized first (kubelet/auth.h), then its path is looked at
 * (kubelet/route.h). Answers, errors included, are plain text or JSON as kubelet's are. Exec,
 * attach and port-forward are tunnels: the request goes to the URL that the runtime named, and what
 * its streaming server says, upgraded or not, goes back (net/relay/http_relay.h).
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

/* What the server asks its node. */
struct kubelet_host {
	/* -ERR_*: not well, and why. */
	int (*healthy)(void *arg, struct error *err);
	/* Appends a PodList: pods of the API; what the runtime runs. */
	void (*print_pods)(void *arg, struct buf *out);
	void (*print_running)(void *arg, struct buf *out);
	/* Which log a request is about. Errors are answered as they are. */
	int (*find_log)(void *arg, const struct kubelet_route *route, bool previous,
			struct kubelet_log *ret_log, struct error *err);
	bool (*is_running)(void *arg, struct str pod_uid, struct str container_id);
	/*
	 * Fills in the id of the container or sandbox, borrowed until the call returns, and
	 * whether an attached container has a terminal.
	 */
	int (*find_stream)(void *arg, const struct kubelet_route *route,
			   struct runtime_stream *stream, struct error *err);
};

struct kubelet_server_opts {
	struct loop *loop;
	struct client *client; /* for reviews */
	const char *node_name;
	struct addr at;
	/* Looked at again every day. Its texts are borrowed for as long as the server lives. */
	struct kubelet_tls_opts tls;
	bool anonymous;
	struct runtime *runtime;
	const struct kubelet_host *host;
	void *arg; /* of the host */
	struct metrics *metrics; /* or NULL */
	const struct log *log;
};

int kubelet_server_new(const struct kubelet_server_opts *opts, struct kubelet_server **ret_server,
		       struct error *err);

/* Where it listens. */
const struct addr *kubelet_server_addr(const struct kubelet_server *s);

/* Cuts what is open and ends; `done` comes once, later. While it ends the host is still asked. */
void kubelet_server_close(struct kubelet_server *s, void (*done)(void *arg), void *arg);

/* After `done`, or before the loop ran; the runtime must be gone. NULL allowed. */
void kubelet_server_free(struct kubelet_server *s);

#endif
