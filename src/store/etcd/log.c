/*
 * Transactions look up the newest change of a key; ranges walk the keys in order.
 */
#include "store/etcd/log.h"

#include "base/core/mem.h"

enum { CLUSTER_ID = 7 };

const struct str etcd_log_compacted = { "etcdserver: mvcc: required revision has been compacted",
					54 };
const struct str etcd_log_future = { "etcdserver: mvcc: required revision is a future revision",
				     56 };

/* The changes of one key, as indexes in the log. */
struct history {
	VEC(size_t) at;
};

void etcd_log_init(struct etcd_log *l)
{
	*l = (struct etcd_log){ .revision = 1 };
	arena_init(&l->arena, SIZE_MAX);
	vec_init(&l->changes, 1 << 24);
	omap_init(&l->keys);
}

void etcd_log_release(struct etcd_log *l)
{
	struct omap_cursor c;

	for (bool ok = omap_first(&l->keys, &c); ok; ok = omap_next(&c)) {
		struct history *h = omap_value(&c);

		vec_release(&h->at);
		free(h);
	}
	omap_release(&l->keys);
	vec_release(&l->changes);
	arena_release(&l->arena);
}

Etcd__ResponseHeader etcd_log_header(const struct etcd_log *l, int64_t revision)
{
	Etcd__ResponseHeader h = ETCD__RESPONSE_HEADER__INIT;

	h.cluster_id = CLUSTER_ID;
	h.revision = revision;
	h.raft_term = l->term;
	return h;
}

/* --- changes ------------------------------------------------------------------------------- */

static const struct etcd_log_change *find_in(const struct etcd_log *l, const struct history *h,
					     int64_t revision)
{
	for (size_t i = h ? h->at.n : 0; i > 0; i--)
		if (l->changes.v[h->at.v[i - 1]].revision <= revision)
			return &l->changes.v[h->at.v[i - 1]];
	return NULL;
}

const struct etcd_log_change *etcd_log_find(const struct etcd_log *l, struct str key,
					    int64_t revision)
{
	return find_in(l, omap_get(&l->keys, key), revision);
}

static int64_t version_of(const struct etcd_log *l, struct str key)
{
	const struct etcd_log_change *c = etcd_log_find(l, key, INT64_MAX);

	return c ? c->version : 0;
}

static int64_t mod_of(const struct etcd_log *l, struct str key)
{
	const struct etcd_log_change *c = etcd_log_find(l, key, INT64_MAX);

	return c && !c->deleted ? c->revision : 0;
}

void etcd_log_add(struct etcd_log *l, struct str key, const struct str *value)
{
	struct etcd_log_change c = { .key = arena_str(&l->arena, key),
				     .deleted = !value,
				     .revision = l->revision };
	struct history *h = omap_get(&l->keys, key);

	c.version = value ? version_of(l, key) + 1 : 0;
	if (value)
		c.value = arena_str(&l->arena, *value);
	if (!h) {
		h = XNEW(struct history);
		vec_init(&h->at, 1 << 24);
		(void)omap_put(&l->keys, c.key, h);
	}
	(void)vec_push(&h->at, l->changes.n);
	(void)vec_push(&l->changes, c);
}

void etcd_log_go_back(struct etcd_log *l, int64_t revision)
{
	l->revision = revision;
	while (l->changes.n && l->changes.v[l->changes.n - 1].revision > revision) {
		struct history *h = omap_get(&l->keys, l->changes.v[--l->changes.n].key);

		h->at.n--;
	}
}

size_t etcd_log_seek(const struct etcd_log *l, int64_t revision)
{
	size_t low = 0, high = l->changes.n;

	while (low < high) {
		size_t at = low + (high - low) / 2;

		if (l->changes.v[at].revision < revision)
			low = at + 1;
		else
			high = at;
	}
	return low;
}

/* --- transactions -------------------------------------------------------------------------- */

/*
 * Supports what the store's transactions use: LESS and EQUAL, of the mod revision or the version.
 */
