/*
 * A ResourceSlice as KEP-5677 lays it out: what its driver published, then what is free of it.
 * Attributes and capacities are shown as values, without the types that the API wraps them in.
 */
#include "cli/describe_devices.h"
#include "client/discovery.h"

/* What comes first, in this order; the devices are last. */
static const char *const order[] = { "driver",
				     "pool",
				     "nodeName",
				     "nodeSelector",
				     "allNodes",
				     "perDeviceNodeSelection",
				     "partitionTypeAttribute",
				     "sharedCounters" };

static bool is_ordered(struct str key)
{
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		if (str_eqz(key, order[i]))
			return true;
	}
	return str_eqz(key, "devices");
}

static void describe_spec(struct describe *d, const struct json *spec)
{
	const struct json *devices = json_getz(spec, "devices");

	describe_line(d, 0, "Spec:");
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		const struct json *member = json_getz(spec, order[i]);

		if (member)
			describe_member(d, 1, member);
	}
	JSON_FOREACH (it, spec) {
		if (!is_ordered(json_key(it)))
			describe_member(d, 1, it);
	}
	if (json_count(devices) > 0)
		describe_member(d, 1, devices);
	else
		describe_line(d, 1, "Devices:\t<none>");
}

void describe_slice_text(struct describe *d, const struct device_view_slice *s, struct str note,
			 const struct json *classes)
{
	const struct json *meta = json_getz(s->object, "metadata");
	struct str version = d->type ? resource_api_version(d->arena, &d->type->resource)
				     : json_text_at(s->object, "apiVersion");

	describe_line(d, 0, "Name:\t%.*s", STR_ARG(describe_clean(d, json_text_at(meta, "name"))));
	describe_line(d, 0, "Namespace:\t");
	describe_labels(d, "Labels", json_getz(meta, "labels"));
	describe_annotations(d);
	describe_line(d, 0, "API Version:\t%.*s", STR_ARG(version));
	describe_line(d, 0, "Kind:\tResourceSlice");
	describe_line(d, 0, "%s", "");
	describe_spec(d, s->spec);
	describe_line(d, 0, "%s", "");
	if (d->hidden)
		return;
	describe_slice_status(d, s, note, classes);
	describe_line(d, 0, "%s", "");
}

/* The slice in the view of all that is described; else alone. */
static int find_slice(struct describe *d, struct device_view *one,
		      const struct device_view_slice **ret_slice, struct error *err)
{
	struct str name = json_text_at(d->metadata, "name");
	struct device_view_query q = { .slice = name, .hidden = d->hidden };
	int r;

	for (size_t i = 0; d->view && i < d->view->n; i++) {
		const struct device_view_slice *s = &d->view->slices[i];

		*one = *d->view;
		*ret_slice = s;
		if (str_eq(json_text_at(json_getz(s->object, "metadata"), "name"), name))
			return 0;
	}
	r = device_view_load(d->kube, &q, one, err);
	*ret_slice = r == 0 ? &one->slices[0] : NULL;
	return r;
}

int describe_slice(struct describe *d, struct error *err)
{
	const struct device_view_slice *s;
	struct device_view view;
	int r = find_slice(d, &view, &s, err);

	if (r < 0)
		return r;
	describe_slice_text(d, s, view.note, describe_classes(d, s, 1));
	describe_events(d);
	return 0;
}
