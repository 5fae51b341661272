/*
 * A device of a ResourceSlice as selectors see it. Quantities and versions are parsed here, once,
 * so that evaluating only compares. Names are sorted as they are read: there are few.
 */
#include "base/core/limits.h"
#include "cel/core/semver.h"
#include "cel/kubernetes/device.h"

struct cel_device_name cel_device_name(struct str qualified, struct str domain)
{
	ptrdiff_t slash = str_chr(qualified, '/');

	if (slash < 0)
		return (struct cel_device_name){ domain, qualified };
	return (struct cel_device_name){ str_of(qualified.p, (size_t)slash),
					 str_skip(qualified, (size_t)slash + 1) };
}

/* --- values ------------------------------------------------------------------------- */

static int read_int(const struct json *v, struct cel_device_memory *m, struct cel_value *ret,
		    struct error *err)
{
	int64_t i;

	(void)m;
	if (!json_i64(v, &i))
		return error_set(err, ERR_INVALID, "must be a whole number");
	*ret = CEL_INT_V(i);
	return 0;
}

static int read_bool(const struct json *v, struct cel_device_memory *m, struct cel_value *ret,
		     struct error *err)
{
	bool b;

	(void)m;
	if (!json_bool(v, &b))
		return error_set(err, ERR_INVALID, "must be true or false");
	*ret = CEL_BOOL_V(b);
	return 0;
}

static int read_string(const struct json *v, struct cel_device_memory *m, struct cel_value *ret,
		       struct error *err)
{
	if (!json_is(v, JSON_STRING))
		return error_set(err, ERR_INVALID, "must be a string");
	*ret = CEL_STRING_V(m->text(m, json_str(v)));
	return 0;
}

/*
 * Returns memory for a value parsed from a text, shared with other devices of the slice that have
 * the same text.
 */
static void *alloc_for(struct cel_device_memory *m, struct str text, size_t n, bool *ret_known)
{
	*ret_known = false;
	if (m->shared && text.n > 0)
		return m->shared(m, text, n, ret_known);
	return m->alloc(m, n, _Alignof(max_align_t));
}

static int read_version(const struct json *v, struct cel_device_memory *m, struct cel_value *ret,
			struct error *err)
{
	struct cel_semver *version;
	bool known;
	int r;

	if (!json_is(v, JSON_STRING))
		return error_set(err, ERR_INVALID, "must be a version");
	version = alloc_for(m, json_str(v), sizeof(*version), &known);
	r = known ? 0 : cel_semver_parse(m->text(m, json_str(v)), false, version, err);
	if (r < 0)
		return error_wrap(err, r, "parse semantic version");
	*ret = (struct cel_value){ .kind = CEL_SEMVER, .semver = version };
	return 0;
}

static int device_read_quantity(const struct json *v, struct cel_device_memory *m,
				struct cel_value *ret, struct error *err)
{
	bool known;
	struct quantity *q = alloc_for(m, json_str(v), sizeof(*q), &known);

	if (!known && !quantity_read(v, q))
		return error_set(err, ERR_INVALID, "must be a quantity");
	*ret = (struct cel_value){ .kind = CEL_QUANTITY, .quantity = q };
	return 0;
}

/* --- lists -------------------------------------------------------------------------- */

struct device_list {
	size_t n;
	struct cel_value items[];
};

static size_t device_list_size(const void *self)
{
	return ((const struct device_list *)self)->n;
}

static struct cel_value device_list_at(struct cel_eval *ev, const void *self, size_t index)
{
	(void)ev;
	return ((const struct device_list *)self)->items[index];
}

static const struct cel_list_class device_list_class = {
	.size = device_list_size,
	.at = device_list_at,
};

typedef int (*reader)(const struct json *v, struct cel_device_memory *m, struct cel_value *ret,
		      struct error *err);

static int device_read_list(const struct json *v, reader read, struct cel_device_memory *m,
			    struct cel_value *ret, struct error *err)
{
	size_t n = json_count(v);
	struct device_list *list;

	if (!json_is(v, JSON_ARRAY) || n > DEVICE_ATTRIBUTE_VALUES_MAX)
		return error_set(err, ERR_INVALID, "must be a list of at most %d values",
				 DEVICE_ATTRIBUTE_VALUES_MAX);
	list = m->alloc(m, sizeof(*list) + n * sizeof(list->items[0]),
			_Alignof(struct device_list));
	JSON_FOREACH (it, v) {
		int r = read(it, m, &list->items[list->n], err);

		if (r < 0)
			return r;
		list->n++;
	}
	*ret = (struct cel_value){ .kind = CEL_LIST, .list = { &device_list_class, list } };
	return 0;
}

/* --- attributes and capacities ------------------------------------------------------ */

