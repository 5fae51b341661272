/*
 * Each long-running call has a small state, which on_end frees. A requested pause and a full send
 * buffer both pause the stream in the same way; it is resumed when neither applies.
 */
#include "cli/probe/service.h"

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "grpc/server.h"
#include "health.pb-c.h"
#include "net/http/http.h"
#include "net/loop/addr.h"
#include "net/loop/conn.h"
#include "net/loop/loop.h"
#include "probe.pb-c.h"

#define PROBE_MESSAGE_MAX (64 * MIB)
/* Room for the other fields of a chunk. */
#define PROBE_DATA_MAX (PROBE_MESSAGE_MAX - KIB)

#define PROBE_TYPE(name)  (&devplane__probe__v1__##name##__descriptor)
#define HEALTH_TYPE(name) (&grpc__health__v1__health_check_##name##__descriptor)

const struct grpc_method probe_echo = {
	.path = "/devplane.probe.v1.Probe/Echo",
	.kind = GRPC_UNARY,
	.request = PROBE_TYPE(echo_request),
	.response = PROBE_TYPE(echo_reply),
	.max_request = PROBE_MESSAGE_MAX,
	.max_response = PROBE_MESSAGE_MAX,
};
const struct grpc_method probe_download = {
	.path = "/devplane.probe.v1.Probe/Download",
	.kind = GRPC_SERVER_STREAM,
	.request = PROBE_TYPE(download_request),
	.response = PROBE_TYPE(chunk),
	.max_response = PROBE_MESSAGE_MAX,
};
const struct grpc_method probe_upload = {
	.path = "/devplane.probe.v1.Probe/Upload",
	.kind = GRPC_CLIENT_STREAM,
	.request = PROBE_TYPE(chunk),
	.response = PROBE_TYPE(upload_summary),
	.max_request = PROBE_MESSAGE_MAX,
};
const struct grpc_method probe_chat = {
	.path = "/devplane.probe.v1.Probe/Chat",
	.kind = GRPC_BIDI_STREAM,
	.request = PROBE_TYPE(chunk),
	.response = PROBE_TYPE(chunk),
};
const struct grpc_method probe_health_check = {
	.path = "/grpc.health.v1.Health/Check",
	.kind = GRPC_UNARY,
	.request = HEALTH_TYPE(request),
	.response = HEALTH_TYPE(response),
};
const struct grpc_method probe_health_watch = {
	.path = "/grpc.health.v1.Health/Watch",
	.kind = GRPC_SERVER_STREAM,
	.request = HEALTH_TYPE(request),
	.response = HEALTH_TYPE(response),
};

/* The state of a long-running call. */
struct probe_state {
	struct grpc_call *call;
	struct loop_timer timer;
	const void *request; /* lives as long as the call */
	uint64_t count, bytes; /* sent or received so far */
	bool crowded; /* Chat: the peer does not read the answers */
	char *data; /* Download: the content of every chunk */
};

static struct probe_state *probe_state_new(struct grpc_call *c,
					   void (*on_timer)(struct loop_timer *t))
{
	struct probe_state *p = XNEW(struct probe_state);

	p->call = c;
	loop_timer_init(&p->timer, grpc_call_loop(c), on_timer);
	grpc_call_set_data(c, p);
	return p;
}

static void service_on_end(struct grpc_call *c, const struct grpc_status *st UNUSED)
{
	struct probe_state *p = grpc_call_data(c);

	if (!p)
		return;
	loop_timer_stop(&p->timer);
	free(p->data);
	free(p);
}

/* Ends the call with the requested status; 0 (OK) is not a failure. */
static void fail_as_asked(struct grpc_call *c, const Devplane__Probe__V1__Failure *f)
{
	if (f->code <= GRPC_OK || f->code >= GRPC_CODES)
		(void)grpc_call_finish(c, GRPC_INVALID_ARGUMENT,
				       STR("fail_with.code is no failure of gRPC's"));
	else
		(void)grpc_call_finish(c, (enum grpc_code)f->code, str_from(f->message));
}

