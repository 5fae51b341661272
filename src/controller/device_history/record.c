/*
 * A device whose last change was dropped is dropped as well. To trim, sizes are subtracted instead
 * of printing the object anew for each change.
 */
#include "controller/device_history/record.h"

#include "api/api_limits.h"
#include "base/core/map.h"
#include "base/json/json.h"

struct str device_record_name(struct str pool, struct arena *a)
{
	return str_from(arena_printf(a, "pool-%016llx%016llx",
				     (unsigned long long)hash_bytes(pool, 1),
				     (unsigned long long)hash_bytes(pool, 2)));
}

static struct json *device_record_changes(const struct json *device)
{
	return json_getz(device, "changes");
}

struct str device_record_last(const struct json *device, const char *field)
{
	struct str last = STR("");

	JSON_FOREACH (change, device_record_changes(device))
		if (str_eqz(json_text_at(change, "field"), field))
			last = json_text_at(change, "to");
	return last;
}

/* The last change led there, so this one is about the same event. */
static bool device_record_has(const struct json *device, const struct json *change)
{
	struct str to = json_text_at(change, "to");
	bool health = str_eqz(json_text_at(change, "field"), "health");

	return !str_eq(json_text_at(change, "from"), to) &&
	       str_eq(device_record_last(device, health ? "health" : "state"), to);
}

static struct json *device_record_need(struct json *devices, struct str name, struct arena *a)
{
	struct json *device = json_find(devices, "name", name);

	if (device || json_count(devices) >= DEVICE_RECORD_DEVICES_MAX)
		return device;
	device = json_make_object(a);
	json_put_str(a, device, "name", name);
	json_append(devices, device);
	return device;
}

static void device_record_drop_oldest(struct json *device, struct arena *a)
{
	(void)json_remove_at(device_record_changes(device), 0);
	json_put_i64(a, device, "omittedChanges", json_i64_at(device, "omittedChanges", 0) + 1);
}

void device_record_add(struct json *object, struct str device, struct json *change, struct arena *a)
{
	struct json *status = json_need_object(a, object, "status");
	struct json *d = device_record_need(json_need_array(a, status, "devices"), device, a);
	struct json *changes;

	if (!d || device_record_has(d, change))
		return;
	changes = json_need_array(a, d, "changes");
	json_append(changes, change);
	while (json_count(changes) > DEVICE_RECORD_CHANGES_MAX)
		device_record_drop_oldest(d, a);
	json_put_str(a, status, "lastChangeTime", json_text_at(change, "time"));
}

static size_t device_record_bytes(const struct json *v)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(2 * OBJECT_MAX);

	return json_print(&text, v, NULL) < 0 ? 2 * OBJECT_MAX : text.n;
}

static struct str device_record_oldest(const struct json *device)
{
	return json_text_at(json_first(device_record_changes(device)), "time");
}

/* Returns the device with most changes; of several, the one that changed longest ago. */
static struct json *device_record_fullest(const struct json *devices)
{
	struct json *fullest = NULL;
	size_t most = 0;

	JSON_FOREACH (d, devices) {
		size_t n = json_count(device_record_changes(d));

		if (!fullest || n > most ||
		    (n == most &&
		     str_cmp(device_record_oldest(d), device_record_oldest(fullest)) < 0)) {
			fullest = d;
			most = n;
		}
	}
	return fullest;
}

void device_record_trim(struct json *object, size_t max, struct arena *a)
{
	struct json *devices = json_getz(json_getz(object, "status"), "devices"), *d;
	size_t bytes = device_record_bytes(object), saved;

	while (bytes > max && (d = device_record_fullest(devices)) != NULL) {
		if (json_count(device_record_changes(d)) <= 1) {
			saved = device_record_bytes(d);
			(void)json_unlink(devices, d);
		} else {
			saved = device_record_bytes(json_first(device_record_changes(d)));
			device_record_drop_oldest(d, a);
		}
		bytes -= MIN(bytes, saved);
	}
}
