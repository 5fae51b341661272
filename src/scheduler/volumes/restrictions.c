/*
 * VolumeRestrictions: a disk with a single writer is not given to two pods on a node, and a claim
 * of mode ReadWriteOncePod only to one pod in the cluster.
 */
#include "client/informer/cache.h"
#include "scheduler/cycle/cycle.h"
#include "scheduler/framework/common.h"
#include "scheduler/volumes/volumes.h"

struct restrictions {
	struct str *once; /* names of claims of mode ReadWriteOncePod */
	size_t n;
	int64_t users; /* pods that have one of them */
};

/* --- disks --------------------------------------------------------------------------------- */

static bool same_text(const struct json *a, const struct json *b, const char *field)
{
	return str_eq(json_text_at(a, field), json_text_at(b, field));
}

static bool both_read_only(const struct json *a, const struct json *b)
{
	return json_true_at(a, "readOnly") && json_true_at(b, "readOnly");
}

static bool gce_conflict(const struct json *a, const struct json *b)
{
	return same_text(a, b, "pdName") && !both_read_only(a, b);
}

static bool ebs_conflict(const struct json *a, const struct json *b)
{
	return same_text(a, b, "volumeID");
}

static bool iscsi_conflict(const struct json *a, const struct json *b)
{
	return same_text(a, b, "iqn") && !both_read_only(a, b);
}

static bool same_pool(const struct json *a, const struct json *b)
{
	struct str pa = json_text_at(a, "pool"), pb = json_text_at(b, "pool");

	return str_eq(pa.p ? pa : STR("rbd"), pb.p ? pb : STR("rbd"));
}

static bool rbd_conflict(const struct json *a, const struct json *b)
{
	const struct json *monitors = json_getz(a, "monitors");
	bool overlap = false;

	JSON_FOREACH (m, monitors)
		overlap = overlap || json_has_text(json_getz(b, "monitors"), json_str(m));
	return overlap && same_pool(a, b) && same_text(a, b, "image") && !both_read_only(a, b);
}

static const struct {
	const char *field;
	bool (*conflict)(const struct json *a, const struct json *b);
} disks[] = {
	{ "gcePersistentDisk", gce_conflict },
	{ "awsElasticBlockStore", ebs_conflict },
	{ "iscsi", iscsi_conflict },
	{ "rbd", rbd_conflict },
};

static bool volume_is_disk(const struct pod_volume *v)
{
	for (size_t i = 0; i < ARRAY_SIZE(disks); i++) {
		if (json_getz(v->source, disks[i].field))
			return true;
	}
	return false;
}

static bool volumes_conflict(const struct pod_volume *a, const struct pod_volume *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(disks); i++) {
		const struct json *da = json_getz(a->source, disks[i].field);
		const struct json *db = json_getz(b->source, disks[i].field);

		if (da && db && disks[i].conflict(da, db))
			return true;
	}
	return false;
}

static bool pods_conflict(const struct podinfo *a, const struct podinfo *b)
{
	for (size_t i = 0; i < a->nvolumes; i++) {
		if (!volume_is_disk(&a->volumes[i]))
			continue;
		for (size_t k = 0; k < b->nvolumes; k++) {
			if (volumes_conflict(&a->volumes[i], &b->volumes[k]))
				return true;
		}
	}
	return false;
}

static bool pod_has_disk(const struct podinfo *p)
{
	for (size_t i = 0; i < p->nvolumes; i++) {
		if (volume_is_disk(&p->volumes[i]))
			return true;
	}
	return false;
}

/* --- in a cycle ---------------------------------------------------------------------------- */

static bool has_once(const struct restrictions *s, struct str name)
{
	for (size_t i = 0; i < s->n; i++) {
		if (str_eq(s->once[i], name))
			return true;
	}
	return false;
}

static struct verdict read_claims(struct plugin *p, struct cycle *c, struct restrictions *s)
{
	for (size_t i = 0; i < c->pod->nvolumes; i++) {
		const struct pod_volume *v = &c->pod->volumes[i];
		struct volume_claim *claim;

		if (v->ephemeral || v->pvc.n == 0)
			continue;
		claim = volume_claim_find(p->services, v->pvc_key, &c->arena);
		if (!claim)
			return volume_not_found("persistentvolumeclaim", v->pvc, &c->arena);
		if (!json_has_text(claim->access_modes, STR("ReadWriteOncePod")) ||
		    has_once(s, v->pvc))
			continue;
		s->once[s->n++] = v->pvc;
		s->users += snapshot_pvc_users(c->snapshot, v->pvc_key) > 0;
	}
	return VERDICT_OK;
}

