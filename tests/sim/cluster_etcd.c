/*
 * Consensus. A real cluster reaches consensus with messages; here the code looks at all members. A
 * member is in touch if it is up, takes turns and is not cut off. A leader needs a majority in
 * touch.
 *
 * Members belong to loops of their own: nobody calls another's connections. Data for another member
 * is left in its struct, and a message wakes its loop.
 */
#include "cluster_etcd_impl.h"

#include "base/core/mem.h"
#include "store/etcd/rpc.h"

enum { COMMIT_MS = 4, SLOW_MS = 12 * 1000 };

static const struct str leader_changed = { "etcdserver: leader changed", 26 };

int64_t etcd_now(const struct cluster_etcd *e)
{
	return sim_elapsed_ms(e->sim);
}

static int64_t draw(struct cluster_etcd *e, int64_t n)
{
	return (int64_t)prng_below(&e->prng, (uint64_t)n);
}

static bool chance(struct cluster_etcd *e, double p)
{
	return prng_unit(&e->prng) < p;
}

/* --- who leads ------------------------------------------------------------------------------- */

static bool in_touch(const struct cluster_etcd_member *m)
{
	return m->role && !m->isolated && etcd_now(m->etcd) - m->tick_ms < ETCD_ELECTION_MS;
}

static unsigned count_in_touch(const struct cluster_etcd *e)
{
	unsigned n = 0;

	for (unsigned i = 0; i < CLUSTER_ETCD_MEMBERS; i++)
		n += in_touch(&e->members[i]);
	return n;
}

static bool is_led(const struct cluster_etcd *e)
{
	return e->leader >= 0 && in_touch(&e->members[e->leader]) &&
	       count_in_touch(e) > CLUSTER_ETCD_MEMBERS / 2;
}

bool etcd_has_leader(const struct cluster_etcd_member *m)
{
	return in_touch(m) && is_led(m->etcd);
}

static void proposal_free(struct etcd_proposal *p)
{
	list_remove(&p->link);
	if (p->ask)
		p->ask->proposal = NULL;
	if (p->txn)
		etcd__txn_request__free_unpacked(p->txn, NULL);
	free(p);
}

/* Reads under way cannot be confirmed; writes may be in the log of the next leader, or not. */
static void lose_leader(struct cluster_etcd *e)
{
	e->leader = -1;
	e->elect_ms = etcd_now(e) + 100 + draw(e, 2 * ETCD_ELECTION_MS);
	LIST_FOREACH_SAFE (it, &e->proposals) {
		struct etcd_proposal *p = LIST_ENTRY(it, struct etcd_proposal, link);

		if (!p->forwarded)
			continue;
		e->doubts++;
		if (chance(e, 0.5))
			proposal_free(p);
		else
			p->due_ms = e->elect_ms + draw(e, chance(e, 0.3) ? SLOW_MS : 100);
	}
	for (unsigned i = 0; i < CLUSTER_ETCD_MEMBERS; i++)
		LIST_FOREACH (it, &e->members[i].asks) {
			struct etcd_ask *ask = LIST_ENTRY(it, struct etcd_ask, link);

			if (ask->kind == ETCD_ASK_READ && chance(e, 0.5))
				ask->failure = leader_changed;
		}
	etcd_spread(e);
}

static void elect(struct cluster_etcd *e)
{
	unsigned n = count_in_touch(e), pick;

	if (n <= CLUSTER_ETCD_MEMBERS / 2 || etcd_now(e) < e->elect_ms)
		return;
	pick = (unsigned)draw(e, n);
	for (int i = 0; i < CLUSTER_ETCD_MEMBERS; i++)
		if (in_touch(&e->members[i]) && pick-- == 0)
			e->leader = i;
	e->terms++;
	etcd_spread(e);
}

/* --- writes ---------------------------------------------------------------------------------- */

void etcd_propose(struct cluster_etcd_member *m, struct etcd_ask *ask, const Etcd__TxnRequest *txn,
		  int64_t compact)
{
	struct etcd_proposal *p = XNEW(struct etcd_proposal);

	p->from = m;
	p->ask = ask;
	ask->proposal = p;
	p->txn = txn ? etcd_log_copy_txn(txn) : NULL;
	p->compact = compact;
	list_push_back(&m->etcd->proposals, &p->link);
}

