/*
 * Objects are read in the server's preferred version. Those of v1beta1 are converted to the format
 * of v1, which the other versions share.
 */
#include "cli/fit/load.h"

#include "api/convert/convert.h"
#include "api/schema/schema.h"
#include "base/core/map.h"
#include "cli/devices/view.h"
#include "client/api/discovery.h"
#include "dra/dra_limits.h"
#include "dra/inventory/content.h"

static void to_v1(struct arena *a, const struct resource *r, struct json *tree)
{
	const struct schema_kind *kind = schema_find_resource(r->group, r->version, r->resource);
	struct json *items = json_getz(tree, "items");

	if (!kind)
		return;
	if (!items)
		convert_to_storage(a, tree, kind);
	JSON_FOREACH (it, items)
		convert_to_storage(a, it, kind);
}

int fit_read(struct kube *k, const char *plural, struct str ns, struct str name,
	     struct json **ret_tree, struct error *err)
{
	struct kube_query q = { .ns = ns, .name = name };
	const struct discovery_resource *d;
	const char *word = arena_printf(&k->cli->arena, "%s.resource.k8s.io", plural);
	int r = kube_resource(k, str_from(word), &d, err);

	if (r < 0)
		return r;
	q.resource = &d->resource;
	r = kube_read(k, &q, ret_tree, err);
	if (r == 0)
		to_v1(&k->cli->arena, &d->resource, *ret_tree);
	return r;
}

/* --- optional objects ------------------------------------------------------------------------ */

static void load_note(struct kube *k, struct fit_cluster *c, const char *fmt, ...)
	PRINTF_LIKE(3, 4);

static void load_note(struct kube *k, struct fit_cluster *c, const char *fmt, ...)
{
	struct arena *a = &k->cli->arena;
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_append(c->notes, json_make_str(a, arena_str(a, str_from(text))));
}

static bool is_denied(int r)
{
	return r == -ERR_FORBIDDEN || r == -ERR_UNAUTHORIZED;
}

static int put_all(struct kube *k, struct fit_cluster *c, const struct json *list,
		   int (*put)(struct inventory *inv, const struct json *v, struct error *err))
{
	struct error why;

	JSON_FOREACH (it, json_getz(list, "items")) {
		if (put(c->inventory, it, &why) < 0)
			load_note(k, c, "cannot read %.*s: %.200s",
				  STR_ARG(json_text_at(json_getz(it, "metadata"), "name")),
				  why.msg);
	}
	return 0;
}

static int load_classes(struct kube *k, struct fit_cluster *c, struct error *err)
{
	struct json *list;
	int r = fit_read(k, "deviceclasses", STR_NULL, STR_NULL, &list, err);

	return r < 0 ? r : put_all(k, c, list, inventory_put_class);
}

/* Few servers have rules; a lookup by name finds out whether this one does. */
static int load_rules(struct kube *k, struct fit_cluster *c, struct error *err)
{
	struct json *list;
	int r = fit_read(k, "devicetaintrules", STR_NULL, STR_NULL, &list, err);

	if (r == -ERR_NOT_FOUND)
		return 0;
	if (is_denied(r)) {
		load_note(
			k, c,
			"cannot read device taint rules: devices that they taint count as usable");
		return 0;
	}
	return r < 0 ? r : put_all(k, c, list, inventory_put_taint_rule);
}

/* --- claims ---------------------------------------------------------------------------------- */

/* Claims reconstructed from slices' status, in place of those that cannot be read. */
struct stand_ins {
	struct kube *kube;
	struct fit_cluster *cluster;
	struct str known; /* the namespace whose claims were read; or empty */
	struct map by_name; /* reconstructed claims, by "namespace/name" */
	struct json *claims;
	size_t results;
};

/* A status may list two successive claims of one name: both are counted. */
static struct json *results_of(struct stand_ins *s, const struct json *allocation)
{
	struct arena *a = &s->kube->cli->arena;
	struct str ns = json_text_at(allocation, "claimNamespace");
	struct str name = json_text_at(allocation, "claimName");
	struct str key = str_from(arena_printf(a, "%.*s/%.*s", STR_ARG(ns), STR_ARG(name)));
	struct json *claim = map_get(&s->by_name, key), *meta, *status;

