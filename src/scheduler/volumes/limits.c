/*
 * NodeVolumeLimits: how many volumes of a CSI driver can be attached to a node (CSINode), against
 * those that its pods use, those that are still attached, and those that the pod would bring. A
 * volume that several pods use counts once. Volumes of kinds from before CSI are not counted.
 */
#include "base/core/map.h"
#include "client/informer/cache.h"
#include "scheduler/cycle/cycle.h"
#include "scheduler/framework/common.h"
#include "scheduler/volumes/volumes.h"

/* A volume, by driver and handle. */
struct attachable {
	struct str driver, handle;
	char key[]; /* "driver/handle" */
};

/* Volumes that are counted on one node, each once. */
struct attached {
	const struct services *services;
	struct arena *arena;
	struct map all; /* of struct attachable */
};

static void attach(struct attached *t, struct str driver, struct str handle)
{
	struct attachable *v;
	struct str key;

	if (driver.n == 0 || handle.n == 0)
		return;
	v = arena_alloc(t->arena, sizeof(*v) + driver.n + 1 + handle.n);
	str_put(v->key, driver);
	v->key[driver.n] = '/';
	str_put(v->key + driver.n + 1, handle);
	v->driver = str_of(v->key, driver.n);
	v->handle = str_of(v->key + driver.n + 1, handle.n);
	key = str_of(v->key, driver.n + 1 + handle.n);
	if (!map_get(&t->all, key))
		(void)map_put(&t->all, key, v);
}

static struct str field(const struct attached *t, const struct cached *o, const char *path)
{
	return cached_field(o, path, t->arena);
}

/* A claim without a volume will get one of its class' driver: it counts under its own name. */
static void attach_unbound(struct attached *t, const struct cached *claim)
{
	struct str class = cached_annotation(claim, STR("volume.beta.kubernetes.io/storage-class"),
					     t->arena);
	const struct cached *o;
	struct str handle;

	if (!class.p)
		class = field(t, claim, "spec.storageClassName");
	o = class.n && t->services->storage_classes ? cache_get(t->services->storage_classes, class)
						    : NULL;
	if (!o)
		return;
	handle = str_from(arena_printf(t->arena, "unbound:%.*s", STR_ARG(claim->key)));
	attach(t, field(t, o, "provisioner"), handle);
}

static void attach_claim(struct attached *t, const struct cached *claim)
{
	struct str name = field(t, claim, "spec.volumeName");
	const struct cached *volume = name.n && t->services->pvs ? cache_get(t->services->pvs, name)
								 : NULL;

	if (volume)
		attach(t, field(t, volume, "spec.csi.driver"),
		       field(t, volume, "spec.csi.volumeHandle"));
	else
		attach_unbound(t, claim);
}

/* `wanted`: of the pod that is to be placed, whose claims must exist. */
static struct verdict attach_pod(struct attached *t, const struct podinfo *pod, bool wanted,
				 struct arena *a)
{
	for (size_t i = 0; i < pod->nvolumes; i++) {
		const struct pod_volume *v = &pod->volumes[i];
		struct cached *claim;

		if (v->pvc.n == 0)
			continue;
		claim = t->services->pvcs ? cache_get(t->services->pvcs, v->pvc_key) : NULL;
		if (!claim && wanted)
			return verdict_print(a, VERDICT_UNRESOLVABLE,
					     "looking up PVC %.*s: persistentvolumeclaim \"%.*s\" "
					     "not found",
					     STR_ARG(v->pvc_key), STR_ARG(v->pvc));
		if (!claim)
			continue;
		if (v->ephemeral) {
			struct volume_claim *c = volume_claim_find(t->services, v->pvc_key,
								   t->arena);

			if (!c || !volume_claim_is_of(c, pod))
				return c ? volume_claim_foreign(c, pod, VERDICT_ERROR, a)
					 : VERDICT_OK;
		}
		attach_claim(t, claim);
	}
	return VERDICT_OK;
}

static void attach_attachment(struct attached *t, const struct cached *o)
{
	struct str driver = field(t, o, "spec.attacher");
	struct str name = field(t, o, "spec.source.persistentVolumeName");
	const struct cached *volume = name.n && t->services->pvs ? cache_get(t->services->pvs, name)
								 : NULL;

	if (volume)
		attach(t, driver, field(t, volume, "spec.csi.volumeHandle"));
}

