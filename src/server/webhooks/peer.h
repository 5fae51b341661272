/*
 * webhook_peer - the far end of a webhook: POSTs over TLS, each with its own time limit.
 *
 * Speaks HTTP/1.1, as upstream does to webhooks, so that a balancer in between sees every request.
 * Connections are kept for the next request; a bounded number is open at a time, and what is
 * posted beyond that waits, its time running. Nothing is sent but what is posted: no
 * credentials, no cookies, and redirects are not followed.
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

/* Trusts the certificates in `ca` (PEM, copied); empty: the system's. */
struct webhook_peer *webhook_peer_new(struct loop *l, struct str ca);
struct webhook_peer *webhook_peer_ref(struct webhook_peer *p);
void webhook_peer_unref(struct webhook_peer *p); /* NULL allowed */

/* One request. Embed it; the caller's until webhook_peer_post(), and again in done(). */
struct webhook_post {
	/* What to do. Text lives until done(). */
	struct addr to;
	const char *server_name; /* that the certificate must be of */
	struct str authority, target; /* "host:port", "/path?query" */
	struct str body; /* JSON */
	int64_t timeout_ms;
	/* It is over; never called from webhook_peer_post() itself. */
	void (*done)(struct webhook_post *post);
	/* What became of it. */
	struct error err; /* code 0: there was an answer, of any status */
	int status;
	struct buf answer; /* its body; released by the caller */

	/* Private. */
	struct webhook_peer *peer;
	struct webhook_line *line; /* that carries it; NULL: it waits for one */
	struct list link; /* of those who wait */
	struct loop_timer timer;
	bool retried;
};

void webhook_peer_post(struct webhook_peer *p, struct webhook_post *post);

/* Gives it up: done() comes in a later turn, with this error. */
void webhook_post_cancel(struct webhook_post *post, const struct error *why);

#endif
