/*
 * A pool of devices, assembled from its slices.
 */
#include "cli/describe/devices.h"

static void describe_conditions(struct describe *d, const struct device_pool *p)
{
	const struct json *list = json_getz(p->status, "conditions");
	const struct json *errors = json_getz(p->status, "validationErrors");

	describe_line(d, 0, "Conditions:%s", json_count(list) == 0 ? "\t<unknown>" : "");
	if (json_count(list) > 0)
		describe_head(d, "Type\tStatus\tReason\tMessage");
	JSON_FOREACH (it, list)
		describe_line(d, 1, "%.*s\t%.*s\t%.*s\t%.*s",
			      STR_ARG(describe_clean(d, json_text_at(it, "type"))),
			      STR_ARG(describe_clean(d, json_text_at(it, "status"))),
			      STR_ARG(describe_clean(d, json_text_at(it, "reason"))),
			      STR_ARG(describe_pool_message(d, json_text_at(it, "message"))));
	if (json_count(errors) > 0)
		describe_line(d, 0, "Validation Errors:");
	JSON_FOREACH (it, errors)
		describe_line(d, 1, "%.*s", STR_ARG(describe_pool_message(d, json_str(it))));
}

static void device_line(struct describe *d, const struct device_view_slice *s,
			const struct json *device)
{
	struct str name = json_text_at(device, "name"), state = STR("");
	const struct json *status = device_view_device(s, name);
	struct str holders = describe_holders(d, status);
	struct str taints = describe_device_taints(d, s, device);
	struct device_fact f = device_view_fact(s, name);
	bool taken = json_count(json_getz(status, "allocations")) + f.omitted > 0;

	if (holders.n == 0)
		holders = taken ? STR("<hidden>") : status ? STR("<none>") : STR("<unknown>");
	if (!d->hidden)
		state = str_from(arena_printf(
			d->arena, "%.*s\t%.*s\t%.*s\t%.*s\t", STR_ARG(describe_state(d, status)),
			STR_ARG(f.reason.n > 0 ? describe_clean(d, f.reason) : STR("<none>")),
			STR_ARG(describe_clean(d, device_fact_health_name(&f))), STR_ARG(holders)));
	describe_line(d, 1, "%.*s\t%.*s\t%.*s%.*s", STR_ARG(describe_clean(d, s->name)),
		      STR_ARG(describe_clean(d, name)), STR_ARG(state),
		      STR_ARG(taints.n > 0 ? taints : STR("<none>")));
}

static void describe_devices(struct describe *d, const struct device_pool *p)
{
	describe_line(d, 0, "Devices:%s", p->counts.devices == 0 ? "\t<none>" : "");
	if (p->counts.devices > 0)
		describe_head(
			d, d->hidden
				   ? "Slice\tDevice\tTaints"
				   : "Slice\tDevice\tState\tReason\tHealth\tAllocated To\tTaints");
	for (size_t i = 0; i < p->n; i++) {
		const struct device_view_slice *s = &p->slices[i];

		JSON_FOREACH (it, json_getz(s->spec, "devices")) {
			if (!s->older)
				device_line(d, s, it);
		}
	}
}

static void describe_older(struct describe *d, const struct device_pool *p)
{
	const char *title = "Older Slices:";

	for (size_t i = 0; i < p->n; i++) {
		const struct device_view_slice *s = &p->slices[i];

		if (!s->older)
			continue;
		describe_line(d, 0, "%s\t%.*s (generation %lld)", title,
			      STR_ARG(describe_clean(d, s->name)),
			      (long long)json_i64_at(json_getz(s->spec, "pool"), "generation", 0));
		title = "";
	}
}

void describe_pool_text(struct describe *d, const struct device_pool *p, struct str note,
			const struct json *classes)
{
	describe_line(d, 0, "Name:\t%.*s", STR_ARG(describe_clean(d, p->name)));
	describe_line(d, 0, "Driver:\t%.*s", STR_ARG(describe_clean(d, p->driver)));
	describe_line(d, 0, "Node:\t%.*s", STR_ARG(describe_clean(d, p->node)));
	describe_line(d, 0, "Generation:\t%lld", (long long)p->generation);
	describe_line(d, 0, "Slices:\t%zu of %lld", p->observed, (long long)p->expected);
	describe_older(d, p);
	if (!d->hidden) {
		describe_origins(d, 0, p->slices, p->n, note);
		describe_conditions(d, p);
		describe_summary(d, 0, p->slices, p->n, classes);
	}
	describe_devices(d, p);
}
