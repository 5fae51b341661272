/*
 * Every call passes its client's limits when its headers arrive, and is returned to them when it
 * ends for any reason. So the limits count open calls. A call's data holds what must be returned.
 *
 * If the book has no state yet, calls are held and answered later: an empty reply would be taken as
 * the truth. They count as open meanwhile.
 *
 * HTTP/2's limit of streams per connection allows a client all its watches and calls beside them.
 * With a lower limit, clients would queue calls silently.
 */
#include "node/podresources/server.h"

#include "base/core/mem.h"
#include "base/report/log.h"
#include "grpc/server.h"
#include "net/http/http.h"
#include "net/loop/conn.h"
#include "net/loop/loop.h"
#include "node/book/methods.h"
#include "node/host/own_socket.h"
#include "node/node_limits.h"
#include "node/podresources/watch.h"

enum { GRACE_MS = 1000 }; /* for clients to receive the end of their watches */

struct podres_server {
	struct loop *loop;
	struct podres *book;
	const struct log *log;
	bool watch;
	bool waits; /* until podres_server_begin() */
	bool closing;
	struct list held; /* struct held: calls that came before that */
	struct grpc_server *grpc;
	struct own_socket *socket;
	struct podres_clients clients;
	struct podres_metrics metrics;
	struct podres_watches watches;
	void (*done)(void *arg);
	void *arg;
};

typedef void answer_fn(struct grpc_call *c, const void *request);

/* A call that waits until the book has a state. */
struct held {
	struct list link;
	struct grpc_call *call; /* counted reference */
	answer_fn *answer;
	const void *request; /* lives as long as the call */
};

/* A call's client data. The data of a unary call is the client alone. */
struct stream {
	struct podres_client *client;
	struct podres_watch watch;
};

static bool is_stream(const struct grpc_call *c)
{
	return grpc_call_method(c)->kind == GRPC_SERVER_STREAM;
}

/* --- admission ----------------------------------------------------------------------- */

static void *stream_new(struct podres_client *client)
{
	struct stream *st = XNEW(struct stream);

	st->client = client;
	return st;
}

static int on_admit(void *arg, struct grpc_call *c, struct error *err)
{
	struct podres_server *s = arg;
	struct conn *conn = http_stream_conn(grpc_call_stream(c));
	struct conn_owner owner;
	bool known = conn && conn_owner(conn, &owner);
	struct podres_client *client;
	enum podres_refusal why;

	if (s->closing)
		return error_set(err, ERR_UNAVAILABLE, "the agent is stopping");
	client = podres_clients_begin(&s->clients, known ? &owner : NULL, is_stream(c),
				      loop_now(s->loop), &why, err);
	if (!client) {
		podres_metrics_refused(&s->metrics, why);
		return -ERR_TOO_MANY_REQUESTS;
	}
	grpc_call_set_data(c, is_stream(c) ? stream_new(client) : client);
	return 0;
}

static void held_free(struct held *h)
{
	list_remove(&h->link);
	grpc_call_unref(h->call);
	free(h);
}

static void server_let_go(struct podres_server *s, const struct grpc_call *c)
{
	LIST_FOREACH_SAFE (it, &s->held) {
		struct held *h = LIST_ENTRY(it, struct held, link);

		if (h->call == c)
			held_free(h);
	}
}

static void on_call_done(void *arg, struct grpc_call *c, enum grpc_code code UNUSED)
{
	struct podres_server *s = arg;
	void *data = grpc_call_data(c);
	struct stream *st = data;

	server_let_go(s, c);
	if (!data)
		return; /* it was rejected */
	grpc_call_set_data(c, NULL);
	if (!is_stream(c)) {
		podres_clients_end(&s->clients, data, false);
		return;
	}
	podres_watch_end(&st->watch);
	podres_clients_end(&s->clients, st->client, true);
	free(st);
}

/* --- replies ------------------------------------------------------------------------- */

static void server_hold(struct podres_server *s, struct grpc_call *c, answer_fn *answer,
			const void *request)
{
	struct held *h = XNEW(struct held);

	h->call = grpc_call_ref(c);
	h->answer = answer;
	h->request = request;
	list_push_back(&s->held, &h->link);
}

