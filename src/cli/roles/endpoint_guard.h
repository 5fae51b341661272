/*
 * endpoint_guard - HTTPS and authorization for a role's endpoint (endpoint.h).
 *
 * The certificate comes from files, which are read again every hour, or is self-signed and kept in
 * memory only. A caller shows a bearer token, and the API server decides whether the caller may
 * read the path: TokenReview, then SubjectAccessReview of the non-resource URL. Results are cached
 * (client/reviews/reviewer.h), and at most REVIEWS_PER_S reviews are sent in a second, so callers
 * with bad tokens cannot flood the API server. Threads: the endpoint's loop.
 */
#ifndef CLI_ROLES_ENDPOINT_GUARD_H
#define CLI_ROLES_ENDPOINT_GUARD_H

#include "base/system/flags.h"
#include "client/reviews/reviewer.h"

struct addr;
struct endpoint_guard;
struct http_server;
struct http_stream;
struct kubeconfig;

/* Embed it in the options of a role's command. */
struct endpoint_guard_options {
	const char *secure; /* "auto", "always", "never"; NULL: "auto" */
	const char *cert_file, *key_file;
};

/* The rows for it; `member` is its name in the options struct. */
#define ENDPOINT_GUARD_FLAGS(type, member)                                                        \
	{ "metrics-secure",                                                                       \
	  0,                                                                                      \
	  FLAG_STRING(type, member.secure),                                                       \
	  .choices = "auto|always|never",                                                         \
	  .initial = "auto",                                                                      \
	  .help = "serve --metrics-bind-address over HTTPS, and /metrics only to callers that "   \
		  "the API server authorizes; auto: unless the address is a loopback address" },  \
		{ "metrics-tls-cert-file", 0, FLAG_STRING(type, member.cert_file), .arg = "FILE", \
		  .help = "certificate for that; default a self-signed one in memory" },          \
	{                                                                                         \
		"metrics-tls-private-key-file", 0, FLAG_STRING(type, member.key_file),            \
			.arg = "FILE", .help = "private key of that certificate"                  \
	}

struct endpoint_guard_opts {
	struct loop *loop;
	const struct kubeconfig *kubeconfig; /* of the API server; copied */
	const struct log *log; /* or NULL */
	const struct endpoint_guard_options *options; /* NULL: all defaults */
};

/* Whether an endpoint at this address needs a guard. */
bool endpoint_guard_wanted(const struct endpoint_guard_options *o, const struct addr *at);

int endpoint_guard_new(const struct endpoint_guard_opts *opts, struct endpoint_guard **ret_guard,
		       struct error *err);
/*
 * All checks must be finished or cancelled. The loop must run one more turn to free all memory.
 * NULL allowed.
 */
void endpoint_guard_free(struct endpoint_guard *g);

/* Listens with its certificate, and renews that from then on. The server must outlive it. */
int endpoint_guard_listen(struct endpoint_guard *g, struct http_server *server,
			  const struct addr *at, struct addr *ret_at, struct error *err);

/* The check of one request, in the caller's storage. */
struct endpoint_ask {
	struct http_stream *http; /* allocations live in its arena */
	/*
	 * Called once, perhaps from within endpoint_guard_ask(). NULL: allowed. Otherwise
	 * UNAUTHORIZED, FORBIDDEN or INTERNAL, with a message for the caller.
	 */
	void (*done)(struct endpoint_ask *q, const struct error *err);

	/* Private. */
	struct endpoint_guard *guard;
	struct review review;
};

void endpoint_guard_ask(struct endpoint_guard *g, struct endpoint_ask *q);
/* Cancels the check: `done` will not be called. A no-op on a zeroed struct. */
void endpoint_guard_cancel(struct endpoint_ask *q);

#endif
