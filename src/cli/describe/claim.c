/*
 * A ResourceClaim: its requests, its allocation, its users, and the state of its devices, as
 * reported by the pods that use it (KEP-4680) and by their drivers (KEP-4817).
 */
#include "api/api_limits.h"
#include "base/yaml/yaml.h"
#include "cli/describe/devices.h"

enum {
	PODS_MAX = 16, /* pods of reservedFor that are read for health */
	DATA_LINES = 20, /* lines of a device's data that are shown ... */
	DATA_WIDTH = 100, /* ... and bytes of each */
};

/* --- requests -------------------------------------------------------------------------------- */

static struct str claim_amount(struct describe *d, const struct json *request)
{
	struct str mode = json_text_at(request, "allocationMode");

	if (str_eqz(mode, "All"))
		return STR("all");
	return str_from(
		arena_printf(d->arena, "%lld", (long long)json_i64_at(request, "count", 1)));
}

/* "memory=4Gi,shares=2" of each device, or "<none>". */
static struct str claim_capacity(struct describe *d, const struct json *request)
{
	const struct json *wanted = json_getz(json_getz(request, "capacity"), "requests");
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * 1024);
	size_t n;
	const struct json **v = describe_sorted(d, wanted, &n);

	for (size_t i = 0; i < n; i++)
		(void)buf_printf(&text, "%s%.*s=%.*s", i > 0 ? "," : "", STR_ARG(json_key(v[i])),
				 STR_ARG(describe_value(d, v[i])));
	return n > 0 ? arena_str(d->arena, buf_str(&text)) : STR("<none>");
}

static bool wants_capacity(const struct json *requests)
{
	JSON_FOREACH (it, requests) {
		if (json_getz(json_getz(it, "exactly"), "capacity"))
			return true;
		JSON_FOREACH (sub, json_getz(it, "firstAvailable")) {
			if (json_getz(sub, "capacity"))
				return true;
		}
	}
	return false;
}

/* `capacity`: with the column of that name. */
static void request_line(struct describe *d, struct str name, struct str sub,
			 const struct json *request, bool capacity)
{
	struct str amount = capacity ? claim_capacity(d, request) : STR_NULL;

	CLEANUP(buf_release) struct buf selectors = BUF_INIT(64 * 1024);

	JSON_FOREACH (it, json_getz(request, "selectors"))
		(void)buf_printf(&selectors, "%s%.*s", selectors.n > 0 ? " && " : "",
				 STR_ARG(json_text_at(json_getz(it, "cel"), "expression")));
	describe_line(d, 1, "%.*s%s%.*s\t%.*s\t%.*s\t%.*s%s%s", STR_ARG(name), sub.n > 0 ? "/" : "",
		      STR_ARG(sub), STR_ARG(json_text_at(request, "deviceClassName")),
		      STR_ARG(claim_amount(d, request)), STR_ARG(amount), capacity ? "\t" : "",
		      selectors.n > 0 ? selectors.p : "<none>");
}

static void describe_requests(struct describe *d)
{
	const struct json *requests = json_getz(json_getz(d->spec, "devices"), "requests");
	bool capacity = wants_capacity(requests);

	describe_line(d, 0, "Requests:%s", json_count(requests) == 0 ? "\t<none>" : "");
	if (json_count(requests) > 0)
		describe_head(d, capacity ? "Name\tDevice Class\tCount\tCapacity\tSelectors"
					  : "Name\tDevice Class\tCount\tSelectors");
	JSON_FOREACH (it, requests) {
		struct str name = json_text_at(it, "name");
		const struct json *exactly = json_getz(it, "exactly");

		if (exactly)
			request_line(d, name, STR_NULL, exactly, capacity);
		JSON_FOREACH (sub, json_getz(it, "firstAvailable"))
			request_line(d, name, json_text_at(sub, "name"), sub, capacity);
	}
}

/* --- health ---------------------------------------------------------------------------------- */

static const struct json *health_in(const struct json *entries, struct str id)
{
	JSON_FOREACH (entry, entries) {
		JSON_FOREACH (it, json_getz(entry, "resources")) {
			if (str_eq(json_text_at(it, "resourceID"), id))
				return it;
		}
	}
	return NULL;
}