void etcd_abandon(struct etcd_ask *ask)
{
	struct etcd_proposal *p = ask->proposal;

	if (!p)
		return;
	p->ask = NULL;
	ask->proposal = NULL;
	p->from->etcd->doubts++;
	if (!p->forwarded)
		proposal_free(p);
}

/* To the leader, which needs a while; now and then a long one, as on a slow disk. */
static void forward(struct cluster_etcd *e, struct etcd_proposal *p)
{
	bool slow = chance(e, e->lose / 2);

	p->forwarded = true;
	p->due_ms = etcd_now(e) + draw(e, slow ? SLOW_MS : COMMIT_MS);
}

static void reply_compact(struct etcd_ask *ask, const struct etcd_log *l)
{
	Etcd__CompactionResponse *out = ARENA_NEW(&ask->arena, Etcd__CompactionResponse);

	etcd__compaction_response__init(out);
	out->header = ARENA_NEW(&ask->arena, Etcd__ResponseHeader);
	*out->header = etcd_log_header(l, l->revision);
	ask->reply = &out->base;
}

static void commit_compact(struct cluster_etcd *e, const struct etcd_proposal *p)
{
	bool old = p->compact <= e->log.compacted;

	if (!old && p->compact <= e->log.revision)
		e->log.compacted = p->compact;
	if (!p->ask)
		return;
	if (p->compact > e->log.compacted || old) {
		p->ask->code = GRPC_OUT_OF_RANGE;
		p->ask->failure = old ? etcd_log_compacted : etcd_log_future;
	} else {
		reply_compact(p->ask, &e->log);
	}
}

static void commit(struct cluster_etcd *e, struct etcd_proposal *p)
{
	struct etcd_ask *ask = p->ask;
	bool ok;

	if (p->txn) {
		ok = etcd_log_apply(&e->log, p->txn);
		if (ask)
			ask->reply = &etcd_log_reply(&e->log, p->txn, ok, &ask->arena)->base;
	} else {
		commit_compact(e, p);
	}
	(void)vec_push(&e->entries, ((struct etcd_entry){ e->log.changes.n, e->log.revision,
							  e->log.compacted, etcd_now(e) }));
	if (ask) {
		ask->index = e->entries.n;
		ask->lost = chance(e, e->lose);
		e->doubts += ask->lost;
		if (ask->lost)
			ask->until_ms = etcd_now(e) + draw(e, ETCD_REQUEST_MS);
	}
	proposal_free(p);
}

/* The work of the leader. Returns when the next one is due. */
static int64_t commit_due(struct cluster_etcd *e)
{
	int64_t now = etcd_now(e), next = INT64_MAX;
	size_t before = e->entries.n;

	LIST_FOREACH_SAFE (it, &e->proposals) {
		struct etcd_proposal *p = LIST_ENTRY(it, struct etcd_proposal, link);

		if (!p->forwarded)
			continue;
		if (p->due_ms <= now)
			commit(e, p);
		else
			next = MIN(next, p->due_ms);
	}
	if (e->entries.n > before)
		etcd_spread(e);
	return next;
}

/* --- members --------------------------------------------------------------------------------- */

struct etcd_entry etcd_applied(const struct cluster_etcd_member *m)
{
	return m->applied ? m->etcd->entries.v[m->applied - 1]
			  : (struct etcd_entry){ .revision = 1 };
}

/* Sends what waits at the member to the leader; reads learn how far they must see. */
static void reach_leader(struct cluster_etcd_member *m)
{
	struct cluster_etcd *e = m->etcd;
	bool any = false;

	LIST_FOREACH (it, &m->asks) {
		struct etcd_ask *ask = LIST_ENTRY(it, struct etcd_ask, link);

		if (ask->kind == ETCD_ASK_READ && ask->index == 0)
			ask->index = e->entries.n + 1;
		if (ask->proposal && !ask->proposal->forwarded) {
			forward(e, ask->proposal);
			any = true;
		}
	}
	if (any)
		etcd_spread(e);
}

/* Returns when the next entry is applied. */
static int64_t apply(struct cluster_etcd_member *m)
{
	struct cluster_etcd *e = m->etcd;
	int64_t lag = m == &e->members[MAX(e->leader, 0)] ? 0 : m->lag_ms;

	while (!m->isolated && m->applied < e->entries.n) {
		int64_t at = e->entries.v[m->applied].at_ms + lag;

		if (at > etcd_now(e))
			return at;
		m->applied++;
	}
	return INT64_MAX;
}

