/*
 * One struct for all kinds: an attempt is short and there are few at a time. The runtime cannot
 * cancel a command, so its callback gets a separate small object that outlives a cancelled attempt.
 */
#include "node/probes/run.h"

#include <errno.h>

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/text/print.h"
#include "base/time/duration.h"
#include "grpc/channel.h"
#include "net/loop/conn.h"
#include "node/node_limits.h"
#include "node/probes/run_impl.h"
#include "node/sources/env.h"

/* --- the end -------------------------------------------------------------------------------- */

struct probe_exec {
	struct probe_run *run; /* NULL: the attempt was cancelled */
};

void probe_run_free(struct probe_run *r)
{
	if (!r)
		return;
	loop_timer_stop(&r->timer);
	loop_task_cancel(&r->task);
	if (r->exec)
		r->exec->run = NULL;
	conn_free(r->conn);
	if (r->http)
		http_client_free(TAKE(r->http));
	grpc_channel_free(TAKE(r->channel));
	buf_release(&r->body);
	arena_release(&r->arena);
	free(r);
}

void probe_run_tell(struct probe_run *r, enum probe_result result, struct str message)
{
	CLEANUP(free) char *text = str_dup(message);
	probe_run_done *done = r->done;
	void *arg = r->arg;

	probe_run_free(r);
	done(arg, result, str_of(text, message.n));
}

void probe_run_tellf(struct probe_run *r, enum probe_result result, const char *fmt, ...)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(2 * PROBE_OUTPUT_MAX);
	va_list ap;

	va_start(ap, fmt);
	(void)buf_vprintf(&text, fmt, ap);
	va_end(ap);
	probe_run_tell(r, result, buf_str(&text));
}

static void run_on_task(struct loop_task *t)
{
	struct probe_run *r = CONTAINER_OF(t, struct probe_run, task);

	probe_run_tell(r, r->early, r->early_message);
}

void probe_run_tell_soon(struct probe_run *r, enum probe_result result, struct str message)
{
	r->early = result;
	r->early_message = arena_str(&r->arena, message);
	loop_defer(r->target.loop, &r->task);
}

/* --- ports and addresses -------------------------------------------------------------------- */

int probe_run_port(const struct json *container, const struct json *port, uint16_t *ret_port,
		   struct error *err)
{
	const struct json *named;
	int64_t n = -1;

	if (json_is(port, JSON_STRING)) {
		named = json_find(json_getz(container, "ports"), "name", json_str(port));
		if (!named)
			return error_set(err, ERR_NOT_FOUND, "port \"%.*s\" not found",
					 STR_ARG(json_str(port)));
		n = json_i64_at(named, "containerPort", -1);
	} else {
		(void)json_i64(port, &n);
	}
	if (n <= 0 || n > UINT16_MAX)
		return error_set(err, ERR_INVALID, "invalid port number: %lld", (long long)n);
	*ret_port = (uint16_t)n;
	return 0;
}

struct str probe_run_join(struct probe_run *r, struct str host, uint16_t port)
{
	bool v6 = str_chr(host, ':') >= 0;

	return str_from(arena_printf(&r->arena, "%s%.*s%s:%u", v6 ? "[" : "", STR_ARG(host),
				     v6 ? "]" : "", port));
}

void probe_run_dial_words(const struct probe_run *r, const struct error *err, struct buf *out)
{
	const char *words;

	if (err->code == ERR_TIMEOUT) {
		(void)buf_printf(out, "dial tcp %s: i/o timeout", r->addr.text);
		return;
	}
	if (err->sys_errno == 0) {
		(void)buf_printf(out, "dial tcp %s: %s", r->addr.text, err->msg);
		return;
	}
	(void)buf_printf(out, "dial tcp %s: connect: ", r->addr.text);
	words = strerrordesc_np(err->sys_errno);
	for (size_t i = 0; words && words[i]; i++)
		(void)buf_addc(out, words[i] >= 'A' && words[i] <= 'Z'
					    ? (char)(words[i] - 'A' + 'a')
					    : words[i]);
}

/* --- exec ----------------------------------------------------------------------------------- */

static void exec_failed(struct probe_run *r, const struct error *err)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(2 * PROBE_OUTPUT_MAX);
	char time[DURATION_SIZE];

	if (err->code != ERR_TIMEOUT) {
		probe_run_tell(r, PROBE_ERROR, str_from(err->msg));
		return;
	}
	(void)buf_addz(&out, "command timed out: ");
	(void)print_quoted(&out, r->command);
	(void)buf_printf(&out, " timed out after %s",
			 duration_print(r->timeout_ms * CLOCK_MS, time).p);
	probe_run_tell(r, PROBE_FAILURE, buf_str(&out));
}

static void on_exec(void *arg, const struct runtime_exec *result, const struct error *err)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(PROBE_OUTPUT_MAX);
	struct probe_exec *x = arg;
	struct probe_run *r = x->run;
	struct str rest;

	free(x);
	if (!r)
		return;
	r->exec = NULL;
	if (err) {
		exec_failed(r, err);
		return;
	}
	(void)buf_add(&out, result->out.p, MIN(result->out.n, PROBE_OUTPUT_MAX));
	rest = result->err;
	(void)buf_add(&out, rest.p, MIN(rest.n, PROBE_OUTPUT_MAX - out.n));
	probe_run_tell(r, result->exit_code == 0 ? PROBE_SUCCESS : PROBE_FAILURE, buf_str(&out));
}

