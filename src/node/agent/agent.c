/*
 * Creates the parts, and frees them in reverse order. Callbacks of the parts find the worker that
 * they concern; decisions are made elsewhere.
 */
#include "node/agent/agent.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "base/system/file.h"
#include "client/events/recorder.h"
#include "node/agent/agent_impl.h"
#include "node/agent/statics.h"
#include "node/agent/upkeep.h"
#include "node/claims/claims.h"
#include "node/host/saver.h"
#include "node/kubelet/server.h"
#include "node/node_limits.h"
#include "node/plugins/plugins.h"
#include "node/probes/probes.h"
#include "node/registration/object.h"
#include "node/registration/slice_cleaner.h"
#include "node/runtime/cri.h"
#include "node/runtime/hollow.h"
#include "node/sources/sources.h"
#include "node/status/device_status.h"
#include "node/status/writer.h"
#include "node/volumes/volumes.h"

enum {
	EVENTS_KNOWN_MAX = 512, /* a few for each pod of a node */
	RUNTIME_SILENT_MS = 180 * 1000, /* kubelet's threshold for the runtime's silence */
};

/* --- callbacks of parts ------------------------------------------------------------ */

static void on_sources_changed(void *arg, struct str pod_uid)
{
	struct worker *w = agent_worker(arg, pod_uid);

	if (w)
		worker_sources_changed(w);
}

static void on_probed(void *arg, struct str pod_uid, struct str container_id,
		      enum lifecycle_probe probe, bool good, struct str message)
{
	struct worker *w = agent_worker(arg, pod_uid);

	if (w)
		worker_probed(w, container_id, probe, good, message);
}

static void on_probe_failed(void *arg, struct str pod_uid, struct str container,
			    enum lifecycle_probe probe, struct str message)
{
	struct worker *w = agent_worker(arg, pod_uid);

	(void)probe;
	if (w)
		worker_probe_failed(w, container, message);
}

static void on_probe_warned(void *arg, struct str pod_uid, struct str container,
			    enum lifecycle_probe probe, struct str message)
{
	struct worker *w = agent_worker(arg, pod_uid);

	(void)probe;
	if (w)
		worker_probe_warned(w, container, message);
}

static void on_refused(void *arg, struct str pod_uid, const struct error *err)
{
	struct agent *a = arg;
	struct worker *w = agent_worker(a, pod_uid);

	log_error(a->opts.log, "the server rejected a pod's status", LOG_STR("uid", pod_uid),
		  LOG_ERR(err));
	if (w)
		worker_problem(w, "FailedUpdateStatus", str_from(err->msg));
}

static void agent_on_node(void *arg, const struct json *node)
{
	struct agent *a = arg;

	arena_clear(&a->node_arena);
	a->node = NULL;
	(void)json_copy(&a->node_arena, node, &a->node, NULL);
	/* While the agent ends, parts are gone. */
	if (a->statics)
		agent_statics_follow(a->statics);
	if (a->host.volumes)
		volumes_set_allocatable(a->host.volumes, node_object_cpu_milli(a->host.node),
					node_object_memory(a->host.node));
}

/* --- parts ------------------------------------------------------------------------ */

static int make_folder(const char *path, struct error *err)
{
	if (mkdir(path, 0750) < 0 && errno != EEXIST)
		return error_set_errno(err, ERR_IO, errno, "cannot make the folder %s", path);
	return 0;
}

static int make_runtime(struct agent *a, struct error *err)
{
	struct runtime_cri_opts cri = { .loop = a->opts.loop,
					.endpoint = a->opts.runtime_endpoint,
					.metrics = a->opts.metrics,
					.log = a->opts.log };

	if (a->opts.runtime_endpoint)
		return runtime_cri_new(&cri, &a->host.runtime, err);
	a->host.runtime = runtime_hollow_new(a->opts.loop, a->opts.hollow_net);
	return 0;
}

