/*
 * LimitRanges: each type occurs once, resource names are valid for the type, and bounds are
 * consistent.
 */
#include "api/check/quota.h"

#include "api/quota/amount_list.h"
#include "api/schema/names.h"
#include "base/json/index.h"

enum list { LIST_MAX, LIST_MIN, LIST_DEFAULT, LIST_REQUEST, LIST_RATIO, LISTS };

static const char *const list_names[LISTS] = {
	[LIST_MAX] = "max",
	[LIST_MIN] = "min",
	[LIST_DEFAULT] = "default",
	[LIST_REQUEST] = "defaultRequest",
	[LIST_RATIO] = "maxLimitRequestRatio",
};

/* `low` must not be greater than `high`. */
static const struct order {
	enum list low, high;
	enum list at, shown; /* the field of the error, and the value that it shows */
	const char *low_words, *high_words;
} orders[] = {
	{ LIST_MIN, LIST_MAX, LIST_MIN, LIST_MIN, "min", "max" },
	{ LIST_MIN, LIST_REQUEST, LIST_REQUEST, LIST_REQUEST, "min", "default request" },
	{ LIST_REQUEST, LIST_MAX, LIST_REQUEST, LIST_REQUEST, "default request", "max" },
	{ LIST_REQUEST, LIST_DEFAULT, LIST_REQUEST, LIST_REQUEST, "default request",
	  "default limit" },
	{ LIST_MIN, LIST_DEFAULT, LIST_DEFAULT, LIST_MIN, "min", "default" },
	{ LIST_DEFAULT, LIST_MAX, LIST_DEFAULT, LIST_MAX, "default", "max" },
};

/* One entry of a limit range. */
struct range {
	struct validation *v;
	struct str type;
	const struct field_path *path;
	struct amount_list lists[LISTS];
};

static const struct quantity *bound(const struct range *r, enum list list, struct str name)
{
	return amount_list_get(&r->lists[list], name);
}

static const char *limit_range_text_of(const struct range *r, const struct quantity *q)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(256);

	(void)quantity_print(*q, &b);
	return arena_strdup(r->v->arena, buf_str(&b));
}

#define FAULT(r, list, name, shown, ...)                                                  \
	do {                                                                              \
		struct field_path list_at = field_path_name((r)->path, list_names[list]); \
		struct field_path name_at = field_path_key(&list_at, name);               \
                                                                                          \
		field_errors_addf((r)->v->errs, FIELD_INVALID, &name_at,                  \
				  FIELD_STR(str_from(limit_range_text_of((r), (shown)))), \
				  __VA_ARGS__);                                           \
	} while (0)

static void check_order(const struct range *r, const struct order *o, struct str name)
{
	const struct quantity *low = bound(r, o->low, name), *high = bound(r, o->high, name);

	if (low && high && quantity_cmp(*low, *high) > 0)
		FAULT(r, o->at, name, bound(r, o->shown, name),
		      "%s value %s is greater than %s value %s", o->low_words,
		      limit_range_text_of(r, low), o->high_words, limit_range_text_of(r, high));
}

static bool is_small(const struct quantity *q)
{
	return quantity_value(*q) < INT64_MAX / 1000;
}

static void check_ratio(const struct range *r, struct str name)
{
	const struct quantity *ratio = bound(r, LIST_RATIO, name);
	const struct quantity *min = bound(r, LIST_MIN, name), *max = bound(r, LIST_MAX, name);
	double value, most;

	if (!ratio)
		return;
	if (quantity_cmp(*ratio, quantity_of(1, QUANTITY_DECIMAL_SI)) < 0)
		FAULT(r, LIST_RATIO, name, ratio, "ratio %s is less than 1",
		      limit_range_text_of(r, ratio));
	if (!min || !max)
		return;
	if (is_small(ratio) && is_small(min) && is_small(max)) {
		value = (double)quantity_milli(*ratio) / 1000;
		most = (double)quantity_milli(*max) / (double)quantity_milli(*min);
	} else {
		value = (double)quantity_value(*ratio);
		most = (double)quantity_value(*max) / (double)quantity_value(*min);
	}
	if (value > most)
		FAULT(r, LIST_RATIO, name, ratio, "ratio %s is greater than max/min = %f",
		      limit_range_text_of(r, ratio), most);
}

