/*
 * Each operation is one call: a request built in an arena of the turn, and an op that carries the
 * caller's callback to the reply. Reading the state (runtime/cri_list.c) and the runtime's
 * condition (runtime/cri_condition.c) need several calls and are separate.
 */
#include "node/runtime/cri_impl.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "net/net_limits.h"
#include "node/runtime/cri_image.h"
#include "node/runtime/cri_messages.h"

/* Converts a runtime's failure to our error, with its message. */
static void read_error(const struct grpc_status *st, struct error *err)
{
	(void)grpc_status_error(st, err);
	/* Nearly all failures of runtimes are UNKNOWN, so the code's name adds nothing. */
	if (st->code == GRPC_UNKNOWN)
		(void)error_set(err, ERR_INTERNAL, "%.*s", STR_ARG(st->message));
}

/* --- calls ---------------------------------------------------------------------------------- */

static void cri_count(struct metrics_family *f, enum cri_method m)
{
	if (f)
		metrics_counter_add(metrics_counter(f, str_from(cri_method_operation(m))), 1);
}

static void call_failed(struct cri_op *op, const struct grpc_status *st, struct error *ret_err)
{
	read_error(st, ret_err);
	cri_count(op->r->errors, op->method);
	log_debug(op->r->log, "the container runtime failed",
		  LOG_Z("operation", cri_method_operation(op->method)), LOG_ERR(ret_err));
}

static void call_done(void *arg, struct grpc_call *c, const struct grpc_status *st,
		      const void *reply)
{
	struct cri_op *op = arg;
	struct error err;

	op->call = c;
	if (!op->r->freed) {
		op->r->dirty |= op->changes;
		if (!reply)
			call_failed(op, st, &err);
		op->fn(op, reply, reply ? NULL : &err);
	}
	free(op->id);
	free(op);
}

void cri_call(const struct cri_op *op, const ProtobufCMessage *request, int64_t timeout_ms)
{
	struct cri_op *own = XNEW(struct cri_op);
	struct grpc_call_opts opts = { .deadline_ms = timeout_ms };

	*own = *op;
	cri_count(op->r->operations, op->method);
	(void)grpc_channel_unary(op->r->channel, cri_method(op->method), request, &opts, call_done,
				 own);
}

/* A failure found before anything was sent; reported later, like all others. */
struct early {
	struct loop_task task;
	struct cri_op op;
	struct error err;
};

static void early_fail(struct loop_task *t)
{
	struct early *e = CONTAINER_OF(t, struct early, task);

	if (!e->op.r->freed)
		e->op.fn(&e->op, NULL, &e->err);
	free(e);
}

static void fail_later(const struct cri_op *op, const struct error *err)
{
	struct early *e = XNEW(struct early);

	e->op = *op;
	e->err = *err;
	loop_task_init(&e->task, early_fail);
	loop_defer(op->r->loop, &e->task);
}

static void plain_done(struct cri_op *op, const void *reply, const struct error *err)
{
	(void)reply;
	op->done(op->arg, err);
}

static struct runtime_cri *cri_of(struct runtime *rt)
{
	return CONTAINER_OF(rt, struct runtime_cri, runtime);
}

static struct cri_op change_op(struct runtime *rt, enum cri_method method, runtime_done *done,
			       void *arg)
{
	return (struct cri_op){ .r = cri_of(rt),
				.method = method,
				.fn = plain_done,
				.changes = true,
				.done = done,
				.arg = arg };
}

/* --- folders of logs ------------------------------------------------------------------------ */

static int make_dirs(char *path, struct error *err)
{
	for (char *p = path + 1;; p++) {
		char c = *p;

		if (c != '/' && c != '\0')
			continue;
		*p = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return error_set_errno(err, ERR_IO, errno, "cannot make the folder %s",
					       path);
		*p = c;
		if (c == '\0')
			return 0;
	}
}

static int make_log_dir(struct arena *a, struct str dir, struct str file, struct error *err)
{
	size_t n = file.n;

	if (dir.n == 0)
		return 0;
	while (n > 0 && file.p[n - 1] != '/')
		n--;
	return make_dirs(arena_printf(a, "%.*s/%.*s", STR_ARG(dir), (int)(n > 0 ? n - 1 : 0),
				      file.p ? file.p : ""),
			 err);
}

/* --- sandboxes ------------------------------------------------------------------------------ */

