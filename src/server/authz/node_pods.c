/*
 * Each node has a map of its pods by key. The map holds references to the newest objects, so that
 * their text needs no further lookup.
 */
#include "server/authz/node_pods.h"

#include <stdlib.h>

#include "api/object/object.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "api/check/pod_refs.h"

struct node {
	struct map pods; /* key -> struct object, a reference */
	struct str name; /* stored after the struct */
};

struct node_pods {
	struct map nodes;
	const struct schema_kind *kind;
	size_t node_name; /* index of spec.nodeName among the selectable fields */
};

struct node_pods *node_pods_new(void)
{
	struct node_pods *p = XNEW(struct node_pods);

	map_init(&p->nodes);
	p->kind = schema_find_resource(STR(""), STR("v1"), STR("pods"));
	while (!str_eqz(p->kind->selectables[p->node_name].path, "spec.nodeName"))
		p->node_name++;
	return p;
}

static void node_free(struct node *n)
{
	size_t at = 0;
	struct str key;
	void *o;

	while (map_next(&n->pods, &at, &key, &o))
		object_unref(o);
	map_release(&n->pods);
	free(n);
}

void node_pods_reset(struct node_pods *p)
{
	size_t at = 0;
	struct str key;
	void *n;

	while (map_next(&p->nodes, &at, &key, &n))
		node_free(n);
	map_clear(&p->nodes);
}

void node_pods_free(struct node_pods *p)
{
	if (!p)
		return;
	node_pods_reset(p);
	map_release(&p->nodes);
	free(p);
}

static struct str node_pods_node_of(const struct node_pods *p, const struct object *o)
{
	return o ? object_field_at(o, p->kind, p->node_name) : STR_NULL;
}

static struct node *node_make(struct node_pods *p, struct str name)
{
	struct node *n = map_get(&p->nodes, name);

	if (n)
		return n;
	n = xcalloc(1, sizeof(*n) + name.n);
	str_put(n + 1, name);
	n->name = str_of(n + 1, name.n);
	map_init(&n->pods);
	map_put(&p->nodes, n->name, n);
	return n;
}

static void take_out(struct node_pods *p, struct str node, struct str key)
{
	struct node *n = map_get(&p->nodes, node);

	if (!n)
		return;
	object_unref(map_remove(&n->pods, key));
	if (n->pods.n > 0)
		return;
	map_remove(&p->nodes, n->name);
	node_free(n);
}

void node_pods_change(struct node_pods *p, struct object *now, struct object *before)
{
	struct str is = node_pods_node_of(p, now), was = node_pods_node_of(p, before);

	if (was.n && !str_eq(is, was))
		take_out(p, was, before->key);
	if (is.n)
		object_unref(map_put(&node_make(p, is)->pods, now->key, object_ref(now)));
}

/*
 * A pod's tree; NULL for a mirror pod, or if it does not parse, which does not happen for stored
 * objects.
 */
static const struct json *node_pods_tree_of(const struct object *o, struct arena *a)
{
	struct json *tree;

	if (object_tree(o, a, &tree, NULL) < 0 || pod_refs_is_mirror(tree))
		return NULL;
	return tree;
}

/* A quick text search that avoids parsing. Names have no characters that JSON escapes. */
static bool may_refer(const struct object *o, enum pod_refs_what what, struct str name)
{
	struct str text = str_of(o->json->data, o->json->n);

	return str_find(text, name) >= 0 ||
	       (what == POD_REFS_VOLUME_CLAIM && str_find(text, STR("\"ephemeral\"")) >= 0);
}

static bool pod_refers(const struct object *o, enum pod_refs_what what, struct str name)
{
	struct arena a;
	const struct json *pod;
	bool found;

	if (!may_refer(o, what, name))
		return false;
	arena_init(&a, SIZE_MAX);
	pod = node_pods_tree_of(o, &a);
	found = pod && pod_refs_has(pod, what, name);
	arena_release(&a);
	return found;
}

bool node_pods_refer(struct node_pods *p, struct str node, enum pod_refs_what what, struct str ns,
		     struct str name)
{
	const struct node *n = map_get(&p->nodes, node);
	size_t at = 0;
	struct str key;
	void *o;

	while (n && name.n && map_next(&n->pods, &at, &key, &o))
		if (str_eq(object_ns(o), ns) && pod_refers(o, what, name))
			return true;
	return false;
}

bool node_pods_has(struct node_pods *p, struct str node, struct str ns, struct str name)
{
	const struct node *n = map_get(&p->nodes, node);
	CLEANUP(free) char *key = NULL;
	size_t size = ns.n + 1 + name.n;

	if (!n)
		return false;
	key = xmalloc(size + 1);
	(void)snprintf(key, size + 1, "%.*s/%.*s", STR_ARG(ns), STR_ARG(name));
	return map_get(&n->pods, str_of(key, size)) != NULL;
}

static bool pod_each_claim(const struct object *o,
			   bool (*fn)(void *arg, struct str ns, struct str claim), void *arg)
{
	struct str text = str_of(o->json->data, o->json->n), claim;
	struct arena a;
	const struct json *pod;
	bool stop = false;

	if (str_find(text, STR("\"persistentVolumeClaim\"")) < 0 &&
	    str_find(text, STR("\"ephemeral\"")) < 0)
		return false;
	arena_init(&a, SIZE_MAX);
	pod = node_pods_tree_of(o, &a);
	JSON_FOREACH (it, json_getz(json_getz(pod, "spec"), "volumes")) {
		claim = pod_refs_volume_claim(&a, pod, it);
		stop = stop || (claim.n && fn(arg, object_ns(o), claim));
	}
	arena_release(&a);
	return stop;
}

bool node_pods_each_volume_claim(struct node_pods *p, struct str node,
				 bool (*fn)(void *arg, struct str ns, struct str claim), void *arg)
{
	const struct node *n = map_get(&p->nodes, node);
	size_t at = 0;
	struct str key;
	void *o;

	while (n && map_next(&n->pods, &at, &key, &o))
		if (pod_each_claim(o, fn, arg))
			return true;
	return false;
}
