/*
 * One function per CRI method. Requests that tests inspect are copied by packing and unpacking
 * them.
 */
#include "node/runtime/cri_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/report/metrics.h"
#include "base/system/folder_fixture.h"
#include "grpc/message.h"
#include "net/http/server.h"
#include "net/loop/loop.h"
#include "net/sim/sim.h"
#include "node/runtime/cri.h"

enum { SETTLE_MS = 50, LINGER_MS = 2000 };

/* --- the fake runtime ----------------------------------------------------------------------- */

static void *cri_world_keep(struct cri_world *w, const void *message)
{
	const ProtobufCMessage *m = message;
	struct bytes *packed = grpc_message_pack(m);
	void *copy = NULL;
	struct str wire = str_skip(bytes_str(packed), GRPC_PREFIX);

	assert_int_equal(grpc_message_unpack(m->descriptor, wire, &w->a, &copy, NULL), 0);
	bytes_unref(packed);
	return copy;
}

static size_t cri_world_index_of(const char *id)
{
	return (size_t)strtoul(id + 1, NULL, 10);
}

static char *cri_world_id_of(struct cri_world *w, char kind, size_t i)
{
	return arena_printf(&w->a, "%c%zu", kind, i);
}

static void fake_run_sandbox(struct cri_world *w, struct grpc_call *c, const void *request)
{
	const Cri__RunPodSandboxRequest *m = request;
	Cri__RunPodSandboxResponse r = CRI__RUN_POD_SANDBOX_RESPONSE__INIT;
	struct cri_world_sandbox *s = &w->sandboxes[w->nsandboxes];

	s->config = cri_world_keep(w, m->config);
	s->ready = true;
	r.pod_sandbox_id = cri_world_id_of(w, 's', w->nsandboxes++);
	(void)grpc_call_reply(c, &r.base);
}

static void fake_stop_sandbox(struct cri_world *w, struct grpc_call *c, const void *request)
{
	const Cri__StopPodSandboxRequest *m = request;
	Cri__StopPodSandboxResponse r = CRI__STOP_POD_SANDBOX_RESPONSE__INIT;

	w->sandboxes[cri_world_index_of(m->pod_sandbox_id)].ready = false;
	(void)grpc_call_reply(c, &r.base);
}

static void fake_remove_sandbox(struct cri_world *w, struct grpc_call *c, const void *request)
{
	const Cri__RemovePodSandboxRequest *m = request;
	Cri__RemovePodSandboxResponse r = CRI__REMOVE_POD_SANDBOX_RESPONSE__INIT;

	w->sandboxes[cri_world_index_of(m->pod_sandbox_id)].removed = true;
	(void)grpc_call_reply(c, &r.base);
}

static void fake_list_sandboxes(struct cri_world *w, struct grpc_call *c, const void *request)
{
	Cri__ListPodSandboxResponse r = CRI__LIST_POD_SANDBOX_RESPONSE__INIT;
	Cri__PodSandbox *items[CRI_WORLD_THINGS_MAX];

	(void)request;
	r.items = items;
	for (size_t i = 0; i < w->nsandboxes; i++) {
		Cri__PodSandbox *s;

		if (w->sandboxes[i].removed)
			continue;
		s = items[r.n_items++] = ARENA_NEW(&w->a, Cri__PodSandbox);
		cri__pod_sandbox__init(s);
		s->id = cri_world_id_of(w, 's', i);
		s->metadata = w->sandboxes[i].config->metadata;
		s->state = w->sandboxes[i].ready ? 0 : 1;
		s->created_at = 1000 + (int64_t)i;
	}
	(void)grpc_call_reply(c, &r.base);
}

static void fake_sandbox_status(struct cri_world *w, struct grpc_call *c, const void *request)
{
	const Cri__PodSandboxStatusRequest *m = request;
	Cri__PodSandboxStatusResponse r = CRI__POD_SANDBOX_STATUS_RESPONSE__INIT;
	Cri__PodSandboxStatus st = CRI__POD_SANDBOX_STATUS__INIT;
	Cri__PodSandboxNetworkStatus net = CRI__POD_SANDBOX_NETWORK_STATUS__INIT;

	net.ip = (char *)"10.0.0.5";
	st.id = m->pod_sandbox_id;
	st.state = w->sandboxes[cri_world_index_of(m->pod_sandbox_id)].ready ? 0 : 1;
	st.network = &net;
	r.status = &st;
	(void)grpc_call_reply(c, &r.base);
}

