/*
 * Slices are read once, as a list; a row per device refers into it. Pools are identified by driver
 * and name. Slices older than the newest generation of their pool are left out, because their
 * driver is about to replace or remove them.
 */
#include "cli/cel/devices.h"

#include <stdlib.h>

#include "api/selector/node_selector.h"
#include "base/core/limits.h"
#include "base/core/map.h"
#include "base/core/vec.h"
#include "cel/kubernetes/device.h"
#include "cli/cel/answer.h"
#include "cli/cli_limits.h"
#include "cli/connect/kube.h"
#include "cli/output/output.h"
#include "cli/output/tabs.h"
#include "client/api/discovery.h"

enum {
	WARNINGS_MAX = 10, /* devices that are listed one by one */
	DEVICES_MAX = 10000000, /* more than the largest list holds */
};

struct row {
	struct str node, driver, pool, name;
	struct json *device;
	struct str fault; /* why it could not be evaluated; or empty */
};

struct search {
	struct cli *cli;
	const struct cel_devices_options *options;
	const struct cel_program *selector;
	struct cel_eval *ev;
	struct kube kube;
	const struct json *node_labels; /* for --node */
	VEC(struct row) selected, failed;
	size_t devices;
};

/* --- pools -------------------------------------------------------------------------- */

static struct str pool_key(struct arena *a, const struct json *spec)
{
	return str_from(arena_printf(a, "%.*s/%.*s", STR_ARG(json_text_at(spec, "driver")),
				     STR_ARG(json_text_at(json_getz(spec, "pool"), "name"))));
}

static int64_t generation(const struct json *spec)
{
	int64_t n = 0;

	(void)json_i64(json_getz(json_getz(spec, "pool"), "generation"), &n);
	return n;
}

/* Maps each pool to the slice with the newest generation. */
static void find_newest(struct arena *a, const struct json *slices, struct map *newest)
{
	JSON_FOREACH (slice, slices) {
		struct json *spec = json_getz(slice, "spec");
		struct str key = pool_key(a, spec);
		const struct json *known = map_get(newest, key);

		if (!known || generation(spec) > generation(known))
			(void)map_put(newest, key, spec);
	}
}

/* --- nodes -------------------------------------------------------------------------- */

static bool is_true(const struct json *object, const char *member)
{
	bool b = false;

	return json_bool(json_getz(object, member), &b) && b;
}

static struct str devices_node_of(const struct json *holder)
{
	struct str name = json_text_at(holder, "nodeName");

	if (name.n > 0)
		return name;
	return is_true(holder, "allNodes") ? STR("<all>") : STR("<selected>");
}

static bool is_reachable(const struct search *s, const struct json *holder)
{
	struct str node = str_from(s->options->node);
	struct node_selector selector;
	const struct json *terms = json_getz(holder, "nodeSelector");

	if (!s->options->node || is_true(holder, "allNodes") ||
	    str_eq(json_text_at(holder, "nodeName"), node))
		return true;
	return terms && node_selector_read(&s->cli->arena, terms, &selector, NULL) == 0 &&
	       node_selector_matches(&selector, node, s->node_labels);
}

static int read_node(struct search *s, struct error *err)
{
	const struct discovery_resource *type;
	struct json *node = NULL;
	int r = kube_resource(&s->kube, STR("nodes"), &type, err);

	if (r == 0)
		r = kube_read(&s->kube,
			      &(struct kube_query){ .resource = &type->resource,
						    .name = str_from(s->options->node) },
			      &node, err);
	if (r == 0)
		s->node_labels = json_getz(json_getz(node, "metadata"), "labels");
	return r;
}

/* --- evaluating --------------------------------------------------------------------- */

static void devices_judge(struct search *s, struct row *row)
{
	struct cel_device device;
	struct error err;
	int r = cel_device_read(row->device, row->driver, s->ev->scratch, &device, &err);

	s->devices++;
	if (r == 0)
		r = cel_device_matches(s->selector, s->ev, &device, &err);
	if (r < 0)
		row->fault = arena_str(&s->cli->arena, str_from(err.msg));
	if (r > 0)
		(void)vec_push(&s->selected, *row);
	else if (r < 0)
		(void)vec_push(&s->failed, *row);
	arena_clear(s->ev->scratch);
	s->ev->indexes = NULL;
}

