/*
 * The service: Echo answers or fails as asked, Download and the pump send with
 * backpressure, Upload counts, Chat sends back.
 */
#include "grpc/fixture.h"

#include <assert.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "net/net_limits.h"

/* Many times the latency of the simulated network. */
enum { FIXTURE_SETTLE_MS = 50 };

#define TYPE(name) &devplane__probe__v1__##name##__descriptor

const struct grpc_method fixture_echo = {
	.path = "/devplane.probe.v1.Probe/Echo",
	.kind = GRPC_UNARY,
	.request = TYPE(echo_request),
	.response = TYPE(echo_reply),
	.max_request = 64 * MIB,
	.max_response = 64 * MIB,
};
const struct grpc_method fixture_download = {
	.path = "/devplane.probe.v1.Probe/Download",
	.kind = GRPC_SERVER_STREAM,
	.request = TYPE(download_request),
	.response = TYPE(chunk),
};
const struct grpc_method fixture_upload = {
	.path = "/devplane.probe.v1.Probe/Upload",
	.kind = GRPC_CLIENT_STREAM,
	.request = TYPE(chunk),
	.response = TYPE(upload_summary),
};
const struct grpc_method fixture_chat = {
	.path = "/devplane.probe.v1.Probe/Chat",
	.kind = GRPC_BIDI_STREAM,
	.request = TYPE(chunk),
	.response = TYPE(chunk),
	.max_request = FIXTURE_MESSAGE_MAX,
};

/* --- what an end saw ----------------------------------------------------------------------- */

static void note_end(struct seen *z, const struct grpc_status *st)
{
	z->ends++;
	z->code = st->code;
	(void)snprintf(z->message, sizeof(z->message), "%.*s", STR_ARG(st->message));
}

static void note_message(struct seen *z, struct grpc_call *c, const void *message)
{
	const Devplane__Probe__V1__Chunk *chunk = message;

	z->messages++;
	if (chunk->base.descriptor == TYPE(chunk)) {
		z->bytes += chunk->data.len;
		z->sequence = chunk->sequence;
	}
	if (z->pause)
		grpc_call_pause(c);
	if (z->cancel)
		grpc_call_cancel(c);
}

int fixture_send_chunk(struct grpc_call *c, uint64_t sequence, uint32_t size)
{
	Devplane__Probe__V1__Chunk chunk = DEVPLANE__PROBE__V1__CHUNK__INIT;
	int r;

	chunk.sequence = sequence;
	chunk.data.data = xcalloc(1, size + 1);
	chunk.data.len = size;
	r = grpc_call_send(c, &chunk.base);
	free(chunk.data.data);
	return r;
}

void fixture_pump(struct grpc_call *c, struct seen *z)
{
	size_t room;

	while (z->to_send && (room = grpc_call_room(c)) > 0) {
		z->held_peak = MAX(z->held_peak, HTTP_OUT_HIGH - room + z->size);
		z->to_send--;
		z->sequence++;
		(void)fixture_send_chunk(c, z->sequence, z->size);
	}
	if (z->to_send || z->size == 0)
		return;
	z->size = 0;
	if (grpc_call_method(c)->kind == GRPC_SERVER_STREAM)
		(void)grpc_call_finish(c, GRPC_OK, STR_NULL);
	else
		(void)grpc_call_half_close(c);
}

static void client_metadata(struct grpc_call *c)
{
	((struct seen *)grpc_call_data(c))->metadata++;
}

static void client_message(struct grpc_call *c, const void *message)
{
	note_message(grpc_call_data(c), c, message);
}

static void client_writable(struct grpc_call *c)
{
	struct seen *z = grpc_call_data(c);

	z->writables++;
	fixture_pump(c, z);
}

static void client_end(struct grpc_call *c, const struct grpc_status *st)
{
	note_end(grpc_call_data(c), st);
}

const struct grpc_call_ops seen_ops = {
	.on_metadata = client_metadata,
	.on_message = client_message,
	.on_writable = client_writable,
	.on_end = client_end,
};

struct grpc_call *fixture_call(struct fixture *f, const struct grpc_method *m,
			       const struct grpc_call_opts *opts, struct seen *z)
{
	z->call = grpc_channel_call(f->channel, m, opts, &seen_ops, z);
	return z->call;
}

/* --- the service --------------------------------------------------------------------------- */

static struct fixture *fixture_of(struct grpc_call *c)
{
	return grpc_call_service(c);
}

static struct seen *fixture_begin(struct grpc_call *c)
{
	struct fixture *f = fixture_of(c);
	struct seen keep = f->server;

	f->calls++;
	/* The knobs stay, the rest begins anew. */
	f->server = (struct seen){ .call = c, .pause = keep.pause, .cancel = keep.cancel };
	return &f->server;
}

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

static void echo_request(struct grpc_call *c, const void *request)
{
	const Devplane__Probe__V1__EchoRequest *in = request;
	Devplane__Probe__V1__EchoReply out = DEVPLANE__PROBE__V1__ECHO_REPLY__INIT;

	(void)fixture_begin(c);
	if (in->echo_metadata)
		echo_metadata(c);
	out.payload = in->payload;
	if (in->fail_with)
		(void)grpc_call_finish(c, (enum grpc_code)in->fail_with->code,
				       str_from(in->fail_with->message));
	else if (!fixture_of(c)->hold)
		(void)grpc_call_reply(c, &out.base);
}

