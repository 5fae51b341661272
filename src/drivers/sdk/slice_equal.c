/*
 * The server's copy is never the text that was sent: it has defaults and canonical numbers. A
 * comparison that ignored this would rewrite the slices for ever.
 */
#include "drivers/sdk/slice_equal.h"

#include "base/json/quantity.h"

static bool same_quantity(const struct json *a, const struct json *b)
{
	struct quantity x, y;

	return quantity_parse(json_text_at(a, "value"), &x, NULL) == 0 &&
	       quantity_parse(json_text_at(b, "value"), &y, NULL) == 0 && json_count(a) == 1 &&
	       json_count(b) == 1 && quantity_cmp(x, y) == 0;
}

static bool same_capacity(const struct json *a, const struct json *b)
{
	if (json_count(a) != json_count(b))
		return false;
	JSON_FOREACH (it, a)
		if (!same_quantity(it, json_get(b, json_key(it))))
			return false;
	return true;
}

static bool same_taint(const struct json *a, const struct json *b)
{
	return str_eq(json_text_at(a, "key"), json_text_at(b, "key")) &&
	       str_eq(json_text_at(a, "value"), json_text_at(b, "value")) &&
	       str_eq(json_text_at(a, "effect"), json_text_at(b, "effect"));
}

static bool same_taints(const struct json *a, const struct json *b)
{
	const struct json *other = json_first(b);

	if (json_count(a) != json_count(b))
		return false;
	JSON_FOREACH (it, a) {
		if (!same_taint(it, other))
			return false;
		other = other->next;
	}
	return true;
}

static bool same_member(const struct json *a, const struct json *b, struct str name)
{
	if (str_eqz(name, "capacity"))
		return same_capacity(a, b);
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
