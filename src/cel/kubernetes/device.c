/*
 * The variable `device`, as maps that read a struct cel_device in place. The map of all attributes
 * and the map of one domain use the same array of items. The latter is a pointer to the domain's
 * first item, and ends where the domain ends. So neither a domain nor an attribute needs memory.
 * There are few items (32 at most), so lookup is a linear search.
 *
 * As in upstream, a missing domain is found as an empty map by selecting and has(), but not by
 * `in`.
 */
#include "cel/cel_limits.h"
#include "cel/kubernetes/device.h"
#include "cel/lib/libraries.h"

/* --- the environment ---------------------------------------------------------------- */

enum { /* limits of validation, which the cost estimate uses */
       DOMAIN_MAX = 63,
       ID_MAX = 32,
       DRIVER_MAX = 63,
       VALUE_MAX = 64,
       ITEMS_MAX = 32,
};

#define TEXT(max)                                                                   \
	{                                                                           \
		.kind = CEL_TYPE_STRING, .name = { "string", 6 }, .max_size = (max) \
	}
#define MAP(key, value)                                                                   \
	{                                                                                 \
		.kind = CEL_TYPE_MAP, .name = { "map", 3 }, .params = { (key), (value) }, \
		.max_size = ITEMS_MAX                                                     \
	}
#define FIELD(n, t)                                       \
	{                                                 \
		.name = { n, sizeof(n) - 1 }, .type = (t) \
	}
#define DEVICE(list, count)                                                                        \
	{                                                                                          \
		.kind = CEL_TYPE_OBJECT, .name = { "kubernetes.DRADevice", 20 }, .fields = (list), \
		.nfields = (count)                                                                 \
	}

static const struct cel_type domain_type = TEXT(DOMAIN_MAX);
static const struct cel_type id_type = TEXT(ID_MAX);
static const struct cel_type driver_type = TEXT(DRIVER_MAX);
static const struct cel_type multiple_type = { .kind = CEL_TYPE_BOOL,
					       .name = { "bool", 4 },
					       .max_size = 1 };
static const struct cel_type any_type = { .kind = CEL_TYPE_ANY,
					  .name = { "google.protobuf.Any", 19 },
					  .max_size = VALUE_MAX };
static const struct cel_type dyn_type = { .kind = CEL_TYPE_DYN,
					  .name = { "dyn", 3 },
					  .max_size = VALUE_MAX };
static const struct cel_type any_map = MAP(&id_type, &any_type);
static const struct cel_type dyn_map = MAP(&id_type, &dyn_type);
static const struct cel_type quantity_map = MAP(&id_type, &cel_quantity);
static const struct cel_type any_domains = MAP(&domain_type, &any_map);
static const struct cel_type dyn_domains = MAP(&domain_type, &dyn_map);
static const struct cel_type quantity_domains = MAP(&domain_type, &quantity_map);

/* In byte order; without the first where consumable capacity is off. */
static const struct cel_field plain_fields[] = {
	FIELD("allowMultipleAllocations", &multiple_type),
	FIELD("attributes", &any_domains),
	FIELD("capacity", &quantity_domains),
	FIELD("driver", &driver_type),
};
static const struct cel_field list_fields[] = {
	FIELD("allowMultipleAllocations", &multiple_type),
	FIELD("attributes", &dyn_domains),
	FIELD("capacity", &quantity_domains),
	FIELD("driver", &driver_type),
};

/* By list_attributes, consumable_capacity. */
static const struct cel_type device_types[2][2] = {
	{ DEVICE(plain_fields + 1, 3), DEVICE(plain_fields, 4) },
	{ DEVICE(list_fields + 1, 3), DEVICE(list_fields, 4) },
};
static const struct cel_variable device_variables[2][2] = {
	{ FIELD("device", &device_types[0][0]), FIELD("device", &device_types[0][1]) },
	{ FIELD("device", &device_types[1][0]), FIELD("device", &device_types[1][1]) },
};

void cel_device_env(struct cel_env *env, struct cel_device_features features)
{
	*env = (struct cel_env){
		.libraries = cel_libraries_device,
		.variables =
			&device_variables[features.list_attributes][features.consumable_capacity],
		.nvariables = 1,
		.flags = CEL_HOMOGENEOUS | CEL_LITERALS | CEL_HAS_IS_FREE | CEL_SIZED,
	};
}

/* --- one domain --------------------------------------------------------------------- */

static const struct cel_device_item no_items[1];