/* The container's variables with plain values; the last one of a name is found first. */
static struct runtime_pairs static_env(const struct json *container, struct arena *a)
{
	const struct json *env = json_getz(container, "env");
	size_t n = json_count(env), at = n;
	struct runtime_pairs out = { .v = ARENA_ARRAY(a, struct runtime_pair, n + 1), .n = n };

	JSON_FOREACH (it, env)
		out.v[--at] = (struct runtime_pair){ .key = json_text_at(it, "name"),
						     .value = json_text_at(it, "value") };
	return out;
}

static void begin_exec(struct probe_run *r, const struct json *container, const struct json *action)
{
	CLEANUP(buf_release) struct buf joined = BUF_INIT(PROBE_OUTPUT_MAX);
	const struct json *words = json_getz(action, "command");
	struct runtime_pairs env = static_env(container, &r->arena);
	struct runtime_strs command = { .v = ARENA_ARRAY(&r->arena, struct str,
							 json_count(words) + 1) };
	struct runtime *runtime = r->target.runtime;

	JSON_FOREACH (it, words) {
		command.v[command.n] = env_expand(json_str(it), &env, &r->arena);
		(void)buf_printf(&joined, "%s%.*s", command.n > 0 ? " " : "",
				 STR_ARG(command.v[command.n]));
		command.n++;
	}
	r->command = arena_str(&r->arena, buf_str(&joined));
	r->exec = XNEW(struct probe_exec);
	r->exec->run = r;
	/* The runtime enforces the time-out and kills the command. */
	loop_timer_stop(&r->timer);
	runtime->ops->exec(runtime, r->target.container_id, &command, r->timeout_ms, on_exec,
			   r->exec);
}

/* --- tcpSocket ------------------------------------------------------------------------------ */

static void run_on_open(void *arg)
{
	probe_run_tell(arg, PROBE_SUCCESS, STR_NULL);
}

static void on_error(void *arg, const struct error *err)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(PROBE_OUTPUT_MAX);
	struct probe_run *r = arg;

	probe_run_dial_words(r, err, &out);
	probe_run_tell(r, PROBE_FAILURE, buf_str(&out));
}

static void on_data(void *arg, char *data, size_t n)
{
	(void)arg;
	(void)data;
	(void)n;
}

static void on_nothing(void *arg)
{
	(void)arg;
}

static const struct conn_events tcp_events = {
	.on_open = run_on_open,
	.on_data = on_data,
	.on_eof = on_nothing,
	.on_writable = on_nothing,
	.on_error = on_error,
};

static int connect_tcp(struct probe_run *r, const struct json *container, const struct json *action,
		       struct error *err)
{
	struct str host = json_text_at(action, "host");
	uint16_t port;
	int e;

	e = probe_run_port(container, json_getz(action, "port"), &port, err);
	if (e < 0)
		return e;
	if (host.n == 0)
		host = r->target.pod_ip;
	e = addr_parse(&r->addr, probe_run_join(r, host, port), port, err);
	if (e < 0)
		return e;
	return conn_connect(r->target.loop, &r->addr, &tcp_events, r, &r->conn, err);
}

static void begin_tcp(struct probe_run *r, const struct json *container, const struct json *action)
{
	struct error err;

	if (connect_tcp(r, container, action, &err) < 0)
		probe_run_tell_soon(r, PROBE_ERROR, str_from(err.msg));
}

/* --- starting ------------------------------------------------------------------------------- */

static void on_late(struct loop_timer *t)
{
	struct probe_run *r = CONTAINER_OF(t, struct probe_run, timer);

	if (r->http)
		probe_http_late(r);
	else
		probe_run_tellf(r, PROBE_FAILURE, "dial tcp %s: i/o timeout", r->addr.text);
}

static struct probe_run *run_make(const struct probe_target *t, int64_t timeout_ms,
				  probe_run_done *done, void *arg)
{
	struct probe_run *r = XNEW(struct probe_run);

	arena_init(&r->arena, REQUEST_WORK_MAX);
	r->target = *t;
	r->target.container_id = arena_str(&r->arena, t->container_id);
	r->target.pod_ip = arena_str(&r->arena, t->pod_ip);
	r->timeout_ms = timeout_ms;
	r->done = done;
	r->arg = arg;
	buf_init(&r->body, PROBE_OUTPUT_MAX);
	loop_timer_init(&r->timer, t->loop, on_late);
	loop_task_init(&r->task, run_on_task);
	return r;
}

struct probe_run *probe_run_new(const struct probe_target *t, const struct json *action,
				int64_t timeout_ms, probe_run_done *done, void *arg)
{
	struct probe_run *r = run_make(t, timeout_ms, done, arg);
	const struct json *a;

	if (timeout_ms > 0)
		loop_timer_start(&r->timer, timeout_ms);
	if ((a = json_getz(action, "exec")))
		begin_exec(r, t->container, a);
	else if ((a = json_getz(action, "httpGet")))
		probe_http_begin(r, a);
	else if ((a = json_getz(action, "tcpSocket")))
		begin_tcp(r, t->container, a);
	else if ((a = json_getz(action, "grpc")))
		probe_grpc_begin(r, a);
	else
		probe_run_tell_soon(r, PROBE_ERROR, STR("missing probe handler"));
	r->target.container = NULL;
	return r;
}