static void run_sandbox_done(struct cri_op *op, const void *reply, const struct error *err)
{
	const Cri__RunPodSandboxResponse *m = reply;

	op->id_done(op->arg, m ? str_from(m->pod_sandbox_id) : STR_NULL, err);
}

static void run_sandbox(struct runtime *rt, const struct sandbox_spec *spec, runtime_id_done *done,
			void *arg)
{
	struct cri_op op = { .r = cri_of(rt), .method = CRI_RUN_SANDBOX, .fn = run_sandbox_done };
	Cri__RunPodSandboxRequest m = CRI__RUN_POD_SANDBOX_REQUEST__INIT;
	CLEANUP(arena_release) struct arena a;
	struct error err;

	arena_init(&a, SIZE_MAX);
	op.changes = true;
	op.id_done = done;
	op.arg = arg;
	if (make_log_dir(&a, spec->log_dir, STR_NULL, &err) < 0) {
		fail_later(&op, &err);
		return;
	}
	m.config = cri_sandbox_config(&a, spec);
	m.runtime_handler = cri_text(&a, spec->runtime_handler);
	cri_call(&op, &m.base, 2 * CRI_TIMEOUT_MS);
}

static void stop_sandbox(struct runtime *rt, struct str id, runtime_done *done, void *arg)
{
	struct cri_op op = change_op(rt, CRI_STOP_SANDBOX, done, arg);
	Cri__StopPodSandboxRequest m = CRI__STOP_POD_SANDBOX_REQUEST__INIT;
	CLEANUP(free) char *z = str_dup(id);

	m.pod_sandbox_id = z;
	cri_call(&op, &m.base, CRI_TIMEOUT_MS);
}

static void remove_sandbox(struct runtime *rt, struct str id, runtime_done *done, void *arg)
{
	struct cri_op op = change_op(rt, CRI_REMOVE_SANDBOX, done, arg);
	Cri__RemovePodSandboxRequest m = CRI__REMOVE_POD_SANDBOX_REQUEST__INIT;
	CLEANUP(free) char *z = str_dup(id);

	m.pod_sandbox_id = z;
	cri_call(&op, &m.base, CRI_TIMEOUT_MS);
}

/* --- images --------------------------------------------------------------------------------- */

static void image_done(struct cri_op *op, const void *reply, const struct error *err)
{
	const Cri__ImageStatusResponse *m = reply;
	const Cri__Image *i = m ? m->image : NULL;
	struct runtime_image image = { 0 };

	if (err) {
		op->image_done(op->arg, NULL, err);
		return;
	}
	if (i) {
		image.ref = str_from(i->id);
		image.username = str_from(i->uid ? "" : i->username);
		/* An image without a user runs as root. */
		image.user = i->uid ? i->uid->value : image.username.n > 0 ? -1 : 0;
	}
	op->image_done(op->arg, &image, NULL);
}

static void image_status(struct runtime *rt, struct str image, runtime_image_done *done, void *arg)
{
	struct cri_op op = { .r = cri_of(rt), .method = CRI_IMAGE_STATUS, .fn = image_done };
	Cri__ImageStatusRequest m = CRI__IMAGE_STATUS_REQUEST__INIT;
	CLEANUP(arena_release) struct arena a;
	struct str name;
	struct error err;

	arena_init(&a, SIZE_MAX);
	op.image_done = done;
	op.arg = arg;
	if (cri_image_name(image, &a, &name, &err) < 0) {
		fail_later(&op, &err);
		return;
	}
	m.image = cri_image_spec(&a, name);
	cri_call(&op, &m.base, CRI_TIMEOUT_MS);
}

static void pull_done(struct cri_op *op, const void *reply, const struct error *err)
{
	const Cri__PullImageResponse *m = reply;

	op->id_done(op->arg, m ? str_from(m->image_ref) : STR_NULL, err);
}

static void pull(struct runtime *rt, struct str image, const struct runtime_auth *auth,
		 const struct sandbox_spec *sandbox, runtime_id_done *done, void *arg)
{
	struct cri_op op = { .r = cri_of(rt), .method = CRI_PULL, .fn = pull_done };
	Cri__PullImageRequest m = CRI__PULL_IMAGE_REQUEST__INIT;
	CLEANUP(arena_release) struct arena a;
	struct str name;
	struct error err;

	arena_init(&a, SIZE_MAX);
	op.id_done = done;
	op.arg = arg;
	if (cri_image_name(image, &a, &name, &err) < 0) {
		fail_later(&op, &err);
		return;
	}
	m.image = cri_image_spec(&a, name);
	m.auth = cri_auth(&a, auth);
	m.sandbox_config = sandbox ? cri_sandbox_config(&a, sandbox) : NULL;
	cri_call(&op, &m.base, 0);
}

