/*
 * All of it but audit_webhook_send() runs on the webhook's own thread. A batch keeps its events
 * until it is delivered or dropped. Until then they count for the buffer, so a server that hangs
 * cannot make memory grow.
 */
#include "server/audit/webhook.h"

#include "base/core/buf.h"
#include "base/core/bytes.h"
#include "base/core/list.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/time/backoff.h"
#include "client/api/client.h"
#include "client/kubeconfig/kubeconfig.h"
#include "net/loop/loop.h"
#include "server/audit/bound.h"
#include "server/audit/event.h"
#include "server/audit/worker.h"
#include "server/server_limits.h"

#define LIST_HEAD_TEXT \
	"{\"kind\":\"EventList\",\"apiVersion\":\"audit.k8s.io/v1\",\"metadata\":{},\"items\":["

enum {
	TRIES_MAX = 5, /* upstream's */
	SENDS_MAX = 8, /* batches under way */
	LOG_EVERY_MS = 10 * 1000, /* failures that are logged */
};

/* An event in the buffer. */
struct held {
	struct loop_msg msg;
	struct list link; /* in `waiting` of the webhook, or in `events` of a batch */
	struct audit_webhook *webhook;
	struct bytes *line;
};

/* Events that are sent together. */
struct batch {
	struct audit_webhook *webhook;
	struct list link; /* in `batches` */
	struct list events;
	size_t n;
	int tries;
	struct buf body;
	struct client_request request;
	struct loop_timer again;
	struct backoff backoff;
};

struct audit_webhook {
	struct audit_webhook_opts opts;
	struct audit_bound bound;
	struct audit_worker *worker;
	struct loop *loop;
	struct client *client;
	struct str path; /* what the URL's own path lacks: static */
	struct list waiting, batches;
	size_t nwaiting, nbatches;
	struct loop_timer due; /* the oldest waiting event has waited long enough */
	struct loop_timer end; /* stopping: deliveries take no longer; then the thread ends */
	struct loop_msg stop;
	int64_t logged_ms;
	bool flush; /* `due` has passed: what waits is sent, however few */
	bool stopping, ended;
};

static void send_batches(struct audit_webhook *w);
static void batch_send(struct batch *b);

/* --- ends --------------------------------------------------------------------------------- */

static void held_free(struct held *h)
{
	audit_bound_give(&h->webhook->bound, h->line->n);
	list_remove(&h->link);
	bytes_unref(h->line);
	free(h);
}

static size_t drop_events(struct list *events)
{
	size_t n = 0;

	LIST_FOREACH_SAFE (it, events) {
		held_free(LIST_ENTRY(it, struct held, link));
		n++;
	}
	return n;
}

static void batch_free(struct batch *b)
{
	client_cancel(&b->request);
	loop_timer_stop(&b->again);
	(void)drop_events(&b->events);
	buf_release(&b->body);
	list_remove(&b->link);
	b->webhook->nbatches--;
	free(b);
}

/* The client needs one more turn to free its memory, so the thread ends in the next one. */
static void end_soon(struct audit_webhook *w)
{
	size_t lost = w->nwaiting;

	if (w->ended)
		return;
	w->ended = true;
	w->nwaiting = 0;
	(void)drop_events(&w->waiting);
	LIST_FOREACH_SAFE (it, &w->batches) {
		struct batch *b = LIST_ENTRY(it, struct batch, link);

		lost += b->n;
		batch_free(b);
	}
	if (lost)
		w->opts.lost(w->opts.arg, lost);
	loop_timer_stop(&w->due);
	client_free(TAKE(w->client));
	loop_timer_start(&w->end, 0);
}

static void on_end(struct loop_timer *t)
{
	struct audit_webhook *w = CONTAINER_OF(t, struct audit_webhook, end);

	if (w->ended)
		audit_worker_end(w->worker);
	else
		end_soon(w);
}

/* A batch is over: there is room for another. */
static void batch_over(struct batch *b)
{
	struct audit_webhook *w = b->webhook;

	batch_free(b);
	send_batches(w);
	if (w->stopping && !w->nbatches)
		end_soon(w);
}

