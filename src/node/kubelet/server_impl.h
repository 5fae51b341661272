/*
 * kubelet_impl - the kubelet server from inside; for the files of src/node/kubelet only.
 */
#ifndef NODE_KUBELET_SERVER_IMPL_H
#define NODE_KUBELET_SERVER_IMPL_H

#include "base/core/list.h"
#include "net/http/http.h"
#include "net/loop/loop.h"
#include "node/kubelet/auth.h"
#include "node/kubelet/server.h"

struct log_stream;
struct system_log;

struct kubelet_server {
	struct kubelet_server_opts opts;
	struct http_server *http;
	struct kubelet_auth *auth;
	struct addr at;
	struct loop_timer renew; /* time of the next check of its certificates */
	struct list calls; /* struct kubelet_call */
};

/* One request; in its stream's arena. */
struct kubelet_request {
	struct kubelet_server *server;
	struct http_stream *http;
	struct kubelet_ask ask;
	struct kubelet_route route;
	struct log_stream *log; /* or NULL */
	struct system_log *file; /* or NULL */
	struct str pod_uid, container_id; /* of the log */
};

/*
 * A call to the runtime, which cannot be cancelled. It holds the stream, whose request may be over
 * when the reply comes.
 */
struct kubelet_call {
	struct list link;
	struct kubelet_request *request;
};

struct kubelet_call *kubelet_call_new(struct kubelet_request *r);
/* The reply has come. Frees the call. Returns NULL if the request is over. */
struct kubelet_request *kubelet_call_end(struct kubelet_call *c);

void kubelet_reply(struct kubelet_request *r, int status, struct str type, struct str text);
/* Sends the error's message as text, with its status. */
void kubelet_fail(struct kubelet_request *r, const struct error *err);

/* --- kubelet/stream.c: exec, attach, port-forward ------------------------------------ */

void kubelet_serve_stream(struct kubelet_request *r);
void kubelet_serve_run(struct kubelet_request *r);

#endif
