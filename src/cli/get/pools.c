/*
 * Pools (KEP-5677) as a table, or as objects of a kind that no server has.
 */
#include "cli/describe/devices.h"
#include "cli/devices/claim_sight.h"
#include "cli/devices/pool_args.h"
#include "cli/get/get.h"

#define API_VERSION "devplane.dev/v1alpha1"

/* --- the table ------------------------------------------------------------------------------- */

static const struct get_column columns[] = {
	{ "Name", false },      { "Driver", false },    { "Node", false },
	{ "Slices", false },    { "Devices", false },   { "Free", false },
	{ "Partial", false },   { "Allocated", false }, { "Unavailable", false },
	{ "Unhealthy", false }, { "Complete", false },  { "Valid", false },
	{ "Generation", true }, { "Errors", true },
};

/* If the gate is off: only what slices contain. */
static const struct get_column plain_columns[] = {
	{ "Name", false },   { "Driver", false },  { "Node", false },
	{ "Slices", false }, { "Devices", false }, { "Generation", true },
};

static struct json *object_of(struct get *g, const struct device_pool *p);

static void pools_add_row(struct get *g, struct json *table, const struct device_pool *p)
{
	struct arena *a = &g->cli->arena;
	struct json *cells = get_make_row(a, table, g->sort ? object_of(g, p) : NULL);

	get_add_cell(a, cells, p->name);
	get_add_cell(a, cells, p->driver);
	get_add_cell(a, cells, p->node);
	get_add_cell(a, cells,
		     str_from(arena_printf(a, "%zu/%lld", p->observed, (long long)p->expected)));
	if (g->hidden)
		get_add_count(a, cells, true, p->counts.devices);
	if (!g->hidden) {
		get_add_counts(a, cells, &p->counts);
		get_add_cell(a, cells, device_pools_condition(p, "Complete"));
		get_add_cell(a, cells, device_pools_condition(p, "Valid"));
	}
	get_add_count(a, cells, true, (size_t)p->generation);
	if (!g->hidden)
		get_add_count(a, cells, p->status != NULL,
			      json_count(json_getz(p->status, "validationErrors")));
}

static int pools_print_table(struct get *g, const struct pool_args_found *f, struct error *err)
{
	struct arena *a = &g->cli->arena;
	struct json *table = g->hidden ? get_make_table(a, plain_columns, ARRAY_SIZE(plain_columns))
				       : get_make_table(a, columns, ARRAY_SIZE(columns));
	int r;

	g->style = (struct object_table_style){ .wide = g->format == GET_WIDE,
						.no_headers = g->options->no_headers,
						.colour = g->cli->out_colour };
	if (g->options->show_kind)
		g->style.prefix = STR("resourcepool/");
	for (size_t i = 0; i < f->n; i++)
		pools_add_row(g, table, &f->pools[i]);
	r = get_sort(g, table, err);
	if (r == 0)
		get_print_table(g, table, table);
	return r;
}

/* --- objects --------------------------------------------------------------------------------- */

/* Hides claims that may not be named. */
static void add_pool_status(struct get *g, struct json *status, const struct device_pool *p)
{
	struct arena *a = &g->cli->arena;
	struct describe d = { .arena = a, .sight = g->sight };
	const struct json *errors = json_getz(p->status, "validationErrors");
	const struct json *told = json_getz(p->status, "conditions");
	struct json *conditions = NULL, *list;

	if (told && json_copy(a, told, &conditions, NULL) == 0) {
		JSON_FOREACH (it, conditions) {
			struct str message = json_text_at(it, "message");

			if (message.n > 0)
				json_put_str(a, it, "message", describe_pool_message(&d, message));
			if (p->source == DEVICE_VIEW_COMPUTED)
				(void)json_remove(it, STR("lastTransitionTime"));
		}
		json_setz(status, "conditions", conditions);
	}
	if (json_count(errors) == 0)
		return;
	list = json_need_array(a, status, "validationErrors");
	JSON_FOREACH (it, errors)
		json_append(list, json_make_str(a, describe_pool_message(&d, json_str(it))));
}

static struct json *object_of(struct get *g, const struct device_pool *p)
{
	struct arena *a = &g->cli->arena;
	struct json *object = json_make_object(a), *spec, *status, *slices;

	json_put_str(a, object, "apiVersion", STR(API_VERSION));
	json_put_str(a, object, "kind", STR("ResourcePool"));
	json_put_str(a, json_need_object(a, object, "metadata"), "name", p->name);
	spec = json_need_object(a, object, "spec");
	json_put_str(a, spec, "driver", p->driver);
	if (p->node.n > 0 && p->node.p[0] != '<')
		json_put_str(a, spec, "nodeName", p->node);
	json_put_i64(a, spec, "generation", p->generation);
	json_put_i64(a, spec, "resourceSliceCount", p->expected);
	status = json_need_object(a, object, "status");
	slices = json_need_array(a, status, "slices");
	for (size_t i = 0; i < p->n; i++) {
		const struct json *meta = json_getz(p->slices[i].object, "metadata");

		if (!p->slices[i].older)
			json_append(slices, json_make_str(a, json_text_at(meta, "name")));
	}
	json_put_i64(a, status, "observedSliceCount", (int64_t)p->observed);
	if (g->hidden)
		json_put_i64(a, status, "devices", (int64_t)p->counts.devices);
	else
		device_counts_put(a, json_need_object(a, status, "counts"), &p->counts);
	if (p->status)
		add_pool_status(g, status, p);
	return object;
}

static int print_objects(struct get *g, const struct pool_args_found *f, bool single,
			 struct error *err)
{
	struct arena *a = &g->cli->arena;
	struct json *list = json_make_object(a), *items;
	int r;

	if (single && f->n == 1)
		return get_print_object(g, NULL, object_of(g, &f->pools[0]), err);
	json_put_str(a, list, "apiVersion", STR("v1"));
	items = json_need_array(a, list, "items");
	for (size_t i = 0; i < f->n; i++)
		json_append(items, object_of(g, &f->pools[i]));
	json_put_str(a, list, "kind", STR("List"));
	json_put_str(a, json_need_object(a, list, "metadata"), "resourceVersion", STR(""));
	r = get_sort(g, list, err);
	return r < 0 ? r : get_print_object(g, NULL, list, err);
}

/* Prints names that `describe` accepts. */
static void print_names(struct get *g, const struct pool_args_found *f)
{
	for (size_t i = 0; i < f->n; i++)
		(void)fprintf(g->cli->out, "resourcepool/%.*s/%.*s\n", STR_ARG(f->pools[i].driver),
			      STR_ARG(f->pools[i].name));
}

/* --- the command ----------------------------------------------------------------------------- */

int get_pools(struct get *g, const struct pool_args *args, struct error *err)
{
	const struct get_options *o = g->options;
	struct pool_args_found f;
	int r;

	g->sight = claim_sight_new(&g->kube);
	r = pool_args_load(&g->kube, args, g->hidden, &f, err);
	if (r == -ERR_NOT_FOUND && args->n > 0 && o->ignore_not_found)
		return 0;
	if (r < 0)
		return r;
	get_say_note(g, &f.view);
	if (g->format == GET_NAME)
		print_names(g, &f);
	else if (!get_is_table(g))
		return print_objects(g, &f, args->n == 1, err);
	else if (f.n == 0)
		(void)fputs("No resources found\n", g->cli->err);
	else
		return pools_print_table(g, &f, err);
	return 0;
}