static void fake_create(struct cri_world *w, struct grpc_call *c, const void *request)
{
	const Cri__CreateContainerRequest *m = request;
	Cri__CreateContainerResponse r = CRI__CREATE_CONTAINER_RESPONSE__INIT;
	struct cri_world_container *k = &w->containers[w->ncontainers];

	k->config = cri_world_keep(w, m->config);
	(void)snprintf(k->sandbox, sizeof(k->sandbox), "%s", m->pod_sandbox_id);
	r.container_id = cri_world_id_of(w, 'c', w->ncontainers++);
	(void)grpc_call_reply(c, &r.base);
}

static void fake_start(struct cri_world *w, struct grpc_call *c, const void *request)
{
	const Cri__StartContainerRequest *m = request;
	Cri__StartContainerResponse r = CRI__START_CONTAINER_RESPONSE__INIT;

	w->containers[cri_world_index_of(m->container_id)].state = RUNTIME_RUNNING;
	(void)grpc_call_reply(c, &r.base);
}

static void fake_stop(struct cri_world *w, struct grpc_call *c, const void *request)
{
	const Cri__StopContainerRequest *m = request;
	Cri__StopContainerResponse r = CRI__STOP_CONTAINER_RESPONSE__INIT;

	w->containers[cri_world_index_of(m->container_id)].state = RUNTIME_EXITED;
	w->containers[cri_world_index_of(m->container_id)].exit_code = 143;
	w->stop_timeout = m->timeout;
	(void)grpc_call_reply(c, &r.base);
}

static void fake_remove(struct cri_world *w, struct grpc_call *c, const void *request)
{
	const Cri__RemoveContainerRequest *m = request;
	Cri__RemoveContainerResponse r = CRI__REMOVE_CONTAINER_RESPONSE__INIT;

	w->containers[cri_world_index_of(m->container_id)].removed = true;
	(void)grpc_call_reply(c, &r.base);
}

static void fake_list_containers(struct cri_world *w, struct grpc_call *c, const void *request)
{
	Cri__ListContainersResponse r = CRI__LIST_CONTAINERS_RESPONSE__INIT;
	Cri__Container *items[CRI_WORLD_THINGS_MAX];

	(void)request;
	r.containers = items;
	for (size_t i = 0; i < w->ncontainers; i++) {
		struct cri_world_container *k = &w->containers[i];
		Cri__Container *m;

		if (k->removed)
			continue;
		m = items[r.n_containers++] = ARENA_NEW(&w->a, Cri__Container);
		cri__container__init(m);
		m->id = cri_world_id_of(w, 'c', i);
		m->pod_sandbox_id = k->sandbox;
		m->metadata = k->config->metadata;
		m->state = (Cri__ContainerState)k->state;
		m->created_at = 2000 + (int64_t)i;
		m->labels = k->config->labels;
		m->n_labels = k->config->n_labels;
		m->annotations = k->config->annotations;
		m->n_annotations = k->config->n_annotations;
	}
	(void)grpc_call_reply(c, &r.base);
}

static void fake_container_status(struct cri_world *w, struct grpc_call *c, const void *request)
{
	const Cri__ContainerStatusRequest *m = request;
	struct cri_world_container *k = &w->containers[cri_world_index_of(m->container_id)];
	Cri__ContainerStatusResponse r = CRI__CONTAINER_STATUS_RESPONSE__INIT;
	Cri__ContainerStatus st = CRI__CONTAINER_STATUS__INIT;
	Cri__Mount mount = CRI__MOUNT__INIT, *mounts = &mount;

	st.id = m->container_id;
	st.state = (Cri__ContainerState)k->state;
	st.created_at = 2000;
	st.started_at = 3000;
	st.finished_at = 4000;
	st.exit_code = k->exit_code;
	st.reason = (char *)(k->exit_code ? "Error" : "Completed");
	st.image = k->config->image;
	st.image_ref = (char *)"sha256:abc";
	st.annotations = k->config->annotations;
	st.n_annotations = k->config->n_annotations;
	st.log_path = w->log_path ? w->log_path : (char *)"/none";
	if (w->mount_host) {
		mount.container_path = (char *)"/dev/termination-log";
		mount.host_path = w->mount_host;
		st.mounts = &mounts;
		st.n_mounts = 1;
	}
	r.status = &st;
	(void)grpc_call_reply(c, &r.base);
}

static void fake_exec(struct cri_world *w, struct grpc_call *c, const void *request)
{
	const Cri__ExecSyncRequest *m = request;
	Cri__ExecSyncResponse r = CRI__EXEC_SYNC_RESPONSE__INIT;

	w->exec_timeout = m->timeout;
	r.out.data = (uint8_t *)m->cmd[0];
	r.out.len = strlen(m->cmd[0]);
	r.exit_code = 3;
	(void)grpc_call_reply(c, &r.base);
}

