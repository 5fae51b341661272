/*
 * Events that wake pods that a plugin rejected.
 *
 * Our rows have no field for the plugin's own function. So all of them have the same hint, which
 * calls the plugin's function of every interest that matches the event.
 */
#include "base/core/mem.h"
#include "scheduler/extension/extension_impl.h"
#include "scheduler/queue/podqueue.h"

static const struct {
	const char *name;
	enum event_kind kind;
} kinds[] = {
	{ "Pod", EVENT_ASSIGNED_POD },
	{ "UnscheduledPod", EVENT_UNSCHEDULED_POD },
	{ "Node", EVENT_NODE },
	{ "PersistentVolumeClaim", EVENT_PVC },
	{ "PersistentVolume", EVENT_PV },
	{ "StorageClass", EVENT_STORAGE_CLASS },
	{ "CSINode", EVENT_CSI_NODE },
	{ "CSIDriver", EVENT_CSI_DRIVER },
	{ "CSIStorageCapacity", EVENT_CSI_CAPACITY },
	{ "VolumeAttachment", EVENT_VOLUME_ATTACHMENT },
	{ "ResourceClaim", EVENT_CLAIM },
	{ "ResourceClaimTemplate", EVENT_CLAIM_TEMPLATE },
	{ "ResourceSlice", EVENT_SLICE },
	{ "DeviceClass", EVENT_DEVICE_CLASS },
	{ "DeviceTaintRule", EVENT_TAINT_RULE },
	{ "Namespace", EVENT_NAMESPACE },
	{ "*", EVENT_WILDCARD },
};

/* One of the plugin's array, whose elements may be shorter or longer than ours. */
static struct dp_event_interest interest(const struct extension_instance *i, uint32_t at)
{
	const struct dp_scheduler_plugin *ops = &i->module->ops;
	struct dp_event_interest v = { 0 };
	size_t step = ops->interest_size ? ops->interest_size : sizeof(v);

	memcpy(&v, (const char *)ops->interests + at * step, MIN(step, sizeof(v)));
	return v;
}

static unsigned actions_of(uint32_t actions)
{
	unsigned mine = 0;

	if (actions & DP_EVENT_ADD)
		mine |= EVENT_ADD;
	if (actions & DP_EVENT_DELETE)
		mine |= EVENT_DELETE;
	if (actions & DP_EVENT_UPDATE)
		mine |= EVENT_UPDATE;
	return mine;
}

static bool row_matches(const struct plugin_event *row, const struct cluster_event *e)
{
	if (!(row->actions & e->actions))
		return false;
	return row->kind == EVENT_WILDCARD ||
	       (row->kind == e->kind &&
		(e->kind != EVENT_EXTENSION || row->extension == e->extension));
}

static const struct dp_object *seen(struct extension *e, const struct podinfo *p,
				    const struct nodeobject *n, struct cached *o)
{
	if (p)
		return extension_object(e, p->object, p);
	return extension_object(e, n ? n->object : o, NULL);
}

static enum event_hint hint(const struct plugin *p, const struct podinfo *waiting,
			    const struct cluster_event *e)
{
	struct extension_instance *i = p->state;
	struct extension *x = i->module->extension;
	const struct dp_object *pod, *old, *now;
	bool queue = false;

	extension_enter(x);
	pod = extension_object(x, waiting->object, waiting);
	old = seen(x, e->old_pod, e->old_node, e->old_object);
	now = seen(x, e->pod, e->node, e->object);
	for (uint32_t at = 0; !queue && at < i->module->ops.ninterests; at++) {
		struct dp_event_interest v = interest(i, at);

		queue = row_matches(&i->events[at], e) &&
			(!v.hint || v.hint(i->state, pod, old, now) != 0);
	}
	extension_leave(x);
	return queue ? HINT_QUEUE : HINT_SKIP;
}

static int interest_read_one(struct extension_instance *i, uint32_t at, struct error *err)
{
	struct dp_event_interest v = interest(i, at);
	const struct extended_type *type;
	struct plugin_event *row = &i->events[at];

	row->actions = actions_of(v.actions);
	row->hint = v.hint ? hint : NULL;
	if (!v.resource || row->actions == 0)
		return error_set(err, ERR_INVALID, "its interest %u has no resource or no action",
				 at);
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		if (!str_eqz(str_from(v.resource), kinds[k].name))
			continue;
		row->kind = kinds[k].kind;
		return 0;
	}
	type = extended_types_find(i->module->extension->opts.types, str_from(v.resource));
	if (!type)
		return error_set(
			err, ERR_INVALID,
			"it is interested in \"%s\", which is neither a kind of object nor a "
			"type of extended resource that has been registered",
			v.resource);
	row->kind = EVENT_EXTENSION;
	row->extension = type->id;
	return 0;
}

int extension_read_interests(struct extension_instance *i, struct error *err)
{
	uint32_t n = i->module->ops.interests ? i->module->ops.ninterests : 0;
	int r = 0;

	if (n == 0)
		return 0;
	i->events = xcalloc(n + 1, sizeof(*i->events));
	for (uint32_t at = 0; r == 0 && at < n; at++)
		r = interest_read_one(i, at, err);
	return r;
}

const struct plugin_event *extension_events_of(const struct plugin *p)
{
	return ((struct extension_instance *)p->state)->events;
}

/* --- events of extended resources ------------------------------------------------ */

void extension_wake(struct extension *e, uint32_t type, unsigned actions)
{
	if (!e->services || !e->services->queue)
		return;
	for (size_t i = 0; i < e->wakes.n; i++) {
		if (e->wakes.v[i].type != type)
			continue;
		e->wakes.v[i].actions |= actions;
		return;
	}
	(void)vec_push(&e->wakes, (struct extension_wake){ type, actions });
	loop_defer(e->opts.loop, &e->wake);
}

void extension_wake_now(struct loop_task *t)
{
	struct extension *e = CONTAINER_OF(t, struct extension, wake);

	/* A hint may wake again: that is for the next time. */
	for (size_t n = e->wakes.n; n > 0; n--) {
		struct extension_wake w = e->wakes.v[0];

		vec_remove(&e->wakes, 0);
		podqueue_event(e->services->queue,
			       &(struct cluster_event){ .kind = EVENT_EXTENSION,
							.actions = w.actions,
							.extension = w.type },
			       loop_now(e->opts.loop));
	}
	if (e->wakes.n > 0)
		loop_defer(e->opts.loop, &e->wake);
}
