/*
 * VolumeZone: zone and region labels of bound volumes must be among the node's. For volumes from
 * before volumes had node affinity.
 */
#include "client/informer/cache.h"
#include "scheduler/cycle/cycle.h"
#include "scheduler/framework/common.h"
#include "scheduler/volumes/volumes.h"

/* Labels for zone and region; deprecated ones with their current names. */
static const struct {
	const char *label, *today;
} topology_labels[] = {
	{ "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone" },
	{ "failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region" },
	{ "topology.kubernetes.io/zone", "topology.kubernetes.io/zone" },
	{ "topology.kubernetes.io/region", "topology.kubernetes.io/region" },
};

enum { LABELS = ARRAY_SIZE(topology_labels) };

/* "a__b": one of several. */
#define DELIMITER STR("__")

struct zone_rule {
	size_t label;
	struct str zones; /* as the label has them */
};

struct zone_state {
	struct zone_rule *rules;
	size_t n;
};

/* The next of the zones; false at the end. */
static bool next_zone(struct str *rest, struct str *ret_zone)
{
	ptrdiff_t at = str_find(*rest, DELIMITER);

	if (!rest->p)
		return false;
	*ret_zone = str_trim(at < 0 ? *rest : str_of(rest->p, (size_t)at));
	*rest = at < 0 ? STR_NULL : str_skip(*rest, (size_t)at + DELIMITER.n);
	if (at >= 0 && !rest->p)
		*rest = STR("");
	return true;
}

/* A list with an empty name in it is not one: the label is ignored. */
static bool zones_valid(struct str zones)
{
	struct str rest = zones, zone;

	if (zones.n == 0)
		return false;
	while (next_zone(&rest, &zone)) {
		if (zone.n == 0)
			return false;
	}
	return true;
}

static bool zones_have(struct str zones, struct str value)
{
	struct str rest = zones, zone;

	while (next_zone(&rest, &zone)) {
		if (str_eq(zone, value))
			return true;
	}
	return false;
}

static void add_rules(struct zone_state *s, const struct volume *v)
{
	for (size_t i = 0; i < LABELS; i++) {
		struct str zones = labels_get(v->labels, str_from(topology_labels[i].label));

		if (zones.p && zones_valid(zones))
			s->rules[s->n++] = (struct zone_rule){ i, zones };
	}
}

/* A claim without a volume is only accepted if it waits for its first consumer. */
static struct verdict unbound(const struct services *s, const struct volume_claim *claim,
			      struct arena *a)
{
	const struct json *class;
	struct str mode;

	if (claim->class.n == 0)
		return verdict_of(
			a, VERDICT_UNRESOLVABLE,
			STR("PersistentVolumeClaim had no pv name and storageClass name"));
	class = volume_class_find(s, claim->class, a);
	if (!class)
		return volume_not_found("storageclass.storage.k8s.io", claim->class, a);
	mode = json_text_at(class, "volumeBindingMode");
	if (!mode.p)
		return verdict_print(a, VERDICT_UNRESOLVABLE,
				     "VolumeBindingMode not set for StorageClass \"%.*s\"",
				     STR_ARG(claim->class));
	if (str_eqz(mode, "WaitForFirstConsumer"))
		return VERDICT_OK;
	return verdict_of(a, VERDICT_UNRESOLVABLE, STR("PersistentVolume had no name"));
}

static struct verdict zone_read_claim(struct plugin *p, struct cycle *c, const struct pod_volume *v,
				      struct zone_state *s)
{
	struct volume_claim *claim = volume_claim_find(p->services, v->pvc_key, &c->arena);
	struct volume *volume;

	if (!claim)
		return volume_not_found("persistentvolumeclaim", v->pvc, &c->arena);
	if (claim->volume.n == 0)
		return unbound(p->services, claim, &c->arena);
	volume = volume_find(p->services, claim->volume, &c->arena);
	if (!volume)
		return volume_not_found("persistentvolume", claim->volume, &c->arena);
	add_rules(s, volume);
	return VERDICT_OK;
}

