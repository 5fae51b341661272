/*
 * Columns of workloads and related kinds: jobs, daemon sets, disruption budgets, revisions, network
 * policies, ingresses, role bindings.
 */
#include "api/table/column.h"

#include "base/core/limits.h"
#include "base/time/duration.h"
#include "base/time/timestamp.h"

/* --- scales -------------------- */

/* A count of zero is absent in the object. */
void column_scale_desired(const struct json *object, int64_t now_ns, struct buf *out)
{
	(void)buf_add_i64(out, column_find_i64(object, "spec.replicas"));
}

/* --- jobs -------------------- */

void column_job_status(const struct json *object, int64_t now_ns, struct buf *out)
{
	const char *status = "Running";

	if (column_condition(object, STR("Complete")))
		status = "Complete";
	else if (column_condition(object, STR("Failed")))
		status = "Failed";
	else if (column_find(object, "metadata.deletionTimestamp"))
		status = "Terminating";
	else if (column_condition(object, STR("Suspended")))
		status = "Suspended";
	else if (column_condition(object, STR("FailureTarget")))
		status = "FailureTarget";
	else if (column_condition(object, STR("SuccessCriteriaMet")))
		status = "SuccessCriteriaMet";
	column_text(out, str_from(status), "");
}

void column_job_completions(const struct json *object, int64_t now_ns, struct buf *out)
{
	long long done = column_find_i64(object, "status.succeeded");
	long long parallel = column_find_i64(object, "spec.parallelism");

	if (column_find(object, "spec.completions"))
		column_printf(out, "%lld/%lld", done,
			      (long long)column_find_i64(object, "spec.completions"));
	else if (parallel > 1)
		column_printf(out, "%lld/1 of %lld", done, parallel);
	else
		column_printf(out, "%lld/1", done);
}

void column_job_duration(const struct json *object, int64_t now_ns, struct buf *out)
{
	struct str start = column_find_str(object, "status.startTime");
	struct str end = column_find_str(object, "status.completionTime");
	char text[DURATION_SIZE];
	int64_t from, to = now_ns;

	if (start.n == 0 || timestamp_parse(start, &from, NULL) < 0) {
		column_text(out, STR_NULL, "");
		return;
	}
	if (end.n)
		(void)timestamp_parse(end, &to, NULL);
	column_text(out, duration_print_age(to - from, text), "");
}

void column_cron_job_time_zone(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_text(out, column_find_str(object, "spec.timeZone"), "<none>");
}

void column_cron_job_suspend(const struct json *object, int64_t now_ns, struct buf *out)
{
	const struct json *suspend = column_find(object, "spec.suspend");

	if (!suspend)
		column_text(out, STR_NULL, "<unset>");
	else
		column_text(out,
			    column_find_bool(object, "spec.suspend") ? STR("True") : STR("False"),
			    "");
}

void column_cron_job_active(const struct json *object, int64_t now_ns, struct buf *out)
{
	(void)buf_add_u64(out, json_count(column_find(object, "status.active")));
}

void column_cron_job_last(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_since(out, column_find_str(object, "status.lastScheduleTime"), now_ns, "<none>");
}

static const struct json *cron_containers(const struct json *object)
{
	return column_find(object, "spec.jobTemplate.spec.template.spec.containers");
}

void column_cron_job_containers(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_join(out, cron_containers(object), "name", ",", "");
}

void column_cron_job_images(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_join(out, cron_containers(object), "image", ",", "");
}

void column_cron_job_selector(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_label_selector(out, column_find(object, "spec.jobTemplate.spec.selector"));
}

/* --- sets -------------------- */

void column_daemon_set_nodes(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_labels(out, column_find(object, "spec.template.spec.nodeSelector"));
}

/* The creator of a revision: "statefulset.apps/web". */
void column_revision_controller(const struct json *object, int64_t now_ns, struct buf *out)
{
	JSON_FOREACH (owner, column_find(object, "metadata.ownerReferences")) {
		struct str version = column_find_str(owner, "apiVersion");
		struct str kind = column_find_str(owner, "kind");
		ptrdiff_t slash = str_chr(version, '/');
		char lower[64];
		size_t n = MIN(kind.n, sizeof(lower));

		if (!column_find_bool(owner, "controller"))
			continue;
		for (size_t i = 0; i < n; i++)
			lower[i] = (char)(kind.p[i] | 0x20);
		column_printf(out, "%.*s%s%.*s/%.*s", (int)n, lower, slash > 0 ? "." : "",
			      (int)MAX(slash, 0), version.p ? version.p : "",
			      STR_ARG(column_find_str(owner, "name")));
		return;
	}
	column_text(out, STR_NULL, "<none>");
}

void column_revision_number(const struct json *object, int64_t now_ns, struct buf *out)
{
	(void)buf_add_i64(out, column_find_i64(object, "revision"));
}

/* --- budgets -------------------- */

