/*
 * Other forms of an object are made from its tree. If that fails (damaged bytes, a conversion
 * that overflows), the plain form is sent, as upstream does: a watch must not skip an event.
 */
#include "server/engine/watch_text.h"

#include "api/codec/protobuf.h"
#include "api/object/status.h"
#include "api/write/write.h"
#include "base/core/limits.h"
#include "server/engine/lane_text.h"

#define EVENT_TEXT_MAX (16UL * MIB)

enum lane_form watch_form_lane(const struct watch_form *f)
{
	bool object = f->as == WATCH_JSON || f->as == WATCH_YAML;

	if (object && f->kind == f->kind->storage)
		return f->protobuf ? LANE_PROTOBUF : LANE_JSON;
	if (f->protobuf && f->as == WATCH_PARTIAL && str_eq(f->table_version, STR("v1")))
		return LANE_PARTIAL;
	return LANE_NONE;
}

bool watch_form_is_plain(const struct watch_form *f)
{
	return watch_form_lane(f) != LANE_NONE;
}

static bool watch_form_equal(const struct watch_form *a, const struct watch_form *b)
{
	return a == b || (a->as == b->as && a->kind == b->kind && a->include == b->include &&
			  a->protobuf == b->protobuf && str_eq(a->table_version, b->table_version));
}

/* --- objects ---------------------------------------------------------------------- */

static int watch_text_print_table(const struct watch_form *f, const struct json *tree,
				  enum table_include include, bool columns, int64_t now_ns,
				  struct buf *out)
{
	struct str rv = json_text_at(json_getz(tree, "metadata"), "resourceVersion");
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
		return watch_text_print_table(f, tree, include, columns, now_ns, out);
	case WATCH_PARTIAL:
		return print_partial(f, tree, out);
	default:
		return json_print(out, tree, NULL);
	}
}

/* The tree of a committed object in the form's version. */
static int object_shown(const struct watch_form *f, struct arena *a, const struct object *o,
			struct json **ret_tree)
{
	int r = json_parse(a, bytes_str(o->json), NULL, ret_tree, NULL);

	if (r == 0 && f->kind != f->kind->storage)
		write_from_storage(a, *ret_tree, f->kind);
	return r;
}

/* Appends a frame. A value that does not fit its type is left out. */
static int add_frame(const struct watch_form *f, struct str event, const struct json *tree,
		     struct buf *out)
{
	__attribute__((cleanup(buf_release_cleanup))) struct buf message = BUF_INIT(EVENT_TEXT_MAX);
	struct protobuf_frame frame = { event, f->kind->api_version, f->kind->kind };
	const struct schema_kind *kind = f->kind;

	if (f->as == WATCH_PARTIAL) {
		frame = protobuf_frame_partial(f->table_version, false);
		frame.event = event;
		kind = schema_find_kind(STR("meta.k8s.io/v1"), frame.kind);
	}
	(void)protobuf_encode(kind->type, tree, &message, NULL);
	return protobuf_frame_add(&frame, buf_str(&message), out);
}

static int print_event(const struct watch_form *f, enum ring_type type, const struct object *o,
		       bool columns, int64_t now_ns, struct buf *out)
{
	__attribute__((cleanup(arena_release_cleanup))) struct arena a;
	struct json *tree;
	int r;

	arena_init(&a, SIZE_MAX);
	r = object_shown(f, &a, o, &tree);
	if (r < 0)
		return r;
	if (f->protobuf)
		return add_frame(f, lane_text_type(type), tree, out);
	(void)buf_add_str(out, lane_text_head(type));
	(void)print_form(f, tree, f->include, columns, now_ns, out);
	return buf_add_str(out, LANE_TEXT_TAIL);
}

static struct bytes *plain_event(enum lane_form form, const struct schema_kind *kind,
				 enum ring_type type, const struct object *o)
{
	struct lane_line l = lane_line_of(form, kind, type, o);
	struct bytes *b = bytes_new(lane_line_size(&l));

	(void)lane_line_put(&l, b->data);
	return b;
}

struct bytes *watch_text_event(const struct watch_form *f, enum ring_type type,
			       const struct object *o, bool columns, int64_t now_ns)
{
	__attribute__((cleanup(buf_release_cleanup))) struct buf out = BUF_INIT(EVENT_TEXT_MAX);
	enum lane_form form = watch_form_lane(f);

	if (form == LANE_NONE && print_event(f, type, o, columns, now_ns, &out) == 0)
		return bytes_copy(buf_str(&out));
	if (form == LANE_NONE)
		form = f->protobuf ? LANE_PROTOBUF : LANE_JSON;
	return plain_event(form, f->kind->storage, type, o);
}

