/*
 * Reading of claims and volumes: the fields that decide, with upstream's helpers' meaning.
 */
#include "scheduler/volumes/volumes.h"

#include "base/json/json.h"
#include "client/informer/cache.h"
#include "scheduler/framework/common.h"

#define ANNOTATION_CLASS "volume.beta.kubernetes.io/storage-class"
#define ANNOTATION_BOUND "pv.kubernetes.io/bind-completed"
#define ANNOTATION_NODE  "volume.kubernetes.io/selected-node"

static const struct json *annotations_of(const struct json *tree)
{
	return json_getz(json_getz(tree, "metadata"), "annotations");
}

/* Returns the class of a claim or volume, from annotation or field. */
static struct str volume_class_of(const struct json *tree)
{
	const struct json *said = json_getz(annotations_of(tree), ANNOTATION_CLASS);

	return said ? json_str(said) : json_text_at(json_getz(tree, "spec"), "storageClassName");
}

static struct str mode_of(const struct json *spec)
{
	struct str mode = json_text_at(spec, "volumeMode");

	return mode.p ? mode : STR("Filesystem");
}

static const struct json *volumes_tree_of(struct cached *o, struct arena *a)
{
	struct json *tree;

	return cached_tree_held(o, a, &tree, NULL) < 0 ? NULL : tree;
}

struct volume_claim *volume_claim_find(const struct services *s, struct str key, struct arena *a)
{
	struct cached *o = s->pvcs ? cache_get(s->pvcs, key) : NULL;
	const struct json *tree = o ? volumes_tree_of(o, a) : NULL;
	const struct json *spec = json_getz(tree, "spec"), *notes = annotations_of(tree);
	struct volume_claim *c;

	if (!tree)
		return NULL;
	c = ARENA_NEW(a, struct volume_claim);
	c->object = o;
	c->tree = tree;
	c->key = o->key;
	c->ns = cached_ns(o);
	c->name = cached_name(o);
	c->uid = o->uid;
	c->volume = json_text_at(spec, "volumeName");
	c->class = volume_class_of(tree);
	c->mode = mode_of(spec);
	c->attributes = json_text_at(spec, "volumeAttributesClassName");
	c->selected_node = json_text_at(notes, ANNOTATION_NODE);
	c->has_request = quantity_read(
		json_getz(json_getz(json_getz(spec, "resources"), "requests"), "storage"),
		&c->request);
	c->bound = c->volume.n && json_getz(notes, ANNOTATION_BOUND);
	c->lost = str_eqz(json_text_at(json_getz(tree, "status"), "phase"), "Lost");
	c->deleting = o->deleting;
	c->access_modes = json_getz(spec, "accessModes");
	c->selector = json_getz(spec, "selector");
	return c;
}

static void read_affinity(struct volume *v, const struct json *spec, struct arena *a)
{
	const struct json *required = json_getz(json_getz(spec, "nodeAffinity"), "required");

	if (!json_is(required, JSON_OBJECT))
		return;
	v->restricted = true;
	/* An unreadable selector matches no node. */
	if (node_selector_read(a, required, &v->nodes, NULL) < 0)
		v->nodes = (struct node_selector){ 0 };
}

struct volume *volume_read(struct cached *o, struct arena *a)
{
	const struct json *tree = volumes_tree_of(o, a), *spec = json_getz(tree, "spec");
	const struct json *claim = json_getz(spec, "claimRef");
	struct volume *v;

	if (!tree)
		return NULL;
	v = ARENA_NEW(a, struct volume);
	v->object = o;
	v->tree = tree;
	v->labels = json_getz(json_getz(tree, "metadata"), "labels");
	v->name = cached_name(o);
	v->class = volume_class_of(tree);
	v->mode = mode_of(spec);
	v->phase = json_text_at(json_getz(tree, "status"), "phase");
	v->attributes = json_text_at(spec, "volumeAttributesClassName");
	if (json_is(claim, JSON_OBJECT)) {
		v->claim_ns = json_text_at(claim, "namespace");
		v->claim_name = json_text_at(claim, "name");
		v->claim_uid = json_text_at(claim, "uid");
		if (!v->claim_name.p)
			v->claim_name = STR("");
	}
	(void)quantity_read(json_getz(json_getz(spec, "capacity"), "storage"), &v->capacity);
	v->deleting = o->deleting;
	v->access_modes = json_getz(spec, "accessModes");
	read_affinity(v, spec, a);
	return v;
}

struct volume *volume_find(const struct services *s, struct str name, struct arena *a)
{
	struct cached *o = s->pvs ? cache_get(s->pvs, name) : NULL;

	return o ? volume_read(o, a) : NULL;
}

const struct json *volume_class_find(const struct services *s, struct str name, struct arena *a)
{
	struct cached *o = s->storage_classes ? cache_get(s->storage_classes, name) : NULL;

	return o ? volumes_tree_of(o, a) : NULL;
}

bool volume_allows(const struct volume *v, const struct json *node_labels)
{
	return !v->restricted || node_selector_matches(&v->nodes, STR_NULL, node_labels);
}

bool volume_claim_is_of(const struct volume_claim *c, const struct podinfo *pod)
{
	const struct json *owners = json_getz(json_getz(c->tree, "metadata"), "ownerReferences");

	JSON_FOREACH (owner, owners) {
		if (json_true_at(owner, "controller"))
			return str_eq(json_text_at(owner, "uid"), pod->uid);
	}
	return false;
}

struct verdict volume_claim_foreign(const struct volume_claim *c, const struct podinfo *pod,
				    enum verdict_code code, struct arena *a)
{
	return verdict_print(a, code, "PVC %.*s was not created for pod %.*s (pod is not owner)",
			     STR_ARG(c->key), STR_ARG(pod->key));
}

struct verdict volume_not_found(const char *kind, struct str name, struct arena *a)
{
	return verdict_print(a, VERDICT_UNRESOLVABLE, "%s \"%.*s\" not found", kind, STR_ARG(name));
}

bool volume_event_concerns(const struct cluster_event *e, const struct podinfo *pod, bool ephemeral)
{
	for (size_t i = 0; e->object && i < pod->nvolumes; i++) {
		const struct pod_volume *v = &pod->volumes[i];

		if ((ephemeral || !v->ephemeral) && v->pvc.n && str_eq(v->pvc_key, e->object->key))
			return true;
	}
	return false;
}