	if (!claim) {
		claim = json_make_object(a);
		meta = json_need_object(a, claim, "metadata");
		json_put_str(a, meta, "namespace", ns);
		json_put_str(a, meta, "name", name);
		json_put_str(a, meta, "uid", json_text_at(allocation, "claimUID"));
		json_append(s->claims, claim);
		(void)map_put(&s->by_name, key, claim);
	}
	status = json_need_object(a, json_need_object(a, claim, "status"), "allocation");
	return json_need_array(a, json_need_object(a, status, "devices"), "results");
}

/* A status does not say which share of the device is allocated: any free one will do. */
static void add_result(struct stand_ins *s, const struct json *spec, struct str device,
		       const struct json *allocation)
{
	struct arena *a = &s->kube->cli->arena;
	struct json *result = json_make_object(a), *capacity = NULL;
	const struct json *of = json_find(json_getz(spec, "devices"), "name", device);

	json_put_str(a, result, "request", json_text_at(allocation, "request"));
	json_put_str(a, result, "driver", json_text_at(spec, "driver"));
	json_put_str(a, result, "pool", json_text_at(json_getz(spec, "pool"), "name"));
	json_put_str(a, result, "device", device);
	if (json_true_at(of, "allowMultipleAllocations"))
		json_put_str(a, result, "shareID", str_from(arena_printf(a, "%zu", s->results++)));
	if (json_getz(allocation, "capacity") &&
	    json_copy(a, json_getz(allocation, "capacity"), &capacity, NULL) == 0)
		json_setz(result, "consumedCapacity", capacity);
	json_append(results_of(s, allocation), result);
}

static void load_add_slice(struct stand_ins *s, const struct device_view_slice *slice)
{
	if (!slice->status)
		s->cluster->uncertain = true;
	JSON_FOREACH (device, json_getz(slice->status, "devices")) {
		const struct json *list = json_getz(device, "allocations");

		/* The status does not list more than that. */
		if (json_count(list) >= AVAILABILITY_ALLOCATIONS_MAX)
			s->cluster->uncertain = true;
		JSON_FOREACH (it, list) {
			if (!str_eq(json_text_at(it, "claimNamespace"), s->known))
				add_result(s, slice->spec, json_text_at(device, "name"), it);
		}
	}
}

static void put_stand_ins(struct kube *k, struct fit_cluster *c, struct str known,
			  const struct json *slices)
{
	struct arena *a = &k->cli->arena;
	struct stand_ins s = { .kube = k, .cluster = c, .known = known };
	struct device_view v;
	struct json *objects;
	struct error err;

	map_init(&s.by_name);
	s.claims = json_make_array(a);
	device_view_make(a, slices, &v);
	device_view_mark_older(a, &v, slices);
	if (device_view_lacks(&v) && device_view_objects(k, STR_NULL, &objects, &err) == 0)
		device_view_adopt(&v, objects);
	for (size_t i = 0; i < v.n; i++) {
		if (!v.slices[i].older)
			load_add_slice(&s, &v.slices[i]);
	}
	JSON_FOREACH (it, s.claims)
		(void)inventory_put_claim(c->inventory, it, NULL);
	map_release(&s.by_name);
}

static int load_claims(struct kube *k, struct fit_cluster *c, struct str ns,
		       const struct json *slices, struct error *err)
{
	struct json *list = NULL;
	bool own;
	int r = fit_read(k, "resourceclaims", STR_NULL, STR_NULL, &list, err);

	if (!is_denied(r))
		return r < 0 ? r : put_all(k, c, list, inventory_put_claim);
	r = fit_read(k, "resourceclaims", ns, STR_NULL, &list, err);
	if (r < 0 && !is_denied(r))
		return r;
	own = r == 0;
	if (own)
		(void)put_all(k, c, list, inventory_put_claim);
	put_stand_ins(k, c, own ? ns : STR_NULL, json_getz(slices, "items"));
	load_note(k, c, "cannot read claims%s%.*s: %s", own ? " of other namespaces than " : "",
		  STR_ARG(own ? ns : STR_NULL),
		  c->uncertain ? "their devices are known only for slices with a status; other "
				 "devices count "
				 "as free"
			       : "their devices are known from the status of slices");
	return 0;
}

