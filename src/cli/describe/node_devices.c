/*
 * The section "DRA Resources" of a node, in the layout of KEP-5677: a block for each pool.
 */
#include "cli/describe/devices.h"

void describe_device_state(struct describe *d, int level, const struct device_view_slice *s,
			   const struct json *device)
{
	const struct json *status = device_view_device(s, json_text_at(device, "name"));
	const struct json *left = json_getz(status, "availableCapacity");
	const struct json *share = json_getz(status, "largestShare");
	struct str reason = describe_clean(d, json_text_at(status, "stateReason"));

	if (!d->hidden) {
		describe_line(d, level, "Status:\t%.*s%s%.*s%s", STR_ARG(describe_state(d, status)),
			      reason.n > 0 ? " (" : "", STR_ARG(reason), reason.n > 0 ? ")" : "");
		describe_field(d, level, "Health", describe_fact_health(d, status));
		describe_field(d, level, "Allocated To", describe_holders(d, status));
	}
	describe_field(d, level, "Taints", describe_device_taints(d, s, device));
	if (json_count(json_getz(device, "attributes")) > 0)
		describe_member(d, level, json_getz(device, "attributes"));
	if (json_count(json_getz(device, "capacity")) > 0) {
		describe_line(d, level, "Capacity:");
		describe_values(d, level + 1, json_getz(device, "capacity"));
	}
	if (json_count(left) > 0)
		describe_member(d, level, left);
	if (json_count(share) > 0)
		describe_member(d, level, share);
}

static void describe_device(struct describe *d, const struct device_view_slice *s,
			    const struct json *device)
{
	describe_line(d, 2, "%.*s:", STR_ARG(describe_clean(d, json_text_at(device, "name"))));
	describe_device_state(d, 3, s, device);
}

/* `v` are the pool's slices on this node. */
static void describe_pool(struct describe *d, const struct device_pool *p,
			  const struct device_view_slice *v, size_t n)
{
	size_t devices = 0;

	describe_line(d, 1, "Driver:\t%.*s", STR_ARG(describe_clean(d, p->driver)));
	describe_line(d, 1, "Pool:\t%.*s", STR_ARG(describe_clean(d, p->name)));
	JSON_FOREACH (it, json_getz(p->status, "validationErrors"))
		describe_line(d, 1, "Validation Error:\t%.*s",
			      STR_ARG(describe_pool_message(d, json_str(it))));
	describe_summary(d, 1, v, n, describe_classes(d, v, n));
	for (size_t i = 0; i < n; i++)
		devices += json_count(json_getz(v[i].spec, "devices"));
	describe_line(d, 1, "Devices:%s", devices == 0 ? "\t<none>" : "");
	for (size_t i = 0; i < n; i++) {
		JSON_FOREACH (it, json_getz(v[i].spec, "devices"))
			describe_device(d, &v[i], it);
	}
}

/* Only current slices: a driver is about to remove those of older generations. */
static bool is_of(const struct device_view_slice *s, struct str node)
{
	return !s->older && str_eq(s->node, node);
}

static size_t count_of(const struct device_pool *p, struct str node)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		n += is_of(&p->slices[i], node);
	return n;
}

static struct device_view_slice *slices_of(struct describe *d, const struct device_pool *pools,
					   size_t n, struct str node, size_t *ret_n)
{
	struct device_view_slice *own;
	size_t count = 0, at = 0;

	for (size_t i = 0; i < n; i++)
		count += count_of(&pools[i], node);
	own = ARENA_ARRAY(d->arena, struct device_view_slice, count + 1);
	for (size_t i = 0; i < n && count > 0; i++) {
		for (size_t k = 0; k < pools[i].n; k++) {
			if (is_of(&pools[i].slices[k], node))
				own[at++] = pools[i].slices[k];
		}
	}
	*ret_n = count;
	return own;
}

void describe_node_devices(struct describe *d, const struct device_pool *pools, size_t n,
			   struct str node, struct str note)
{
	size_t count, at = 0;
	const struct device_view_slice *own = slices_of(d, pools, n, node, &count);

	if (count == 0 || d->hidden)
		return;
	describe_line(d, 0, "DRA Resources:");
	describe_origins(d, 1, own, count, note);
	for (size_t i = 0; i < n; i++) {
		size_t k = count_of(&pools[i], node);

		if (k > 0)
			describe_pool(d, &pools[i], own + at, k);
		at += k;
	}
}
