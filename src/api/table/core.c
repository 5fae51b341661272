/*
 * Nodes, services, endpoints and events.
 */
#include "api/table/column.h"

#include "base/core/limits.h"

/* --- nodes ------------------------------------------------------------------------------ */

void column_node_status(const struct json *object, int64_t now_ns, struct buf *out)
{
	const char *status = "Unknown";

	JSON_FOREACH (c, column_find(object, "status.conditions"))
		if (str_eqz(json_text_at(c, "type"), "Ready"))
			status = str_eqz(json_text_at(c, "status"), "True") ? "Ready" : "NotReady";
	column_printf(out, "%s%s", status,
		      column_find_bool(object, "spec.unschedulable") ? ",SchedulingDisabled" : "");
}

/* Returns the role of a label; empty if it has none. */
static struct str role_of(const struct json *label)
{
	static const struct str prefix = STR("node-role.kubernetes.io/");

	if (str_starts(json_key(label), prefix))
		return str_skip(json_key(label), prefix.n);
	return str_eq(json_key(label), STR("kubernetes.io/role")) ? json_str(label) : STR_NULL;
}

/* Returns the smallest role above `after`, so that each is shown once and sorted. */
static struct str next_role(const struct json *labels, struct str after)
{
	struct str best = STR_NULL;

	JSON_FOREACH (label, labels) {
		struct str role = role_of(label);

		if (role.n == 0 || (after.p && str_cmp(role, after) <= 0))
			continue;
		if (!best.p || str_cmp(role, best) < 0)
			best = role;
	}
	return best;
}

void column_node_roles(const struct json *object, int64_t now_ns, struct buf *out)
{
	const struct json *labels = column_find(object, "metadata.labels");
	struct buf text = BUF_INIT(16 * KIB);

	for (struct str r = next_role(labels, STR_NULL); r.p; r = next_role(labels, r))
		(void)buf_printf(&text, "%s%.*s", text.n ? "," : "", STR_ARG(r));
	column_text(out, buf_str(&text), "<none>");
	buf_release(&text);
}

static void node_address(const struct json *object, const char *type, struct buf *out)
{
	JSON_FOREACH (a, column_find(object, "status.addresses")) {
		if (!str_eqz(json_text_at(a, "type"), type))
			continue;
		column_text(out, json_text_at(a, "address"), "");
		return;
	}
	column_text(out, STR_NULL, "<none>");
}

void column_node_internal_ip(const struct json *object, int64_t now_ns, struct buf *out)
{
	node_address(object, "InternalIP", out);
}

void column_node_external_ip(const struct json *object, int64_t now_ns, struct buf *out)
{
	node_address(object, "ExternalIP", out);
}

void column_node_os_image(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_text(out, column_find_str(object, "status.nodeInfo.osImage"), "<unknown>");
}

void column_node_kernel(const struct json *object, int64_t now_ns, struct buf *out)
{
	struct str kernel = column_find_str(object, "status.nodeInfo.kernelVersion");
	struct str machine = column_find_str(object, "status.nodeInfo.architecture");

	kernel = kernel.n ? kernel : STR("<unknown>");
	if (machine.n)
		column_printf(out, "%.*s (%.*s)", STR_ARG(kernel), STR_ARG(machine));
	else
		column_text(out, kernel, "");
}

void column_node_runtime(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_text(out, column_find_str(object, "status.nodeInfo.containerRuntimeVersion"),
		    "<unknown>");
}

/* --- services ------------------------------------------------------------------------------ */

void column_service_cluster_ip(const struct json *object, int64_t now_ns, struct buf *out)
{
	const struct json *first = json_at(column_find(object, "spec.clusterIPs"), 0);

	column_text(out, json_str(first), "<none>");
}

static void core_add_text(struct buf *text, struct str piece)
{
	if (piece.n)
		(void)buf_printf(text, "%s%.*s", text->n ? "," : "", STR_ARG(piece));
}

/*
 * Adds the addresses of a load balancer. Upstream truncates them without -o wide; here they are
 * complete.
 */
