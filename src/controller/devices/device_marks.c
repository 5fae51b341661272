/*
 * Slices rarely change their order, so a device is first looked for at its old position.
 */
#include "controller/devices/device_marks.h"

#include "api/api_limits.h"
#include "base/core/map.h"
#include "base/json/json.h"

/* Before all times of a loop. */
static const int64_t never = INT64_MIN / 2;

void device_marks_init(struct device_marks *m, const struct json *status)
{
	vec_init(&m->v, REQUEST_WORK_MAX / sizeof(struct device_mark));
	JSON_FOREACH (device, json_getz(status, "devices")) {
		struct device_mark mark = {
			.name = hash_bytes(json_text_at(device, "name"), hash_process_seed()),
			.health = device_health_of_name(json_text_at(device, "health")),
		};

		for (size_t i = 0; i < ARRAY_SIZE(mark.failed_ms); i++)
			mark.failed_ms[i] = never;
		(void)vec_push(&m->v, mark);
	}
}

void device_marks_release(struct device_marks *m)
{
	vec_release(&m->v);
}

static const struct device_mark *device_marks_find(const struct device_marks *m, uint64_t name,
						   size_t at)
{
	if (at < m->v.n && m->v.v[at].name == name)
		return &m->v.v[at];
	for (size_t i = 0; i < m->v.n; i++)
		if (m->v.v[i].name == name)
			return &m->v.v[i];
	return NULL;
}

static bool device_marks_is_failure(enum device_health h)
{
	return h == DEVICE_UNHEALTHY || h == DEVICE_UNKNOWN;
}

/* Returns whether this failure is a flap. */
static bool device_mark_fail(struct device_mark *m, int64_t now_ms)
{
	size_t last = ARRAY_SIZE(m->failed_ms) - 1;
	bool flap = now_ms - m->failed_ms[last] <= DEVICE_MARKS_FLAP_MS;

	for (size_t i = last; i > 0; i--)
		m->failed_ms[i] = m->failed_ms[i - 1];
	m->failed_ms[0] = now_ms;
	return flap;
}

struct device_marks_changes device_marks_compare(struct device_marks *now,
						 const struct device_marks *before, int64_t now_ms)
{
	struct device_marks_changes changes = { 0 };

	for (size_t i = 0; i < now->v.n; i++) {
		struct device_mark *m = &now->v.v[i];
		const struct device_mark *old = device_marks_find(before, m->name, i);

		if (!old)
			continue;
		for (size_t t = 0; t < ARRAY_SIZE(m->failed_ms); t++)
			m->failed_ms[t] = old->failed_ms[t];
		if (old->health == m->health)
			continue;
		changes.to[m->health]++;
		if (device_marks_is_failure(m->health) && !device_marks_is_failure(old->health))
			changes.flaps += device_mark_fail(m, now_ms);
	}
	return changes;
}