static struct verdict zone_pre_filter(struct plugin *p, struct cycle *c)
{
	const struct podinfo *pod = c->pod;
	struct zone_state *s;

	if (pod->nvolumes == 0)
		return (struct verdict){ .code = VERDICT_SKIP };
	s = ARENA_NEW(&c->arena, struct zone_state);
	s->rules = ARENA_ARRAY(&c->arena, struct zone_rule, pod->nvolumes * LABELS);
	for (size_t i = 0; i < pod->nvolumes; i++) {
		struct verdict v;

		if (pod->volumes[i].ephemeral || pod->volumes[i].pvc.n == 0)
			continue;
		v = zone_read_claim(p, c, &pod->volumes[i], s);
		if (v.code != VERDICT_SUCCESS)
			return v;
	}
	if (s->n == 0)
		return (struct verdict){ .code = VERDICT_SKIP };
	*cycle_state(c, p) = s;
	return VERDICT_OK;
}

static struct verdict zone_filter(struct plugin *p, struct cycle *c, const struct nodeinfo *n)
{
	static const struct str reason[] = { REASON("node(s) had no available volume zone") };
	const struct zone_state *s = *cycle_state(c, p);
	const struct json *labels = n->node->labels;
	bool any = false;

	for (size_t i = 0; i < LABELS && !any; i++)
		any = labels_get(labels, str_from(topology_labels[i].label)).p;
	/* A node without zone labels passes: a cluster with one zone need not have them. */
	if (!any)
		return VERDICT_OK;
	for (size_t i = 0; i < s->n; i++) {
		size_t l = s->rules[i].label;
		struct str value = labels_get(labels, str_from(topology_labels[l].label));

		if (!value.p)
			value = labels_get(labels, str_from(topology_labels[l].today));
		if (!value.p || !zones_have(s->rules[i].zones, value))
			return VERDICT_STATIC(VERDICT_UNRESOLVABLE, reason);
	}
	return VERDICT_OK;
}

/* --- hints --------------------------------------------------------------------------------- */

static enum event_hint class_added(const struct plugin *p UNUSED,
				   const struct podinfo *waiting UNUSED,
				   const struct cluster_event *e)
{
	struct str mode = e->object ? cached_field(e->object, "volumeBindingMode", NULL) : STR_NULL;

	return str_eqz(mode, "WaitForFirstConsumer") ? HINT_QUEUE : HINT_SKIP;
}

static enum event_hint claim_changed(const struct plugin *p UNUSED, const struct podinfo *waiting,
				     const struct cluster_event *e)
{
	return volume_event_concerns(e, waiting, false) ? HINT_QUEUE : HINT_SKIP;
}

static enum event_hint volume_changed(const struct plugin *p UNUSED,
				      const struct podinfo *waiting UNUSED,
				      const struct cluster_event *e)
{
	CLEANUP(arena_release) struct arena a;
	bool same = true;

	arena_init(&a, 1 << 20);
	if (!e->old_object || !e->object)
		return HINT_QUEUE;
	for (size_t i = 0; i < LABELS; i++) {
		struct str label = str_from(topology_labels[i].label);
		struct str was = cached_label(e->old_object, label, &a);
		struct str is = cached_label(e->object, label, &a);

		same = same && !was.p == !is.p && str_eq(was, is);
	}
	return same ? HINT_SKIP : HINT_QUEUE;
}

static const struct plugin_event events[] = {
	{ .kind = EVENT_STORAGE_CLASS, .actions = EVENT_ADD, .hint = class_added },
	{ .kind = EVENT_NODE, .actions = EVENT_ADD | EVENT_UPDATE_NODE_LABEL },
	{ .kind = EVENT_PVC, .actions = EVENT_ADD | EVENT_UPDATE, .hint = claim_changed },
	{ .kind = EVENT_PV, .actions = EVENT_ADD | EVENT_UPDATE, .hint = volume_changed },
	{ .actions = 0 },
};

const struct plugin_kind plugin_volume_zone = {
	.name = "VolumeZone",
	.events = events,
	.pre_filter = zone_pre_filter,
	.filter = zone_filter,
};