/* A resource that cannot be shared needs equal request and limit. */
static void check_exclusive(const struct range *r, struct str name)
{
	const struct quantity *limit = bound(r, LIST_DEFAULT, name);
	const struct quantity *request = bound(r, LIST_REQUEST, name);
	bool native = str_chr(name, '/') < 0 || str_find(name, STR("kubernetes.io/")) >= 0;

	if (native && !str_starts(name, STR("hugepages-")))
		return;
	if (limit && request && quantity_cmp(*limit, *request) != 0)
		FAULT(r, LIST_REQUEST, name, request,
		      "default value %s must equal to defaultRequest value %s in %.*s",
		      limit_range_text_of(r, limit), limit_range_text_of(r, request),
		      STR_ARG(name));
}

static void limit_range_check_names(const struct range *r, enum list list)
{
	struct field_path list_at = field_path_name(r->path, list_names[list]);
	bool contained = str_eqz(r->type, "Pod") || str_eqz(r->type, "Container");

	for (size_t i = 0; i < r->lists[list].n; i++) {
		struct str name = r->lists[list].v[i].name;
		struct field_path at = field_path_key(&list_at, name);

		if (contained)
			check_container_resource_name(r->v, name, &at);
		else
			check_resource_name(r->v, name, &at);
	}
}

static void limit_range_check_type(const struct range *r)
{
	struct field_path at = field_path_name(r->path, "type");
	bool known = str_eqz(r->type, "Pod") || str_eqz(r->type, "Container") ||
		     str_eqz(r->type, "PersistentVolumeClaim");

	if (names_qualified(r->type))
		validate_format(r->v, SCHEMA_FORMAT_LABEL_KEY, r->type, &at);
	else if (str_chr(r->type, '/') < 0 && !known)
		field_errors_invalid(r->v->errs, &at, FIELD_STR(r->type),
				     "must be a standard limit type or fully qualified");
}

/* Pods have no defaults of their own. */
static void limit_range_forbid(struct range *r, enum list list)
{
	struct field_path at = field_path_name(r->path, list_names[list]);

	if (r->lists[list].n)
		field_errors_forbidden(r->v->errs, &at,
				       "may not be specified when `type` is 'Pod'");
	r->lists[list] = amount_list_new(r->v->arena);
}

static void check_storage(const struct range *r)
{
	struct field_path at = field_path_name(r->path, "limits");

	if (str_eqz(r->type, "PersistentVolumeClaim") && !bound(r, LIST_MIN, STR("storage")) &&
	    !bound(r, LIST_MAX, STR("storage")))
		field_errors_required(r->v->errs, &at,
				      "either minimum or maximum storage value is required, but "
				      "neither was provided");
}

static void limit_range_check_range(struct range *r, const struct json *item)
{
	struct amount_list all = amount_list_new(r->v->arena);

	for (enum list i = 0; i < LISTS; i++)
		r->lists[i] = amount_list_read(r->v->arena, json_getz(item, list_names[i]));
	limit_range_check_type(r);
	if (str_eqz(r->type, "Pod")) {
		limit_range_forbid(r, LIST_DEFAULT);
		limit_range_forbid(r, LIST_REQUEST);
	}
	check_storage(r);
	for (enum list i = 0; i < LISTS; i++) {
		limit_range_check_names(r, i);
		amount_list_put(&all, &r->lists[i]);
	}
	for (size_t i = 0; i < all.n; i++) {
		for (size_t j = 0; j < ARRAY_SIZE(orders); j++)
			check_order(r, &orders[j], all.v[i].name);
		check_ratio(r, all.v[i].name);
		check_exclusive(r, all.v[i].name);
	}
}

void check_limit_range(struct validation *v, const struct json *range)
{
	const struct json *items = json_getz(json_getz(range, "spec"), "limits");
	struct field_path spec_at = field_path_name(NULL, "spec");
	struct field_path list_at = field_path_name(&spec_at, "limits");
	CLEANUP(json_index_release) struct json_index types;
	size_t i = 0;

	json_index_init(&types, items, "type");
	JSON_FOREACH (item, items) {
		struct field_path at = field_path_index(&list_at, i++);
		struct field_path type_at = field_path_name(&at, "type");
		struct range r = { .v = v, .type = json_text_at(item, "type"), .path = &at };

		limit_range_check_range(&r, item);
		if (json_index_came_before(&types, item))
			field_errors_duplicate(v->errs, &type_at, FIELD_STR(r.type));
	}
}
