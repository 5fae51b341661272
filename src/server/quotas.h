/*
 * quotas - charges ResourceQuotas for writes, before they are made.
 *
 * What a write uses is first written into the status of every quota that covers it; when that is
 * durable, the write goes on. So whoever reads a quota, another server on the same store or
 * the controller that recounts, never finds less used than was allowed. Writes of one namespace
 * that come while its quotas are being written wait, and the next round charges them all with one
 * write per quota. A quota that somebody else changed meanwhile is read and charged again.
 *
 * What is charged for a write that then fails stays charged until the controller recounts, as
 * upstream.
 * Threads: the state's loop.
 */
#ifndef SERVER_QUOTAS_H
#define SERVER_QUOTAS_H

#include "api/quota.h"
#include "base/list.h"

struct quotas;
struct server;

struct quotas *quotas_new(struct server *s);
void quotas_free(struct quotas *q); /* NULL allowed; nobody is told */

/* Embed it. */
struct quota_wait {
	struct quota_request request; /* must live until done() */
	struct str ns;
	/*
	 * Never from within quotas_charge(). err NULL: it is charged, or nothing is to be charged;
	 * -ERR_FORBIDDEN in upstream's words; -ERR_CONFLICT when others were first again and again.
	 * `unsure`: it was decided on a quota whose newest state is not committed yet.
	 */
	void (*done)(struct quota_wait *w, const struct error *err, bool unsure);
	struct list link; /* private */
};

/* Whether the namespace has a quota that limits such objects. */
bool quotas_limit(struct quotas *q, struct str ns, const struct quota_kind *k, struct arena *a);

void quotas_charge(struct quotas *q, struct quota_wait *w);

/* What evaluators ask of the state; of use in this turn only. */
struct quota_context quotas_context(struct quotas *q, struct arena *a);

#endif
