/*
 * The same pools and devices as on the screen, with every fact that is known.
 */
#include "base/time/timestamp.h"
#include "cli/live/draw_impl.h"

static struct json *holders_tree(const struct top_view *view, const struct top_holder *holders,
				 size_t n, struct arena *a, size_t *ret_hidden)
{
	struct json *list = json_make_array(a);

	*ret_hidden = 0;
	for (size_t i = 0; i < n; i++) {
		struct json *h;

		if (!draw_may_name(view, holders[i].ns)) {
			++*ret_hidden;
			continue;
		}
		h = json_make_object(a);
		json_put_str(a, h, "namespace", holders[i].ns);
		json_put_str(a, h, "claim", holders[i].claim);
		if (holders[i].pods.n)
			json_put_str(a, h, "pods", arena_str(a, holders[i].pods));
		json_append(list, h);
	}
	return list;
}

static void draw_put_text(struct json *o, const char *name, struct str text, struct arena *a)
{
	if (text.n)
		json_put_str(a, o, name, text);
}

static struct json *device_tree(const struct top_view *view, const struct top_device *d,
				struct arena *a)
{
	struct json *o = json_make_object(a);
	size_t hidden;

	json_put_str(a, o, "name", d->name);
	json_put_str(a, o, "state", str_from(device_fact_state_name(d->fact.state)));
	draw_put_text(o, "stateReason", d->fact.reason, a);
	draw_put_text(o, "taint", d->taint, a);
	if (!d->fact.unsure)
		json_put_str(a, o, "health", device_fact_health_name(&d->fact));
	draw_put_text(o, "healthMessage", d->fact.message, a);
	draw_put_text(o, "healthSince", d->fact.since, a);
	draw_put_text(o, "healthSource", d->fact.source, a);
	if (d->fact.omitted)
		json_put_i64(a, o, "omittedAllocations", (int64_t)d->fact.omitted);
	if (!d->nholders)
		return o;
	json_setz(o, "holders", holders_tree(view, d->holders, d->nholders, a, &hidden));
	if (hidden)
		json_put_i64(a, o, "hiddenHolders", (int64_t)hidden);
	return o;
}

static void put_truth(struct json *o, const char *name, enum top_truth v, struct arena *a)
{
	if (v != TOP_UNTOLD)
		json_put_bool(a, o, name, v == TOP_YES);
}

static struct json *pool_tree(const struct top_view *view, const struct line *l, struct arena *a)
{
	struct json *o = json_make_object(a), *list = json_make_array(a);

	json_put_str(a, o, "driver", l->driver);
	json_put_str(a, o, "pool", l->pool);
	json_put_str(a, o, "node", l->node);
	put_truth(o, "complete", l->complete, a);
	put_truth(o, "valid", l->valid, a);
	if (l->stale)
		json_put_bool(a, o, "stale", true);
	device_counts_put(a, o, &l->counts);
	for (size_t s = 0; s < l->nslices; s++)
		for (size_t k = 0; k < l->slices[s]->n; k++)
			json_append(list, device_tree(view, &l->slices[s]->devices[k], a));
	json_setz(o, "deviceList", list);
	return o;
}

struct json *top_tree(const struct top_model *m, const struct top_view *view, struct arena *a)
{
	struct json *o = json_make_object(a), *pools = json_make_array(a);
	struct top_view own = *view;
	char time[TIMESTAMP_SIZE];
	struct drawing w;
	struct device_counts all;

	draw_begin(&w, m, &own);
	all = draw_totals(&w);
	json_put_str(a, o, "time",
		     arena_str(a, timestamp_print(view->wall_ns, TIMESTAMP_SECONDS, time)));
	json_put_str(a, o, "source", view->source);
	device_counts_put(a, json_need_object(a, o, "totals"), &all);
	for (size_t i = 0; i < w.lines.n; i++)
		json_append(pools, pool_tree(view, w.lines.v[i], a));
	json_setz(o, "pools", pools);
	draw_end(&w);
	return o;
}
