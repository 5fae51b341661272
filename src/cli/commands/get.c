/*
 * `devplane get`: objects as tables, or in full. The server makes the tables, so that any type
 * shows the columns that its author chose.
 */
#include "cli/get/get.h"

#include "cli/commands/commands.h"
#include "cli/devices/gate.h"
#include "cli/devices/pool_args.h"
#include "cli/output/output.h"
#include "client/api/discovery.h"

static const struct flag flags[] = {
	{ "output", 'o', FLAG_STRING(struct get_options, output), .arg = "FORMAT",
	  .usual = "wide|json|yaml|name|jsonpath=|jsonpath-file=|custom-columns=|custom-columns-"
		   "file=",
	  .help = "wide, json, yaml, name, jsonpath=TEMPLATE, custom-columns=NAME:PATH,.. or "
		  "both as -file=FILE; a table by default" },
	{ "sort-by", 0, FLAG_STRING(struct get_options, sort_by), .arg = "PATH",
	  .usual = ".metadata.name|.metadata.creationTimestamp",
	  .help = "sort by this field, such as .metadata.creationTimestamp" },
	{ "all-namespaces", 'A', FLAG_BOOL(struct get_options, all_namespaces),
	  .help = "in all namespaces" },
	{ "selector", 'l', FLAG_STRING(struct get_options, selector), .arg = "SELECTOR",
	  .help = "only objects with these labels: a=b,c!=d,e in (f,g),!h" },
	{ "field-selector", 0, FLAG_STRING(struct get_options, field_selector), .arg = "SELECTOR",
	  .help = "only objects with these fields: spec.nodeName=n1" },
	{ "watch", 'w', FLAG_BOOL(struct get_options, watch),
	  .help = "show changes until interrupted" },
	{ "watch-only", 0, FLAG_BOOL(struct get_options, watch_only),
	  .help = "show only changes, without the current objects" },
	{ "label-columns", 'L', FLAG_LIST(struct get_options, label_columns), .arg = "KEY",
	  .help = "show these labels as columns" },
	{ "show-labels", 0, FLAG_BOOL(struct get_options, show_labels),
	  .help = "show all labels in a last column" },
	{ "show-kind", 0, FLAG_BOOL(struct get_options, show_kind),
	  .help = "show the type with each name" },
	{ "show-managed-fields", 0, FLAG_BOOL(struct get_options, managed_fields),
	  .help = "keep metadata.managedFields in json and yaml" },
	{ "no-headers", 0, FLAG_BOOL(struct get_options, no_headers),
	  .help = "do not print column headers" },
	{ "ignore-not-found", 0, FLAG_BOOL(struct get_options, ignore_not_found),
	  .help = "do not fail if an object does not exist" },
	{ "driver", 0, FLAG_STRING(struct get_options, driver), .arg = "NAME",
	  .help = "get devices: only devices of this driver" },
	{ "node", 0, FLAG_STRING(struct get_options, node), .arg = "NAME",
	  .help = "get devices: only devices of this node" },
	{ "state", 0, FLAG_STRING(struct get_options, state),
	  .choices = "Available|PartiallyAllocated|Allocated|Unavailable|Unknown",
	  .help = "get devices: only devices in this state" },
	{ "unhealthy", 0, FLAG_BOOL(struct get_options, unhealthy),
	  .help = "get devices: only devices that are reported unhealthy" },
	DEVICE_GATE_FLAG(struct get_options, feature_gates),
	KUBE_FLAGS(struct get_options, kube),
	{ NULL },
};

/* --- missing objects ------------------------------------------------------------------------- */

static void explain_missing(const struct get *g, const struct object_arg *arg,
			    struct error *failure)
{
	char why[256];

	if (failure->code != ERR_NOT_FOUND || !arg->type->resource.namespaced)
		return;
	(void)snprintf(why, sizeof(why), "%.200s", failure->msg);
	(void)error_set(failure, ERR_NOT_FOUND,
			"%s in namespace \"%.*s\"; use -n NAME for another namespace, -A for all",
			why, STR_ARG(g->kube.config.ns));
}

/* The last failure is the run's error; earlier ones are reported when the next one happens. */
static int get_fail(const struct get *g, int worst, const struct error *why, struct error *io_err)
{
	if (worst < 0)
		cli_complain(g->cli, "%s", io_err->msg);
	return error_copy(io_err, why);
}

static void say_nothing_found(const struct get *g)
{
	const struct resource *r = &g->args.v[0].type->resource;

	if (g->options->ignore_not_found)
		return;
	if (g->options->all_namespaces || !r->namespaced)
		(void)fputs("No resources found\n", g->cli->err);
	else
		(void)fprintf(g->cli->err, "No resources found in %.*s namespace.\n",
			      STR_ARG(g->kube.config.ns));
}

