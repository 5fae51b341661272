/*
 * The backend: a client, the reads, the writes, the feed and the compactor. They share only the
 * client, and the feed notifies the writes.
 *
 * The store's name is a key in etcd, `<prefix>/cluster-id`, which the first process puts. etcd's
 * own cluster id would not do: it is computed from the members' addresses and stays the same when
 * all data is deleted. All other calls wait until the name is known, so that nobody sees the store
 * without it.
 */
#include "store/etcd/store.h"

#include "base/core/mem.h"
#include "base/system/uuid.h"
#include "store/backend.h"
#include "store/etcd/client.h"
#include "store/etcd/compact.h"
#include "store/etcd/feed.h"
#include "store/etcd/key.h"
#include "store/etcd/read.h"
#include "store/etcd/write.h"

enum {
	HISTORY_MS = 5 * 60 * 1000,
	NAME_RETRY_MS = 200,
	CLOSE_MS = 5000, /* how long closing waits for the feed */
	REFUSAL_MS = 10 * 1000, /* how long a rejected write makes the store unhealthy */
};

struct store_etcd {
	struct store base;
	struct etcd_client *client;
	struct etcd_writes writes;
	struct etcd_reads reads;
	struct etcd_feed feed;
	struct etcd_compactor compactor;
	struct etcd_call naming;
	bool is_naming;
	struct loop_timer name_timer; /* for the next try to read or put the name */
	char id[UUID_TEXT_SIZE]; /* "" until known */
	struct etcd_call probe;
	bool is_probing;
	size_t compactions; /* number of requested compactions in flight */

	struct loop_task task; /* closes the store when everything has ended */
	struct loop_task *ended; /* points to `task` once closing has begun, else NULL */
	struct loop_timer close_timer;
	void (*closed)(void *arg);
	void *arg;

	char prefix[ETCD_PREFIX_MAX];
	char name_key[ETCD_PREFIX_MAX + 16];
};

static struct store_etcd *etcd_of(struct store *s)
{
	return CONTAINER_OF(s, struct store_etcd, base);
}

/* --- the name ------------------------------------------------------------------------------ */

static void on_named(struct etcd_call *c, const struct etcd_answer *a);

static void ask_name(struct store_etcd *s)
{
	Etcd__Compare compare = ETCD__COMPARE__INIT, *compares = &compare;
	Etcd__PutRequest put = ETCD__PUT_REQUEST__INIT;
	Etcd__RangeRequest get = ETCD__RANGE_REQUEST__INIT;
	Etcd__RequestOp first = ETCD__REQUEST_OP__INIT, *firsts = &first;
	Etcd__RequestOp read = ETCD__REQUEST_OP__INIT, *reads = &read;
	Etcd__TxnRequest txn = ETCD__TXN_REQUEST__INIT;
	char text[UUID_TEXT_SIZE];
	struct uuid id;

	uuid_make_seeded(&id, loop_prng(s->base.loop));
	compare.target = ETCD__COMPARE__COMPARE_TARGET__VERSION;
	compare.key = put.key = get.key = etcd_data(str_from(s->name_key));
	compare.target_union_case = ETCD__COMPARE__TARGET_UNION_VERSION;
	put.value = etcd_data(uuid_print(&id, text));
	first.request_case = ETCD__REQUEST_OP__REQUEST_REQUEST_PUT;
	first.request_put = &put;
	read.request_case = ETCD__REQUEST_OP__REQUEST_REQUEST_RANGE;
	read.request_range = &get;
	txn.n_compare = txn.n_failure = txn.n_success = 1;
	txn.compare = &compares;
	txn.success = &firsts;
	txn.failure = &reads;
	s->is_naming = true;
	s->naming = (struct etcd_call){ .op = ETCD_TXN, .urgent = true, .done = on_named };
	etcd_client_call(s->client, &s->naming, &txn.base);
}

/* Returns the name that was found. A name that was just put is read by the next request. */
static struct str store_name_of(const Etcd__TxnResponse *reply)
{
	const Etcd__ResponseOp *op = reply->n_responses ? reply->responses[0] : NULL;

	if (reply->succeeded || !op ||
	    op->response_case != ETCD__RESPONSE_OP__RESPONSE_RESPONSE_RANGE ||
	    op->response_range->n_kvs == 0)
		return STR_NULL;
	return etcd_str(op->response_range->kvs[0]->value);
}

