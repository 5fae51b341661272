/*
 * The kubelet's API on the agent's side: finds the pod, container and log that a request means.
 *
 * It uses the runtime's state, not the status in the API server: a client may request a log before
 * the status has come back to us. The status is only used to find out whether an ended container
 * will be started again. Error messages are kubelet's.
 */
#include "base/json/writer.h"
#include "base/report/log.h"
#include "client/informer/cached.h"
#include "net/loop/addr.h"
#include "node/agent/agent_impl.h"
#include "node/agent/statics.h"
#include "node/kubelet/server.h"
#include "node/kubelet/tls.h"
#include "node/registration/object.h"

/* --- lookup ----------------------------------------------------------------------- */

/* Returns the worker of the pod with that name. */
static struct worker *find_pod(const struct agent *a, const struct kubelet_route *route,
			       struct error *err)
{
	const struct cached *o = a->pods ? cache_get_in(informer_cache(a->pods), route->ns,
							route->pod)
					 : NULL;
	struct worker *w = agent_statics_worker(a->statics, route->ns, route->pod);

	/* A uid names the static pod or its mirror pod. */
	if (w && (!o || str_eq(route->uid, o->uid)))
		return w;
	if (!w && o)
		w = agent_worker(a, o->uid);

	if (!w || (route->uid.n > 0 && !str_eq(route->uid, worker_uid(w)))) {
		(void)error_set(err, ERR_NOT_FOUND, "pod \"%.*s\" does not exist",
				STR_ARG(route->pod));
		return NULL;
	}
	return w;
}

/* Walks the containers of that name, newest first: returns the one after `last`, or NULL. */
static const struct runtime_container *next_of(const struct runtime_pod *p, struct str name,
					       const struct runtime_container *last)
{
	size_t i = last ? (size_t)(last - p->containers) + 1 : 0;

	for (; p && i < p->ncontainers; i++) {
		if (str_eq(p->containers[i].name, name))
			return &p->containers[i];
	}
	return NULL;
}

/* The reason of the container's waiting state in the pod's status; empty: it does not wait. */
static struct str waiting_reason(const struct pod *pod, struct str container)
{
	static const char *const lists[] = { "containerStatuses", "initContainerStatuses",
					     "ephemeralContainerStatuses" };

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const struct json *c = json_find(json_getz(pod->status, lists[i]), "name",
						 container);
		const struct json *state = json_getz(c, "state");

		if (json_getz(state, "waiting"))
			return json_text_at(json_getz(state, "waiting"), "reason");
	}
	return STR_NULL;
}

static int fail_waiting(const struct pod *pod, struct str container, struct error *err)
{
	struct str reason = waiting_reason(pod, container);

	if (str_eqz(reason, "ErrImagePull"))
		reason = STR("image can't be pulled");
	else if (str_eqz(reason, "ImagePullBackOff"))
		reason = STR("trying and failing to pull image");
	else if (reason.n == 0)
		reason = STR("ContainerCreating");
	return error_set(err, ERR_BAD_REQUEST,
			 "container \"%.*s\" in pod \"%.*s\" is waiting to start: %.*s",
			 STR_ARG(container), STR_ARG(pod->name), STR_ARG(reason));
}

/*
 * Returns the container that ran before the present one, or the last one if its successor has not
 * started yet.
 */
static const struct runtime_container *find_previous(const struct pod *pod,
						     const struct runtime_pod *p, struct str name)
{
	const struct runtime_container *c = next_of(p, name, NULL);

	if (c && (c->state != RUNTIME_EXITED || !waiting_reason(pod, name).p))
		c = next_of(p, name, c);
	while (c && c->state != RUNTIME_EXITED)
		c = next_of(p, name, c);
	return c;
}

static int find_log(void *arg, const struct kubelet_route *route, bool previous,
		    struct kubelet_log *ret_log, struct error *err)
{
	const struct agent *a = arg;
	const struct worker *w = find_pod(a, route, err);
	const struct runtime_container *c;
	const struct runtime_pod *p;

