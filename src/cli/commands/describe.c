/*
 * `devplane describe`: one object in detail, with related information: always events; for pods the
 * health of their devices (KEP-4680); for kinds with devices their availability (KEP-5677). A
 * table finds the function for a kind.
 */
#include "cli/cli_limits.h"
#include "cli/commands/commands.h"
#include "cli/connect/object_args.h"
#include "cli/describe/devices.h"
#include "cli/devices/claim_sight.h"
#include "cli/devices/gate.h"
#include "cli/devices/pool_args.h"
#include "client/api/discovery.h"

struct describe_options {
	struct kube_options kube;
	const char *selector;
	bool all_namespaces, show_events;
	struct flag_list feature_gates;
};

static const struct flag flags[] = {
	{ "all-namespaces", 'A', FLAG_BOOL(struct describe_options, all_namespaces),
	  .help = "in all namespaces" },
	{ "selector", 'l', FLAG_STRING(struct describe_options, selector), .arg = "SELECTOR",
	  .help = "select objects by labels instead of names" },
	{ "show-events", 0, FLAG_BOOL(struct describe_options, show_events), .initial = "true",
	  .help = "show the object's events" },
	DEVICE_GATE_FLAG(struct describe_options, feature_gates),
	KUBE_FLAGS(struct describe_options, kube),
	{ NULL },
};

static const struct row {
	const char *group, *resource;
	describe_fn *fn;
	bool devices; /* it needs the view of all devices */
} rows[] = {
	{ "", "pods", describe_pod, false },
	{ "", "nodes", describe_node, true },
	{ "resource.k8s.io", "resourceclaims", describe_claim, false },
	{ "resource.k8s.io", "resourceslices", describe_slice, true },
	{ "devplane.dev", "resourceslicestatuses", describe_slice_object, true },
};
static const struct row any_row = { .fn = describe_any };

struct run {
	struct cli *cli;
	const struct describe_options *options;
	struct kube kube;
	size_t shown;
	bool hidden;
	struct claim_sight *sight;
	bool asked; /* the view was loaded; before that it is NULL */
	const struct device_view *view;
	struct device_pool *pools;
	size_t npools;
	struct error unread;
	const struct json *classes, *rules;
};

static const struct row *describe_find(const struct resource *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (str_eqz(r->resource, rows[i].resource) && str_eqz(r->group, rows[i].group))
			return &rows[i];
	}
	return &any_row;
}

/* Loads all devices once, even if that fails. */
static void load_view(struct run *v)
{
	struct device_view_query q = { .hidden = v->hidden };
	struct device_view *view;

	if (v->asked)
		return;
	v->asked = true;
	view = ARENA_NEW(&v->cli->arena, struct device_view);
	if (device_view_load(&v->kube, &q, view, &v->unread) < 0)
		return;
	v->view = view;
	v->npools = device_pools_make(&v->cli->arena, view, &v->pools);
}

static struct describe describe_begin(struct run *v)
{
	return (struct describe){ .kube = &v->kube,
				  .arena = &v->cli->arena,
				  .wall_ns = clock_wall(clock_system()),
				  .events = v->options->show_events,
				  .hidden = v->hidden,
				  .sight = v->sight,
				  .view = v->view,
				  .pools = v->pools,
				  .npools = v->npools,
				  .unread = v->asked && !v->view ? &v->unread : NULL,
				  .classes = &v->classes,
				  .rules = &v->rules,
				  .text = BUF_INIT(CODEC_MAX) };
}

static void describe_print(struct run *v, struct describe *d)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(CODEC_MAX);

	describe_finish(d, v->cli->out_colour, &out);
	(void)fprintf(v->cli->out, "%s", v->shown++ > 0 ? "\n\n" : "");
	(void)fwrite(out.p, 1, out.n, v->cli->out);
}

static int describe_show(struct run *v, const struct discovery_resource *type, struct json *object,
			 struct error *err)
{
	const struct row *row = describe_find(&type->resource);
	struct describe d;
	int r;

	if (row->devices)
		load_view(v);
	d = describe_begin(v);
	d.type = type;
	d.object = object;
	d.metadata = json_getz(object, "metadata");
	d.spec = json_getz(object, "spec");
	d.status = json_getz(object, "status");
	r = row->fn(&d, err);
	if (r == 0)
		describe_print(v, &d);
	buf_release(&d.text);
	return r;
}

static struct kube_query query_of(const struct run *v, const struct object_arg *arg)
{
	struct kube_query q = { .resource = &arg->type->resource,
				.name = arg->name,
				.label_selector = str_from(v->options->selector) };

	if (arg->type->resource.namespaced && !v->options->all_namespaces)
		q.ns = v->kube.config.ns;
	return q;
}

static int show_list(struct run *v, const struct object_arg *arg, struct json *items,
		     struct str prefix, struct error *err)
{
	size_t before = v->shown;
	int r = 0;

	JSON_FOREACH_SAFE (it, items) {
		if (str_starts(json_text_at(json_getz(it, "metadata"), "name"), prefix) && r == 0)
			r = describe_show(v, arg->type, it, err);
	}
	return r < 0 ? r : (int)(v->shown - before);
}