static void on_named(struct etcd_call *c, const struct etcd_answer *a)
{
	struct store_etcd *s = CONTAINER_OF(c, struct store_etcd, naming);
	const Etcd__TxnResponse *reply = a->reply;
	struct str name = a->outcome == ETCD_ANSWERED ? store_name_of(reply) : STR_NULL;

	s->is_naming = false;
	if (name.n == 0) {
		loop_timer_start(&s->name_timer, a->outcome == ETCD_ANSWERED ? 0 : NAME_RETRY_MS);
		return;
	}
	(void)snprintf(s->id, sizeof(s->id), "%.*s", STR_ARG(name));
	etcd_client_hold(s->client, false);
}

static void on_name_timer(struct loop_timer *t)
{
	ask_name(CONTAINER_OF(t, struct store_etcd, name_timer));
}

/* --- closing ------------------------------------------------------------------------------- */

/* One turn later, so that the client's deferred frees have run. */
static void tell_closed(struct loop_task *t)
{
	struct store_etcd *s = CONTAINER_OF(t, struct store_etcd, task);
	void (*closed)(void *arg) = s->closed;
	void *arg = s->arg;

	free(s);
	if (closed)
		closed(arg);
}

/* Deferred whenever something has ended while the store is being closed. */
static void check_closed(struct loop_task *t)
{
	struct store_etcd *s = CONTAINER_OF(t, struct store_etcd, task);

	if (s->base.pending > 0 || s->compactions > 0 || etcd_reads_busy(&s->reads))
		return;
	loop_timer_stop(&s->name_timer);
	loop_timer_stop(&s->close_timer);
	if (s->is_naming)
		etcd_call_drop(&s->naming);
	if (s->is_probing)
		etcd_call_drop(&s->probe);
	etcd_compactor_stop(&s->compactor);
	etcd_feed_release(&s->feed);
	etcd_writes_release(&s->writes);
	etcd_client_free(s->client);
	loop_task_init(&s->task, tell_closed);
	loop_defer(s->base.loop, &s->task);
}

/* The feed may never come back, so end the writes that etcd has acknowledged without it. */
static void on_close_timer(struct loop_timer *t)
{
	struct store_etcd *s = CONTAINER_OF(t, struct store_etcd, close_timer);

	etcd_writes_unfollow(&s->writes);
}

static void etcd_close(struct store *base, void (*closed)(void *arg), void *arg)
{
	struct store_etcd *s = etcd_of(base);

	s->closed = closed;
	s->arg = arg;
	s->writes.ended = s->reads.ended = s->ended = &s->task;
	etcd_compactor_stop(&s->compactor);
	loop_timer_start(&s->close_timer, CLOSE_MS);
	loop_defer(base->loop, &s->task);
}

/* --- the other functions ------------------------------------------------------------------- */

static void etcd_write(struct store *base, struct store_write *w)
{
	etcd_writes_add(&etcd_of(base)->writes, w);
}

static void on_probed(struct etcd_call *c, const struct etcd_answer *a UNUSED)
{
	CONTAINER_OF(c, struct store_etcd, probe)->is_probing = false;
}

/* An unhealthy server gets no requests, so it sends its own to find out when etcd has recovered. */
static void probe(struct store_etcd *s)
{
	Etcd__RangeRequest request = ETCD__RANGE_REQUEST__INIT;

	if (s->is_probing)
		return;
	s->is_probing = true;
	request.key = etcd_data(str_from(s->prefix));
	request.count_only = true;
	s->probe = (struct etcd_call){ .op = ETCD_RANGE, .urgent = true, .done = on_probed };
	etcd_client_call(s->client, &s->probe, &request.base);
}

static int etcd_health(struct store *base, struct error *err)
{
	struct store_etcd *s = etcd_of(base);
	const struct etcd_writes *ws = &s->writes;
	int r = etcd_client_health(s->client, err);

	if (r < 0)
		probe(s);
	if (r == 0)
		r = etcd_feed_health(&s->feed, err);
	if (r == 0 && ws->refusal.code && loop_now(base->loop) - ws->refused_at < REFUSAL_MS)
		r = error_set(err, ERR_UNAVAILABLE, "etcd rejects writes: %s", ws->refusal.msg);
	return r;
}

static void etcd_range(struct store *base, const struct store_range *range, struct arena *arena,
		       void (*done)(void *arg, const struct store_range_result *result,
				    const struct error *err),
		       void *arg)
{
	etcd_reads_range(&etcd_of(base)->reads, range, arena, done, arg);
}

static void etcd_current(struct store *base,
			 void (*done)(void *arg, int64_t revision, const struct error *err),
			 void *arg)
{
	etcd_reads_current(&etcd_of(base)->reads, done, arg);
}

