/*
 * A sight names only the first holder of a shared device. If only the holders of such a device
 * change, that is no change: claims come and go there all the time.
 */
#include "controller/device_history/sight.h"

#include "base/json/json.h"
#include "dra/availability/device_health.h"
#include "dra/availability/device_state.h"

static struct str device_sight_holder(const struct json *device, struct arena *a)
{
	const struct json *all = json_getz(device, "allocations"), *first = json_first(all);
	int64_t more = (int64_t)json_count(all) + json_i64_at(device, "omittedAllocations", 0) - 1;
	struct str ns = json_text_at(first, "claimNamespace"),
		   name = json_text_at(first, "claimName");

	if (!first)
		return STR("");
	if (more <= 0)
		return str_from(arena_printf(a, "%.*s/%.*s", STR_ARG(ns), STR_ARG(name)));
	return str_from(
		arena_printf(a, "%.*s/%.*s (+%lld)", STR_ARG(ns), STR_ARG(name), (long long)more));
}

struct device_sight device_sight_read(const struct json *device, struct arena *a)
{
	struct str health = json_text_at(device, "health");

	return (struct device_sight){
		.name = json_text_at(device, "name"),
		.state = json_text_at(device, "state"),
		.reason = str_cut(json_text_at(device, "stateReason"), DEVICE_SIGHT_TEXT_MAX),
		.health = health.n > 0 ? health : str_from(device_health_name(DEVICE_NOT_REPORTED)),
		.message = str_cut(json_text_at(device, "healthMessage"), DEVICE_SIGHT_TEXT_MAX),
		.holder = device_sight_holder(device, a),
	};
}

static bool device_sight_held_whole(const struct device_sight *s)
{
	return str_eqz(s->state, device_state_name(DEVICE_ALLOCATED));
}

static bool device_sight_is_changed(const struct device_sight *before,
				    const struct device_sight *after)
{
	if (before->state.n == 0)
		return false;
	return !str_eq(before->state, after->state) || !str_eq(before->reason, after->reason) ||
	       (device_sight_held_whole(after) && !str_eq(before->holder, after->holder));
}

static bool device_sight_is_well(struct str health)
{
	return str_eqz(health, device_health_name(DEVICE_HEALTHY)) ||
	       str_eqz(health, device_health_name(DEVICE_NOT_REPORTED));
}

static bool device_sight_is_ill(const struct device_sight *before, const struct device_sight *after)
{
	if (before->health.n == 0 || str_eq(before->health, after->health))
		return false;
	return before->unsettled || !device_sight_is_well(before->health) ||
	       !device_sight_is_well(after->health);
}

size_t device_sight_compare(const struct device_sight *before, const struct device_sight *after,
			    struct device_change ret_changes[static DEVICE_SIGHT_CHANGES_MAX])
{
	struct str holder = after->holder.n > 0 ? after->holder : before->holder;
	size_t n = 0;

	if (device_sight_is_ill(before, after))
		ret_changes[n++] = (struct device_change){ .device = after->name,
							   .field = "health",
							   .from = before->health,
							   .to = after->health,
							   .message = after->message,
							   .holder = holder };
	if (device_sight_is_changed(before, after))
		ret_changes[n++] = (struct device_change){ .device = after->name,
							   .field = "state",
							   .from = before->state,
							   .to = after->state,
							   .reason = after->reason,
							   .holder = holder };
	return n;
}
