/*
 * grpc: Check of one service of grpc.health.v1. Any status except SERVING is a failure. Messages
 * are upstream's.
 */
#include "base/time/duration.h"
#include "grpc/channel.h"
#include "health.pb-c.h"
#include "node/probes/run_impl.h"

static const struct grpc_method check_method = {
	.path = "/grpc.health.v1.Health/Check",
	.kind = GRPC_UNARY,
	.request = &grpc__health__v1__health_check_request__descriptor,
	.response = &grpc__health__v1__health_check_response__descriptor,
};

static void grpc_on_state(void *arg, enum grpc_channel_state state, const struct error *err)
{
	struct probe_run *r = arg;

	(void)err;
	if (state == GRPC_CHANNEL_READY)
		r->connected = true;
}

static void late(struct probe_run *r)
{
	char time[DURATION_SIZE];

	(void)duration_print(r->timeout_ms * CLOCK_MS, time);
	if (r->connected)
		probe_run_tellf(r, PROBE_FAILURE, "timeout: health rpc did not complete within %s",
				time);
	else
		probe_run_tellf(r, PROBE_FAILURE,
				"timeout: failed to connect service \"%s\" within %s: context "
				"deadline exceeded",
				r->addr.text, time);
}

static void grpc_failed(struct probe_run *r, const struct grpc_status *st)
{
	if (st->code == GRPC_DEADLINE_EXCEEDED)
		late(r);
	else if (st->code == GRPC_UNIMPLEMENTED)
		probe_run_tellf(r, PROBE_FAILURE,
				"error: this server does not implement the grpc health protocol "
				"(grpc.health.v1.Health): %.*s",
				STR_ARG(st->message));
	else
		probe_run_tellf(r, PROBE_FAILURE,
				"error: health rpc probe failed: rpc error: code = %s desc = %.*s",
				grpc_code_name(st->code), STR_ARG(st->message));
}

static void on_checked(void *arg, struct grpc_call *c, const struct grpc_status *st,
		       const void *message)
{
	const Grpc__Health__V1__HealthCheckResponse *reply = message;
	const ProtobufCEnumValue *name;
	struct probe_run *r = arg;

	(void)c;
	/* The channel is being freed with the run: the result is not needed. */
	if (!r->channel)
		return;
	if (st->code != GRPC_OK || !reply) {
		grpc_failed(r, st);
		return;
	}
	if (reply->status == GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING) {
		probe_run_tell(r, PROBE_SUCCESS, STR("service healthy"));
		return;
	}
	name = protobuf_c_enum_descriptor_get_value(
		&grpc__health__v1__health_check_response__serving_status__descriptor,
		(int)reply->status);
	probe_run_tellf(r, PROBE_FAILURE, "service unhealthy (responded with \"%s\")",
			name ? name->name : "UNKNOWN");
}

static int open_channel(struct probe_run *r, const struct json *action, struct error *err)
{
	struct grpc_channel_opts o = { .on_state = grpc_on_state, .arg = r };
	bool tls = str_eqz(json_text_at(action, "mode"), "TLS");
	uint16_t port;
	int e;

	e = probe_run_port(NULL, json_getz(action, "port"), &port, err);
	if (e == 0)
		e = addr_parse(&r->addr, probe_run_join(r, r->target.pod_ip, port), 0, err);
	if (e < 0)
		return e;
	o.to = r->addr;
	o.tls = tls ? r->target.tls : NULL;
	if (tls && !o.tls)
		return error_set(err, ERR_UNIMPLEMENTED, "this agent has no TLS for probes");
	r->channel = grpc_channel_new(r->target.loop, &o);
	return 0;
}

void probe_grpc_begin(struct probe_run *r, const struct json *action)
{
	Grpc__Health__V1__HealthCheckRequest request = GRPC__HEALTH__V1__HEALTH_CHECK_REQUEST__INIT;
	struct grpc_call_opts opts = { .deadline_ms = r->timeout_ms, .wait_for_ready = true };
	struct error err;

	if (open_channel(r, action, &err) < 0) {
		probe_run_tell_soon(r, PROBE_ERROR, str_from(err.msg));
		return;
	}
	/* The call has its own time-out. */
	loop_timer_stop(&r->timer);
	request.service = arena_strdup(&r->arena, json_text_at(action, "service"));
	(void)grpc_channel_unary(r->channel, &check_method, &request.base, &opts, on_checked, r);
}
