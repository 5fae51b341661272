/*
 * Rejects what the API server would reject, with an error message to the driver's author. A slice
 * that is rejected later would only be a line in a log. Rules between several fields are left to
 * device_check.h.
 */
#include "drivers/prepare/device_spec.h"

#include "api/schema/names.h"
#include "base/core/limits.h"
#include "base/json/quantity.h"
#include "base/time/timestamp.h"
#include "drivers/drivers_limits.h"
#include "drivers/prepare/abi.h"

enum { TEXT_MAX = 64, SELECTOR_MAX = 64 * KIB };

/* 9999-12-31T23:59:59Z, the last second with a year of four digits. */
#define TIME_MAX INT64_C(253402300799)

static struct str spec_text_of(const char *z)
{
	return str_from(z ? z : "");
}

static struct str spec_time_of(struct arena *a, int64_t unix_s)
{
	char text[TIMESTAMP_SIZE];

	/* Nanoseconds would end in 2262. */
	return arena_str(a, timestamp_print_wide((struct timestamp){ .seconds = unix_s }, text));
}

/* --- attributes ------------------------------------------------------------------------------- */

/* "[domain/]identifier" */
static const char *check_qualified(struct str name)
{
	ptrdiff_t slash = str_chr(name, '/');
	struct str id = slash < 0 ? name : str_skip(name, (size_t)slash + 1);

	if (slash >= 0 && (slash > NAMES_LABEL_MAX || names_dns_subdomain(str_of(name.p, slash))))
		return "its domain is not a DNS subdomain of at most 63 bytes";
	if (id.n == 0 || id.n > NAMES_IDENTIFIER_MAX || names_c_identifier(id))
		return "it is not a C identifier of at most 32 bytes";
	return NULL;
}

static int spec_add_attribute(struct arena *a, struct json *to, const struct dp_attribute *at,
			      struct error *err)
{
	static const char *const types[] = { "string", "int", "bool", "version" };
	struct str name = spec_text_of(at->name), text = spec_text_of(at->text);
	struct json *value = json_make_object(a);
	const char *fault = check_qualified(name);

	if (!fault && at->type >= ARRAY_SIZE(types))
		fault = "its type is invalid";
	if (!fault && json_get(to, name))
		fault = "it is there twice";
	if (!fault && (text.n > TEXT_MAX || !str_is_utf8(text)))
		fault = "its text is not UTF-8 of at most 64 bytes";
	if (!fault && at->type == DP_VERSION)
		fault = names_semver(text);
	if (fault)
		return error_set(err, ERR_INVALID, "attribute \"%.*s\": %s", STR_ARG(name), fault);
	if (at->type == DP_INT)
		json_put_i64(a, value, types[at->type], at->number);
	else if (at->type == DP_BOOL)
		json_put_bool(a, value, types[at->type], at->number != 0);
	else
		json_put_str(a, value, types[at->type], arena_str(a, text));
	json_add(to, arena_str(a, name), value);
	return 0;
}

/* --- quantities --------------------------------------------------------------------------- */

/* The canonical form of a quantity; `text` may be NULL only if `ret_value` stays unused then. */
static int spec_quantity(struct arena *a, const char *text, struct json **ret_value,
			 struct error *err)
{
	CLEANUP(buf_release) struct buf canonical = BUF_INIT(KIB);
	struct quantity q;
	int r = quantity_parse(spec_text_of(text), &q, err);

	if (r < 0)
		return r;
	(void)quantity_print(q, &canonical);
	*ret_value = json_make_str(a, arena_str(a, buf_str(&canonical)));
	return 0;
}

static int spec_put_quantity(struct arena *a, struct json *to, const char *key, const char *text,
			     struct error *err)
{
	struct json *value;
	int r;

	if (!text)
		return 0;
	r = spec_quantity(a, text, &value, err);
	if (r < 0)
		return error_wrap(err, r, "%s", key);
	json_setz(to, key, value);
	return 0;
}

static int spec_valid_values(struct arena *a, struct json *policy, const char *const *texts,
			     struct error *err)
{
	struct json *list = texts ? json_need_array(a, policy, "validValues") : NULL, *value;
	int r;

	for (; texts && *texts; texts++) {
		r = spec_quantity(a, *texts, &value, err);
		if (r < 0)
			return error_wrap(err, r, "valid_values");
		json_append(list, value);
	}
	return 0;
}

static int spec_range(struct arena *a, struct json *policy, const struct dp_capacity *c,
		      struct error *err)
{
	struct json *range;
	int r;

