/*
 * quotas - charges ResourceQuotas for writes, before they are made.
 *
 * The usage of a write is first written into the status of every quota that covers it. Once that
 * is durable, the write proceeds. So every reader of a quota, such as another server on the same
 * store or the controller that recounts, sees at least the usage that was allowed. Writes in a
 * namespace that arrive while its quotas are being written wait; the next round charges them all
 * with one write per quota. If another writer changed a quota meanwhile, it is read and charged
 * again.
 *
 * A charge is valid for a write that is sent within QUOTA_CHARGE_MS (api/quota/quota.h). If the
 * write was certainly not made, quotas_give_back() refunds its charge. If the outcome is unknown,
 * the charge remains until the controller recounts.
 *
 * Threads: the state's loop.
 */
#ifndef SERVER_PLUGINS_QUOTAS_H
#define SERVER_PLUGINS_QUOTAS_H

#include "api/quota/quota.h"
#include "base/core/list.h"

struct quotas;
struct server;

struct quotas *quotas_new(struct server *s);
void quotas_free(struct quotas *q); /* NULL allowed; done() of waiting charges is not called */

/* The amounts that one quota was charged for one write. */
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
	struct quota_debit *debits; /* set by done(): the charges; NULL: nothing was charged */
	int64_t begun_ms; /* loop time when the server began to charge */
	/*
	 * Never called from within quotas_charge(). err NULL: the write is charged, or needs no
	 * charge. -ERR_FORBIDDEN in upstream's wording; -ERR_CONFLICT if other writers were first
	 * too many times. `unsure`: the decision used a quota whose newest state is not committed
	 * yet.
	 */
	void (*done)(struct quota_wait *w, const struct error *err, bool unsure);
	struct list link; /* private */
};

/* Whether the namespace has a quota that limits such objects. */
bool quotas_limit(struct quotas *q, struct str ns, const struct quota_kind *k, struct arena *a);

void quotas_charge(struct quotas *q, struct quota_wait *w);

/*
 * Refunds w->debits, if any, because their write was not made and never will be: reduces `used`
 * by them. `w` does not wait. Best effort: the controller refunds the rest.
 */
void quotas_give_back(struct quotas *q, struct quota_wait *w);

/* Callbacks with which evaluators read the state; valid in this turn only. */
struct quota_context quotas_context(struct quotas *q, struct arena *a);

#endif
