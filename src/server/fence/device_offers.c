/*
 * Most slices have none of the fields that matter. A search in their text detects that, so that
 * they are not parsed.
 */
#include "server/fence/device_offers.h"

#include "base/core/arena.h"
#include "base/json/cursor.h"
#include "base/json/json.h"
#include "dra/inventory/inventory.h"
#include "server/engine/state.h"

/* Returns the text of a slice's spec, or an empty text. */
static struct str offers_spec(const struct object *slice)
{
	struct json_cursor c = json_cursor_of(bytes_str(slice->json));
	enum json_cursor_type type;
	struct str raw;

	if (json_cursor_find(&c, STR("spec")) && json_cursor_value(&c, &raw, &type) &&
	    type == JSON_CURSOR_NESTED)
		return raw;
	return STR("");
}

/* Returns the text of a scalar in a slice's metadata, or an empty text. */
static struct str offers_meta(const struct object *slice, struct str key)
{
	struct json_cursor c = json_cursor_of(bytes_str(slice->json));
	enum json_cursor_type type;
	struct str raw;

	if (json_cursor_find(&c, STR("metadata")) && json_cursor_find(&c, key) &&
	    json_cursor_value(&c, &raw, &type))
		return raw;
	return STR("");
}

/* The generation grows with every change of the spec. It comes long before the spec's end. */
static bool offers_same(const struct object *now, const struct object *before)
{
	struct str generation = offers_meta(now, STR("generation"));

	return generation.n && str_eq(generation, offers_meta(before, STR("generation"))) &&
	       str_eq(offers_meta(now, STR("uid")), offers_meta(before, STR("uid")));
}

static bool offers_limits(struct str spec)
{
	return str_find(spec, STR("\"allowMultipleAllocations\"")) >= 0 ||
	       str_find(spec, STR("\"consumesCounters\"")) >= 0 ||
	       str_find(spec, STR("\"sharedCounters\"")) >= 0;
}

/* Returns the member of the spec, parsed, or NULL. */
static struct json *offers_member(struct str spec, struct str key, struct arena *a)
{
	struct json_cursor c = json_cursor_of(spec);
	enum json_cursor_type type;
	struct json *v = NULL;
	struct str raw;

	if (!json_cursor_find(&c, key) || !json_cursor_value(&c, &raw, &type))
		return NULL;
	if (type == JSON_CURSOR_STRING || type == JSON_CURSOR_ESCAPED)
		return json_make_str(a, json_cursor_text(raw, type, a));
	(void)json_parse(a, raw, NULL, &v, NULL);
	return v;
}

/* The device with the fields that limit its allocations; NULL if it has none. */
static struct json *offers_device(const struct json *device, struct arena *a)
{
	static const char *const fields[] = { "name", "allowMultipleAllocations", "capacity",
					      "consumesCounters" };
	struct json *to;

	if (!json_true_at(device, "allowMultipleAllocations") &&
	    json_count(json_getz(device, "consumesCounters")) == 0)
		return NULL;
	to = json_make_object(a);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const struct json *v = json_getz(device, fields[i]);

		if (v)
			json_setz(to, fields[i], json_alias(a, v));
	}
	return to;
}

static void offers_copy(struct json *spec, const char *key, struct str text, struct arena *a)
{
	struct json *v = offers_member(text, str_from(key), a);

	if (v)
		json_setz(spec, key, v);
}

static void offers_add_limits(struct json *spec, struct str text, struct arena *a)
{
	struct json *devices = json_need_array(a, spec, "devices");

	offers_copy(spec, "sharedCounters", text, a);
	JSON_FOREACH (v, offers_member(text, STR("devices"), a)) {
		struct json *device = offers_device(v, a);

		if (device)
			json_append(devices, device);
	}
}

static void offers_put(struct inventory *inv, struct str name, struct str text)
{
	CLEANUP(arena_release) struct arena a;
	char block[2048] UNZEROED;
	struct json *slice, *spec;

	arena_init_in(&a, SIZE_MAX, block, sizeof(block));
	slice = json_make_object(&a);
	json_put_str(&a, json_need_object(&a, slice, "metadata"), "name", name);
	spec = json_need_object(&a, slice, "spec");
	offers_copy(spec, "driver", text, &a);
	offers_copy(spec, "pool", text, &a);
	if (offers_limits(text))
		offers_add_limits(spec, text, &a);
	/* A slice that cannot be read counts as absent. */
	(void)inventory_put_slice(inv, slice, NULL);
}

static void offers_changed(void *arg, struct object *now, struct object *before)
{
	struct inventory *inv = arg;

	if (!now)
		inventory_remove_slice(inv, before->key);
	else if (!before || !offers_same(now, before))
		offers_put(inv, now->key, offers_spec(now));
}

static void offers_reset(void *arg)
{
	inventory_remove_slices(arg);
}

struct state_observer device_offers_observer(struct inventory *inv)
{
	return (struct state_observer){ .group = STR("resource.k8s.io"),
					.resource = STR("resourceslices"),
					.changed = offers_changed,
					.reset = offers_reset,
					.arg = inv };
}
