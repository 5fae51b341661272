/*
 * Asks for no more than is needed: where every slice has a status, the slices that were asked for
 * are all that is read. Otherwise slices of the same drivers are read, as a pool counts as a whole,
 * then objects that have the status, then claims.
 */
#include "base/limits.h"
#include "cli/device_view.h"
#include "client/discovery.h"

struct load {
	struct kube *kube;
	struct arena *arena;
	const struct device_view_query *query;
	struct resource slices;
	struct device_view view;
	const struct json *all; /* every slice of the drivers concerned */
};

int device_view_resource(struct kube *k, const char *plural, struct resource *ret_resource,
			 struct error *err)
{
	static const char *const versions[] = { "v1", "v1beta2" };
	struct arena *a = &k->cli->arena;
	const struct discovery_resource *found = NULL;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		r = kube_resource(
			k, str_from(arena_printf(a, "%s.%s.resource.k8s.io", plural, versions[i])),
			&found, err);
		if (r == 0)
			*ret_resource = found->resource;
		if (r != -ERR_NOT_FOUND)
			return r;
	}
	if (kube_resource(k, str_from(arena_printf(a, "%s.resource.k8s.io", plural)), &found,
			  err) == 0)
		return error_set(err, ERR_NOT_FOUND,
				 "the server has %s in version %.*s only; devices are read from "
				 "v1 or v1beta2: Kubernetes 1.33 and newer",
				 plural, STR_ARG(found->resource.version));
	return error_set(err, ERR_NOT_FOUND,
			 "the server has no %s: resource.k8s.io is not served, or it does not "
			 "know dynamic resource allocation",
			 plural);
}

/* --- slices ---------------------------------------------------------------------------------- */

static struct str fields_of(struct load *l, struct str node, struct str driver)
{
	struct str comma = STR("");
	CLEANUP(buf_release) struct buf text = BUF_INIT(4 * KIB);

	if (node.n > 0) {
		(void)buf_printf(&text, "spec.nodeName=%.*s", STR_ARG(node));
		comma = STR(",");
	}
	if (driver.n > 0)
		(void)buf_printf(&text, "%.*sspec.driver=%.*s", STR_ARG(comma), STR_ARG(driver));
	return arena_str(l->arena, buf_str(&text));
}

static struct json *of_pool(struct load *l, struct json *items)
{
	struct str pool = l->query->pool;

	if (pool.n == 0)
		return items;
	JSON_FOREACH_SAFE (it, items) {
		struct str name = json_text_at(json_getz(json_getz(it, "spec"), "pool"), "name");

		if (!str_eq(name, pool))
			(void)json_unlink(items, it);
	}
	return items;
}

static int read_wanted(struct load *l, struct error *err)
{
	const struct device_view_query *q = l->query;
	struct kube_query ask = { .resource = &l->slices,
				  .name = q->slice,
				  .label_selector = q->label_selector,
				  .field_selector = q->field_selector };
	struct json *tree, *items;
	int r;

	if (q->slice.n == 0 && q->field_selector.n == 0)
		ask.field_selector = fields_of(l, q->node, q->driver);
	r = kube_read(l->kube, &ask, &tree, err);
	if (r < 0)
		return r;
	items = of_pool(l, json_getz(tree, "items"));
	if (q->slice.n > 0) {
		items = json_make_array(l->arena);
		json_append(items, tree);
	}
	device_view_make(l->arena, items, &l->view);
	l->view.version = json_text_at(json_getz(tree, "metadata"), "resourceVersion");
	l->all = items;
	return 0;
}

/* Nothing was left out: the view has all slices of whatever drivers it has. */
static bool has_all(const struct device_view_query *q)
{
	return q->slice.n + q->node.n + q->pool.n + q->label_selector.n + q->field_selector.n == 0;
}

static struct str only_driver(const struct device_view *v)
{
	struct str first = v->n > 0 ? json_text_at(v->slices[0].spec, "driver") : STR_NULL;

	/* They are sorted by driver. */
	return v->n > 0 && str_eq(first, json_text_at(v->slices[v->n - 1].spec, "driver"))
		       ? first
		       : STR_NULL;
}

static int read_all(struct load *l, struct error *err)
{
	struct kube_query ask = { .resource = &l->slices };
	struct json *tree;
	int r;

	if (has_all(l->query))
		return 0;
	ask.field_selector = fields_of(l, STR_NULL, only_driver(&l->view));
	r = kube_read(l->kube, &ask, &tree, err);
	if (r == 0)
		l->all = json_getz(tree, "items");
	return r;
}

/* --- statuses -------------------------------------------------------------------------------- */

static void read_objects(struct load *l)
{
	const struct discovery_resource *type;
	struct kube_query ask = { .name = l->query->slice };
	struct json *tree, *items;
	struct error err;

	if (kube_resource(l->kube, STR("resourceslicestatuses.v1alpha1.devplane.dev"), &type,
			  &err) < 0)
		return;
	ask.resource = &type->resource;
	if (kube_read(l->kube, &ask, &tree, &err) < 0)
		return;
	items = json_getz(tree, "items");
	if (l->query->slice.n > 0) {
		items = json_make_array(l->arena);
		json_append(items, tree);
	}
	device_view_adopt(&l->view, items);
}

static bool is_any_published(const struct device_view *v)
{
	for (size_t i = 0; i < v->n; i++) {
		if (v->slices[i].status)
			return true;
	}
	return false;
}

static void compute(struct load *l)
{
	struct kube_query ask = { 0 };
	struct resource claims;
	struct json *tree;
	struct error err;
	int r = device_view_resource(l->kube, "resourceclaims", &claims, &err);

	ask.resource = &claims;
	if (r == 0)
		r = kube_read(l->kube, &ask, &tree, &err);
	if (r < 0) {
		l->view.note = str_from(
			arena_printf(l->arena,
				     "what is free is unknown: no status is published, and claims "
				     "of all namespaces cannot be listed to compute it: %s",
				     err.msg));
		return;
	}
	l->view.note = is_any_published(&l->view)
			       ? STR("slices without a status were computed here from slices and "
				     "claims")
			       : STR("no status is published: what is free was computed here from "
				     "slices and claims");
	device_view_compute(l->arena, &l->view, l->all, json_getz(tree, "items"),
			    clock_wall(clock_system()));
}

static int find_statuses(struct load *l, struct error *err)
{
	int r;

	if (!device_view_lacks(&l->view)) {
		device_view_mark_older(l->arena, &l->view, l->all);
		return 0;
	}
	r = read_all(l, err);
	if (r < 0)
		return r;
	device_view_mark_older(l->arena, &l->view, l->all);
	if (device_view_lacks(&l->view))
		read_objects(l);
	if (device_view_lacks(&l->view))
		compute(l);
	return 0;
}

int device_view_load(struct kube *k, const struct device_view_query *q,
		     struct device_view *ret_view, struct error *err)
{
	struct load l = { .kube = k, .arena = &k->cli->arena, .query = q };
	int r = device_view_resource(k, "resourceslices", &l.slices, err);

	if (r == 0)
		r = read_wanted(&l, err);
	if (r < 0)
		return r;
	if (q->hidden) {
		device_view_mark_older(l.arena, &l.view, l.all);
		device_view_hide(&l.view);
	} else {
		r = find_statuses(&l, err);
	}
	if (r == 0)
		*ret_view = l.view;
	return r;
}
