/*
 * The amounts of a shared device's capacity that may be requested: a list of values, or a range
 * with steps. Quantities are exact here, so unlike upstream there is only one way to compute (not
 * both whole numbers and thousandths). Amounts that upstream rejects because it cannot compute with
 * them are rejected, too.
 */
#include <stdlib.h>

#include "api/api_limits.h"
#include "api/devices/checks.h"
#include "base/json/quantity.h"

/* A quantity with its text, for errors. */
struct amount {
	struct quantity q;
	struct str text;
	bool there;
};

static struct amount read_amount(const struct json *value)
{
	struct amount a = { .text = json_str(value) };

	a.there = a.text.p && quantity_parse(a.text, &a.q, NULL) == 0;
	return a;
}

static struct amount amount_at(const struct json *holder, const char *name)
{
	return read_amount(json_getz(holder, name));
}

static int cmp(struct amount a, struct amount b)
{
	return quantity_cmp(a.q, b.q);
}

/* Reports "WORDS: TEXT" at path.name, or at the path itself if `name` is NULL. */
static void capacity_refuse(struct validation *v, const struct field_path *path, const char *name,
			    struct str shown, const char *words, struct str than)
{
	struct field_path at = field_path_name(path, name);

	field_errors_addf(v->errs, FIELD_INVALID, name ? &at : path, FIELD_STR(shown), "%s%s%.*s",
			  words, than.n ? ": " : "", STR_ARG(than));
}

static bool is_repeated(const struct json *values, const struct json *value)
{
	struct amount a = read_amount(value);

	JSON_FOREACH (other, values) {
		if (other == value)
			return false;
		if (cmp(read_amount(other), a) == 0)
			return true;
	}
	return false;
}

static void check_valid_values(struct validation *v, const struct json *values,
			       struct amount initial, struct amount max,
			       const struct field_path *path)
{
	const struct json *before = NULL;
	bool found = false;
	size_t i = 0;

	if (json_count(values) > CAPACITY_VALUES_MAX) {
		field_errors_too_many(v->errs, path, (int64_t)json_count(values),
				      CAPACITY_VALUES_MAX);
		return;
	}
	JSON_FOREACH (value, values) {
		struct field_path at = field_path_index(path, i++);
		struct amount a = read_amount(value);

		if (before && cmp(read_amount(before), a) > 0)
			capacity_refuse(v, &at, NULL, a.text,
					"values must be sorted in ascending order", STR_NULL);
		if (cmp(a, max) > 0)
			capacity_refuse(v, &at, NULL, a.text,
					"option is larger than capacity value", max.text);
		if (is_repeated(values, value))
			field_errors_duplicate(v->errs, &at, FIELD_STR(a.text));
		found |= cmp(a, initial) == 0;
		before = value;
	}
	if (!found)
		capacity_refuse(v, path, NULL, initial.text,
				"default value is not valid according to the requestPolicy",
				STR_NULL);
}

struct range {
	struct amount initial, min, max, step, capacity;
};

static void check_bounds(struct validation *v, const struct range *r, const struct field_path *path)
{
	if (cmp(r->min, r->capacity) > 0)
		capacity_refuse(v, path, "min", r->min.text, "min is larger than capacity value",
				r->capacity.text);
	if (cmp(r->initial, r->min) < 0)
		capacity_refuse(v, path, "default", r->initial.text, "default is less than min",
				r->min.text);
	if (!r->max.there)
		return;
	if (cmp(r->min, r->max) > 0)
		capacity_refuse(v, path, "max", r->min.text, "min is larger than max", r->max.text);
	if (cmp(r->max, r->capacity) > 0)
		capacity_refuse(v, path, "max", r->max.text, "max is larger than capacity value",
				r->capacity.text);
	if (cmp(r->initial, r->max) > 0)
		capacity_refuse(v, path, "default", r->initial.text, "default is more than max",
				r->max.text);
}

/*
 * Rejects values that upstream's arithmetic cannot hold: finer than thousandths if any is a
 * fraction; else negative or beyond 64 bits. Returns true if all are fine.
 */
static bool check_computable(struct validation *v, const struct range *r, bool fractional,
			     const struct field_path *path)
{
	static const char *const names[] = { "default", "min", "max", "step" };
	const struct amount amounts[] = { r->initial, r->min, r->max, r->step };
	const __int128 nano = 1000000000, milli = 1000000;
	bool fine = true;

	for (size_t i = 0; i < ARRAY_SIZE(amounts); i++) {
		__int128 n = amounts[i].q.nano;
		const char *words = NULL;

		if (!amounts[i].there)
			continue;
		if (fractional && (n % milli || n / milli > INT64_MAX || n / milli < INT64_MIN))
			words = "value cannot be represented as a milli value";
		else if (!fractional && r->step.there && n < 0)
			words = "must be greater than or equal to 0";
		else if (!fractional && r->step.there && n / nano > INT64_MAX)
			words = "must not be larger than 9223372036854775807";
		if (!words)
			continue;
		capacity_refuse(v, path, names[i], amounts[i].text, words, STR_NULL);
		fine = false;
	}
	return fine;
}

