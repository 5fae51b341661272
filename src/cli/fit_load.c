/*
 * Objects are read in the server's preferred version; those of v1beta1 are turned into the form of
 * v1, which the other versions share.
 */
#include "cli/fit_load.h"

#include "api/convert.h"
#include "base/map.h"
#include "client/discovery.h"

static const struct {
	const char *plural;
	void (*convert)(struct arena *a, struct json *object);
} beta1[] = {
	{ "resourceclaims", convert_resource_v1beta1_resource_claim_to_storage },
	{ "resourceclaimtemplates", convert_resource_v1beta1_resource_claim_template_to_storage },
	{ "resourceslices", convert_resource_v1beta1_resource_slice_to_storage },
};

static void to_v1(struct arena *a, const struct resource *r, struct json *tree)
{
	struct json *items = json_getz(tree, "items");

	if (!str_eqz(r->version, "v1beta1"))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(beta1); i++) {
		if (!str_eqz(r->resource, beta1[i].plural))
			continue;
		if (!items)
			beta1[i].convert(a, tree);
		JSON_FOREACH_SAFE (it, items)
			beta1[i].convert(a, it);
	}
}

static struct str word_of(struct arena *a, const char *plural)
{
	return str_from(arena_printf(a, "%s.resource.k8s.io", plural));
}

int fit_read(struct kube *k, const char *plural, struct str ns, struct str name,
	     struct json **ret_tree, struct error *err)
{
	struct kube_query q = { .ns = ns, .name = name };
	const struct discovery_resource *d;
	int r = kube_resource(k, word_of(&k->cli->arena, plural), &d, err);

	if (r < 0)
		return r;
	q.resource = &d->resource;
	r = kube_read(k, &q, ret_tree, err);
	if (r == 0)
		to_v1(&k->cli->arena, &d->resource, *ret_tree);
	return r;
}

/* --- what may be missing --------------------------------------------------------------------- */

static void note(struct kube *k, struct fit_cluster *c, const char *fmt, ...) PRINTF_LIKE(3, 4);

static void note(struct kube *k, struct fit_cluster *c, const char *fmt, ...)
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
			note(k, c, "%.*s is not understood: %.200s",
			     STR_ARG(json_text_at(json_getz(it, "metadata"), "name")), why.msg);
	}
	return 0;
}

static int load_classes(struct kube *k, struct fit_cluster *c, struct error *err)
{
	struct json *list;
	int r = fit_read(k, "deviceclasses", STR_NULL, STR_NULL, &list, err);

	return r < 0 ? r : put_all(k, c, list, inventory_put_class);
}

/* Rules exist on few servers, and their own name is enough to say that they are there. */
static int load_rules(struct kube *k, struct fit_cluster *c, struct error *err)
{
	struct json *list;
	int r = fit_read(k, "devicetaintrules", STR_NULL, STR_NULL, &list, err);

	if (r == -ERR_NOT_FOUND)
		return 0;
	if (is_denied(r)) {
		note(k, c,
		     "device taint rules cannot be read: devices that they taint count as usable");
		return 0;
	}
	return r < 0 ? r : put_all(k, c, list, inventory_put_taint_rule);
}

static int load_claims(struct kube *k, struct fit_cluster *c, struct str ns, struct error *err)
{
	struct json *list;
	int r = fit_read(k, "resourceclaims", STR_NULL, STR_NULL, &list, err);

	if (is_denied(r)) {
		note(k, c,
		     "claims of other namespaces than %.*s cannot be read: devices that they hold "
		     "count as free",
		     STR_ARG(ns));
		c->other_claims_unread = true;
		r = fit_read(k, "resourceclaims", ns, STR_NULL, &list, err);
	}
	return r < 0 ? r : put_all(k, c, list, inventory_put_claim);
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

static int load_nodes(struct kube *k, struct fit_cluster *c, struct str node,
		      const struct json *slices, struct error *err)
{
	struct resource nodes = resource_builtin("", "v1", "nodes");
	struct kube_query q = { .resource = &nodes, .name = node };
	struct json *tree;
	int r = kube_read(k, &q, &tree, err);

	c->nodes = json_make_array(&k->cli->arena);
	if (is_denied(r)) {
		note(k, c,
		     "nodes cannot be read: only those that slices name are looked at, without "
		     "labels and taints");
		c->node_names_only = true;
		if (node.n)
			json_append(c->nodes, node_named(&k->cli->arena, node));
		else
			nodes_of_slices(k, c, slices);
		return 0;
	}
	if (r < 0)
		return r;
	if (node.n)
		json_append(c->nodes, tree);
	else if (json_getz(tree, "items"))
		c->nodes = json_getz(tree, "items");
	return 0;
}

/* --- all of it ------------------------------------------------------------------------------- */

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
		r = load_claims(k, c, ns, err);
	return r < 0 ? r : load_nodes(k, c, node, slices, err);
}

void fit_unload(struct fit_cluster *c)
{
	inventory_free(c->inventory);
	c->inventory = NULL;
}