static void judge_slice(struct search *s, const struct json *spec)
{
	struct row row = { .driver = json_text_at(spec, "driver"),
			   .pool = json_text_at(json_getz(spec, "pool"), "name") };

	if (s->options->driver && !str_eqz(row.driver, s->options->driver))
		return;
	JSON_FOREACH (device, json_getz(spec, "devices")) {
		/* A slice may leave its node to each device. */
		bool each = is_true(spec, "perDeviceNodeSelection");
		const struct json *holder = each ? device : spec;

		if (!is_reachable(s, holder))
			continue;
		row.node = devices_node_of(holder);
		row.name = json_text_at(device, "name");
		row.device = device;
		devices_judge(s, &row);
	}
}

static void judge_all(struct search *s, const struct json *slices)
{
	CLEANUP(map_release) struct map newest;

	map_init(&newest);
	find_newest(&s->cli->arena, slices, &newest);
	JSON_FOREACH (slice, slices) {
		const struct json *spec = json_getz(slice, "spec");
		const struct json *best = map_get(&newest, pool_key(&s->cli->arena, spec));

		if (generation(spec) == generation(best))
			judge_slice(s, spec);
	}
}

static int devices_compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int r = str_cmp(x->node, y->node);

	r = r ? r : str_cmp(x->driver, y->driver);
	r = r ? r : str_cmp(x->pool, y->pool);
	return r ? r : str_cmp(x->name, y->name);
}

/* --- printing ----------------------------------------------------------------------- */

/* model=a100,memory=40Gi: attributes have their value under its type, capacities directly. */
static void print_items(struct buf *out, const struct json *items)
{
	bool first = true;

	JSON_FOREACH (item, items) {
		CLEANUP(buf_release) struct buf text = BUF_INIT(KIB);
		const struct json *value = json_first(item);

		(void)(value ? json_print(&text, value, NULL) : buf_addz(&text, "?"));
		(void)buf_printf(out, "%s%.*s=", first ? "" : ",", STR_ARG(json_key(item)));
		output_clean(out, json_is(value, JSON_STRING) ? json_str(value) : buf_str(&text));
		first = false;
	}
	if (first)
		(void)buf_addz(out, "<none>");
}

static void print_row(struct buf *out, const struct row *row, bool wide)
{
	(void)buf_printf(out, "%.*s\t%.*s\t%.*s\t%.*s", STR_ARG(row->node), STR_ARG(row->driver),
			 STR_ARG(row->pool), STR_ARG(row->name));
	if (wide) {
		(void)buf_addc(out, '\t');
		print_items(out, json_getz(row->device, "attributes"));
		(void)buf_addc(out, '\t');
		print_items(out, json_getz(row->device, "capacity"));
	}
	(void)buf_addc(out, '\n');
}

static void devices_print_table(struct search *s, bool wide)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(CODEC_MAX);
	CLEANUP(buf_release) struct buf out = BUF_INIT(CODEC_MAX);

	if (s->selected.n == 0)
		return;
	(void)buf_addz(&text, wide ? "NODE\tDRIVER\tPOOL\tDEVICE\tATTRIBUTES\tCAPACITY\n"
				   : "NODE\tDRIVER\tPOOL\tDEVICE\n");
	for (size_t i = 0; i < s->selected.n; i++)
		print_row(&text, &s->selected.v[i], wide);
	tabs_align(&out, buf_str(&text), TABS_TABLE);
	output_table(s->cli, buf_str(&out), true);
}

static void move(struct json *to, struct json *from, const char *member)
{
	struct json *value = json_getz(from, member);

	if (value)
		json_setz(to, member, json_unlink(from, value));
}

static struct json *row_tree(struct arena *a, const struct row *row)
{
	struct json *tree = json_make_object(a);

	json_put_str(a, tree, "node", row->node);
	json_put_str(a, tree, "driver", row->driver);
	json_put_str(a, tree, "pool", row->pool);
	json_put_str(a, tree, "device", row->name);
	if (row->fault.n > 0) {
		json_put_str(a, tree, "error", row->fault);
		return tree;
	}
	move(tree, row->device, "attributes");
	move(tree, row->device, "capacity");
	return tree;
}

