/*
 * Accounts are found by a hash, once per request with anything to count, and live while something
 * is charged to them. The table of users has a lock per bucket, taken to open and to leave an
 * account; the sums are atomic.
 */
#include "server/http/memory.h"

#include "base/core/list.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/core/queue.h"
#include "base/report/metrics.h"
#include "server/core/parts.h"
#include "server/http/exchange.h"

enum { BUCKETS = 256 }; /* power of two */

struct memory_account {
	struct list link;
	const struct conn *conn; /* the connection of the account; NULL: it is a user's */
	struct user_bucket *bucket; /* for a user's account */
	struct str user, pod; /* pod: uid of the pod that the token is for; or empty */
	atomic_size_t used; /* bytes */
	atomic_size_t watches;
	size_t strange; /* for a connection: bytes of `used` for requests without a known user */
	unsigned bills;
};

struct user_bucket {
	struct lock lock; /* for the list, and `bills` in it */
	struct list accounts;
};

struct memory {
	struct list *conns; /* BUCKETS for each lane */
	struct user_bucket users[BUCKETS];
	/* Rejections by limit. */
	struct metrics_counter *over_strangers, *over_conn, *over_user;
	struct metrics_counter *watches_conn, *watches_user;
	struct metrics_gauge *bytes;
};

static int memory_add_metrics(struct memory *m, struct metrics *registry, struct error *err)
{
	static const char *const labels[] = { "limit" };
	struct metrics_spec refused = {
		.name = "devplane_request_memory_refused_total",
		.help = "Requests rejected because of the memory limit of their client.",
		.type = METRICS_COUNTER,
		.labels = labels,
		.labels_n = 1
	};
	struct metrics_spec watches = {
		.name = "devplane_watches_refused_total",
		.help = "Watches rejected because of the watch limit of their client.",
		.type = METRICS_COUNTER,
		.labels = labels,
		.labels_n = 1
	};
	struct metrics_spec bytes = {
		.name = "devplane_request_memory_bytes",
		.help = "Memory of requests and unsent replies that counts towards the limit.",
		.type = METRICS_GAUGE
	};
	struct metrics_family *f;
	int r = metrics_register(registry, &refused, &f, err);

	if (r < 0)
		return r;
	m->over_strangers = metrics_counter(f, STR("unauthenticated"));
	m->over_conn = metrics_counter(f, STR("connection"));
	m->over_user = metrics_counter(f, STR("user"));
	r = metrics_register(registry, &watches, &f, err);
	if (r < 0)
		return r;
	m->watches_conn = metrics_counter(f, STR("connection"));
	m->watches_user = metrics_counter(f, STR("user"));
	r = metrics_register(registry, &bytes, &f, err);
	if (r == 0)
		m->bytes = metrics_gauge_of(f, NULL, 0);
	return r;
}

int memory_new(struct server *s, struct memory **ret_memory, struct error *err)
{
	struct memory *m = XNEW(struct memory);
	int r = memory_add_metrics(m, s->metrics, err);

	if (r < 0) {
		free(m);
		return r;
	}
	m->conns = xcalloc(s->opts.nloops * BUCKETS, sizeof(*m->conns));
	for (size_t i = 0; i < s->opts.nloops * BUCKETS; i++)
		list_init(&m->conns[i]);
	for (size_t i = 0; i < BUCKETS; i++) {
		lock_init(&m->users[i].lock);
		list_init(&m->users[i].accounts);
	}
	*ret_memory = m;
	return 0;
}

void memory_free(struct memory *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		lock_destroy(&m->users[i].lock);
	free(m->conns);
	free(m);
}

/* --- accounts --------------------------------------------------------------------- */

static struct memory_account *conn_account(struct list *bucket, const struct conn *conn)
{
	struct memory_account *a;

