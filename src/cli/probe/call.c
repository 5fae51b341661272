/*
 * Upload and Chat send while there is room and are called when there is more. A slow reader pauses
 * the call after each message, and a timer resumes it.
 */
#include "cli/probe/call.h"

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "cli/probe/service.h"
#include "health.pb-c.h"
#include "probe.pb-c.h"

/* --- requests ------------------------------------------------------------------------------ */

/* The failure that the server must simulate, in *ret; NULL: none. */
static Devplane__Probe__V1__Failure *failure(const struct probe_ask *ask,
					     Devplane__Probe__V1__Failure *ret)
{
	if (!ask->fail_code)
		return NULL;
	*ret = (Devplane__Probe__V1__Failure)DEVPLANE__PROBE__V1__FAILURE__INIT;
	ret->code = ask->fail_code;
	ret->message = ask->fail_message;
	return ret;
}

static void send_one(struct probe_call *p, const ProtobufCMessage *request)
{
	(void)grpc_call_send(p->call, request);
	(void)grpc_call_half_close(p->call);
	p->sent++;
}

static void begin_echo(struct probe_call *p)
{
	Devplane__Probe__V1__EchoRequest in = DEVPLANE__PROBE__V1__ECHO_REQUEST__INIT;
	Devplane__Probe__V1__Failure fail;

	in.payload.data = (uint8_t *)p->data;
	in.payload.len = p->ask->size;
	in.delay_ms = p->ask->delay_ms;
	in.echo_metadata = p->ask->echo_metadata;
	in.fail_with = failure(p->ask, &fail);
	send_one(p, &in.base);
}

static void begin_download(struct probe_call *p)
{
	Devplane__Probe__V1__DownloadRequest in = DEVPLANE__PROBE__V1__DOWNLOAD_REQUEST__INIT;
	Devplane__Probe__V1__Failure fail;

	in.count = p->ask->count;
	in.size = p->ask->size;
	in.interval_ms = p->ask->interval_ms;
	in.fail_with = failure(p->ask, &fail);
	send_one(p, &in.base);
}

static void begin_health(struct probe_call *p)
{
	Grpc__Health__V1__HealthCheckRequest in = GRPC__HEALTH__V1__HEALTH_CHECK_REQUEST__INIT;

	in.service = p->ask->service;
	send_one(p, &in.base);
}

static void send_chunks(struct probe_call *p)
{
	Devplane__Probe__V1__Chunk chunk = DEVPLANE__PROBE__V1__CHUNK__INIT;

	chunk.data.data = (uint8_t *)p->data;
	chunk.data.len = p->ask->size;
	while (p->sent < p->ask->count && grpc_call_room(p->call) > 0) {
		chunk.rest_ms = p->sent == 0 ? p->ask->rest_ms : 0;
		chunk.sequence = ++p->sent;
		(void)grpc_call_send(p->call, &chunk.base);
	}
	if (p->sent == p->ask->count)
		(void)grpc_call_half_close(p->call);
}

/* --- replies ------------------------------------------------------------------------------- */

static void count_echo(struct probe_call *p, const void *message, struct json_writer *w)
{
	const Devplane__Probe__V1__EchoReply *out = message;

	p->bytes += out->payload.len;
	json_writer_keyz(w, "peer");
	json_writer_strz(w, out->peer);
	json_writer_keyz(w, "authority");
	json_writer_strz(w, out->authority);
	json_writer_keyz(w, "tls");
	json_writer_bool(w, out->tls);
}

static void count_chunk(struct probe_call *p, const void *message, struct json_writer *w)
{
	const Devplane__Probe__V1__Chunk *chunk = message;

	p->bytes += chunk->data.len;
	json_writer_keyz(w, "sequence");
	json_writer_u64(w, chunk->sequence);
}

static void count_upload(struct probe_call *p UNUSED, const void *message, struct json_writer *w)
{
	const Devplane__Probe__V1__UploadSummary *out = message;

	json_writer_keyz(w, "count");
	json_writer_u64(w, out->count);
	json_writer_keyz(w, "bytes");
	json_writer_u64(w, out->bytes);
}

static void count_health(struct probe_call *p UNUSED, const void *message, struct json_writer *w)
{
	const Grpc__Health__V1__HealthCheckResponse *out = message;
	const ProtobufCEnumValue *v = protobuf_c_enum_descriptor_get_value(
		&grpc__health__v1__health_check_response__serving_status__descriptor, out->status);

	json_writer_keyz(w, "status");
	json_writer_strz(w, v ? v->name : "?");
}

static const struct probe_method rows[] = {
	{ "echo", &probe_echo, begin_echo, count_echo },
	{ "download", &probe_download, begin_download, count_chunk },
	{ "upload", &probe_upload, send_chunks, count_upload },
	{ "chat", &probe_chat, send_chunks, count_chunk },
	{ "health", &probe_health_check, begin_health, count_health },
	{ "watch", &probe_health_watch, begin_health, count_health },
};

const struct probe_method *probe_method_find(struct str word)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (str_ieq(word, str_from(rows[i].word)))
			return &rows[i];
	return NULL;
}

const char *probe_method_words(void)
{
	return "echo, download, upload, chat, health, watch";
}

/* --- the call ------------------------------------------------------------------------------ */

static void call_on_message(struct grpc_call *c, const void *message)
{
	struct probe_call *p = grpc_call_data(c);
	struct json_writer w;

	p->received++;
	buf_clear(&p->reply);
	json_writer_init(&w, &p->reply, NULL);
	json_writer_begin_object(&w);
	p->method->count(p, message, &w);
	json_writer_end_object(&w);
	(void)json_writer_finish(&w);
	if (p->ask->cancel_after && p->received == p->ask->cancel_after) {
		grpc_call_cancel(c);
	} else if (p->ask->slow_ms) {
		grpc_call_pause(c);
		loop_timer_start(&p->timer, p->ask->slow_ms);
	}
}

static void on_rested(struct loop_timer *t)
{
	grpc_call_resume(CONTAINER_OF(t, struct probe_call, timer)->call);
}

static void call_on_writable(struct grpc_call *c)
{
	send_chunks(grpc_call_data(c));
}

static void call_on_end(struct grpc_call *c, const struct grpc_status *st)
{
	struct probe_call *p = grpc_call_data(c);

	loop_timer_stop(&p->timer);
	p->on_end(p, st);
}

static const struct grpc_call_ops call_ops = {
	.on_message = call_on_message,
	.on_writable = call_on_writable,
	.on_end = call_on_end,
};

void probe_call_start(struct probe_call *p, struct loop *l, struct grpc_channel *ch,
		      const struct grpc_call_opts *opts)
{
	p->data = xcalloc(1, (size_t)p->ask->size + 1);
	buf_init(&p->reply, 64 * KIB);
	loop_timer_init(&p->timer, l, on_rested);
	p->call = grpc_channel_call(ch, p->method->method, opts, &call_ops, p);
	p->method->begin(p);
}

void probe_call_release(struct probe_call *p)
{
	buf_release(&p->reply);
	free(p->data);
}
