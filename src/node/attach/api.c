/*
 * This node and its pods in the API. A pod's status is written for many reasons, most of them
 * unrelated to its devices. The parts that are related are compared as text.
 */
#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/report/log.h"
#include "client/informer/cached.h"
#include "node/attach/attach_impl.h"

/* Parts of a pod, and of the node, that may reflect a change of its devices. */
static const char *const pod_parts[] = {
	"metadata.deletionTimestamp",
	"spec.containers",
	"spec.initContainers",
	"status.phase",
	"status.startTime",
	"status.containerStatuses",
	"status.resize",
	"status.initContainerStatuses",
	"status.resourceClaimStatuses",
};
static const char *const node_parts[] = { "status.allocatable", "status.capacity" };

static bool api_differs(const struct cached *a, const struct cached *b, const char *const *parts,
			size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!str_eq(cached_field(a, parts[i], NULL), cached_field(b, parts[i], NULL)))
			return true;
	}
	return false;
}

static enum attach_life life_of(const struct cached *o)
{
	struct str phase = cached_field(o, "status.phase", NULL);

	if (str_eqz(phase, "Succeeded") || str_eqz(phase, "Failed"))
		return ATTACH_ENDED;
	if (str_eqz(phase, "Running"))
		return ATTACH_RUNNING;
	return cached_field(o, "status.startTime", NULL).p ? ATTACH_STARTING : ATTACH_COMING;
}

static void api_take(struct attach *a, const struct cached *o)
{
	struct attach_pod_info info = { .uid = o->uid,
					.ns = cached_ns(o),
					.name = cached_name(o),
					.life = life_of(o),
					.deleting = o->deleting };
	int64_t now = loop_now(a->opts.loop);
	struct error err;

	if (attach_merge_pod(a->merge, &info, now, &err) < 0) {
		log_warn(a->opts.log, "a pod is skipped", LOG_STR("pod", o->key), LOG_ERR(&err));
		return;
	}
	attach_poll_pod(&a->poll, o->uid, now);
	/* Only a List shows whether this is the missing pod. */
	if (a->unknown_ms != INT64_MAX)
		attach_poll_list(&a->poll, now);
	attach_follow(a);
}

static void api_drop(struct attach *a, const struct cached *o)
{
	attach_merge_pod_gone(a->merge, o->uid);
	attach_poll_pod(&a->poll, o->uid, loop_now(a->opts.loop));
	attach_follow(a);
}

static void api_on_add(struct informer_handler *h, struct cached *o, bool initial)
{
	(void)initial;
	api_take(CONTAINER_OF(h, struct attach, pod_handler), o);
}

/* Another pod of the same name may have replaced it unnoticed. */
static void api_on_update(struct informer_handler *h, struct cached *old, struct cached *o)
{
	struct attach *a = CONTAINER_OF(h, struct attach, pod_handler);
	bool other = !str_eq(old->uid, o->uid);

	if (other)
		api_drop(a, old);
	if (other || api_differs(old, o, pod_parts, ARRAY_SIZE(pod_parts)))
		api_take(a, o);
}

static void api_on_delete(struct informer_handler *h, struct cached *last, bool unknown)
{
	(void)unknown;
	api_drop(CONTAINER_OF(h, struct attach, pod_handler), last);
}

static void api_on_synced(struct informer_handler *h)
{
	attach_follow(CONTAINER_OF(h, struct attach, pod_handler));
}

static void node_changed(struct informer_handler *h)
{
	struct attach *a = CONTAINER_OF(h, struct attach, node_handler);

	attach_poll_allocatable(&a->poll, loop_now(a->opts.loop));
	attach_follow(a);
}

static void on_node_add(struct informer_handler *h, struct cached *o, bool initial)
{
	(void)o;
	if (!initial)
		node_changed(h);
}

static void on_node_update(struct informer_handler *h, struct cached *old, struct cached *o)
{
	if (api_differs(old, o, node_parts, ARRAY_SIZE(node_parts)))
		node_changed(h);
}

static struct informer *api_follow(struct attach *a, const char *what, const char *field)
{
	CLEANUP(buf_release) struct buf selector = BUF_INIT(KIB);
	struct resource resource = resource_builtin("", "v1", what);

	(void)buf_printf(&selector, "%s=%s", field, a->node_name);
	return informers_get(a->informers,
			     &(struct informer_spec){ .resource = &resource,
						      .field_selector = buf_str(&selector),
						      .slim = true });
}

void attach_api_start(struct attach *a)
{
	a->informers = informers_new(a->opts.client, NULL);
	a->pod_handler = (struct informer_handler){ .on_add = api_on_add,
						    .on_update = api_on_update,
						    .on_delete = api_on_delete,
						    .on_synced = api_on_synced };
	a->node_handler = (struct informer_handler){ .on_add = on_node_add,
						     .on_update = on_node_update };
	a->pods = api_follow(a, "pods", "spec.nodeName");
	informer_add_handler(a->pods, &a->pod_handler);
	a->node = api_follow(a, "nodes", "metadata.name");
	informer_add_handler(a->node, &a->node_handler);
	informers_start(a->informers);
}

void attach_api_stop(struct attach *a)
{
	informers_free(TAKE(a->informers));
	a->pods = a->node = NULL;
}

struct informer *attach_pods(const struct attach *a)
{
	return a->pods;
}

struct informer *attach_node(const struct attach *a)
{
	return a->node;
}