	if (!w)
		return -ERR_NOT_FOUND;
	if (!pod_container(worker_pod(w), route->container, NULL))
		return error_set(err, ERR_NOT_FOUND, "container \"%.*s\" not found in pod \"%.*s\"",
				 STR_ARG(route->container), STR_ARG(route->pod));
	p = worker_runtime(w);
	c = previous ? find_previous(worker_pod(w), p, route->container)
		     : next_of(p, route->container, NULL);
	if (previous && !c)
		return error_set(err, ERR_BAD_REQUEST,
				 "previous terminated container \"%.*s\" in pod \"%.*s\" not found",
				 STR_ARG(route->container), STR_ARG(route->pod));
	if (c && c->state == RUNTIME_CREATED)
		c = next_of(p, route->container, c);
	if (!c)
		return fail_waiting(worker_pod(w), route->container, err);
	if (c->log_path.n == 0)
		return error_set(err, ERR_UNIMPLEMENTED,
				 "the node %s is hollow, it runs no containers and has no logs",
				 a->opts.node_name);
	*ret_log = (struct kubelet_log){ .pod_uid = worker_uid(w),
					 .container_id = c->id,
					 .path = c->log_path };
	return 0;
}

static bool is_running(void *arg, struct str pod_uid, struct str container_id)
{
	const struct worker *w = agent_worker(arg, pod_uid);
	const struct runtime_pod *p = w ? worker_runtime(w) : NULL;

	for (size_t i = 0; p && i < p->ncontainers; i++) {
		if (str_eq(p->containers[i].id, container_id))
			return p->containers[i].state == RUNTIME_RUNNING;
	}
	return false;
}

static int find_ports(const struct worker *w, struct runtime_stream *stream, struct error *err)
{
	const struct runtime_pod *p = worker_runtime(w);

	for (size_t i = 0; p && i < p->nsandboxes; i++) {
		if (p->sandboxes[i].ready) {
			stream->id = p->sandboxes[i].id;
			return 0;
		}
	}
	return error_set(err, ERR_NOT_FOUND, "pod \"%.*s\" does not run",
			 STR_ARG(worker_pod(w)->name));
}

static int find_stream(void *arg, const struct kubelet_route *route, struct runtime_stream *stream,
		       struct error *err)
{
	const struct agent *a = arg;
	const struct worker *w = find_pod(a, route, err);
	const struct runtime_container *c;
	const struct json *spec;

	if (!w)
		return -ERR_NOT_FOUND;
	if (stream->kind == RUNTIME_STREAM_PORTS)
		return find_ports(w, stream, err);
	spec = pod_container(worker_pod(w), route->container, NULL);
	c = next_of(worker_runtime(w), route->container, NULL);
	while (c && c->state != RUNTIME_RUNNING)
		c = next_of(worker_runtime(w), route->container, c);
	if (!spec || !c)
		return error_set(err, ERR_NOT_FOUND, "container not found (\"%.*s\")",
				 STR_ARG(route->container));
	stream->id = c->id;
	/* The container's spec decides whether it has a terminal. */
	if (stream->kind == RUNTIME_STREAM_ATTACH) {
		stream->tty = json_true_at(spec, "tty");
		stream->with_err = stream->with_err && !stream->tty;
	}
	return 0;
}

/* --- lists ------------------------------------------------------------------------ */

static void begin_list(struct json_writer *w, struct buf *out)
{
	json_writer_init(w, out, NULL);
	json_writer_begin_object(w);
	json_writer_keyz(w, "kind");
	json_writer_strz(w, "PodList");
	json_writer_keyz(w, "apiVersion");
	json_writer_strz(w, "v1");
	json_writer_keyz(w, "metadata");
	json_writer_begin_object(w);
	json_writer_end_object(w);
	json_writer_keyz(w, "items");
	json_writer_begin_array(w);
}

