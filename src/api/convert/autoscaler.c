/*
 * Autoscalers are stored as autoscaling/v2. Version 1 has one target, the CPU utilization. It keeps
 * everything else as JSON in annotations, in its own form with flat metrics. Clients can write
 * anything into an annotation, so its content is used only if it fits the type.
 */
#include "api/convert/convert.h"

#include "api/codec/decode.h"
#include "api/schema/schema.h"
#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/json/json.h"

#define METRICS    "autoscaling.alpha.kubernetes.io/metrics"
#define CURRENT    "autoscaling.alpha.kubernetes.io/current-metrics"
#define CONDITIONS "autoscaling.alpha.kubernetes.io/conditions"
#define BEHAVIOR   "autoscaling.alpha.kubernetes.io/behavior"

#define TYPE(name) STR("io.k8s.api.autoscaling.v2." name)

enum {
	TEXT_MAX = 256 * KIB, /* of an annotation */
	DEFAULT_PERCENT = 80, /* CPU target, if none is set */
};

/* --- metrics, flat and nested -------------------- */

enum side { SPEC, STATUS };

/* Where a nested metric has a member: in itself, in METRIC, or in "target" or "current". */
enum place { HERE, METRIC, MEASURE };

/* A member of a flat metric, for spec and status, and its place in a nested metric. */
struct member {
	const char *source, *flat[2];
	enum place place;
	const char *name;
};

static const struct member members[] = {
	{ "resource", { "name", "name" }, HERE, "name" },
	{ "resource",
	  { "targetAverageUtilization", "currentAverageUtilization" },
	  MEASURE,
	  "averageUtilization" },
	{ "resource", { "targetAverageValue", "currentAverageValue" }, MEASURE, "averageValue" },
	{ "containerResource", { "name", "name" }, HERE, "name" },
	{ "containerResource", { "container", "container" }, HERE, "container" },
	{ "containerResource",
	  { "targetAverageUtilization", "currentAverageUtilization" },
	  MEASURE,
	  "averageUtilization" },
	{ "containerResource",
	  { "targetAverageValue", "currentAverageValue" },
	  MEASURE,
	  "averageValue" },
	{ "pods", { "metricName", "metricName" }, METRIC, "name" },
	{ "pods", { "selector", "selector" }, METRIC, "selector" },
	{ "pods", { "targetAverageValue", "currentAverageValue" }, MEASURE, "averageValue" },
	{ "object", { "target", "target" }, HERE, "describedObject" },
	{ "object", { "metricName", "metricName" }, METRIC, "name" },
	{ "object", { "selector", "selector" }, METRIC, "selector" },
	{ "object", { "targetValue", "currentValue" }, MEASURE, "value" },
	{ "object", { "averageValue", "averageValue" }, MEASURE, "averageValue" },
	{ "external", { "metricName", "metricName" }, METRIC, "name" },
	{ "external", { "metricSelector", "metricSelector" }, METRIC, "selector" },
	{ "external", { "targetValue", "currentValue" }, MEASURE, "value" },
	{ "external", { "targetAverageValue", "currentAverageValue" }, MEASURE, "averageValue" },
};

static const char *parent_name(enum place place, enum side side)
{
	if (place == METRIC)
		return "metric";
	return side == SPEC ? "target" : "current";
}

static struct json *autoscaler_copy_of(struct arena *a, const struct json *v)
{
	struct json *copy = NULL;

	return json_copy(a, v, &copy, NULL) < 0 ? NULL : copy;
}

static void put_copy(struct arena *a, struct json *object, const char *name, const struct json *v)
{
	struct json *copy = v ? autoscaler_copy_of(a, v) : NULL;

	if (copy)
		json_setz(object, name, copy);
}

static struct json *flattened(struct arena *a, const struct json *metric, enum side side)
{
	struct json *flat = json_make_object(a);

	put_copy(a, flat, "type", json_getz(metric, "type"));
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		const struct member *m = &members[i];
		const struct json *source = json_getz(metric, m->source), *in = source;

		if (m->place != HERE)
			in = json_getz(source, parent_name(m->place, side));
		if (json_getz(in, m->name))
			put_copy(a, json_need_object(a, flat, m->source), m->flat[side],
				 json_getz(in, m->name));
	}
	return flat;
}

