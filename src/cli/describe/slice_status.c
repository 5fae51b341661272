/*
 * The status of a slice, with the labels of KEP-5677.
 */
#include "cli/describe/devices.h"
#include "cli/devices/claim_sight.h"

static void describe_allocation(struct describe *d, const struct json *allocation)
{
	describe_line(d, 3, "Claim Namespace:\t%.*s",
		      STR_ARG(describe_clean(d, json_text_at(allocation, "claimNamespace"))));
	describe_line(d, 3, "Claim Name:\t%.*s",
		      STR_ARG(describe_clean(d, json_text_at(allocation, "claimName"))));
	describe_line(d, 3, "Claim UID:\t%.*s",
		      STR_ARG(describe_clean(d, json_text_at(allocation, "claimUID"))));
	describe_field(d, 3, "Request", describe_clean(d, json_text_at(allocation, "request")));
	if (json_count(json_getz(allocation, "capacity")) > 0)
		describe_member(d, 3, json_getz(allocation, "capacity"));
}

static void describe_allocations(struct describe *d, const struct json *device)
{
	const struct json *list = json_getz(device, "allocations");
	size_t shown, hidden = describe_hidden_claims(d, device, &shown);
	size_t omitted = device_fact_read(device).omitted;

	if (shown == 0)
		return;
	describe_line(d, 2, "Allocations:");
	JSON_FOREACH (it, list) {
		if (claim_sight_may(d->sight, json_text_at(it, "claimNamespace")))
			describe_allocation(d, it);
	}
	if (hidden > 0)
		describe_line(d, 3, "(%zu more claim%s in namespaces that you may not read)",
			      hidden, hidden == 1 ? "" : "s");
	if (omitted > 0)
		describe_line(d, 3, "(%zu more allocation%s that the status leaves out)", omitted,
			      omitted == 1 ? "" : "s");
}

static void describe_device(struct describe *d, const struct json *device)
{
	static const char *const capacities[] = { "capacity", "availableCapacity", "largestShare" };

	describe_line(d, 2, "Name:\t%.*s",
		      STR_ARG(describe_clean(d, json_text_at(device, "name"))));
	describe_line(d, 2, "State:\t%.*s", STR_ARG(describe_state(d, device)));
	describe_field(d, 2, "State Reason",
		       describe_clean(d, json_text_at(device, "stateReason")));
	describe_field(d, 2, "Health", describe_fact_health(d, device));
	describe_field(d, 2, "Health Source",
		       describe_clean(d, json_text_at(device, "healthSource")));
	describe_allocations(d, device);
	for (size_t i = 0; i < ARRAY_SIZE(capacities); i++) {
		const struct json *member = json_getz(device, capacities[i]);

		if (json_count(member) > 0)
			describe_member(d, 2, member);
	}
}

static void describe_condition(struct describe *d, const struct json *condition, bool timed)
{
	struct str message = json_text_at(condition, "message");

	describe_line(d, 3, "Type:\t%.*s",
		      STR_ARG(describe_clean(d, json_text_at(condition, "type"))));
	describe_line(d, 3, "Status:\t%.*s",
		      STR_ARG(describe_clean(d, json_text_at(condition, "status"))));
	if (timed)
		describe_field(d, 3, "Last Transition Time",
			       describe_clean(d, json_text_at(condition, "lastTransitionTime")));
	describe_field(d, 3, "Reason", describe_clean(d, json_text_at(condition, "reason")));
	describe_field(d, 3, "Message", describe_pool_message(d, message));
}

static void describe_pool_status(struct describe *d, const struct device_view_slice *s)
{
	const struct json *pool = json_getz(s->status, "poolStatus");
	const struct json *errors = json_getz(pool, "validationErrors");

	if (!pool)
		return;
	describe_line(d, 1, "Pool Status:");
	if (json_count(json_getz(pool, "conditions")) > 0)
		describe_line(d, 2, "Conditions:");
	/* The transition times of a computed status are unknown. */
	JSON_FOREACH (it, json_getz(pool, "conditions"))
		describe_condition(d, it, s->source != DEVICE_VIEW_COMPUTED);
	if (json_count(errors) > 0)
		describe_line(d, 2, "Validation Errors:");
	JSON_FOREACH (it, errors)
		describe_line(d, 3, "%.*s", STR_ARG(describe_pool_message(d, json_str(it))));
	describe_line(d, 2, "Observed Slice Count:\t%lld",
		      (long long)json_i64_at(pool, "observedSliceCount", 0));
	describe_line(d, 2, "Expected Slice Count:\t%lld",
		      (long long)json_i64_at(pool, "expectedSliceCount", 0));
}

void describe_slice_status(struct describe *d, const struct device_view_slice *s, struct str note,
			   const struct json *classes)
{
	if (s->older) {
		describe_line(d, 0, "Status:\t<none>");
		describe_line(d, 1,
			      "(the pool has a newer generation: devices of this slice are "
			      "not given out any more)");
		return;
	}
	if (!s->status) {
		describe_line(d, 0, "Status:\t<unknown>");
		describe_origins(d, 1, s, 1, note);
		return;
	}
	describe_line(d, 0, "Status:");
	describe_origins(d, 1, s, 1, note);
	if (s->source != DEVICE_VIEW_COMPUTED)
		describe_line(d, 1, "Observed Generation:\t%lld",
			      (long long)json_i64_at(s->status, "observedGeneration", 0));
	describe_summary(d, 1, s, 1, classes);
	if (json_count(json_getz(s->status, "devices")) > 0)
		describe_line(d, 1, "Devices:");
	JSON_FOREACH (it, json_getz(s->status, "devices"))
		describe_device(d, it);
	describe_pool_status(d, s);
}
