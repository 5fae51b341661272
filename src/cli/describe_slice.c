/* A ResourceSlice: a driver's devices, what they are, and what is wrong with them. */
#include "cli/describe.h"

/* {"string":"x"}, {"int":1}: the one member's value. {"value":"1Gi"} of a capacity. */
static struct str only_value(struct describe *d, const struct json *v)
{
	return describe_value(d, json_first(v));
}

static struct str joined(struct describe *d, const struct json *object)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * 1024);
	size_t n;
	const struct json **v = describe_sorted(d, object, &n);

	for (size_t i = 0; i < n; i++)
		(void)buf_printf(&text, "%s%.*s=%.*s", i > 0 ? "," : "", STR_ARG(json_key(v[i])),
				 STR_ARG(only_value(d, v[i])));
	return n > 0 ? arena_str(d->arena, buf_str(&text)) : STR("<none>");
}

static struct str taints_of(struct describe *d, const struct json *device)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * 1024);

	JSON_FOREACH (it, json_getz(device, "taints")) {
		struct str value = json_text_at(it, "value");

		(void)buf_printf(&text, "%s%.*s%s%.*s:%.*s", text.n > 0 ? "," : "",
				 STR_ARG(json_text_at(it, "key")), value.n > 0 ? "=" : "",
				 STR_ARG(value), STR_ARG(json_text_at(it, "effect")));
	}
	return text.n > 0 ? arena_str(d->arena, buf_str(&text)) : STR("<none>");
}

static void describe_where(struct describe *d)
{
	struct str node = json_text_at(d->spec, "nodeName");

	if (node.n > 0)
		describe_field(d, 0, "Node", node);
	else if (json_true_at(d->spec, "allNodes"))
		describe_line(d, 0, "Node:\t<all>");
	else if (json_true_at(d->spec, "perDeviceNodeSelection"))
		describe_line(d, 0, "Node:\t<each device has its own>");
	else
		describe_field_or_none(d, 0, "Node Selector",
				       describe_value(d, json_getz(d->spec, "nodeSelector")));
}

int describe_slice(struct describe *d, struct error *err UNUSED)
{
	const struct json *pool = json_getz(d->spec, "pool");
	const struct json *devices = json_getz(d->spec, "devices");

	describe_line(d, 0, "Name:\t%.*s", STR_ARG(json_text_at(d->metadata, "name")));
	describe_labels(d, "Labels", json_getz(d->metadata, "labels"));
	describe_annotations(d);
	describe_field(d, 0, "CreationTimestamp",
		       describe_time(d, json_text_at(d->metadata, "creationTimestamp")));
	describe_field(d, 0, "Driver", json_text_at(d->spec, "driver"));
	describe_line(d, 0, "Pool:\t%.*s", STR_ARG(json_text_at(pool, "name")));
	describe_field(d, 0, "Pool Generation", describe_value(d, json_getz(pool, "generation")));
	describe_field(d, 0, "Pool Slices",
		       describe_value(d, json_getz(pool, "resourceSliceCount")));
	describe_where(d);
	describe_line(d, 0, "Devices:%s", json_count(devices) == 0 ? "\t<none>" : "");
	if (json_count(devices) > 0)
		describe_head(d, "Name\tTaints\tCapacity\tAttributes");
	JSON_FOREACH (it, devices)
		describe_line(d, 1, "%.*s\t%.*s\t%.*s\t%.*s", STR_ARG(json_text_at(it, "name")),
			      STR_ARG(taints_of(d, it)),
			      STR_ARG(joined(d, json_getz(it, "capacity"))),
			      STR_ARG(joined(d, json_getz(it, "attributes"))));
	describe_events(d);
	return 0;
}
