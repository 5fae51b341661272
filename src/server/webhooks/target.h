/*
 * webhook_target - the address of a webhook, at the time of a call.
 *
 * For a service it is the cluster IP or, if it has none, any ready endpoint. Reads committed
 * objects.
 *
 * Threads: the state's loop.
 */
#ifndef SERVER_WEBHOOKS_TARGET_H
#define SERVER_WEBHOOKS_TARGET_H

#include "base/core/arena.h"
#include "net/loop/addr.h"

struct prng;
struct state;
struct webhook;

/* -ERR_UNAVAILABLE, in upstream's wording, if no address is found. */
int webhook_target(struct state *st, const struct webhook *h, struct prng *prng, struct arena *a,
		   struct addr *ret_to, struct error *err);

#endif