/* Counts volumes that are attached although no pod uses them (or no longer). */
static void attach_attachments(struct attached *t, struct str node)
{
	const struct cache *all = t->services->attachments;
	bool indexed = all && cache_has_index(all, "spec.nodeName");
	struct cache_walk w = { 0 };
	struct cached *o;

	if (!all)
		return;
	while ((o = indexed ? cache_next_by(all, "spec.nodeName", node, &w)
			    : cache_next(all, &w))) {
		if (str_eq(field(t, o, "spec.nodeName"), node))
			attach_attachment(t, o);
	}
}

static int64_t count_driver(const struct attached *t, struct str driver)
{
	struct str key;
	void *value;
	size_t at = 0;
	int64_t n = 0;

	while (map_next(&t->all, &at, &key, &value))
		n += str_eq(((struct attachable *)value)->driver, driver);
	return n;
}

/* Those of the driver that are in `more` and not in `t`. */
static int64_t count_new(const struct attached *t, const struct attached *more, struct str driver)
{
	struct str key;
	void *value;
	size_t at = 0;
	int64_t n = 0;

	while (map_next(&more->all, &at, &key, &value))
		n += str_eq(((struct attachable *)value)->driver, driver) && !map_get(&t->all, key);
	return n;
}

/*
 * `used`: by pods; `left`: still attached; `wanted`: by this pod. As upstream, a wanted volume that
 * no pod uses counts as new, even if it is still attached.
 */
static bool within_limits(const struct json *drivers, const struct attached *used,
			  const struct attached *left, const struct attached *wanted)
{
	JSON_FOREACH (d, drivers) {
		struct str name = json_text_at(d, "name");
		int64_t limit = json_i64_at(json_getz(d, "allocatable"), "count", -1);
		int64_t more = limit < 0 ? 0 : count_new(used, wanted, name);

		if (more && count_driver(used, name) + count_new(used, left, name) + more > limit)
			return false;
	}
	return true;
}

static bool has_limits(const struct json *drivers)
{
	JSON_FOREACH (d, drivers) {
		if (json_getz(json_getz(d, "allocatable"), "count"))
			return true;
	}
	return false;
}

/* Whether the driver is on the node, if it requires that for its pods. */
static bool driver_is_there(const struct services *s, struct str driver, const struct json *drivers,
			    struct arena *a)
{
	struct cached *o = s->csi_drivers ? cache_get(s->csi_drivers, driver) : NULL;

	return !o || !str_eqz(cached_field(o, "spec.preventPodSchedulingIfMissing", a), "true") ||
	       json_find(drivers, "name", driver);
}

static struct verdict check_drivers(const struct attached *wanted, const struct json *drivers,
				    struct arena *a)
{
	struct str key;
	void *value;
	size_t at = 0;

	while (map_next(&wanted->all, &at, &key, &value)) {
		struct str driver = ((struct attachable *)value)->driver;

		if (!driver_is_there(wanted->services, driver, drivers, wanted->arena))
			return verdict_print(a, VERDICT_UNSCHEDULABLE,
					     "%.*s CSI driver is not installed on the node",
					     STR_ARG(driver));
	}
	return VERDICT_OK;
}

static struct verdict limits_check(struct plugin *p, struct cycle *c, const struct nodeinfo *n,
				   struct attached *wanted, struct attached *used,
				   struct attached *left)
{
	static const struct str reason[] = { REASON("node(s) exceed max volume count") };
	struct verdict v = attach_pod(wanted, c->pod, true, &c->arena);
	const struct json *drivers;
	struct json *tree = NULL;
	struct cached *csi;

	if (v.code != VERDICT_SUCCESS || wanted->all.n == 0)
		return v;
	csi = p->services->csi_nodes ? cache_get(p->services->csi_nodes, n->name) : NULL;
	if (csi)
		(void)cached_tree(csi, wanted->arena, &tree, NULL);
	drivers = json_getz(json_getz(tree, "spec"), "drivers");
	v = check_drivers(wanted, drivers, &c->arena);
	if (v.code != VERDICT_SUCCESS || !has_limits(drivers))
		return v;
	for (size_t i = 0; i < n->pods.n; i++) {
		v = attach_pod(used, n->pods.v[i], false, &c->arena);
		if (v.code != VERDICT_SUCCESS)
			return v;
	}
	attach_attachments(left, n->name);
	return within_limits(drivers, used, left, wanted)
		       ? VERDICT_OK
		       : VERDICT_STATIC(VERDICT_UNSCHEDULABLE, reason);
}

