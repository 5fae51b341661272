/*
 * A node is parsed into a temporary tree, and the fields that the scheduler needs are copied. Their
 * text is borrowed from the object, so an entry only costs its pointers.
 */
#include "scheduler/cache/nodeobject.h"

#include "base/core/mem.h"
#include "base/json/json.h"
#include "client/informer/cached.h"
#include "scheduler/cache/cluster_event.h"
#include "scheduler/scheduler_limits.h"

enum { BLOCK_SIZE = 4096, STRUCT_SIZE = ALIGN_UP(sizeof(struct nodeobject), 16) };

static struct str nodeobject_keep(struct nodeobject *n, struct str text)
{
	struct str whole = n->object->json;

	if (!text.p || (text.p >= whole.p && text.p + text.n <= whole.p + whole.n))
		return text;
	return arena_str(&n->arena, text);
}

static const struct json *keep_map(struct nodeobject *n, const struct json *map)
{
	struct json *copy;

	if (!json_is(map, JSON_OBJECT) || map->n == 0)
		return NULL;
	copy = json_make_object(&n->arena);
	JSON_FOREACH (v, map)
		json_add(copy, nodeobject_keep(n, json_key(v)),
			 json_make_str(&n->arena, nodeobject_keep(n, json_str(v))));
	return copy;
}

static enum taint_effect effect_of(struct str text)
{
	if (str_eqz(text, "PreferNoSchedule"))
		return TAINT_PREFER_NO_SCHEDULE;
	return str_eqz(text, "NoExecute") ? TAINT_NO_EXECUTE : TAINT_NO_SCHEDULE;
}

static void read_taints(struct nodeobject *n, const struct json *list)
{
	struct node_taint *taints;

	if (json_count(list) == 0)
		return;
	taints = ARENA_ARRAY(&n->arena, struct node_taint, json_count(list));
	n->taints = taints;
	JSON_FOREACH (v, list)
		taints[n->ntaints++] = (struct node_taint){
			.key = nodeobject_keep(n, json_text_at(v, "key")),
			.value = nodeobject_keep(n, json_text_at(v, "value")),
			.effect = effect_of(json_text_at(v, "effect")),
		};
}

static void read_images(struct nodeobject *n, const struct json *list)
{
	struct node_image *images;
	size_t most = 0;

	JSON_FOREACH (v, list)
		most += json_count(json_getz(v, "names"));
	if (most == 0)
		return;
	images = ARENA_ARRAY(&n->arena, struct node_image, most);
	n->images = images;
	JSON_FOREACH (v, list)
		JSON_FOREACH (name, json_getz(v, "names"))
			images[n->nimages++] = (struct node_image){
				.name = nodeobject_keep(n, json_str(name)),
				.size = json_i64_at(v, "sizeBytes", 0),
			};
}

static void read_features(struct nodeobject *n, const struct json *list)
{
	struct str *features;

	if (json_count(list) == 0)
		return;
	features = ARENA_ARRAY(&n->arena, struct str, json_count(list));
	n->features = features;
	JSON_FOREACH (v, list)
		features[n->nfeatures++] = nodeobject_keep(n, json_str(v));
}

/* Order does not count, as in upstream's map of them. */
static void read_conditions(struct nodeobject *n, const struct json *list)
{
	JSON_FOREACH (v, list) {
		struct str type = json_text_at(v, "type"), status = json_text_at(v, "status");

		n->conditions_hash += hash_bytes(status, hash_bytes(type, 1));
		if (str_eqz(type, "Ready"))
			n->ready = str_eqz(status, "True");
	}
}

static struct str label_or(const struct nodeobject *n, const char *first, const char *second)
{
	struct str v = json_text_at(n->labels, first);

	return v.p ? v : json_text_at(n->labels, second);
}

static void read_zone(struct nodeobject *n)
{
	struct str zone = label_or(n, "failure-domain.beta.kubernetes.io/zone",
				   "topology.kubernetes.io/zone");
	struct str region = label_or(n, "failure-domain.beta.kubernetes.io/region",
				     "topology.kubernetes.io/region");
	char *text;

	if (zone.n + region.n == 0)
		return;
	text = arena_alloc(&n->arena, region.n + 3 + zone.n);
	str_put(text, region);
	memcpy(text + region.n, ":\0:", 3);
	str_put(text + region.n + 3, zone);
	n->zone = str_of(text, region.n + 3 + zone.n);
}