/* --- Echo ---------------------------------------------------------------------------------- */

static void echo_metadata(struct grpc_call *c)
{
	const struct grpc_metadata *v;
	size_t n;

	v = grpc_call_headers(c, &n);
	for (size_t i = 0; i < n; i++) {
		(void)grpc_call_add_header(c, v[i]);
		(void)grpc_call_add_trailer(c, v[i]);
	}
}

static void echo_answer(struct grpc_call *c, const Devplane__Probe__V1__EchoRequest *in)
{
	Devplane__Probe__V1__EchoReply out = DEVPLANE__PROBE__V1__ECHO_REPLY__INIT;
	struct http_stream *s = grpc_call_stream(c);
	struct conn *conn = http_stream_conn(s);

	if (in->echo_metadata)
		echo_metadata(c);
	if (in->fail_with) {
		fail_as_asked(c, in->fail_with);
		return;
	}
	out.payload = in->payload;
	out.authority = arena_strdup(&s->arena, s->in.authority);
	if (conn) {
		out.peer = arena_strdup(&s->arena, str_from(conn_peer(conn)->text));
		out.tls = conn_is_tls(conn);
	}
	(void)grpc_call_reply(c, &out.base);
}

static void on_echo_delay(struct loop_timer *t)
{
	struct probe_state *p = CONTAINER_OF(t, struct probe_state, timer);

	echo_answer(p->call, p->request);
}

static void echo_request(struct grpc_call *c, const void *request)
{
	const Devplane__Probe__V1__EchoRequest *in = request;
	struct probe_state *p;

	if (!in->delay_ms) {
		echo_answer(c, in);
		return;
	}
	p = probe_state_new(c, on_echo_delay);
	p->request = in;
	loop_timer_start(&p->timer, in->delay_ms);
}

/* --- Download ------------------------------------------------------------------------------ */

static void download_finish(struct probe_state *p)
{
	const Devplane__Probe__V1__DownloadRequest *in = p->request;

	if (in->fail_with)
		fail_as_asked(p->call, in->fail_with);
	else
		(void)grpc_call_finish(p->call, GRPC_OK, STR_NULL);
}

static void download_one(struct probe_state *p)
{
	const Devplane__Probe__V1__DownloadRequest *in = p->request;
	Devplane__Probe__V1__Chunk chunk = DEVPLANE__PROBE__V1__CHUNK__INIT;

	chunk.sequence = ++p->count;
	chunk.data.data = (uint8_t *)p->data;
	chunk.data.len = in->size;
	(void)grpc_call_send(p->call, &chunk.base);
}

/* Fills the available room, or sends one chunk and waits for the interval. */
static void download_more(struct probe_state *p)
{
	const Devplane__Probe__V1__DownloadRequest *in = p->request;

	if (loop_timer_running(&p->timer))
		return;
	while (p->count < in->count) {
		if (grpc_call_room(p->call) == 0)
			return;
		download_one(p);
		if (in->interval_ms && p->count < in->count) {
			loop_timer_start(&p->timer, in->interval_ms);
			return;
		}
	}
	download_finish(p);
}

static void on_download_interval(struct loop_timer *t)
{
	download_more(CONTAINER_OF(t, struct probe_state, timer));
}

static void on_download_writable(struct grpc_call *c)
{
	download_more(grpc_call_data(c));
}

static void download_request(struct grpc_call *c, const void *request)
{
	const Devplane__Probe__V1__DownloadRequest *in = request;
	struct probe_state *p;

	if (in->size > PROBE_DATA_MAX) {
		(void)grpc_call_finish(c, GRPC_INVALID_ARGUMENT, STR("size is too large"));
		return;
	}
	p = probe_state_new(c, on_download_interval);
	p->request = in;
	p->data = xcalloc(1, in->size + 1);
	download_more(p);
}

/* --- Upload and Chat ----------------------------------------------------------------------- */

