/*
 * Reads the selected slices. If these are not all, it also reads the others of the same drivers,
 * because a newer generation of a pool is in other slices. Status objects and claims are read only
 * if slices have no status.
 */
#include "cli/devices/view.h"
#include "client/api/discovery.h"

struct load {
	struct kube *kube;
	struct arena *arena;
	const struct device_view_query *query;
	struct resource slices;
	struct device_view view;
	const struct json *all; /* every slice of these drivers */
	/* Why ResourceSliceStatus objects could not be read, as the note's beginning; or empty. */
	struct str unread;
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

static int read_wanted(struct load *l, struct error *err)
{
	const struct device_view_query *q = l->query;
	struct kube_query ask = { .resource = &l->slices,
				  .name = q->slice,
				  .label_selector = q->label_selector,
				  .field_selector = q->field_selector };
	struct json *tree, *items;
	int r = kube_read(l->kube, &ask, &tree, err);

	if (r < 0)
		return r;
	items = json_getz(tree, "items");
	if (q->slice.n > 0) {
		items = json_make_array(l->arena);
		json_append(items, tree);
	}
	device_view_make(l->arena, items, &l->view);
	l->view.version = json_text_at(json_getz(tree, "metadata"), "resourceVersion");
	l->all = items;
	return 0;
}

static struct str only_driver(const struct device_view *v)
{
	struct str first = v->n > 0 ? json_text_at(v->slices[0].spec, "driver") : STR_NULL;

	/* Slices are sorted by driver. */
	return v->n > 0 && str_eq(first, json_text_at(v->slices[v->n - 1].spec, "driver"))
		       ? first
		       : STR_NULL;
}

static int view_load_read_all(struct load *l, struct error *err)
{
	const struct device_view_query *q = l->query;
	struct kube_query ask = { .resource = &l->slices };
	struct str driver = only_driver(&l->view);
	struct json *tree;
	struct error why;
	int r;

	if (l->view.n == 0 || q->slice.n + q->label_selector.n + q->field_selector.n == 0)
		return 0; /* the query selected all slices */
	if (driver.n > 0)
		ask.field_selector = str_from(
			arena_printf(l->arena, "spec.driver=%.*s", STR_ARG(driver)));
	r = kube_read(l->kube, &ask, &tree, &why);
	if (r == 0)
		l->all = json_getz(tree, "items");
	if (r != -ERR_FORBIDDEN || device_view_lacks(&l->view))
		return r < 0 ? error_copy(err, &why) : r;
	l->view.note = str_from(arena_printf(
		l->arena, "slices cannot be listed, so that a newer generation is not seen: %s",
		why.msg));
	return 0;
}

/* --- statuses -------------------------------------------------------------------------------- */

int device_view_objects(struct kube *k, struct str name, struct json **ret_objects,
			struct error *err)
{
	const struct discovery_resource *type;
	struct kube_query ask = { .name = name };
	struct json *tree, *one = json_make_array(&k->cli->arena);
	int r = kube_resource(k, STR("resourceslicestatuses.v1alpha1.devplane.dev"), &type, err);

	if (r < 0)
		return r;
	ask.resource = &type->resource;
	r = kube_read(k, &ask, &tree, err);
	if (r < 0)
		return r;
	*ret_objects = json_getz(tree, "items");
	if (name.n > 0) {
		json_append(one, tree);
		*ret_objects = one;
	}
	return 0;
}

static void read_objects(struct load *l)
{
	struct json *objects;
	struct error err;
	int r = device_view_objects(l->kube, l->query->slice, &objects, &err);

	if (r == 0)
		device_view_adopt(&l->view, objects);
	else if (r != -ERR_NOT_FOUND)
		l->unread = str_from(arena_printf(
			l->arena, "objects that have statuses cannot be read: %s; ", err.msg));
}

static bool is_any_published(const struct device_view *v)
{
	for (size_t i = 0; i < v->n; i++) {
		if (v->slices[i].status && !v->slices[i].older)
			return true;
	}
	return false;
}

int device_view_rules(struct kube *k, const struct json **ret_rules, struct error *err)
{
	const struct discovery_resource *type;
	struct kube_query ask = { 0 };
	struct json *tree;
	int r = kube_resource(k, STR("devicetaintrules.resource.k8s.io"), &type, err);

	if (r < 0)
		return r;
	ask.resource = &type->resource;
	r = kube_read(k, &ask, &tree, err);
	if (r == 0)
		*ret_rules = json_getz(tree, "items");
	return r;
}

/* An array of all objects; NULL: not readable. */
static const struct json *view_load_read_list(struct load *l, const char *plural, struct error *err)
{
	struct resource kind = resource_builtin("", "v1", plural);
	struct kube_query ask = { .resource = &kind };
	struct json *tree;

	return kube_read(l->kube, &ask, &tree, err) < 0 ? NULL : json_getz(tree, "items");
}

void device_view_say_nodes_unknown(struct cli *cli)
{
	(void)fputs("Note: nodes cannot be listed: devices of nodes that do not exist count as "
		    "available\n",
		    cli->err);
}

/* Without these the result is less complete, and a note says so. */
static void read_optional(struct load *l, struct device_view_inputs *in)
{
	struct error err;
	int r = device_view_rules(l->kube, &in->rules, &err);

	if (r < 0 && r != -ERR_NOT_FOUND)
		l->view.note = str_from(arena_printf(
			l->arena,
			"%.*s; device taint rules cannot be read, and devices that they taint "
			"count as usable: %s",
			STR_ARG(l->view.note), err.msg));
	in->pods = view_load_read_list(l, "pods", &err);
	if (!in->pods)
		l->view.note = str_from(arena_printf(
			l->arena, "%.*s; health is not known, as pods cannot be listed: %s",
			STR_ARG(l->view.note), err.msg));
	in->nodes = view_load_read_list(l, "nodes", &err);
	if (!in->nodes)
		device_view_say_nodes_unknown(l->kube->cli);
}

static void compute(struct load *l)
{
	bool some = is_any_published(&l->view);
	struct device_view_inputs in = { .slices = l->all };
	struct kube_query ask = { 0 };
	struct resource claims;
	struct json *tree;
	struct error err;
	int r = device_view_resource(l->kube, "resourceclaims", &claims, &err);

	ask.resource = &claims;
	if (r == 0)
		r = kube_read(l->kube, &ask, &tree, &err);
	if (r < 0) {
		l->view.note = str_from(arena_printf(
			l->arena,
			"%.*swhat is free is unknown: %s, and claims of all namespaces "
			"cannot be listed to compute it: %s",
			STR_ARG(l->unread),
			some ? "some slices have no status" : "no status is published", err.msg));
		return;
	}
	l->view.note = str_from(
		arena_printf(l->arena, "%.*s%s from slices and claims", STR_ARG(l->unread),
			     some ? "slices without a status were computed here"
				  : "no status is published: what is free was computed here"));
	in.claims = json_getz(tree, "items");
	read_optional(l, &in);
	device_view_compute(l->arena, &l->view, &in, clock_wall(clock_system()));
}

static void find_statuses(struct load *l)
{
	if (device_view_lacks(&l->view))
		read_objects(l);
	if (device_view_lacks(&l->view))
		compute(l);
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
		device_view_hide(&l.view);
	} else {
		r = view_load_read_all(&l, err);
	}
	if (r < 0)
		return r;
	device_view_mark_older(l.arena, &l.view, l.all);
	if (!q->hidden)
		find_statuses(&l);
	*ret_view = l.view;
	return 0;
}