static void etcd_follow(struct store *base, int64_t revision, const struct store_feed *feed)
{
	etcd_feed_follow(&etcd_of(base)->feed, revision, feed);
}

/* etcd cannot return past changes in one request, so this backend has no history. */
static int etcd_history(struct store *base, struct str resource UNUSED, int64_t revision,
			size_t max_bytes UNUSED, struct arena *arena UNUSED,
			struct store_past *ret_past, struct error *err UNUSED)
{
	*ret_past = (struct store_past){ .from = MAX(revision,
						     etcd_client_revision(etcd_of(base)->client)) };
	return 0;
}

struct compact_job {
	struct store_etcd *store;
	int64_t revision;
	void (*done)(void *arg, const struct error *err);
	void *arg;
};

static void on_compacted(void *arg, const struct error *err)
{
	struct compact_job *job = arg;
	struct store_etcd *s = job->store;

	s->compactions--;
	if (!err)
		etcd_compactor_note(&s->compactor, job->revision);
	if (job->done)
		job->done(job->arg, err);
	if (s->ended)
		loop_defer(s->base.loop, s->ended);
	free(job);
}

static void etcd_compact_now(struct store *base, int64_t revision,
			     void (*done)(void *arg, const struct error *err), void *arg)
{
	struct compact_job *job = XNEW(struct compact_job);

	*job = (struct compact_job){ etcd_of(base), revision, done, arg };
	job->store->compactions++;
	etcd_compact(job->store->client, revision, on_compacted, job);
}

static int64_t etcd_compacted(const struct store *base)
{
	return CONTAINER_OF(base, const struct store_etcd, base)->compactor.compacted;
}

static struct str etcd_cluster_id(const struct store *base)
{
	return str_from(CONTAINER_OF(base, struct store_etcd, base)->id);
}

static const struct store_ops ops = {
	.close = etcd_close,
	.write = etcd_write,
	.health = etcd_health,
	.range = etcd_range,
	.current = etcd_current,
	.follow = etcd_follow,
	.history = etcd_history,
	.compact = etcd_compact_now,
	.compacted = etcd_compacted,
	.cluster_id = etcd_cluster_id,
};

/* --- opening ------------------------------------------------------------------------------- */

/* Normalises the prefix: one leading slash, no trailing one. */
static int set_prefix(struct store_etcd *s, const char *given, struct error *err)
{
	struct str prefix = str_from(given ? given : "/registry");

	while (prefix.n && prefix.p[prefix.n - 1] == '/')
		prefix.n--;
	while (prefix.n && prefix.p[0] == '/')
		prefix = str_skip(prefix, 1);
	if (prefix.n == 0 || prefix.n + 2 > sizeof(s->prefix))
		return error_set(err, ERR_INVALID, "\"%s\" cannot be a prefix of keys in etcd",
				 given);
	(void)snprintf(s->prefix, sizeof(s->prefix), "/%.*s", STR_ARG(prefix));
	(void)snprintf(s->name_key, sizeof(s->name_key), "%s/cluster-id", s->prefix);
	return 0;
}

int store_etcd_open(struct loop *l, const struct store_etcd_opts *opts, struct store **ret_store,
		    struct error *err)
{
	struct store_etcd *s = XNEW(struct store_etcd);
	struct str prefix;
	int r;

	s->base = (struct store){ .ops = &ops, .loop = l };
	r = set_prefix(s, opts->prefix, err);
	if (r == 0)
		r = etcd_client_new(l, opts, &s->client, err);
	if (r < 0) {
		free(s);
		return r;
	}
	prefix = str_from(s->prefix);
	etcd_writes_init(&s->writes, &s->base, s->client, prefix);
	etcd_reads_init(&s->reads, s->client, prefix);
	r = etcd_feed_init(&s->feed, s->client, &s->writes, prefix, opts->metrics, err);
	if (r < 0) {
		etcd_client_free(s->client);
		free(s);
		return r;
	}
	loop_task_init(&s->task, check_closed);
	loop_timer_init(&s->name_timer, l, on_name_timer);
	loop_timer_init(&s->close_timer, l, on_close_timer);
	etcd_client_hold(s->client, true);
	etcd_client_listen(s->client, etcd_feed_on_ready, etcd_feed_on_stuck, &s->feed);
	ask_name(s);
	etcd_compactor_init(&s->compactor, s->client,
			    opts->history_ms ? opts->history_ms : HISTORY_MS);
	*ret_store = &s->base;
	return 0;
}
