/*
 * Members share the log; a message to their loop reports the changes of others, as
 * between threads.
 */
#include "store/etcd/etcd_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "grpc/server.h"
#include "net/http/server.h"
#include "net/loop/loop.h"
#include "store/etcd/stamp.h"
#include "store/etcd/store.h"

enum { PATIENCE_MS = 60 * 1000, TURN_OFF_MS = 3000 };

static struct etcd_world_member *member_of(struct grpc_call *c)
{
	return grpc_call_service(c);
}

static Etcd__ResponseHeader header_of(const struct etcd_world *w)
{
	return etcd_log_header(&w->log, w->log.revision);
}

/* --- watches ------------------------------------------------------------------------------- */

/* Sends `n` events of the log, starting at `from`, as one response. */
static void send_piece(struct etcd_world *w, struct grpc_call *call, size_t from, size_t n,
		       bool fragment)
{
	CLEANUP(arena_release) struct arena a;
	Etcd__WatchResponse m = ETCD__WATCH_RESPONSE__INIT;
	Etcd__ResponseHeader h = header_of(w);

	arena_init(&a, SIZE_MAX);
	m.header = &h;
	m.fragment = fragment;
	etcd_log_events(&w->log, from, n, &a, &m);
	(void)grpc_call_send(call, &m.base);
}

static void send_canceled(struct etcd_world *w, struct grpc_call *c)
{
	Etcd__WatchResponse m = ETCD__WATCH_RESPONSE__INIT;
	Etcd__ResponseHeader h = header_of(w);

	m.header = &h;
	m.canceled = true;
	m.compact_revision = w->log.compacted;
	(void)grpc_call_send(c, &m.base);
}

/* Whether changes that the watch has not sent yet are compacted. */
static bool is_compacted(const struct etcd_world *w, const struct etcd_world_watch *watch)
{
	return watch->at < w->log.changes.n &&
	       w->log.changes.v[watch->at].revision < w->log.compacted;
}

static void feed_watch(struct etcd_world *w, struct etcd_world_watch *watch)
{
	const struct etcd_world_member *m = member_of(watch->call);

	if (!w->hold_events && !m->mute && !m->lags && is_compacted(w, watch)) {
		send_canceled(w, watch->call);
		watch->at = SIZE_MAX;
	}
	while (!w->hold_events && !m->mute && !m->lags && watch->at < w->log.changes.n) {
		size_t left = w->log.changes.n - watch->at;
		size_t n = w->piece ? MIN(left, w->piece) : left;

		send_piece(w, watch->call, watch->at, n, n < left);
		watch->at += n;
	}
}

static void on_news(struct loop_msg *msg)
{
	struct etcd_world_member *m = CONTAINER_OF(msg, struct etcd_world_member, news);

	m->has_news = false;
	for (size_t i = 0; i < m->nwatches; i++)
		feed_watch(m->world, &m->watches[i]);
}

/* Notifies all members. */
static void spread(struct etcd_world *w)
{
	for (size_t i = 0; i < w->nmembers; i++) {
		struct etcd_world_member *m = &w->members[i];

		if (!m->loop || m->has_news)
			continue;
		m->has_news = true;
		m->news.fn = on_news;
		loop_post(m->loop, &m->news);
	}
}

static void send_created(struct etcd_world *w, struct grpc_call *c, bool canceled)
{
	Etcd__WatchResponse m = ETCD__WATCH_RESPONSE__INIT;
	Etcd__ResponseHeader h = header_of(w);

	m.header = &h;
	m.created = true;
	(void)grpc_call_send(c, &m.base);
	if (canceled)
		send_canceled(w, c);
}

static void watch_message(struct grpc_call *c, const void *message)
{
	const Etcd__WatchRequest *in = message;
	struct etcd_world_member *m = member_of(c);
	struct etcd_world *w = m->world;
	struct etcd_world_watch watch = { .call = c };
	int64_t start;

	w->watches_opened++;
	if (m->mute || in->request_union_case != ETCD__WATCH_REQUEST__REQUEST_UNION_CREATE_REQUEST)
		return;
	if (m->leaderless) {
		(void)grpc_call_finish(c, GRPC_UNAVAILABLE, STR("etcdserver: no leader"));
		return;
	}
	start = in->create_request->start_revision;
	send_created(w, c, start <= w->log.compacted);
	if (start <= w->log.compacted)
		return;
	watch.at = etcd_log_seek(&w->log, start);
	assert_true(m->nwatches < ETCD_WORLD_CALLS);
	m->watches[m->nwatches] = watch;
	feed_watch(w, &m->watches[m->nwatches++]);
}

