/*
 * A record accompanies each write. It waits for the write it comes after
 * (`followers` of that one), then for a place (`queued`), then for etcd, then for
 * the feed (`landed`), and ends in settle().
 *
 * Records whose transaction was sent are found by key, for the feed: that is how
 * events learn whose they are, and how a write whose answer was lost learns what
 * became of it.
 */
#include "store/etcd_write.h"

#include <assert.h>
#include <inttypes.h>

#include "base/limits.h"
#include "base/mem.h"
#include "store/etcd_client.h"
#include "store/etcd_key.h"
#include "store/store_impl.h"

/* How long a write whose answer was lost is pursued. */
enum { DOUBT_MS = 10 * 1000 };

enum verdict {
	SUCCEEDED, /* etcd said so */
	CONFLICTED, /* etcd said so, at the first and only try */
	CHANGED, /* sent more than once, and the last try found the key changed */
	ASKED, /* a creation that may have happened; the feed is to tell */
};

struct etcd_write {
	struct etcd_call call;
	struct etcd_writes *all;
	struct store_write *w;
	struct list link; /* of one of the lists */
	struct list followers;
	struct etcd_write *older; /* sent write of the same key */
	int64_t expected;
	int64_t floor; /* changes of the key at or before it are not ours */
	bool in_flight;
	bool is_landed;
	bool doubtful; /* a try went unanswered */
	int64_t give_up; /* ms: when doubtful, until when to pursue it */
	enum verdict verdict;
	int64_t reached; /* revision of the answer: the feed must get there */
	/* The key's first change behind `floor` that the feed delivered; 0: none. */
	int64_t seen;
	bool seen_same; /* it made what we want */
	struct error err; /* what failed; code 0: nothing */
	size_t nkey;
	char key[];
};

static void enqueue(struct etcd_write *rec);
static void send_queued(struct etcd_writes *ws);

static struct str key_of(const struct etcd_write *rec)
{
	return str_of(rec->key, rec->nkey);
}

/* --- by key ------------------------------------------------------------------------------ */

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

/* --- ending ------------------------------------------------------------------------------- */

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