static bool compare_holds(const struct etcd_log *l, const Etcd__Compare *c)
{
	bool is_mod = c->target == ETCD__COMPARE__COMPARE_TARGET__MOD;
	struct str key = etcd_str(c->key);
	int64_t is = is_mod ? mod_of(l, key) : version_of(l, key);
	int64_t want = is_mod ? c->mod_revision : c->version;

	return c->result == ETCD__COMPARE__COMPARE_RESULT__LESS ? is < want : is == want;
}

static bool compares(const struct etcd_log *l, const Etcd__TxnRequest *in)
{
	for (size_t i = 0; i < in->n_compare; i++)
		if (!compare_holds(l, in->compare[i]))
			return false;
	return true;
}

/* Deleting an absent key changes nothing. */
static bool changes_something(const struct etcd_log *l, const Etcd__RequestOp *op)
{
	if (op->request_case == ETCD__REQUEST_OP__REQUEST_REQUEST_DELETE_RANGE)
		return mod_of(l, etcd_str(op->request_delete_range->key)) > 0;
	return op->request_case == ETCD__REQUEST_OP__REQUEST_REQUEST_PUT;
}

static void log_change(struct etcd_log *l, const Etcd__RequestOp *op)
{
	struct str value;

	if (!changes_something(l, op))
		return;
	if (op->request_case == ETCD__REQUEST_OP__REQUEST_REQUEST_PUT) {
		value = etcd_str(op->request_put->value);
		etcd_log_add(l, etcd_str(op->request_put->key), &value);
	} else {
		etcd_log_add(l, etcd_str(op->request_delete_range->key), NULL);
	}
}

/* All changes of a transaction have one revision. */
bool etcd_log_apply(struct etcd_log *l, const Etcd__TxnRequest *in)
{
	bool any = false;

	if (!compares(l, in))
		return false;
	for (size_t i = 0; i < in->n_success; i++)
		any = any || changes_something(l, in->success[i]);
	l->revision += any;
	for (size_t i = 0; i < in->n_success; i++)
		log_change(l, in->success[i]);
	return true;
}

/* The reply to one operation; reads see the state after the transaction. */
static Etcd__ResponseOp *reply_to(const struct etcd_log *l, const Etcd__RequestOp *op,
				  struct arena *a)
{
	Etcd__ResponseOp *out = ARENA_NEW(a, Etcd__ResponseOp);

	etcd__response_op__init(out);
	if (op->request_case == ETCD__REQUEST_OP__REQUEST_REQUEST_PUT) {
		out->response_case = ETCD__RESPONSE_OP__RESPONSE_RESPONSE_PUT;
		out->response_put = ARENA_NEW(a, Etcd__PutResponse);
		etcd__put_response__init(out->response_put);
	} else if (op->request_case == ETCD__REQUEST_OP__REQUEST_REQUEST_DELETE_RANGE) {
		out->response_case = ETCD__RESPONSE_OP__RESPONSE_RESPONSE_DELETE_RANGE;
		out->response_delete_range = ARENA_NEW(a, Etcd__DeleteRangeResponse);
		etcd__delete_range_response__init(out->response_delete_range);
	} else {
		out->response_case = ETCD__RESPONSE_OP__RESPONSE_RESPONSE_RANGE;
		out->response_range = ARENA_NEW(a, Etcd__RangeResponse);
		(void)etcd_log_range(l, op->request_range, l->revision, a, out->response_range,
				     NULL);
	}
	return out;
}