/* --- containers ----------------------------------------------------------------------------- */

static void create_done(struct cri_op *op, const void *reply, const struct error *err)
{
	const Cri__CreateContainerResponse *m = reply;

	op->id_done(op->arg, m ? str_from(m->container_id) : STR_NULL, err);
}

static void cri_create(struct runtime *rt, struct str sandbox_id,
		       const struct sandbox_spec *sandbox, const struct container_spec *spec,
		       runtime_id_done *done, void *arg)
{
	struct cri_op op = { .r = cri_of(rt), .method = CRI_CREATE, .fn = create_done };
	Cri__CreateContainerRequest m = CRI__CREATE_CONTAINER_REQUEST__INIT;
	CLEANUP(arena_release) struct arena a;
	struct error err;

	arena_init(&a, SIZE_MAX);
	op.changes = true;
	op.id_done = done;
	op.arg = arg;
	if (make_log_dir(&a, sandbox->log_dir, spec->log_path, &err) < 0) {
		fail_later(&op, &err);
		return;
	}
	m.pod_sandbox_id = cri_text(&a, sandbox_id);
	m.config = cri_container_config(&a, spec);
	m.sandbox_config = cri_sandbox_config(&a, sandbox);
	cri_call(&op, &m.base, CRI_TIMEOUT_MS);
}

static void cri_start(struct runtime *rt, struct str id, runtime_done *done, void *arg)
{
	struct cri_op op = change_op(rt, CRI_START, done, arg);
	Cri__StartContainerRequest m = CRI__START_CONTAINER_REQUEST__INIT;
	CLEANUP(free) char *z = str_dup(id);

	m.container_id = z;
	cri_call(&op, &m.base, CRI_TIMEOUT_MS);
}

static void cri_stop(struct runtime *rt, struct str id, int64_t grace_s, runtime_done *done,
		     void *arg)
{
	struct cri_op op = change_op(rt, CRI_STOP, done, arg);
	Cri__StopContainerRequest m = CRI__STOP_CONTAINER_REQUEST__INIT;
	CLEANUP(free) char *z = str_dup(id);

	m.container_id = z;
	m.timeout = grace_s;
	cri_call(&op, &m.base, CRI_TIMEOUT_MS + MIN(grace_s, INT32_MAX) * 1000);
}

static void remove_container(struct runtime *rt, struct str id, runtime_done *done, void *arg)
{
	struct cri_op op = change_op(rt, CRI_REMOVE, done, arg);
	Cri__RemoveContainerRequest m = CRI__REMOVE_CONTAINER_REQUEST__INIT;
	CLEANUP(free) char *z = str_dup(id);

	m.container_id = z;
	cri_call(&op, &m.base, CRI_TIMEOUT_MS);
}

static void exec_done(struct cri_op *op, const void *reply, const struct error *err)
{
	const Cri__ExecSyncResponse *m = reply;
	struct runtime_exec result;

	if (err) {
		op->exec_done(op->arg, NULL, err);
		return;
	}
	result = (struct runtime_exec){ .exit_code = m->exit_code,
					.out = str_of(m->out.data, m->out.len),
					.err = str_of(m->err.data, m->err.len) };
	op->exec_done(op->arg, &result, NULL);
}

static void exec(struct runtime *rt, struct str id, const struct runtime_strs *command,
		 int64_t timeout_ms, runtime_exec_done *done, void *arg)
{
	struct cri_op op = { .r = cri_of(rt), .method = CRI_EXEC, .fn = exec_done };
	Cri__ExecSyncRequest m = CRI__EXEC_SYNC_REQUEST__INIT;
	CLEANUP(arena_release) struct arena a;

	arena_init(&a, SIZE_MAX);
	op.exec_done = done;
	op.arg = arg;
	m.container_id = cri_text(&a, id);
	m.cmd = cri_texts(&a, command);
	m.n_cmd = command->n;
	m.timeout = (timeout_ms + 999) / 1000;
	cri_call(&op, &m.base, timeout_ms > 0 ? timeout_ms + CRI_TIMEOUT_MS : 0);
}

