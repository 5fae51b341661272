/*
 * probe_run_impl - shared by the kinds of attempts.
 */
#ifndef NODE_PROBES_RUN_IMPL_H
#define NODE_PROBES_RUN_IMPL_H

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "net/http/client.h"
#include "net/loop/addr.h"
#include "net/loop/loop.h"
#include "node/probes/run.h"

struct conn;
struct grpc_channel;

/* The parts of a URL. Text in the run's arena. */
struct probe_url {
	bool https;
	struct str host; /* without brackets */
	struct str authority; /* "host:port" as in the URL */
	uint16_t port;
	struct str target; /* path and query */
};

struct probe_run {
	struct probe_target target; /* text in the arena; `container` is not kept */
	struct arena arena;
	struct loop_timer timer;
	struct loop_task task; /* reports a result that is known at once */
	int64_t timeout_ms;
	probe_run_done *done;
	void *arg;
	enum probe_result early; /* the result for `task` */
	struct str early_message;
	/* exec */
	struct probe_exec *exec;
	struct str command; /* the command line, for messages */
	/* tcpSocket */
	struct conn *conn;
	struct addr addr;
	/* httpGet */
	struct http_client *http;
	struct probe_url url;
	struct str first_host; /* redirects must stay on this host */
	struct http_field *fields;
	size_t nfields;
	struct str host_field; /* the Host header that the probe sets; or empty */
	struct buf body;
	int status;
	struct str location;
	unsigned redirects;
	/* grpc */
	struct grpc_channel *channel;
	bool connected;
	const char *service;
};

/* Ends the attempt: frees it, then calls `done`. */
void probe_run_tell(struct probe_run *r, enum probe_result result, struct str message);
void probe_run_tellf(struct probe_run *r, enum probe_result result, const char *fmt, ...)
	PRINTF_LIKE(3, 4);
/* The same at the end of the turn. */
void probe_run_tell_soon(struct probe_run *r, enum probe_result result, struct str message);

/* A number, or the name of a container's port. */
int probe_run_port(const struct json *container, const struct json *port, uint16_t *ret_port,
		   struct error *err);

/* "host:port", with brackets if the host has colons. In the arena. */
struct str probe_run_join(struct probe_run *r, struct str host, uint16_t port);

/* Appends a connection error in Go's format: "dial tcp ADDR: connect: connection refused". */
void probe_run_dial_words(const struct probe_run *r, const struct error *err, struct buf *out);

void probe_http_begin(struct probe_run *r, const struct json *action);
void probe_http_late(struct probe_run *r);
void probe_grpc_begin(struct probe_run *r, const struct json *action);

/* Resolves a Location header seen at `base` into *u; returns false if it is invalid. */
bool probe_url_resolve(const struct probe_url *base, struct str location, struct arena *a,
		       struct probe_url *ret_url);
/* "http://host:port/path", for messages. */
struct str probe_url_print(const struct probe_url *u, struct arena *a);

#endif
