/*
 * The part that asks nobody: which slices there are, which of them count, and where the status of
 * each comes from.
 */
#include "cli/device_view.h"

#include <stdlib.h>

#include "base/map.h"
#include "dra/availability.h"

/* With every feature: what the cluster has switched off no slice of it has. */
static const struct inventory_features all_features = {
	.admin_access = true,
	.prioritized_list = true,
	.partitionable = true,
	.taints = true,
	.binding_conditions = true,
	.consumable_capacity = true,
	.fractional_range = true,
	.list_attributes = true,
	.derived_attributes = true,
	.compatibility_groups = true,
};

static struct str name_of(const struct json *object)
{
	return json_text_at(json_getz(object, "metadata"), "name");
}

static struct str pool_of(const struct json *spec)
{
	return json_text_at(json_getz(spec, "pool"), "name");
}

static int by_place(const void *a, const void *b)
{
	const struct device_view_slice *x = a, *y = b;
	int r = str_cmp(json_text_at(x->spec, "driver"), json_text_at(y->spec, "driver"));

	if (r == 0)
		r = str_cmp(pool_of(x->spec), pool_of(y->spec));
	return r ? r : str_cmp(name_of(x->object), name_of(y->object));
}

static void take(struct device_view_slice *s, const struct json *status,
		 enum device_view_source source)
{
	int64_t seen = json_i64_at(status, "observedGeneration", 0);
	int64_t is = json_i64_at(json_getz(s->object, "metadata"), "generation", seen);

	s->status = status;
	s->source = source;
	s->stale = seen > 0 && seen != is;
}

/* A status that nobody has written is absent, or an empty object. */
static bool is_written(const struct json *status)
{
	return json_getz(status, "summary") || json_getz(status, "devices");
}

void device_view_make(struct arena *a, const struct json *slices, struct device_view *ret_view)
{
	struct device_view v = { .slices = ARENA_ARRAY(a, struct device_view_slice,
						       json_count(slices) + 1) };

	JSON_FOREACH (it, slices) {
		struct device_view_slice *s = &v.slices[v.n++];
		const struct json *status = json_getz(it, "status");

		*s = (struct device_view_slice){ .object = it, .spec = json_getz(it, "spec") };
		if (is_written(status))
			take(s, status, DEVICE_VIEW_STATUS);
	}
	qsort(v.slices, v.n, sizeof(*v.slices), by_place);
	*ret_view = v;
}

/* --- generations ----------------------------------------------------------------------------- */

static struct str pool_key(struct arena *a, const struct json *spec)
{
	return str_from(arena_printf(a, "%.*s/%.*s", STR_ARG(json_text_at(spec, "driver")),
				     STR_ARG(pool_of(spec))));
}

static int64_t generation_of(const struct json *spec)
{
	return json_i64_at(json_getz(spec, "pool"), "generation", 0);
}

void device_view_mark_older(struct arena *a, struct device_view *v, const struct json *all)
{
	struct map newest; /* spec of a slice with the newest generation, by pool */

	map_init(&newest);
	JSON_FOREACH (it, all) {
		struct json *spec = json_getz(it, "spec");
		struct str key = pool_key(a, spec);
		const struct json *known = map_get(&newest, key);

		if (spec && (!known || generation_of(spec) > generation_of(known)))
			(void)map_put(&newest, key, spec);
	}
	for (size_t i = 0; i < v->n; i++) {
		const struct json *known = map_get(&newest, pool_key(a, v->slices[i].spec));

		v->slices[i].older = known &&
				     generation_of(v->slices[i].spec) < generation_of(known);
	}
	map_release(&newest);
}

bool device_view_lacks(const struct device_view *v)
{
	for (size_t i = 0; i < v->n; i++) {
		if (!v->slices[i].status && !v->slices[i].older)
			return true;
	}
	return false;
}

/* --- statuses -------------------------------------------------------------------------------- */

void device_view_adopt(struct device_view *v, const struct json *objects)
{
	struct map by_name;

	map_init(&by_name);
	JSON_FOREACH (it, objects)
		(void)map_put(&by_name, name_of(it), it);
	for (size_t i = 0; i < v->n; i++) {
		struct device_view_slice *s = &v->slices[i];
		const struct json *object = map_get(&by_name, name_of(s->object));
		const struct json *owner = json_first(
			json_getz(json_getz(object, "metadata"), "ownerReferences"));
		struct str uid = json_text_at(json_getz(s->object, "metadata"), "uid");

		/* Of an earlier slice of that name: the collector has not come by yet. */
		if (!object || s->status || !str_eq(json_text_at(owner, "uid"), uid))
			continue;
		if (is_written(json_getz(object, "status")))
			take(s, json_getz(object, "status"), DEVICE_VIEW_OBJECT);
	}
	map_release(&by_name);
}

static void drop(void *inventory)
{
	inventory_free(inventory);
}

void device_view_compute(struct arena *a, struct device_view *v, const struct json *all,
			 const struct json *claims, int64_t now_ns)
{
	struct inventory *inv = inventory_new(all_features);

	/* What it refuses counts as absent, as for everybody else who decides with it. */
	JSON_FOREACH (it, all)
		(void)inventory_put_slice(inv, it, NULL);
	JSON_FOREACH (it, claims)
		(void)inventory_put_claim(inv, it, NULL);
	/* The trees that it makes have its text. */
	arena_hold(a, drop, inv);
	for (size_t i = 0; i < v->n; i++) {
		struct device_view_slice *s = &v->slices[i];
		const struct json *status;

		if (s->status || s->older)
			continue;
		status = availability_slice_status(inv, name_of(s->object), NULL, now_ns, a);
		if (status)
			take(s, status, DEVICE_VIEW_COMPUTED);
	}
}

void device_view_hide(struct device_view *v)
{
	for (size_t i = 0; i < v->n; i++) {
		v->slices[i].status = NULL;
		v->slices[i].source = DEVICE_VIEW_NONE;
		v->slices[i].stale = false;
	}
}

const struct json *device_view_device(const struct device_view_slice *s, struct str device)
{
	return json_find(json_getz(s->status, "devices"), "name", device);
}
