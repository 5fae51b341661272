/*
 * Exec, attach and port-forward: the runtime returns a URL of its streaming server, valid for one
 * connection, and the client is connected to it.
 */
#include "node/runtime/cri_impl.h"
#include "node/runtime/cri_messages.h"

/* All three replies are alike, but their types differ. */
static void exec_url(struct cri_op *op, const void *reply, const struct error *err)
{
	op->id_done(op->arg, err ? STR_NULL : str_from(((const Cri__ExecResponse *)reply)->url),
		    err);
}

static void attach_url(struct cri_op *op, const void *reply, const struct error *err)
{
	op->id_done(op->arg, err ? STR_NULL : str_from(((const Cri__AttachResponse *)reply)->url),
		    err);
}

static void ports_url(struct cri_op *op, const void *reply, const struct error *err)
{
	op->id_done(op->arg,
		    err ? STR_NULL : str_from(((const Cri__PortForwardResponse *)reply)->url), err);
}

static void call_exec(struct cri_op *op, struct arena *a, const struct runtime_stream *s)
{
	Cri__ExecRequest m = CRI__EXEC_REQUEST__INIT;

	op->method = CRI_EXEC_STREAM;
	op->fn = exec_url;
	m.container_id = cri_text(a, s->id);
	m.cmd = cri_texts(a, &s->command);
	m.n_cmd = s->command.n;
	m.tty = s->tty;
	m.with_in = s->with_in;
	m.with_out = s->with_out;
	m.with_err = s->with_err;
	cri_call(op, &m.base, CRI_TIMEOUT_MS);
}

static void call_attach(struct cri_op *op, struct arena *a, const struct runtime_stream *s)
{
	Cri__AttachRequest m = CRI__ATTACH_REQUEST__INIT;

	op->method = CRI_ATTACH_STREAM;
	op->fn = attach_url;
	m.container_id = cri_text(a, s->id);
	m.tty = s->tty;
	m.with_in = s->with_in;
	m.with_out = s->with_out;
	m.with_err = s->with_err;
	cri_call(op, &m.base, CRI_TIMEOUT_MS);
}

static void call_ports(struct cri_op *op, struct arena *a, const struct runtime_stream *s)
{
	Cri__PortForwardRequest m = CRI__PORT_FORWARD_REQUEST__INIT;

	op->method = CRI_PORT_FORWARD;
	op->fn = ports_url;
	m.pod_sandbox_id = cri_text(a, s->id);
	m.port = (int32_t *)s->ports;
	m.n_port = s->nports;
	cri_call(op, &m.base, CRI_TIMEOUT_MS);
}

void cri_stream(struct runtime *rt, const struct runtime_stream *stream, runtime_id_done *done,
		void *arg)
{
	static void (*const calls[])(struct cri_op * op, struct arena * a,
				     const struct runtime_stream *s) = {
		[RUNTIME_STREAM_EXEC] = call_exec,
		[RUNTIME_STREAM_ATTACH] = call_attach,
		[RUNTIME_STREAM_PORTS] = call_ports,
	};
	struct cri_op op = { .r = CONTAINER_OF(rt, struct runtime_cri, runtime),
			     .id_done = done,
			     .arg = arg };
	CLEANUP(arena_release) struct arena a;

	arena_init(&a, SIZE_MAX);
	calls[stream->kind](&op, &a, stream);
}
