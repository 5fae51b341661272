/*
 * Single devices (KEP-5677) as a table, or as objects of a kind that no server has.
 */
#include "base/core/limits.h"
#include "cli/describe/devices.h"
#include "cli/devices/claim_sight.h"
#include "cli/devices/pool_args.h"
#include "cli/get/get.h"

#define API_VERSION "devplane.dev/v1alpha1"

/* The data of one row. */
struct row {
	const struct device_pool *pool;
	const struct device_view_slice *slice;
	const struct json *device, *entry; /* of the spec; of the status, or NULL */
	struct str name, node;
	struct device_fact fact;
};

struct devices {
	struct get *get;
	const struct pool_args *args;
	struct arena *arena;
	struct describe describe; /* for naming claims, if that is allowed */
	struct row *rows;
	size_t n;
};

/* --- which devices --------------------------------------------------------------------------- */

static bool devices_is_wanted(const struct devices *d, const struct row *r)
{
	const struct get_options *o = d->get->options;

	return pool_args_has_device(d->args, r->pool, r->name) &&
	       (!o->driver || str_eqz(r->pool->driver, o->driver)) &&
	       (!o->node || str_eqz(r->node, o->node)) &&
	       (!o->state || strcmp(device_fact_state_name(r->fact.state), o->state) == 0) &&
	       (!o->unhealthy || r->fact.unhealthy);
}

static void gather_slice(struct devices *d, const struct device_pool *p,
			 const struct device_view_slice *s)
{
	/* A slice may leave it to each device which nodes can reach it. */
	bool each = json_true_at(s->spec, "perDeviceNodeSelection");

	JSON_FOREACH (it, json_getz(s->spec, "devices")) {
		struct row r = {
			.pool = p, .slice = s, .device = it, .name = json_text_at(it, "name")
		};

		r.entry = device_view_device(s, r.name);
		r.fact = device_view_fact(s, r.name);
		r.node = device_view_node(each ? it : s->spec);
		if (devices_is_wanted(d, &r))
			d->rows[d->n++] = r;
	}
}

static void devices_gather(struct devices *d, const struct pool_args_found *f)
{
	size_t all = 0;

	for (size_t i = 0; i < f->n; i++)
		all += f->pools[i].counts.devices;
	d->rows = ARENA_ARRAY(d->arena, struct row, all + 1);
	for (size_t i = 0; i < f->n; i++)
		for (size_t k = 0; k < f->pools[i].n; k++)
			if (!f->pools[i].slices[k].older)
				gather_slice(d, &f->pools[i], &f->pools[i].slices[k]);
}

/* --- shares ---------------------------------------------------------------------------------- */

static struct str share_text(const struct devices *d, const struct row *r)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * KIB);

	JSON_FOREACH (it, json_getz(r->entry, "largestShare"))
		(void)buf_printf(&text, "%s%.*s=%.*s", text.n > 0 ? "," : "", STR_ARG(json_key(it)),
				 STR_ARG(json_str(it)));
	return arena_str(d->arena, buf_str(&text));
}

/* --- the table ------------------------------------------------------------------------------- */

static const struct get_column columns[] = {
	{ "Device", false }, { "Driver", false }, { "Pool", false },   { "Node", false },
	{ "State", false },  { "Reason", false }, { "Health", false }, { "Held By", false },
	{ "Since", true },   { "Message", true }, { "Share", true },
};
enum { PLAIN_COLUMNS = 4 }; /* if the gate is off: only what slices contain */

static void devices_add_text(struct devices *d, struct json *cells, struct str text)
{
	get_add_cell(d->arena, cells, text.n > 0 ? text : STR("<none>"));
}

static struct json *object_of(struct devices *d, const struct row *r);

static void devices_add_row(struct devices *d, struct json *table, const struct row *r)
{
	struct json *cells = get_make_row(d->arena, table, d->get->sort ? object_of(d, r) : NULL);

	get_add_cell(d->arena, cells, r->name);
	get_add_cell(d->arena, cells, r->pool->driver);
	get_add_cell(d->arena, cells, r->pool->name);
	get_add_cell(d->arena, cells, r->node);
	if (d->get->hidden)
		return;
	get_add_cell(d->arena, cells, device_fact_state_text(&r->fact));
	devices_add_text(d, cells, r->fact.reason);
	get_add_cell(d->arena, cells, device_fact_health_name(&r->fact));
	devices_add_text(d, cells, describe_held_by(&d->describe, r->entry));
	devices_add_text(d, cells, r->fact.since);
	devices_add_text(d, cells, r->fact.message);
	devices_add_text(d, cells, share_text(d, r));
}

static int devices_print_table(struct devices *d, struct error *err)
{
	struct get *g = d->get;
	struct json *table = get_make_table(d->arena, columns,
					    g->hidden ? PLAIN_COLUMNS : ARRAY_SIZE(columns));
	int r;

	g->style = (struct object_table_style){ .wide = g->format == GET_WIDE,
						.no_headers = g->options->no_headers,
						.colour = g->cli->out_colour };
	if (g->options->show_kind)
		g->style.prefix = STR("device/");
	for (size_t i = 0; i < d->n; i++)
		devices_add_row(d, table, &d->rows[i]);
	r = get_sort(g, table, err);
	if (r == 0)
		get_print_table(g, table, table);
	return r;
}

