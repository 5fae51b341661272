/*
 * Each write has a record. It waits for the write that it comes after (in its `followers`), then to
 * be sent (`queued`), then for etcd, then for the feed (`landed`), and ends in etcd_write_settle().
 *
 * Records whose transaction was sent are indexed by key. When the feed shows a change, it is
 * matched with its write, and a write whose answer was lost learns its outcome.
 */
#include "store/etcd/write.h"

#include <assert.h>

#include "base/core/mem.h"
#include "base/core/random.h"
#include "store/backend.h"
#include "store/etcd/client.h"
#include "store/etcd/key.h"
#include "store/etcd/stamp.h"
#include "store/etcd/write_impl.h"
#include "store/store_limits.h"

/* How long to pursue a write whose answer was lost. */
enum { DOUBT_MS = 10 * 1000 };

static void write_enqueue(struct etcd_write *rec);
static void send_queued(struct etcd_writes *ws);

static struct str write_key_of(const struct etcd_write *rec)
{
	return str_of(rec->key, rec->nkey);
}

/* --- by key -------------------------------------------------------------------------------- */

static void index_add(struct etcd_write *rec)
{
	rec->older = map_put(&rec->all->keys, write_key_of(rec), rec);
}

/* Also accepts a record that was never added. */
static void index_remove(struct etcd_write *rec)
{
	struct map *keys = &rec->all->keys;
	struct etcd_write *at = map_get(keys, write_key_of(rec));

	if (at == rec) {
		(void)map_remove(keys, write_key_of(rec));
		if (rec->older)
			(void)map_put(keys, write_key_of(rec->older), rec->older);
		return;
	}
	while (at && at->older != rec)
		at = at->older;
	if (at)
		at->older = rec->older;
}

/* --- ending -------------------------------------------------------------------------------- */

/* Ends a write at the end of the turn: it was not sent, or waits for nothing else. */
static void bury(struct etcd_write *rec)
{
	list_push_back(&rec->all->dead, &rec->link);
	loop_defer(etcd_client_loop(rec->all->client), &rec->all->task);
}

/* The revision of this write is known, so the writes after it know what to expect. */
static void release_followers(struct etcd_write *rec)
{
	struct list *node;

	while ((node = list_pop_front(&rec->followers))) {
		struct etcd_write *next = LIST_ENTRY(node, struct etcd_write, link);

		next->expected = rec->w->value ? rec->w->revision : 0;
		next->floor = rec->w->revision;
		write_enqueue(next);
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

static void write_work(struct loop_task *t)
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

/*
 * Inserts by revision. Answers arrive nearly in that order, so the place is nearly always the last.
 */
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
		if (verdict == VERDICT_SUCCEEDED)
			loop_defer(etcd_client_loop(rec->all->client), rec->all->answered);
		return;
	}
	etcd_write_judge(rec, rec->all->following);
	etcd_write_settle(rec);
}

/* No answer, and no time left: decides by what the feed has shown so far. */
static void write_give_up(struct etcd_write *rec)
{
	leave_flight(rec);
	rec->verdict = rec->expected ? VERDICT_CHANGED : VERDICT_ASKED;
	etcd_write_judge(rec, false);
	etcd_write_settle(rec);
}

/* --- sending ------------------------------------------------------------------------------- */

/* A transaction being built; it is packed before the arena is cleared. */
struct txn {
	struct arena *arena;
	Etcd__TxnRequest request;
};

static void on_txn(struct etcd_call *c, const struct etcd_answer *a);
static void on_asked(struct etcd_call *c, const struct etcd_answer *a);

static void add_compare(struct txn *t, struct str key, Etcd__Compare__CompareResult result,
			int64_t revision)
{
	Etcd__Compare *c = ARENA_NEW(t->arena, Etcd__Compare);

	etcd__compare__init(c);
	c->target = ETCD__COMPARE__COMPARE_TARGET__MOD;
	c->result = result;
	c->key = etcd_data(key);
	c->target_union_case = ETCD__COMPARE__TARGET_UNION_MOD_REVISION;
	c->mod_revision = revision;
	t->request.compare[t->request.n_compare++] = c;
}

static Etcd__RequestOp *add_op(struct txn *t)
{
	Etcd__RequestOp *op = ARENA_NEW(t->arena, Etcd__RequestOp);

	etcd__request_op__init(op);
	return t->request.success[t->request.n_success++] = op;
}

