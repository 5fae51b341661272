/*
 * The part without requests: the slices, which of them count, and the source of each status.
 */
#include "cli/devices/view.h"

#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/core/map.h"
#include "dra/availability/availability.h"
#include "dra/availability/device_health.h"

static struct str view_name_of(const struct json *object)
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
	return r ? r : str_cmp(x->name, y->name);
}

void device_view_take(struct device_view_slice *s, const struct json *status,
		      enum device_view_source source)
{
	int64_t seen = json_i64_at(status, "observedGeneration", 0);
	int64_t is = json_i64_at(json_getz(s->object, "metadata"), "generation", seen);

	s->status = status;
	s->source = source;
	s->stale = seen > 0 && seen != is;
}

/* An unwritten status is absent, or an empty object. */
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

		*s = (struct device_view_slice){ .object = it,
						 .spec = json_getz(it, "spec"),
						 .name = view_name_of(it) };
		s->node = json_text_at(s->spec, "nodeName");
		if (is_written(status))
			device_view_take(s, status, DEVICE_VIEW_STATUS);
	}
	qsort(v.slices, v.n, sizeof(*v.slices), by_place);
	*ret_view = v;
}

/* --- generations ----------------------------------------------------------------------------- */

struct device_newest {
	struct arena *arena;
	struct map by_pool; /* "driver/pool" -> int64_t * */
};

static void release_newest(void *newest)
{
	map_release(&((struct device_newest *)newest)->by_pool);
}

struct device_newest *device_newest_new(struct arena *a)
{
	struct device_newest *n = ARENA_NEW(a, struct device_newest);

	n->arena = a;
	map_init(&n->by_pool);
	arena_hold(a, release_newest, n);
	return n;
}

bool device_newest_put(struct device_newest *n, const struct json *spec)
{
	CLEANUP(buf_release) struct buf key = BUF_INIT(64 * KIB);
	int64_t own = json_i64_at(json_getz(spec, "pool"), "generation", 0), *known;

	(void)buf_printf(&key, "%.*s/%.*s", STR_ARG(json_text_at(spec, "driver")),
			 STR_ARG(pool_of(spec)));
	known = map_get(&n->by_pool, buf_str(&key));
	if (!known) {
		known = ARENA_NEW(n->arena, int64_t);
		*known = own;
		(void)map_put(&n->by_pool, arena_str(n->arena, buf_str(&key)), known);
	}
	*known = MAX(*known, own);
	return own == *known;
}