static void add_ingress(struct buf *text, const struct json *object)
{
	JSON_FOREACH (i, column_find(object, "status.loadBalancer.ingress")) {
		struct str ip = json_text_at(i, "ip");

		core_add_text(text, ip.n ? ip : json_text_at(i, "hostname"));
	}
}

void column_service_external_ip(const struct json *object, int64_t now_ns, struct buf *out)
{
	struct str type = column_find_str(object, "spec.type");
	bool balancer = str_eq(type, STR("LoadBalancer"));
	struct buf text = BUF_INIT(16 * KIB);

	if (str_eq(type, STR("ExternalName"))) {
		column_text(out, column_find_str(object, "spec.externalName"), "");
		return;
	}
	if (balancer)
		add_ingress(&text, object);
	JSON_FOREACH (ip, column_find(object, "spec.externalIPs"))
		core_add_text(&text, json_str(ip));
	column_text(out, buf_str(&text), balancer ? "<pending>" : "<none>");
	buf_release(&text);
}

void column_service_ports(const struct json *object, int64_t now_ns, struct buf *out)
{
	struct buf text = BUF_INIT(16 * KIB);

	JSON_FOREACH (p, column_find(object, "spec.ports")) {
		long long node = column_find_i64(p, "nodePort");

		(void)buf_printf(&text, "%s%lld", text.n ? "," : "",
				 (long long)column_find_i64(p, "port"));
		if (node > 0)
			(void)buf_printf(&text, ":%lld", node);
		(void)buf_printf(&text, "/%.*s", STR_ARG(column_find_str(p, "protocol")));
	}
	column_text(out, buf_str(&text), "<none>");
	buf_release(&text);
}

/* --- endpoints ------------------------------------------------------------------------------ */

enum { SHOWN = 3 }; /* elements of a long list; further ones are only counted */

/* Adds one element of a long list. */
static void add_of_many(struct buf *text, size_t *count, struct str piece, int64_t port)
{
	bool v6 = str_chr(piece, ':') >= 0;

	if ((*count)++ >= SHOWN)
		return;
	if (text->n)
		(void)buf_addc(text, ',');
	if (port < 0)
		(void)buf_add_str(text, piece);
	else
		(void)buf_printf(text, v6 ? "[%.*s]:%lld" : "%.*s:%lld", STR_ARG(piece),
				 (long long)port);
}

static void finish_many(struct buf *out, struct buf *text, size_t count, const char *absent)
{
	if (count > SHOWN)
		(void)buf_printf(text, " + %zu more...", count - SHOWN);
	column_text(out, buf_str(text), absent);
	buf_release(text);
}

void column_common_encoding(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_text(out, column_find_str(object, "status.commonEncodingVersion"), "<unset>");
}

void column_storage_versions(const struct json *object, int64_t now_ns, struct buf *out)
{
	struct buf text = BUF_INIT(16 * KIB);
	size_t count = 0;

	JSON_FOREACH (it, column_find(object, "status.storageVersions")) {
		if (count++ >= SHOWN)
			continue;
		(void)buf_printf(&text, "%s%.*s=%.*s", text.n ? "," : "",
				 STR_ARG(json_text_at(it, "apiServerID")),
				 STR_ARG(json_text_at(it, "encodingVersion")));
	}
	finish_many(out, &text, count, "");
}

void column_endpoints(const struct json *object, int64_t now_ns, struct buf *out)
{
	const struct json *subsets = json_getz(object, "subsets");
	struct buf text = BUF_INIT(16 * KIB);
	size_t count = 0;

	JSON_FOREACH (subset, subsets) {
		const struct json *ports = json_getz(subset, "ports");
		const struct json *port = json_first(ports);

		do {
			JSON_FOREACH (a, json_getz(subset, "addresses"))
				add_of_many(&text, &count, json_text_at(a, "ip"),
					    port ? column_find_i64(port, "port") : -1);
			port = port ? port->next : NULL;
		} while (port);
	}
	finish_many(out, &text, count, json_count(subsets) ? "" : "<none>");
}