static bool same_domain(const struct cel_device_item *a, const struct cel_device_item *b)
{
	return a->name && (a->name == b->name || str_eq(a->name->domain, b->name->domain));
}

static size_t domain_size(const void *self)
{
	const struct cel_device_item *first = self, *it = first;

	while (same_domain(it, first))
		it++;
	return (size_t)(it - first);
}

static struct cel_value domain_find(struct cel_eval *ev, const void *self,
				    const struct cel_value *key)
{
	const struct cel_device_item *first = self;

	(void)ev;
	if (key->kind != CEL_STRING)
		return CEL_NOTHING;
	for (const struct cel_device_item *it = first; same_domain(it, first); it++)
		if (str_eq(it->name->id, key->s))
			return it->value;
	return CEL_NOTHING;
}

static bool domain_next(struct cel_eval *ev, const void *self, size_t *at,
			struct cel_value *ret_key, struct cel_value *ret_value)
{
	const struct cel_device_item *first = self, *it = first + *at;

	(void)ev;
	if (!same_domain(it, first))
		return false;
	*ret_key = CEL_STRING_V(it->name->id);
	*ret_value = it->value;
	++*at;
	return true;
}

static const struct cel_map_class domain_class = {
	.size = domain_size,
	.find = domain_find,
	.next = domain_next,
};

static struct cel_value domain_value(const struct cel_device_item *first)
{
	return (struct cel_value){ .kind = CEL_MAP, .map = { &domain_class, first } };
}

/* --- all domains -------------------------------------------------------------------- */

static const struct cel_device_item *find_domain(const struct cel_device_item *it,
						 struct str domain)
{
	while (it->name && !str_eq(it->name->domain, domain))
		it++;
	return it->name ? it : NULL;
}

static size_t domains_size(const void *self)
{
	size_t n = 0;

	for (const struct cel_device_item *it = self; it->name; it += domain_size(it))
		n++;
	return n;
}

static struct cel_value domains_find(struct cel_eval *ev, const void *self,
				     const struct cel_value *key)
{
	const struct cel_device_item *it = NULL;

	(void)ev;
	if (key->kind == CEL_STRING)
		it = find_domain(self, key->s);
	return domain_value(it ? it : no_items);
}

static bool domains_has(const void *self, const struct cel_value *key)
{
	return key->kind == CEL_STRING && find_domain(self, key->s);
}

static bool domains_next(struct cel_eval *ev, const void *self, size_t *at,
			 struct cel_value *ret_key, struct cel_value *ret_value)
{
	const struct cel_device_item *it = (const struct cel_device_item *)self + *at;

	(void)ev;
	if (!it->name)
		return false;
	*ret_key = CEL_STRING_V(it->name->domain);
	*ret_value = domain_value(it);
	*at += domain_size(it);
	return true;
}

static const struct cel_map_class domains_class = {
	.size = domains_size,
	.find = domains_find,
	.next = domains_next,
	.has = domains_has,
};

static struct cel_value domains_value(const struct cel_device_item *items)
{
	return (struct cel_value){ .kind = CEL_MAP,
				   .map = { &domains_class, items ? items : no_items } };
}

/* --- the device --------------------------------------------------------------------- */

/* Like upstream, dyn(device) can be used as a map. */
static struct cel_value field_value(const struct cel_device *d, size_t field)
{
	switch (field) {
	case 0:
		return CEL_BOOL_V(d->allow_multiple);
	case 1:
		return domains_value(d->attributes);
	case 2:
		return domains_value(d->capacity);
	default:
		return CEL_STRING_V(d->driver);
	}
}

static size_t device_size(const void *self)
{
	(void)self;
	return ARRAY_SIZE(plain_fields);
}

static struct cel_value device_find(struct cel_eval *ev, const void *self,
				    const struct cel_value *key)
{
	(void)ev;
	if (key->kind != CEL_STRING)
		return CEL_NOTHING;
	for (size_t i = 0; i < ARRAY_SIZE(plain_fields); i++)
		if (str_eq(plain_fields[i].name, key->s))
			return field_value(self, i);
	return CEL_NOTHING;
}

static bool device_next(struct cel_eval *ev, const void *self, size_t *at,
			struct cel_value *ret_key, struct cel_value *ret_value)
{
	(void)ev;
	if (*at >= ARRAY_SIZE(plain_fields))
		return false;
	*ret_key = CEL_STRING_V(plain_fields[*at].name);
	*ret_value = field_value(self, *at);
	++*at;
	return true;
}

