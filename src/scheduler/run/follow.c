/*
 * Applies events of the cluster in order of arrival, first to the cache, then to the queue.
 *
 * Pods and nodes are parsed into structs. Objects of other kinds stay in the informers' caches,
 * update dra_state if they concern devices, and become events. If the API server does not serve a
 * kind, its cache is empty, and its informer retries from time to time.
 */
#include "base/report/log.h"
#include "client/api/client.h"
#include "scheduler/cache/nodecache.h"
#include "scheduler/dra/state.h"
#include "scheduler/extension/extension.h"
#include "scheduler/run/scheduler_impl.h"

/* Other watched kinds, with their event kind and the cache for plugins. */
struct follow_kind {
	const char *group, *version, *plural;
	enum event_kind event;
	size_t slot; /* offset of the cache in struct services; SIZE_MAX: plugins do not read it */
	void (*put)(struct dra_state *s, struct cached *o);
	void (*remove)(struct dra_state *s, struct cached *o);
};

#define SLOT(member) offsetof(struct services, member)

static const struct follow_kind kinds[] = {
	{ "", "v1", "namespaces", EVENT_NAMESPACE, SLOT(namespaces) },
	{ "policy", "v1", "poddisruptionbudgets", EVENT_KINDS, SLOT(pdbs) },
	{ "", "v1", "persistentvolumeclaims", EVENT_PVC, SLOT(pvcs) },
	{ "", "v1", "persistentvolumes", EVENT_PV, SLOT(pvs) },
	{ "storage.k8s.io", "v1", "storageclasses", EVENT_STORAGE_CLASS, SLOT(storage_classes) },
	{ "storage.k8s.io", "v1", "csinodes", EVENT_CSI_NODE, SLOT(csi_nodes) },
	{ "storage.k8s.io", "v1", "csidrivers", EVENT_CSI_DRIVER, SLOT(csi_drivers) },
	{ "storage.k8s.io", "v1", "csistoragecapacities", EVENT_CSI_CAPACITY,
	  SLOT(csi_capacities) },
	{ "storage.k8s.io", "v1", "volumeattachments", EVENT_VOLUME_ATTACHMENT, SLOT(attachments) },
	{ "", "v1", "services", EVENT_KINDS, SLOT(kube_services) },
	{ "", "v1", "replicationcontrollers", EVENT_KINDS, SLOT(replication_controllers) },
	{ "apps", "v1", "replicasets", EVENT_KINDS, SLOT(replica_sets) },
	{ "apps", "v1", "statefulsets", EVENT_KINDS, SLOT(stateful_sets) },
	{ "resource.k8s.io", "v1", "resourceclaims", EVENT_CLAIM, SIZE_MAX, dra_state_put_claim,
	  dra_state_remove_claim },
	{ "resource.k8s.io", "v1", "resourceslices", EVENT_SLICE, SIZE_MAX, dra_state_put_slice,
	  dra_state_remove_slice },
	{ "resource.k8s.io", "v1", "deviceclasses", EVENT_DEVICE_CLASS, SIZE_MAX,
	  dra_state_put_class, dra_state_remove_class },
	{ "resource.k8s.io", "v1", "devicetaintrules", EVENT_TAINT_RULE, SIZE_MAX,
	  dra_state_put_taint_rule, dra_state_remove_taint_rule },
};

static struct follow *follow_of(struct informer_handler *h)
{
	return CONTAINER_OF(h, struct follow, handler);
}

static int64_t now(const struct scheduler *s)
{
	return loop_now(s->opts.loop);
}

static void follow_tell(struct scheduler *s, const struct cluster_event *e)
{
	podqueue_event(s->queue, e, now(s));
	attempt_soon(s);
}

/* --- other kinds ---------------------------------------------------------------------------- */