static void fake_exec_stream(struct cri_world *w, struct grpc_call *c, const void *request)
{
	const Cri__ExecRequest *m = request;
	Cri__ExecResponse r = CRI__EXEC_RESPONSE__INIT;

	r.url = arena_printf(&w->a, "http://127.0.0.1:1/exec/%s/%s/%d%d%d%d", m->container_id,
			     m->cmd[0], m->tty, m->with_in, m->with_out, m->with_err);
	(void)grpc_call_reply(c, &r.base);
}

static void fake_attach_stream(struct cri_world *w, struct grpc_call *c, const void *request)
{
	const Cri__AttachRequest *m = request;
	Cri__AttachResponse r = CRI__ATTACH_RESPONSE__INIT;

	r.url = arena_printf(&w->a, "http://127.0.0.1:1/attach/%s/%d%d%d%d", m->container_id,
			     m->tty, m->with_in, m->with_out, m->with_err);
	(void)grpc_call_reply(c, &r.base);
}

static void fake_port_forward(struct cri_world *w, struct grpc_call *c, const void *request)
{
	const Cri__PortForwardRequest *m = request;
	Cri__PortForwardResponse r = CRI__PORT_FORWARD_RESPONSE__INIT;

	r.url = arena_printf(&w->a, "http://127.0.0.1:1/portforward/%s/%d", m->pod_sandbox_id,
			     m->n_port > 0 ? m->port[0] : 0);
	(void)grpc_call_reply(c, &r.base);
}

static void fake_reopen(struct cri_world *w, struct grpc_call *c, const void *request)
{
	Cri__ReopenContainerLogResponse r = CRI__REOPEN_CONTAINER_LOG_RESPONSE__INIT;

	(void)w;
	(void)request;
	(void)grpc_call_reply(c, &r.base);
}

static void fake_update(struct cri_world *w, struct grpc_call *c, const void *request)
{
	const Cri__UpdateContainerResourcesRequest *m = request;
	Cri__UpdateContainerResourcesResponse r = CRI__UPDATE_CONTAINER_RESOURCES_RESPONSE__INIT;

	assert_int_equal(m->linux_config->cpu_shares, 0);
	(void)snprintf(w->containers[cri_world_index_of(m->container_id)].cpus,
		       sizeof(w->containers[0].cpus), "%s", m->linux_config->cpuset_cpus);
	(void)grpc_call_reply(c, &r.base);
}

static void fake_image(struct cri_world *w, struct grpc_call *c, const void *request)
{
	Cri__ImageStatusResponse r = CRI__IMAGE_STATUS_RESPONSE__INIT;
	Cri__Image image = CRI__IMAGE__INIT;

	w->image = cri_world_keep(w, request);
	image.id = (char *)"sha256:def";
	if (w->with_user)
		image.username = (char *)"worker";
	if (!strstr(w->image->image->image, "absent"))
		r.image = &image;
	(void)grpc_call_reply(c, &r.base);
}

static void fake_pull(struct cri_world *w, struct grpc_call *c, const void *request)
{
	Cri__PullImageResponse r = CRI__PULL_IMAGE_RESPONSE__INIT;

	w->pull = cri_world_keep(w, request);
	r.image_ref = (char *)"sha256:def";
	(void)grpc_call_reply(c, &r.base);
}

/* The image of sandboxes by its configured name, one that is pinned, and one that is neither. */
static void fake_images(struct cri_world *w, struct grpc_call *c, const void *request)
{
	Cri__ListImagesResponse r = CRI__LIST_IMAGES_RESPONSE__INIT;
	Cri__Image pause = CRI__IMAGE__INIT, pinned = CRI__IMAGE__INIT, plain = CRI__IMAGE__INIT;
	Cri__Image *images[] = { &pause, &pinned, &plain };
	char *pause_tag = (char *)"docker.io/library/pause:1", *digest = (char *)"x@sha256:7";

	(void)w;
	(void)request;
	pause.id = (char *)"sha256:1";
	pause.repo_tags = &pause_tag;
	pause.n_repo_tags = 1;
	pinned.id = (char *)"sha256:2";
	pinned.pinned = true;
	plain.id = (char *)"sha256:3";
	plain.repo_digests = &digest;
	plain.n_repo_digests = 1;
	plain.size = UINT64_MAX;
	r.images = images;
	r.n_images = 3;
	(void)grpc_call_reply(c, &r.base);
}