static void flow(struct probe_state *p)
{
	if (p->crowded || loop_timer_running(&p->timer))
		grpc_call_pause(p->call);
	else
		grpc_call_resume(p->call);
}

static void on_rested(struct loop_timer *t)
{
	flow(CONTAINER_OF(t, struct probe_state, timer));
}

static void stream_open(struct grpc_call *c)
{
	(void)probe_state_new(c, on_rested);
}

static void upload_message(struct grpc_call *c, const void *message)
{
	struct probe_state *p = grpc_call_data(c);
	const Devplane__Probe__V1__Chunk *chunk = message;

	p->count++;
	p->bytes += chunk->data.len;
	if (chunk->rest_ms)
		loop_timer_start(&p->timer, chunk->rest_ms);
	flow(p);
}

static void upload_half_close(struct grpc_call *c)
{
	const struct probe_state *p = grpc_call_data(c);
	Devplane__Probe__V1__UploadSummary out = DEVPLANE__PROBE__V1__UPLOAD_SUMMARY__INIT;

	out.count = p->count;
	out.bytes = p->bytes;
	(void)grpc_call_reply(c, &out.base);
}

static void chat_message(struct grpc_call *c, const void *message)
{
	struct probe_state *p = grpc_call_data(c);
	const Devplane__Probe__V1__Chunk *chunk = message;

	(void)grpc_call_send(c, &chunk->base);
	p->crowded = grpc_call_room(c) == 0;
	if (chunk->rest_ms)
		loop_timer_start(&p->timer, chunk->rest_ms);
	flow(p);
}

static void chat_writable(struct grpc_call *c)
{
	struct probe_state *p = grpc_call_data(c);

	p->crowded = false;
	flow(p);
}

static void chat_half_close(struct grpc_call *c)
{
	(void)grpc_call_finish(c, GRPC_OK, STR_NULL);
}

/* --- Health -------------------------------------------------------------------------------- */

/* A caller that gets this far is being served; nothing else here could be unhealthy. */
static bool is_served(const void *request)
{
	const Grpc__Health__V1__HealthCheckRequest *in = request;
	struct str name = str_from(in->service);

	return name.n == 0 || str_eq(name, STR("devplane.probe.v1.Probe")) ||
	       str_eq(name, STR("grpc.health.v1.Health"));
}

static void health_check(struct grpc_call *c, const void *request)
{
	Grpc__Health__V1__HealthCheckResponse out = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;

	out.status = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING;
	if (is_served(request))
		(void)grpc_call_reply(c, &out.base);
	else
		(void)grpc_call_finish(c, GRPC_NOT_FOUND, STR("unknown service"));
}

/* The state never changes, so the stream sends it once and stays open. */
static void health_watch(struct grpc_call *c, const void *request)
{
	Grpc__Health__V1__HealthCheckResponse out = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;

	out.status =
		is_served(request)
			? GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING
			: GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVICE_UNKNOWN;
	(void)grpc_call_send(c, &out.base);
}

static const struct grpc_handler rows[] = {
	{ .method = &probe_echo, .on_request = echo_request, .ops.on_end = service_on_end },
	{ .method = &probe_download,
	  .on_request = download_request,
	  .ops = { .on_writable = on_download_writable, .on_end = service_on_end } },
	{ .method = &probe_upload,
	  .on_open = stream_open,
	  .ops = { .on_message = upload_message,
		   .on_half_close = upload_half_close,
		   .on_end = service_on_end } },
	{ .method = &probe_chat,
	  .on_open = stream_open,
	  .ops = { .on_message = chat_message,
		   .on_half_close = chat_half_close,
		   .on_writable = chat_writable,
		   .on_end = service_on_end } },
	{ .method = &probe_health_check, .on_request = health_check },
	{ .method = &probe_health_watch, .on_request = health_watch },
};

void probe_service_add(struct grpc_server *s)
{
	grpc_server_add(s, rows, ARRAY_SIZE(rows), NULL);
}