/* --- bookmarks and errors --------------------------------------------------------- */

static struct json *bookmark_tree(struct arena *a, const struct schema_kind *kind, int64_t revision,
				  bool initial_end)
{
	struct json *tree = json_make_object(a), *meta = json_make_object(a), *notes;

	json_put_str(a, tree, "kind", kind->kind);
	json_put_str(a, tree, "apiVersion", kind->api_version);
	json_setz(tree, "metadata", meta);
	json_put_str(a, meta, "resourceVersion",
		     str_from(arena_printf(a, "%lld", (long long)revision)));
	json_setz(meta, "creationTimestamp", json_make_null(a));
	if (initial_end) {
		notes = json_make_object(a);
		json_put_str(a, notes, "k8s.io/initial-events-end", STR("true"));
		json_setz(meta, "annotations", notes);
	}
	return tree;
}

struct bytes *watch_text_bookmark(const struct watch_form *f, int64_t revision, bool initial_end,
				  bool columns, int64_t now_ns)
{
	__attribute__((cleanup(buf_release_cleanup))) struct buf out = BUF_INIT(EVENT_TEXT_MAX);
	__attribute__((cleanup(arena_release_cleanup))) struct arena a;
	/* Clients see the mark only in the metadata. */
	enum table_include include = initial_end && f->include == TABLE_INCLUDE_NONE
					     ? TABLE_INCLUDE_METADATA
					     : f->include;

	struct json *tree;

	arena_init(&a, SIZE_MAX);
	tree = bookmark_tree(&a, f->kind, revision, initial_end);
	if (f->protobuf) {
		(void)add_frame(f, STR("BOOKMARK"), tree, &out);
		return bytes_copy(buf_str(&out));
	}
	(void)buf_addz(&out, "{\"type\":\"BOOKMARK\",\"object\":");
	(void)print_form(f, tree, include, columns, now_ns, &out);
	(void)buf_add_str(&out, LANE_TEXT_TAIL);
	return bytes_copy(buf_str(&out));
}

/* A Status in JSON, or in protobuf as an event or a whole reply. */
static void add_status(bool protobuf, struct str event, const struct error *err,
		       const struct status_about *about, struct buf *out)
{
	struct arena a;
	__attribute__((cleanup(buf_release_cleanup))) struct buf text = BUF_INIT(EVENT_TEXT_MAX);
	__attribute__((cleanup(buf_release_cleanup))) struct buf message = BUF_INIT(EVENT_TEXT_MAX);
	const struct protobuf_frame frame = { event, STR("v1"), STR("Status") };
	struct json *tree;

	(void)status_print(err, about, &text);
	if (!protobuf) {
		(void)buf_add_str(out, str_trim(buf_str(&text)));
		return;
	}
	arena_init(&a, SIZE_MAX);
	if (json_parse(&a, buf_str(&text), NULL, &tree, NULL) == 0)
		(void)protobuf_encode(schema_find_kind(STR("v1"), STR("Status"))->type, tree,
				      &message, NULL);
	(void)protobuf_frame_add(&frame, buf_str(&message), out);
	arena_release(&a);
}

struct bytes *watch_text_error(const struct watch_form *f, const struct error *err)
{
	__attribute__((cleanup(buf_release_cleanup))) struct buf out = BUF_INIT(EVENT_TEXT_MAX);

	if (!f->protobuf)
		(void)buf_addz(&out, "{\"type\":\"ERROR\",\"object\":");
	add_status(f->protobuf, STR("ERROR"), err, NULL, &out);
	if (!f->protobuf)
		(void)buf_add_str(&out, LANE_TEXT_TAIL);
	return bytes_copy(buf_str(&out));
}

struct str watch_text_content_type(const struct watch_form *f)
{
	return f->protobuf ? STR("application/vnd.kubernetes.protobuf;stream=watch")
			   : STR("application/json");
}

struct str watch_text_failure_type(const struct watch_form *f)
{
	return f->protobuf_failure ? STR("application/vnd.kubernetes.protobuf")
				   : STR("application/json");
}

struct bytes *watch_text_failure(const struct watch_form *f, const struct error *err,
				 const struct status_about *about)
{
	__attribute__((cleanup(buf_release_cleanup))) struct buf out = BUF_INIT(EVENT_TEXT_MAX);

	add_status(f->protobuf_failure, STR(""), err, about, &out);
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
