/*
 * Starting one container: the image is found or pulled; plugins get PreStartContainer; environment,
 * mounts and devices are collected; the container is created and started; its postStart hook runs.
 * A failure ends the op with the reason that the container's status shows, and with kubelet's
 * event.
 */
#include <inttypes.h>

#include "base/report/log.h"
#include "node/claims/claims.h"
#include "node/container/config.h"
#include "node/plugins/plugins.h"
#include "node/probes/probes.h"
#include "node/registration/object.h"
#include "node/runtime/hollow.h"
#include "node/sources/env.h"
#include "node/sources/pull_secrets.h"
#include "node/volumes/volumes.h"
#include "node/worker/worker_impl.h"

static void start_failed(struct worker_op *op, const char *reason, const char *text)
{
	struct str message = arena_str(&op->arena, str_from(text));

	worker_event(op->worker, op->container, RECORDER_WARNING, "Failed", "Error: %s", text);
	worker_op_end(op, reason, message);
}

/* --- start ------------------------------------------------------------------------ */

static void on_post_start(void *arg, const struct error *err)
{
	struct worker_op *op = arg;

	if (worker_op_dropped(op))
		return;
	if (err) {
		worker_event(op->worker, op->container, RECORDER_WARNING, "FailedPostStartHook",
			     "PostStartHook failed");
		lifecycle_probed(op->worker->life, op->created_id, LIFECYCLE_STARTUP, false,
				 STR("PostStartHook failed"));
	}
	worker_op_end(op, err ? "PostStartHookError" : NULL, err ? str_from(err->msg) : STR_NULL);
}

static void on_started(void *arg, const struct error *err)
{
	struct worker_op *op = arg;
	struct worker_host *h = op->worker->host;
	const struct json *hook = json_getz(json_getz(op->spec, "lifecycle"), "postStart");

	if (err) {
		start_failed(op, "RunContainerError", err->msg);
		return;
	}
	worker_cpus_started(op->worker, op->created_id, op->cpus);
	worker_event(op->worker, op->container, RECORDER_NORMAL, "Started", "Container started");
	if (!hook || h->hollow) {
		worker_op_end(op, NULL, STR_NULL);
		return;
	}
	op->endless = true;
	worker_relist(op->worker);
	probes_hook(h->probes, op->pod,
		    &(struct probes_hook){ .container = op->spec,
					   .handler = hook,
					   .container_id = op->created_id,
					   .pod_ip = worker_ip(op->worker) },
		    on_post_start, op);
}

static void start_on_created(void *arg, struct str id, const struct error *err)
{
	struct worker_op *op = arg;
	struct worker_host *h = op->worker->host;

	if (err) {
		start_failed(op, "CreateContainerError", err->msg);
		return;
	}
	op->created_id = arena_str(&op->arena, id);
	worker_event(op->worker, op->container, RECORDER_NORMAL, "Created", "Container created");
	h->runtime->ops->start(h->runtime, op->created_id, on_started, op);
}

/* --- the spec --------------------------------------------------------------------- */

static void start_put_devices(struct arena *a, struct json *devices, const struct assign_request *r)
{
	struct json *ids = json_make_array(a);

	for (size_t i = 0; i < r->nids; i++)
		json_append(ids, json_make_str(a, arena_str(a, r->ids[i])));
	json_set(devices, arena_str(a, r->resource), ids);
}

static struct str devices_text(struct arena *a, const struct json *devices)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(SIZE_MAX / 2);

	if (json_count(devices) == 0)
		return STR_NULL;
	(void)json_print(&text, devices, NULL);
	return arena_str(a, buf_str(&text));
}

static void gather_answers(struct worker_op *op, struct container_parts *parts)
{
	struct json *devices = json_make_object(&op->arena);
	struct assign *s = op->worker->host->assign;
	struct str at = STR_NULL, packed;
	struct assign_request request;
	struct str *v;
	size_t n = 0;

	while (assign_next_answer(s, op->pod->uid, op->container, &at, &packed, &op->arena,
				  &request))
		n++;
	v = arena_alloc(&op->arena, (n + 1) * sizeof(*v));
	at = STR_NULL;
	for (size_t i = 0; i < n; i++) {
		(void)assign_next_answer(s, op->pod->uid, op->container, &at, &packed, &op->arena,
					 &request);
		v[i] = arena_str(&op->arena, packed);
		start_put_devices(&op->arena, devices, &request);
	}
	parts->answers = v;
	parts->nanswers = n;
	parts->plugin_devices = devices_text(&op->arena, devices);
}