static const struct cel_map_class device_class = {
	.size = device_size,
	.find = device_find,
	.next = device_next,
};

struct cel_value cel_device_value(const struct cel_device *device)
{
	return (struct cel_value){ .kind = CEL_MAP, .map = { &device_class, device } };
}

const struct cel_value *cel_device_attribute(const struct cel_device *device, struct str domain,
					     struct str id)
{
	for (size_t i = 0; i < device->nattributes; i++) {
		const struct cel_device_item *it = &device->attributes[i];

		if (str_eq(it->name->id, id) && str_eq(it->name->domain, domain))
			return &it->value;
	}
	return NULL;
}

/* --- selectors ---------------------------------------------------------------------- */

/* Whether a selector may have the type: bool, or the unknown type of an attribute. */
static bool may_select(const struct cel_type *type, struct cel_device_features features)
{
	return type->kind == CEL_TYPE_BOOL ||
	       type->kind == (features.list_attributes ? CEL_TYPE_DYN : CEL_TYPE_ANY);
}

static bool may_be_element(const struct cel_type *type)
{
	switch (type->kind) {
	case CEL_TYPE_BOOL:
	case CEL_TYPE_INT:
	case CEL_TYPE_STRING:
	case CEL_TYPE_ANY:
	case CEL_TYPE_DYN:
		return true;
	default:
		return cel_type_equal(type, &cel_semver);
	}
}

static bool may_be_attribute(const struct cel_type *type, struct cel_device_features features)
{
	if (features.list_attributes && type->kind == CEL_TYPE_LIST)
		type = type->params[0];
	return may_be_element(type);
}

bool cel_device_yields(const struct cel_program *p, struct cel_device_features features,
		       enum cel_device_use use, struct buf *why)
{
	const struct cel_type *type = cel_program_type(p);
	const char *words = "bool or the unknown type";

	if (use == CEL_DEVICE_SELECTOR) {
		if (may_select(type, features))
			return true;
	} else {
		if (may_be_attribute(type, features))
			return true;
		words = features.list_attributes
				? "a primitive scalar (string, integer, boolean, semver) or a list "
				  "of these scalars"
				: "a primitive scalar (string, integer, boolean, semver)";
	}
	(void)buf_printf(why, "must evaluate to %s, not ", words);
	cel_type_print_named(type, why);
	return false;
}

const struct cel_program *cel_device_compile(struct cel_device_features features, struct str text,
					     struct cel_budget *budget, struct arena *a,
					     struct cel_issues *issues)
{
	CLEANUP(buf_release) struct buf why = BUF_INIT(CEL_TEXT_MAX);
	const struct cel_program *p;
	struct cel_env env;

	cel_device_env(&env, features);
	env.budget = budget;
	p = cel_compile(&env, text, a, issues);
	if (!p || cel_device_yields(p, features, CEL_DEVICE_SELECTOR, &why))
		return p;
	cel_issue_add(issues, SIZE_MAX, "%.*s", STR_ARG(buf_str(&why)));
	return NULL;
}

/* The words differ by type upstream. */
static int not_a_bool(const struct cel_value *v, struct error *err)
{
	struct str type = cel_value_type(v)->name;
	struct str prefix = STR("kubernetes.");
	struct str last = str_starts(type, prefix) ? str_skip(type, prefix.n) : type;
	const char *fmt = "CEL result of type %.*s could not be converted to bool: "
			  "type conversion error from '%.*s' to 'bool'";

	if (v->kind == CEL_INT || v->kind == CEL_UINT)
		fmt = "CEL result of type %.*s could not be converted to bool: "
		      "unsupported type conversion from '%.*s' to bool";
	else if (v->kind == CEL_STRING)
		fmt = "CEL result of type %.*s could not be converted to bool: "
		      "unsupported native conversion from %.*s to 'bool'";
	return error_set(err, ERR_INVALID, fmt, STR_ARG(type), STR_ARG(last));
}

int cel_device_matches(const struct cel_program *selector, struct cel_eval *ev,
		       const struct cel_device *device, struct error *err)
{
	struct cel_value var = cel_device_value(device);
	struct cel_value v;

	ev->cost = 0;
	ev->cost_limit = CEL_DEVICE_COST_MAX;
	v = cel_run(selector, ev, &var);
	if (LIKELY(v.kind == CEL_BOOL))
		return v.b;
	if (cel_is_error(v))
		return error_set(err, ERR_INVALID, "%s", v.error ? v.error : "no such attribute");
	return not_a_bool(&v, err);
}