static void agent_make_metrics(struct agent *a)
{
	struct metrics_family *f;

	if (!a->opts.metrics)
		return;
	if (metrics_register(a->opts.metrics,
			     &(struct metrics_spec){
				     .name = "devplane_node_pod_status_problems_total",
				     .help = "Pod statuses that could not be computed or written.",
				     .type = METRICS_COUNTER },
			     &f, NULL) == 0)
		a->host.problems = metrics_counter_of(f, NULL, 0);
	if (metrics_register(a->opts.metrics,
			     &(struct metrics_spec){
				     .name = "devplane_node_device_health_changes_total",
				     .help = "Changes of device health that device plugins and DRA "
					     "drivers reported.",
				     .type = METRICS_COUNTER },
			     &f, NULL) == 0)
		a->health_changes = metrics_counter_of(f, NULL, 0);
}

static int make_state(struct agent *a, struct error *err)
{
	struct assign_opts assign = a->opts.assign;
	struct health_opts health = { .on_change = agent_health_changed, .arg = a };
	int r;

	r = agent_read_machine(a, &a->machine, err);
	if (r < 0)
		return r;
	assign.machine = &a->machine;
	assign.reserved_cpu_milli = a->opts.reserved_cpu_milli;
	r = assign_new(&assign, &a->host.assign, err);
	if (r < 0)
		return r;
	assign_add_watcher(a->host.assign, &a->watcher);
	a->host.health = health_new(&health);
	a->host.events = device_events_new();
	return agent_load(a, err);
}

static int make_node(struct agent *a, struct error *err)
{
	const struct agent_opts *o = &a->opts;
	struct recorder_opts recorder = {
		.client = o->client,
		.component = "kubelet",
		.instance = o->node_name,
		.known_max = EVENTS_KNOWN_MAX,
		.log = o->log,
	};
	struct node_object_opts node = {
		.loop = o->loop,
		.client = o->client,
		.name = o->node_name,
		.node_ip = o->node_ip,
		.labels = o->labels,
		.nlabels = o->nlabels,
		.taints = o->taints,
		.ntaints = o->ntaints,
		.register_node = true,
		.max_pods = o->max_pods,
		.root_dir = o->root_dir,
		.machine = &a->machine,
		.assign = a->host.assign,
		.health = gates_on(&o->gates, GATE_ResourceHealthStatus) ? a->host.health : NULL,
		.reserved_cpu_milli = o->reserved_cpu_milli,
		.reserved_memory = o->reserved_memory,
		.hollow = !o->runtime_endpoint,
		.on_node = agent_on_node,
		.arg = a,
		.log = o->log,
	};

	a->host.recorder = recorder_new(&recorder);
	node.recorder = a->host.recorder;
	return node_object_new(&node, &a->host.node, err);
}

static void make_pod_parts(struct agent *a)
{
	const struct agent_opts *o = &a->opts;
	struct worker_host *h = &a->host;

	h->sources = sources_new(&(struct sources_opts){
		.loop = o->loop, .client = o->client, .on_change = on_sources_changed, .arg = a });
	h->volumes = volumes_new(
		&(struct volumes_opts){ .loop = o->loop,
					.root_dir = o->root_dir,
					.sources = h->sources,
					.node_name = str_from(o->node_name),
					.host_ip = node_object_ip(h->node),
					.cluster_domain = h->sandbox.cluster_domain,
					.etc_dir = o->etc,
					.log = o->log });
	h->probes = probes_new(&(struct probes_opts){ .loop = o->loop,
						      .runtime = h->runtime,
						      .on_outcome = on_probed,
						      .on_failure = on_probe_failed,
						      .on_warning = on_probe_warned,
						      .arg = a });
	h->writer = status_writer_new(&(struct status_writer_opts){ .loop = o->loop,
								    .client = o->client,
								    .on_refused = on_refused,
								    .arg = a,
								    .metrics = o->metrics });
	h->claims = claims_new(&(struct claims_opts){ .loop = o->loop,
						      .client = o->client,
						      .assign = h->assign,
						      .plugins = h->plugins,
						      .save = agent_save,
						      .pod_active = agent_pod_active,
						      .pod_here = agent_pod_here,
						      .arg = a,
						      .metrics = o->metrics,
						      .log = o->log });
}

static int make_plugins(struct agent *a, struct error *err)
{
	struct plugins_opts p = {
		.loop = a->opts.loop,
		.root_dir = a->opts.root_dir,
		.watch_health = gates_on(&a->opts.gates, GATE_ResourceHealthStatus),
		.events = &agent_plugin_events,
		.arg = a,
		.metrics = a->opts.metrics,
		.log = a->opts.log,
	};

	return plugins_new(&p, &a->host.plugins, err);
}

