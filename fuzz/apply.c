/*
 * Three lines: the kind by its number, with an s behind it for the status and a k for kubectl,
 * which has an annotation to heed; the stored object with its managedFields, or nothing; the
 * configuration. For any input, a forced apply never conflicts, its object prints and reads back,
 * its field sets are sets, and the same apply again changes nothing. If the slow reference can
 * handle the input, it gives the same result.
 */
#include "api/codec/decode.h"
#include "api/managed/managed.h"
#include "api/managed/reference.h"
#include "api/managed/set.h"
#include "base/core/limits.h"
#include "target.h"

static const struct {
	const char *api_version, *kind;
} kinds[] = {
	{ "v1", "ConfigMap" },
	{ "v1", "Pod" },
	{ "v1", "Service" },
	{ "resource.k8s.io/v1", "ResourceClaim" },
	{ "resource.k8s.io/v1beta1", "ResourceClaim" },
	{ "resource.k8s.io/v1", "ResourceSlice" },
	{ "apiextensions.k8s.io/v1", "CustomResourceDefinition" },
	{ "v1", "Node" },
};

static struct json *managed_of(const struct json *object)
{
	return json_getz(json_getz(object, "metadata"), "managedFields");
}

static void check_entries(struct arena *a, const struct json *object)
{
	JSON_FOREACH (e, managed_of(object)) {
		struct json *set = json_getz(e, "fieldsV1"), *copy;

		require(str_eqz(json_text_at(e, "operation"), "Apply") ||
			str_eqz(json_text_at(e, "operation"), "Update"));
		require(json_text_at(e, "apiVersion").n > 0);
		require(json_count(set) > 0);
		require(json_copy(a, set, &copy, NULL) == 0);
		require(managed_set_read(a, copy) && json_equal(set, copy));
	}
}

static void check_object(struct arena *a, const struct json *object)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(64 * MIB);
	struct json *back;

	require(json_is(object, JSON_OBJECT));
	require(json_print(&out, object, NULL) == 0);
	require(json_parse(a, buf_str(&out), NULL, &back, NULL) == 0);
	require(json_equal(object, back));
	check_entries(a, object);
}

static void check_failure(int r, const struct error *err)
{
	require(r == -ERR_APPLY_CONFLICT || r == -ERR_BAD_REQUEST || r == -ERR_UNTYPED ||
		r == -ERR_TOO_LARGE);
	require(err->msg[0] != '\0');
}

/* An apply, and by force, and again. */
static void check_apply(struct arena *a, const struct schema_kind *kind, const struct json *live,
			const struct json *config, const struct managed_writer *writer)
{
	struct managed_applied first, forced, again;
	struct error err = { 0 };
	int r = managed_apply(a, kind, live, config, writer, false, &first, &err), f;

	if (r < 0)
		check_failure(r, &err);
	require((r == -ERR_APPLY_CONFLICT) == (first.nconflicts > 0));
	f = managed_apply(a, kind, live, config, writer, true, &forced, &err);
	require(f == (r == -ERR_APPLY_CONFLICT ? 0 : r));
	if (f < 0)
		return;
	require(r < 0 || json_equal(first.object, forced.object));
	check_object(a, forced.object);
	/* Fields without a manager get the manager "before-first-apply" at the next apply. */
	if (json_count(managed_of(forced.object)) == 0)
		return;
	require(managed_apply(a, kind, forced.object, config, writer, false, &again, &err) == 0);
	require(json_equal(forced.object, again.object));
}

/* --- the reference ------------------------------------------------------------------------ */

/* Of lists that are sets or have keys the reference would take one element for the other. */
static bool has_twin(const struct json *list, const struct json *element)
{
	const struct json *name = json_getz(element, "name"), *other;

	for (const struct json *v = list->first; v != element; v = v->next) {
		other = json_getz(v, "name");
		if (reference_equal(v, element) || (name && other && reference_equal(name, other)))
			return true;
	}
	return false;
}

/*
 * Whether the reference can follow: neither null nor what is empty, whose fate it knows only of
 * objects that validation lets through; no element that may be there twice; a small tree; names
 * that can be joined.
 */
static bool is_plain(const struct json *v, size_t *left)
{
	if (v->type == JSON_NULL || (json_is_container(v) && v->n == 0) || *left == 0)
		return false;
	--*left;
	if (v->type == JSON_STRING)
		return str_chr(json_str(v), REFERENCE_JOIN) < 0;
	JSON_FOREACH (child, v)
		if (!is_plain(child, left) || str_chr(json_key(child), REFERENCE_JOIN) >= 0 ||
		    (v->type == JSON_ARRAY && has_twin(v, child)))
			return false;
	return true;
}

static struct str print_entries(struct arena *a, const struct reference_state *state)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(64 * MIB);

	reference_print(&b, state, true);
	return arena_str(a, buf_str(&b));
}

/* Applies by force to an object without managers, or to none. */
static void check_reference(struct arena *a, const struct schema_kind *kind,
			    const struct json *live, const struct json *config,
			    const struct managed_writer *writer)
{
	struct reference_request request = {
		.arena = a,
		.kind = kind,
		.writer = writer,
		.resets = schema_resets(kind, writer->subresource),
		.force = true,
	};
	struct reference_state before = reference_read(a, live), after, got;
	struct managed_applied applied;
	size_t left = 400;

	if (before.n || managed_of(live) || str_eqz(writer->manager, "kubectl") ||
	    (live && !is_plain(live, &left)) || !is_plain(config, &left) ||
	    managed_apply(a, kind, live, config, writer, true, &applied, NULL) < 0)
		return;
	require(reference_apply(&request, &before, config, &after) == 0);
	got = reference_read(a, applied.object);
	require(reference_equal(reference_whole(a, kind, got.object),
				reference_whole(a, kind, after.object)));
	require(str_eq(print_entries(a, &got), print_entries(a, &after)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_release) struct arena a;
	struct str rest = str_of(data, size), head = STR_NULL, stored = STR_NULL;
	struct managed_writer writer = { .manager = STR("fuzz"), .now_ns = 1700000000000000000 };
	struct json *live = NULL, *config, *before;
	const struct schema_kind *kind;
	size_t which;

	arena_init(&a, 512 * MIB);
	if (!str_split(&rest, '\n', &head) || !str_split(&rest, '\n', &stored) || head.n == 0)
		return 0;
	which = (size_t)(unsigned char)head.p[0] % ARRAY_SIZE(kinds);
	kind = schema_find_kind(str_from(kinds[which].api_version), str_from(kinds[which].kind));
	writer.api_version = kind->api_version;
	writer.subresource = str_chr(str_skip(head, 1), 's') >= 0 ? STR("status") : STR("");
	if (str_chr(str_skip(head, 1), 'k') >= 0)
		writer.manager = STR("kubectl");
	if (json_parse(&a, rest, NULL, &config, NULL) < 0 || !json_is(config, JSON_OBJECT))
		return 0;
	if (stored.n &&
	    (json_parse(&a, stored, NULL, &live, NULL) < 0 || !json_is(live, JSON_OBJECT) ||
	     decode_fit(&a, live, kind->type, NULL, NULL) < 0))
		return 0;
	if (json_copy(&a, config, &before, NULL) < 0)
		return 0;
	check_apply(&a, kind, live, config, &writer);
	check_reference(&a, kind, live, config, &writer);
	require(json_equal(before, config));
	return 0;
}