static void tell_object(struct follow *f, unsigned actions, struct cached *old, struct cached *o)
{
	if (f->kind->event != EVENT_KINDS)
		follow_tell(f->scheduler, &(struct cluster_event){ .kind = f->kind->event,
								   .actions = actions,
								   .old_object = old,
								   .object = o });
}

static void on_object_update(struct informer_handler *h, struct cached *old, struct cached *o)
{
	struct follow *f = follow_of(h);

	if (f->kind->put)
		f->kind->put(f->scheduler->dra, o);
	tell_object(f, old ? (unsigned)EVENT_UPDATE : (unsigned)EVENT_ADD, old, o);
}

static void on_object_add(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	on_object_update(h, NULL, o);
}

static void on_object_delete(struct informer_handler *h, struct cached *last, bool unknown UNUSED)
{
	struct follow *f = follow_of(h);

	if (f->kind->remove)
		f->kind->remove(f->scheduler->dra, last);
	tell_object(f, EVENT_DELETE, last, NULL);
}

/* --- nodes ---------------------------------------------------------------------------------- */

static void on_node_update(struct informer_handler *h, struct cached *old_object UNUSED,
			   struct cached *o)
{
	struct scheduler *s = follow_of(h)->scheduler;
	const struct nodeinfo *known = nodecache_node(s->nodes, cached_name(o));
	CLEANUP(nodeobject_unref) struct nodeobject *n = NULL, *old = NULL;
	unsigned actions = EVENT_ADD;
	struct error err;

	if (nodeobject_new(o, &s->names, &n, &err) < 0) {
		log_warn(s->opts.log, "cannot read a node; it is not used",
			 LOG_STR("node", cached_name(o)), LOG_ERR(&err));
		(void)nodecache_remove_node(s->nodes, cached_name(o));
		return;
	}
	if (known && known->node) {
		old = nodeobject_ref(known->node);
		actions = nodeobject_changes(old, n);
	}
	nodecache_put_node(s->nodes, n);
	if (actions)
		follow_tell(s, &(struct cluster_event){ .kind = EVENT_NODE,
							.actions = actions,
							.old_node = old,
							.node = n });
}

static void on_node_add(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	on_node_update(h, NULL, o);
}

static void on_node_delete(struct informer_handler *h, struct cached *last, bool unknown UNUSED)
{
	struct scheduler *s = follow_of(h)->scheduler;
	const struct nodeinfo *known = nodecache_node(s->nodes, cached_name(last));
	CLEANUP(nodeobject_unref) struct nodeobject *old = NULL;

	if (known && known->node)
		old = nodeobject_ref(known->node);
	(void)nodecache_remove_node(s->nodes, cached_name(last));
	follow_tell(s, &(struct cluster_event){
			       .kind = EVENT_NODE, .actions = EVENT_DELETE, .old_node = old });
}

/* --- pods ----------------------------------------------------------------------------------- */

void follow_tell_pod(struct scheduler *s, unsigned actions, const struct podinfo *old,
		     const struct podinfo *pod)
{
	static const char *const labels[] = { "AssignedPodUpdate", "AssignedPodAdd",
					      "AssignedPodDelete" };

	follow_tell(s, &(struct cluster_event){ .kind = EVENT_ASSIGNED_POD,
						.actions = actions,
						.label = labels[actions == EVENT_ADD      ? 1
								: actions == EVENT_DELETE ? 2
											  : 0],
						.old_pod = old,
						.pod = pod });
}

static void follow_report(struct scheduler *s, const struct podinfo *p, int r,
			  const struct error *err)
{
	if (r < 0)
		log_error(s->opts.log, "cache and API server disagree about a pod",
			  LOG_STR("pod", p->key), LOG_ERR(err));
}