/* Puts the value with the stamp appended. */
static void add_put(struct txn *t, struct str key, struct str value, uint64_t stamp)
{
	Etcd__RequestOp *op = add_op(t);
	char *stored = arena_alloc(t->arena, value.n + ETCD_STAMP_SIZE);

	if (value.n)
		memcpy(stored, value.p, value.n);
	etcd_stamp_print(stamp, stored + value.n);
	op->request_case = ETCD__REQUEST_OP__REQUEST_REQUEST_PUT;
	op->request_put = ARENA_NEW(t->arena, Etcd__PutRequest);
	etcd__put_request__init(op->request_put);
	op->request_put->key = etcd_data(key);
	op->request_put->value = etcd_data(str_of(stored, value.n + ETCD_STAMP_SIZE));
}

/* The stamp comes first, so that the feed shows it before the deletion. */
static void add_deletion(struct txn *t, const struct etcd_write *rec)
{
	Etcd__RequestOp *op;

	add_put(t, buf_str(&rec->all->deletion_key), STR_NULL, rec->stamp);
	op = add_op(t);
	op->request_case = ETCD__REQUEST_OP__REQUEST_REQUEST_DELETE_RANGE;
	op->request_delete_range = ARENA_NEW(t->arena, Etcd__DeleteRangeRequest);
	etcd__delete_range_request__init(op->request_delete_range);
	op->request_delete_range->key = etcd_data(write_key_of(rec));
}

/* Compares that no write has touched the guard since the view; touches it. */
static void add_guard(struct txn *t, const struct etcd_write *rec, struct str guard)
{
	struct str prefix = rec->all->prefix;
	struct str key = str_from(
		arena_printf(t->arena, "%.*s.guards/%.*s", STR_ARG(prefix), STR_ARG(guard)));

	add_compare(t, key, ETCD__COMPARE__COMPARE_RESULT__LESS, rec->w->view + 1);
	add_put(t, key, STR_NULL, rec->stamp);
}

/* The transaction takes effect only if the basis is unchanged. check_bases() made the key once. */
static void add_basis(struct txn *t, const struct etcd_write *rec, const struct store_basis *b)
{
	CLEANUP(buf_release) struct buf key = BUF_INIT(2UL * ETCD_KEY_MAX);
	int r = etcd_key_make(rec->all->prefix, &b->key, &key, NULL);

	assert(r == 0);
	(void)r;
	add_compare(t, arena_str(t->arena, buf_str(&key)), ETCD__COMPARE__COMPARE_RESULT__EQUAL,
		    b->at);
}

static void send_txn(struct etcd_write *rec)
{
	const struct store_write *w = rec->w;
	struct txn t = { .arena = &rec->all->arena, .request = ETCD__TXN_REQUEST__INIT };

	t.request.compare = arena_alloc(t.arena, (w->nguards + STORE_BASES_MAX + 1) *
							 sizeof(*t.request.compare));
	t.request.success = arena_alloc(t.arena, (w->nguards + 2) * sizeof(*t.request.success));
	add_compare(&t, write_key_of(rec), ETCD__COMPARE__COMPARE_RESULT__EQUAL, rec->expected);
	if (w->value)
		add_put(&t, write_key_of(rec), bytes_str(w->value), rec->stamp);
	else
		add_deletion(&t, rec);
	for (size_t i = 0; i < STORE_BASES_MAX; i++)
		if (w->bases[i].at)
			add_basis(&t, rec, &w->bases[i]);
	for (size_t i = 0; i < w->nguards; i++)
		add_guard(&t, rec, w->guards[i]);
	rec->call = (struct etcd_call){ .op = ETCD_TXN, .done = on_txn };
	etcd_client_call(rec->all->client, &rec->call, &t.request.base);
	arena_clear(t.arena);
}

/* Sends a linearizable read, for its revision. */
static void write_ask(struct etcd_write *rec)
{
	Etcd__RangeRequest range = ETCD__RANGE_REQUEST__INIT;

	range.key = etcd_data(write_key_of(rec));
	range.count_only = true;
	rec->call = (struct etcd_call){ .op = ETCD_RANGE, .repeatable = true, .done = on_asked };
	etcd_client_call(rec->all->client, &rec->call, &range.base);
}

/* Whether the deadline of sending it has passed. */
static bool is_late(const struct etcd_write *rec, int64_t now)
{
	return rec->w->send_by && now > rec->w->send_by;
}

