/*
 * A member's gRPC service. It does all of its work in turns of its own loop: by a timer, and when
 * another member has something for it.
 */
#include "cluster_etcd_impl.h"

#include "base/core/mem.h"
#include "grpc/server.h"
#include "net/http/server.h"
#include "net/loop/addr.h"

enum { NO_LEADER_MS = 3 * ETCD_ELECTION_MS, PIECE_MAX = 20, STOP_MS = 500 };

static void work(struct cluster_etcd_member *m);

static struct cluster_etcd_member *member_of(struct grpc_call *c)
{
	return grpc_call_service(c);
}

static bool is_up(const struct cluster_etcd_member *m)
{
	return m->role && m->http;
}

/* --- requests -------------------------------------------------------------------------------- */

static void ask_free(struct etcd_ask *ask)
{
	etcd_abandon(ask);
	list_remove(&ask->link);
	grpc_call_unref(ask->call);
	arena_release(&ask->arena);
	free(ask);
}

static void finish(struct etcd_ask *ask, enum grpc_code code, struct str why)
{
	(void)grpc_call_finish(ask->call, code, why);
	ask_free(ask);
}

static void answer_range(struct cluster_etcd_member *m, struct grpc_call *c,
			 const Etcd__RangeRequest *in)
{
	CLEANUP(arena_release) struct arena a;
	Etcd__RangeResponse out;
	enum grpc_code code;
	struct str why;

	arena_init(&a, SIZE_MAX);
	code = etcd_log_range(&m->etcd->log, in, etcd_applied(m).revision, &a, &out, &why);
	if (code == GRPC_OK)
		(void)grpc_call_reply(c, &out.base);
	else
		(void)grpc_call_finish(c, code, why);
}

/* Whether it is over. */
static bool settle(struct cluster_etcd_member *m, struct etcd_ask *ask)
{
	/* For a read, the index is that of the entry after the last one that it must see. */
	bool read = ask->kind == ETCD_ASK_READ;
	bool applied = ask->index && m->applied + read >= ask->index;

	if (etcd_now(m->etcd) >= ask->until_ms) {
		finish(ask, GRPC_UNAVAILABLE, STR("etcdserver: request timed out"));
	} else if (read && ask->failure.n) {
		finish(ask, GRPC_UNAVAILABLE, ask->failure);
	} else if (!applied || ask->lost) {
		return false;
	} else if (read) {
		answer_range(m, ask->call, ask->request);
		ask_free(ask);
	} else if (ask->code != GRPC_OK) {
		finish(ask, ask->code, ask->failure);
	} else {
		(void)grpc_call_reply(ask->call, ask->reply);
		ask_free(ask);
	}
	return true;
}

static struct etcd_ask *take(struct grpc_call *c, enum etcd_ask_kind kind, const void *request)
{
	struct cluster_etcd_member *m = member_of(c);
	struct etcd_ask *ask;

	if (m->alone_ms && etcd_now(m->etcd) - m->alone_ms > ETCD_ELECTION_MS) {
		(void)grpc_call_finish(c, GRPC_UNAVAILABLE, STR("etcdserver: no leader"));
		return NULL;
	}
	ask = XNEW(struct etcd_ask);
	ask->kind = kind;
	ask->call = grpc_call_ref(c);
	ask->request = request;
	ask->until_ms = etcd_now(m->etcd) + ETCD_REQUEST_MS;
	arena_init(&ask->arena, SIZE_MAX);
	list_push_back(&m->asks, &ask->link);
	return ask;
}

static void serve_range(struct grpc_call *c, const void *request)
{
	const Etcd__RangeRequest *in = request;

	if (in->serializable)
		answer_range(member_of(c), c, in);
	else if (take(c, ETCD_ASK_READ, request))
		work(member_of(c));
}

static void serve_txn(struct grpc_call *c, const void *request)
{
	const Etcd__TxnRequest *in = request;
	struct cluster_etcd_member *m = member_of(c);
	struct etcd_ask *ask;

	if (m->etcd->full) {
		(void)grpc_call_finish(c, GRPC_RESOURCE_EXHAUSTED,
				       STR("etcdserver: mvcc: database space exceeded"));
		return;
	}
	ask = take(c, ETCD_ASK_WRITE, request);
	if (!ask)
		return;
	etcd_propose(m, ask, in, 0);
	work(m);
}