	LIST_FOREACH (it, bucket) {
		a = LIST_ENTRY(it, struct memory_account, link);
		if (a->conn == conn)
			return a;
	}
	a = XNEW(struct memory_account);
	a->conn = conn;
	list_push_back(bucket, &a->link);
	return a;
}

static struct memory_account *user_account(struct user_bucket *bucket, struct str user,
					   struct str pod)
{
	struct memory_account *a;

	LIST_FOREACH (it, &bucket->accounts) {
		a = LIST_ENTRY(it, struct memory_account, link);
		if (str_eq(a->user, user) && str_eq(a->pod, pod))
			return a;
	}
	a = XNEW(struct memory_account);
	a->bucket = bucket;
	a->user = str_of(str_dup(user), user.n);
	a->pod = str_of(str_dup(pod), pod.n);
	list_push_back(&bucket->accounts, &a->link);
	return a;
}

static void account_free(struct memory_account *a)
{
	free((void *)(uintptr_t)a->user.p);
	free((void *)(uintptr_t)a->pod.p);
	free(a);
}

static void conn_leave(struct memory_account *a)
{
	if (!a || --a->bills)
		return;
	list_remove(&a->link);
	account_free(a);
}

static void user_leave(struct memory_account *a)
{
	struct user_bucket *bucket = a ? a->bucket : NULL;
	bool last;

	if (!a)
		return;
	lock_acquire(&bucket->lock);
	last = --a->bills == 0;
	if (last)
		list_remove(&a->link);
	lock_release(&bucket->lock);
	if (last)
		account_free(a);
}

static void open_conn(struct exchange *x)
{
	const struct conn *conn = http_stream_conn(x->stream);
	size_t at = ((uintptr_t)conn >> 4) & (BUCKETS - 1);

	if (x->bill.conn || !conn)
		return;
	x->bill.conn = conn_account(&x->server->memory->conns[x->lane * BUCKETS + at], conn);
	x->bill.conn->bills++;
}

static void open_user(struct exchange *x)
{
	const struct user *u = x->impersonator ? x->impersonator : &x->user;
	struct str pod = u->binding ? u->binding->pod_uid : STR("");
	struct user_bucket *bucket =
		&x->server->memory->users[hash_bytes(u->name, 0) & (BUCKETS - 1)];

	if (x->bill.user)
		return;
	lock_acquire(&bucket->lock);
	x->bill.user = user_account(bucket, u->name, pod);
	x->bill.user->bills++;
	lock_release(&bucket->lock);
}

/* --- bills ------------------------------------------------------------------------ */

/* Adds to a sum; returns false if that would exceed the limit. */
static bool sum_add(atomic_size_t *sum, size_t more, size_t most)
{
	if (atomic_fetch_add_explicit(sum, more, memory_order_relaxed) + more <= most)
		return true;
	atomic_fetch_sub_explicit(sum, more, memory_order_relaxed);
	return false;
}

static void sum_sub(atomic_size_t *sum, size_t less)
{
	atomic_fetch_sub_explicit(sum, less, memory_order_relaxed);
}

/* Charges that many bytes; or returns the counter of the limit that they would exceed. */
static struct metrics_counter *charge(struct exchange *x, size_t bytes)
{
	const struct memory *m = x->server->memory;
	const struct memory_bill *b = &x->bill;

	if (!b->known && b->conn->strange + bytes > MEMORY_STRANGER_MAX)
		return m->over_strangers;
	if (!sum_add(&b->conn->used, bytes, MEMORY_CONN_MAX))
		return m->over_conn;
	if (b->known && !sum_add(&b->user->used, bytes, MEMORY_USER_MAX)) {
		sum_sub(&b->conn->used, bytes);
		return m->over_user;
	}
	if (!b->known)
		b->conn->strange += bytes;
	return NULL;
}