static struct verdict restrictions_pre_filter(struct plugin *p, struct cycle *c)
{
	struct restrictions *s;
	struct verdict v;

	if (c->pod->nvolumes == 0)
		return (struct verdict){ .code = VERDICT_SKIP };
	s = ARENA_NEW(&c->arena, struct restrictions);
	s->once = ARENA_ARRAY(&c->arena, struct str, c->pod->nvolumes);
	v = read_claims(p, c, s);
	if (v.code != VERDICT_SUCCESS)
		return v;
	if (s->users == 0 && !pod_has_disk(c->pod))
		return (struct verdict){ .code = VERDICT_SKIP };
	*cycle_state(c, p) = s;
	return VERDICT_OK;
}

static void *clone_state(const struct plugin *p UNUSED, struct cycle *c, void *state)
{
	struct restrictions *copy = arena_alloc(&c->arena, sizeof(*copy));

	*copy = *(struct restrictions *)state;
	return copy;
}

static void count_pod(struct plugin *p, struct cycle *c, const struct podinfo *other, int64_t by)
{
	struct restrictions *s = *cycle_state(c, p);

	for (size_t i = 0; i < other->nvolumes; i++) {
		const struct pod_volume *v = &other->volumes[i];

		if (!v->ephemeral && v->pvc.n && has_once(s, v->pvc))
			s->users += by;
	}
}

static void restrictions_add_pod(struct plugin *p, struct cycle *c, const struct podinfo *other,
				 const struct nodeinfo *n UNUSED)
{
	count_pod(p, c, other, 1);
}

static void remove_pod(struct plugin *p, struct cycle *c, const struct podinfo *other,
		       const struct nodeinfo *n UNUSED)
{
	count_pod(p, c, other, -1);
}

static struct verdict restrictions_filter(struct plugin *p, struct cycle *c,
					  const struct nodeinfo *n)
{
	static const struct str disk[] = { REASON("node(s) had no available disk") };
	static const struct str once[] = { REASON(
		"node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access "
		"mode already in-use by another pod") };
	const struct restrictions *s = *cycle_state(c, p);

	if (pod_has_disk(c->pod)) {
		for (size_t i = 0; i < n->pods.n; i++) {
			if (pods_conflict(c->pod, n->pods.v[i]))
				return VERDICT_STATIC(VERDICT_UNSCHEDULABLE, disk);
		}
	}
	return s->users > 0 ? VERDICT_STATIC(VERDICT_UNSCHEDULABLE, once) : VERDICT_OK;
}

/* --- hints --------------------------------------------------------------------------------- */

static enum event_hint pod_deleted(const struct plugin *p UNUSED, const struct podinfo *waiting,
				   const struct cluster_event *e)
{
	const struct podinfo *gone = e->old_pod;

	if (!gone || !str_eq(gone->ns, waiting->ns))
		return gone ? HINT_SKIP : HINT_QUEUE;
	if (pods_conflict(waiting, gone))
		return HINT_QUEUE;
	for (size_t i = 0; i < waiting->nvolumes; i++) {
		const struct pod_volume *v = &waiting->volumes[i];

		for (size_t k = 0; v->pvc.n && !v->ephemeral && k < gone->nvolumes; k++) {
			if (!gone->volumes[k].ephemeral && str_eq(gone->volumes[k].pvc, v->pvc))
				return HINT_QUEUE;
		}
	}
	return HINT_SKIP;
}

static enum event_hint claim_added(const struct plugin *p UNUSED, const struct podinfo *waiting,
				   const struct cluster_event *e)
{
	return volume_event_concerns(e, waiting, false) ? HINT_QUEUE : HINT_SKIP;
}

static const struct plugin_event events[] = {
	{ .kind = EVENT_ASSIGNED_POD, .actions = EVENT_DELETE, .hint = pod_deleted },
	{ .kind = EVENT_NODE, .actions = EVENT_ADD },
	{ .kind = EVENT_PVC, .actions = EVENT_ADD, .hint = claim_added },
	{ .actions = 0 },
};

const struct plugin_kind plugin_volume_restrictions = {
	.name = "VolumeRestrictions",
	.events = events,
	.pre_filter = restrictions_pre_filter,
	.clone_state = clone_state,
	.add_pod = restrictions_add_pod,
	.remove_pod = remove_pod,
	.filter = restrictions_filter,
};
