/* The section "DRA Resources" of a node, as KEP-5677 lays it out: a block for each pool. */
#include "cli/describe_devices.h"

static void describe_device(struct describe *d, const struct device_view_slice *s,
			    const struct json *device)
{
	struct str name = json_text_at(device, "name");
	const struct json *status = device_view_device(s, name);
	const struct json *left = json_getz(status, "availableCapacity");
	struct str reason = describe_clean(d, json_text_at(status, "stateReason"));
	struct str taints = describe_device_taints(d, device);

	describe_line(d, 2, "%.*s:", STR_ARG(describe_clean(d, name)));
	describe_line(d, 3, "Status:\t%.*s%s%.*s%s", STR_ARG(describe_state(d, status)),
		      reason.n > 0 ? " (" : "", STR_ARG(reason), reason.n > 0 ? ")" : "");
	describe_field(d, 3, "Allocated To", describe_holders(d, status));
	describe_field(d, 3, "Taints", taints);
	if (json_count(json_getz(device, "attributes")) > 0)
		describe_member(d, 3, json_getz(device, "attributes"));
	if (json_count(json_getz(device, "capacity")) > 0) {
		describe_line(d, 3, "Capacity:");
		describe_values(d, 4, json_getz(device, "capacity"));
	}
	if (json_count(left) > 0)
		describe_member(d, 3, left);
}

static void describe_pool(struct describe *d, const struct device_pool *p,
			  const struct json *classes)
{
	describe_line(d, 1, "Driver:\t%.*s", STR_ARG(describe_clean(d, p->driver)));
	describe_line(d, 1, "Pool:\t%.*s", STR_ARG(describe_clean(d, p->name)));
	JSON_FOREACH (it, json_getz(p->status, "validationErrors"))
		describe_line(d, 1, "Validation Error:\t%.*s",
			      STR_ARG(describe_pool_message(d, json_str(it))));
	describe_summary(d, 1, p->slices, p->n, classes);
	describe_line(d, 1, "Devices:%s", p->counts.total == 0 ? "\t<none>" : "");
	for (size_t i = 0; i < p->n; i++) {
		const struct device_view_slice *s = &p->slices[i];

		JSON_FOREACH (it, json_getz(s->spec, "devices")) {
			if (!s->older)
				describe_device(d, s, it);
		}
	}
}

/* Only what counts: a driver is about to take slices of older generations away. */
static struct device_view of_node(struct describe *d, const struct device_view *v, struct str node)
{
	struct device_view own = { .note = v->note };

	own.slices = ARENA_ARRAY(d->arena, struct device_view_slice, v->n + 1);
	for (size_t i = 0; i < v->n; i++) {
		if (!v->slices[i].older &&
		    str_eq(json_text_at(v->slices[i].spec, "nodeName"), node))
			own.slices[own.n++] = v->slices[i];
	}
	return own;
}

void describe_node_devices(struct describe *d, const struct device_view *v, struct str node,
			   const struct json *classes)
{
	struct device_view own = of_node(d, v, node);
	struct device_pool *pools;
	size_t n = device_pools_make(d->arena, &own, &pools);

	if (n == 0 || d->hidden)
		return;
	describe_line(d, 0, "DRA Resources:");
	describe_origins(d, 1, own.slices, own.n, own.note);
	for (size_t i = 0; i < n; i++)
		describe_pool(d, &pools[i], classes);
}
