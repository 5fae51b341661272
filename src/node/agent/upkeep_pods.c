/*
 * What the upkeep knows about the machine and its pods. As upstream, the disk usage of a pod is
 * that of the file system that is short: containers' layers on that of the images, logs and
 * volumes on that of the agent, or all of it if both are one.
 */
#include <inttypes.h>

#include "base/core/mem.h"
#include "base/json/quantity.h"
#include "base/report/log.h"
#include "node/agent/agent_impl.h"
#include "node/agent/upkeep_impl.h"
#include "node/pod/fit.h"
#include "node/registration/object.h"

void upkeep_figures(struct agent_upkeep *u)
{
	u->machine.imagefs = u->imagefs;
	eviction_figures_read(&u->machine, u->figures);
}

/* --- images ------------------------------------------------------------------------- */

static void upkeep_report_space(struct agent_upkeep *u)
{
	const struct upkeep_removal *r = &u->removal;
	char text[512];

	if (r->all || r->wanted == 0 || (r->wanted > 0 && r->freed >= r->wanted))
		return;
	if (r->wanted < 0) {
		node_object_warn(u->agent->host.node, "InvalidDiskCapacity",
				 "invalid capacity 0 on image filesystem");
		return;
	}
	(void)snprintf(text, sizeof(text),
		       "Insufficient free disk space on the node's image filesystem (%d%% of "
		       "%" PRId64 " bytes used). Failed to free sufficient space by deleting "
		       "unused images (freed %" PRId64 " bytes). Investigate disk usage, as it "
		       "could be used by active images, logs, volumes, or other data.",
		       r->percent, u->figures[EVICTION_IMAGEFS].capacity, r->freed);
	node_object_warn(u->agent->host.node, "FreeDiskSpaceFailed", text);
}

/* As upstream, a single failure is only logged. */
void upkeep_report_images(struct agent_upkeep *u)
{
	const struct upkeep_removal *r = &u->removal;
	bool failed = r->failed > 0;

	if (failed) {
		log_warn(u->agent->opts.log, "cannot remove unused images",
			 LOG_UINT("failures", r->failed), LOG_ERR(&r->failure));
		if (u->images_failed)
			node_object_warn(u->agent->host.node, "ImageGCFailed", r->failure.msg);
	} else {
		upkeep_report_space(u);
	}
	u->images_failed = failed;
}

/* --- pods --------------------------------------------------------------------------- */

static int64_t upkeep_request(const struct json *container, const char *resource)
{
	const struct json *requests = json_getz(json_getz(container, "resources"), "requests");
	struct quantity q;

	if (!quantity_read(json_getz(requests, resource), &q))
		return 0;
	return MAX(0, quantity_value(q));
}

static int64_t upkeep_sum(int64_t a, int64_t b)
{
	return b > 0 && a > INT64_MAX - b ? INT64_MAX : a + MAX(0, b);
}

/* Whether the usage of this kind is on the file system that is short. */
static bool upkeep_counts(const struct agent_upkeep *u, bool layers)
{
	bool image_signal = u->acting.signal == EVICTION_IMAGEFS ||
			    u->acting.signal == EVICTION_IMAGEFS_INODES;

	if (!u->imagefs || eviction_figures_same(u->machine.nodefs, u->imagefs))
		return true;
	return layers == image_signal;
}

static void upkeep_add_folders(const struct agent_upkeep *u, const struct pod *pod, size_t *left,
			       struct eviction_pod *to)
{
	CLEANUP(arena_release) struct arena scratch;
	const struct agent_opts *o = &u->agent->opts;
	size_t own = MIN(*left, UPKEEP_POD_FILES), before = own;

	arena_init(&scratch, SIZE_MAX);
	eviction_figures_usage(
		arena_printf(&scratch, "%s/pods/%.*s", o->root_dir, STR_ARG(pod->uid)), &own,
		&to->disk, &to->inodes);
	eviction_figures_usage(arena_printf(&scratch, "%s/%.*s_%.*s_%.*s", o->log_root,
					    STR_ARG(pod->ns), STR_ARG(pod->name),
					    STR_ARG(pod->uid)),
			       &own, &to->disk, &to->inodes);
	*left -= before - own;
}

