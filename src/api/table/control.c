/*
 * Columns of autoscalers, certificates, flow control, API services, migrations.
 */
#include "api/table/column.h"

#include "base/core/clock.h"
#include "base/time/duration.h"

/* --- autoscalers -------------------- */

#define METRICS_SHOWN 2 /* further ones are only counted */

/* The member of spec and status that has the metrics of a type. */
struct metric_source {
	const char *type, *member;
	bool named; /* shown with the name of the resource */
};

static const struct metric_source *metric_source(const struct json *spec)
{
	static const struct metric_source sources[] = {
		{ "External", "external", false },
		{ "Pods", "pods", false },
		{ "Object", "object", false },
		{ "Resource", "resource", true },
		{ "ContainerResource", "containerResource", true },
	};
	struct str type = column_find_str(spec, "type");

	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		if (str_eq(type, str_from(sources[i].type)))
			return &sources[i];
	return NULL;
}

static void control_amount(struct buf *out, const struct json *values, const char *key,
			   const char *absent)
{
	const struct json *value = column_find(values, key);

	if (value && json_is(value, JSON_STRING))
		(void)buf_add_str(out, column_find_str(values, key));
	else if (value)
		(void)buf_printf(out, "%lld%s", (long long)column_find_i64(values, key),
				 str_eq(str_from(key), STR("averageUtilization")) ? "%" : "");
	else
		(void)buf_addz(out, absent);
}

/* Prints the current and the target value: "cpu: 20%/50%", "10/20 (avg)". */
static void metric(struct buf *out, const struct json *spec, const struct json *status)
{
	const struct metric_source *s = metric_source(spec);
	const struct json *source, *target, *current;
	const char *key = "value", *end = "", *absent = "0";

	if (!s) {
		(void)buf_addz(out, "<unknown type>");
		return;
	}
	source = column_find(spec, s->member);
	target = column_find(source, "target");
	current = column_find(column_find(status, s->member), "current");
	if (column_find(target, "averageValue"))
		key = "averageValue";
	else if (s->named) {
		key = "averageUtilization";
		absent = "<auto>";
	}
	if (s->named)
		(void)buf_printf(out, "%.*s: ", STR_ARG(column_find_str(source, "name")));
	else if (*key == 'a' && !str_eq(str_from(s->member), STR("pods")))
		end = " (avg)";
	control_amount(out, current, key, "<unknown>");
	(void)buf_addz(out, "/");
	control_amount(out, target, key, absent);
	(void)buf_addz(out, end);
}

/* For version 1, which has only the CPU utilization. */
static void percentage(struct buf *out, const struct json *object)
{
	static const char now[] = "status.currentCPUUtilizationPercentage";
	static const char target[] = "spec.targetCPUUtilizationPercentage";

	(void)buf_addz(out, "cpu: ");
	if (column_find(object, now))
		(void)buf_printf(out, "%lld%%", (long long)column_find_i64(object, now));
	else
		(void)buf_addz(out, "<unknown>");
	(void)buf_printf(out, "/%lld%%", (long long)column_find_i64(object, target));
}

void column_autoscaler_targets(const struct json *object, int64_t now_ns, struct buf *out)
{
	const struct json *specs = column_find(object, "spec.metrics");
	const struct json *statuses = column_find(object, "status.currentMetrics");
	struct buf text = BUF_INIT(CELL_MAX);
	size_t i = 0, n = json_count(specs);

	if (column_find(object, "spec.targetCPUUtilizationPercentage"))
		percentage(&text, object);
	JSON_FOREACH (spec, specs) {
		if (i == METRICS_SHOWN)
			break;
		(void)buf_addz(&text, i ? ", " : "");
		metric(&text, spec, json_at(statuses, i));
		i++;
	}
	if (n > METRICS_SHOWN)
		(void)buf_printf(&text, " + %zu more...", n - METRICS_SHOWN);
	column_text(out, buf_str(&text), "<none>");
	buf_release(&text);
}

void column_autoscaler_reference(const struct json *object, int64_t now_ns, struct buf *out)
{
	const struct json *target = column_find(object, "spec.scaleTargetRef");

	column_printf(out, "%.*s/%.*s", STR_ARG(column_find_str(target, "kind")),
		      STR_ARG(column_find_str(target, "name")));
}

