/*
 * Queries, and printing: tables, and objects in the other formats. Items of lists have no
 * apiVersion and kind; they are added here, so that each item is a complete object.
 */
#include "api/table/jsonpath.h"
#include "cli/cli_limits.h"
#include "cli/get/get.h"
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

/* --- paths ----------------------------------------------------------------------------------- */

/* A literal within braces: {"\n"}. */
static void add_literal(struct buf *out, struct str text)
{
	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];

		if (c == '\\' && i + 1 < text.n) {
			c = text.p[++i];
			c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
		}
		(void)buf_addc(out, c);
	}
}

static int print_add_value(struct get *g, const struct json *object, struct str path,
			   struct buf *out, struct error *err)
{
	const struct jsonpath *compiled;
	const struct json *v;
	int r;

	if (path.n >= 2 && path.p[0] == '"' && path.p[path.n - 1] == '"') {
		add_literal(out, str_of(path.p + 1, path.n - 2));
		return 0;
	}
	if (str_starts(path, STR("range")) || str_find(path, STR("*")) >= 0 ||
	    str_find(path, STR("..")) >= 0 || str_find(path, STR(":")) >= 0)
		return cli_bad_usage(g->cli, err,
				     "jsonpath: {%.*s} can match several values, which is not "
				     "supported; use -o json",
				     STR_ARG(path));
	r = jsonpath_compile(&g->cli->arena, path, &compiled, err);
	if (r < 0)
		return r;
	v = jsonpath_first(compiled, object);
	if (json_is(v, JSON_STRING))
		(void)buf_add_str(out, json_str(v));
	else if (v)
		(void)json_print(out, v, NULL);
	return 0;
}

/* Literal text, with {PATH} for values; as in kubectl, an expression without braces is a path. */
static int print_path(struct get *g, const struct json *object, struct error *err)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(CODEC_MAX);
	struct str rest = g->path, text, path;
	int r = 0;

	if (str_chr(rest, '{') < 0) {
		r = print_add_value(g, object, rest, &out, err);
		rest = STR_NULL;
	}
	while (r == 0 && rest.n > 0 && str_split(&rest, '{', &text)) {
		(void)buf_add_str(&out, text);
		if (!rest.p)
			break;
		if (!str_split(&rest, '}', &path) || !rest.p)
			return cli_bad_usage(g->cli, err, "jsonpath: a brace is not closed");
		r = print_add_value(g, object, path, &out, err);
	}
	if (r == 0)
		(void)fwrite(out.p, 1, out.n, g->cli->out);
	return r;
}

int get_print_object(struct get *g, const struct discovery_resource *type, struct json *object,
		     struct error *err)
{
	struct json *items = json_getz(object, "items");

	if (g->format == GET_NAME) {
		print_names(g, type, object);
		return 0;
	}
	drop_managed(g, object);
	JSON_FOREACH (it, items)
		drop_managed(g, it);
	if (g->format == GET_JSONPATH)
		return print_path(g, object, err);
	return output_tree(g->cli, g->format == GET_JSON ? "json" : "yaml", object, err);
}
