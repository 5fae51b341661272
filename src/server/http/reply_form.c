/*
 * Lists are made item by item in every form. In YAML a list is not indented below its key, so an
 * item printed as a list of one is exactly its part of the whole document. Indented JSON is
 * printed separately and then shifted right, which is safe because a string has no line breaks.
 */
#include "server/http/reply_form.h"

#include "api/write/write.h"
#include "base/core/limits.h"
#include "base/json/cursor.h"
#include "base/yaml/yaml.h"
#include "server/http/exchange.h"

/* Spaces before the items of an indented list. */
enum { ITEM_INDENT = 4 };

static const struct json_style indented = { .indent = 2 };
static const struct yaml_style sorted = { .sort = true };

static enum table_include include_of(struct str text)
{
	if (str_eq(text, STR("Object")))
		return TABLE_INCLUDE_OBJECT;
	if (str_eq(text, STR("None")))
		return TABLE_INCLUDE_NONE;
	return TABLE_INCLUDE_METADATA;
}

struct reply_form reply_form_of(const struct exchange *x)
{
	return (struct reply_form){
		.as = x->accept.as,
		.yaml = x->accept.format == ACCEPT_YAML,
		.pretty = x->accept.pretty,
		.protobuf = x->accept.format == ACCEPT_PROTOBUF,
		.kind = x->kind,
		.version = x->accept.as_version,
		.include = include_of(x->request.include_object),
		.now_ns = x->wall_ns,
	};
}

bool reply_form_is_plain(const struct reply_form *f)
{
	return f->as == ACCEPT_OBJECT && !f->yaml && !f->pretty && !f->protobuf &&
	       f->kind == f->kind->storage;
}

/* Only the metadata: it comes first and is the same in all versions, so the rest is not parsed. */
static int metadata_tree(struct arena *a, const struct object *o, struct json **ret_tree)
{
	struct json_cursor c = json_cursor_of(bytes_str(o->json));
	enum json_cursor_type type;
	struct json *meta;
	struct str text;
	int r;

	if (!json_cursor_find(&c, STR("metadata")) || !json_cursor_value(&c, &text, &type))
		return -ERR_INTERNAL;
	r = json_parse(a, text, NULL, &meta, NULL);
	if (r < 0)
		return r;
	*ret_tree = json_make_object(a);
	json_setz(*ret_tree, "metadata", meta);
	return 0;
}

int reply_form_tree(const struct reply_form *f, struct arena *a, const struct object *o,
		    struct json **ret_tree, struct error *err)
{
	bool partial = f->as == ACCEPT_PARTIAL || f->as == ACCEPT_PARTIAL_LIST;
	struct json *tree;
	int r;

	r = partial ? metadata_tree(a, o, &tree)
		    : json_parse(a, bytes_str(o->json), NULL, &tree, err);
	if (r < 0)
		return error_set(err, ERR_INTERNAL, "a stored object is not JSON");
	if (f->kind != f->kind->storage && !partial)
		write_from_storage(a, tree, f->kind);
	*ret_tree = tree;
	return 0;
}

/* --- one object ------------------------------------------------------------------- */

static struct str group_version(const struct reply_form *f, struct arena *a)
{
	return str_from(arena_printf(a, "meta.k8s.io/%.*s", STR_ARG(f->version)));
}

/* The object reduced to its metadata. */
static struct json *as_partial(const struct reply_form *f, struct arena *a, struct json *tree)
{
	struct json *partial = json_make_object(a), *meta = json_remove(tree, STR("metadata"));

	json_add(partial, STR("kind"), json_make_str(a, STR("PartialObjectMetadata")));
	json_add(partial, STR("apiVersion"), json_make_str(a, group_version(f, a)));
	json_add(partial, STR("metadata"), meta ? meta : json_make_object(a));
	return partial;
}

static int reply_form_print_tree(const struct reply_form *f, const struct json *tree,
				 struct buf *out, struct error *err)
{
	if (f->yaml)
		return yaml_print(out, tree, &sorted, err);
	return json_print(out, tree, f->pretty ? &indented : NULL);
}

int reply_form_restyle(bool yaml, struct arena *a, struct str json, struct buf *out,
		       struct error *err)
{
	struct json *tree;
	int r;

	r = json_parse(a, json, NULL, &tree, err);
	if (r < 0)
		return r;
	if (yaml)
		return yaml_print(out, tree, &sorted, err);
	return json_print(out, tree, &indented);
}

static int reply_form_print_table(const struct reply_form *f, struct arena *a,
				  const struct json *tree, struct buf *out, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(out->max), meta = BUF_INIT(KIB);
	struct str rv = json_text_at(json_getz(tree, "metadata"), "resourceVersion");

	(void)buf_printf(&meta, rv.n ? "{\"resourceVersion\":\"%.*s\"}" : "{}", STR_ARG(rv));
	(void)table_begin(f->kind, f->version, buf_str(&meta), true, &text);
	(void)table_row(f->kind, tree, f->include, f->version, f->now_ns, &text);
	(void)table_end(&text);
	if (text.overflow)
		return error_set(err, ERR_TOO_LARGE, "the table is too large");
	if (f->yaml || f->pretty)
		return reply_form_restyle(f->yaml, a, arena_str(a, buf_str(&text)), out, err);
	return buf_add_str(out, buf_str(&text));
}