static void check_on_step(struct validation *v, const struct range *r, struct amount a,
			  const struct field_path *path)
{
	struct field_path at = field_path_name(path, "step");

	if ((a.q.nano - r->min.q.nano) % r->step.q.nano)
		field_errors_addf(v->errs, FIELD_INVALID, &at, FIELD_STR(a.text),
				  "value is not a multiple of a given step (%.*s) from (%.*s)",
				  STR_ARG(r->step.text), STR_ARG(r->min.text));
}

static void check_step(struct validation *v, const struct range *r, bool fractional,
		       const struct field_path *path)
{
	CLEANUP(buf_release) struct buf sum = BUF_INIT(128);
	struct field_path at = field_path_name(path, "step");
	struct quantity added = quantity_add(r->min.q, r->step.q);

	if (r->step.q.nano <= 0) {
		capacity_refuse(v, path, "step", r->step.text, "must be greater than zero",
				STR_NULL);
		return;
	}
	if (quantity_cmp(added, r->capacity.q) > 0) {
		(void)quantity_print(added, &sum);
		field_errors_addf(v->errs, FIELD_INVALID, &at, FIELD_STR(r->step.text),
				  "one step %s is larger than capacity value: %.*s", sum.p,
				  STR_ARG(r->capacity.text));
	}
	if (!fractional && !check_computable(v, r, false, path))
		return;
	check_on_step(v, r, r->initial, path);
	if (r->max.there)
		check_on_step(v, r, r->max, path);
}

static bool is_fractional(struct amount a)
{
	return a.there && a.q.nano % 1000000000 != 0;
}

static void check_valid_range(struct validation *v, const struct json *range, struct amount initial,
			      struct amount capacity, const struct field_path *path)
{
	struct range r = {
		.initial = initial,
		.min = amount_at(range, "min"),
		.max = amount_at(range, "max"),
		.step = amount_at(range, "step"),
		.capacity = capacity,
	};
	struct field_path min_at = field_path_name(path, "min");
	bool fractional;

	if (!r.min.there) {
		field_errors_required(v->errs, &min_at, "required when validRange is defined");
		return;
	}
	check_bounds(v, &r, path);
	fractional = gates_on(v->gates, GATE_DRAFractionalCapacityRange) &&
		     (is_fractional(r.initial) || is_fractional(r.min) || is_fractional(r.max) ||
		      is_fractional(r.step));
	if (fractional && !check_computable(v, &r, true, path))
		return;
	if (r.step.there)
		check_step(v, &r, fractional, path);
}

static void check_request_policy(struct validation *v, const struct json *policy,
				 struct amount capacity, const struct field_path *path)
{
	const struct json *values = json_getz(policy, "validValues");
	const struct json *range = json_getz(policy, "validRange");
	struct field_path default_at = field_path_name(path, "default");
	struct field_path at = field_path_name(path, range ? "validRange" : "validValues");
	struct amount initial = amount_at(policy, "default");

	if (json_count(values) && range)
		field_errors_forbidden(v->errs, path,
				       "exactly one policy can be specified, cannot specify "
				       "\"validValues\" and \"validRange\" at the same time");
	else if (!json_count(values) && !range)
		return;
	else if (!initial.there)
		field_errors_required(v->errs, &default_at,
				      range ? "required when validRange is defined"
					    : "required when validValues is defined");
	else if (range)
		check_valid_range(v, range, initial, capacity, &at);
	else
		check_valid_values(v, values, initial, capacity, &at);
}

void check_device_capacity(struct validation *v, const struct json *capacities, bool several,
			   const struct field_path *path)
{
	JSON_FOREACH (capacity, capacities) {
		struct field_path item = field_path_key(path, json_key(capacity));
		struct field_path at = field_path_name(&item, "requestPolicy");
		const struct json *policy = json_getz(capacity, "requestPolicy");

		if (!policy)
			continue;
		if (several)
			check_request_policy(v, policy, amount_at(capacity, "value"), &at);
		else
			field_errors_forbidden(v->errs, &at,
					       "allowMultipleAllocations must be true");
	}
}
