/*
 * tls_world - for tests: a CA, and a client and a server that use TLS over a conn_pipe.
 *
 * The world's time is 2030-01-01. A certificate that is checked by the real clock instead of the
 * loop's is not valid there.
 */
#ifndef NET_TLS_TLS_WORLD_H
#define NET_TLS_TLS_WORLD_H

#include "net/loop/conn_pipe.h"
#include "net/tls/pki.h"
#include "net/tls/tls.h"

#define TLS_WORLD_NOW INT64_C(1893456000)
#define TLS_WORLD_DAY (INT64_C(24) * 3600)

enum tls_event {
	TLS_EVENT_OPEN,
	TLS_EVENT_DATA,
	TLS_EVENT_EOF,
	TLS_EVENT_WRITABLE,
	TLS_EVENT_ERROR
};

/* The owner of one end: records callbacks and sends what it is given. */
struct tls_side {
	struct conn *conn; /* NULL once freed */
	struct buf got;
	struct str to_send; /* sent from the first event on, in small and large pieces */
	int count[TLS_EVENT_ERROR + 1];
	struct error err;
	/* Called after each event was recorded; may free the conn with tls_side_free. */
	void (*hook)(struct tls_side *s, enum tls_event event);
	void *data; /* for the test */
};

struct tls_world {
	struct pipe_loop loop;
	struct pki_ca *ca;
	struct buf ca_cert;
	struct buf cert, key; /* of a server: "localhost", 10.0.0.1 */
	struct pipe_end *client_end, *server_end;
	struct tls_side client, server;
};

void tls_world_init(struct tls_world *w);
void tls_world_release(struct tls_world *w);

/* Appends a pair signed by `ca`; without a host it is a client's. */
void tls_world_issue(struct tls_world *w, const struct pki_ca *ca, const char *common_name,
		     const char *host, struct buf *cert, struct buf *key);

/* A server with the world's pair, a client that trusts its CA; both offer `alpn`. */
struct tls *tls_world_server(struct tls_world *w, const char *const *alpn);
struct tls *tls_world_client(struct tls_world *w, const char *const *alpn);

/* Joins the two and starts the handshakes. Drops the caller's references. */
void tls_world_connect(struct tls_world *w, struct tls *client, struct tls *server,
		       const char *server_name, size_t piece, size_t room);

/* The usual case: the world's client and server, "localhost", large pieces, handshake done. */
void tls_world_open(struct tls_world *w);

/* Sends the rest of to_send, as far as the conn takes it. */
void tls_side_send(struct tls_side *s);
void tls_side_free(struct tls_side *s);

#endif
