/*
 * webhooks - MutatingAdmissionWebhook and ValidatingAdmissionWebhook.
 *
 * Follows both kinds of configurations and calls those webhooks that a write is about, as
 * plugins of admission (plugins/table.h). While a webhook is asked the write is parked; the answer
 * is kept with the write, and counts while the question stays the same. Mutating webhooks come one
 * after the other, in the order of the names of their configurations, each with what those before
 * it changed; validating ones all at once. While a configuration cannot be read, and was not
 * before, everything is refused: nobody knows what it forbids.
 *
 * Threads: the state's loop.
 */
#ifndef SERVER_WEBHOOKS_WEBHOOKS_H
#define SERVER_WEBHOOKS_WEBHOOKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/error.h"

struct json;
struct admission_request;
struct server;
struct state_observer;
struct webhooks;

int webhooks_new(struct server *s, struct webhooks **ret_webhooks, struct error *err);

/* What the state must be made with; borrowed. */
const struct state_observer *webhooks_observers(struct webhooks *w, size_t *ret_n);

/*
 * Ends all calls, and lets none begin: the writes that wait for them are refused. Then `done`, at
 * once when there are none (or no webhooks: NULL).
 */
void webhooks_stop(struct webhooks *w, void (*done)(void *arg), void *arg);
void webhooks_free(struct webhooks *w); /* NULL allowed */

/* Whether there is any webhook of that kind. */
bool webhooks_mutate_concerns(const struct admission_request *req);
bool webhooks_validate_concerns(const struct admission_request *req);

/* The plugins; `old` and `object` as admission has them. */
int webhooks_mutate(struct admission_request *req, const struct json *old, struct json *object,
		    struct error *err);
int webhooks_validate(struct admission_request *req, const struct json *old, struct json *object,
		      struct error *err);

/* Mutating webhooks of a deletion, which they may refuse and not change. */
int webhooks_mutate_deletion(struct admission_request *req, const struct json *old,
			     struct json *object, struct error *err);

#endif
