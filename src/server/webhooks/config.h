/*
 * webhook_config - a MutatingWebhookConfiguration or ValidatingWebhookConfiguration, compiled.
 *
 * Made once when an object is written, read for every write after that. What a webhook's
 * connections are (struct webhook_peer) goes on from one form of it to the next while it trusts
 * the same certificates.
 */
#ifndef SERVER_WEBHOOKS_CONFIG_H
#define SERVER_WEBHOOKS_CONFIG_H

#include "base/core/arena.h"
#include "net/loop/addr.h"
#include "server/admission/cel.h"
#include "server/webhooks/peer.h"
#include "server/webhooks/review.h"

struct webhook {
	uint64_t id; /* no other has it, nor any other form of this one */
	struct str name, config;
	struct admission_match match;
	struct admission_exprs conditions;
	enum webhook_version version;
	bool fails_open; /* failurePolicy: Ignore */
	bool reinvoked; /* reinvocationPolicy: IfNeeded */
	bool side_effects; /* so it is not for dry runs */
	int64_t timeout_s;
	/* Where it is: of a URL, or of a service, whose address is found when it is needed. */
	struct str service_ns, service; /* empty: a URL */
	uint16_t port; /* of the service */
	struct addr to; /* of the URL */
	struct error unusable; /* why the URL is none; code 0: it is one */
	struct str authority, path, target; /* "host:443", "/path", "/path?timeout=10s" */
	const char *server_name;
	struct str ca; /* PEM */
	struct webhook_peer *peer;
};

struct webhook_config {
	struct arena arena;
	struct str name;
	bool unreadable; /* nobody knows what it says: no webhooks, and nothing may pass it */
	struct webhook *hooks;
	size_t n;
};

/*
 * Compiles an object's tree; nothing of it is kept. `before` (or NULL) is what it was. Ids are
 * taken from *next_id.
 */
struct webhook_config *webhook_config_new(struct loop *l, const struct json *tree,
					  const struct webhook_config *before, uint64_t *next_id);

/* Of an object that cannot be read, and of which nothing is known from before. */
struct webhook_config *webhook_config_unreadable(struct str name);

/* What is asked for when an answer is wanted within so many seconds. */
struct str webhook_target_within(struct arena *a, const struct webhook *h, int64_t seconds);

void webhook_config_free(struct webhook_config *c); /* NULL allowed */

#endif