void column_autoscaler_min(const struct json *object, int64_t now_ns, struct buf *out)
{
	if (column_find(object, "spec.minReplicas"))
		column_printf(out, "%lld", (long long)column_find_i64(object, "spec.minReplicas"));
	else
		column_text(out, STR_NULL, "<unset>");
}

void column_autoscaler_max(const struct json *object, int64_t now_ns, struct buf *out)
{
	(void)buf_add_i64(out, column_find_i64(object, "spec.maxReplicas"));
}

void column_autoscaler_replicas(const struct json *object, int64_t now_ns, struct buf *out)
{
	(void)buf_add_i64(out, column_find_i64(object, "status.currentReplicas"));
}

/* --- certificates -------------------- */

/* Returns the condition of this type, whatever its status. */
static const struct json *control_condition(const struct json *object, struct str type)
{
	JSON_FOREACH (c, column_find(object, "status.conditions"))
		if (str_eq(column_find_str(c, "type"), type))
			return c;
	return NULL;
}

void column_signing_signer(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_text(out, column_find_str(object, "spec.signerName"), "<none>");
}

void column_signing_requestor(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_text(out, column_find_str(object, "spec.username"), "");
}

void column_signing_duration(const struct json *object, int64_t now_ns, struct buf *out)
{
	char text[DURATION_SIZE];

	if (column_find(object, "spec.expirationSeconds"))
		column_text(out,
			    duration_print_age(column_find_i64(object, "spec.expirationSeconds") *
						       CLOCK_SEC,
					       text),
			    "");
	else
		column_text(out, STR_NULL, "<none>");
}

void column_signing_condition(const struct json *object, int64_t now_ns, struct buf *out)
{
	const char *state = "Pending";

	if (control_condition(object, STR("Denied")))
		state = "Denied";
	else if (control_condition(object, STR("Approved")))
		state = "Approved";
	column_printf(out, "%s%s%s", state,
		      control_condition(object, STR("Failed")) ? ",Failed" : "",
		      column_find_str(object, "status.certificate").n ? ",Issued" : "");
}

void column_pod_certificate_state(const struct json *object, int64_t now_ns, struct buf *out)
{
	static const char *const states[] = { "Issued", "Denied", "Failed" };
	const char *state = "Pending";

	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		if (control_condition(object, str_from(states[i])))
			state = states[i];
	column_text(out, str_from(state), "");
}

void column_pod_certificate_annotations(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_labels(out, column_find(object, "spec.unverifiedUserAnnotations"));
}

/* --- API services, migrations -------------------- */

void column_api_service(const struct json *object, int64_t now_ns, struct buf *out)
{
	const struct json *service = column_find(object, "spec.service");

	if (service)
		column_printf(out, "%.*s/%.*s", STR_ARG(column_find_str(service, "namespace")),
			      STR_ARG(column_find_str(service, "name")));
	else
		column_text(out, STR_NULL, "Local");
}

void column_api_service_available(const struct json *object, int64_t now_ns, struct buf *out)
{
	const struct json *c = control_condition(object, STR("Available"));
	struct str status = column_find_str(c, "status"), reason = column_find_str(c, "reason");

	if (reason.n && !str_eq(status, STR("True")))
		column_printf(out, "%.*s (%.*s)", STR_ARG(status), STR_ARG(reason));
	else
		column_text(out, status, c ? "" : "Unknown");
}

void column_migration_resource(const struct json *object, int64_t now_ns, struct buf *out)
{
	struct str group = column_find_str(object, "spec.resource.group");

	column_printf(out, "%.*s%s%.*s", STR_ARG(column_find_str(object, "spec.resource.resource")),
		      group.n ? "." : "", STR_ARG(group));
}

void column_migration_status(const struct json *object, int64_t now_ns, struct buf *out)
{
	static const char *const states[] = { "Running", "Failed", "Succeeded" };
	const char *state = "Unknown";

	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		if (column_condition(object, str_from(states[i])))
			state = states[i];
	column_text(out, str_from(state), "");
}