void column_slice_ports(const struct json *object, int64_t now_ns, struct buf *out)
{
	struct buf text = BUF_INIT(16 * KIB);
	char number[24];
	size_t count = 0;

	JSON_FOREACH (p, json_getz(object, "ports")) {
		struct str shown = column_find_str(p, "name");

		if (json_getz(p, "port")) {
			(void)snprintf(number, sizeof(number), "%lld",
				       (long long)column_find_i64(p, "port"));
			shown = str_from(number);
		}
		add_of_many(&text, &count, shown.n ? shown : STR("*"), -1);
	}
	finish_many(out, &text, count, "<unset>");
}

void column_slice_endpoints(const struct json *object, int64_t now_ns, struct buf *out)
{
	struct buf text = BUF_INIT(16 * KIB);
	size_t count = 0;

	JSON_FOREACH (e, json_getz(object, "endpoints"))
		JSON_FOREACH (a, json_getz(e, "addresses"))
			add_of_many(&text, &count, json_str(a), -1);
	finish_many(out, &text, count, "<unset>");
}

/* --- events ---------------------------------------------------------------------------------- */

/*
 * Returns a field of a core event, or of one of events.k8s.io, which has other names for some
 * fields.
 */
static struct str either(const struct json *event, const char *core, const char *newer)
{
	struct str s = column_find_str(event, core);

	return s.n ? s : column_find_str(event, newer);
}

static struct str first_seen(const struct json *event)
{
	struct str s = either(event, "firstTimestamp", "deprecatedFirstTimestamp");

	return s.n ? s : column_find_str(event, "eventTime");
}

void column_event_last_seen(const struct json *object, int64_t now_ns, struct buf *out)
{
	struct str s = column_find_str(object, "series.lastObservedTime");

	if (!json_getz(object, "series")) {
		s = either(object, "lastTimestamp", "deprecatedLastTimestamp");
		s = s.n ? s : first_seen(object);
	}
	column_since(out, s, now_ns, "<unknown>");
}

void column_event_first_seen(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_since(out, first_seen(object), now_ns, "<unknown>");
}

void column_event_object(const struct json *object, int64_t now_ns, struct buf *out)
{
	struct str kind = either(object, "involvedObject.kind", "regarding.kind");
	struct str name = either(object, "involvedObject.name", "regarding.name");
	struct buf text = BUF_INIT(KIB);

	for (size_t i = 0; i < kind.n; i++) {
		char c = kind.p[i];

		(void)buf_addc(&text, c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c);
	}
	if (name.n)
		(void)buf_printf(&text, "/%.*s", STR_ARG(name));
	column_text(out, buf_str(&text), "");
	buf_release(&text);
}

void column_event_subobject(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_text(out, either(object, "involvedObject.fieldPath", "regarding.fieldPath"), "");
}

void column_event_source(const struct json *object, int64_t now_ns, struct buf *out)
{
	struct str component = either(object, "source.component", "deprecatedSource.component");
	struct str host = either(object, "source.host", "deprecatedSource.host");

	component = component.n ? component
				: either(object, "reportingComponent", "reportingController");
	host = host.n ? host : column_find_str(object, "reportingInstance");
	if (host.n)
		column_printf(out, "%.*s, %.*s", STR_ARG(component), STR_ARG(host));
	else
		column_text(out, component, "");
}

void column_event_message(const struct json *object, int64_t now_ns, struct buf *out)
{
	struct str text = either(object, "message", "note");

	while (text.n && (text.p[0] == ' ' || text.p[0] == '\n' || text.p[0] == '\t'))
		text = str_skip(text, 1);
	while (text.n && (text.p[text.n - 1] == ' ' || text.p[text.n - 1] == '\n' ||
			  text.p[text.n - 1] == '\t'))
		text.n--;
	column_text(out, text, "");
}

void column_event_count(const struct json *object, int64_t now_ns, struct buf *out)
{
	int64_t count = column_find_i64(object, "count");

	if (count == 0)
		count = column_find_i64(object, "deprecatedCount");
	if (json_getz(object, "series"))
		count = column_find_i64(object, "series.count");
	(void)buf_add_i64(out, count ? count : 1);
}