static void end_list(struct json_writer *w)
{
	json_writer_end_array(w);
	json_writer_end_object(w);
	(void)json_writer_finish(w);
}

static void print_pods(void *arg, struct buf *out)
{
	const struct agent *a = arg;
	struct json_writer w;
	struct str key;
	size_t at = 0;
	void *worker;

	begin_list(&w, out);
	while (map_next(&a->workers, &at, &key, &worker))
		json_writer_tree(&w, worker_pod(worker)->tree);
	end_list(&w);
}

static void api_put_text(struct json_writer *w, const char *key, struct str value)
{
	json_writer_keyz(w, key);
	json_writer_str(w, value);
}

static void print_runtime_pod(struct json_writer *w, const struct runtime_pod *p)
{
	json_writer_begin_object(w);
	json_writer_keyz(w, "metadata");
	json_writer_begin_object(w);
	api_put_text(w, "name", p->name);
	api_put_text(w, "namespace", p->ns);
	api_put_text(w, "uid", p->uid);
	json_writer_end_object(w);
	json_writer_keyz(w, "spec");
	json_writer_begin_object(w);
	json_writer_keyz(w, "containers");
	json_writer_begin_array(w);
	for (size_t i = 0; i < p->ncontainers; i++) {
		if (p->containers[i].state != RUNTIME_RUNNING)
			continue;
		json_writer_begin_object(w);
		api_put_text(w, "name", p->containers[i].name);
		api_put_text(w, "image", p->containers[i].image);
		json_writer_end_object(w);
	}
	json_writer_end_array(w);
	json_writer_end_object(w);
	json_writer_end_object(w);
}

static void print_running(void *arg, struct buf *out)
{
	const struct agent *a = arg;
	struct json_writer w;
	struct str key;
	size_t at = 0;
	void *worker;

	begin_list(&w, out);
	while (map_next(&a->workers, &at, &key, &worker)) {
		const struct runtime_pod *p = worker_runtime(worker);

		if (p && p->nsandboxes > 0 && p->sandboxes[0].ready)
			print_runtime_pod(&w, p);
	}
	end_list(&w);
}

static int healthy(void *arg, struct error *err)
{
	return agent_check(arg, err);
}

/* --- life ------------------------------------------------------------------------- */

int agent_api_start(struct agent *a, struct error *err)
{
	static const struct kubelet_host host = { .healthy = healthy,
						  .print_pods = print_pods,
						  .print_running = print_running,
						  .find_log = find_log,
						  .is_running = is_running,
						  .find_stream = find_stream };
	const struct agent_api_opts *api = &a->opts.api;
	struct kubelet_server_opts o = { .loop = a->opts.loop,
					 .client = a->opts.client,
					 .node_name = a->opts.node_name,
					 .anonymous = api->anonymous,
					 .log_dir = api->log_dir,
					 .runtime = a->host.runtime,
					 .host = &host,
					 .arg = a,
					 .metrics = a->opts.metrics,
					 .log = a->opts.log };
	int r;

	if (!api->serve)
		return 0;
	o.tls = (struct kubelet_tls_opts){ .cert_file = api->cert_file,
					   .key_file = api->key_file,
					   .client_ca_file = api->client_ca_file,
					   .folder = arena_printf(&a->arena, "%s/pki",
								  a->opts.root_dir),
					   .node_name = str_from(a->opts.node_name),
					   .node_ip = node_object_ip(a->host.node),
					   .clock = loop_clock(a->opts.loop) };
	o.at = api->at;
	r = kubelet_server_new(&o, &a->api, err);
	if (r == 0)
		node_object_set_port(a->host.node, kubelet_server_addr(a->api)->port);
	return r;
}

const struct addr *agent_api_addr(const struct agent *a)
{
	return a->api ? kubelet_server_addr(a->api) : NULL;
}
