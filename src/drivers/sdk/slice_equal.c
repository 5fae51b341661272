/*
 * The server's copy is never the text that was sent: it has defaults and canonical numbers. A
 * comparison that ignored this would rewrite the slices for ever.
 */
#include "drivers/sdk/slice_equal.h"

#include "base/json/quantity.h"

/*
 * Compares trees whose texts are names or quantities. The depth is that of `a`, which is ours and
 * flat.
 */
static bool same_amounts(const struct json *a, const struct json *b)
{
	const struct json *other = json_first(b);
	struct quantity x, y;

	if (!json_is_container(a) || !json_is_container(b))
		return json_equal(a, b) ||
		       (quantity_parse(json_str(a), &x, NULL) == 0 &&
			quantity_parse(json_str(b), &y, NULL) == 0 && quantity_cmp(x, y) == 0);
	if (a->type != b->type || json_count(a) != json_count(b))
		return false;
	JSON_FOREACH (it, a) {
		if (json_is(a, JSON_OBJECT))
			other = json_get(b, json_key(it));
		if (!other || !same_amounts(it, other))
			return false;
		other = other->next;
	}
	return true;
}

static bool same_taint(const struct json *a, const struct json *b)
{
	return str_eq(json_text_at(a, "key"), json_text_at(b, "key")) &&
	       str_eq(json_text_at(a, "value"), json_text_at(b, "value")) &&
	       str_eq(json_text_at(a, "effect"), json_text_at(b, "effect"));
}

static bool same_time(const struct json *wanted, const struct json *there)
{
	struct str time = json_text_at(wanted, "timeAdded");

	return time.n == 0 || str_eq(time, json_text_at(there, "timeAdded"));
}

static bool same_taints(const struct json *a, const struct json *b)
{
	const struct json *other = json_first(b);

	if (json_count(a) != json_count(b))
		return false;
	JSON_FOREACH (it, a) {
		if (!same_taint(it, other) || !same_time(it, other))
			return false;
		other = other->next;
	}
	return true;
}

static bool same_member(const struct json *a, const struct json *b, struct str name)
{
	if (str_eqz(name, "capacity") || str_eqz(name, "consumesCounters"))
		return same_amounts(a, b);
	if (str_eqz(name, "taints"))
		return same_taints(a, b);
	return json_equal(a, b);
}

static bool same_device(const struct json *a, const struct json *b)
{
	if (json_count(a) != json_count(b))
		return false;
	JSON_FOREACH (it, a) {
		const struct json *other = json_get(b, json_key(it));

		if (!other || !same_member(it, other, json_key(it)))
			return false;
	}
	return true;
}

bool slice_equal_counters(const struct json *wanted, const struct json *there)
{
	return json_count(wanted) == json_count(there) &&
	       (json_count(wanted) == 0 || same_amounts(wanted, there));
}

bool slice_equal(const struct json *wanted, const struct json *there)
{
	const struct json *other = json_first(there);

	if (json_count(wanted) != json_count(there))
		return false;
	JSON_FOREACH (it, wanted) {
		if (!same_device(it, other))
			return false;
		other = other->next;
	}
	return true;
}

static void keep_times_of(struct arena *a, const struct json *wanted, const struct json *there)
{
	JSON_FOREACH (it, json_getz(wanted, "taints")) {
		JSON_FOREACH (old, json_getz(there, "taints")) {
			struct str added = json_text_at(old, "timeAdded");

			if (same_taint(it, old) && added.n > 0 && !json_getz(it, "timeAdded"))
				json_put_str(a, it, "timeAdded", added);
		}
	}
}

/* Devices mostly have the same index in both lists, so each search starts there. */
void slice_keep_times(struct arena *a, struct json *wanted, const struct json *there)
{
	const struct json *at = json_first(there);

	JSON_FOREACH (it, wanted) {
		struct str name = json_text_at(it, "name");
		const struct json *old = at;

		while (old && !str_eq(json_text_at(old, "name"), name))
			old = old->next;
		if (!old)
			continue;
		keep_times_of(a, it, old);
		at = old->next;
	}
}