static void watch_end(struct grpc_call *c, const struct grpc_status *st UNUSED)
{
	struct etcd_world_member *m = member_of(c);

	for (size_t i = 0; i < m->nwatches; i++)
		if (m->watches[i].call == c)
			m->watches[i--] = m->watches[--m->nwatches];
}

/* --- requests ------------------------------------------------------------------------------ */

static bool is_refused(struct grpc_call *c)
{
	struct etcd_world_member *m = member_of(c);

	m->calls++;
	if (m->leaderless && !m->mute)
		(void)grpc_call_finish(c, GRPC_UNAVAILABLE, STR("etcdserver: no leader"));
	return m->leaderless || m->mute;
}

static void serve_range(struct grpc_call *c, const void *request)
{
	CLEANUP(arena_release) struct arena a;
	const Etcd__RangeRequest *in = request;
	const struct etcd_log *l = &member_of(c)->world->log;
	Etcd__RangeResponse out;
	enum grpc_code code;
	struct str why;

	arena_init(&a, SIZE_MAX);
	if (in->serializable) {
		member_of(c)->calls--;
		member_of(c)->probes++;
	}
	if (is_refused(c))
		return;
	code = etcd_log_range(l, in, l->revision, &a, &out, &why);
	if (code == GRPC_OK)
		(void)grpc_call_reply(c, &out.base);
	else
		(void)grpc_call_finish(c, code, why);
}

static void answer_txn(struct etcd_world *w, struct grpc_call *c, const Etcd__TxnRequest *in,
		       bool succeeded)
{
	CLEANUP(arena_release) struct arena a;

	arena_init(&a, SIZE_MAX);
	(void)grpc_call_reply(c, &etcd_log_reply(&w->log, in, succeeded, &a)->base);
}

static void time_out(struct grpc_call *c)
{
	(void)grpc_call_finish(c, GRPC_UNAVAILABLE, STR("etcdserver: request timed out"));
}

static void befall(struct etcd_world *w, struct grpc_call *c, const Etcd__TxnRequest *in)
{
	struct etcd_world_answer held = { .call = grpc_call_ref(c) };

	w->fated--;
	switch (w->fate) {
	case ETCD_WORLD_ANSWER:
		answer_txn(w, c, in, etcd_log_apply(&w->log, in));
		break;
	case ETCD_WORLD_DROP:
		time_out(c);
		break;
	case ETCD_WORLD_LOSE:
		(void)etcd_log_apply(&w->log, in);
		time_out(c);
		break;
	case ETCD_WORLD_DELAY:
		(void)vec_push(&w->delayed, etcd_log_copy_txn(in));
		time_out(c);
		break;
	case ETCD_WORLD_HOLD:
		held.succeeded = etcd_log_apply(&w->log, in);
		held.revision = w->log.revision;
		(void)vec_push(&w->held, held);
		break;
	case ETCD_WORLD_FULL:
		(void)grpc_call_finish(c, GRPC_RESOURCE_EXHAUSTED,
				       STR("etcdserver: mvcc: database space exceeded"));
		break;
	case ETCD_WORLD_VANISH:
		break;
	}
	if (!held.revision)
		grpc_call_unref(held.call);
}

static void serve_txn(struct grpc_call *c, const void *request)
{
	const Etcd__TxnRequest *in = request;
	struct etcd_world *w = member_of(c)->world;
	/* Transactions on the store's name and the compactor's key are not writes of objects. */
	bool is_write = in->compare[0]->target == ETCD__COMPARE__COMPARE_TARGET__MOD;

	if (is_refused(c))
		return;
	if (is_write)
		w->txns++;
	if (is_write && w->fated > 0)
		befall(w, c, in);
	else
		answer_txn(w, c, in, etcd_log_apply(&w->log, in));
	spread(w);
}

