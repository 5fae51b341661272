/*
 * A record accompanies each write. It waits for the write it comes after
 * (`followers` of that one), then for a place (`queued`), then for etcd, then for
 * the feed (`landed`), and ends in etcd_write_settle().
 *
 * Records whose transaction was sent are found by key, for the feed: that is how
 * events learn whose they are, and how a write whose answer was lost learns what
 * became of it.
 */
#include "store/etcd_write.h"

#include <assert.h>

#include "base/limits.h"
#include "base/mem.h"
#include "store/etcd_client.h"
#include "store/etcd_key.h"
#include "store/etcd_write_impl.h"
#include "store/store_impl.h"

/* How long a write whose answer was lost is pursued. */
enum { DOUBT_MS = 10 * 1000 };

static void enqueue(struct etcd_write *rec);
static void send_queued(struct etcd_writes *ws);

static struct str key_of(const struct etcd_write *rec)
{
	return str_of(rec->key, rec->nkey);
}

/* --- by key -------------------------------------------------------------------------------- */

static void index_add(struct etcd_write *rec)
{
	rec->older = map_put(&rec->all->keys, key_of(rec), rec);
}

/* Also of a record that was never added. */
static void index_remove(struct etcd_write *rec)
{
	struct map *keys = &rec->all->keys;
	struct etcd_write *at = map_get(keys, key_of(rec));

	if (at == rec) {
		(void)map_remove(keys, key_of(rec));
		if (rec->older)
			(void)map_put(keys, key_of(rec->older), rec->older);
		return;
	}
	while (at && at->older != rec)
		at = at->older;
	if (at)
		at->older = rec->older;
}

/* --- ending -------------------------------------------------------------------------------- */

/* Ends a write that was not sent, or whose end waits for nothing, at the end of the turn. */
static void bury(struct etcd_write *rec)
{
	list_push_back(&rec->all->dead, &rec->link);
	loop_defer(etcd_client_loop(rec->all->client), &rec->all->task);
}

/* What this write has made is known: those that come after it know what to expect. */
static void release_followers(struct etcd_write *rec)
{
	struct list *node;

	while ((node = list_pop_front(&rec->followers))) {
		struct etcd_write *next = LIST_ENTRY(node, struct etcd_write, link);

		next->expected = rec->w->value ? rec->w->revision : 0;
		next->floor = rec->w->revision;
		enqueue(next);
	}
}

static void fail_followers(struct etcd_write *rec)
{
	struct list *node;

	while ((node = list_pop_front(&rec->followers))) {
		struct etcd_write *next = LIST_ENTRY(node, struct etcd_write, link);

		(void)error_set(&next->err, ERR_CONFLICT, "the write before it failed: %s",
				rec->err.msg);
		bury(next);
	}
}

void etcd_write_settle(struct etcd_write *rec)
{
	struct store_write *w = rec->w;

	if (rec->err.code) {
		w->revision = 0;
		fail_followers(rec);
	} else {
		release_followers(rec);
	}
	index_remove(rec);
	list_remove(&rec->link);
	rec->all->store->pending--;
	w->state = NULL;
	w->result = -(int)rec->err.code;
	w->done(w, rec->err.code ? &rec->err : NULL);
	if (rec->all->ended)
		loop_defer(etcd_client_loop(rec->all->client), rec->all->ended);
	free(rec);
}

static void work(struct loop_task *t)
{
	struct etcd_writes *ws = CONTAINER_OF(t, struct etcd_writes, task);
	struct list *node;

	while ((node = list_pop_front(&ws->dead)))
		etcd_write_settle(LIST_ENTRY(node, struct etcd_write, link));
	etcd_writes_delivered(ws, ws->delivered);
}

static void leave_flight(struct etcd_write *rec)
{
	if (!rec->in_flight)
		return;
	rec->in_flight = false;
	rec->all->sent--;
	send_queued(rec->all);
}

