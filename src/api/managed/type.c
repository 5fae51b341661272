/*
 * Lists of lists and maps of lists are fields inside fields (SCHEMA_NESTED); a place steps into
 * them. A type that preserves unknown fields does not describe them, so their structure is deduced
 * from the value: objects member by member, the rest as a whole.
 */
#include "api/managed/type.h"

#include "base/text/quote.h"

enum { FEW_ITEMS = 16 }; /* up to so many are searched one by one */

/* --- places -------------------------------------------------------------------------- */

static const struct schema_type deduced_type = { .preserve = true };
static const struct schema_field deduced = { .type = &deduced_type, .value = SCHEMA_OBJECT };

enum managed_container managed_container(struct managed_place *place)
{
	const struct schema_field *field = place->field;

	if (field && place->single && field->value == SCHEMA_NESTED) {
		*place = (struct managed_place){ .field = schema_element(field) };
		field = place->field;
	}
	if (!field)
		return MANAGED_LEAF;
	if (!place->single && field->shape == SCHEMA_LIST)
		return field->merge == SCHEMA_LIST_SET   ? MANAGED_SET
		       : field->merge == SCHEMA_LIST_MAP ? MANAGED_KEYED
							 : MANAGED_LEAF;
	if (!place->single && field->shape != SCHEMA_ONE)
		return field->merge == SCHEMA_ATOMIC ? MANAGED_LEAF : MANAGED_MAP;
	if (field->value != SCHEMA_OBJECT || field->type->atomic)
		return MANAGED_LEAF;
	/* An atomic list is a leaf already, so this is about an object. */
	return field->shape == SCHEMA_ONE && field->merge == SCHEMA_ATOMIC ? MANAGED_LEAF
									   : MANAGED_STRUCT;
}

bool managed_fits(enum managed_container container, const struct json *value)
{
	bool object = container == MANAGED_STRUCT || container == MANAGED_MAP;

	return json_is(value, JSON_NULL) || json_is(value, object ? JSON_OBJECT : JSON_ARRAY);
}

struct managed_place managed_part(struct managed_place place, enum managed_container container,
				  struct str name, bool *ret_known)
{
	const struct schema_field *field = place.field;

	if (ret_known)
		*ret_known = false;
	if (container != MANAGED_STRUCT) {
		if (field->shape == SCHEMA_MAP_OF_LISTS)
			field = NULL;
		return (struct managed_place){ .field = field, .single = true };
	}
	field = schema_field(place.field->type, name);
	if (ret_known)
		*ret_known = field != NULL;
	if (!field && place.field->type->preserve)
		field = &deduced;
	return (struct managed_place){ .field = field };
}

const struct str managed_nobodys[] = {
	STR("apiVersion"),
	STR("kind"),
	STR("metadata.clusterName"),
	STR("metadata.creationTimestamp"),
	STR("metadata.generation"),
	STR("metadata.managedFields"),
	STR("metadata.name"),
	STR("metadata.namespace"),
	STR("metadata.resourceVersion"),
	STR("metadata.selfLink"),
	STR("metadata.uid"),
	STR_NULL,
};

/* --- steps --------------------------------------------------------------------------- */

/*
 * Returns the default of a key that an element lacks: the schema's, or the zero value of a field
 * that upstream's struct always has, which OpenAPI declares as its default.
 */
static struct str initial_of(const struct schema_type *type, struct str name)
{
	const struct schema_field *key = schema_field(type, name);

	if (!key)
		return STR_NULL;
	if (key->rules && key->rules->initial.p)
		return key->rules->initial;
	if (!(key->flags & SCHEMA_ALWAYS) || (key->flags & SCHEMA_POINTER) ||
	    key->shape != SCHEMA_ONE)
		return STR_NULL;
	return key->value == SCHEMA_STRING ? STR("\"\"") : STR("0");
}

static void type_add_key(struct buf *b, const struct schema_field *field,
			 const struct json *element, struct str name)
{
	static const struct json_style html = { .html = true };
	const struct json *value = json_get(element, name);
	struct str initial = value ? STR_NULL : initial_of(field->type, name);

	if (!value && !initial.p)
		return;
	if (b->n > 3)
		(void)buf_addc(b, ',');
	(void)json_print_str(b, name, NULL);
	(void)buf_addc(b, ':');
	if (value)
		(void)json_print(b, value, &html);
	else
		(void)buf_add_str(b, initial);
}

/* Returns the next key after `last` in byte order; there are few, in any order. */
static struct str next_key(const struct str *keys, struct str last)
{
	struct str best = STR_NULL;

	for (; keys->p; keys++)
		if ((!last.p || str_cmp(*keys, last) > 0) && (!best.p || str_cmp(*keys, best) < 0))
			best = *keys;
	return best;
}