/* In the order in which upstream looks for the one that is set. */
static const struct {
	const char *member;
	reader read;
	bool list;
} attribute_kinds[] = {
	{ "ints", read_int, true },       { "bools", read_bool, true },
	{ "strings", read_string, true }, { "versions", read_version, true },
	{ "int", read_int, false },       { "bool", read_bool, false },
	{ "string", read_string, false }, { "version", read_version, false },
};

static int read_attribute(const struct json *v, struct cel_device_memory *m, struct cel_value *ret,
			  struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(attribute_kinds); i++) {
		const struct json *value = json_getz(v, attribute_kinds[i].member);

		if (!value || json_is(value, JSON_NULL))
			continue;
		if (attribute_kinds[i].list)
			return device_read_list(value, attribute_kinds[i].read, m, ret, err);
		return attribute_kinds[i].read(value, m, ret, err);
	}
	return error_set(err, ERR_INVALID, "unsupported attribute value");
}

static int read_capacity(const struct json *v, struct cel_device_memory *m, struct cel_value *ret,
			 struct error *err)
{
	return device_read_quantity(json_getz(v, "value"), m, ret, err);
}

static bool name_before(const struct cel_device_name *a, const struct cel_device_name *b)
{
	int c = a == b ? 0 : str_cmp(a->domain, b->domain);

	return c < 0 || (c == 0 && str_cmp(a->id, b->id) < 0);
}

/*
 * If a name exists both with and without the driver's domain, the one with the domain comes first,
 * and constraints and selectors find that one.
 */
static void insert_item(struct cel_device_item *items, size_t n, struct cel_device_item item,
			bool qualified)
{
	while (n > 0 && (name_before(item.name, items[n - 1].name) ||
			 (qualified && !name_before(items[n - 1].name, item.name)))) {
		items[n] = items[n - 1];
		n--;
	}
	items[n] = item;
}

static int read_items(const struct json *object, reader read, struct str driver,
		      struct cel_device_memory *m, const struct cel_device_item **ret_items,
		      struct error *err)
{
	size_t n = json_count(object), have = 0;
	struct cel_device_item *items;

	*ret_items = NULL;
	if (n == 0)
		return 0;
	items = m->alloc(m, (n + 1) * sizeof(*items), _Alignof(struct cel_device_item));
	JSON_FOREACH (v, object) {
		struct cel_device_name name = cel_device_name(json_key(v), driver);
		struct cel_device_item item = { .name = m->name(m, name.domain, name.id) };
		int r = read(v, m, &item.value, err);

		if (r < 0)
			return error_wrap(err, r, "%.*s", STR_ARG(json_key(v)));
		insert_item(items, have++, item, str_chr(json_key(v), '/') >= 0);
	}
	*ret_items = items;
	return 0;
}

int cel_device_read_in(const struct json *device, struct str driver, struct cel_device_memory *m,
		       struct cel_device *ret_device, struct error *err)
{
	const struct json *attributes = json_getz(device, "attributes");
	const struct json *capacity = json_getz(device, "capacity");
	struct cel_device d = { .driver = driver };
	int r;

	if (json_count(attributes) + json_count(capacity) > DEVICE_ATTRIBUTES_MAX)
		return error_set(err, ERR_INVALID, "more than %d attributes and capacities",
				 DEVICE_ATTRIBUTES_MAX);
	d.nattributes = (uint16_t)json_count(attributes);
	d.ncapacity = (uint16_t)json_count(capacity);
	d.allow_multiple = json_true_at(device, "allowMultipleAllocations");
	r = read_items(attributes, read_attribute, driver, m, &d.attributes, err);
	if (r < 0)
		return error_wrap(err, r, "attribute");
	r = read_items(capacity, read_capacity, driver, m, &d.capacity, err);
	if (r < 0)
		return error_wrap(err, r, "capacity");
	*ret_device = d;
	return 0;
}

/* --- in an arena -------------------------------------------------------------------- */

struct arena_memory {
	struct cel_device_memory memory;
	struct arena *arena;
};

static void *in_arena(struct cel_device_memory *m, size_t n, size_t align)
{
	(void)align;
	return arena_calloc(CONTAINER_OF(m, struct arena_memory, memory)->arena, n);
}

static struct str borrowed(struct cel_device_memory *m, struct str s)
{
	(void)m;
	return s;
}

static const struct cel_device_name *name_in_arena(struct cel_device_memory *m, struct str domain,
						   struct str id)
{
	struct cel_device_name *name = in_arena(m, sizeof(*name), 0);

	*name = (struct cel_device_name){ domain, id };
	return name;
}

int cel_device_read(const struct json *device, struct str driver, struct arena *a,
		    struct cel_device *ret_device, struct error *err)
{
	struct arena_memory m = { { in_arena, borrowed, name_in_arena, NULL }, a };

	return cel_device_read_in(device, driver, &m.memory, ret_device, err);
}