/* Answers come nearly in the order of revisions: the place is nearly always the last. */
static void wait_for_feed(struct etcd_write *rec)
{
	struct list *at = rec->all->landed.prev;

	while (at != &rec->all->landed &&
	       LIST_ENTRY(at, struct etcd_write, link)->reached > rec->reached)
		at = at->prev;
	list_insert_after(at, &rec->link);
}

static void land(struct etcd_write *rec, enum etcd_verdict verdict, int64_t revision)
{
	rec->verdict = verdict;
	rec->reached = revision;
	rec->is_landed = true;
	if (verdict == VERDICT_SUCCEEDED) {
		rec->w->revision = revision;
		release_followers(rec);
	}
	leave_flight(rec);
	if (rec->all->following && rec->all->delivered < rec->reached) {
		wait_for_feed(rec);
		return;
	}
	etcd_write_judge(rec, rec->all->following);
	etcd_write_settle(rec);
}

/* No answer, and no time left: what the feed has shown so far decides. */
static void give_up(struct etcd_write *rec)
{
	leave_flight(rec);
	rec->verdict = rec->expected ? VERDICT_CHANGED : VERDICT_ASKED;
	etcd_write_judge(rec, false);
	etcd_write_settle(rec);
}

/* --- sending ------------------------------------------------------------------------------- */

static void on_txn(struct etcd_call *c, const struct etcd_answer *a);
static void on_asked(struct etcd_call *c, const struct etcd_answer *a);

static void send_txn(struct etcd_write *rec)
{
	ProtobufCBinaryData key = etcd_data(key_of(rec));
	Etcd__Compare compare = ETCD__COMPARE__INIT, *compares = &compare;
	Etcd__PutRequest put = ETCD__PUT_REQUEST__INIT;
	Etcd__DeleteRangeRequest del = ETCD__DELETE_RANGE_REQUEST__INIT;
	Etcd__RequestOp op = ETCD__REQUEST_OP__INIT, *ops = &op;
	Etcd__TxnRequest txn = ETCD__TXN_REQUEST__INIT;

	compare.target = ETCD__COMPARE__COMPARE_TARGET__MOD;
	compare.key = put.key = del.key = key;
	compare.target_union_case = ETCD__COMPARE__TARGET_UNION_MOD_REVISION;
	compare.mod_revision = rec->expected;
	if (rec->w->value) {
		put.value = etcd_data(bytes_str(rec->w->value));
		op.request_case = ETCD__REQUEST_OP__REQUEST_REQUEST_PUT;
		op.request_put = &put;
	} else {
		op.request_case = ETCD__REQUEST_OP__REQUEST_REQUEST_DELETE_RANGE;
		op.request_delete_range = &del;
	}
	txn.n_compare = txn.n_success = 1;
	txn.compare = &compares;
	txn.success = &ops;
	rec->call = (struct etcd_call){ .op = ETCD_TXN, .done = on_txn };
	etcd_client_call(rec->all->client, &rec->call, &txn.base);
}

/* A linearizable read, for its revision. */
static void ask(struct etcd_write *rec)
{
	Etcd__RangeRequest range = ETCD__RANGE_REQUEST__INIT;

	range.key = etcd_data(key_of(rec));
	range.count_only = true;
	rec->call = (struct etcd_call){ .op = ETCD_RANGE, .repeatable = true, .done = on_asked };
	etcd_client_call(rec->all->client, &rec->call, &range.base);
}

static void pursue(struct etcd_write *rec, const struct error *why)
{
	int64_t now = loop_now(etcd_client_loop(rec->all->client));

	if (!rec->doubtful)
		rec->give_up = now + DOUBT_MS;
	rec->doubtful = true;
	rec->err = *why;
	if (now >= rec->give_up)
		give_up(rec);
	else if (rec->expected)
		send_txn(rec);
	else
		ask(rec);
}

/* Nothing was done, and nothing will be. */
static void refuse(struct etcd_write *rec, const struct error *why)
{
	struct etcd_writes *ws = rec->all;

	rec->err = *why;
	if (why->code != ERR_TOO_LARGE) {
		ws->refusal = *why;
		ws->refused_at = loop_now(etcd_client_loop(ws->client));
	}
	leave_flight(rec);
	etcd_write_settle(rec);
}