int64_t etcd_consensus(struct cluster_etcd_member *m)
{
	struct cluster_etcd *e = m->etcd;
	int64_t now = etcd_now(e), next = INT64_MAX, at;

	m->tick_ms = now;
	if (e->leader >= 0 && !is_led(e))
		lose_leader(e);
	if (e->leader < 0 && in_touch(m))
		elect(e);
	if (etcd_has_leader(m)) {
		m->alone_ms = 0;
		reach_leader(m);
	} else if (!m->alone_ms) {
		m->alone_ms = now;
	}
	if (e->leader >= 0 && m == &e->members[e->leader])
		next = commit_due(e);
	at = apply(m);
	return MIN(MIN(next, at), now + ETCD_TICK_MS) - now;
}

/* --- life and faults ------------------------------------------------------------------------- */

struct cluster_etcd *cluster_etcd_new(struct sim *sim, uint64_t seed)
{
	struct cluster_etcd *e = XNEW(struct cluster_etcd);

	e->sim = sim;
	e->leader = -1;
	prng_init(&e->prng, seed ^ UINT64_C(0x37d1b09e5ac26f48));
	etcd_log_init(&e->log);
	vec_init(&e->entries, 1 << 24);
	list_init(&e->proposals);
	for (unsigned i = 0; i < CLUSTER_ETCD_MEMBERS; i++) {
		e->members[i].etcd = e;
		list_init(&e->members[i].asks);
		list_init(&e->members[i].watches);
	}
	cluster_etcd_calm(e);
	return e;
}

void cluster_etcd_free(struct cluster_etcd *e)
{
	if (!e)
		return;
	LIST_FOREACH_SAFE (it, &e->proposals)
		proposal_free(LIST_ENTRY(it, struct etcd_proposal, link));
	vec_release(&e->entries);
	etcd_log_release(&e->log);
	free(e);
}

void *cluster_etcd_member(struct cluster_etcd *e, unsigned i)
{
	return &e->members[i];
}

const struct etcd_log *cluster_etcd_log(const struct cluster_etcd *e)
{
	return &e->log;
}

unsigned cluster_etcd_terms(const struct cluster_etcd *e)
{
	return e->terms;
}

unsigned cluster_etcd_doubts(const struct cluster_etcd *e)
{
	return e->doubts;
}

bool cluster_etcd_settled(const struct cluster_etcd *e)
{
	LIST_FOREACH (it, &e->proposals)
		if (!LIST_ENTRY(it, struct etcd_proposal, link)->ask)
			return false;
	return true;
}

void cluster_etcd_isolate(struct cluster_etcd *e, unsigned member)
{
	e->members[member].isolated = true;
}

void cluster_etcd_rejoin(struct cluster_etcd *e)
{
	for (unsigned i = 0; i < CLUSTER_ETCD_MEMBERS; i++)
		e->members[i].isolated = false;
}

void cluster_etcd_depose(struct cluster_etcd *e)
{
	if (e->leader >= 0)
		lose_leader(e);
}

void cluster_etcd_compact(struct cluster_etcd *e)
{
	e->log.compacted = e->log.revision;
	(void)vec_push(&e->entries, ((struct etcd_entry){ e->log.changes.n, e->log.revision,
							  e->log.compacted, etcd_now(e) }));
	etcd_spread(e);
}

void cluster_etcd_lose_answers(struct cluster_etcd *e, double p)
{
	e->lose = p;
}

void cluster_etcd_delay(struct cluster_etcd *e, unsigned member, int64_t ms)
{
	e->members[member].lag_ms = ms;
}

void cluster_etcd_hold_events(struct cluster_etcd *e, unsigned member, int64_t ms)
{
	e->members[member].hold_ms = etcd_now(e) + ms;
}

void cluster_etcd_fill(struct cluster_etcd *e, bool full)
{
	e->full = full;
}

void cluster_etcd_calm(struct cluster_etcd *e)
{
	e->lose = 0;
	e->full = false;
	cluster_etcd_rejoin(e);
	for (unsigned i = 0; i < CLUSTER_ETCD_MEMBERS; i++) {
		e->members[i].lag_ms = draw(e, 3);
		e->members[i].hold_ms = 0;
	}
}