/* Returns 1 if it exists, 0 if it does not and that is fine. */
static int get_read_one(struct get *g, const struct object_arg *arg, struct json **ret_tree,
			struct error *err)
{
	struct kube_query q = get_query(g, arg);
	struct error why;
	int r = get_is_table(g) && get_is_slices(arg->type)
			? get_slices(g, arg, ret_tree, &why)
			: kube_read(&g->kube, &q, ret_tree, &why);

	if (r == -ERR_NOT_FOUND && arg->name.n > 0 && g->options->ignore_not_found)
		return 0;
	if (r < 0) {
		explain_missing(g, arg, &why);
		return error_copy(err, &why);
	}
	get_hide(g, arg->type, *ret_tree);
	return 1;
}

/* --- tables ---------------------------------------------------------------------------------- */

static void begin_type(struct get *g, const struct discovery_resource *type)
{
	struct arena *a = &g->cli->arena;
	const struct get_options *o = g->options;

	g->style = (struct object_table_style){ .wide = g->format == GET_WIDE,
						.no_headers = o->no_headers,
						.with_namespace = o->all_namespaces &&
								  type->resource.namespaced,
						.show_labels = o->show_labels,
						.label_columns = o->label_columns.v,
						.nlabel_columns = o->label_columns.n,
						.colour = g->cli->out_colour,
						.wall_ns = clock_wall(clock_system()) };
	g->memory = (struct tabs_memory){ { 0 } };
	g->head_printed = false;
	if (g->args.several_types || o->show_kind)
		g->style.prefix = str_from(
			arena_printf(a, "%.*s/", STR_ARG(object_args_word(a, type))));
}

/* Objects of one type that are named one by one share a table. */
static void get_join(struct json *into, struct json *more)
{
	struct json *rows = json_getz(into, "rows"), *from = json_getz(more, "rows");

	JSON_FOREACH_SAFE (it, from)
		json_append(rows, json_unlink(from, it));
}

/* The table of the arguments from *io_at on that have the same type; advances *io_at. */
static int read_table(struct get *g, size_t *io_at, struct json **ret_table, struct error *failed)
{
	const struct discovery_resource *type = g->args.v[*io_at].type;
	struct json *table = NULL, *tree;
	struct error err;
	int r, worst = 0;

	for (; *io_at < g->args.n && g->args.v[*io_at].type == type; (*io_at)++) {
		r = get_read_one(g, &g->args.v[*io_at], &tree, &err);
		if (r < 0)
			worst = get_fail(g, worst, &err, failed);
		if (r <= 0)
			continue;
		if (!get_is_slices(type))
			tree = object_table_of(&g->cli->arena, tree, g->style.wall_ns);
		if (table)
			get_join(table, tree);
		else
			table = tree;
	}
	*ret_table = table;
	return worst;
}

static int show_tables(struct get *g, struct json **ret_last, struct error *err)
{
	struct json *table;
	int r, worst = 0;
	bool any = false;

	for (size_t at = 0; at < g->args.n;) {
		begin_type(g, g->args.v[at].type);
		r = read_table(g, &at, &table, err);
		worst = r < 0 ? r : worst;
		r = get_sort(g, table, err);
		if (r < 0)
			return r;
		*ret_last = table;
		if (object_table_rows(table) == 0 || g->options->watch_only)
			continue;
		if (any)
			(void)fputc('\n', g->cli->out);
		any = true;
		get_print_table(g, table, table);
	}
	if (!any && worst == 0 && !g->options->watch && !g->options->watch_only)
		say_nothing_found(g);
	return worst;
}

/* --- objects --------------------------------------------------------------------------------- */

static int show_objects(struct get *g, struct json **ret_last, struct error *err)
{
	struct json *list = json_make_object(&g->cli->arena), *items, *tree = NULL;
	bool single = g->args.n == 1 && g->args.v[0].name.n > 0;
	int r, worst = 0;

	json_put_str(&g->cli->arena, list, "apiVersion", STR("v1"));
	items = json_need_array(&g->cli->arena, list, "items");
	json_put_str(&g->cli->arena, list, "kind", STR("List"));
	json_put_str(&g->cli->arena, json_need_object(&g->cli->arena, list, "metadata"),
		     "resourceVersion", STR(""));
	for (size_t i = 0; i < g->args.n; i++) {
		struct error why;

		r = get_read_one(g, &g->args.v[i], &tree, &why);
		if (r < 0)
			worst = get_fail(g, worst, &why, err);
		if (r <= 0)
			continue;
		*ret_last = tree;
		if (g->options->watch_only)
			continue;
		if (g->format == GET_NAME && (r = get_sort(g, tree, err)) < 0)
			return r;
		if (g->format == GET_NAME || single)
			r = get_print_object(g, g->args.v[i].type, tree, err);
		else
			r = get_gather(g, g->args.v[i].type, tree, items, err);
		worst = r < 0 ? r : worst;
	}
	if (single || g->format == GET_NAME || g->options->watch_only ||
	    (worst < 0 && json_count(items) == 0))
		return worst;
	r = get_sort(g, list, err);
	if (r == 0)
		r = get_print_object(g, NULL, list, err);
	return r < 0 ? r : worst;
}