	if (!c->min && !c->max && !c->step)
		return 0;
	range = json_need_object(a, policy, "validRange");
	r = spec_put_quantity(a, range, "min", c->min, err);
	if (r == 0)
		r = spec_put_quantity(a, range, "max", c->max, err);
	if (r == 0)
		r = spec_put_quantity(a, range, "step", c->step, err);
	return r;
}

static int spec_policy(struct arena *a, struct json *capacity, const struct dp_capacity *c,
		       struct error *err)
{
	struct json *policy = json_make_object(a);
	int r = spec_put_quantity(a, policy, "default", c->default_quantity, err);

	if (r == 0)
		r = spec_valid_values(a, policy, c->valid_values, err);
	if (r == 0)
		r = spec_range(a, policy, c, err);
	if (json_count(policy) > 0)
		json_setz(capacity, "requestPolicy", policy);
	return r;
}

static int spec_add_capacity(struct arena *a, struct json *to, const struct dp_capacity *c,
			     struct error *err)
{
	struct json *capacity = json_make_object(a), *value = NULL;
	struct str name = spec_text_of(c->name);
	const char *fault = check_qualified(name);
	struct error why;
	int r;

	if (!fault && json_get(to, name))
		fault = "it is there twice";
	if (!fault && spec_quantity(a, c->quantity, &value, &why) < 0)
		fault = why.msg;
	if (fault)
		return error_set(err, ERR_INVALID, "capacity \"%.*s\": %s", STR_ARG(name), fault);
	json_setz(capacity, "value", value);
	r = spec_policy(a, capacity, c, err);
	if (r < 0)
		return error_wrap(err, r, "capacity \"%.*s\"", STR_ARG(name));
	json_add(to, arena_str(a, name), capacity);
	return 0;
}

int device_spec_counters(struct arena *a, const struct dp_counter *v, size_t n,
			 struct json **ret_map, struct error *err)
{
	struct json *map = json_make_object(a), *counter, *value;
	struct dp_counter c;
	int r;

	for (size_t i = 0; i < n; i++) {
		if (!ABI_READ(&c, v, i))
			return error_set(err, ERR_INVALID, "struct dp_counter has no size");
		if (json_getz(map, spec_text_of(c.name).p))
			return error_set(err, ERR_INVALID, "counter \"%s\": it is there twice",
					 c.name);
		r = spec_quantity(a, c.quantity, &value, err);
		if (r < 0)
			return error_wrap(err, r, "counter \"%s\"", spec_text_of(c.name).p);
		counter = json_make_object(a);
		json_setz(counter, "value", value);
		json_add(map, arena_str(a, spec_text_of(c.name)), counter);
	}
	*ret_map = map;
	return 0;
}

/* --- taints ------------------------------------------------------------------------------- */

static int spec_add_taint(struct arena *a, struct json *to, const struct dp_taint *t,
			  struct error *err)
{
	struct str key = spec_text_of(t->key), value = spec_text_of(t->value),
		   effect = spec_text_of(t->effect);
	struct json *taint = json_make_object(a);
	const char *fault = names_qualified(key);

	if (!fault && value.n > 0)
		fault = names_label_value(value);
	if (!fault && !str_eqz(effect, "NoSchedule") && !str_eqz(effect, "NoExecute") &&
	    !str_eqz(effect, "None"))
		fault = "its effect must be NoSchedule, NoExecute or None";
	if (!fault && (t->time_added < 0 || t->time_added > TIME_MAX))
		fault = "its time is not between 1970 and 9999";
	if (fault)
		return error_set(err, ERR_INVALID, "taint \"%.*s\": %s", STR_ARG(key), fault);
	json_put_str(a, taint, "key", arena_str(a, key));
	if (value.n > 0)
		json_put_str(a, taint, "value", arena_str(a, value));
	json_put_str(a, taint, "effect", arena_str(a, effect));
	if (t->time_added != 0)
		json_put_str(a, taint, "timeAdded", spec_time_of(a, t->time_added));
	json_append(to, taint);
	return 0;
}

int device_spec_taints(struct arena *a, const struct dp_taint *v, size_t n, struct json **ret_list,
		       struct error *err)
{
	struct json *list = json_make_array(a);
	struct dp_taint t;
	int r;

	/* One more may be that of DP_FLAG_TAINT_UNHEALTHY. */
	if (n >= DEVICE_TAINTS_MAX)
		return error_set(err, ERR_INVALID, "it has more than 15 taints");
	for (size_t i = 0; i < n; i++) {
		if (!ABI_READ_GROWN(&t, v, i, time_added))
			return error_set(err, ERR_INVALID, "struct dp_taint has no size");
		r = spec_add_taint(a, list, &t, err);
		if (r < 0)
			return r;
	}
	*ret_list = list;
	return 0;
}