static const struct json *health_in_pod(const struct json *pod, struct str id)
{
	static const char *const lists[] = { "containerStatuses", "initContainerStatuses" };
	const struct json *status = json_getz(pod, "status");
	const struct json *found = health_in(json_getz(status, "allocatedResourcesStatus"), id);

	for (size_t i = 0; i < ARRAY_SIZE(lists) && !found; i++) {
		JSON_FOREACH (it, json_getz(status, lists[i])) {
			const struct json *entries = json_getz(it, "allocatedResourcesStatus");

			found = found ? found : health_in(entries, id);
		}
	}
	return found;
}

/* Reads the pods that use the claim; skips those that cannot be read. */
static size_t read_pods(struct describe *d, const struct json **pods)
{
	struct resource resource = resource_builtin("", "v1", "pods");
	size_t n = 0;

	JSON_FOREACH (it, json_getz(d->status, "reservedFor")) {
		struct kube_query q = { .resource = &resource,
					.ns = json_text_at(d->metadata, "namespace"),
					.name = json_text_at(it, "name") };
		struct json *pod;
		struct error err;

		if (n == PODS_MAX || !str_eqz(json_text_at(it, "resource"), "pods"))
			continue;
		if (kube_read(d->kube, &q, &pod, &err) == 0)
			pods[n++] = pod;
	}
	return n;
}

/* --- allocation ------------------------------------------------------------------------------ */

static void result_line(struct describe *d, const struct json *result, const struct json **pods,
			size_t npods)
{
	struct str driver = json_text_at(result, "driver"), pool = json_text_at(result, "pool");
	struct str device = json_text_at(result, "device");
	struct str id = str_from(arena_printf(d->arena, "%.*s/%.*s/%.*s", STR_ARG(driver),
					      STR_ARG(pool), STR_ARG(device)));
	const struct json *health = NULL;

	for (size_t i = 0; i < npods && !health; i++)
		health = health_in_pod(pods[i], id);
	describe_line(d, 1, "%.*s\t%.*s\t%.*s\t%.*s\t%.*s\t%.*s",
		      STR_ARG(json_text_at(result, "request")), STR_ARG(driver), STR_ARG(pool),
		      STR_ARG(device),
		      STR_ARG(health ? describe_health(d, json_text_at(health, "health"))
				     : STR("<not told>")),
		      STR_ARG(json_text_at(health, "message")));
}

static void describe_results(struct describe *d)
{
	const struct json *allocation = json_getz(d->status, "allocation");
	const struct json *results = json_getz(json_getz(allocation, "devices"), "results");
	const struct json *pods[PODS_MAX];
	size_t n;

	if (!allocation) {
		describe_line(d, 0, "Allocation:\t<none>; %s explain-fit %.*s -n %.*s says why",
			      d->kube->cli->program, STR_ARG(json_text_at(d->metadata, "name")),
			      STR_ARG(json_text_at(d->metadata, "namespace")));
		return;
	}
	n = read_pods(d, pods);
	describe_line(d, 0, "Allocation:");
	describe_head(d, "Request\tDriver\tPool\tDevice\tHealth\tMessage");
	JSON_FOREACH (it, results)
		result_line(d, it, pods, n);
	if (json_getz(allocation, "nodeSelector"))
		describe_line(d, 1, "Usable on nodes with:\t%.*s",
			      STR_ARG(describe_value(d, json_getz(allocation, "nodeSelector"))));
}

static void describe_consumers(struct describe *d)
{
	const struct json *list = json_getz(d->status, "reservedFor");

	if (json_count(list) == 0) {
		describe_line(d, 0, "Reserved For:\t<nobody>");
		return;
	}
	describe_line(d, 0, "Reserved For:");
	describe_head(d, "Resource\tName\tUID");
	JSON_FOREACH (it, list)
		describe_line(d, 1, "%.*s\t%.*s\t%.*s", STR_ARG(json_text_at(it, "resource")),
			      STR_ARG(json_text_at(it, "name")), STR_ARG(json_text_at(it, "uid")));
}

/* --- drivers' reports on the devices --------------------------------------------------------- */

static void describe_conditions(struct describe *d, const struct json *list)
{
	if (json_count(list) == 0)
		return;
	describe_line(d, 2, "Conditions:");
	describe_head_at(d, 3, "Type\tStatus\tReason\tAge\tMessage");
	JSON_FOREACH (it, list)
		describe_line(
			d, 3, "%.*s\t%.*s\t%.*s\t%.*s\t%.*s", STR_ARG(json_text_at(it, "type")),
			STR_ARG(json_text_at(it, "status")), STR_ARG(json_text_at(it, "reason")),
			STR_ARG(describe_age(d, json_text_at(it, "lastTransitionTime"))),
			STR_ARG(json_text_at(it, "message")));
}

