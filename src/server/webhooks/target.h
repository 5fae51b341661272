/*
 * webhook_target - the address of a webhook, when it is to be called.
 *
 * That of a service is its cluster IP; of one without, any endpoint that is ready. From what
 * is committed. Threads: the state's loop.
 */
#ifndef SERVER_WEBHOOKS_TARGET_H
#define SERVER_WEBHOOKS_TARGET_H

#include "base/core/arena.h"
#include "net/loop/addr.h"

struct prng;
struct state;
struct webhook;

/* -ERR_UNAVAILABLE, in upstream's words, when there is none. */
int webhook_target(struct state *st, const struct webhook *h, struct prng *prng, struct arena *a,
		   struct addr *ret_to, struct error *err);

#endif