static void read_node(struct nodeobject *n, const struct json *tree, struct amount_names *names)
{
	const struct json *meta = json_getz(tree, "metadata");
	const struct json *spec = json_getz(tree, "spec");
	const struct json *status = json_getz(tree, "status");
	const struct json *allocatable = json_getz(status, "allocatable");

	n->name = n->object->key;
	n->uid = n->object->uid;
	n->labels = keep_map(n, json_getz(meta, "labels"));
	n->annotations = keep_map(n, json_getz(meta, "annotations"));
	n->unschedulable = json_true_at(spec, "unschedulable");
	amounts_init(&n->allocatable);
	(void)amounts_add_list(&n->allocatable, names,
			       allocatable ? allocatable : json_getz(status, "capacity"), SIZE_MAX);
	read_zone(n);
	read_taints(n, json_getz(spec, "taints"));
	read_images(n, json_getz(status, "images"));
	read_features(n, json_getz(status, "declaredFeatures"));
	read_conditions(n, json_getz(status, "conditions"));
}

/* Bytes that are kept; 0: more than a block. */
static size_t nodeobject_measure(struct cached *object, const struct json *tree,
				 struct amount_names *names)
{
	_Alignas(16) char block[BLOCK_SIZE];
	struct nodeobject draft = { .object = object };
	size_t used = 0;

	arena_init_in(&draft.arena, NODE_WORK_MAX, block, sizeof(block));
	read_node(&draft, tree, names);
	if (!draft.arena.blocks)
		used = (size_t)(draft.arena.at - block);
	amounts_release(&draft.allocatable);
	arena_release(&draft.arena);
	return used;
}

int nodeobject_new(struct cached *object, struct amount_names *names, struct nodeobject **ret_node,
		   struct error *err)
{
	__attribute__((cleanup(arena_release_cleanup))) struct arena scratch;
	struct nodeobject *n;
	struct json *tree;
	size_t size;
	int r;

	arena_init(&scratch, NODE_WORK_MAX);
	r = cached_tree(object, &scratch, &tree, err);
	if (r < 0)
		return error_wrap(err, r, "node %.*s", STR_ARG(object->key));
	size = nodeobject_measure(object, tree, names);
	n = xcalloc(1, STRUCT_SIZE + size);
	n->refs = 1;
	n->object = cached_ref(object);
	arena_init_in(&n->arena, NODE_WORK_MAX, size > 0 ? (char *)n + STRUCT_SIZE : NULL, size);
	read_node(n, tree, names);
	amounts_hold(&n->allocatable, names);
	n->names = names;
	*ret_node = n;
	return 0;
}

struct nodeobject *nodeobject_ref(struct nodeobject *n)
{
	n->refs++;
	return n;
}

void nodeobject_unref(struct nodeobject *n)
{
	if (!n || --n->refs > 0)
		return;
	amounts_drop(&n->allocatable, n->names);
	amounts_release(&n->allocatable);
	arena_release(&n->arena);
	cached_unref(n->object);
	free(n);
}

static bool covers(const struct amounts *a, const struct amounts *b)
{
	for (size_t i = 0; i < a->scalars.n; i++)
		if (amounts_scalar(b, a->scalars.v[i].name) != a->scalars.v[i].value)
			return false;
	return true;
}

static bool same_amounts(const struct amounts *a, const struct amounts *b)
{
	return a->cpu_milli == b->cpu_milli && a->memory == b->memory &&
	       a->ephemeral == b->ephemeral && a->pods == b->pods && covers(a, b) && covers(b, a);
}

static bool same_taints(const struct nodeobject *a, const struct nodeobject *b)
{
	if (a->ntaints != b->ntaints)
		return false;
	for (size_t i = 0; i < a->ntaints; i++)
		if (a->taints[i].effect != b->taints[i].effect ||
		    !str_eq(a->taints[i].key, b->taints[i].key) ||
		    !str_eq(a->taints[i].value, b->taints[i].value))
			return false;
	return true;
}

static bool same_features(const struct nodeobject *a, const struct nodeobject *b)
{
	if (a->nfeatures != b->nfeatures)
		return false;
	for (size_t i = 0; i < a->nfeatures; i++)
		if (!str_eq(a->features[i], b->features[i]))
			return false;
	return true;
}

static bool same_map(const struct json *a, const struct json *b)
{
	if (!a || !b)
		return a == b;
	return json_equal(a, b);
}

unsigned nodeobject_changes(const struct nodeobject *old, const struct nodeobject *n)
{
	unsigned actions = 0;

	/* Only a node that becomes schedulable can help a pod. */
	if ((old->unschedulable && !n->unschedulable) || !same_taints(old, n))
		actions |= EVENT_UPDATE_NODE_TAINT;
	if (!same_amounts(&old->allocatable, &n->allocatable))
		actions |= EVENT_UPDATE_NODE_ALLOCATABLE;
	if (!same_map(old->labels, n->labels))
		actions |= EVENT_UPDATE_NODE_LABEL;
	if (old->conditions_hash != n->conditions_hash)
		actions |= EVENT_UPDATE_NODE_CONDITION;
	if (!same_map(old->annotations, n->annotations))
		actions |= EVENT_UPDATE_NODE_ANNOTATION;
	if (!same_features(old, n))
		actions |= EVENT_UPDATE_NODE_FEATURES;
	return actions;
}
