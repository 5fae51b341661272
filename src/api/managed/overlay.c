/*
 * Mutating policies merge configurations into objects. Upstream refuses values that are owned as a
 * whole, because an author who sets one field of them hardly means to remove the others.
 */
#include "api/managed/managed.h"

#include "api/api_limits.h"
#include "api/managed/tree.h"
#include "api/managed/type.h"
#include "api/schema/tree.h"
#include "base/core/limits.h"

/* A chain on the stack. */
struct overlay_step {
	const struct overlay_step *parent;
	struct str name; /* of a member; p NULL: an element */
	size_t index;
};

static void overlay_print(struct buf *out, const struct overlay_step *at)
{
	if (!at)
		return;
	overlay_print(out, at->parent);
	if (at->name.p)
		(void)buf_printf(out, ".%.*s", STR_ARG(at->name));
	else
		(void)buf_printf(out, "[%zu]", at->index);
}

/* Appends the paths of all lists, maps and objects that are owned as a whole. */
static void find_atomics(struct managed_place place, const struct json *v,
			 const struct overlay_step *at, struct buf *out)
{
	enum managed_container container = managed_container(&place);
	const struct schema_field *field = place.field;
	size_t i = 0;

	if (!json_is_container(v))
		return;
	if (container == MANAGED_LEAF) {
		(void)buf_addz(out, out->n ? ", " : "");
		overlay_print(out, at);
	}
	if (!field)
		return;
	if (!place.single && field->shape == SCHEMA_LIST) {
		place.single = true;
		JSON_FOREACH (it, v) {
			const struct overlay_step step = { at, STR_NULL, i++ };

			find_atomics(place, it, &step, out);
		}
	} else if ((place.single || field->shape == SCHEMA_ONE) && field->value == SCHEMA_OBJECT) {
		JSON_FOREACH (it, v) {
			const struct overlay_step step = { at, json_key(it), 0 };
			struct managed_place part = managed_part(place, MANAGED_STRUCT,
								 json_key(it), NULL);

			if (part.field)
				find_atomics(part, it, &step, out);
		}
	}
}

static int refuse_atomics(const struct schema_type *type, const struct json *config,
			  struct error *err)
{
	CLEANUP(buf_release) struct buf paths = BUF_INIT(8 * KIB);
	const struct schema_field root = managed_root(type);

	find_atomics((struct managed_place){ &root, true }, config, NULL, &paths);
	if (!paths.n)
		return 0;
	return error_set(err, ERR_UNTYPED,
			 "invalid ApplyConfiguration: may not mutate atomic arrays, maps or "
			 "structs: %.*s",
			 STR_ARG(buf_str(&paths)));
}

int managed_overlay(struct arena *a, const struct schema_kind *kind, const struct json *live,
		    const struct json *config, struct json **ret_object, struct error *err)
{
	struct json *object;
	int r;

	if (managed_is_deeper(config, OBJECT_DEPTH_MAX))
		return error_set(err, ERR_UNTYPED,
				 "the configuration is nested deeper than %d levels",
				 OBJECT_DEPTH_MAX);
	r = managed_check(a, kind->type, config, err);
	if (r < 0)
		return error_wrap(err, r, "failed to convert patch object to typed object");
	r = refuse_atomics(kind->type, config, err);
	if (r < 0)
		return r;
	object = tree_copy(a, live);
	managed_merge(a, kind->type, object, config);
	*ret_object = object;
	return 0;
}