/* --- objects --------------------------------------------------------------------------------- */

static void devices_put_text(struct devices *d, struct json *o, const char *name, struct str text)
{
	if (text.n > 0)
		json_put_str(d->arena, o, name, text);
}

/* Claims that may not be named are only counted. */
static void put_holders(struct devices *d, struct json *status, const struct row *r)
{
	size_t shown, hidden = describe_hidden_claims(&d->describe, r->entry, &shown);
	struct json *list;

	if (shown > 0) {
		list = json_need_array(d->arena, status, "allocations");
		JSON_FOREACH (it, json_getz(r->entry, "allocations")) {
			struct json *copy = NULL;

			if (claim_sight_may(d->get->sight, json_text_at(it, "claimNamespace")) &&
			    json_copy(d->arena, it, &copy, NULL) == 0)
				json_append(list, copy);
		}
	}
	if (hidden > 0)
		json_put_i64(d->arena, status, "hiddenClaims", (int64_t)hidden);
	if (r->fact.omitted > 0)
		json_put_i64(d->arena, status, "omittedAllocations", (int64_t)r->fact.omitted);
}

static void put_status(struct devices *d, struct json *object, const struct row *r)
{
	struct json *status = json_need_object(d->arena, object, "status");
	const struct json *share = json_getz(r->entry, "largestShare");
	struct json *copy = NULL;

	json_put_str(d->arena, status, "state", str_from(device_fact_state_name(r->fact.state)));
	devices_put_text(d, status, "stateReason", r->fact.reason);
	if (!r->fact.unsure)
		json_put_str(d->arena, status, "health", device_fact_health_name(&r->fact));
	devices_put_text(d, status, "healthMessage", r->fact.message);
	devices_put_text(d, status, "healthSince", r->fact.since);
	devices_put_text(d, status, "healthSource", r->fact.source);
	put_holders(d, status, r);
	if (share && json_copy(d->arena, share, &copy, NULL) == 0)
		json_setz(status, "largestShare", copy);
}

static struct json *object_of(struct devices *d, const struct row *r)
{
	struct json *object = json_make_object(d->arena), *spec;

	json_put_str(d->arena, object, "apiVersion", STR(API_VERSION));
	json_put_str(d->arena, object, "kind", STR("Device"));
	json_put_str(d->arena, json_need_object(d->arena, object, "metadata"), "name", r->name);
	spec = json_need_object(d->arena, object, "spec");
	json_put_str(d->arena, spec, "driver", r->pool->driver);
	json_put_str(d->arena, spec, "pool", r->pool->name);
	if (r->node.n > 0 && r->node.p[0] != '<')
		json_put_str(d->arena, spec, "nodeName", r->node);
	json_put_str(d->arena, spec, "slice", r->slice->name);
	if (!d->get->hidden)
		put_status(d, object, r);
	return object;
}

static int print_objects(struct devices *d, struct error *err)
{
	struct json *list = json_make_object(d->arena), *items;
	int r;

	json_put_str(d->arena, list, "apiVersion", STR("v1"));
	items = json_need_array(d->arena, list, "items");
	for (size_t i = 0; i < d->n; i++)
		json_append(items, object_of(d, &d->rows[i]));
	json_put_str(d->arena, list, "kind", STR("List"));
	json_put_str(d->arena, json_need_object(d->arena, list, "metadata"), "resourceVersion",
		     STR(""));
	r = get_sort(d->get, list, err);
	return r < 0 ? r : get_print_object(d->get, NULL, list, err);
}

static void print_names(const struct devices *d)
{
	for (size_t i = 0; i < d->n; i++)
		(void)fprintf(d->get->cli->out, "device/%.*s/%.*s/%.*s\n",
			      STR_ARG(d->rows[i].pool->driver), STR_ARG(d->rows[i].pool->name),
			      STR_ARG(d->rows[i].name));
}

/* --- the command ----------------------------------------------------------------------------- */

static int devices_print(struct devices *d, struct error *err)
{
	if (d->get->format == GET_NAME)
		print_names(d);
	else if (!get_is_table(d->get))
		return print_objects(d, err);
	else if (d->n == 0)
		(void)fputs("No resources found\n", d->get->cli->err);
	else
		return devices_print_table(d, err);
	return 0;
}

int get_devices(struct get *g, const struct pool_args *args, struct error *err)
{
	struct devices d = { .get = g, .args = args, .arena = &g->cli->arena };
	struct pool_args_found f;
	int r;

	g->sight = claim_sight_new(&g->kube);
	d.describe = (struct describe){ .arena = d.arena, .sight = g->sight };
	r = pool_args_load(&g->kube, args, g->hidden, &f, err);
	if (r == -ERR_NOT_FOUND && args->n > 0 && g->options->ignore_not_found)
		return 0;
	if (r < 0)
		return r;
	get_say_note(g, &f.view);
	devices_gather(&d, &f);
	return devices_print(&d, err);
}
