/*
 * webhook_config - a MutatingWebhookConfiguration or ValidatingWebhookConfiguration, compiled.
 *
 * Made once when an object is written, then read for every write. A webhook's connections (struct
 * webhook_peer) are passed on to its next version as long as it trusts the same certificates.
 */
#ifndef SERVER_WEBHOOKS_CONFIG_H
#define SERVER_WEBHOOKS_CONFIG_H

#include "base/core/arena.h"
#include "net/loop/addr.h"
#include "server/admission/cel.h"
#include "server/webhooks/peer.h"
#include "server/webhooks/review.h"

struct webhook {
	uint64_t id; /* unique for each webhook and each version of it */
	struct str name, config;
	struct admission_match match;
	struct admission_exprs conditions;
	enum webhook_version version;
	bool fails_open; /* failurePolicy: Ignore */
	bool reinvoked; /* reinvocationPolicy: IfNeeded */
	bool side_effects; /* has side effects, so it is not called for dry runs */
	int64_t timeout_s;
	/* The address: of a URL, or of a service, whose address is looked up when it is needed. */
	struct str service_ns, service; /* empty: a URL */
	uint16_t port; /* of the service */
	struct addr to; /* of the URL */
	struct error unusable; /* why the URL is invalid; code 0: it is valid */
	struct str authority, path, target; /* "host:443", "/path", "/path?timeout=10s" */
	const char *server_name;
	struct str ca; /* PEM */
	struct webhook_peer *peer;
};

struct webhook_config {
	struct arena arena;
	struct str name;
	bool unreadable; /* cannot be read: it has no webhooks, and all writes are rejected */
	struct webhook *hooks;
	size_t n;
};

/*
 * Compiles an object's tree; keeps no pointers into it. `before` is the previous version, or
 * NULL. Takes ids from *next_id.
 */
struct webhook_config *webhook_config_new(struct loop *l, const struct json *tree,
					  const struct webhook_config *before, uint64_t *next_id);

/* For an object that cannot be read and has no previous version. */
struct webhook_config *webhook_config_unreadable(struct str name);

/* The target of a request with that timeout in seconds. */
struct str webhook_target_within(struct arena *a, const struct webhook *h, int64_t seconds);

void webhook_config_free(struct webhook_config *c); /* NULL allowed */

#endif