static void serve_compact(struct grpc_call *c, const void *request)
{
	const Etcd__CompactionRequest *in = request;
	struct etcd_world *w = member_of(c)->world;
	Etcd__CompactionResponse out = ETCD__COMPACTION_RESPONSE__INIT;

	if (is_refused(c))
		return;
	if (in->revision <= w->log.compacted) {
		(void)grpc_call_finish(c, GRPC_OUT_OF_RANGE, etcd_log_compacted);
		return;
	}
	w->log.compacted = in->revision;
	(void)grpc_call_reply(c, &out.base);
}

/* --- the members --------------------------------------------------------------------------- */

static void etcd_world_handle(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	grpc_server_handle(((struct etcd_world_member *)arg)->grpc, s);
}

static const struct grpc_handler rows[] = {
	{ .method = &etcd_ops[ETCD_RANGE].method, .on_request = serve_range },
	{ .method = &etcd_ops[ETCD_TXN].method, .on_request = serve_txn },
	{ .method = &etcd_ops[ETCD_COMPACT].method, .on_request = serve_compact },
	{ .method = &etcd_watch_method,
	  .ops = { .on_message = watch_message, .on_end = watch_end } },
};

void etcd_world_start(struct etcd_world *w, size_t member)
{
	struct etcd_world_member *m = &w->members[member];
	struct http_server_opts opts = { .nloops = 1, .handler = etcd_world_handle, .arg = m };
	struct addr at;

	m->loop = sim_loop_new(w->sim, m->host);
	opts.loops = &m->loop;
	m->http = http_server_new(&opts);
	m->nwatches = 0;
	m->has_news = false;
	assert_int_equal(addr_parse(&at, str_from(m->url + strlen("http://")), 0, NULL), 0);
	assert_int_equal(http_server_listen(m->http, &at, NULL, 0, NULL, NULL), 0);
}

static void drop_held(struct etcd_world *w)
{
	for (size_t i = 0; i < w->held.n; i++)
		grpc_call_unref(w->held.v[i].call);
	w->held.n = 0;
}

void etcd_world_crash(struct etcd_world *w, size_t member)
{
	struct etcd_world_member *m = &w->members[member];

	drop_held(w);
	sim_loop_crash(m->loop, SIM_CRASH_PROCESS);
	sim_loop_bury(m->loop);
	http_server_free(TAKE(m->http));
	loop_free(TAKE(m->loop));
}

static void store_etcd_world_init(struct etcd_world *w, const struct sim_opts *so, size_t members)
{
	*w = (struct etcd_world){ .nmembers = members };
	w->sim = sim_new(so);
	w->client_loop = sim_loop_new(w->sim, "client");
	etcd_log_init(&w->log);
	w->log.term = 1;
	vec_init(&w->held, 1 << 20);
	vec_init(&w->delayed, 1 << 20);
	for (size_t i = 0; i < members; i++) {
		struct etcd_world_member *m = &w->members[i];

		m->world = w;
		(void)snprintf(m->host, sizeof(m->host), "etcd-%zu", i);
		(void)snprintf(m->url, sizeof(m->url), "http://127.0.0.%zu:2379", i + 1);
		m->grpc = grpc_server_new(NULL);
		grpc_server_add(m->grpc, rows, ARRAY_SIZE(rows), m);
		etcd_world_start(w, i);
	}
}

void etcd_world_init(struct etcd_world *w, uint64_t seed, size_t members)
{
	struct sim_opts so = { .seed = seed, .latency_min_us = 10, .latency_max_us = 200 };

	store_etcd_world_init(w, &so, members);
}

void etcd_world_init_slow(struct etcd_world *w, uint64_t seed, size_t members)
{
	struct sim_opts so = {
		.seed = seed, .latency_min_us = 20000, .latency_max_us = 40000, .pipe_max = 1024
	};

	store_etcd_world_init(w, &so, members);
}

static void etcd_world_on_drained(void *arg)
{
	*(bool *)arg = true;
}

static void stop_member(struct etcd_world *w, struct etcd_world_member *m)
{
	bool drained = false;

	if (!m->loop)
		return;
	http_server_drain(m->http, 0, etcd_world_on_drained, &drained);
	etcd_world_run(w, TURN_OFF_MS);
	assert_true(drained);
	http_server_free(m->http);
	loop_free(m->loop);
}

