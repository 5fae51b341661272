/*
 * A bucket is a number of tokens at some time; it is updated when it is used. Clients with open
 * calls are only in the table; the others are also in the idle list. Each call forgets a few
 * clients from its front: those that have waited long enough for a full bucket.
 */
#include "node/podresources/clients.h"

#include <assert.h>

#include "base/core/mem.h"
#include "net/loop/conn.h"
#include "node/node_limits.h"

enum { FORGET_MAX = 4 }; /* per call; one call adds at most one */

const struct podres_limits podres_limits_default = {
	.calls_per_s = 500,
	.burst = 100,
	.client_streams = 2048,
	.streams = 8192,
};

/* Compared as bytes, so there is no padding. */
struct client_key {
	int64_t pid;
	uint32_t uid;
	uint32_t known; /* whether the fields above are known */
};

struct bucket {
	double tokens;
	int64_t at; /* ms: when `tokens` was valid */
};

struct podres_client {
	struct client_key key;
	struct list link; /* in the idle list, or in none */
	struct bucket calls_bucket, streams_bucket; /* for new calls and watches */
	unsigned calls, streams; /* open ones */
};

static struct str key_str(const struct client_key *k)
{
	return str_of((const char *)k, sizeof(*k));
}

void podres_clients_init(struct podres_clients *t, const struct podres_limits *limits)
{
	*t = (struct podres_clients){ .limits = *limits };
	if (t->limits.burst == 0)
		t->limits.burst = 1;
	map_init(&t->by_owner);
	list_init(&t->idle);
}

static void clients_forget(struct podres_clients *t, struct podres_client *c)
{
	list_remove(&c->link);
	t->nidle--;
	(void)map_remove(&t->by_owner, key_str(&c->key));
	free(c);
}

void podres_clients_release(struct podres_clients *t)
{
	while (!list_empty(&t->idle))
		clients_forget(t, LIST_ENTRY(t->idle.next, struct podres_client, link));
	assert(t->by_owner.n == 0);
	map_release(&t->by_owner);
}

/* A client may open all its watches at once. */
static double streams_burst(const struct podres_clients *t)
{
	return MAX(t->limits.burst, t->limits.client_streams);
}

static void refill(const struct podres_clients *t, struct bucket *b, double burst, int64_t now_ms)
{
	double more = (double)(now_ms - b->at) / 1000 * t->limits.calls_per_s;

	b->tokens = MIN(b->tokens + more, burst);
	b->at = now_ms;
}

static bool is_full(const struct podres_clients *t, struct podres_client *c, int64_t now_ms)
{
	if (t->limits.calls_per_s <= 0)
		return true;
	refill(t, &c->calls_bucket, t->limits.burst, now_ms);
	refill(t, &c->streams_bucket, streams_burst(t), now_ms);
	return c->calls_bucket.tokens >= t->limits.burst &&
	       c->streams_bucket.tokens >= streams_burst(t);
}

static void forget_some(struct podres_clients *t, int64_t now_ms)
{
	for (int i = 0; i < FORGET_MAX && !list_empty(&t->idle); i++) {
		struct podres_client *c = LIST_ENTRY(t->idle.next, struct podres_client, link);

		if (t->nidle <= PODRES_CLIENTS_MAX && !is_full(t, c, now_ms))
			return;
		clients_forget(t, c);
	}
}

static struct podres_client *clients_find(struct podres_clients *t, const struct conn_owner *owner,
					  int64_t now_ms)
{
	struct client_key key = { 0 };
	struct podres_client *c;

	if (owner)
		key = (struct client_key){ .pid = owner->pid, .uid = owner->uid, .known = 1 };
	c = map_get(&t->by_owner, key_str(&key));
	if (c)
		return c;
	c = XNEW(struct podres_client);
	*c = (struct podres_client){ .key = key,
				     .calls_bucket = { t->limits.burst, now_ms },
				     .streams_bucket = { streams_burst(t), now_ms } };
	(void)map_put(&t->by_owner, key_str(&c->key), c);
	list_push_back(&t->idle, &c->link);
	t->nidle++;
	return c;
}

static bool is_idle(const struct podres_client *c)
{
	return c->calls == 0 && c->streams == 0;
}

static bool take_token(const struct podres_clients *t, struct podres_client *c, bool watch,
		       int64_t now_ms)
{
	struct bucket *b = watch ? &c->streams_bucket : &c->calls_bucket;

	if (t->limits.calls_per_s <= 0 || (watch && t->limits.client_streams == 0))
		return true;
	refill(t, b, watch ? streams_burst(t) : t->limits.burst, now_ms);
	if (b->tokens < 1)
		return false;
	b->tokens--;
	return true;
}

static enum podres_refusal clients_check(const struct podres_clients *t, struct podres_client *c,
					 bool watch, int64_t now_ms)
{
	const struct podres_limits *l = &t->limits;

	if (!take_token(t, c, watch, now_ms))
		return PODRES_REFUSED_RATE;
	if (!watch)
		return c->calls < PODRES_CALLS_MAX ? PODRES_TAKEN : PODRES_REFUSED_CALLS;
	if (l->client_streams && c->streams >= l->client_streams)
		return PODRES_REFUSED_CLIENT_STREAMS;
	if (l->streams && t->streams >= l->streams)
		return PODRES_REFUSED_STREAMS;
	return PODRES_TAKEN;
}

static void clients_refuse(const struct podres_clients *t, enum podres_refusal why,
			   struct error *err)
{
	if (why == PODRES_REFUSED_RATE)
		(void)error_set(err, ERR_TOO_MANY_REQUESTS, "rejected by rate limit");
	else if (why == PODRES_REFUSED_CALLS)
		(void)error_set(err, ERR_TOO_MANY_REQUESTS,
				"this process has %d calls open whose answers it has not read",
				PODRES_CALLS_MAX);
	else if (why == PODRES_REFUSED_CLIENT_STREAMS)
		(void)error_set(err, ERR_TOO_MANY_REQUESTS,
				"this process has %u watches open, the most that one may have "
				"(--pod-resources-client-streams)",
				t->limits.client_streams);
	else
		(void)error_set(err, ERR_TOO_MANY_REQUESTS,
				"%u watches are open, the most that there may be "
				"(--pod-resources-streams)",
				t->limits.streams);
}

struct podres_client *podres_clients_begin(struct podres_clients *t, const struct conn_owner *owner,
					   bool watch, int64_t now_ms, enum podres_refusal *ret_why,
					   struct error *err)
{
	struct podres_client *c = clients_find(t, owner, now_ms);
	bool idle = is_idle(c);

	*ret_why = clients_check(t, c, watch, now_ms);
	if (idle)
		list_remove(&c->link);
	if (*ret_why == PODRES_TAKEN) {
		t->nidle -= idle;
		c->calls += !watch;
		c->streams += watch;
		t->streams += watch;
	} else {
		if (idle)
			list_push_back(&t->idle, &c->link);
		clients_refuse(t, *ret_why, err);
		c = NULL;
	}
	forget_some(t, now_ms);
	return c;
}

void podres_clients_end(struct podres_clients *t, struct podres_client *c, bool watch)
{
	assert(watch ? c->streams : c->calls);
	c->calls -= !watch;
	c->streams -= watch;
	t->streams -= watch;
	if (!is_idle(c))
		return;
	list_push_back(&t->idle, &c->link);
	t->nidle++;
}