static int start_gather(struct worker_op *op, struct container_parts *parts, struct error *err)
{
	struct worker_host *h = op->worker->host;
	const struct runtime_sandbox *sandbox = worker_sandbox(op->worker);
	struct env_context env = { .sources = h->sources,
				   .node_name = str_from(h->node_name),
				   .host_ip = node_object_ip(h->node),
				   .node_cpu_milli = node_object_cpu_milli(h->node),
				   .node_memory = node_object_memory(h->node) };
	struct volumes_paths paths = { .attempt = op->attempt };
	struct str domain;
	int r;

	if (pod_host_network(op->pod)) {
		env.pod_ip = env.host_ip;
		env.pod_ips = &env.host_ip;
		env.npod_ips = 1;
	} else if (sandbox && sandbox->nips) {
		env.pod_ip = sandbox->ips[0];
		env.pod_ips = sandbox->ips;
		env.npod_ips = sandbox->nips;
	}
	r = env_make(op->pod, op->spec, &env, &op->arena, &parts->env, err);
	if (r == 0)
		r = container_config_hostname(op->pod, h->sandbox.cluster_domain, &op->arena,
					      &paths.hostname, &domain, err);
	if (r < 0)
		return r;
	paths.pod_ips = env.pod_ips;
	paths.npod_ips = env.npod_ips;
	paths.env = &parts->env;
	return volumes_container(h->volumes, op->pod, op->spec, &paths, &op->arena, &parts->mounts,
				 &parts->nmounts, err);
}

static struct runtime_pairs annotations(struct worker_op *op)
{
	const struct json *from = json_getz(op->pod->metadata, "annotations");
	struct runtime_pairs to = { .v = arena_alloc(&op->arena,
						     (json_count(from) + 1) * sizeof(*to.v)) };

	JSON_FOREACH (it, from)
		to.v[to.n++] = (struct runtime_pair){ json_key(it), json_str(it) };
	return to;
}

/* A hollow container only needs the pod's annotations and CPUs. */
static void create_hollow(struct worker_op *op)
{
	struct runtime *r = op->worker->host->runtime;
	struct sandbox_spec sandbox = { .uid = op->pod->uid,
					.ns = op->pod->ns,
					.name = op->pod->name,
					.annotations = annotations(op) };
	struct container_spec spec = { .name = op->container,
				       .attempt = op->attempt,
				       .image = op->image_ref,
				       .user_image = json_text_at(op->spec, "image") };
	struct runtime_pair ends = { STR(RUNTIME_HOLLOW_EXIT), STR("0") };
	enum pod_container_kind kind = POD_MAIN;

	(void)pod_container(op->pod, op->container, &kind);
	if (kind == POD_INIT)
		spec.annotations = (struct runtime_pairs){ &ends, 1 };
	op->cpus = assign_cpus(op->worker->host->assign, op->pod->uid, op->container, &op->arena);
	spec.limits.cpus = op->cpus;
	r->ops->create(r, op->sandbox_id, &sandbox, &spec, start_on_created, op);
}

static void start_create(struct worker_op *op)
{
	struct worker_host *h = op->worker->host;
	struct container_parts parts = { .attempt = op->attempt,
					 .image_ref = op->image_ref,
					 .image_user = op->image_user,
					 .image_username = op->image_user_name,
					 .runtime_does_cdi = h->runtime_does_cdi,
					 .cdi_dirs = h->cdi_dirs,
					 .seccomp_root = h->seccomp_root,
					 .seccomp_default = h->seccomp_default,
					 .node_memory = node_object_memory(h->node) };
	struct sandbox_spec sandbox = { 0 };
	struct container_spec spec = { 0 };
	struct error err;
	int r;

	op->cpus = assign_cpus(h->assign, op->pod->uid, op->container, &op->arena);
	parts.cpus = op->cpus;
	parts.mems = assign_mems(h->assign, op->pod->uid, op->container, &op->arena);
	gather_answers(op, &parts);
	parts.ncdi_ids = claims_cdi_ids(h->assign, op->pod, op->spec, &op->arena, &parts.cdi_ids);
	r = start_gather(op, &parts, &err);
	if (r == 0)
		r = container_config_sandbox(op->pod, &h->sandbox, &op->arena, &sandbox, &err);
	if (r == 0)
		r = container_config_make(op->pod, op->spec, &parts, &op->arena, &spec, &err);
	if (r < 0)
		start_failed(op, "CreateContainerConfigError", err.msg);
	else
		h->runtime->ops->create(h->runtime, op->sandbox_id, &sandbox, &spec,
					start_on_created, op);
}