static void fake_image_fs(struct cri_world *w, struct grpc_call *c, const void *request)
{
	Cri__ImageFsInfoResponse r = CRI__IMAGE_FS_INFO_RESPONSE__INIT;
	Cri__FilesystemUsage fs = CRI__FILESYSTEM_USAGE__INIT, *all = &fs;
	Cri__FilesystemIdentifier id = CRI__FILESYSTEM_IDENTIFIER__INIT;

	(void)w;
	(void)request;
	id.mountpoint = (char *)"/images";
	fs.fs_id = &id;
	r.image_filesystems = &all;
	r.n_image_filesystems = 1;
	(void)grpc_call_reply(c, &r.base);
}

static void fake_remove_image(struct cri_world *w, struct grpc_call *c, const void *request)
{
	const Cri__RemoveImageRequest *m = request;
	Cri__RemoveImageResponse r = CRI__REMOVE_IMAGE_RESPONSE__INIT;

	(void)w;
	assert_string_equal(m->image->image, "sha256:3");
	(void)grpc_call_reply(c, &r.base);
}

/* One container with all figures, and one without any. */
static void fake_stats(struct cri_world *w, struct grpc_call *c, const void *request)
{
	Cri__ListContainerStatsResponse r = CRI__LIST_CONTAINER_STATS_RESPONSE__INIT;
	Cri__ContainerStats full = CRI__CONTAINER_STATS__INIT, bare = CRI__CONTAINER_STATS__INIT;
	Cri__ContainerStats *all[] = { &full, &bare };
	Cri__ContainerAttributes about = CRI__CONTAINER_ATTRIBUTES__INIT;
	Cri__MemoryUsage memory = CRI__MEMORY_USAGE__INIT;
	Cri__FilesystemUsage disk = CRI__FILESYSTEM_USAGE__INIT;
	Cri__UInt64Value bytes = CRI__UINT64_VALUE__INIT, used = CRI__UINT64_VALUE__INIT;
	Cri__Pair uid = CRI__PAIR__INIT, *labels = &uid;

	(void)w;
	(void)request;
	uid.key = (char *)RUNTIME_LABEL_POD_UID;
	uid.value = (char *)"u1";
	about.labels = &labels;
	about.n_labels = 1;
	bytes.value = 4096;
	used.value = 512;
	memory.working_set_bytes = &bytes;
	disk.used_bytes = &used;
	full.attributes = &about;
	full.memory = &memory;
	full.writable_layer = &disk;
	r.stats = all;
	r.n_stats = 2;
	(void)grpc_call_reply(c, &r.base);
}

static void fake_version(struct cri_world *w, struct grpc_call *c, const void *request)
{
	Cri__VersionResponse r = CRI__VERSION_RESPONSE__INIT;

	(void)request;
	r.runtime_name = (char *)w->name;
	r.runtime_version = (char *)w->version;
	(void)grpc_call_reply(c, &r.base);
}

static void fake_status(struct cri_world *w, struct grpc_call *c, const void *request)
{
	const Cri__StatusRequest *m = request;
	Cri__StatusResponse r = CRI__STATUS_RESPONSE__INIT;
	Cri__RuntimeStatus st = CRI__RUNTIME_STATUS__INIT;
	Cri__RuntimeCondition runtime = CRI__RUNTIME_CONDITION__INIT;
	Cri__RuntimeCondition network = CRI__RUNTIME_CONDITION__INIT;
	Cri__RuntimeCondition *conditions[] = { &runtime, &network };
	Cri__Pair info = CRI__PAIR__INIT, *infos = &info;

	runtime.type = (char *)"RuntimeReady";
	runtime.status = true;
	network.type = (char *)"NetworkReady";
	network.status = !w->network_down;
	network.reason = (char *)"NetworkPluginNotReady";
	network.message = (char *)"cni plugin not initialized";
	st.conditions = conditions;
	st.n_conditions = 2;
	r.status = &st;
	info.key = (char *)"config";
	info.value = (char *)w->config;
	if (m->verbose && w->config) {
		r.info = &infos;
		r.n_info = 1;
	}
	(void)grpc_call_reply(c, &r.base);
}

