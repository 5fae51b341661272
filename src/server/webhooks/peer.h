/*
 * webhook_peer - a client for one webhook: POSTs over TLS, each with its own time limit.
 *
 * Uses HTTP/1.1, as upstream does for webhooks, so that a load balancer sees every request.
 * Connections are reused. Their number is limited; further requests wait, and the waiting counts
 * towards their time limit. The client sends only the posted body: no credentials, no cookies. It
 * does not follow redirects.
 *
 * Threads: its loop's.
 */
#ifndef SERVER_WEBHOOKS_PEER_H
#define SERVER_WEBHOOKS_PEER_H

#include "base/core/buf.h"
#include "base/core/error.h"
#include "net/loop/addr.h"
#include "net/loop/loop.h"

struct webhook_line;
struct webhook_peer;

/* Trusts the certificates in `ca` (PEM, copied); empty: the system's CAs. */
struct webhook_peer *webhook_peer_new(struct loop *l, struct str ca);
struct webhook_peer *webhook_peer_ref(struct webhook_peer *p);
void webhook_peer_unref(struct webhook_peer *p); /* NULL allowed */

/* One request. Embed it. It belongs to the peer from webhook_peer_post() until done(). */
struct webhook_post {
	/* The request. Text lives until done(). */
	struct addr to;
	const char *server_name; /* name that the certificate must have */
	struct str authority, target; /* "host:port", "/path?query" */
	struct str body; /* JSON */
	int64_t timeout_ms;
	/* The request has ended. Never called from within webhook_peer_post(). */
	void (*done)(struct webhook_post *post);
	/* The result. */
	struct error err; /* code 0: a reply arrived, with any status */
	int status;
	struct buf answer; /* body of the reply; the caller releases it */

	/* Private. */
	struct webhook_peer *peer;
	struct webhook_line *line; /* its connection; NULL: it waits for one */
	struct list link; /* in the list of waiting requests */
	struct loop_timer timer;
	bool retried;
};

void webhook_peer_post(struct webhook_peer *p, struct webhook_post *post);

/* Cancels the request: done() is called in a later turn, with this error. */
void webhook_post_cancel(struct webhook_post *post, const struct error *why);

#endif
