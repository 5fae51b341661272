/*
 * managed_type - how the places of an object are owned, and the names of their parts.
 *
 * A place is a field of a schema, or one element of its list or map. Its container decides how it
 * is owned: a leaf as a whole (scalars, atomic lists and maps, values without a schema), the others
 * part by part. Parts have names, the steps of managed/set.h. Layer-private, for managed/.
 */
#ifndef API_MANAGED_TYPE_H
#define API_MANAGED_TYPE_H

#include "api/schema/schema.h"
#include "base/core/limits.h"
#include "base/core/map.h"
#include "base/json/json.h"

/* The maximum size of a step's text: a whole body with every byte escaped. */
#define MANAGED_STEP_MAX (8 * HTTP_BODY_MAX)

enum managed_container {
	MANAGED_LEAF,
	MANAGED_STRUCT, /* named members, each of its own type */
	MANAGED_MAP, /* any names, one type */
	MANAGED_SET, /* a list of scalars without repetition */
	MANAGED_KEYED, /* a list of objects distinguished by keys */
};

struct managed_place {
	const struct schema_field *field; /* NULL: unknown; a leaf */
	bool single; /* one element of the field's list or map */
};

/* A field whose single value is an object of the type: the start of every walk. */
static inline struct schema_field managed_root(const struct schema_type *type)
{
	return (struct schema_field){ .type = type, .value = SCHEMA_OBJECT };
}

/* Descends into lists of lists and the like until the place is known; returns its container. */
enum managed_container managed_container(struct managed_place *place);

/* Whether the value has the container's type. Null fits, like an absent value. */
bool managed_fits(enum managed_container container, const struct json *value);

/*
 * Returns the place of a member or element. `name` matters only for structs. *ret_known (may be
 * NULL) is set if the schema names the field; such a field is never owned itself but through its
 * content.
 */
struct managed_place managed_part(struct managed_place place, enum managed_container container,
				  struct str name, bool *ret_known);

/* Fields that upstream removes from every set, as paths; ends with p NULL. */
extern const struct str managed_nobodys[];

/* --- parts of a value ---------------------------------------------------------------- */

struct managed_item {
	struct str step; /* f:name without its "f:" in structs and maps; else k:.. or v:.. */
	struct json *value;
	struct managed_item *twin; /* the next of the same step; else NULL */
	bool later; /* an earlier item has the same step, and has this one as a twin */
	bool matched; /* for the caller's use */
};

struct managed_items {
	struct managed_item *v;
	size_t n, at; /* `at`: where the next search starts */
	struct map map; /* built at the first search among many items */
	bool mapped;
};

/* Returns the items of a container's value, in its order; no items if it is null or NULL. */
struct managed_items managed_items(struct arena *a, struct managed_place place,
				   enum managed_container container, const struct json *value);
void managed_items_release(struct managed_items *items);
static inline void managed_items_release_cleanup(struct managed_items *items)
{
	managed_items_release(items);
}

/* Returns the first item with that step, or NULL. Fast if called in the items' order. */
struct managed_item *managed_items_find(struct managed_items *items, struct str step);

/* The step with the "f:" that members of structs and maps have in sets. */
struct str managed_step(struct arena *a, enum managed_container container, struct str step);

/* Appends a step as messages show it: ".name", `[name="x"]`, `[="x"]`. */
void managed_print_step(struct arena *a, struct buf *out, struct str step);

#endif
