/*
 * Line 1 is a digit for the kind of write and a resource ("3 resource.k8s.io v1 resourceclaims").
 * Line 2 is the body to create an object with. Line 3 is a text to update or patch the object with.
 * More lines, each with its own digit ("4[..]"), are applied to the result. An accepted object must
 * be storable: it encodes, reads back as the same tree, and an update with the served object
 * changes nothing.
 */
#include "api/object/object.h"
#include "base/core/limits.h"
#include "target.h"
#include "writing.h"

/* Stores and reads back; the tree is as the next write finds it. */
static struct json *stored(struct write *w, const struct json *object)
{
	CLEANUP(bytes_unref) struct bytes *text = NULL;
	CLEANUP(object_unref) struct object *o = NULL, *again = NULL;
	struct json *tree = NULL;
	struct error err;

	if (object_encode(object, &text, &err) < 0)
		return NULL; /* too large */
	require(object_new(w->kind, bytes_str(text), 7, w->gates, &o, &err) == 0);
	require(object_new_from_tree(w->kind, object, bytes_str(text), 7, w->gates, &again, &err) ==
		0);
	require(str_eq(bytes_str(o->json), bytes_str(again->json)));
	require(object_tree(o, w->arena, &tree, &err) == 0);
	json_put_str(w->arena, json_getz((struct json *)object, "metadata"), "resourceVersion",
		     STR("7"));
	require(json_equal(tree, object));
	w->name = arena_str(w->arena, object_name(o));
	return tree;
}

/* A client may update an object with exactly what it has read, and nothing changes. */
static void check_put_back(struct write *w, const struct json *tree)
{
	struct buf text = BUF_INIT(64 * MIB);
	struct json *shown, *body, *out;
	struct error err;

	require(json_copy(w->arena, tree, &shown, NULL) == 0);
	(void)write_served_form(w->arena, shown, w->kind->storage, w->gates);
	write_from_storage(w->arena, shown, w->kind);
	require(json_print(&text, shown, NULL) == 0);
	write_init(w);
	if (write_decode(w, arena_str(w->arena, buf_str(&text)), DECODE_JSON, &body, &err) == 0 &&
	    write_update(w, tree, body, &out, &err) == 0)
		require(w->unchanged);
	buf_release(&text);
}

static int change(struct write *w, const struct json *old, uint8_t how, struct str text,
		  struct json **ret_object)
{
	static const enum patch_type types[] = { PATCH_JSON, PATCH_MERGE, PATCH_STRATEGIC };
	struct json *tree;
	struct error err;

	write_init(w);
	w->subresource = how & 4 ? STR("status") : STR("");
	if ((how & 3) == 3)
		return write_decode(w, text, DECODE_JSON, &tree, &err) < 0
			       ? -1
			       : write_update(w, old, tree, ret_object, &err);
	if (json_parse(w->arena, text, NULL, &tree, &err) < 0)
		return -1;
	return write_patch(w, old, types[how & 3], tree, ret_object, &err);
}

/* Each line over what the one before it made, until one is refused. */
static void change_all(struct write *w, struct json *object, uint8_t how, struct str lines)
{
	struct str line;

	while (object && lines.n && str_split(&lines, '\n', &line)) {
		if (change(w, object, how, line, &object) < 0 || !object)
			return;
		object = stored(w, object);
		if (object)
			check_put_back(w, object);
		if (!lines.n)
			return;
		how = (uint8_t)lines.p[0];
		lines = str_skip(lines, 1);
	}
}

/* The resource that the first line names; how to change it in *ret_how. */
static const struct schema_kind *read_head(struct str line, uint8_t *ret_how)
{
	struct str how, group, version;

	if (!str_split(&line, ' ', &how) || how.n != 1 || !str_split(&line, ' ', &group) ||
	    !str_split(&line, ' ', &version))
		return NULL;
	*ret_how = (uint8_t)how.p[0];
	return schema_find_resource(str_eq(group, STR("-")) ? STR("") : group, version, line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_release) struct arena a;
	struct str rest = str_of(data, size), head, text;
	const struct schema_kind *kind;
	struct json *body, *object;
	struct gates gates;
	struct prng prng;
	struct write w;
	uint8_t how;

	arena_init(&a, 256 * MIB);
	gates_init(&gates);
	prng_init(&prng, 1);
	if (size == 0 || !str_split(&rest, '\n', &head) || !str_split(&rest, '\n', &text))
		return 0;
	kind = read_head(head, &how);
	if (!kind)
		return 0;
	writing_begin(&w, &a, kind, &gates, &prng);
	if (write_decode(&w, text, DECODE_JSON, &body, NULL) < 0 ||
	    write_create(&w, body, &object, NULL) < 0)
		return 0;
	object = stored(&w, object);
	if (!object)
		return 0;
	check_put_back(&w, object);
	change_all(&w, object, how, rest);
	return 0;
}