static void on_txn(struct etcd_call *c, const struct etcd_answer *a)
{
	struct etcd_write *rec = CONTAINER_OF(c, struct etcd_write, call);
	const Etcd__TxnResponse *reply = a->reply;

	if (a->outcome == ETCD_ANSWERED && reply->header) {
		rec->all->refusal.code = ERR_OK;
		land(rec,
		     reply->succeeded ? VERDICT_SUCCEEDED
		     : rec->doubtful  ? VERDICT_CHANGED
				      : VERDICT_CONFLICTED,
		     reply->header->revision);
	} else if (a->outcome == ETCD_UNKNOWN) {
		pursue(rec, &a->err);
	} else if (rec->doubtful || a->outcome == ETCD_ANSWERED) {
		give_up(rec);
	} else {
		refuse(rec, &a->err);
	}
}

static void on_asked(struct etcd_call *c, const struct etcd_answer *a)
{
	struct etcd_write *rec = CONTAINER_OF(c, struct etcd_write, call);
	const Etcd__RangeResponse *reply = a->reply;

	if (a->outcome == ETCD_ANSWERED && reply->header)
		land(rec, VERDICT_ASKED, reply->header->revision);
	else
		give_up(rec);
}

static void enqueue(struct etcd_write *rec)
{
	list_push_back(&rec->all->queued, &rec->link);
	send_queued(rec->all);
}

static void send_queued(struct etcd_writes *ws)
{
	while (ws->sent < ETCD_WRITES_MAX && !list_empty(&ws->queued)) {
		struct list *node = list_pop_front(&ws->queued);
		struct etcd_write *rec = LIST_ENTRY(node, struct etcd_write, link);

		rec->in_flight = true;
		ws->sent++;
		rec->epoch = ws->epoch;
		index_add(rec);
		send_txn(rec);
	}
}

/* --- the writer's verbs -------------------------------------------------------------------- */

static struct etcd_write *record_new(struct etcd_writes *ws, struct store_write *w)
{
	CLEANUP(buf_release) struct buf key = BUF_INIT(2UL * ETCD_KEY_MAX);
	struct etcd_write *rec;
	struct error err = { 0 };

	(void)etcd_key_make(ws->prefix, &w->key, &key, &err);
	rec = xcalloc(1, sizeof(*rec) + key.n);
	rec->nkey = key.n;
	if (key.n)
		memcpy(rec->key, key.p, key.n);
	rec->all = ws;
	rec->w = w;
	rec->err = err;
	list_init(&rec->link);
	list_init(&rec->followers);
	return rec;
}

void etcd_writes_add(struct etcd_writes *ws, struct store_write *w)
{
	struct etcd_write *rec = record_new(ws, w), *before = w->after ? w->after->state : NULL;

	assert(!w->after || before);
	ws->store->pending++;
	w->state = rec;
	w->revision = 0;
	if (rec->err.code) {
		bury(rec);
		return;
	}
	if (before) {
		list_push_back(&before->followers, &rec->link);
		if (before->is_landed && before->verdict == VERDICT_SUCCEEDED)
			release_followers(before);
		return;
	}
	rec->expected = rec->floor = w->expected;
	enqueue(rec);
}

void etcd_writes_init(struct etcd_writes *ws, struct store *store, struct etcd_client *client,
		      struct str prefix)
{
	*ws = (struct etcd_writes){ .store = store, .client = client, .prefix = prefix };
	map_init(&ws->keys);
	list_init(&ws->queued);
	list_init(&ws->landed);
	list_init(&ws->dead);
	loop_task_init(&ws->task, work);
}

void etcd_writes_release(struct etcd_writes *ws)
{
	assert(ws->keys.n == 0 && list_empty(&ws->queued) && list_empty(&ws->dead));
	loop_task_cancel(&ws->task);
	map_release(&ws->keys);
}