int reply_form_print(const struct reply_form *f, struct arena *a, struct json *tree,
		     struct buf *out, struct error *err)
{
	if (f->as == ACCEPT_TABLE)
		return reply_form_print_table(f, a, tree, out, err);
	if (f->as == ACCEPT_PARTIAL)
		tree = as_partial(f, a, tree);
	return reply_form_print_tree(f, tree, out, err);
}

/* --- lists ------------------------------------------------------------------------ */

static const char *list_kind(const struct reply_form *f, struct arena *a)
{
	if (f->as == ACCEPT_PARTIAL_LIST)
		return "PartialObjectMetadataList";
	return arena_strdup(a, f->kind->list_kind);
}

static const char *list_version(const struct reply_form *f, struct arena *a)
{
	if (f->as == ACCEPT_PARTIAL_LIST)
		return arena_printf(a, "meta.k8s.io/%.*s", STR_ARG(f->version));
	return arena_strdup(a, f->kind->api_version);
}

/* Appends text with `indent` spaces after each line break. */
static int add_moved(struct buf *out, struct str text, int indent)
{
	struct str line;
	bool first = true;

	while (str_split(&text, '\n', &line)) {
		if (!first)
			(void)buf_printf(out, "\n%*s", indent, "");
		(void)buf_add_str(out, line);
		first = false;
	}
	return out->overflow ? -ERR_TOO_LARGE : 0;
}

static int begin_pretty(const struct reply_form *f, struct arena *a, struct str meta, bool empty,
			struct buf *out)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);

	(void)reply_form_restyle(false, a, meta, &text, NULL);
	(void)buf_printf(out, "{\n  \"kind\": \"%s\",\n  \"apiVersion\": \"%s\",\n  \"metadata\": ",
			 list_kind(f, a), list_version(f, a));
	(void)add_moved(out, buf_str(&text), 2);
	return buf_addz(out, empty ? ",\n  \"items\": []\n}" : ",\n  \"items\": [\n");
}

int reply_form_begin(const struct reply_form *f, struct str meta, bool empty, struct buf *out)
{
	__attribute__((cleanup(arena_release_cleanup))) struct arena a;

	arena_init(&a, SIZE_MAX);
	if (f->as == ACCEPT_TABLE)
		return table_begin(f->kind, f->version, meta, true, out);
	if (f->yaml)
		return buf_printf(
			out, empty ? "apiVersion: %s\nitems: []\n" : "apiVersion: %s\nitems:\n",
			list_version(f, &a));
	if (f->pretty)
		return begin_pretty(f, &a, meta, empty, out);
	return buf_printf(out,
			  "{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":%.*s,\"items\":[",
			  list_kind(f, &a), list_version(f, &a), STR_ARG(meta));
}

static int item_pretty(const struct json *tree, bool first, struct buf *out)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(out->max);

	(void)json_print(&text, tree, &indented);
	(void)buf_printf(out, "%s%*s", first ? "" : ",\n", ITEM_INDENT, "");
	return add_moved(out, buf_str(&text), ITEM_INDENT);
}

/* The list names the kind of its items; items of custom kinds also name their own. */
static void bare(const struct reply_form *f, struct json *tree)
{
	if (f->kind->custom)
		return;
	(void)json_remove(tree, STR("apiVersion"));
	(void)json_remove(tree, STR("kind"));
}

int reply_form_item(const struct reply_form *f, struct arena *a, struct json *tree, bool first,
		    struct buf *out, struct error *err)
{
	struct json *one;

	if (f->as == ACCEPT_TABLE) {
		if (!first)
			(void)buf_addc(out, ',');
		return table_row(f->kind, tree, f->include, f->version, f->now_ns, out);
	}
	if (f->as == ACCEPT_PARTIAL_LIST)
		tree = as_partial(f, a, tree);
	else
		bare(f, tree);
	if (f->yaml) {
		one = json_make_array(a);
		json_append(one, tree);
		return yaml_print(out, one, &sorted, err);
	}
	if (f->pretty)
		return item_pretty(tree, first, out);
	if (!first)
		(void)buf_addc(out, ',');
	return json_print(out, tree, NULL);
}

static int end_yaml(const struct reply_form *f, struct arena *a, struct str meta, struct buf *out)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);

	(void)reply_form_restyle(true, a,
				 str_from(arena_printf(a, "{\"kind\":\"%s\",\"metadata\":%.*s}",
						       list_kind(f, a), STR_ARG(meta))),
				 &text, NULL);
	return buf_add_str(out, buf_str(&text));
}

int reply_form_end(const struct reply_form *f, struct arena *a, struct str meta, bool empty,
		   struct buf *out)
{
	if (f->as == ACCEPT_TABLE)
		return table_end(out);
	if (f->yaml)
		return end_yaml(f, a, meta, out);
	if (f->pretty)
		return buf_addz(out, empty ? "" : "\n  ]\n}");
	return buf_addz(out, "]}");
}
