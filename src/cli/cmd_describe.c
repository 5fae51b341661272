/*
 * `devplane describe`: one object in detail, with what belongs to it: events always, and for
 * pods the health of their devices. A table finds the function of a kind.
 */
#include "base/limits.h"
#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/object_args.h"
#include "cli/tabs.h"
#include "client/discovery.h"

struct describe_options {
	struct kube_options kube;
	const char *selector;
	bool all_namespaces, show_events;
};

static const struct flag flags[] = {
	{ "all-namespaces", 'A', FLAG_BOOL(struct describe_options, all_namespaces),
	  .help = "in all namespaces" },
	{ "selector", 'l', FLAG_STRING(struct describe_options, selector), .arg = "SELECTOR",
	  .help = "all objects with these labels instead of named ones" },
	{ "show-events", 0, FLAG_BOOL(struct describe_options, show_events), .initial = "true",
	  .help = "show events about the object" },
	KUBE_FLAGS(struct describe_options, kube),
	{ NULL },
};

static const struct row {
	const char *group, *resource;
	describe_fn *fn;
} rows[] = {
	{ "", "pods", describe_pod },
	{ "", "nodes", describe_node },
	{ "resource.k8s.io", "resourceclaims", describe_claim },
	{ "resource.k8s.io", "resourceslices", describe_slice },
};

struct run {
	struct cli *cli;
	const struct describe_options *options;
	struct kube kube;
	size_t shown;
};

static describe_fn *find(const struct resource *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (str_eqz(r->resource, rows[i].resource) && str_eqz(r->group, rows[i].group))
			return rows[i].fn;
	}
	return describe_any;
}

/* Marks become colours; what else could move the cursor is taken out. */
static void finish(const struct cli *cli, struct str text, struct buf *out)
{
	static const char *const colours[] = { "", "\033[31m", "\033[32m", "\033[33m", "\033[0m" };

	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];

		if (c >= 1 && c < ARRAY_SIZE(colours))
			(void)buf_addz(out, cli->out_colour ? colours[c] : "");
		else if (c == '\t' || c == '\n' || (c >= ' ' && c != 0x7f))
			(void)buf_addc(out, (char)c);
	}
}

static int show(struct run *v, const struct discovery_resource *type, struct json *object,
		struct error *err)
{
	struct describe d = { .kube = &v->kube,
			      .arena = &v->cli->arena,
			      .type = type,
			      .object = object,
			      .metadata = json_getz(object, "metadata"),
			      .spec = json_getz(object, "spec"),
			      .status = json_getz(object, "status"),
			      .wall_ns = clock_wall(clock_system()),
			      .events = v->options->show_events,
			      .text = BUF_INIT(CODEC_MAX) };
	CLEANUP(buf_release) struct buf clean = BUF_INIT(CODEC_MAX);
	CLEANUP(buf_release) struct buf out = BUF_INIT(CODEC_MAX);
	int r = find(&type->resource)(&d, err);

	if (r == 0) {
		finish(v->cli, buf_str(&d.text), &clean);
		tabs_align(&out, buf_str(&clean), TABS_DESCRIBE);
		(void)fprintf(v->cli->out, "%s", v->shown++ > 0 ? "\n\n" : "");
		(void)fwrite(out.p, 1, out.n, v->cli->out);
	}
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
			r = show(v, arg->type, it, err);
	}
	return r < 0 ? r : (int)(v->shown - before);
}

/* No object of that name: all whose names begin so, as kubectl has it. */
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
				"%s in namespace \"%.*s\"; -n NAME looks in another", why,
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
		return show(v, arg->type, tree, err);
	r = show_list(v, arg, json_getz(tree, "items"), STR(""), err);
	if (r == 0)
		(void)fputs("No resources found\n", v->cli->err);
	return MIN(r, 0);
}

static int describe(struct run *v, struct error *err)
{
	struct object_args args;
	int r = kube_open(&v->kube, v->cli, &v->options->kube, err);

	if (r == 0)
		r = object_args_parse(&v->kube, &v->cli->operands, &args, err);
	for (size_t i = 0; r == 0 && i < args.n; i++)
		r = show_arg(v, &args.v[i], err);
	return r;
}

static int run(struct cli *cli, struct error *err)
{
	struct run v = { .cli = cli, .options = cli->options };
	int r = describe(&v, err);

	kube_close(&v.kube);
	return r;
}

const struct command cmd_describe = {
	.name = "describe",
	.summary = "show an object in detail, with devices, health and events",
	.usage = "TYPE [NAME..] | TYPE/NAME.. [FLAGS]",
	.about = "Like kubectl's, and with what that leaves out: for pods the devices that their "
		 "containers were given and how these are. NAME may be the beginning of names.",
	.examples = "  devplane describe pod train-0\n"
		    "  devplane describe node/n1\n"
		    "  devplane describe resourceclaims -l app=train\n",
	.group = COMMAND_OBJECT,
	.flags = flags,
	.options_size = sizeof(struct describe_options),
	.operands_max = COMMAND_ANY,
	.run = run,
};
