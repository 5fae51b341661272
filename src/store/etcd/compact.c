/*
 * A failed try only misses a window: the next one is made as usual.
 */
#include "store/etcd/compact.h"

#include "base/core/buf.h"
#include "base/core/mem.h"
#include "store/store.h"

/* The name that Kubernetes' API server uses; outside of every prefix. */
static const struct str compact_key = { "compact_rev_key", 15 };

static void ask_compaction(struct etcd_client *client, struct etcd_call *c, int64_t revision)
{
	Etcd__CompactionRequest request = ETCD__COMPACTION_REQUEST__INIT;

	request.revision = revision;
	etcd_client_call(client, c, &request.base);
}

/* Whether the revision was compacted, now or before. */
static bool compact_is_gone(const struct etcd_answer *a)
{
	return a->outcome == ETCD_ANSWERED || a->err.code == ERR_EXPIRED;
}

void etcd_compactor_note(struct etcd_compactor *k, int64_t revision)
{
	k->compacted = MAX(k->compacted, revision);
}

/* --- periodic compaction ------------------------------------------------------------------- */

/* Ticks of the timer per window: one tries, the others read the key. */
enum { TICKS = 10 };

static void on_compacted(struct etcd_call *c, const struct etcd_answer *a)
{
	struct etcd_compactor *k = CONTAINER_OF(c, struct etcd_compactor, call);

	k->busy = false;
	if (compact_is_gone(a))
		etcd_compactor_note(k, k->asked);
}

/*
 * Notes the revision that another process has put. Returns the key's version, 0 if it does not
 * exist.
 */
static int64_t read_key(struct etcd_compactor *k, const Etcd__RangeResponse *got)
{
	int64_t revision;

	if (!got || got->n_kvs == 0)
		return 0;
	if (str_to_i64(etcd_str(got->kvs[0]->value), &revision))
		etcd_compactor_note(k, revision);
	return got->kvs[0]->version;
}

/* Reads the key from the answer to a try that lost. */
static int64_t read_refusal(struct etcd_compactor *k, const Etcd__TxnResponse *reply)
{
	const Etcd__ResponseOp *op = reply->n_responses ? reply->responses[0] : NULL;

	if (!op || op->response_case != ETCD__RESPONSE_OP__RESPONSE_RESPONSE_RANGE)
		return 0;
	return read_key(k, op->response_range);
}

static void on_tried(struct etcd_call *c, const struct etcd_answer *a)
{
	struct etcd_compactor *k = CONTAINER_OF(c, struct etcd_compactor, call);
	const Etcd__TxnResponse *reply = a->reply;
	int64_t before = k->revision;

	k->busy = false;
	if (a->outcome != ETCD_ANSWERED || !reply->header)
		return;
	k->revision = reply->header->revision;
	k->won = reply->succeeded;
	if (!k->won) {
		k->version = read_refusal(k, reply);
		return;
	}
	k->version++;
	if (!before)
		return;
	k->busy = true;
	k->asked = before;
	k->call = (struct etcd_call){ .op = ETCD_COMPACT,
				      .repeatable = true,
				      .done = on_compacted };
	ask_compaction(k->client, &k->call, before);
}

static void try_to_win(struct etcd_compactor *k)
{
	Etcd__Compare compare = ETCD__COMPARE__INIT, *compares = &compare;
	Etcd__PutRequest put = ETCD__PUT_REQUEST__INIT;
	Etcd__RangeRequest get = ETCD__RANGE_REQUEST__INIT;
	Etcd__RequestOp win = ETCD__REQUEST_OP__INIT, *wins = &win;
	Etcd__RequestOp lose = ETCD__REQUEST_OP__INIT, *loses = &lose;
	Etcd__TxnRequest txn = ETCD__TXN_REQUEST__INIT;
	struct buf text = BUF_INIT(32);

	(void)buf_add_i64(&text, k->revision);
	compare.target = ETCD__COMPARE__COMPARE_TARGET__VERSION;
	compare.key = put.key = get.key = etcd_data(compact_key);
	compare.target_union_case = ETCD__COMPARE__TARGET_UNION_VERSION;
	compare.version = k->version;
	put.value = etcd_data(buf_str(&text));
	win.request_case = ETCD__REQUEST_OP__REQUEST_REQUEST_PUT;
	win.request_put = &put;
	lose.request_case = ETCD__REQUEST_OP__REQUEST_REQUEST_RANGE;
	lose.request_range = &get;
	txn.n_compare = txn.n_success = txn.n_failure = 1;
	txn.compare = &compares;
	txn.success = &wins;
	txn.failure = &loses;
	k->busy = true;
	k->call = (struct etcd_call){ .op = ETCD_TXN, .done = on_tried };
	etcd_client_call(k->client, &k->call, &txn.base);
	buf_release(&text);
}

static void compact_on_looked(struct etcd_call *c, const struct etcd_answer *a)
{
	struct etcd_compactor *k = CONTAINER_OF(c, struct etcd_compactor, call);

	k->busy = false;
	if (a->outcome == ETCD_ANSWERED)
		(void)read_key(k, a->reply);
}

static void compact_look(struct etcd_compactor *k)
{
	Etcd__RangeRequest get = ETCD__RANGE_REQUEST__INIT;

	get.key = etcd_data(compact_key);
	k->busy = true;
	k->call = (struct etcd_call){ .op = ETCD_RANGE,
				      .repeatable = true,
				      .done = compact_on_looked };
	etcd_client_call(k->client, &k->call, &get.base);
}

static void compact_on_timer(struct loop_timer *t)
{
	struct etcd_compactor *k = CONTAINER_OF(t, struct etcd_compactor, timer);

	loop_timer_start(&k->timer, MAX(k->window_ms / TICKS, INT64_C(1)));
	if (k->busy)
		return;
	if (k->ticks++ % TICKS == 0)
		try_to_win(k);
	else if (!k->won)
		compact_look(k);
}

void etcd_compactor_init(struct etcd_compactor *k, struct etcd_client *client, int64_t window_ms)
{
	*k = (struct etcd_compactor){ .client = client, .window_ms = window_ms };
	loop_timer_init(&k->timer, etcd_client_loop(client), compact_on_timer);
	if (window_ms > 0)
		loop_timer_start(&k->timer, 0);
}

void etcd_compactor_stop(struct etcd_compactor *k)
{
	loop_timer_stop(&k->timer);
	if (k->busy)
		etcd_call_drop(&k->call);
	k->busy = false;
}

/* --- on request ---------------------------------------------------------------------------- */

struct compact_job {
	struct etcd_call call;
	void (*done)(void *arg, const struct error *err);
	void *arg;
};

static void on_job(struct etcd_call *c, const struct etcd_answer *a)
{
	struct compact_job *job = CONTAINER_OF(c, struct compact_job, call);

	if (job->done)
		job->done(job->arg, compact_is_gone(a) ? NULL : &a->err);
	free(job);
}

void etcd_compact(struct etcd_client *client, int64_t revision,
		  void (*done)(void *arg, const struct error *err), void *arg)
{
	struct compact_job *job = XNEW(struct compact_job);

	job->call = (struct etcd_call){ .op = ETCD_COMPACT, .repeatable = true, .done = on_job };
	job->done = done;
	job->arg = arg;
	ask_compaction(client, &job->call, revision);
}