static void number_or_percent(const struct json *value, struct buf *out)
{
	int64_t number;

	if (json_i64(value, &number))
		column_printf(out, "%lld", (long long)number);
	else
		column_text(out, json_str(value), "N/A");
}

void column_budget_min(const struct json *object, int64_t now_ns, struct buf *out)
{
	number_or_percent(column_find(object, "spec.minAvailable"), out);
}

void column_budget_max(const struct json *object, int64_t now_ns, struct buf *out)
{
	number_or_percent(column_find(object, "spec.maxUnavailable"), out);
}

/* --- networking -------------------- */

void column_policy_pods(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_label_selector(out, column_find(object, "spec.podSelector"));
}

void column_ingress_class(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_text(out, column_find_str(object, "spec.ingressClassName"), "<none>");
}

void column_ingress_hosts(const struct json *object, int64_t now_ns, struct buf *out)
{
	const struct json *rules = column_find(object, "spec.rules");
	struct buf text = BUF_INIT(16 * KIB);
	size_t shown = 0, max = 3;

	JSON_FOREACH (rule, rules) {
		struct str host = column_find_str(rule, "host");

		if (host.n == 0 || shown == max)
			continue;
		(void)buf_printf(&text, "%s%.*s", text.n ? "," : "", STR_ARG(host));
		shown++;
	}
	if (shown == max && json_count(rules) > max)
		(void)buf_printf(&text, " + %zu more...", json_count(rules) - max);
	column_text(out, buf_str(&text), "*");
	buf_release(&text);
}

void column_ingress_address(const struct json *object, int64_t now_ns, struct buf *out)
{
	struct buf text = BUF_INIT(16 * KIB);

	JSON_FOREACH (i, column_find(object, "status.loadBalancer.ingress")) {
		struct str ip = column_find_str(i, "ip");

		ip = ip.n ? ip : column_find_str(i, "hostname");
		(void)buf_printf(&text, "%s%.*s", text.n ? "," : "", STR_ARG(ip));
	}
	column_text(out, buf_str(&text), "");
	buf_release(&text);
}

void column_ingress_ports(const struct json *object, int64_t now_ns, struct buf *out)
{
	bool tls = json_count(column_find(object, "spec.tls")) > 0;

	column_text(out, tls ? STR("80, 443") : STR("80"), "");
}

void column_ingress_class_parameters(const struct json *object, int64_t now_ns, struct buf *out)
{
	const struct json *p = column_find(object, "spec.parameters");
	struct str group = column_find_str(p, "apiGroup");

	if (p)
		column_printf(out, "%.*s%s%.*s/%.*s", STR_ARG(column_find_str(p, "kind")),
			      group.p ? "." : "", STR_ARG(group),
			      STR_ARG(column_find_str(p, "name")));
	else
		column_text(out, STR_NULL, "<none>");
}

void column_service_cidrs(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_join(out, column_find(object, "spec.cidrs"), NULL, ",", "");
}

/* "services/default/kubernetes". */
void column_ip_address_parent(const struct json *object, int64_t now_ns, struct buf *out)
{
	static const char *const parts[] = { "resource", "namespace", "name" };
	const struct json *parent = column_find(object, "spec.parentRef");
	struct str group = column_find_str(parent, "group");
	struct buf text = BUF_INIT(4 * KIB);

	for (size_t i = 0; parent && i < ARRAY_SIZE(parts); i++) {
		struct str part = column_find_str(parent, parts[i]);

		if (part.n)
			(void)buf_printf(&text, "%s%.*s", text.n ? "/" : "", STR_ARG(part));
		if (i == 0 && group.n)
			(void)buf_printf(&text, ".%.*s", STR_ARG(group));
	}
	column_text(out, buf_str(&text), "<none>");
	buf_release(&text);
}

/* --- role bindings -------------------- */

void column_binding_role(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_printf(out, "%.*s/%.*s", STR_ARG(column_find_str(object, "roleRef.kind")),
		      STR_ARG(column_find_str(object, "roleRef.name")));
}

static void subjects(const struct json *object, struct str kind, struct buf *out)
{
	struct buf text = BUF_INIT(64 * KIB);

	JSON_FOREACH (s, json_getz(object, "subjects")) {
		struct str ns = column_find_str(s, "namespace");

		if (!str_eq(column_find_str(s, "kind"), kind))
			continue;
		(void)buf_addz(&text, text.n ? ", " : "");
		if (ns.n)
			(void)buf_printf(&text, "%.*s/", STR_ARG(ns));
		(void)buf_add_str(&text, column_find_str(s, "name"));
	}
	column_text(out, buf_str(&text), "");
	buf_release(&text);
}

void column_binding_users(const struct json *object, int64_t now_ns, struct buf *out)
{
	subjects(object, STR("User"), out);
}

void column_binding_groups(const struct json *object, int64_t now_ns, struct buf *out)
{
	subjects(object, STR("Group"), out);
}

void column_binding_accounts(const struct json *object, int64_t now_ns, struct buf *out)
{
	subjects(object, STR("ServiceAccount"), out);
}