/* Returns the step of a list element, in `b`. */
static struct str element_step(struct buf *b, const struct schema_field *field,
			       enum managed_container container, const struct json *element)
{
	static const struct json_style html = { .html = true };

	buf_clear(b);
	if (container == MANAGED_SET) {
		(void)buf_addz(b, "v:");
		(void)json_print(b, element, &html);
	} else {
		(void)buf_addz(b, "k:{");
		for (struct str key = next_key(field->list_keys, STR_NULL); key.p;
		     key = next_key(field->list_keys, key))
			type_add_key(b, field, element, key);
		(void)buf_addc(b, '}');
	}
	return buf_str(b);
}

struct str managed_step(struct arena *a, enum managed_container container, struct str step)
{
	char *text;

	if (container != MANAGED_STRUCT && container != MANAGED_MAP)
		return step;
	text = arena_alloc(a, step.n + 2);
	memcpy(text, "f:", 2);
	str_put(text + 2, step);
	return str_of(text, step.n + 2);
}

static void print_value(struct buf *out, const struct json *v)
{
	if (json_is(v, JSON_STRING))
		quote_print(json_str(v), out);
	else
		(void)json_print(out, v, NULL);
}

void managed_print_step(struct arena *a, struct buf *out, struct str step)
{
	struct str text = step.n > 2 ? str_skip(step, 2) : STR_NULL;
	char kind = step.n ? step.p[0] : '\0';
	const char *comma = "";
	struct json *v;

	if (kind == 'f') {
		(void)buf_printf(out, ".%.*s", STR_ARG(text));
		return;
	}
	(void)buf_addz(out, kind == 'v' ? "[=" : "[");
	if (json_parse(a, text, NULL, &v, NULL) < 0)
		(void)buf_add_str(out, text);
	else if (kind != 'k')
		print_value(out, v);
	else
		JSON_FOREACH (key, v) {
			(void)buf_printf(out, "%s%.*s=", comma, STR_ARG(json_key(key)));
			print_value(out, key);
			comma = ",";
		}
	(void)buf_addc(out, ']');
}

/* --- items --------------------------------------------------------------------------- */

static struct managed_item *type_search(struct managed_items *items, struct str step)
{
	if (items->n <= FEW_ITEMS) {
		for (size_t i = 0; i < items->n; i++)
			if (!items->v[i].later && str_eq(items->v[i].step, step))
				return &items->v[i];
		return NULL;
	}
	if (!items->mapped) {
		items->mapped = true;
		map_init(&items->map);
		map_reserve(&items->map, items->n);
		for (size_t i = 0; i < items->n; i++)
			if (!items->v[i].later)
				(void)map_put(&items->map, items->v[i].step, &items->v[i]);
	}
	return map_get(&items->map, step);
}

struct managed_item *managed_items_find(struct managed_items *items, struct str step)
{
	struct managed_item *item = items->at < items->n ? &items->v[items->at] : NULL;

	if (!item || item->later || !str_eq(item->step, step))
		item = type_search(items, step);
	if (item)
		items->at = (size_t)(item - items->v) + 1;
	return item;
}

/* Returns the item with the same step among the first n, or NULL. */
static struct managed_item *twin_before(struct managed_items *items, size_t n)
{
	struct str step = items->v[n].step;

	if (items->n > FEW_ITEMS)
		return map_put(&items->map, step, &items->v[n]);
	for (size_t i = n; i > 0; i--)
		if (str_eq(items->v[i - 1].step, step))
			return &items->v[i - 1];
	return NULL;
}

/* Validation allows some lists to repeat their keys; such elements count as one field. */
static void find_twins(struct managed_items *items)
{
	struct managed_item *twin;

	if (items->n > FEW_ITEMS) {
		map_init(&items->map);
		map_reserve(&items->map, items->n);
	}
	for (size_t i = 0; i < items->n; i++) {
		twin = twin_before(items, i);
		if (!twin)
			continue;
		twin->twin = &items->v[i];
		items->v[i].later = true;
	}
	if (items->n > FEW_ITEMS)
		map_release(&items->map);
}

struct managed_items managed_items(struct arena *a, struct managed_place place,
				   enum managed_container container, const struct json *value)
{
	bool list = container == MANAGED_SET || container == MANAGED_KEYED;
	struct managed_items items = { .v = ARENA_ARRAY(a, struct managed_item,
							json_count(value)) };
	CLEANUP(buf_release) struct buf b = BUF_INIT(MANAGED_STEP_MAX);

	JSON_FOREACH (child, value) {
		struct managed_item *item = &items.v[items.n++];

		item->value = child;
		item->step = list ? arena_str(a, element_step(&b, place.field, container, child))
				  : json_key(child);
	}
	if (list)
		find_twins(&items);
	return items;
}

void managed_items_release(struct managed_items *items)
{
	if (items->mapped)
		map_release(&items->map);
}