/* It has a node. */
static void put_bound(struct scheduler *s, struct podinfo *p)
{
	CLEANUP(podinfo_unref) struct podinfo *old = NULL;
	struct podinfo *known = nodecache_pod(s->nodes, p->uid);
	unsigned actions;
	struct error err;

	podqueue_remove(s->queue, p->uid);
	/* Another scheduler bound the pod elsewhere: cancel our binding and free our node. */
	if (known && nodecache_is_assumed(s->nodes, p->uid) && !str_eq(known->node, p->node)) {
		old = podinfo_ref(known);
		(void)binding_cancel(s, p->uid);
		follow_report(s, p, nodecache_add_pod(s->nodes, p, &err), &err);
		follow_tell_pod(s, EVENT_DELETE, old, NULL);
		follow_tell_pod(s, EVENT_ADD, NULL, p);
		return;
	}
	if (!known || nodecache_is_assumed(s->nodes, p->uid)) {
		follow_report(s, p, nodecache_add_pod(s->nodes, p, &err), &err);
		follow_tell_pod(s, EVENT_ADD, NULL, p);
		return;
	}
	old = podinfo_ref(known);
	actions = podinfo_changes(old, p);
	follow_report(s, p, nodecache_update_pod(s->nodes, p, &err), &err);
	if (actions)
		follow_tell_pod(s, actions, old, p);
}

/* Removes an assumed pod from the cache at once. Its binding ends at its next step. */
static void drop_assumed(struct scheduler *s, struct str uid)
{
	CLEANUP(podinfo_unref) struct podinfo *p = podinfo_ref(nodecache_pod(s->nodes, uid));
	struct error err;

	if (!binding_cancel(s, uid))
		follow_report(s, p, nodecache_forget(s->nodes, p, &err), &err);
	else if (nodecache_is_assumed(s->nodes, uid))
		(void)nodecache_forget(s->nodes, p, NULL);
	follow_tell_pod(s, EVENT_DELETE, p, NULL);
}

/* It waits for one. */
static void put_unbound(struct scheduler *s, struct podinfo *p)
{
	const struct queued_pod *q = podqueue_find(s->queue, p->uid);
	CLEANUP(podinfo_unref) struct podinfo *old = q ? podinfo_ref(q->pod) : NULL;

	if (nodecache_is_assumed(s->nodes, p->uid)) {
		if (p->deleting)
			drop_assumed(s, p->uid);
		else if (q)
			podqueue_update(s->queue, old, p, now(s));
		return;
	}
	if (!q)
		podqueue_add(s->queue, p, now(s));
	else
		podqueue_update(s->queue, old, p, now(s));
	if (old && old->nominated.n > 0 && !str_eq(old->nominated, p->nominated))
		follow_tell_pod(s, EVENT_DELETE, old, NULL);
	attempt_soon(s);
}

static void remove_pod(struct scheduler *s, struct cached *last)
{
	CLEANUP(podinfo_unref) struct podinfo *p = NULL;
	const struct queued_pod *q = podqueue_find(s->queue, last->uid);
	struct error err;

	if (nodecache_is_assumed(s->nodes, last->uid)) {
		drop_assumed(s, last->uid);
		podqueue_remove(s->queue, last->uid);
		return;
	}
	if (nodecache_pod(s->nodes, last->uid)) {
		p = podinfo_ref(nodecache_pod(s->nodes, last->uid));
		follow_report(s, p, nodecache_remove_pod(s->nodes, p, &err), &err);
		follow_tell_pod(s, EVENT_DELETE, p, NULL);
	} else if (q && q->pod->nominated.n > 0) {
		p = podinfo_ref(q->pod);
	}
	podqueue_remove(s->queue, last->uid);
	if (p && p->node.n == 0)
		follow_tell_pod(s, EVENT_DELETE, p, NULL);
}

static void follow_on_pod_update(struct informer_handler *h, struct cached *old, struct cached *o)
{
	struct scheduler *s = follow_of(h)->scheduler;
	CLEANUP(podinfo_unref) struct podinfo *p = NULL;
	struct error err;

	if (old && !str_eq(old->uid, o->uid))
		remove_pod(s, old);
	if (podinfo_new(o, &s->names, &p, &err) < 0) {
		log_warn(s->opts.log, "cannot read a pod; it is ignored", LOG_STR("pod", o->key),
			 LOG_ERR(&err));
		remove_pod(s, o);
		return;
	}
	if (p->node.n > 0)
		put_bound(s, p);
	else
		put_unbound(s, p);
}