/* --- the device --------------------------------------------------------------------------- */

static int spec_attributes(struct arena *a, struct json *spec, const struct dp_device *in,
			   struct error *err)
{
	struct json *to = json_make_object(a);
	struct dp_attribute at;
	int r;

	for (uint32_t i = 0; i < in->nattributes; i++) {
		if (!ABI_READ(&at, in->attributes, i))
			return error_set(err, ERR_INVALID, "struct dp_attribute has no size");
		r = spec_add_attribute(a, to, &at, err);
		if (r < 0)
			return r;
	}
	if (in->nattributes > 0)
		json_setz(spec, "attributes", to);
	return 0;
}

static int spec_capacities(struct arena *a, struct json *spec, const struct dp_device *in,
			   struct error *err)
{
	struct json *to = json_make_object(a);
	struct dp_capacity c;
	int r;

	for (uint32_t i = 0; i < in->ncapacity; i++) {
		if (!ABI_READ_GROWN(&c, in->capacity, i, default_quantity))
			return error_set(err, ERR_INVALID, "struct dp_capacity has no size");
		r = spec_add_capacity(a, to, &c, err);
		if (r < 0)
			return r;
	}
	if (in->ncapacity > 0)
		json_setz(spec, "capacity", to);
	return 0;
}

static int spec_consumes(struct arena *a, struct json *spec, const struct dp_device *in,
			 struct error *err)
{
	struct json *use, *counters;
	struct dp_counter_use u;
	int r;

	for (uint32_t i = 0; i < in->nconsumes; i++) {
		if (!ABI_READ(&u, in->consumes, i))
			return error_set(err, ERR_INVALID, "struct dp_counter_use has no size");
		r = device_spec_counters(a, u.counters, u.ncounters, &counters, err);
		if (r < 0)
			return r;
		use = json_make_object(a);
		json_put_str(a, use, "counterSet", arena_str(a, spec_text_of(u.set)));
		json_setz(use, "counters", counters);
		json_append(json_need_array(a, spec, "consumesCounters"), use);
	}
	return 0;
}

int device_spec_nodes(struct arena *a, struct json *to, const char *name, const char *selector,
		      bool all, struct error *err)
{
	struct str text = spec_text_of(selector);
	struct json *tree;
	int r;

	if ((name && *name) + (text.n > 0) + all > 1)
		return error_set(err, ERR_INVALID,
				 "give one of node_name, node_selector and all_nodes");
	if (name && *name)
		json_put_str(a, to, "nodeName", arena_str(a, str_from(name)));
	if (all)
		json_put_bool(a, to, "allNodes", true);
	if (text.n == 0)
		return 0;
	if (text.n > SELECTOR_MAX)
		return error_set(err, ERR_TOO_LARGE, "node_selector is larger than 64 KiB");
	r = json_parse(a, arena_str(a, text), NULL, &tree, err);
	if (r < 0)
		return error_wrap(err, r, "node_selector");
	json_setz(to, "nodeSelector", tree);
	return 0;
}

static void spec_conditions(struct arena *a, struct json *spec, const char *key,
			    const char *const *types)
{
	for (; types && *types; types++)
		json_append(json_need_array(a, spec, key),
			    json_make_str(a, arena_str(a, str_from(*types))));
}

int device_spec_fill(struct arena *a, struct json *spec, const struct dp_device *in,
		     struct error *err)
{
	struct json *taints = NULL;
	int r = spec_attributes(a, spec, in, err);

	if (r == 0)
		r = spec_capacities(a, spec, in, err);
	if (r == 0)
		r = device_spec_taints(a, in->taints, in->ntaints, &taints, err);
	if (r == 0 && in->ntaints > 0)
		json_setz(spec, "taints", taints);
	if (r == 0)
		r = spec_consumes(a, spec, in, err);
	if (r == 0)
		r = device_spec_nodes(a, spec, in->node_name, in->node_selector, in->all_nodes,
				      err);
	if (r < 0)
		return r;
	if (in->allow_multiple)
		json_put_bool(a, spec, "allowMultipleAllocations", true);
	if (in->binds_to_node)
		json_put_bool(a, spec, "bindsToNode", true);
	spec_conditions(a, spec, "bindingConditions", in->binding_conditions);
	spec_conditions(a, spec, "bindingFailureConditions", in->binding_failure_conditions);
	return 0;
}