/* --- nodes ----------------------------------------------------------------------------------- */

static struct json *node_named(struct arena *a, struct str name)
{
	struct json *node = json_make_object(a);

	json_put_str(a, json_need_object(a, node, "metadata"), "name", name);
	return node;
}

static void nodes_of_slices(struct kube *k, struct fit_cluster *c, const struct json *slices)
{
	struct arena *a = &k->cli->arena;
	struct map seen;

	map_init(&seen);
	JSON_FOREACH (it, json_getz(slices, "items")) {
		struct str name = json_text_at(json_getz(it, "spec"), "nodeName");

		if (!name.n || map_get(&seen, name))
			continue;
		(void)map_put(&seen, name, c);
		json_append(c->nodes, node_named(a, name));
	}
	map_release(&seen);
}

static void note_denied(struct kube *k, struct fit_cluster *c, struct str node,
			const struct json *slices)
{
	load_note(k, c,
		  "cannot read nodes: only nodes that slices name are considered; they are assumed "
		  "to "
		  "exist, without labels and taints");
	c->node_names_only = true;
	if (node.n)
		json_append(c->nodes, node_named(&k->cli->arena, node));
	else
		nodes_of_slices(k, c, slices);
}

static bool load_is_gone(const struct fit_cluster *c, struct str node)
{
	for (size_t i = 0; i < c->ngone; i++)
		if (str_eq(c->gone[i], node))
			return true;
	return false;
}

/* One node: a node that only devices name need not exist, any other must. */
static int load_node(struct kube *k, struct fit_cluster *c, struct str node,
		     const struct json *slices, struct error *err)
{
	struct resource nodes = resource_builtin("", "v1", "nodes");
	struct kube_query q = { .resource = &nodes, .name = node };
	struct json *tree;
	int r;

	if (load_is_gone(c, node)) {
		c->gone[0] = node;
		c->ngone = 1;
		return 0;
	}
	c->ngone = 0;
	r = kube_read(k, &q, &tree, err);
	if (is_denied(r)) {
		note_denied(k, c, node, slices);
		return 0;
	}
	if (r == 0) {
		inventory_put_node_object(c->inventory, tree);
		json_append(c->nodes, tree);
	}
	return r;
}

/* Lists all nodes even if one is wanted: its slices may have devices of others. */
static int load_nodes(struct kube *k, struct fit_cluster *c, struct str node,
		      const struct json *slices, struct error *err)
{
	struct resource nodes = resource_builtin("", "v1", "nodes");
	struct kube_query q = { .resource = &nodes };
	struct json *tree;
	int r = kube_read(k, &q, &tree, err);

	c->nodes = json_make_array(&k->cli->arena);
	if (r < 0 && !is_denied(r))
		return r;
	if (r == 0) {
		JSON_FOREACH (it, json_getz(tree, "items"))
			inventory_put_node_object(c->inventory, it);
		inventory_know_nodes(c->inventory);
		c->ngone = inventory_gone_nodes(c->inventory, &k->cli->arena, &c->gone);
	}
	if (node.n)
		return load_node(k, c, node, slices, err);
	if (r < 0)
		note_denied(k, c, node, slices);
	else if (json_getz(tree, "items"))
		c->nodes = json_getz(tree, "items");
	return 0;
}

/* --- everything ------------------------------------------------------------------------------ */

int fit_load(struct kube *k, struct str ns, struct str node, struct fit_cluster *c,
	     struct error *err)
{
	struct json *slices;
	int r;

	*c = (struct fit_cluster){ .inventory = inventory_new(inventory_everything),
				   .notes = json_make_array(&k->cli->arena) };
	r = fit_read(k, "resourceslices", STR_NULL, STR_NULL, &slices, err);
	if (r < 0)
		return r;
	(void)put_all(k, c, slices, inventory_put_slice);
	r = load_classes(k, c, err);
	if (r == 0)
		r = load_rules(k, c, err);
	if (r == 0)
		r = load_claims(k, c, ns, slices, err);
	return r < 0 ? r : load_nodes(k, c, node, slices, err);
}

void fit_unload(struct fit_cluster *c)
{
	inventory_free(c->inventory);
	c->inventory = NULL;
}