void device_view_mark_older(struct arena *a, struct device_view *v, const struct json *all)
{
	v->newest = device_newest_new(a);
	JSON_FOREACH (it, all)
		(void)device_newest_put(v->newest, json_getz(it, "spec"));
	for (size_t i = 0; i < v->n; i++)
		v->slices[i].older = !device_newest_put(v->newest, v->slices[i].spec);
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

bool device_view_is_of(const struct json *status_meta, const struct json *slice_meta)
{
	const struct json *owner = json_first(json_getz(status_meta, "ownerReferences"));

	return str_eq(json_text_at(owner, "uid"), json_text_at(slice_meta, "uid")) &&
	       str_eq(json_text_at(status_meta, "name"), json_text_at(slice_meta, "name"));
}

void device_view_adopt(struct device_view *v, const struct json *objects)
{
	struct map by_name;

	map_init(&by_name);
	JSON_FOREACH (it, objects)
		(void)map_put(&by_name, view_name_of(it), it);
	for (size_t i = 0; i < v->n; i++) {
		struct device_view_slice *s = &v->slices[i];
		const struct json *object = map_get(&by_name, s->name);

		if (object && !s->status && is_written(json_getz(object, "status")) &&
		    device_view_is_of(json_getz(object, "metadata"),
				      json_getz(s->object, "metadata")))
			device_view_take(s, json_getz(object, "status"), DEVICE_VIEW_OBJECT);
	}
	map_release(&by_name);
}

static void view_drop(void *inventory)
{
	inventory_free(inventory);
}

static void drop_book(void *book)
{
	device_health_book_free(book);
}

/* NULL: there are no reports. */
static struct device_health_book *make_book(const struct device_view_inputs *in, int64_t now_ns)
{
	struct device_health_book *b = in->pods ? device_health_book_new(NULL, NULL) : NULL;

	JSON_FOREACH (it, in->pods)
		device_health_book_put_pod(b, it, now_ns);
	if (!b)
		return NULL;
	JSON_FOREACH (it, in->claims) {
		const struct json *meta = json_getz(it, "metadata");

		device_health_book_put_claim(b, json_text_at(meta, "namespace"),
					     json_text_at(meta, "name"),
					     json_getz(json_getz(it, "status"), "devices"), now_ns);
	}
	JSON_FOREACH (it, in->nodes) {
		const struct json *meta = json_getz(it, "metadata");

		(void)device_health_book_put_node(
			b, json_text_at(meta, "name"),
			json_text_at(json_getz(meta, "annotations"), DEVICE_HEALTH_ANNOTATION),
			now_ns, NULL);
	}
	return b;
}

static struct inventory *make_inventory(const struct device_view_inputs *in)
{
	struct inventory *inv = inventory_new(inventory_everything);

	/* A rejected object counts as absent, as in every other user of the inventory. */
	JSON_FOREACH (it, in->slices)
		(void)inventory_put_slice(inv, it, NULL);
	JSON_FOREACH (it, in->claims)
		(void)inventory_put_claim(inv, it, NULL);
	JSON_FOREACH (it, in->rules)
		(void)inventory_put_taint_rule(inv, it, NULL);
	JSON_FOREACH (it, in->nodes)
		inventory_put_node_object(inv, it);
	if (in->nodes)
		inventory_know_nodes(inv);
	return inv;
}

void device_view_compute(struct arena *a, struct device_view *v,
			 const struct device_view_inputs *in, int64_t now_ns)
{
	struct inventory *inv = make_inventory(in);
	struct device_health_book *book = make_book(in, now_ns);

	/* The trees borrow its text. */
	arena_hold(a, view_drop, inv);
	if (book)
		arena_hold(a, drop_book, book);
	for (size_t i = 0; i < v->n; i++) {
		struct device_view_slice *s = &v->slices[i];
		const struct json *status;

		if (s->status || s->older)
			continue;
		status = availability_slice_status(inv, book, s->name, NULL, now_ns, a);
		if (status)
			device_view_take(s, status, DEVICE_VIEW_COMPUTED);
		s->blind = !in->pods;
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

/* --- reading --------------------------------------------------------------------------------- */

const struct device_view_slice *device_view_find(const struct device_view *v, struct str name)
{
	for (size_t i = 0; i < v->n; i++) {
		if (str_eq(v->slices[i].name, name))
			return &v->slices[i];
	}
	return NULL;
}

const struct json *device_view_device(const struct device_view_slice *s, struct str device)
{
	return json_find(json_getz(s->status, "devices"), "name", device);
}

bool device_view_has_health(const struct device_view_slice *s)
{
	return !s->stale && json_getz(json_getz(s->status, "summary"), "unhealthyDevices");
}

struct device_fact device_view_fact(const struct device_view_slice *s, struct str device)
{
	struct device_fact f = device_fact_read(device_view_device(s, device));

	if (s->source == DEVICE_VIEW_COMPUTED)
		device_fact_computed(&f);
	f.unsure |= s->blind && f.health.n == 0;
	return f;
}

struct device_counts device_view_count(const struct device_view_slice *s)
{
	const struct json *all = s->spec ? s->spec : s->status;
	struct device_counts c = { 0 };

	JSON_FOREACH (it, json_getz(all, "devices")) {
		struct device_fact f = device_view_fact(s, json_text_at(it, "name"));

		device_counts_add(&c, &f);
	}
	return c;
}

struct str device_view_node(const struct json *spec)
{
	struct str name = json_text_at(spec, "nodeName");

	if (name.n > 0)
		return name;
	return json_true_at(spec, "allNodes") ? STR("<all>") : STR("<some>");
}

struct str device_view_taint(struct arena *a, struct str key, struct str value, struct str effect)
{
	return str_from(arena_printf(a, "%.*s%s%.*s:%.*s", STR_ARG(key), value.n > 0 ? "=" : "",
				     STR_ARG(value), STR_ARG(effect)));
}