static void serve_compact(struct grpc_call *c, const void *request)
{
	const Etcd__CompactionRequest *in = request;
	struct etcd_ask *ask = take(c, ETCD_ASK_WRITE, request);

	if (!ask)
		return;
	etcd_propose(member_of(c), ask, NULL, in->revision);
	work(member_of(c));
}

/* --- watches --------------------------------------------------------------------------------- */

static Etcd__ResponseHeader header_of(const struct cluster_etcd_member *m)
{
	return etcd_log_header(&m->etcd->log, etcd_applied(m).revision);
}

static void send_piece(struct cluster_etcd_member *m, struct etcd_watch *x, size_t n, bool fragment)
{
	CLEANUP(arena_release) struct arena a;
	Etcd__WatchResponse out = ETCD__WATCH_RESPONSE__INIT;
	Etcd__ResponseHeader h = header_of(m);

	arena_init(&a, SIZE_MAX);
	out.header = &h;
	out.fragment = fragment;
	etcd_log_events(&m->etcd->log, x->at, n, &a, &out);
	(void)grpc_call_send(x->call, &out.base);
	x->at += n;
}

/* Without fragments a response ends with a revision. */
static size_t whole(const struct cluster_etcd_member *m, const struct etcd_watch *x, size_t n)
{
	const struct etcd_log *l = &m->etcd->log;

	while (x->at + n < l->changes.n &&
	       l->changes.v[x->at + n].revision == l->changes.v[x->at + n - 1].revision)
		n++;
	return n;
}

static void end_watch(struct cluster_etcd_member *m, struct etcd_watch *x)
{
	Etcd__WatchResponse out = ETCD__WATCH_RESPONSE__INIT;
	Etcd__ResponseHeader h = header_of(m);

	out.header = &h;
	out.canceled = true;
	out.compact_revision = etcd_applied(m).compacted;
	(void)grpc_call_send(x->call, &out.base);
	list_remove(&x->link);
	free(x);
}

static void feed(struct cluster_etcd_member *m, struct etcd_watch *x)
{
	struct etcd_entry now = etcd_applied(m);

	bool held = etcd_now(m->etcd) < m->hold_ms || !grpc_call_room(x->call);

	if (held && x->at < now.changes && m->etcd->log.changes.v[x->at].revision < now.compacted) {
		end_watch(m, x);
		return;
	}
	while (!held && x->at < now.changes && grpc_call_room(x->call)) {
		size_t left = now.changes - x->at;
		size_t drawn = 1 + (size_t)prng_below(&m->etcd->prng, PIECE_MAX);
		size_t n = MIN(left, drawn);
		bool fragment = n < left && x->fragments;

		send_piece(m, x, fragment ? n : whole(m, x, n), fragment);
	}
}

static void send_created(struct cluster_etcd_member *m, struct grpc_call *c)
{
	Etcd__WatchResponse out = ETCD__WATCH_RESPONSE__INIT;
	Etcd__ResponseHeader h = header_of(m);

	out.header = &h;
	out.created = true;
	(void)grpc_call_send(c, &out.base);
}

static void watch_message(struct grpc_call *c, const void *message)
{
	const Etcd__WatchRequest *in = message;
	struct cluster_etcd_member *m = member_of(c);
	struct etcd_watch *x;

	if (in->request_union_case != ETCD__WATCH_REQUEST__REQUEST_UNION_CREATE_REQUEST)
		return;
	x = XNEW(struct etcd_watch);
	x->call = c;
	x->at = etcd_log_seek(&m->etcd->log, in->create_request->start_revision);
	x->fragments = in->create_request->fragment;
	list_push_back(&m->watches, &x->link);
	send_created(m, c);
	if (in->create_request->start_revision < etcd_applied(m).compacted)
		end_watch(m, x);
	else
		feed(m, x);
}

static struct etcd_watch *watch_of(struct grpc_call *c)
{
	LIST_FOREACH (it, &member_of(c)->watches)
		if (LIST_ENTRY(it, struct etcd_watch, link)->call == c)
			return LIST_ENTRY(it, struct etcd_watch, link);
	return NULL;
}

static void watch_writable(struct grpc_call *c)
{
	struct etcd_watch *x = watch_of(c);

	if (x)
		feed(member_of(c), x);
}

static void watch_end(struct grpc_call *c, const struct grpc_status *st UNUSED)
{
	struct etcd_watch *x = watch_of(c);

	if (!x)
		return;
	list_remove(&x->link);
	free(x);
}