static void pursue(struct etcd_write *rec, const struct error *why)
{
	int64_t now = loop_now(etcd_client_loop(rec->all->client));

	if (!rec->doubtful)
		rec->give_up = now + DOUBT_MS;
	rec->doubtful = true;
	rec->err = *why;
	if (now >= rec->give_up || (rec->expected && is_late(rec, now)))
		write_give_up(rec);
	else if (rec->expected)
		send_txn(rec);
	else
		write_ask(rec);
}

/* Ends a write that etcd rejected: nothing was done, and nothing will be. */
static void write_refuse(struct etcd_write *rec, const struct error *why)
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
		write_give_up(rec);
	} else {
		write_refuse(rec, &a->err);
	}
}

static void on_asked(struct etcd_call *c, const struct etcd_answer *a)
{
	struct etcd_write *rec = CONTAINER_OF(c, struct etcd_write, call);
	const Etcd__RangeResponse *reply = a->reply;

	if (a->outcome == ETCD_ANSWERED && reply->header)
		land(rec, VERDICT_ASKED, reply->header->revision);
	else
		write_give_up(rec);
}

static void write_enqueue(struct etcd_write *rec)
{
	list_push_back(&rec->all->queued, &rec->link);
	send_queued(rec->all);
}

static void send_queued(struct etcd_writes *ws)
{
	int64_t now = loop_now(etcd_client_loop(ws->client));

	while (ws->sent < ETCD_WRITES_MAX && !list_empty(&ws->queued)) {
		struct list *node = list_pop_front(&ws->queued);
		struct etcd_write *rec = LIST_ENTRY(node, struct etcd_write, link);

		if (is_late(rec, now)) {
			(void)error_set(&rec->err, ERR_CONFLICT, "it waited too long to be sent");
			bury(rec);
			continue;
		}
		rec->in_flight = true;
		ws->sent++;
		rec->epoch = ws->epoch;
		index_add(rec);
		send_txn(rec);
	}
}

/* --- for the store ------------------------------------------------------------------------- */

/* A basis whose key cannot be made cannot be compared, so the write must not be made. */
static int check_bases(const struct etcd_writes *ws, const struct store_write *w, struct error *err)
{
	CLEANUP(buf_release) struct buf key = BUF_INIT(2UL * ETCD_KEY_MAX);
	int r = 0;

	for (size_t i = 0; i < STORE_BASES_MAX && r == 0; i++) {
		buf_clear(&key);
		if (w->bases[i].at)
			r = etcd_key_make(ws->prefix, &w->bases[i].key, &key, err);
	}
	return r;
}

static struct etcd_write *record_new(struct etcd_writes *ws, struct store_write *w)
{
	CLEANUP(buf_release) struct buf key = BUF_INIT(2UL * ETCD_KEY_MAX);
	struct etcd_write *rec;
	struct error err = { 0 };

	if (etcd_key_make(ws->prefix, &w->key, &key, &err) == 0 && check_bases(ws, w, &err) == 0 &&
	    w->nguards > STORE_GUARDS_MAX)
		(void)error_set(&err, ERR_TOO_LARGE, "a write with %zu guards; the maximum is %d",
				w->nguards, STORE_GUARDS_MAX);
	rec = xcalloc(1, sizeof(*rec) + key.n);
	rec->nkey = key.n;
	if (key.n)
		memcpy(rec->key, key.p, key.n);
	rec->all = ws;
	rec->w = w;
	if (++ws->stamp == 0) /* not a valid stamp */
		ws->stamp++;
	rec->stamp = ws->stamp;
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
	write_enqueue(rec);
}

void etcd_writes_init(struct etcd_writes *ws, struct store *store, struct etcd_client *client,
		      struct str prefix)
{
	*ws = (struct etcd_writes){ .store = store, .client = client, .prefix = prefix };
	ws->stamp = prng_u64(loop_prng(etcd_client_loop(client)));
	buf_init(&ws->deletion_key, 2UL * ETCD_PREFIX_MAX);
	(void)buf_printf(&ws->deletion_key, "%.*s.deleted", STR_ARG(prefix));
	arena_init(&ws->arena, ETCD_RESPONSE_MAX);
	map_init(&ws->keys);
	list_init(&ws->queued);
	list_init(&ws->landed);
	list_init(&ws->dead);
	loop_task_init(&ws->task, write_work);
}

void etcd_writes_release(struct etcd_writes *ws)
{
	assert(ws->keys.n == 0 && list_empty(&ws->queued) && list_empty(&ws->dead));
	loop_task_cancel(&ws->task);
	buf_release(&ws->deletion_key);
	arena_release(&ws->arena);
	map_release(&ws->keys);
}