/* --- batches ------------------------------------------------------------------------------ */

static void give_up(struct batch *b, const struct error *err)
{
	struct audit_webhook *w = b->webhook;
	int64_t now = loop_now(w->loop);

	w->opts.lost(w->opts.arg, b->n);
	if (!w->logged_ms || now - w->logged_ms >= LOG_EVERY_MS) {
		w->logged_ms = now;
		log_error(w->opts.log, "cannot send events to the audit webhook",
			  LOG_UINT("events", b->n), LOG_ERR(err));
	}
	batch_over(b);
}

static void on_sent(struct client_request *r, const struct client_answer *answer UNUSED,
		    const struct error *err)
{
	struct batch *b = r->arg;
	struct audit_webhook *w = b->webhook;

	if (!err)
		batch_over(b);
	else if (++b->tries >= TRIES_MAX || w->stopping)
		give_up(b, err);
	else
		loop_timer_start(&b->again, backoff_next(&b->backoff, loop_prng(w->loop)));
}

static void on_again(struct loop_timer *t)
{
	batch_send(CONTAINER_OF(t, struct batch, again));
}

static void batch_send(struct batch *b)
{
	b->request = (struct client_request){ .method = STR("POST"),
					      .path = b->webhook->path,
					      .body = buf_str(&b->body),
					      .timeout_ms = b->webhook->opts.timeout_ms,
					      .no_retry = true,
					      .on_done = on_sent,
					      .arg = b };
	client_send(b->webhook->client, &b->request);
}

/* Without the kind of each event and its newline. */
static void add_item(struct batch *b, struct str line)
{
	struct str rest = str_skip(line, sizeof(AUDIT_EVENT_HEAD) - 1);

	(void)buf_addz(&b->body, b->n ? ",{" : "{");
	(void)buf_add(&b->body, rest.p, rest.n - 1);
}

static struct batch *batch_new(struct audit_webhook *w)
{
	struct batch *b = XNEW(struct batch);

	b->webhook = w;
	list_init(&b->events);
	buf_init(&b->body, SIZE_MAX); /* of events that the buffer has room for */
	loop_timer_init(&b->again, w->loop, on_again);
	b->backoff = (struct backoff){ .initial_ms = MAX(w->opts.initial_backoff_ms, 1),
				       .max_ms = INT32_MAX,
				       .factor = 1.5,
				       .jitter = 0.2 };
	list_push_back(&w->batches, &b->link);
	w->nbatches++;
	(void)buf_addz(&b->body, LIST_HEAD_TEXT);
	return b;
}

static void send_one(struct audit_webhook *w)
{
	size_t most = w->opts.single ? 1 : (size_t)w->opts.batch_max_size;
	size_t bytes = w->opts.batch_max_bytes ? (size_t)w->opts.batch_max_bytes
					       : AUDIT_BATCH_BYTES;
	struct batch *b = batch_new(w);

	while (b->n < most && !list_empty(&w->waiting) && (!b->n || b->body.n < bytes)) {
		struct held *h = LIST_ENTRY(w->waiting.next, struct held, link);

		list_remove(&h->link);
		list_push_back(&b->events, &h->link);
		add_item(b, bytes_str(h->line));
		b->n++;
		w->nwaiting--;
	}
	(void)buf_addz(&b->body, "]}");
	batch_send(b);
}

/* Sends full batches and, once the oldest event has waited long enough, the others. */
static void send_batches(struct audit_webhook *w)
{
	size_t full = w->opts.single ? 1 : (size_t)w->opts.batch_max_size;

	while (w->nwaiting && w->nbatches < SENDS_MAX &&
	       (w->nwaiting >= full || w->flush || w->stopping))
		send_one(w);
	if (!w->nwaiting)
		w->flush = false;
	if (!w->nwaiting || w->flush)
		loop_timer_stop(&w->due);
	else if (!loop_timer_running(&w->due))
		loop_timer_start(&w->due, w->opts.batch_max_wait_ms);
}

