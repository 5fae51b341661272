/*
 * webhooks - MutatingAdmissionWebhook and ValidatingAdmissionWebhook.
 *
 * Follows both kinds of configurations and calls the webhooks that match a write, as admission
 * plugins (plugins/table.h). The write is parked during a call. The response is kept with the
 * write, and is valid as long as the question stays the same. Mutating webhooks are called one
 * after the other, in the order of their configurations' names, each with the changes of those
 * before it. Validating webhooks are called all at once. If a configuration cannot be read and
 * has no previous readable version, all writes are rejected, because nobody knows what it
 * forbids.
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

/* The observers to create the state with; borrowed. */
const struct state_observer *webhooks_observers(struct webhooks *w, size_t *ret_n);

/*
 * Ends all calls and starts no new ones: writes that wait for them are rejected. Then calls
 * `done`, immediately if there are no calls, or if `w` is NULL.
 */
void webhooks_stop(struct webhooks *w, void (*done)(void *arg), void *arg);
void webhooks_free(struct webhooks *w); /* NULL allowed */

/* Whether any webhook of that type is configured. */
bool webhooks_mutate_concerns(const struct admission_request *req);
bool webhooks_validate_concerns(const struct admission_request *req);

/* The plugins; `old` and `object` are as for all plugins. */
int webhooks_mutate(struct admission_request *req, const struct json *old, struct json *object,
		    struct error *err);
int webhooks_validate(struct admission_request *req, const struct json *old, struct json *object,
		      struct error *err);

/* Whether webhooks_mutate() might call one, if its conditions hold. */
bool webhooks_mutate_match(struct admission_request *req, const struct json *old,
			   struct json *object);

/* Calls mutating webhooks for a deletion, which they may reject but not change. */
int webhooks_mutate_deletion(struct admission_request *req, const struct json *old,
			     struct json *object, struct error *err);

#endif
