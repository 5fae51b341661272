/*
 * Accounts are found by a hash, once per request that has anything to be counted, and live while
 * something is on them.
 */
#include "server/memory.h"

#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "server/exchange.h"
#include "server/server_impl.h"

enum { BUCKETS = 256 }; /* power of two */

struct memory_account {
	struct list link;
	const struct conn *conn; /* whose it is; or NULL: the user's */
	struct str user;
	size_t used; /* bytes */
	size_t strange; /* of them, by requests without a known user */
	unsigned bills;
};

struct memory {
	struct list *buckets; /* BUCKETS for each lane */
	struct metrics_counter *strangers, *conns, *users; /* refused because of each limit */
	struct metrics_gauge *bytes;
};

static int add_metrics(struct memory *m, struct metrics *registry, struct error *err)
{
	static const char *const labels[] = { "limit" };
	struct metrics_spec refused = {
		.name = "devplane_request_memory_refused_total",
		.help = "Requests refused for the memory that is held for their client.",
		.type = METRICS_COUNTER,
		.labels = labels,
		.labels_n = 1
	};
	struct metrics_spec bytes = {
		.name = "devplane_request_memory_bytes",
		.help = "Memory of requests and unsent answers, as it is limited.",
		.type = METRICS_GAUGE
	};
	struct metrics_family *f;
	int r = metrics_register(registry, &refused, &f, err);

	if (r < 0)
		return r;
	m->strangers = metrics_counter(f, STR("unauthenticated"));
	m->conns = metrics_counter(f, STR("connection"));
	m->users = metrics_counter(f, STR("user"));
	r = metrics_register(registry, &bytes, &f, err);
	if (r == 0)
		m->bytes = metrics_gauge_of(f, NULL, 0);
	return r;
}

int memory_new(struct server *s, struct memory **ret_memory, struct error *err)
{
	struct memory *m = XNEW(struct memory);
	int r = add_metrics(m, s->metrics, err);

	if (r < 0) {
		free(m);
		return r;
	}
	m->buckets = xcalloc(s->opts.nloops * BUCKETS, sizeof(*m->buckets));
	for (size_t i = 0; i < s->opts.nloops * BUCKETS; i++)
		list_init(&m->buckets[i]);
	*ret_memory = m;
	return 0;
}

void memory_free(struct memory *m)
{
	if (!m)
		return;
	free(m->buckets);
	free(m);
}

/* --- accounts --------------------------------------------------------------------- */

static struct list *bucket_of(const struct exchange *x, uint64_t hash)
{
	return &x->server->memory->buckets[x->lane * BUCKETS + (hash & (BUCKETS - 1))];
}

static struct memory_account *account_of(struct list *bucket, const struct conn *conn,
					 struct str user)
{
	struct memory_account *a;

	LIST_FOREACH (it, bucket) {
		a = LIST_ENTRY(it, struct memory_account, link);
		if (a->conn == conn && (conn || str_eq(a->user, user)))
			goto found;
	}
	a = XNEW(struct memory_account);
	a->conn = conn;
	a->user = conn ? STR_NULL : str_of(xstrndup(user.p, user.n), user.n);
	list_push_back(bucket, &a->link);
found:
	a->bills++;
	return a;
}

static void account_leave(struct memory_account *a)
{
	if (!a || --a->bills)
		return;
	list_remove(&a->link);
	free((void *)(uintptr_t)a->user.p);
	free(a);
}

static void open_conn(struct exchange *x)
{
	const struct conn *conn = http_stream_conn(x->stream);

	if (!x->bill.conn && conn)
		x->bill.conn = account_of(bucket_of(x, (uintptr_t)conn >> 4), conn, STR_NULL);
}

static void open_user(struct exchange *x)
{
	struct str name = x->user.name;

	if (x->bill.known && !x->bill.user)
		x->bill.user = account_of(bucket_of(x, hash_bytes(name, 0)), NULL, name);
}

/* --- bills ------------------------------------------------------------------------ */

/* The limit that so many bytes more would pass; or NULL. */
static struct metrics_counter *limit_of(const struct exchange *x, size_t bytes)
{
	const struct memory *m = x->server->memory;
	const struct memory_bill *b = &x->bill;

	if (!b->known && b->conn->strange + bytes > MEMORY_STRANGER_MAX)
		return m->strangers;
	if (b->conn->used + bytes > MEMORY_CONN_MAX)
		return m->conns;
	if (b->user && b->user->used + bytes > MEMORY_USER_MAX)
		return m->users;
	return NULL;
}

static bool take(struct exchange *x, size_t bytes, size_t *part)
{
	struct memory *m = x->server->memory;
	struct metrics_counter *limit;

	if (!m || bytes < MEMORY_SMALL)
		return true;
	open_conn(x);
	open_user(x);
	if (!x->bill.conn)
		return true; /* it has ended */
	limit = limit_of(x, bytes);
	if (limit) {
		metrics_counter_add(limit, 1);
		return false;
	}
	*part += bytes;
	x->bill.conn->used += bytes;
	if (x->bill.known)
		x->bill.user->used += bytes;
	else
		x->bill.conn->strange += bytes;
	metrics_gauge_add(m->bytes, (double)bytes);
	return true;
}

bool memory_take_request(struct exchange *x, size_t bytes)
{
	return take(x, bytes, &x->bill.request);
}

bool memory_take_rest(struct exchange *x, size_t bytes)
{
	return take(x, bytes, &x->bill.rest);
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
	b->user->used += bytes;
}

static void give(struct exchange *x, size_t *part)
{
	struct memory_bill *b = &x->bill;
	size_t bytes = *part;

	if (!bytes)
		return;
	*part = 0;
	b->conn->used -= bytes;
	if (b->known)
		b->user->used -= bytes;
	else
		b->conn->strange -= bytes;
	metrics_gauge_add(x->server->memory->bytes, -(double)bytes);
}

void memory_give_request(struct exchange *x)
{
	give(x, &x->bill.request);
}

void memory_end(struct exchange *x)
{
	give(x, &x->bill.request);
	give(x, &x->bill.rest);
	account_leave(TAKE(x->bill.conn));
	account_leave(TAKE(x->bill.user));
}