Etcd__TxnResponse *etcd_log_reply(const struct etcd_log *l, const Etcd__TxnRequest *in,
				  bool succeeded, struct arena *a)
{
	Etcd__TxnResponse *out = ARENA_NEW(a, Etcd__TxnResponse);
	Etcd__RequestOp *const *ops = succeeded ? in->success : in->failure;

	etcd__txn_response__init(out);
	out->header = ARENA_NEW(a, Etcd__ResponseHeader);
	*out->header = etcd_log_header(l, l->revision);
	out->succeeded = succeeded;
	out->n_responses = succeeded ? in->n_success : in->n_failure;
	out->responses = ARENA_ARRAY(a, Etcd__ResponseOp *, out->n_responses + 1);
	for (size_t i = 0; i < out->n_responses; i++)
		out->responses[i] = reply_to(l, ops[i], a);
	return out;
}

Etcd__TxnRequest *etcd_log_copy_txn(const Etcd__TxnRequest *in)
{
	size_t n = etcd__txn_request__get_packed_size(in);
	uint8_t *wire = xmalloc(n + 1);
	Etcd__TxnRequest *out;

	(void)etcd__txn_request__pack(in, wire);
	out = etcd__txn_request__unpack(NULL, n, wire);
	free(wire);
	return out;
}

/* --- ranges and events --------------------------------------------------------------------- */

static Etcd__KeyValue *kv_of(const struct etcd_log_change *now, struct arena *a)
{
	Etcd__KeyValue *kv = ARENA_NEW(a, Etcd__KeyValue);

	etcd__key_value__init(kv);
	kv->key = etcd_data(now->key);
	kv->value = etcd_data(now->value);
	kv->version = now->version;
	kv->mod_revision = now->revision;
	return kv;
}

void etcd_log_events(const struct etcd_log *l, size_t from, size_t n, struct arena *a,
		     Etcd__WatchResponse *out)
{
	out->events = ARENA_ARRAY(a, Etcd__Event *, n);
	for (; out->n_events < n; out->n_events++) {
		const struct etcd_log_change *c = &l->changes.v[from + out->n_events];
		Etcd__Event *e = ARENA_NEW(a, Etcd__Event);

		etcd__event__init(e);
		e->type = c->deleted ? ETCD__EVENT__EVENT_TYPE__DELETE
				     : ETCD__EVENT__EVENT_TYPE__PUT;
		e->kv = kv_of(c, a);
		out->events[out->n_events] = e;
	}
}

/* An end of one zero byte means no end. */
static bool is_before_end(struct str key, struct str end)
{
	return (end.n == 1 && end.p[0] == '\0') || str_cmp(key, end) < 0;
}

static void log_walk(const struct etcd_log *l, const Etcd__RangeRequest *in, int64_t revision,
		     struct arena *a, Etcd__RangeResponse *out)
{
	struct str key = etcd_str(in->key), end = etcd_str(in->range_end);
	struct omap_cursor c;

	for (bool ok = omap_seek(&l->keys, &c, key); ok; ok = omap_next(&c)) {
		const struct etcd_log_change *now;

		if (end.n ? !is_before_end(omap_key(&c), end) : !str_eq(omap_key(&c), key))
			break;
		now = find_in(l, omap_value(&c), revision);
		if (!now || now->deleted)
			continue;
		out->count++;
		if (in->count_only)
			continue;
		if (in->limit && out->n_kvs == (size_t)in->limit)
			out->more = true;
		else
			out->kvs[out->n_kvs++] = kv_of(now, a);
	}
}

enum grpc_code etcd_log_range(const struct etcd_log *l, const Etcd__RangeRequest *in,
			      int64_t current, struct arena *a, Etcd__RangeResponse *out,
			      struct str *ret_why)
{
	int64_t revision = in->revision ? in->revision : current;

	etcd__range_response__init(out);
	out->header = ARENA_NEW(a, Etcd__ResponseHeader);
	*out->header = etcd_log_header(l, current);
	if (in->revision && (revision < l->compacted || revision > current)) {
		*ret_why = revision > current ? etcd_log_future : etcd_log_compacted;
		return GRPC_OUT_OF_RANGE;
	}
	out->kvs = ARENA_ARRAY(a, Etcd__KeyValue *, l->keys.n + 1);
	log_walk(l, in, revision, a, out);
	return GRPC_OK;
}
