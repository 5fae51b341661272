/*
 * Compiled kinds whose version needs no conversion have the shape of the storage version. Versions
 * of a custom kind have their own schemas.
 */
#include "api/managed/version.h"

#include "api/codec/decode.h"
#include "api/convert/convert.h"
#include "api/crd/crd.h"

struct managed_seen {
	struct managed_seen *next;
	const struct schema_kind *kind;
	struct managed_diff diff;
};

static const struct schema_kind *custom_at(const struct schema_kind *kind, struct str api_version)
{
	const struct schema_kind *const *kinds;
	size_t n;

	kinds = crd_kinds(kind->custom, &n);
	for (size_t i = 0; i < n; i++)
		if (str_eq(kinds[i]->api_version, api_version))
			return kinds[i];
	return NULL;
}

const struct schema_kind *managed_kind_at(const struct schema_kind *kind, struct str api_version)
{
	const struct schema_kind *found;

	if (str_eq(kind->api_version, api_version))
		return kind;
	if (kind->custom)
		return custom_at(kind, api_version);
	found = schema_find_kind(api_version, kind->kind);
	return found && str_eq(found->storage_name, kind->storage_name) ? found : NULL;
}

static void add_nulls(struct arena *a, const struct schema_type *type, struct json *object);

static void add_nulls_below(struct arena *a, const struct schema_field *field, struct json *value)
{
	if (field->value != SCHEMA_OBJECT || !json_is_container(value))
		return;
	if (field->shape == SCHEMA_ONE) {
		add_nulls(a, field->type, value);
		return;
	}
	JSON_FOREACH (element, value)
		if (element->type == JSON_OBJECT)
			add_nulls(a, field->type, element);
}

/*
 * Lists, maps and pointers that upstream's structs always print: adds null where they are absent.
 */
static void add_nulls(struct arena *a, const struct schema_type *type, struct json *object)
{
	for (size_t i = 0; i < type->nfields; i++) {
		const struct schema_field *field = &type->fields[i];
		struct json *value = json_get(object, field->name);

		if (value)
			add_nulls_below(a, field, value);
		else if (field->flags & SCHEMA_ALWAYS)
			json_add(object, field->name, json_make_null(a));
	}
}

struct json *managed_convert(struct arena *a, const struct json *tree,
			     const struct schema_kind *from, const struct schema_kind *to)
{
	struct json *copy, *fitted;

	if (json_copy(a, tree, &copy, NULL) < 0)
		return json_make_object(a);
	if (from == to)
		return copy;
	/*
	 * Neither pruned nor defaulted: fields that this version does not have are still present.
	 */
	if (from->custom) {
		json_put_str(a, copy, "apiVersion", to->api_version);
		return copy;
	}
	convert_to_storage(a, copy, from);
	convert_from_storage(a, copy, to);
	json_put_str(a, copy, "apiVersion", to->api_version);
	if (json_copy(a, copy, &fitted, NULL) < 0 ||
	    decode_fit(a, fitted, to->type, NULL, NULL) < 0)
		return copy;
	add_nulls(a, to->type, fitted);
	return fitted;
}

static bool sees_the_same(const struct managed_change *change, const struct schema_kind *a,
			  const struct schema_kind *b)
{
	return a == b || (!change->raw && !a->custom && !convert_differs(a) && !convert_differs(b));
}

bool managed_change_at(struct managed_change *change, struct str api_version,
		       struct managed_diff *ret_diff)
{
	const struct schema_kind *kind = managed_kind_at(change->kind, api_version);
	const struct json *old = change->old, *object = change->object;
	struct managed_seen *seen;

	if (!kind)
		return false;
	for (seen = change->seen; seen; seen = seen->next) {
		if (!sees_the_same(change, seen->kind, kind))
			continue;
		*ret_diff = seen->diff;
		return true;
	}
	if (!sees_the_same(change, change->kind, kind)) {
		old = old ? managed_convert(change->arena, old, change->kind, kind) : NULL;
		object = managed_convert(change->arena, object, change->kind, kind);
	}
	seen = ARENA_NEW(change->arena, struct managed_seen);
	seen->kind = kind;
	seen->diff = managed_diff(change->arena, kind->type, old, object,
				  schema_resets(kind, change->subresource));
	seen->next = change->seen;
	change->seen = seen;
	*ret_diff = seen->diff;
	return true;
}