static bool memory_take(struct exchange *x, size_t bytes, size_t *part)
{
	struct memory *m = x->server->memory;
	struct metrics_counter *limit;

	if (!m || bytes < MEMORY_SMALL)
		return true;
	open_conn(x);
	if (!x->bill.conn)
		return true; /* it has ended */
	if (x->bill.known)
		open_user(x);
	limit = charge(x, bytes);
	if (limit) {
		metrics_counter_add(limit, 1);
		return false;
	}
	*part += bytes;
	metrics_gauge_add(m->bytes, (double)bytes);
	return true;
}

bool memory_take_request(struct exchange *x, size_t bytes)
{
	return memory_take(x, bytes, &x->bill.request);
}

bool memory_take_rest(struct exchange *x, size_t bytes)
{
	return memory_take(x, bytes, &x->bill.rest);
}

void memory_identified(struct exchange *x)
{
	struct memory_bill *b = &x->bill;
	size_t bytes = b->request + b->rest;

	if (b->known || user_in_group(&x->user, USER_UNAUTHENTICATED))
		return;
	b->known = true;
	if (!bytes)
		return;
	open_user(x);
	b->conn->strange -= bytes;
	atomic_fetch_add_explicit(&b->user->used, bytes, memory_order_relaxed);
}

static void give(struct exchange *x, size_t *part)
{
	struct memory_bill *b = &x->bill;
	size_t bytes = *part;

	if (!bytes)
		return;
	*part = 0;
	sum_sub(&b->conn->used, bytes);
	if (b->known)
		sum_sub(&b->user->used, bytes);
	else
		b->conn->strange -= bytes;
	metrics_gauge_add(x->server->memory->bytes, -(double)bytes);
}

/* --- watches ---------------------------------------------------------------------- */

static int too_many(struct metrics_counter *limit, const char *whose, size_t most,
		    struct error *err)
{
	metrics_counter_add(limit, 1);
	return error_set(err, ERR_TOO_MANY_REQUESTS,
			 "this %s has too many open watches: the limit is %zu, and a watch counts "
			 "once more for each %d terms and values of its selectors",
			 whose, most, MEMORY_WATCH_TERMS);
}

/* The limit of the user, or of the impersonator. */
static size_t user_watches_max(const struct exchange *x)
{
	int64_t most = x->server->opts.max_user_watches;

	if (user_in_group(x->impersonator ? x->impersonator : &x->user, USER_MASTERS) || most < 0)
		return SIZE_MAX;
	return most ? (size_t)most : MEMORY_USER_WATCHES_MAX;
}

int memory_take_watch(struct exchange *x, struct error *err)
{
	size_t terms = selector_weight(&x->request.labels) + selector_weight(&x->request.fields);
	size_t n = 1 + terms / MEMORY_WATCH_TERMS, most = user_watches_max(x);
	struct memory *m = x->server->memory;

	if (!m || x->bill.watches)
		return 0;
	open_conn(x);
	if (!x->bill.conn)
		return 0; /* it has ended */
	open_user(x);
	if (!sum_add(&x->bill.conn->watches, n, MEMORY_CONN_WATCHES_MAX))
		return too_many(m->watches_conn, "connection", MEMORY_CONN_WATCHES_MAX, err);
	if (!sum_add(&x->bill.user->watches, n, most)) {
		sum_sub(&x->bill.conn->watches, n);
		return too_many(m->watches_user, "user", most, err);
	}
	x->bill.watches = (unsigned)n;
	return 0;
}

static void give_watches(struct exchange *x)
{
	unsigned n = x->bill.watches;

	if (!n)
		return;
	x->bill.watches = 0;
	sum_sub(&x->bill.conn->watches, n);
	sum_sub(&x->bill.user->watches, n);
}

/* --- the end ---------------------------------------------------------------------- */

void memory_give_request(struct exchange *x)
{
	give(x, &x->bill.request);
}

void memory_end(struct exchange *x)
{
	give(x, &x->bill.request);
	give(x, &x->bill.rest);
	give_watches(x);
	conn_leave(TAKE(x->bill.conn));
	user_leave(TAKE(x->bill.user));
}
