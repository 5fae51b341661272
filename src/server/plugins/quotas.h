/*
 * quotas - charges ResourceQuotas for writes, before they are made.
 *
 * What a write uses is first written into the status of every quota that covers it; when that is
 * durable, the write goes on. So whoever reads a quota, another server on the same store or
 * the controller that recounts, never finds less used than was allowed. Writes of one namespace
 * that come while its quotas are being written wait, and the next round charges them all with one
 * write per quota. A quota that somebody else changed meanwhile is read and charged again.
 *
 * A charge pays for a write that is sent within QUOTA_CHARGE_MS (api/quota/quota.h). If the write
 * was surely not made, quotas_give_back() gives its charge back. If nobody knows whether it was,
 * it stays charged until the controller recounts. Threads: the state's loop.
 */
#ifndef SERVER_PLUGINS_QUOTAS_H
#define SERVER_PLUGINS_QUOTAS_H

#include "api/quota/quota.h"
#include "base/core/list.h"

struct quotas;
struct server;

struct quotas *quotas_new(struct server *s);
void quotas_free(struct quotas *q); /* NULL allowed; nobody is told */

/* What a quota was charged for one write. */
struct quota_debit {
	struct quota_debit *next;
	struct str name, uid; /* of the quota */
	struct amount_list amounts;
};

/* Embed it. */
struct quota_wait {
	struct quota_request request; /* must live until done() */
	struct str ns;
	struct arena *arena; /* for debits; must live as long as they are used */
	struct quota_debit *debits; /* when it is done: what was charged; NULL: nothing */
	int64_t begun_ms; /* loop time when the server began to charge */
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

/*
 * The write of w->debits, if there are any, was not made and will not be: `used` gets less by them.
 * `w` does not wait. Best effort: the controller gives back the rest.
 */
void quotas_give_back(struct quotas *q, struct quota_wait *w);

/* What evaluators ask of the state; of use in this turn only. */
struct quota_context quotas_context(struct quotas *q, struct arena *a);

#endif
