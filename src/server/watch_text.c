/*
 * The text of an object in another form is made from its tree; when that cannot be
 * (damaged bytes, a conversion that overflows) the plain form is sent, as upstream
 * does: a watch must not skip an event.
 */
#include "server/watch_text.h"

#include "api/status.h"
#include "api/write.h"
#include "base/limits.h"
#include "server/lane_text.h"

#define EVENT_TEXT_MAX (16UL * MIB)

bool watch_form_is_plain(const struct watch_form *f)
{
	return (f->as == WATCH_JSON || f->as == WATCH_YAML) && f->kind == f->kind->storage;
}

bool watch_form_equal(const struct watch_form *a, const struct watch_form *b)
{
	return a == b || (a->as == b->as && a->kind == b->kind && a->include == b->include &&
			  str_eq(a->table_version, b->table_version));
}

/* --- objects ---------------------------------------------------------------------- */

static int print_table(const struct watch_form *f, const struct json *tree,
		       enum table_include include, bool columns, int64_t now_ns, struct buf *out)
{
	struct str rv = json_str(json_getz(json_getz(tree, "metadata"), "resourceVersion"));
	char meta[64];
	int n = snprintf(meta, sizeof(meta), "{\"resourceVersion\":\"%.*s\"}", STR_ARG(rv));

	(void)table_begin(f->kind, f->table_version, str_of(meta, (size_t)n), columns, out);
	(void)table_row(f->kind, tree, include, f->table_version, now_ns, out);
	return table_end(out);
}

static int print_partial(const struct watch_form *f, const struct json *tree, struct buf *out)
{
	(void)buf_printf(out,
			 "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/"
			 "%.*s\",\"metadata\":",
			 STR_ARG(f->table_version));
	(void)json_print(out, json_getz(tree, "metadata"), NULL);
	return buf_addc(out, '}');
}

static int print_form(const struct watch_form *f, const struct json *tree,
		      enum table_include include, bool columns, int64_t now_ns, struct buf *out)
{
	switch (f->as) {
	case WATCH_TABLE:
		return print_table(f, tree, include, columns, now_ns, out);
	case WATCH_PARTIAL:
		return print_partial(f, tree, out);
	default:
		return json_print(out, tree, NULL);
	}
}

static int print_object(const struct watch_form *f, const struct object *o, bool columns,
			int64_t now_ns, struct buf *out)
{
	__attribute__((cleanup(arena_release_cleanup))) struct arena a;
	struct json *tree;
	int r;

	arena_init(&a, SIZE_MAX);
	r = json_parse(&a, bytes_str(o->json), NULL, &tree, NULL);
	if (r < 0)
		return r;
	if (f->kind != f->kind->storage)
		write_from_storage(&a, tree, f->kind);
	return print_form(f, tree, f->include, columns, now_ns, out);
}

struct bytes *watch_text_event(const struct watch_form *f, enum ring_type type,
			       const struct object *o, bool columns, int64_t now_ns)
{
	__attribute__((cleanup(buf_release_cleanup))) struct buf out = BUF_INIT(EVENT_TEXT_MAX);
	struct str head = lane_text_head(type);

	(void)buf_add_str(&out, head);
	if (watch_form_is_plain(f) || print_object(f, o, columns, now_ns, &out) < 0 ||
	    out.overflow) {
		buf_clear(&out);
		(void)buf_reserve(&out, head.n + o->json->n + LANE_TEXT_TAIL.n);
		(void)buf_add_str(&out, head);
		(void)buf_add_str(&out, bytes_str(o->json));
	}
	(void)buf_add_str(&out, LANE_TEXT_TAIL);
	return bytes_copy(buf_str(&out));
}

/* --- bookmarks and errors --------------------------------------------------------- */

static struct json *bookmark_tree(struct arena *a, const struct schema_kind *kind, int64_t revision,
				  bool initial_end)
{
	struct json *tree = json_make_object(a), *meta = json_make_object(a), *notes;

	json_setz(tree, "kind", json_make_str(a, kind->kind));
	json_setz(tree, "apiVersion", json_make_str(a, kind->api_version));
	json_setz(tree, "metadata", meta);
	json_setz(meta, "resourceVersion",
		  json_make_str(a, str_from(arena_printf(a, "%lld", (long long)revision))));
	json_setz(meta, "creationTimestamp", json_make_null(a));
	if (initial_end) {
		notes = json_make_object(a);
		json_setz(notes, "k8s.io/initial-events-end", json_make_str(a, STR("true")));
		json_setz(meta, "annotations", notes);
	}
	return tree;
}

struct bytes *watch_text_bookmark(const struct watch_form *f, int64_t revision, bool initial_end,
				  bool columns, int64_t now_ns)
{
	__attribute__((cleanup(buf_release_cleanup))) struct buf out = BUF_INIT(EVENT_TEXT_MAX);
	__attribute__((cleanup(arena_release_cleanup))) struct arena a;
	/* Without its metadata nobody could see the mark. */
	enum table_include include = initial_end && f->include == TABLE_INCLUDE_NONE
					     ? TABLE_INCLUDE_METADATA
					     : f->include;

	arena_init(&a, SIZE_MAX);
	(void)buf_addz(&out, "{\"type\":\"BOOKMARK\",\"object\":");
	(void)print_form(f, bookmark_tree(&a, f->kind, revision, initial_end), include, columns,
			 now_ns, &out);
	(void)buf_add_str(&out, LANE_TEXT_TAIL);
	return bytes_copy(buf_str(&out));
}

struct bytes *watch_text_error(const struct error *err)
{
	__attribute__((cleanup(buf_release_cleanup))) struct buf out = BUF_INIT(EVENT_TEXT_MAX);

	(void)buf_addz(&out, "{\"type\":\"ERROR\",\"object\":");
	(void)status_print(err, NULL, &out);
	while (out.n && out.p[out.n - 1] == '\n')
		out.n--;
	(void)buf_add_str(&out, LANE_TEXT_TAIL);
	return bytes_copy(buf_str(&out));
}

/* --- shared lines ----------------------------------------------------------------- */

struct object *watch_lines_object(struct watch_lines *l, enum ring_type type)
{
	const struct ring_event *e = l->event;

	if (type != RING_DELETED || e->type == RING_DELETED)
		return e->object;
	if (!l->gone)
		l->gone = object_at(e->prev, e->revision);
	return l->gone;
}

struct bytes *watch_lines_get(struct watch_lines *l, const struct watch_form *f,
			      enum ring_type type)
{
	struct bytes *line;

	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].type == type && watch_form_equal(l->v[i].form, f))
			return bytes_ref(l->v[i].line);
	line = watch_text_event(f, type, watch_lines_object(l, type), false, l->now_ns);
	if (l->n < WATCH_LINES) {
		l->v[l->n].form = f;
		l->v[l->n].type = type;
		l->v[l->n++].line = bytes_ref(line);
	}
	return line;
}

void watch_lines_release(struct watch_lines *l)
{
	for (size_t i = 0; i < l->n; i++)
		bytes_unref(l->v[i].line);
	object_unref(l->gone);
	*l = (struct watch_lines){ 0 };
}