static void (*const fakes[CRI_METHODS])(struct cri_world *w, struct grpc_call *c,
					const void *request) = {
	[CRI_VERSION] = fake_version,
	[CRI_STATUS] = fake_status,
	[CRI_RUN_SANDBOX] = fake_run_sandbox,
	[CRI_STOP_SANDBOX] = fake_stop_sandbox,
	[CRI_REMOVE_SANDBOX] = fake_remove_sandbox,
	[CRI_SANDBOX_STATUS] = fake_sandbox_status,
	[CRI_LIST_SANDBOXES] = fake_list_sandboxes,
	[CRI_CREATE] = fake_create,
	[CRI_START] = fake_start,
	[CRI_STOP] = fake_stop,
	[CRI_REMOVE] = fake_remove,
	[CRI_LIST_CONTAINERS] = fake_list_containers,
	[CRI_CONTAINER_STATUS] = fake_container_status,
	[CRI_EXEC] = fake_exec,
	[CRI_EXEC_STREAM] = fake_exec_stream,
	[CRI_ATTACH_STREAM] = fake_attach_stream,
	[CRI_PORT_FORWARD] = fake_port_forward,
	[CRI_REOPEN_LOG] = fake_reopen,
	[CRI_UPDATE] = fake_update,
	[CRI_IMAGE_STATUS] = fake_image,
	[CRI_PULL] = fake_pull,
	[CRI_LIST_IMAGES] = fake_images,
	[CRI_REMOVE_IMAGE] = fake_remove_image,
	[CRI_IMAGE_FS] = fake_image_fs,
	[CRI_STATS] = fake_stats,
};

static void cri_world_on_request(struct grpc_call *c, const void *request)
{
	struct cri_world *w = grpc_call_service(c);
	enum cri_method m = 0;

	while (cri_method(m) != grpc_call_method(c))
		m++;
	w->calls[m]++;
	if (w->hold_method == (int)m)
		return;
	if (w->fail_method == (int)m)
		(void)grpc_call_finish(c, w->fail_code, str_from(w->fail_text));
	else
		fakes[m](w, c, request);
}

/* --- the world ------------------------------------------------------------------------------ */

static void cri_world_handle(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	grpc_server_handle(((struct cri_world *)arg)->grpc, s);
}

static void cri_world_on_change(void *arg, struct str uid)
{
	struct cri_world *w = arg;

	w->changes++;
	(void)snprintf(w->changed, sizeof(w->changed), "%.*s", STR_ARG(uid));
}

void cri_world_init(struct cri_world *w)
{
	struct sim_opts so = { .seed = 7 };
	struct runtime_cri_opts opts = { .endpoint = "unix:///run/fake.sock" };
	struct http_server_opts http = { .nloops = 1, .handler = cri_world_handle, .arg = w };
	struct addr at;

	*w = (struct cri_world){ 0 };
	w->name = "containerd";
	w->version = "1.6.20";
	w->fail_method = w->hold_method = -1;
	arena_init(&w->a, SIZE_MAX);
	(void)snprintf(w->root, sizeof(w->root), "/tmp/runtime_cri_test.XXXXXX");
	assert_non_null(mkdtemp(w->root));
	w->sim = sim_new(&so);
	w->server_loop = sim_loop_new(w->sim, "runtime");
	w->client_loop = sim_loop_new(w->sim, "agent");
	w->grpc = grpc_server_new(NULL);
	for (size_t i = 0; i < CRI_METHODS; i++)
		w->rows[i] = (struct grpc_handler){ .method = cri_method(i),
						    .on_request = cri_world_on_request };
	grpc_server_add(w->grpc, w->rows, CRI_METHODS, w);
	http.loops = &w->server_loop;
	w->http = http_server_new(&http);
	assert_int_equal(addr_parse(&at, STR("unix:/run/fake.sock"), 0, NULL), 0);
	assert_int_equal(http_server_listen(w->http, &at, NULL, 0, NULL, NULL), 0);
	w->metrics = metrics_new();
	opts.loop = w->client_loop;
	opts.metrics = w->metrics;
	assert_int_equal(runtime_cri_new(&opts, &w->runtime, NULL), 0);
	w->runtime->on_change = cri_world_on_change;
	w->runtime->arg = w;
}

void cri_world_run(struct cri_world *w, int64_t ms)
{
	sim_run_for(w->sim, ms);
}

void cri_world_settle(struct cri_world *w)
{
	sim_run_for(w->sim, SETTLE_MS);
}

static void drained(void *arg)
{
	*(bool *)arg = true;
}

void cri_world_release(struct cri_world *w)
{
	bool done = false;

	runtime_free(w->runtime);
	cri_world_settle(w);
	http_server_drain(w->http, 0, drained, &done);
	sim_run_for(w->sim, LINGER_MS);
	assert_true(done);
	http_server_free(w->http);
	loop_free(w->client_loop);
	loop_free(w->server_loop);
	grpc_server_free(w->grpc);
	sim_free(w->sim);
	metrics_free(w->metrics);
	folder_fixture_remove(w->root);
	arena_release(&w->a);
}