static void describe_network(struct describe *d, const struct json *network)
{
	const struct json *ips = json_getz(network, "ips");

	describe_field(d, 2, "Interface", json_text_at(network, "interfaceName"));
	describe_field(d, 2, "Hardware Address", json_text_at(network, "hardwareAddress"));
	JSON_FOREACH (it, ips)
		describe_line(d, 2, "%s\t%.*s", it == json_first(ips) ? "Addresses:" : "",
			      STR_ARG(json_str(it)));
}

/* Cuts a line between characters. */
static struct str cut_line(struct str line)
{
	size_t n = MIN(line.n, (size_t)DATA_WIDTH);

	while (n > 0 && n < line.n && ((unsigned char)line.p[n] & 0xc0) == 0x80)
		n--;
	return str_of(line.p, n);
}

/* It may be 10 KiB, and users of `describe` want the beginning. */
static void describe_data(struct describe *d, const struct json *data)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(OBJECT_MAX);
	struct str rest, line;
	bool whole = true;

	if (json_count(data) == 0 || yaml_print(&text, data, NULL, NULL) < 0)
		return;
	describe_line(d, 2, "Data:");
	rest = buf_str(&text);
	for (int n = 0; rest.n > 0 && str_split(&rest, '\n', &line); n++) {
		struct str shown = cut_line(line);

		whole = whole && shown.n == line.n && n < DATA_LINES;
		if (n < DATA_LINES)
			describe_line(d, 3, "%.*s%s", STR_ARG(shown),
				      shown.n < line.n ? "..." : "");
	}
	if (!whole)
		describe_line(d, 3, "(cut; all of it is in: get resourceclaim %.*s -o yaml)",
			      STR_ARG(json_text_at(d->metadata, "name")));
}

static bool is_of_device(const struct json *entry, const struct json *result)
{
	static const char *const keys[] = { "driver", "pool", "device", "shareID" };

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!str_eq(json_text_at(entry, keys[i]), json_text_at(result, keys[i])))
			return false;
	}
	return true;
}

static const struct json *find_entry(const struct json *entries, const struct json *result)
{
	JSON_FOREACH (it, entries) {
		if (is_of_device(it, result))
			return it;
	}
	return NULL;
}

/* `entry` is NULL for a device without an entry of its driver. */
static void describe_device(struct describe *d, const struct json *device, const struct json *entry)
{
	describe_line(d, 1, "%.*s/%.*s/%.*s:%s", STR_ARG(json_text_at(device, "driver")),
		      STR_ARG(json_text_at(device, "pool")),
		      STR_ARG(json_text_at(device, "device")), entry ? "" : "  <nothing reported>");
	describe_field(d, 2, "Share ID", json_text_at(device, "shareID"));
	if (json_true_at(device, "adminAccess"))
		describe_line(d, 2, "Admin Access:\ttrue");
	if (json_count(json_getz(device, "consumedCapacity")) > 0) {
		describe_line(d, 2, "Consumed Capacity:");
		describe_named(d, 3, json_getz(device, "consumedCapacity"));
	}
	describe_network(d, json_getz(entry, "networkData"));
	describe_conditions(d, json_getz(entry, "conditions"));
	describe_data(d, json_getz(entry, "data"));
}

static void describe_devices(struct describe *d)
{
	const struct json *allocation = json_getz(d->status, "allocation");
	const struct json *results = json_getz(json_getz(allocation, "devices"), "results");
	const struct json *entries = json_getz(d->status, "devices");

	if (json_count(results) == 0)
		return;
	describe_line(d, 0, "Device Status:");
	JSON_FOREACH (it, results)
		describe_device(d, it, find_entry(entries, it));
}

int describe_claim(struct describe *d, struct error *err UNUSED)
{
	describe_line(d, 0, "Name:\t%.*s", STR_ARG(json_text_at(d->metadata, "name")));
	describe_line(d, 0, "Namespace:\t%.*s", STR_ARG(json_text_at(d->metadata, "namespace")));
	describe_labels(d, "Labels", json_getz(d->metadata, "labels"));
	describe_annotations(d);
	describe_field(d, 0, "CreationTimestamp",
		       describe_time(d, json_text_at(d->metadata, "creationTimestamp")));
	describe_requests(d);
	describe_results(d);
	describe_devices(d);
	describe_consumers(d);
	describe_events(d);
	return 0;
}