/* --- the command ----------------------------------------------------------------------------- */

static int check_options(struct get *g, struct error *err)
{
	const struct get_options *o = g->options;
	bool named = false;

	for (size_t i = 0; i < g->args.n; i++)
		named |= g->args.v[i].name.n > 0;
	if (named && (o->selector || o->field_selector))
		return cli_bad_usage(g->cli, err, "names and a selector exclude each other");
	if (named && o->all_namespaces)
		return cli_bad_usage(g->cli, err,
				     "a name is looked up in one namespace: leave out -A");
	if ((o->watch || o->watch_only) && g->args.n != 1)
		return cli_bad_usage(g->cli, err, "a watch shows one type, or one object");
	return 0;
}

static bool asks_devices(const struct get_options *o)
{
	return o->driver || o->node || o->state || o->unhealthy;
}

/* Pools and devices, which are not objects of a server. */
static int show_made(struct get *g, const struct pool_args *args, struct error *err)
{
	const struct get_options *o = g->options;

	if (o->watch || o->watch_only || o->selector || o->field_selector)
		return cli_bad_usage(g->cli, err,
				     "pools and devices are made from slices: they have no labels "
				     "or fields, and cannot be watched; `%s watch devices` shows "
				     "changes",
				     g->cli->program);
	if (args->devices)
		return get_devices(g, args, err);
	if (asks_devices(o))
		return cli_bad_usage(g->cli, err,
				     "--driver, --node, --state and --unhealthy choose devices: "
				     "write `%s get devices`",
				     g->cli->program);
	return get_pools(g, args, err);
}

static int commands_get(struct get *g, struct error *err)
{
	struct json *last = NULL;
	struct pool_args pools;
	struct str version;
	int r;

	r = get_read_format(g, err);
	if (r == 0)
		r = device_gate_read(g->cli, &g->options->feature_gates, &g->hidden, err);
	if (r == 0)
		r = kube_open(&g->kube, g->cli, &g->options->kube, err);
	if (r == 0)
		r = pool_args_parse(&g->kube, &g->cli->operands, &pools, err);
	if (r > 0)
		return show_made(g, &pools, err);
	if (r == 0 && asks_devices(g->options))
		r = cli_bad_usage(g->cli, err,
				  "--driver, --node, --state and --unhealthy choose devices: "
				  "write `%s get devices`",
				  g->cli->program);
	if (r == 0)
		r = object_args_parse(&g->kube, &g->cli->operands, &g->args, err);
	if (r == 0)
		r = check_options(g, err);
	if (r == 0)
		r = get_is_table(g) ? show_tables(g, &last, err) : show_objects(g, &last, err);
	if (r < 0 || !(g->options->watch || g->options->watch_only))
		return r;
	version = json_text_at(json_getz(last, "metadata"), "resourceVersion");
	return get_watch(g, &g->args.v[0], version, last, err);
}

static int get_run(struct cli *cli, struct error *err)
{
	struct get g = { .cli = cli, .options = cli->options };
	int r = commands_get(&g, err);

	kube_close(&g.kube);
	return r;
}

const struct command cmd_get = {
	.name = "get",
	.summary = "list objects as tables, YAML or JSON",
	.usage = "TYPE[,TYPE..] [NAME..] | TYPE/NAME.. [FLAGS]",
	.about = "TYPE is any resource that the API server serves, by its plural, singular, short "
		 "name or kind: pods, pod, po and Pod are the same. If two groups have a resource "
		 "of that name, write TYPE.GROUP. The server lays out tables, as for kubectl; "
		 "ResourceSlices have a column for free devices. \"resourcepools\" and \"devices "
		 "[POOL..]\" are computed from slices.",
	.examples = "  devplane get pods -A -o wide\n"
		    "  devplane get resourceclaims,pods -l app=train\n"
		    "  devplane get node/n1 -o yaml\n"
		    "  devplane get pod web -o jsonpath='{.status.phase}'\n"
		    "  devplane get pods --sort-by .status.startTime \\\n"
		    "    -o custom-columns=NAME:.metadata.name,NODE:.spec.nodeName\n"
		    "  devplane get resourcepools\n"
		    "  devplane get devices --state Available -o wide\n"
		    "  devplane get pods --field-selector spec.nodeName=n1 --watch\n",
	.group = COMMAND_OBJECT,
	.flags = flags,
	.options_size = sizeof(struct get_options),
	.operands_min = 0,
	.operands_max = COMMAND_ANY,
	.types = true,
	.run = get_run,
};