void etcd_world_release(struct etcd_world *w)
{
	drop_held(w);
	for (size_t i = 0; i < w->nmembers; i++)
		stop_member(w, &w->members[i]);
	loop_free(w->client_loop);
	for (size_t i = 0; i < w->nmembers; i++)
		grpc_server_free(w->members[i].grpc);
	sim_free(w->sim);
	for (size_t i = 0; i < w->delayed.n; i++)
		etcd__txn_request__free_unpacked(w->delayed.v[i], NULL);
	vec_release(&w->held);
	vec_release(&w->delayed);
	etcd_log_release(&w->log);
}

/* --- the client ---------------------------------------------------------------------------- */

struct store *etcd_world_open(struct etcd_world *w, const struct store_etcd_opts *opts)
{
	struct store_etcd_opts o = opts ? *opts : (struct store_etcd_opts){ .history_ms = -1 };
	const char *urls[ETCD_WORLD_MEMBERS];
	struct store *s = NULL;

	for (size_t i = 0; i < w->nmembers; i++)
		urls[i] = w->members[i].url;
	o.endpoints = urls;
	o.nendpoints = w->nmembers;
	assert_int_equal(store_etcd_open(w->client_loop, &o, &s, NULL), 0);
	return s;
}

void etcd_world_close(struct etcd_world *w, struct store *s)
{
	bool closed = false;

	store_close(s, etcd_world_on_drained, &closed);
	etcd_world_until(w, &closed);
}

void etcd_world_run(struct etcd_world *w, int64_t ms)
{
	sim_run_for(w->sim, ms);
}

static bool etcd_world_is_set(void *arg)
{
	return **(const bool **)arg;
}

void etcd_world_until(struct etcd_world *w, const bool *flag)
{
	assert_true(sim_run_until(w->sim, etcd_world_is_set, &flag, PATIENCE_MS));
}

/* --- changes and failures ------------------------------------------------------------------ */

static void etcd_world_put(struct etcd_world *w, const char *key, const char *value)
{
	struct str text = str_from(value);

	etcd_log_add(&w->log, str_from(key), value ? &text : NULL);
}

int64_t etcd_world_change(struct etcd_world *w, const char *key, const char *value)
{
	w->log.revision++;
	etcd_world_put(w, key, value);
	spread(w);
	return w->log.revision;
}

int64_t etcd_world_change_both(struct etcd_world *w, const char *key1, const char *key2,
			       const char *value)
{
	w->log.revision++;
	etcd_world_put(w, key1, value);
	etcd_world_put(w, key2, value);
	spread(w);
	return w->log.revision;
}

struct str etcd_world_value(const struct etcd_log_change *c)
{
	struct str value;

	(void)etcd_stamp_split(c->value, &value);
	return value;
}

struct str etcd_world_get(struct etcd_world *w, const char *key)
{
	const struct etcd_log_change *c = etcd_log_find(&w->log, str_from(key), INT64_MAX);

	return c && !c->deleted ? arena_str(&w->log.arena, etcd_world_value(c)) : STR_NULL;
}

void etcd_world_compact(struct etcd_world *w, int64_t revision)
{
	w->log.compacted = revision;
}

void etcd_world_go_back(struct etcd_world *w, int64_t revision)
{
	etcd_log_go_back(&w->log, revision);
}

void etcd_world_answer(struct etcd_world *w)
{
	while (w->held.n) {
		struct etcd_world_answer held = w->held.v[--w->held.n];
		Etcd__TxnResponse out = ETCD__TXN_RESPONSE__INIT;
		Etcd__ResponseHeader h = etcd_log_header(&w->log, held.revision);

		out.header = &h;
		out.succeeded = held.succeeded;
		(void)grpc_call_reply(held.call, &out.base);
		grpc_call_unref(held.call);
	}
}

void etcd_world_apply(struct etcd_world *w)
{
	for (size_t i = 0; i < w->delayed.n; i++) {
		(void)etcd_log_apply(&w->log, w->delayed.v[i]);
		etcd__txn_request__free_unpacked(w->delayed.v[i], NULL);
	}
	w->delayed.n = 0;
	spread(w);
}

void etcd_world_let_events(struct etcd_world *w)
{
	w->hold_events = false;
	spread(w);
}