static void on_pod_add(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	follow_on_pod_update(h, NULL, o);
}

static void follow_on_pod_delete(struct informer_handler *h, struct cached *last,
				 bool unknown UNUSED)
{
	remove_pod(follow_of(h)->scheduler, last);
}

struct cached *follow_pod(const struct scheduler *s, struct str key)
{
	return cache_get(informer_cache(s->pods.informer), key);
}

/* --- beginning ------------------------------------------------------------------------------ */

static void follow_start(struct scheduler *s, struct follow *f, const struct informer_spec *spec)
{
	f->scheduler = s;
	f->informer = informers_get(s->informers, spec);
	informer_add_handler(f->informer, &f->handler);
}

static const struct cache_index by_node = { .name = "spec.nodeName", .path = "spec.nodeName" };

static void begin_other(struct scheduler *s, const struct follow_kind *k)
{
	struct follow *f = &s->others[s->nothers++];

	f->kind = k;
	f->resource = resource_builtin(k->group, k->version, k->plural);
	f->handler = (struct informer_handler){ .on_add = on_object_add,
						.on_update = on_object_update,
						.on_delete = on_object_delete };
	follow_start(s, f, &(struct informer_spec){ .resource = &f->resource, .slim = true });
	if (k->event == EVENT_VOLUME_ATTACHMENT)
		informer_add_index(f->informer, &by_node);
	if (k->slot != SIZE_MAX)
		*(const struct cache **)((char *)&s->services +
					 k->slot) = informer_cache(f->informer);
}

void follow_begin(struct scheduler *s)
{
	s->pods.resource = resource_builtin("", "v1", "pods");
	s->pods.handler = (struct informer_handler){ .on_add = on_pod_add,
						     .on_update = follow_on_pod_update,
						     .on_delete = follow_on_pod_delete };
	s->node_objects.resource = resource_builtin("", "v1", "nodes");
	s->node_objects.handler = (struct informer_handler){ .on_add = on_node_add,
							     .on_update = on_node_update,
							     .on_delete = on_node_delete };
	follow_start(
		s, &s->node_objects,
		&(struct informer_spec){ .resource = &s->node_objects.resource, .slim = true });
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!kinds[i].put || s->dra)
			begin_other(s, &kinds[i]);
	}
	follow_start(s, &s->pods,
		     &(struct informer_spec){
			     .resource = &s->pods.resource,
			     .field_selector = STR("status.phase!=Succeeded,status.phase!=Failed"),
			     .slim = true });
}

void follow_sweep(struct scheduler *s)
{
	struct cached *lost;
	uint64_t revision;

	for (size_t i = 0; s->dra && i < s->nothers; i++) {
		struct follow *f = &s->others[i];

		if (f->kind->put != dra_state_put_claim || !informer_synced(f->informer) ||
		    !str_to_u64(informer_resource_version(f->informer), &revision))
			continue;
		while ((lost = dra_state_take_lost(s->dra, revision))) {
			tell_object(f, EVENT_DELETE, lost, NULL);
			cached_unref(lost);
		}
	}
}

bool follow_synced(const struct scheduler *s)
{
	if (!informer_synced(s->pods.informer) || !informer_synced(s->node_objects.informer))
		return false;
	for (size_t i = 0; i < s->nothers; i++) {
		const struct informer *it = s->others[i].informer;

		/* A kind that the server does not serve has nothing to list. */
		if (!informer_synced(it) && informer_failure(it)->code != ERR_NOT_FOUND)
			return false;
	}
	return extension_synced(s->extension);
}
