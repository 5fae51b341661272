/*
 * Queries, and printing: tables, and objects in the other formats. Items of lists have no
 * apiVersion and kind; they are added here, so that each item is a complete object.
 */
#include "api/table/jsonpath_template.h"
#include "cli/cli_limits.h"
#include "cli/get/get.h"
#include "cli/output/custom_columns.h"
#include "cli/output/output.h"
#include "client/api/discovery.h"

struct kube_query get_query(const struct get *g, const struct object_arg *arg)
{
	const struct get_options *o = g->options;
	struct kube_query q = { .resource = &arg->type->resource,
				.name = arg->name,
				.label_selector = str_from(o->selector),
				.field_selector = str_from(o->field_selector) };

	if (arg->type->resource.namespaced && !o->all_namespaces)
		q.ns = g->kube.config.ns;
	if (get_is_table(g) && !get_is_slices(arg->type))
		q.accept = OBJECT_TABLE_ACCEPT;
	q.whole = q.accept.n > 0 && g->sort;
	return q;
}

void get_print_table(struct get *g, const struct json *head, const struct json *table)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(CODEC_MAX);
	CLEANUP(buf_release) struct buf out = BUF_INIT(CODEC_MAX);
	bool headed = !g->head_printed && !g->style.no_headers;

	if (object_table_rows(table) == 0)
		return;
	if (!g->head_printed)
		object_table_head(&text, head, &g->style);
	g->head_printed = true;
	object_table_body(&text, head, table, &g->style);
	tabs_align_more(&out, buf_str(&text), TABS_TABLE, &g->memory);
	output_table(g->cli, buf_str(&out), headed);
	(void)fflush(g->cli->out);
}

/* --- objects --------------------------------------------------------------------------------- */

static void drop_managed(struct get *g, struct json *object)
{
	if (!g->options->managed_fields)
		(void)json_remove(json_need_object(&g->cli->arena, object, "metadata"),
				  STR("managedFields"));
}

/* apiVersion and kind first. */
static struct json *with_kind(struct get *g, const struct discovery_resource *type,
			      struct json *object)
{
	struct arena *a = &g->cli->arena;
	struct json *whole;

	if (json_getz(object, "kind"))
		return object;
	whole = json_make_object(a);
	json_put_str(a, whole, "apiVersion", resource_api_version(a, &type->resource));
	json_put_str(a, whole, "kind", type->resource.kind);
	JSON_FOREACH_SAFE (it, object) {
		struct json *member = json_unlink(object, it);

		json_add(whole, json_key(member), member);
	}
	return whole;
}

int get_gather(struct get *g, const struct discovery_resource *type, struct json *object,
	       struct json *items, struct error *err UNUSED)
{
	struct json *list = json_getz(object, "items");

	if (!list) {
		json_append(items, with_kind(g, type, object));
		return 0;
	}
	JSON_FOREACH_SAFE (it, list)
		json_append(items, with_kind(g, type, json_unlink(list, it)));
	return 0;
}

static void get_print_name(struct get *g, const struct discovery_resource *type,
			   const struct json *object)
{
	struct str word = object_args_word(&g->cli->arena, type);
	struct str name = json_text_at(json_getz(object, "metadata"), "name");

	(void)fprintf(g->cli->out, "%.*s/%.*s\n", STR_ARG(word), STR_ARG(name));
}

static void print_names(struct get *g, const struct discovery_resource *type,
			const struct json *object)
{
	const struct json *list = json_getz(object, "items");

	if (!list)
		get_print_name(g, type, object);
	JSON_FOREACH (it, list)
		get_print_name(g, type, it);
}

/* --- templates and columns ------------------------------------------------------------------- */

static int print_template(struct get *g, const struct json *object, struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf out = BUF_INIT(CODEC_MAX);
	int r;

	arena_init(&a, CODEC_MAX);
	r = jsonpath_template_print(g->template, object, &a, &out, err);
	if (r < 0)
		return error_wrap(err, r, "jsonpath");
	(void)fwrite(out.p, 1, out.n, g->cli->out);
	return 0;
}

static int print_columns(struct get *g, const struct json *object, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(CODEC_MAX);
	CLEANUP(buf_release) struct buf out = BUF_INIT(CODEC_MAX);
	const struct json *items = json_getz(object, "items");
	bool headed = !g->head_printed && !g->options->no_headers;
	int r = 0;

	if (headed)
		custom_columns_head(g->columns, &text);
	g->head_printed = true;
	if (!items)
		r = custom_columns_row(g->columns, object, &text, err);
	JSON_FOREACH (it, items)
		r = r < 0 ? r : custom_columns_row(g->columns, it, &text, err);
	if (r < 0)
		return r;
	tabs_align(&out, buf_str(&text), TABS_TABLE);
	output_table(g->cli, buf_str(&out), headed);
	return 0;
}

int get_print_object(struct get *g, const struct discovery_resource *type, struct json *object,
		     struct error *err)
{
	struct json *items = json_getz(object, "items");

	if (g->format == GET_NAME) {
		print_names(g, type, object);
		return 0;
	}
	if (g->format == GET_JSONPATH)
		return print_template(g, object, err);
	if (g->format == GET_COLUMNS)
		return print_columns(g, object, err);
	drop_managed(g, object);
	JSON_FOREACH (it, items)
		drop_managed(g, it);
	return output_tree(g->cli, g->format == GET_JSON ? "json" : "yaml", object, err);
}