/* --- PreStartContainer ------------------------------------------------------------ */

static void prestart(struct worker_op *op);

static void on_prestarted(void *arg, const struct error *err)
{
	struct worker_op *op = arg;

	if (err)
		start_failed(op, "RunContainerError", err->msg);
	else
		prestart(op);
}

/*
 * Calls the next plugin that requires PreStartContainer; after the last one, creates the container.
 */
static void prestart(struct worker_op *op)
{
	struct worker_host *h = op->worker->host;
	struct assign_request request;
	struct str packed;

	while (assign_next_answer(h->assign, op->pod->uid, op->container, &op->next_resource,
				  &packed, &op->arena, &request)) {
		op->next_resource = arena_str(&op->arena, op->next_resource);
		if (!plugins_wants_prestart(h->plugins, request.resource))
			continue;
		plugins_prestart(h->plugins, request.resource, request.ids, request.nids,
				 on_prestarted, op);
		return;
	}
	if (h->hollow)
		create_hollow(op);
	else
		start_create(op);
}

/* --- the image -------------------------------------------------------------------- */

static struct str image_name(const struct worker_op *op)
{
	return json_text_at(op->spec, "image");
}

static void on_image(void *arg, const struct runtime_image *image, const struct error *err);

static void on_pulled(void *arg, struct str id, const struct error *err)
{
	struct worker_op *op = arg;
	struct worker_host *h = op->worker->host;

	(void)id;
	if (worker_op_dropped(op))
		return;
	if (err) {
		worker_event(op->worker, op->container, RECORDER_WARNING, "Failed",
			     "Failed to pull image \"%.*s\": %s", STR_ARG(image_name(op)),
			     err->msg);
		start_failed(op, "ErrImagePull", err->msg);
		return;
	}
	op->pulled = true;
	worker_event(op->worker, op->container, RECORDER_NORMAL, "Pulled",
		     "Successfully pulled image \"%.*s\" in %" PRId64 "ms", STR_ARG(image_name(op)),
		     loop_now(h->loop) - op->began_ms);
	h->runtime->ops->image(h->runtime, image_name(op), on_image, op);
}

static void pull(struct worker_op *op)
{
	struct worker_host *h = op->worker->host;
	struct runtime_auth auth = { 0 };
	bool found;

	worker_event(op->worker, op->container, RECORDER_NORMAL, "Pulling",
		     "Pulling image \"%.*s\"", STR_ARG(image_name(op)));
	found = pull_secrets_find(h->sources, op->pod, image_name(op), &op->arena, &auth);
	op->endless = true;
	h->runtime->ops->pull(h->runtime, image_name(op), found ? &auth : NULL, NULL, on_pulled,
			      op);
}

static void on_image(void *arg, const struct runtime_image *image, const struct error *err)
{
	struct worker_op *op = arg;
	struct str policy = json_text_at(op->spec, "imagePullPolicy");

	if (err) {
		start_failed(op,
			     err->code == ERR_INVALID ? "InvalidImageName" : "ImageInspectError",
			     err->msg);
		return;
	}
	if (image->ref.n > 0 && (op->pulled || !str_eqz(policy, "Always"))) {
		op->image_ref = arena_str(&op->arena, image->ref);
		op->image_user = image->user;
		op->image_user_name = arena_str(&op->arena, image->username);
		if (!op->pulled)
			worker_event(op->worker, op->container, RECORDER_NORMAL, "Pulled",
				     "Container image \"%.*s\" already present on machine",
				     STR_ARG(image_name(op)));
		prestart(op);
	} else if (str_eqz(policy, "Never")) {
		worker_event(op->worker, op->container, RECORDER_WARNING, "ErrImageNeverPull",
			     "Container image \"%.*s\" is not present with pull policy of Never",
			     STR_ARG(image_name(op)));
		start_failed(op, "ErrImageNeverPull", "ErrImageNeverPull");
	} else if (op->pulled) {
		start_failed(op, "ErrImagePull",
			     "the image was pulled, but the runtime does not have it");
	} else {
		pull(op);
	}
}

void worker_start(struct worker_op *op)
{
	struct worker_host *h = op->worker->host;

	op->sandbox_id = op->id;
	if (!op->spec) {
		worker_op_end(op, NULL, STR_NULL);
		return;
	}
	h->runtime->ops->image(h->runtime, image_name(op), on_image, op);
}