static void reopen_log(struct runtime *rt, struct str id, runtime_done *done, void *arg)
{
	struct cri_op op = { .r = cri_of(rt), .method = CRI_REOPEN_LOG, .fn = plain_done };
	Cri__ReopenContainerLogRequest m = CRI__REOPEN_CONTAINER_LOG_REQUEST__INIT;
	CLEANUP(free) char *z = str_dup(id);

	op.done = done;
	op.arg = arg;
	m.container_id = z;
	cri_call(&op, &m.base, CRI_TIMEOUT_MS);
}

static void update(struct runtime *rt, struct str id, const struct runtime_limits *limits,
		   runtime_done *done, void *arg)
{
	struct cri_op op = { .r = cri_of(rt), .method = CRI_UPDATE, .fn = plain_done };
	Cri__UpdateContainerResourcesRequest m = CRI__UPDATE_CONTAINER_RESOURCES_REQUEST__INIT;
	CLEANUP(arena_release) struct arena a;

	arena_init(&a, SIZE_MAX);
	op.done = done;
	op.arg = arg;
	m.container_id = cri_text(&a, id);
	m.linux_config = cri_resources(&a, limits);
	cri_call(&op, &m.base, CRI_TIMEOUT_MS);
}

/* --- life ----------------------------------------------------------------------------------- */

/* Deferred tasks and calls that end with the channel still check `freed`. */
static void free_memory(struct loop_task *t)
{
	struct runtime_cri *r = CONTAINER_OF(t, struct runtime_cri, answer);

	free(r->name);
	free(r->version);
	free(r->sandbox_image);
	free(r);
}

static void cri_free(struct runtime *rt)
{
	struct runtime_cri *r = cri_of(rt);

	r->freed = true;
	cri_list_release(r);
	grpc_channel_free(r->channel);
	loop_task_cancel(&r->answer);
	loop_task_init(&r->answer, free_memory);
	loop_defer(r->loop, &r->answer);
}

static const struct runtime_ops ops = {
	.id_prefix = NULL,
	.free = cri_free,
	.condition = cri_condition,
	.list = cri_list,
	.run_sandbox = run_sandbox,
	.stop_sandbox = stop_sandbox,
	.remove_sandbox = remove_sandbox,
	.image = image_status,
	.pull = pull,
	.images = cri_images,
	.remove_image = cri_remove_image,
	.image_fs = cri_image_fs,
	.stats = cri_stats,
	.create = cri_create,
	.start = cri_start,
	.stop = cri_stop,
	.remove = remove_container,
	.exec = exec,
	.stream = cri_stream,
	.reopen_log = reopen_log,
	.update = update,
};

static int register_metrics(struct runtime_cri *r, struct metrics *m, struct error *err)
{
	static const char *const labels[] = { "operation_type" };
	struct metrics_spec all = { .name = "devplane_node_runtime_operations_total",
				    .help = "Calls to the container runtime.",
				    .type = METRICS_COUNTER,
				    .labels = labels,
				    .labels_n = 1 };
	struct metrics_spec bad = all;
	int e;

	if (!m)
		return 0;
	bad.name = "devplane_node_runtime_operations_errors_total";
	bad.help = "Failed calls to the container runtime.";
	e = metrics_register(m, &all, &r->operations, err);
	return e < 0 ? e : metrics_register(m, &bad, &r->errors, err);
}

int runtime_cri_new(const struct runtime_cri_opts *opts, struct runtime **ret_runtime,
		    struct error *err)
{
	struct grpc_channel_opts channel = { .backoff_initial_ms = 100, .backoff_max_ms = 3000 };
	struct str endpoint = str_from(opts->endpoint);
	struct runtime_cri *r;
	char path[NET_ADDRESS_MAX + 8];
	int e;

	/* As upstream, accepts a bare path. */
	if (endpoint.n > 0 && endpoint.p[0] == '/' && endpoint.n < NET_ADDRESS_MAX) {
		(void)snprintf(path, sizeof(path), "unix://%s", opts->endpoint);
		endpoint = str_from(path);
	}
	e = addr_parse(&channel.to, endpoint, 0, err);
	if (e < 0)
		return error_wrap(err, e, "the container runtime's endpoint");
	r = XNEW(struct runtime_cri);
	e = register_metrics(r, opts->metrics, err);
	if (e < 0) {
		free(r);
		return e;
	}
	r->runtime.ops = &ops;
	r->loop = opts->loop;
	r->log = opts->log ? opts->log : log_null();
	r->relist_ms = opts->relist_ms > 0 ? opts->relist_ms : CRI_RELIST_MS;
	r->channel = grpc_channel_new(opts->loop, &channel);
	cri_list_init(r);
	*ret_runtime = &r->runtime;
	return 0;
}