/* A member that is cut off says so to those that demand a leader. */
static void end_watches(struct cluster_etcd_member *m)
{
	struct list *node;

	while ((node = list_pop_front(&m->watches))) {
		struct etcd_watch *x = LIST_ENTRY(node, struct etcd_watch, link);
		struct grpc_call *c = x->call;

		free(x);
		(void)grpc_call_finish(c, GRPC_UNAVAILABLE, STR("etcdserver: no leader"));
	}
}

/* --- turns ----------------------------------------------------------------------------------- */

static void work(struct cluster_etcd_member *m)
{
	int64_t next;

	if (!is_up(m))
		return;
	next = etcd_consensus(m);
	LIST_FOREACH_SAFE (it, &m->asks)
		(void)settle(m, LIST_ENTRY(it, struct etcd_ask, link));
	if (m->alone_ms && etcd_now(m->etcd) - m->alone_ms > NO_LEADER_MS)
		end_watches(m);
	LIST_FOREACH_SAFE (it, &m->watches)
		feed(m, LIST_ENTRY(it, struct etcd_watch, link));
	loop_timer_start(&m->timer, next);
}

static void on_timer(struct loop_timer *t)
{
	work(CONTAINER_OF(t, struct cluster_etcd_member, timer));
}

static void on_news(struct loop_msg *msg)
{
	struct cluster_etcd_member *m = CONTAINER_OF(msg, struct cluster_etcd_member, news);

	m->has_news = false;
	work(m);
}

void etcd_spread(struct cluster_etcd *e)
{
	for (unsigned i = 0; i < CLUSTER_ETCD_MEMBERS; i++) {
		struct cluster_etcd_member *m = &e->members[i];

		if (!is_up(m) || m->has_news)
			continue;
		m->has_news = true;
		m->news.fn = on_news;
		loop_post(m->role->loops[0], &m->news);
	}
}

/* --- the role -------------------------------------------------------------------------------- */

static void handle(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	grpc_server_handle(((struct cluster_etcd_member *)arg)->grpc, s);
}

static const struct grpc_handler rows[] = {
	{ .method = &etcd_ops[ETCD_RANGE].method, .on_request = serve_range },
	{ .method = &etcd_ops[ETCD_TXN].method, .on_request = serve_txn },
	{ .method = &etcd_ops[ETCD_COMPACT].method, .on_request = serve_compact },
	{ .method = &etcd_watch_method,
	  .ops = { .on_message = watch_message,
		   .on_writable = watch_writable,
		   .on_end = watch_end } },
};

static int start(struct cluster_role *role, struct error *err)
{
	struct cluster_etcd_member *m = role->arg;
	struct http_server_opts opts = { .nloops = 1, .handler = handle, .arg = m };
	struct addr at;
	int r;

	role->impl = m;
	m->role = role;
	m->tick_ms = etcd_now(m->etcd);
	m->alone_ms = 0;
	m->has_news = false;
	m->grpc = grpc_server_new(NULL);
	grpc_server_add(m->grpc, rows, ARRAY_SIZE(rows), m);
	opts.loops = role->loops;
	m->http = http_server_new(&opts);
	loop_timer_init(&m->timer, role->loops[0], on_timer);
	loop_timer_start(&m->timer, 0);
	r = addr_parse(&at, STR("0.0.0.0"), CLUSTER_ETCD_PORT + (uint16_t)(m - m->etcd->members),
		       err);
	return r < 0 ? r : http_server_listen(m->http, &at, NULL, 0, NULL, err);
}

static void drop_asks(struct cluster_etcd_member *m)
{
	LIST_FOREACH_SAFE (it, &m->asks)
		ask_free(LIST_ENTRY(it, struct etcd_ask, link));
}

static void stop(struct cluster_role *role, void (*done)(void *arg), void *arg)
{
	struct cluster_etcd_member *m = role->arg;

	loop_timer_stop(&m->timer);
	m->role = NULL;
	http_server_drain(m->http, STOP_MS, done, arg);
}

static void die(struct cluster_role *role, bool stopping, void (*done)(void *arg), void *arg)
{
	struct cluster_etcd_member *m = role->arg;

	m->role = NULL;
	if (!stopping)
		done(arg);
}

static void drop(struct cluster_role *role)
{
	struct cluster_etcd_member *m = role->arg;

	loop_timer_stop(&m->timer);
	m->role = NULL;
	drop_asks(m);
	http_server_free(TAKE(m->http));
	grpc_server_free(TAKE(m->grpc));
}

const struct cluster_role_ops cluster_etcd_ops = {
	.start = start, .stop = stop, .drop = drop, .die = die, .nloops = 1
};
