/*
 * One device: whose it is, then what descriptions of nodes show of it, then the rest of its entry
 * in the slice.
 */
#include "cli/describe/devices.h"

/* Members that are shown elsewhere. */
static bool is_shown(struct str key)
{
	static const char *const keys[] = { "name", "attributes", "capacity", "taints" };

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (str_eqz(key, keys[i]))
			return true;
	}
	return false;
}

void describe_device_text(struct describe *d, const struct device_pool *p,
			  const struct device_view_slice *s, const struct json *device,
			  struct str note)
{
	bool each = json_true_at(s->spec, "perDeviceNodeSelection");

	describe_line(d, 0, "Name:\t%.*s",
		      STR_ARG(describe_clean(d, json_text_at(device, "name"))));
	describe_line(d, 0, "Driver:\t%.*s", STR_ARG(describe_clean(d, p->driver)));
	describe_line(d, 0, "Pool:\t%.*s", STR_ARG(describe_clean(d, p->name)));
	describe_line(d, 0, "Node:\t%.*s",
		      STR_ARG(describe_clean(d, device_view_node(each ? device : s->spec))));
	describe_line(d, 0, "Slice:\t%.*s", STR_ARG(describe_clean(d, s->name)));
	if (!d->hidden)
		describe_origins(d, 0, s, 1, note);
	describe_device_state(d, 0, s, device);
	JSON_FOREACH (it, device) {
		if (!is_shown(json_key(it)))
			describe_member(d, 0, it);
	}
}