/* If no object has that name, shows all objects whose names begin with it, as kubectl does. */
static int show_beginning(struct run *v, const struct object_arg *arg, struct error *missing)
{
	struct object_arg all = { .type = arg->type };
	struct kube_query q = query_of(v, &all);
	struct json *list;
	struct error err;
	char why[256];
	int r = kube_read(&v->kube, &q, &list, &err);

	if (r == 0)
		r = show_list(v, arg, json_getz(list, "items"), arg->name, missing);
	if (r > 0)
		return 0;
	if (arg->type->resource.namespaced) {
		(void)snprintf(why, sizeof(why), "%.200s", missing->msg);
		(void)error_set(missing, ERR_NOT_FOUND,
				"%s in namespace \"%.*s\"; use -n NAME for another namespace", why,
				STR_ARG(v->kube.config.ns));
	}
	return -(int)missing->code;
}

static int show_arg(struct run *v, const struct object_arg *arg, struct error *err)
{
	struct kube_query q = query_of(v, arg);
	struct json *tree;
	int r = kube_read(&v->kube, &q, &tree, err);

	if (r == -ERR_NOT_FOUND && arg->name.n > 0)
		return show_beginning(v, arg, err);
	if (r < 0)
		return r;
	if (arg->name.n > 0)
		return describe_show(v, arg->type, tree, err);
	r = show_list(v, arg, json_getz(tree, "items"), STR(""), err);
	if (r == 0)
		(void)fputs("No resources found\n", v->cli->err);
	return MIN(r, 0);
}

static void show_pool(struct run *v, const struct device_pool *p, struct str note)
{
	struct describe d = describe_begin(v);

	describe_pool_text(&d, p, note, describe_classes(&d, p->slices, p->n));
	describe_print(v, &d);
	buf_release(&d.text);
}

static void show_device(struct run *v, const struct device_pool *p,
			const struct device_view_slice *s, const struct json *device,
			struct str note)
{
	struct describe d = describe_begin(v);

	describe_device_text(&d, p, s, device, note);
	describe_print(v, &d);
	buf_release(&d.text);
}

static void show_devices(struct run *v, const struct pool_args *args, const struct device_pool *p,
			 struct str note)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct device_view_slice *s = &p->slices[i];

		JSON_FOREACH (it, json_getz(s->spec, "devices")) {
			if (!s->older && pool_args_has_device(args, p, json_text_at(it, "name")))
				show_device(v, p, s, it, note);
		}
	}
}

static int show_made(struct run *v, const struct pool_args *args, struct error *err)
{
	struct pool_args_found f;
	int r;

	if (v->options->selector)
		return cli_bad_usage(v->cli, err,
				     "pools and devices are made from slices: they have no labels");
	r = pool_args_load(&v->kube, args, v->hidden, &f, err);
	for (size_t i = 0; r == 0 && i < f.n; i++) {
		if (args->devices)
			show_devices(v, args, &f.pools[i], f.view.note);
		else
			show_pool(v, &f.pools[i], f.view.note);
	}
	if (r == 0 && v->shown == 0)
		(void)fputs("No resources found\n", v->cli->err);
	return r;
}

static int commands_describe(struct run *v, struct error *err)
{
	struct object_args args;
	struct pool_args pools;
	int r = device_gate_read(v->cli, &v->options->feature_gates, &v->hidden, err);

	if (r == 0)
		r = kube_open(&v->kube, v->cli, &v->options->kube, err);
	if (r == 0)
		r = pool_args_parse(&v->kube, &v->cli->operands, &pools, err);
	v->sight = claim_sight_new(&v->kube);
	if (r > 0)
		return show_made(v, &pools, err);
	if (r == 0)
		r = object_args_parse(&v->kube, &v->cli->operands, &args, err);
	for (size_t i = 0; r == 0 && i < args.n; i++)
		r = show_arg(v, &args.v[i], err);
	return r;
}

static int describe_run(struct cli *cli, struct error *err)
{
	struct run v = { .cli = cli, .options = cli->options };
	int r = commands_describe(&v, err);

	kube_close(&v.kube);
	return r;
}

const struct command cmd_describe = {
	.name = "describe",
	.summary = "show an object in detail, with devices, health and events",
	.usage = "TYPE [NAME..] | TYPE/NAME.. [FLAGS]",
	.about = "Prints what `kubectl describe` prints, and more: for pods, the devices of their "
		 "containers and the health of these; for slices, nodes, pools (\"resourcepool "
		 "NAME\") and devices (\"device [[DRIVER/]POOL/]NAME\"), which devices are free "
		 "and who holds the others. NAME can be a prefix of names.",
	.examples = "  devplane describe pod train-0\n"
		    "  devplane describe node/n1\n"
		    "  devplane describe resourcepool gpus\n"
		    "  devplane describe device gpu.sim.devplane.dev/demo-0/gpu-0\n"
		    "  devplane describe resourceclaims -l app=train\n",
	.group = COMMAND_OBJECT,
	.flags = flags,
	.options_size = sizeof(struct describe_options),
	.operands_max = COMMAND_ANY,
	.types = true,
	.run = describe_run,
};
