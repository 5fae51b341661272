/*
 * managed_type - how the places of an object are owned, and what their parts are called.
 *
 * A place is a field of a schema, or one element of its list or map. What is
 * owned there depends on its container: a leaf as a whole (scalars, atomic lists
 * and maps, what nobody described), the rest part by part. Parts have names, the steps
 * of managed_set.h. Layer-private, for managed_*.c.
 */
#ifndef API_MANAGED_TYPE_H
#define API_MANAGED_TYPE_H

#include "api/schema/schema.h"
#include "base/core/limits.h"
#include "base/core/map.h"
#include "base/json/json.h"

/* The text of a step: what a body can hold, each byte escaped. */
#define MANAGED_STEP_MAX (8 * HTTP_BODY_MAX)

enum managed_container {
	MANAGED_LEAF,
	MANAGED_STRUCT, /* named members, each of its own type */
	MANAGED_MAP, /* any names, one type */
	MANAGED_SET, /* a list of scalars without repetition */
	MANAGED_KEYED, /* a list of objects told apart by keys */
};

struct managed_place {
	const struct schema_field *field; /* NULL: nothing is known of it; a leaf */
	bool single; /* one element of the field's list or map */
};

/* The field whose single value is an object of the type: where every walk begins. */
static inline struct schema_field managed_root(const struct schema_type *type)
{
	return (struct schema_field){ .type = type, .value = SCHEMA_OBJECT };
}

/* Steps into lists of lists and the like until the place says what it is; then its container. */
enum managed_container managed_container(struct managed_place *place);

/* Whether the value is of the container's nature; null is, as its absence. */
bool managed_fits(enum managed_container container, const struct json *value);

/*
 * The place of a member or element. `name` counts for structs alone. *ret_known: whether
 * it is a field that the schema names, which is never owned for itself but through what it
 * holds; may be NULL.
 */
struct managed_place managed_part(struct managed_place place, enum managed_container container,
				  struct str name, bool *ret_known);

/* Fields that upstream strips from every set, as paths; ends with p NULL. */
extern const struct str managed_nobodys[];

/* --- parts of a value ---------------------------------------------------------------- */

struct managed_item {
	struct str step; /* f:name without its "f:" in structs and maps; else k:.. or v:.. */
	struct json *value;
	struct managed_item *twin; /* the next of the same step; else NULL */
	bool later; /* there is one of the same step before it, which has it as a twin */
	bool matched; /* the caller's */
};

struct managed_items {
	struct managed_item *v;
	size_t n, at; /* `at`: where the next search begins */
	struct map map; /* made at the first search of many */
	bool mapped;
};

/* Of a container's value; none when it is null or NULL. In the order of the value. */
struct managed_items managed_items(struct arena *a, struct managed_place place,
				   enum managed_container container, const struct json *value);
void managed_items_release(struct managed_items *items);
static inline void managed_items_release_cleanup(struct managed_items *items)
{
	managed_items_release(items);
}

/* The first of that step, or NULL. Cheap when asked in the items' order. */
struct managed_item *managed_items_find(struct managed_items *items, struct str step);

/* The step with the "f:" that members of structs and maps have in sets. */
struct str managed_step(struct arena *a, enum managed_container container, struct str step);

/* How messages name a step: ".name", `[name="x"]`, `[="x"]`. Appends. */
void managed_print_step(struct arena *a, struct buf *out, struct str step);

#endif