/*
 * Counts the call and returns the server. Returns NULL if the call waits (`answer` is called again
 * later), or was ended because the server is closing.
 */
static struct podres_server *server_begin(struct grpc_call *c, enum podres_call call,
					  answer_fn *answer, const void *request)
{
	struct podres_server *s = grpc_call_service(c);

	if (s->waits && !s->closing) {
		server_hold(s, c, answer, request);
		return NULL;
	}
	if (s->closing) {
		(void)grpc_call_finish(c, GRPC_UNAVAILABLE, STR("the agent is stopping"));
		return NULL;
	}
	podres_metrics_called(&s->metrics, call);
	return s;
}

static void reply(struct grpc_call *c, struct bytes *packed)
{
	if (grpc_call_send_packed(c, packed) == 0)
		(void)grpc_call_finish(c, GRPC_OK, STR_NULL);
	bytes_unref(packed);
}

static void server_on_list(struct grpc_call *c, const void *request)
{
	struct podres_server *s = server_begin(c, PODRES_CALL_LIST, server_on_list, request);

	if (s)
		reply(c, podres_list(s->book));
}

static void on_list_alpha(struct grpc_call *c, const void *request)
{
	struct podres_server *s = server_begin(c, PODRES_CALL_LIST_ALPHA, on_list_alpha, request);

	if (s)
		reply(c, podres_list_alpha(s->book));
}

static void on_allocatable(struct grpc_call *c, const void *request)
{
	struct podres_server *s = server_begin(c, PODRES_CALL_ALLOCATABLE, on_allocatable, request);

	if (s) {
		podres_refresh(s->book);
		reply(c, podres_allocatable(s->book));
	}
}

static void on_get(struct grpc_call *c, const void *request)
{
	const Podresources__GetRequest *m = request;
	struct podres_server *s = server_begin(c, PODRES_CALL_GET, on_get, request);
	struct bytes *packed;
	struct error err;

	if (!s)
		return;
	packed = podres_get(s->book, str_from(m->pod_namespace), str_from(m->pod_name));
	if (packed) {
		reply(c, packed);
		return;
	}
	podres_metrics_failed(&s->metrics, PODRES_CALL_GET);
	(void)error_set(&err, ERR_NOT_FOUND, "pod %s in namespace %s not found", m->pod_name,
			m->pod_namespace);
	/* The code that grpc-go uses for a handler's error that is not a status. */
	(void)grpc_call_finish(c, GRPC_UNKNOWN, str_from(err.msg));
}

/* --- watches ------------------------------------------------------------------------- */

static void begin_watch(struct grpc_call *c, enum podres_call call, answer_fn *answer,
			const void *request)
{
	struct podres_server *s = server_begin(c, call, answer, request);
	struct stream *st = grpc_call_data(c);

	if (!s)
		return;
	if (!s->watch) {
		podres_metrics_failed(&s->metrics, call);
		(void)grpc_call_finish(c, GRPC_UNIMPLEMENTED,
				       STR("the feature gate KubeletPodResourcesWatch is off: "
					   "watches are not served"));
		return;
	}
	podres_refresh(s->book);
	podres_watch_begin(&s->watches, &st->watch, c, call, request);
}

static void on_watch(struct grpc_call *c, const void *request)
{
	begin_watch(c, PODRES_CALL_WATCH, on_watch, request);
}

static void on_watch_allocatable(struct grpc_call *c, const void *request)
{
	begin_watch(c, PODRES_CALL_WATCH_ALLOCATABLE, on_watch_allocatable, request);
}

static void server_on_writable(struct grpc_call *c)
{
	struct stream *st = grpc_call_data(c);

	if (st)
		podres_watch_writable(&st->watch);
}

static const struct grpc_handler handlers[] = {
	{ .method = &podres_method_list, .on_request = server_on_list },
	{ .method = &podres_method_get, .on_request = on_get },
	{ .method = &podres_method_allocatable, .on_request = on_allocatable },
	{ .method = &podres_method_list_alpha, .on_request = on_list_alpha },
	{ .method = &podres_method_watch,
	  .on_request = on_watch,
	  .ops = { .on_writable = server_on_writable } },
	{ .method = &podres_method_watch_allocatable,
	  .on_request = on_watch_allocatable,
	  .ops = { .on_writable = server_on_writable } },
};

