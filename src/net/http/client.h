/*
 * http_client - one connection to one server, for requests.
 *
 * It connects when created, and is used up when the connection ends; create a new one to try again
 * (gRPC channels and API clients decide when). Requests may be made before it is open, and are sent
 * then. The exception is HTTP_PROTOCOL_ANY over TLS, where the protocol is known only at on_open.
 * On HTTP/1.1 requests wait for their turn, on HTTP/2 they run in parallel.
 */
#ifndef NET_HTTP_CLIENT_H
#define NET_HTTP_CLIENT_H

#include "net/http/http.h"
#include "net/http/session.h"
#include "net/loop/addr.h"

struct http_client;
struct tls;

enum http_protocol {
	HTTP_PROTOCOL_ANY, /* TLS: by ALPN; plain text: HTTP/1.1 */
	HTTP_PROTOCOL_1,
	HTTP_PROTOCOL_2, /* plain text: prior knowledge */
};

struct http_client_opts {
	struct addr to;
	struct tls *tls; /* NULL: plain text */
	const char *server_name; /* for TLS; NULL: the address's host */
	enum http_protocol protocol;
	struct http_config config;
	int64_t connect_timeout_ms; /* connection and handshake; 0: 10 s */
	int64_t ping_interval_ms; /* HTTP/2: ping when silent, fail without a reply; 0: never */
	bool ping_busy_only; /* only while requests run: gRPC servers reject other pings */
	/* Open for requests. */
	void (*on_open)(void *arg);
	/* No new requests will succeed (GOAWAY, Connection: close, failure). Once; free it
	   whenever you like afterwards. Streams that can still end in order go on. */
	void (*on_close)(void *arg, const struct error *err);
	void *arg;
};

int http_client_new(struct loop *l, const struct http_client_opts *opts,
		    struct http_client **ret_client, struct error *err);

/* The protocol in use, from on_open on. */
enum http_version http_client_version(const struct http_client *c);

/* When the server last sent anything, in ms of the loop; initially when the client was created. */
int64_t http_client_input_at(const struct http_client *c);

/* Fails with -ERR_UNAVAILABLE when no longer possible. The stream is the session's;
   take a reference to keep it beyond on_close. */
int http_client_request(struct http_client *c, const struct http_request *r,
			struct http_stream **ret_stream, struct error *err);

/* Accepts no new requests and lets the present ones end. on_close follows. */
void http_client_drain(struct http_client *c);

/*
 * Lets running requests end and be flushed, then frees the client. The client's own callbacks are
 * not called any more. NULL allowed.
 */
void http_client_leave(struct http_client *c);

/* Closes the connection; open streams get on_close. The client's own callbacks are not called. */
void http_client_free(struct http_client *c);

#endif