/* Without a resolv.conf, pods get the runtime's settings. */
static void read_dns(struct agent *a)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(RESOLV_CONF_MAX);
	const struct agent_opts *o = &a->opts;
	struct sandbox_parts *parts = &a->host.sandbox;
	const char *path = o->resolv_conf ? o->resolv_conf
					  : arena_printf(&a->arena, "%s/resolv.conf",
							 o->etc ? o->etc : "/etc");
	struct str *dns = arena_calloc(&a->arena, (o->ncluster_dns + 1) * sizeof(*dns));

	for (size_t i = 0; i < o->ncluster_dns; i++)
		dns[i] = str_from(o->cluster_dns[i]);
	parts->cluster_dns = (struct runtime_strs){ dns, o->ncluster_dns };
	parts->cluster_domain = o->cluster_domain ? str_from(o->cluster_domain) : STR_NULL;
	parts->log_root = str_from(o->log_root);
	if (file_read(path, &text, NULL) == 0)
		container_config_resolv(arena_str(&a->arena, buf_str(&text)), &a->arena, parts);
	a->host.seccomp_root = str_from(arena_printf(&a->arena, "%s/seccomp", o->root_dir));
	a->host.seccomp_default = !o->no_seccomp_default;
}

static int make_parts(struct agent *a, struct error *err)
{
	int r;

	r = make_folder(a->opts.root_dir, err);
	if (r == 0)
		r = make_state(a, err);
	if (r == 0)
		r = make_runtime(a, err);
	if (r == 0)
		r = make_node(a, err);
	if (r == 0)
		r = make_plugins(a, err);
	if (r == 0)
		r = agent_podres_start(a, err);
	if (r == 0)
		r = agent_api_start(a, err);
	if (r < 0)
		return r;
	read_dns(a);
	a->informers = informers_new(a->opts.client, NULL);
	make_pod_parts(a);
	a->cleaner = slice_cleaner_new(&(struct slice_cleaner_opts){ .loop = a->opts.loop,
								     .client = a->opts.client,
								     .node_name = a->opts.node_name,
								     .log = a->opts.log });
	slice_cleaner_all(a->cleaner);
	agent_pods_start(a);
	a->upkeep = agent_upkeep_new(a);
	agent_statics_start(a->statics);
	agent_logs_start(a);
	informers_start(a->informers);
	return 0;
}

static void on_stop_timer(struct loop_timer *t);

/* --- life ------------------------------------------------------------------------- */

int agent_new(const struct agent_opts *opts, struct agent **ret_agent, struct error *err)
{
	struct agent *a = XNEW(struct agent);
	int r;

	a->opts = *opts;
	arena_init(&a->arena, REQUEST_WORK_MAX);
	arena_init(&a->node_arena, REQUEST_WORK_MAX);
	if (!a->opts.log_root)
		a->opts.log_root = "/var/log/pods";
	a->host = (struct worker_host){ .loop = opts->loop,
					.gates = &a->opts.gates,
					.log = opts->log,
					.cdi_dirs = opts->cdi_dirs,
					.node_name = opts->node_name,
					.client = opts->client,
					.policy = opts->device_policy,
					.id_prefix = STR("containerd"),
					.hollow = !opts->runtime_endpoint,
					.save = agent_save,
					.fits = agent_fits,
					.relist = agent_relist,
					.over = agent_worker_over,
					.settling = agent_settling,
					.recovering = agent_recovering,
					.arg = a };
	a->assign_path = arena_printf(&a->arena, "%s/devplane_assign_state", opts->root_dir);
	a->health_path = arena_printf(&a->arena, "%s/devplane_health_state", opts->root_dir);
	loop_timer_init(&a->stop_timer, opts->loop, on_stop_timer);
	agent_pods_init(a);
	a->statics = agent_statics_new(a, opts->manifest_path, opts->manifest_period_ms);
	agent_devices_init(a);
	agent_machine_init(a);
	agent_make_metrics(a);
	r = make_parts(a, err);
	if (r < 0) {
		agent_free(a);
		return r;
	}
	*ret_agent = a;
	return 0;
}

