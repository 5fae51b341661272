/*
 * A pod that DynamicResources rejected waits until one of its own claims is created or changes, or
 * until any devices become free. Other claim events are skipped by comparing names, because claims
 * change all the time in a busy cluster.
 *
 * Slices, classes and taint rules only count if their spec changes. Their status is information for
 * people, and is written often.
 */
#include "client/informer/cached.h"
#include "net/loop/loop.h"
#include "scheduler/dra/plugin.h"
#include "scheduler/queue/podqueue.h"

static bool uses(const struct podinfo *pod, const struct cached *claim)
{
	if (!str_eq(pod->ns, cached_ns(claim)))
		return false;
	for (size_t i = 0; i < pod->nclaims; i++)
		if (str_eq(pod->claims[i].claim, cached_name(claim)))
			return true;
	return false;
}

/*
 * A claim for extended resources that is left over of an earlier attempt is in the pod's way, and
 * post_filter deletes it: the pod waits for it to go. Owners' uids are unique enough to be found
 * in the text.
 */
static bool is_owner(const struct podinfo *pod, const struct cached *claim)
{
	struct str owners = cached_field(claim, "metadata.ownerReferences", NULL);

	return owners.p && pod->uid.n > 0 && str_eq(pod->ns, cached_ns(claim)) &&
	       str_find(owners, pod->uid) >= 0;
}

static enum event_hint after_claim(const struct plugin *p, const struct podinfo *waiting,
				   const struct cluster_event *e)
{
	struct dra_state *s = p->services->dra;
	struct dra_change change;
	bool own;

	if (!s || (!e->object && !e->old_object))
		return HINT_QUEUE;
	change = dra_state_change(s, e);
	own = e->object && uses(waiting, e->object);
	if (!e->object && is_owner(waiting, e->old_object))
		change.freed = true;
	if (!change.freed && !(own && (change.created || change.status)))
		return HINT_SKIP;
	/* A pod whose claims are not all there has no use for devices yet. */
	return dra_claims_exist(s, waiting, NULL, NULL) ? HINT_QUEUE : HINT_SKIP;
}

static enum event_hint after_pod(const struct plugin *p, const struct podinfo *waiting,
				 const struct cluster_event *e)
{
	struct dra_state *s = p->services->dra;

	if (!s || !e->pod)
		return HINT_QUEUE;
	if (!str_eq(e->pod->uid, waiting->uid))
		return HINT_SKIP;
	return dra_claims_exist(s, e->pod, NULL, NULL) ? HINT_QUEUE : HINT_SKIP;
}

static enum event_hint after_spec(const struct plugin *p, const struct podinfo *waiting,
				  const struct cluster_event *e)
{
	(void)p;
	(void)waiting;
	if (!e->object || !e->old_object || !str_eq(e->object->uid, e->old_object->uid))
		return HINT_QUEUE;
	return str_eq(cached_field(e->object, "spec", NULL),
		      cached_field(e->old_object, "spec", NULL))
		       ? HINT_SKIP
		       : HINT_QUEUE;
}

const struct plugin_event dra_events[] = {
	/* Labels select slices, and resources that a device plugin offers need no devices. */
	{ .kind = EVENT_NODE,
	  .actions = EVENT_ADD | EVENT_UPDATE_NODE_LABEL | EVENT_UPDATE_NODE_ALLOCATABLE },
	{ .kind = EVENT_CLAIM,
	  .actions = EVENT_ADD | EVENT_UPDATE | EVENT_DELETE,
	  .hint = after_claim },
	{ .kind = EVENT_UNSCHEDULED_POD,
	  .actions = EVENT_UPDATE_POD_GENERATED_CLAIM,
	  .hint = after_pod },
	{ .kind = EVENT_DEVICE_CLASS, .actions = EVENT_ADD | EVENT_UPDATE, .hint = after_spec },
	/* Also their end: a pool that had two of one device, or of two counts, is good again. */
	{ .kind = EVENT_SLICE,
	  .actions = EVENT_ADD | EVENT_UPDATE | EVENT_DELETE,
	  .hint = after_spec },
	/* A rule more never helps. */
	{ .kind = EVENT_TAINT_RULE, .actions = EVENT_UPDATE | EVENT_DELETE, .hint = after_spec },
	{ .kind = EVENT_CLAIM, .actions = 0 },
};

static void hints_tell(struct plugin *p, const struct cluster_event *e)
{
	if (p->services->queue && p->services->loop)
		podqueue_event(p->services->queue, e, loop_now(p->services->loop));
}

void dra_tell_deleted(struct plugin *p, struct cached *last)
{
	hints_tell(p, &(struct cluster_event){
			      .kind = EVENT_CLAIM, .actions = EVENT_DELETE, .old_object = last });
}

void dra_tell_freed(struct plugin *p, struct str key)
{
	struct cached *o = dra_state_claim(p->services->dra, key);
	struct cluster_event e = { .kind = EVENT_CLAIM,
				   .actions = EVENT_UPDATE_OTHER,
				   .label = "ResourceClaimUpdate",
				   .old_object = o,
				   .object = o };

	hints_tell(p, &e);
}