static struct verdict limits_filter(struct plugin *p, struct cycle *c, const struct nodeinfo *n)
{
	CLEANUP(arena_release) struct arena a;
	struct attached wanted = { .services = p->services, .arena = &a };
	struct attached used = wanted, left = wanted;
	struct verdict v;

	arena_init(&a, 1 << 26);
	map_init(&wanted.all);
	map_init(&used.all);
	map_init(&left.all);
	v = limits_check(p, c, n, &wanted, &used, &left);
	map_release(&wanted.all);
	map_release(&used.all);
	map_release(&left.all);
	return v;
}

static bool pod_has_claims(const struct podinfo *p)
{
	for (size_t i = 0; i < p->nvolumes; i++) {
		if (p->volumes[i].pvc.n)
			return true;
	}
	return false;
}

static struct verdict limits_pre_filter(struct plugin *p UNUSED, struct cycle *c)
{
	return (struct verdict){ .code = pod_has_claims(c->pod) ? VERDICT_SUCCESS : VERDICT_SKIP };
}

/* --- hints --------------------------------------------------------------------------------- */

static enum event_hint pod_deleted(const struct plugin *p UNUSED,
				   const struct podinfo *waiting UNUSED,
				   const struct cluster_event *e)
{
	if (!e->old_pod)
		return HINT_QUEUE;
	return !pod_is_nowhere(e->old_pod) && pod_has_claims(e->old_pod) ? HINT_QUEUE : HINT_SKIP;
}

static enum event_hint claim_added(const struct plugin *p UNUSED, const struct podinfo *waiting,
				   const struct cluster_event *e)
{
	return volume_event_concerns(e, waiting, true) ? HINT_QUEUE : HINT_SKIP;
}

static enum event_hint attachment_deleted(const struct plugin *p UNUSED,
					  const struct podinfo *waiting,
					  const struct cluster_event *e UNUSED)
{
	for (size_t i = 0; i < waiting->nvolumes; i++) {
		if (waiting->volumes[i].pvc.n && !waiting->volumes[i].ephemeral)
			return HINT_QUEUE;
	}
	return HINT_SKIP;
}

/* More of some driver than before. */
static enum event_hint csi_node_updated(const struct plugin *p UNUSED,
					const struct podinfo *waiting UNUSED,
					const struct cluster_event *e)
{
	CLEANUP(arena_release) struct arena a;
	struct json *was = NULL, *is = NULL;
	const struct json *before, *now;

	arena_init(&a, 1 << 24);
	if (!e->old_object || !e->object)
		return HINT_QUEUE;
	if (cached_tree(e->old_object, &a, &was, NULL) < 0 ||
	    cached_tree(e->object, &a, &is, NULL) < 0)
		return HINT_QUEUE;
	before = json_getz(json_getz(was, "spec"), "drivers");
	now = json_getz(json_getz(is, "spec"), "drivers");
	JSON_FOREACH (d, now) {
		const struct json *old = json_find(before, "name", json_text_at(d, "name"));

		if (json_i64_at(json_getz(d, "allocatable"), "count", 0) >
		    json_i64_at(json_getz(old, "allocatable"), "count", 0))
			return HINT_QUEUE;
	}
	return HINT_SKIP;
}

static const struct plugin_event events[] = {
	{ .kind = EVENT_CSI_NODE, .actions = EVENT_ADD },
	{ .kind = EVENT_CSI_NODE, .actions = EVENT_UPDATE, .hint = csi_node_updated },
	{ .kind = EVENT_ASSIGNED_POD, .actions = EVENT_DELETE, .hint = pod_deleted },
	{ .kind = EVENT_PVC, .actions = EVENT_ADD, .hint = claim_added },
	{ .kind = EVENT_VOLUME_ATTACHMENT, .actions = EVENT_DELETE, .hint = attachment_deleted },
	{ .actions = 0 },
};

const struct plugin_kind plugin_node_volume_limits = {
	.name = "NodeVolumeLimits",
	.events = events,
	.pre_filter = limits_pre_filter,
	.filter = limits_filter,
};