static struct eviction_container *upkeep_container(struct eviction_container *v, size_t n,
						   struct str name)
{
	for (size_t i = 0; i < n; i++) {
		if (str_eq(v[i].name, name))
			return &v[i];
	}
	return NULL;
}

static void upkeep_take_containers(const struct pod *pod, struct arena *a, struct eviction_pod *to)
{
	struct pod_containers c = pod_containers(pod);
	struct eviction_container *v;
	size_t n = 0;

	while (pod_containers_next(&c))
		n++;
	v = ARENA_ARRAY(a, struct eviction_container, n);
	c = pod_containers(pod);
	for (n = 0; pod_containers_next(&c); n++) {
		v[n] = (struct eviction_container){
			.name = c.name,
			.memory = -1,
			.disk = -1,
			.memory_request = upkeep_request(c.container, "memory"),
			.disk_request = upkeep_request(c.container, "ephemeral-storage")
		};
		if (c.kind == POD_MAIN || c.kind == POD_SIDECAR)
			to->disk_request = upkeep_sum(to->disk_request, v[n].disk_request);
	}
	to->containers = v;
	to->ncontainers = n;
}

static void upkeep_add_usage(const struct runtime_usage *use, bool layers, struct eviction_pod *to)
{
	struct eviction_container *c = upkeep_container((struct eviction_container *)to->containers,
							to->ncontainers, use->container);

	to->known = true;
	to->memory = upkeep_sum(to->memory, use->memory);
	if (layers) {
		to->disk = upkeep_sum(to->disk, use->disk);
		to->inodes = upkeep_sum(to->inodes, use->inodes);
	}
	if (c) {
		c->memory = use->memory;
		c->disk = use->disk;
	}
}

static void upkeep_take_pod(struct worker *w, struct arena *a, struct eviction_pod *to)
{
	const struct pod *pod = worker_pod(w);

	*to = (struct eviction_pod){ .owner = w,
				     .critical = pod_is_critical(pod),
				     .priority = json_i64_at(pod->spec, "priority", 0),
				     .memory_request = MAX(0, worker_asks(w)->memory) };
	upkeep_take_containers(pod, a, to);
}

size_t upkeep_pods(struct agent_upkeep *u, const struct runtime_usage *v, size_t n, struct arena *a,
		   struct eviction_pod **ret_pods)
{
	struct eviction_pod *pods = ARENA_ARRAY(a, struct eviction_pod, u->agent->workers.n);
	bool disk = u->acting.signal != EVICTION_MEMORY, layers = disk && upkeep_counts(u, true);
	size_t npods = 0, at = 0, left = UPKEEP_FILES;
	struct map by_uid;
	struct str key;
	void *w;

	map_init(&by_uid);
	while (map_next(&u->agent->workers, &at, &key, &w)) {
		if (!worker_evictable(w))
			continue;
		upkeep_take_pod(w, a, &pods[npods]);
		(void)map_put(&by_uid, worker_uid(w), &pods[npods]);
		if (disk && upkeep_counts(u, false))
			upkeep_add_folders(u, worker_pod(w), &left, &pods[npods]);
		npods++;
	}
	for (size_t i = 0; i < n; i++) {
		struct eviction_pod *p = map_get(&by_uid, v[i].pod_uid);

		if (p)
			upkeep_add_usage(&v[i], layers, p);
	}
	map_release(&by_uid);
	*ret_pods = pods;
	return npods;
}

/* --- admission ---------------------------------------------------------------------- */

static bool toleration_fits(const struct json *t)
{
	struct str key = json_text_at(t, "key"), effect = json_text_at(t, "effect");
	struct str operator= json_text_at(t, "operator");
	bool exists = str_eqz(operator, "Exists");

	if (effect.n > 0 && !str_eqz(effect, "NoSchedule"))
		return false;
	if (key.n == 0)
		return exists;
	return str_eqz(key, "node.kubernetes.io/memory-pressure") &&
	       (exists || json_text_at(t, "value").n == 0);
}

bool upkeep_tolerates(const struct pod *pod)
{
	JSON_FOREACH (it, json_getz(pod->spec, "tolerations")) {
		if (toleration_fits(it))
			return true;
	}
	return false;
}