/* Version 2 names the type of a target; version 1 has a separate member for each type. */
static void put_target_types(struct arena *a, struct json *metric)
{
	static const struct {
		const char *name, *type;
	} types[] = { { "averageUtilization", "Utilization" },
		      { "averageValue", "AverageValue" },
		      { "value", "Value" } };

	JSON_FOREACH (source, metric) {
		struct json *target = json_getz(source, "target");

		for (size_t i = ARRAY_SIZE(types); i-- > 0;)
			if (json_getz(target, types[i].name))
				json_put_str(a, target, "type", str_from(types[i].type));
	}
}

static struct json *nested(struct arena *a, const struct json *flat, enum side side)
{
	struct json *metric = json_make_object(a);

	put_copy(a, metric, "type", json_getz(flat, "type"));
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		const struct member *m = &members[i];
		const struct json *v = json_getz(json_getz(flat, m->source), m->flat[side]);
		struct json *in;

		if (!v)
			continue;
		in = json_need_object(a, metric, m->source);
		if (m->place != HERE)
			in = json_need_object(a, in, parent_name(m->place, side));
		put_copy(a, in, m->name, v);
	}
	if (side == SPEC)
		put_target_types(a, metric);
	return metric;
}

/* --- annotations -------------------- */

static void put_annotation(struct arena *a, struct json *object, const char *name,
			   const struct json *value)
{
	struct json *meta = json_need_object(a, object, "metadata");
	struct buf text = BUF_INIT(TEXT_MAX);

	if (json_print(&text, value, NULL) == 0)
		json_put_str(a, json_need_object(a, meta, "annotations"), name,
			     arena_str(a, buf_str(&text)));
	buf_release(&text);
}

/* Returns the content of an annotation; NULL if it is missing or not of this type. */
static struct json *annotation(struct arena *a, const struct json *object, const char *name,
			       enum json_type type)
{
	const struct json *all = json_getz(json_getz(object, "metadata"), "annotations");
	struct str text = json_text_at(all, name);
	struct json *v = NULL;

	if (text.n == 0 || text.n > TEXT_MAX || json_parse(a, text, NULL, &v, NULL) < 0)
		return NULL;
	return json_is(v, type) ? v : NULL;
}

static void drop_annotations(struct json *object)
{
	static const char *const names[] = { METRICS, CURRENT, CONDITIONS, BEHAVIOR };
	struct json *meta = json_getz(object, "metadata");
	struct json *all = json_getz(meta, "annotations");

	if (!json_is(all, JSON_OBJECT))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		(void)json_remove(all, str_from(names[i]));
	if (json_count(all) == 0)
		(void)json_remove(meta, STR("annotations"));
}

static bool autoscaler_fits(struct arena *a, struct json *v, struct str type)
{
	const struct schema_type *t = schema_type_find(type);

	return json_is(v, JSON_OBJECT) && t && decode_fit(a, v, t, NULL, NULL) == 0;
}

/* --- to version 2 -------------------- */

static struct json *processor(struct arena *a, enum side side, int64_t percent)
{
	struct json *metric = json_make_object(a), *source, *measure;

	json_put_str(a, metric, "type", STR("Resource"));
	source = json_need_object(a, metric, "resource");
	json_put_str(a, source, "name", STR("cpu"));
	measure = json_need_object(a, source, parent_name(MEASURE, side));
	if (side == SPEC)
		json_put_str(a, measure, "type", STR("Utilization"));
	json_put_i64(a, measure, "averageUtilization", percent);
	return metric;
}

/* Returns the metrics of an annotation that fit. */
static struct json *told_metrics(struct arena *a, const struct json *object, enum side side)
{
	struct json *list = json_make_array(a);

	JSON_FOREACH (flat, annotation(a, object, side == SPEC ? METRICS : CURRENT, JSON_ARRAY)) {
		struct json *metric = nested(a, flat, side);

		if (json_text_at(flat, "type").n &&
		    autoscaler_fits(a, metric,
				    side == SPEC ? TYPE("MetricSpec") : TYPE("MetricStatus")))
			json_append(list, metric);
	}
	return list;
}

