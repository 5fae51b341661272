/*
 * A ResourceSlice in the layout of KEP-5677: what its driver published, then its availability.
 * Attributes and capacities are shown as values, without the API's type wrappers.
 */
#include "cli/describe/devices.h"
#include "client/api/discovery.h"

/* These come first, in this order; the devices come last. */
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

static void describe_top(struct describe *d, const struct json *object, const char *kind)
{
	const struct json *meta = json_getz(object, "metadata");
	struct str version = d->type ? resource_api_version(d->arena, &d->type->resource)
				     : json_text_at(object, "apiVersion");

	describe_line(d, 0, "Name:\t%.*s", STR_ARG(describe_clean(d, json_text_at(meta, "name"))));
	describe_line(d, 0, "Namespace:\t");
	describe_labels(d, "Labels", json_getz(meta, "labels"));
	describe_annotations(d);
	describe_line(d, 0, "API Version:\t%.*s", STR_ARG(version));
	describe_line(d, 0, "Kind:\t%s", kind);
	describe_line(d, 0, "%s", "");
}

void describe_slice_text(struct describe *d, const struct device_view_slice *s, struct str note,
			 const struct json *classes)
{
	describe_top(d, s->object, "ResourceSlice");
	describe_spec(d, s->spec);
	describe_line(d, 0, "%s", "");
	if (d->hidden)
		return;
	describe_slice_status(d, s, note, classes);
	describe_line(d, 0, "%s", "");
}

/* A user who may get the slice but not list others sees the slice's own content. */
int describe_slice(struct describe *d, struct error *err)
{
	struct json *one = json_make_array(d->arena);
	const struct device_view_slice *s = NULL;
	struct device_view alone;
	struct str note = d->view ? d->view->note : STR_NULL;

	if (d->unread && d->unread->code != ERR_FORBIDDEN)
		return error_copy(err, d->unread);
	if (d->unread)
		note = str_from(
			arena_printf(d->arena, "what is free is unknown: %s", d->unread->msg));
	if (d->view)
		s = device_view_find(d->view, json_text_at(d->metadata, "name"));
	if (!s) {
		json_append(one, (struct json *)d->object);
		device_view_make(d->arena, one, &alone);
		s = &alone.slices[0];
	}
	describe_slice_text(d, s, note, describe_classes(d, s, 1));
	describe_events(d);
	return 0;
}

/* Shown like the status of its slice, which is read for the number of devices. */
int describe_slice_object(struct describe *d, struct error *err UNUSED)
{
	struct str name = json_text_at(d->metadata, "name");
	const struct device_view_slice *of = d->view ? device_view_find(d->view, name) : NULL;
	struct device_view_slice s = { .object = d->object, .name = name };

	if (of && device_view_is_of(d->metadata, json_getz(of->object, "metadata")))
		s = *of;
	describe_top(d, d->object, "ResourceSliceStatus");
	if (!d->hidden) {
		device_view_take(&s, d->status, DEVICE_VIEW_OBJECT);
		describe_slice_status(d, &s, STR_NULL, describe_classes(d, &s, 1));
		describe_line(d, 0, "%s", "");
	}
	describe_events(d);
	return 0;
}