static int devices_print_tree(struct search *s, struct error *err)
{
	struct arena *a = &s->cli->arena;
	struct json *tree = json_make_object(a), *list;

	list = json_need_array(a, tree, "selected");
	for (size_t i = 0; i < s->selected.n; i++)
		json_append(list, row_tree(a, &s->selected.v[i]));
	list = json_need_array(a, tree, "failed");
	for (size_t i = 0; i < s->failed.n; i++)
		json_append(list, row_tree(a, &s->failed.v[i]));
	json_put_i64(a, tree, "devices", (int64_t)s->devices);
	return output_tree(s->cli, s->options->output, tree, err);
}

static void warn(const struct search *s)
{
	size_t n = MIN(s->failed.n, (size_t)WARNINGS_MAX);

	for (size_t i = 0; i < n; i++) {
		const struct row *row = &s->failed.v[i];

		(void)fprintf(s->cli->err, "warning: %.*s/%.*s/%.*s: %.*s\n", STR_ARG(row->driver),
			      STR_ARG(row->pool), STR_ARG(row->name), STR_ARG(row->fault));
	}
	if (s->failed.n > n)
		(void)fprintf(s->cli->err, "warning: and %zu more\n", s->failed.n - n);
}

static void summarize(const struct search *s)
{
	if (s->devices == 0) {
		(void)fputs("there are no devices\n", s->cli->err);
		return;
	}
	(void)fprintf(s->cli->err, "%zu of %zu devices", s->selected.n, s->devices);
	if (s->failed.n > 0)
		(void)fprintf(s->cli->err, "; %zu could not be judged", s->failed.n);
	(void)fputc('\n', s->cli->err);
}

static int devices_print(struct search *s, struct error *err)
{
	const char *output = s->options->output;

	if (strcmp(output, "json") == 0 || strcmp(output, "yaml") == 0)
		return devices_print_tree(s, err);
	if (strcmp(output, "name") == 0)
		for (size_t i = 0; i < s->selected.n; i++)
			(void)fprintf(
				s->cli->out, "%.*s/%.*s/%.*s\n", STR_ARG(s->selected.v[i].driver),
				STR_ARG(s->selected.v[i].pool), STR_ARG(s->selected.v[i].name));
	else
		devices_print_table(s, strcmp(output, "wide") == 0);
	(void)fflush(s->cli->out);
	warn(s);
	summarize(s);
	return 0;
}

/* --- the whole search --------------------------------------------------------------- */

/*
 * Compiles with every feature: if the cluster has a feature disabled, none of its devices uses it.
 */
static int devices_compile(struct search *s, struct error *err)
{
	struct cel_device_features features = { .consumable_capacity = true,
						.list_attributes = true };
	struct str text = str_from(s->options->expression);
	struct cel_issues issues;

	cel_issues_init(&issues, &s->cli->arena, text);
	s->selector = cel_device_compile(features, text, NULL, &s->cli->arena, &issues);
	return s->selector ? 0 : cel_refuse(s->cli, &issues, err);
}

static int read_slices(struct search *s, struct json **ret_list, struct error *err)
{
	const struct discovery_resource *type;
	int r = kube_resource(&s->kube, STR("resourceslices.v1.resource.k8s.io"), &type, err);

	if (r < 0)
		return r;
	return kube_read(&s->kube, &(struct kube_query){ .resource = &type->resource }, ret_list,
			 err);
}

static int devices_search(struct search *s, struct error *err)
{
	struct json *list = NULL;
	int r = devices_compile(s, err);

	if (r == 0)
		r = kube_open(&s->kube, s->cli, s->options->kube, err);
	if (r == 0 && s->options->node)
		r = read_node(s, err);
	if (r == 0)
		r = read_slices(s, &list, err);
	if (r < 0)
		return r;
	judge_all(s, json_getz(list, "items"));
	if (s->selected.n > 1)
		qsort(s->selected.v, s->selected.n, sizeof(*s->selected.v), devices_compare);
	if (s->failed.n > 1)
		qsort(s->failed.v, s->failed.n, sizeof(*s->failed.v), devices_compare);
	return devices_print(s, err);
}

int cel_devices_show(struct cli *cli, const struct cel_devices_options *o, struct cel_eval *ev,
		     struct error *err)
{
	struct search s = { .cli = cli, .options = o, .ev = ev };
	int r;

	vec_init(&s.selected, DEVICES_MAX);
	vec_init(&s.failed, DEVICES_MAX);
	r = devices_search(&s, err);
	kube_close(&s.kube);
	vec_release(&s.selected);
	vec_release(&s.failed);
	return r;
}