static void take_spec(struct arena *a, struct json *object)
{
	struct json *spec = json_need_object(a, object, "spec");
	struct json *behavior = annotation(a, object, BEHAVIOR, JSON_OBJECT);
	struct json *metrics = told_metrics(a, object, SPEC);
	int64_t percent = DEFAULT_PERCENT;
	bool given = json_i64(json_getz(spec, "targetCPUUtilizationPercentage"), &percent);

	if (given || json_count(metrics) == 0)
		json_append(metrics, processor(a, SPEC, percent));
	(void)json_remove(spec, STR("targetCPUUtilizationPercentage"));
	json_setz(spec, "metrics", metrics);
	if (behavior && autoscaler_fits(a, behavior, TYPE("HorizontalPodAutoscalerBehavior")) &&
	    json_count(behavior))
		json_setz(spec, "behavior", behavior);
}

static void take_status(struct arena *a, struct json *object)
{
	struct json *status = json_getz(object, "status"), *list = json_make_array(a);
	struct json *metrics = told_metrics(a, object, STATUS);
	int64_t n;

	if (!json_is(status, JSON_OBJECT))
		return;
	if (json_i64(json_getz(status, "currentCPUUtilizationPercentage"), &n) &&
	    json_count(metrics) == 0)
		json_append(metrics, processor(a, STATUS, n));
	(void)json_remove(status, STR("currentCPUUtilizationPercentage"));
	if (json_i64(json_getz(status, "currentReplicas"), &n) && n == 0)
		(void)json_remove(status, STR("currentReplicas"));
	if (json_count(metrics))
		json_setz(status, "currentMetrics", metrics);
	JSON_FOREACH_SAFE (c, annotation(a, object, CONDITIONS, JSON_ARRAY))
		if (autoscaler_fits(a, c, TYPE("HorizontalPodAutoscalerCondition")))
			json_append(list, autoscaler_copy_of(a, c));
	if (json_count(list))
		json_setz(status, "conditions", list);
}

void convert_autoscaler_to_v2(struct arena *a, struct json *object)
{
	take_spec(a, object);
	take_status(a, object);
	drop_annotations(object);
}

/* --- to version 1 -------------------- */

/* Returns the percentage of a CPU utilization metric; NULL for other metrics. */
static const struct json *percentage(const struct json *metric, enum side side)
{
	const struct json *source = json_getz(metric, "resource");

	if (!str_eqz(json_text_at(metric, "type"), "Resource") ||
	    !str_eqz(json_text_at(source, "name"), "cpu"))
		return NULL;
	return json_getz(json_getz(source, parent_name(MEASURE, side)), "averageUtilization");
}

static void tell_spec(struct arena *a, struct json *object)
{
	struct json *spec = json_need_object(a, object, "spec"), *others = json_make_array(a);
	const struct json *behavior = json_getz(spec, "behavior");

	JSON_FOREACH (metric, json_getz(spec, "metrics")) {
		const struct json *percent = percentage(metric, SPEC);

		if (!percent)
			json_append(others, flattened(a, metric, SPEC));
		else if (!json_getz(spec, "targetCPUUtilizationPercentage"))
			put_copy(a, spec, "targetCPUUtilizationPercentage", percent);
	}
	if (json_count(others))
		put_annotation(a, object, METRICS, others);
	if (behavior)
		put_annotation(a, object, BEHAVIOR, behavior);
	(void)json_remove(spec, STR("metrics"));
	(void)json_remove(spec, STR("behavior"));
}

static void tell_status(struct arena *a, struct json *object)
{
	struct json *status = json_getz(object, "status"), *list = json_make_array(a);

	if (!json_is(status, JSON_OBJECT))
		return;
	JSON_FOREACH (metric, json_getz(status, "currentMetrics")) {
		json_append(list, flattened(a, metric, STATUS));
		put_copy(a, status, "currentCPUUtilizationPercentage", percentage(metric, STATUS));
	}
	if (json_count(list))
		put_annotation(a, object, CURRENT, list);
	if (json_count(json_getz(status, "conditions")))
		put_annotation(a, object, CONDITIONS, json_getz(status, "conditions"));
	if (!json_getz(status, "currentReplicas"))
		json_put_i64(a, status, "currentReplicas", 0);
	(void)json_remove(status, STR("currentMetrics"));
	(void)json_remove(status, STR("conditions"));
}

void convert_autoscaler_from_v2(struct arena *a, struct json *object)
{
	drop_annotations(object);
	tell_spec(a, object);
	tell_status(a, object);
}