static void settle(struct etcd_write *rec)
{
	struct store_write *w = rec->w;

	if (rec->err.code)
		fail_followers(rec);
	else
		release_followers(rec);
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

static void settle_dead(struct loop_task *t)
{
	struct etcd_writes *ws = CONTAINER_OF(t, struct etcd_writes, task);
	struct list *node;

	while ((node = list_pop_front(&ws->dead)))
		settle(LIST_ENTRY(node, struct etcd_write, link));
}

static void fail_unknown(struct etcd_write *rec)
{
	struct error why = rec->err;

	(void)error_set(&rec->err, ERR_TIMEOUT, "it is not known whether etcd has written it%s%s",
			why.code ? ": " : "", why.code ? why.msg : "");
}

static void fail_conflict(struct etcd_write *rec)
{
	(void)error_set(&rec->err, ERR_CONFLICT, "the key is no longer at revision %" PRId64,
			rec->expected);
}

static void succeed(struct etcd_write *rec, int64_t revision)
{
	rec->w->revision = revision;
	rec->err.code = ERR_OK;
}

/* `complete`: the feed has shown all up to the revision of the answer. */
static void judge(struct etcd_write *rec, bool complete)
{
	switch (rec->verdict) {
	case SUCCEEDED:
		succeed(rec, rec->reached);
		return;
	case CONFLICTED:
		fail_conflict(rec);
		return;
	case CHANGED:
		if (rec->seen && rec->seen_same)
			succeed(rec, rec->seen);
		else if (rec->seen || complete)
			fail_conflict(rec);
		else
			fail_unknown(rec);
		return;
	case ASKED:
		if (rec->seen && rec->seen_same)
			succeed(rec, rec->seen);
		else
			fail_unknown(rec);
		return;
	}
}

static bool feed_reached(const struct etcd_write *rec)
{
	return rec->all->delivered >= rec->reached;
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

static void land(struct etcd_write *rec, enum verdict verdict, int64_t revision)
{
	rec->verdict = verdict;
	rec->reached = revision;
	rec->is_landed = true;
	if (verdict == SUCCEEDED) {
		succeed(rec, revision);
		release_followers(rec);
	}
	leave_flight(rec);
	if (rec->all->following && !feed_reached(rec)) {
		wait_for_feed(rec);
		return;
	}
	judge(rec, rec->all->following);
	settle(rec);
}

/* No answer, and no time left: what the feed has shown so far decides. */
static void give_up(struct etcd_write *rec)
{
	leave_flight(rec);
	rec->verdict = rec->expected ? CHANGED : ASKED;
	judge(rec, false);
	settle(rec);
}

/* --- sending ------------------------------------------------------------------------------ */

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
	settle(rec);
}

static void on_txn(struct etcd_call *c, const struct etcd_answer *a)
{
	struct etcd_write *rec = CONTAINER_OF(c, struct etcd_write, call);
	const Etcd__TxnResponse *reply = a->reply;

	if (a->outcome == ETCD_ANSWERED && reply->header) {
		rec->all->refusal.code = ERR_OK;
		land(rec,
		     reply->succeeded ? SUCCEEDED
		     : rec->doubtful  ? CHANGED
				      : CONFLICTED,
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
		land(rec, ASKED, reply->header->revision);
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
		if (before->is_landed && before->verdict == SUCCEEDED)
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
	loop_task_init(&ws->task, settle_dead);
}

void etcd_writes_release(struct etcd_writes *ws)
{
	assert(ws->keys.n == 0 && list_empty(&ws->queued) && list_empty(&ws->dead));
	loop_task_cancel(&ws->task);
	map_release(&ws->keys);
}

/* --- what the feed tells ------------------------------------------------------------------- */

void etcd_writes_follow(struct etcd_writes *ws, int64_t revision)
{
	ws->following = true;
	ws->delivered = revision;
}

void etcd_writes_unfollow(struct etcd_writes *ws)
{
	ws->following = false;
}

void etcd_writes_flush(struct etcd_writes *ws)
{
	struct list now, *node;

	list_init(&now);
	list_splice_back(&now, &ws->landed);
	while ((node = list_pop_front(&now))) {
		struct etcd_write *rec = LIST_ENTRY(node, struct etcd_write, link);

		judge(rec, false);
		settle(rec);
	}
}

static bool is_same(const struct etcd_write *rec, const struct str *value)
{
	const struct bytes *want = rec->w->value;

	return want && value ? str_eq(bytes_str(want), *value) : !want && !value;
}

/* Whether the change is this write's, as far as can be told now. */
static bool note_change(struct etcd_write *rec, int64_t revision, const struct str *value)
{
	if (rec->is_landed && rec->verdict == SUCCEEDED)
		return rec->reached == revision;
	/* A creation comes behind the deletion of what was there before. */
	if (revision <= rec->floor || rec->seen || (!value && !rec->expected))
		return false;
	rec->seen = revision;
	rec->seen_same = is_same(rec, value);
	if (rec->seen_same)
		rec->w->revision = revision;
	return rec->seen_same;
}

struct store_write *etcd_writes_match(struct etcd_writes *ws, struct str key, int64_t revision,
				      const struct str *value)
{
	struct etcd_write *maker = NULL;

	for (struct etcd_write *rec = map_get(&ws->keys, key); rec; rec = rec->older)
		if (note_change(rec, revision, value))
			maker = rec;
	return maker ? maker->w : NULL;
}

void etcd_writes_delivered(struct etcd_writes *ws, int64_t revision)
{
	ws->delivered = revision;
	while (!list_empty(&ws->landed)) {
		struct etcd_write *rec = LIST_ENTRY(ws->landed.next, struct etcd_write, link);

		if (!feed_reached(rec))
			return;
		judge(rec, true);
		settle(rec);
	}
}