/* --- life ---------------------------------------------------------------------------- */

static void server_on_http(void *arg, struct http_stream *stream)
{
	struct podres_server *s = arg;

	/* The gRPC server rejects requests that are not gRPC. */
	grpc_server_handle(s->grpc, stream);
}

static void server_on_problem(void *arg, const struct error *err)
{
	struct podres_server *s = arg;

	log_warn(s->log, "the PodResources socket was removed and cannot be created again",
		 LOG_ERR(err));
}

static uint32_t streams_max(const struct podres_limits *l)
{
	unsigned most = l->client_streams ? l->client_streams : l->streams;

	return most && most < PODRES_STREAMS_MAX - PODRES_CALLS_MAX ? most + PODRES_CALLS_MAX
								    : PODRES_STREAMS_MAX;
}

static void server_free(struct podres_server *s)
{
	podres_clients_release(&s->clients);
	grpc_server_free(s->grpc);
	free(s);
}

static struct podres_server *server_new(const struct podres_server_opts *opts)
{
	struct podres_server *s = XNEW(struct podres_server);
	struct grpc_server_opts grpc = { .admit = on_admit, .on_done = on_call_done, .arg = s };

	s->loop = opts->loop;
	s->book = opts->book;
	s->log = opts->log ? opts->log : log_null();
	s->watch = opts->watch;
	s->waits = opts->waits;
	list_init(&s->held);
	s->grpc = grpc_server_new(&grpc);
	grpc_server_add(s->grpc, handlers, ARRAY_SIZE(handlers), s);
	podres_clients_init(&s->clients, &opts->limits);
	podres_metrics_init(&s->metrics, opts->metrics);
	return s;
}

int podres_server_new(const struct podres_server_opts *opts, struct podres_server **ret_server,
		      struct error *err)
{
	struct podres_server *s = server_new(opts);
	struct own_socket_opts socket = {
		.loop = opts->loop,
		.path = opts->path,
		.mode = opts->mode,
		.group = opts->group,
		.config = { .streams_max = streams_max(&opts->limits), .out_max = PODRES_OUT_MAX },
		.handler = server_on_http,
		.on_problem = server_on_problem,
		.arg = s,
	};
	int r = own_socket_new(&socket, &s->socket, err);

	if (r < 0) {
		server_free(s);
		return r;
	}
	podres_watches_init(&s->watches, s->loop, s->book, &s->metrics);
	*ret_server = s;
	return 0;
}

/* Handles each held call as if it came now. */
static void answer_held(struct podres_server *s)
{
	struct list *node;

	while ((node = s->held.next) != &s->held) {
		struct held h = *LIST_ENTRY(node, struct held, link);

		(void)grpc_call_ref(h.call);
		held_free(LIST_ENTRY(node, struct held, link));
		h.answer(h.call, h.request);
		grpc_call_unref(h.call);
	}
}

void podres_server_begin(struct podres_server *s)
{
	if (!s->waits)
		return;
	s->waits = false;
	answer_held(s);
}

static void server_on_closed(void *arg)
{
	struct podres_server *s = arg;
	void (*done)(void *arg) = s->done;
	void *done_arg = s->arg;

	server_free(s);
	if (done)
		done(done_arg);
}

static void server_close(struct podres_server *s, int64_t grace_ms, void (*done)(void *arg),
			 void *arg)
{
	s->closing = true;
	s->done = done;
	s->arg = arg;
	podres_watches_close(&s->watches);
	answer_held(s);
	s->book = NULL;
	own_socket_close(s->socket, grace_ms, server_on_closed, s);
}

void podres_server_close(struct podres_server *s, void (*done)(void *arg), void *arg)
{
	if (s)
		server_close(s, GRACE_MS, done, arg);
	else
		done(arg);
}

void podres_server_free(struct podres_server *s)
{
	if (s)
		server_close(s, 0, NULL, NULL);
}