static void download_request(struct grpc_call *c, const void *request)
{
	const Devplane__Probe__V1__DownloadRequest *in = request;
	struct seen *z = fixture_begin(c);

	z->to_send = in->count;
	z->size = in->size;
	fixture_pump(c, z);
}

static void stream_open(struct grpc_call *c)
{
	(void)fixture_begin(c);
}

static void upload_message(struct grpc_call *c, const void *message)
{
	note_message(&fixture_of(c)->server, c, message);
}

static void upload_half_close(struct grpc_call *c)
{
	struct seen *z = &fixture_of(c)->server;
	Devplane__Probe__V1__UploadSummary out = DEVPLANE__PROBE__V1__UPLOAD_SUMMARY__INIT;

	z->half_closes++;
	out.count = z->messages;
	out.bytes = z->bytes;
	(void)grpc_call_reply(c, &out.base);
}

static void chat_message(struct grpc_call *c, const void *message)
{
	const Devplane__Probe__V1__Chunk *chunk = message;

	note_message(&fixture_of(c)->server, c, message);
	(void)grpc_call_send(c, &chunk->base);
}

static void chat_half_close(struct grpc_call *c)
{
	fixture_of(c)->server.half_closes++;
	(void)grpc_call_finish(c, GRPC_OK, STR_NULL);
}

static void server_writable(struct grpc_call *c)
{
	struct seen *z = &fixture_of(c)->server;

	z->writables++;
	fixture_pump(c, z);
}

static void server_end(struct grpc_call *c, const struct grpc_status *st)
{
	note_end(&fixture_of(c)->server, st);
}

static const struct grpc_handler rows[] = {
	{ .method = &fixture_echo, .on_request = echo_request, .ops.on_end = server_end },
	{ .method = &fixture_download,
	  .on_request = download_request,
	  .ops = { .on_writable = server_writable, .on_end = server_end } },
	{ .method = &fixture_upload,
	  .on_open = stream_open,
	  .ops = { .on_message = upload_message,
		   .on_half_close = upload_half_close,
		   .on_end = server_end } },
	{ .method = &fixture_chat,
	  .on_open = stream_open,
	  .ops = { .on_message = chat_message,
		   .on_half_close = chat_half_close,
		   .on_end = server_end } },
};

/* --- the fixture --------------------------------------------------------------------------- */

static void fixture_handle(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	struct fixture *f = arg;

	if (f->raw)
		f->raw(f, s);
	else
		grpc_server_handle(f->grpc, s);
}

static void drained(void *arg)
{
	((struct fixture *)arg)->done++;
}

void fixture_run(struct fixture *f, int64_t ms)
{
	sim_run_for(f->sim, ms);
}

void fixture_settle(struct fixture *f)
{
	sim_run_for(f->sim, FIXTURE_SETTLE_MS);
}

void fixture_start(struct fixture *f)
{
	struct http_server_opts opts = {
		.loops = &f->server_loop, .nloops = 1, .handler = fixture_handle, .arg = f
	};
	int r;

	if (!f->server_loop)
		f->server_loop = sim_loop_new(f->sim, "server");
	f->http = http_server_new(&opts);
	r = http_server_listen(f->http, &f->at, NULL, 0, NULL, NULL);
	assert(r == 0);
	(void)r;
}

void fixture_stop(struct fixture *f, int64_t grace_ms)
{
	unsigned before = f->done;

	http_server_drain(f->http, grace_ms, drained, f);
	sim_run_for(f->sim, grace_ms);
	sim_run_for(f->sim, 1500); /* connections that linger */
	assert(f->done == before + 1);
	(void)before;
	http_server_free(TAKE(f->http));
}

void fixture_crash(struct fixture *f)
{
	sim_loop_crash(f->server_loop, SIM_CRASH_PROCESS);
	sim_loop_bury(f->server_loop);
	http_server_free(TAKE(f->http));
	loop_free(TAKE(f->server_loop));
	fixture_settle(f);
}

void fixture_init(struct fixture *f, uint64_t seed, const struct grpc_channel_opts *opts,
		  const struct grpc_server_opts *server_opts)
{
	struct sim_opts so = { .seed = seed, .latency_min_us = 10, .latency_max_us = 200 };
	struct grpc_channel_opts o = opts ? *opts : (struct grpc_channel_opts){ 0 };
	int r;

	*f = (struct fixture){ 0 };
	f->sim = sim_new(&so);
	f->client_loop = sim_loop_new(f->sim, "client");
	r = addr_parse(&f->at, STR("unix:/run/test.sock"), 0, NULL);
	assert(r == 0);
	(void)r;
	f->grpc = grpc_server_new(server_opts);
	grpc_server_add(f->grpc, rows, ARRAY_SIZE(rows), f);
	fixture_start(f);
	o.to = f->at;
	f->channel = grpc_channel_new(f->client_loop, &o);
}

void fixture_release(struct fixture *f)
{
	grpc_channel_free(f->channel);
	fixture_settle(f);
	if (f->http)
		fixture_stop(f, 0);
	loop_free(f->client_loop);
	loop_free(f->server_loop);
	grpc_server_free(f->grpc);
	sim_free(f->sim);
}