static void on_due(struct loop_timer *t)
{
	struct audit_webhook *w = CONTAINER_OF(t, struct audit_webhook, due);

	w->flush = true;
	send_batches(w);
}

/* --- sending ------------------------------------------------------------------------------ */

static void on_held(struct loop_msg *m)
{
	struct held *h = CONTAINER_OF(m, struct held, msg);
	struct audit_webhook *w = h->webhook;

	list_push_back(&w->waiting, &h->link);
	w->nwaiting++;
	send_batches(w);
}

bool audit_webhook_send(struct audit_webhook *w, struct bytes *line)
{
	struct held *h;

	if (!audit_bound_take(&w->bound, line->n))
		return false;
	h = XNEW(struct held);
	h->msg.fn = on_held;
	h->webhook = w;
	h->line = bytes_ref(line);
	list_init(&h->link);
	loop_post(w->loop, &h->msg);
	return true;
}

/* --- lifecycle ---------------------------------------------------------------------------- */

/* Those that wait for a repetition are sent now, and for the last time. */
static void on_stop(struct loop_msg *m)
{
	struct audit_webhook *w = CONTAINER_OF(m, struct audit_webhook, stop);

	w->stopping = true;
	loop_timer_start(&w->end, w->opts.stop_ms);
	LIST_FOREACH_SAFE (it, &w->batches) {
		struct batch *b = LIST_ENTRY(it, struct batch, link);

		if (loop_timer_running(&b->again)) {
			loop_timer_stop(&b->again);
			batch_send(b);
		}
	}
	send_batches(w);
	if (!w->nbatches)
		end_soon(w);
}

/* The URL is used as it is; without a path it means the root. */
static struct str missing_path(struct str url)
{
	struct str rest = str_skip(url, sizeof("https:/"));
	ptrdiff_t slash = str_chr(rest, '/');

	for (size_t i = slash < 0 ? rest.n : (size_t)slash; i < rest.n; i++)
		if (rest.p[i] != '/')
			return STR("");
	return STR("/");
}

static int make_client(struct audit_webhook *w, struct error *err)
{
	struct kubeconfig config;
	struct client_opts opts = { .config = &config,
				    .role = "audit",
				    .qps = w->opts.qps,
				    .burst = w->opts.burst,
				    .timeout_ms = w->opts.timeout_ms };
	int r;

	r = kubeconfig_load(&config, &(struct kubeconfig_opts){ .path = w->opts.config_file }, err);
	if (r < 0)
		return r;
	w->path = missing_path(config.server);
	r = client_new(w->loop, &opts, &w->client, err);
	kubeconfig_release(&config);
	return r;
}

static struct audit_webhook *webhook_alloc(const struct audit_webhook_opts *opts)
{
	struct audit_webhook *w = XNEW(struct audit_webhook);

	w->opts = *opts;
	audit_bound_init(&w->bound, (size_t)opts->buffer_size);
	list_init(&w->waiting);
	list_init(&w->batches);
	w->stop.fn = on_stop;
	return w;
}

int audit_webhook_new(const struct audit_webhook_opts *opts, struct audit_webhook **ret_webhook,
		      struct error *err)
{
	struct audit_webhook *w = webhook_alloc(opts);
	int r = audit_worker_new(&w->worker, err);

	if (r < 0) {
		free(w);
		return r;
	}
	w->loop = audit_worker_loop(w->worker);
	loop_timer_init(&w->due, w->loop, on_due);
	loop_timer_init(&w->end, w->loop, on_end);
	r = make_client(w, err);
	if (r == 0)
		r = audit_worker_start(w->worker, "audit-webhook", err);
	if (r < 0) {
		client_free(w->client);
		audit_worker_free(w->worker);
		free(w);
		return r;
	}
	*ret_webhook = w;
	return 0;
}

void audit_webhook_free(struct audit_webhook *w)
{
	if (!w)
		return;
	loop_post(w->loop, &w->stop);
	audit_worker_free(w->worker);
	free(w);
}