/* Stops everything that acts on its own; after this nothing calls back into the agent. */
static void silence(struct agent *a)
{
	loop_timer_stop(&a->stop_timer);
	slice_cleaner_free(TAKE(a->cleaner));
	if (a->pods)
		informer_remove_handler(&a->handler);
	a->pods = NULL;
	agent_statics_free(TAKE(a->statics));
	claims_free(TAKE(a->host.claims));
	probes_free(TAKE(a->host.probes));
	volumes_free(TAKE(a->host.volumes));
	sources_free(TAKE(a->host.sources));
	runtime_free(TAKE(a->host.runtime));
	agent_upkeep_free(TAKE(a->upkeep));
	agent_logs_release(a);
	agent_pods_release(a);
	agent_devices_release(a);
	agent_machine_release(a);
}

static void on_plugins_closed(void *arg)
{
	struct agent *a = arg;

	a->closing = false;
	if (a->freed)
		free(a);
	else
		podres_server_close(TAKE(a->podres), a->stopped, a->stopped_arg);
}

/* Closes the plugins at once: their replies have no receiver any more. */
static void on_api_closed(void *arg)
{
	struct agent *a = arg;

	silence(a);
	a->closing = true;
	plugins_close(TAKE(a->host.plugins), on_plugins_closed, a);
}

/* Waits for saves and log rotations first; until then log readers can still use the API. */
static void on_stop_timer(struct loop_timer *t)
{
	struct agent *a = CONTAINER_OF(t, struct agent, stop_timer);

	if (!list_empty(&a->savings) || a->waiters.n > 0 || saver_pending(a->opts.saver) > 0 ||
	    agent_logs_pending(a)) {
		loop_timer_start(t, 1);
		return;
	}
	if (a->api)
		kubelet_server_close(a->api, on_api_closed, a);
	else
		on_api_closed(a);
}

void agent_stop(struct agent *a, void (*done)(void *arg), void *arg)
{
	a->stopping = true;
	a->stopped = done;
	a->stopped_arg = arg;
	informers_stop(a->informers);
	agent_save_health(a);
	agent_logs_stop(a);
	loop_timer_start(&a->stop_timer, 0);
}

void agent_free(struct agent *a)
{
	if (!a)
		return;
	silence(a);
	kubelet_server_free(a->api);
	agent_podres_release(a);
	plugins_free(a->host.plugins);
	status_writer_free(a->host.writer);
	informers_free(a->informers);
	node_object_free(a->host.node);
	recorder_free(a->host.recorder);
	device_events_free(a->host.events);
	health_free(a->host.health);
	assign_free(a->host.assign);
	machine_release(&a->machine);
	map_release(&a->workers);
	arena_release(&a->node_arena);
	arena_release(&a->arena);
	a->freed = true;
	if (!a->closing) /* else on_plugins_closed() frees it */
		free(a);
}

/* --- health of the agent itself --------------------------------------------------- */

void agent_set_pod_level(struct agent *a, bool known)
{
	a->host.pod_level = known;
	agent_refresh_all(a);
}

int agent_check(const struct agent *a, struct error *err)
{
	int64_t silent_ms = loop_now(a->opts.loop) - a->runtime_heard_ms;

	if (a->unsaved.code)
		return error_set(err, ERR_IO, "the state of devices cannot be saved: %.400s",
				 a->unsaved.msg);
	if (a->health_unsaved.code)
		return error_set(err, ERR_IO, "the state of health cannot be saved: %.400s",
				 a->health_unsaved.msg);
	if (silent_ms > RUNTIME_SILENT_MS)
		return error_set(err, ERR_UNAVAILABLE,
				 "the container runtime has not answered for %" PRId64 " s",
				 silent_ms / 1000);
	return 0;
}

int agent_check_ready(const struct agent *a, struct error *err)
{
	if (!node_object_registered(a->host.node))
		return error_set(err, ERR_UNAVAILABLE, "the node is not registered yet");
	if (!a->pods || !informer_synced(a->pods))
		return error_set(err, ERR_UNAVAILABLE, "the node's pods are not known yet");
	if (!a->runtime_ready)
		return error_set(err, ERR_UNAVAILABLE, "the container runtime is not ready");
	return 0;
}
