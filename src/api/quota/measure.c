/*
 * Computes the usage of an object.
 */
#include "api/quota/quota.h"

#include <stdlib.h>

#include "api/quota/pod_resources.h"
#include "api/quota/quota_impl.h"
#include "api/schema/names.h"
#include "base/json/json.h"
#include "base/time/timestamp.h"

enum { ALL_DEVICES = 32 }; /* the number that "All" counts as: the maximum of a claim */

/* A quota of these demands that every container sets them; upstream regrets that rule. */
const struct str quota_required[QUOTA_REQUIRED] = {
	STR("cpu"),    STR("limits.cpu"),   STR("limits.memory"),
	STR("memory"), STR("requests.cpu"), STR("requests.memory"),
};

static void measure_count(struct amount_list *l, struct str name, size_t n)
{
	amount_list_set(l, name, quantity_of((int64_t)n, QUANTITY_DECIMAL_SI));
}

static struct str text2(struct arena *a, struct str one, struct str two)
{
	return str_from(arena_printf(a, "%.*s%.*s", STR_ARG(one), STR_ARG(two)));
}

static void count_object(const struct quota_kind *k, struct amount_list *l)
{
	measure_count(l,
		      str_from(arena_printf(l->arena, "count/%.*s%s%.*s", STR_ARG(k->resource),
					    k->group.n ? "." : "", STR_ARG(k->group))),
		      1);
	if (k->alias.n)
		measure_count(l, k->alias, 1);
}

/* --- pods ----------------------------------------------------------------------------------- */

/* Whether its resources count: it has not ended, and its deletion is not overdue. */
static bool pod_counts(const struct json *pod, int64_t now_ns)
{
	const struct json *meta = json_getz(pod, "metadata");
	struct str phase = json_text_at(json_getz(pod, "status"), "phase");
	struct str deletion = json_text_at(meta, "deletionTimestamp");
	int64_t grace = json_i64_at(meta, "deletionGracePeriodSeconds", -1), at;

	if (str_eqz(phase, "Failed") || str_eqz(phase, "Succeeded"))
		return false;
	if (grace < 0 || !deletion.n || timestamp_parse(deletion, &at, NULL) < 0)
		return true;
	/* Compared without a multiplication, because clients choose the grace period. */
	return now_ns <= at || (now_ns - at - 1) / 1000000000 < grace;
}

/* Adds CPU, memory and storage, under the names that quotas use. */
static void add_compute(struct amount_list *usage, const struct amount_list *requests,
			const struct amount_list *limits)
{
	static const struct {
		struct str name, request, limit;
	} rows[] = {
		{ STR("cpu"), STR("requests.cpu"), STR("limits.cpu") },
		{ STR("memory"), STR("requests.memory"), STR("limits.memory") },
		{ STR("ephemeral-storage"), STR("requests.ephemeral-storage"),
		  STR("limits.ephemeral-storage") },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct quantity *request = amount_list_get(requests, rows[i].name);
		const struct quantity *limit = amount_list_get(limits, rows[i].name);

		if (request) {
			amount_list_set(usage, rows[i].name, *request);
			amount_list_set(usage, rows[i].request, *request);
		}
		if (limit)
			amount_list_set(usage, rows[i].limit, *limit);
	}
}

static bool is_device_class(struct str name)
{
	return str_starts(name, str_skip(QUOTA_IMPLICIT_DEVICES, QUOTA_REQUESTS.n));
}

/*
 * Huge pages count under both names, vendors' resources under the longer one; sorted like requests.
 */
static void add_others(struct amount_list *usage, const struct amount_list *requests)
{
	struct arena *a = usage->arena;
	struct amount_list huge = amount_list_new(a), prefixed = huge;

	if (!amount_list_reserve(&huge, requests->n) ||
	    !amount_list_reserve(&prefixed, requests->n))
		return;
	for (size_t i = 0; i < requests->n; i++) {
		const struct amount *r = &requests->v[i];
		bool pages = str_starts(r->name, STR("hugepages-"));

		if (pages)
			huge.v[huge.n++] = *r;
		if (pages || names_is_extended_resource(r->name) || is_device_class(r->name))
			prefixed.v[prefixed.n++] = (struct amount){
				text2(a, QUOTA_REQUESTS, r->name), r->q
			};
	}
	amount_list_put(usage, &huge);
	amount_list_put(usage, &prefixed);
}

/* Whether the container sets what quota_required[which] demands. */
static bool says(const struct json *container, size_t which)
{
	const struct json *resources = json_getz(container, "resources");
	struct str name = quota_required[which];
	bool limits = str_starts(name, STR("limits."));
	bool memory = str_ends(name, STR("memory"));

	return json_getz(json_getz(resources, limits ? "limits" : "requests"),
			 memory ? "memory" : "cpu") != NULL;
}

/* Lists the containers that do not set it, sorted and once each, as many as fit into a message. */
static struct str list_lacking(const struct json *spec, size_t which, struct arena *a)
{
	static const char *const lists[] = { "containers", "initContainers" };
	CLEANUP(buf_release) struct buf b = BUF_INIT(4096);
	size_t n = 0, max = 0;
	struct str *v;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		max += json_count(json_getz(spec, lists[i]));
	v = arena_try_alloc(a, max * sizeof(*v));
	for (size_t i = 0; v && i < ARRAY_SIZE(lists); i++)
		JSON_FOREACH (c, json_getz(spec, lists[i]))
			if (!says(c, which))
				v[n++] = json_text_at(c, "name");
	if (n)
		qsort(v, n, sizeof(*v), str_order);
	for (size_t i = 0; i < n && b.n < 512; i++)
		if (!i || !str_eq(v[i], v[i - 1]))
			(void)buf_printf(&b, "%s%.*s", b.n ? "," : "", STR_ARG(v[i]));
	return b.n ? arena_str(a, buf_str(&b)) : STR("");
}

static bool any_crosses(const struct json *terms)
{
	JSON_FOREACH (it, terms) {
		const struct json *weighted = json_getz(it, "podAffinityTerm");
		const struct json *term = weighted ? weighted : it;

		if (json_count(json_getz(term, "namespaces")) ||
		    json_is(json_getz(term, "namespaceSelector"), JSON_OBJECT))
			return true;
	}
	return false;
}

static bool crosses_namespaces(const struct json *spec)
{
	static const char *const lists[] = { "requiredDuringSchedulingIgnoredDuringExecution",
					     "preferredDuringSchedulingIgnoredDuringExecution" };
	const struct json *affinity = json_getz(spec, "affinity");

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (any_crosses(json_getz(json_getz(affinity, "podAffinity"), lists[i])) ||
		    any_crosses(json_getz(json_getz(affinity, "podAntiAffinity"), lists[i])))
			return true;
	return false;
}

static bool is_terminating(const struct json *pod)
{
	return json_i64_at(json_getz(pod, "spec"), "activeDeadlineSeconds", -1) >= 0;
}

static void use_pod(struct amount_list *usage, const struct json *pod, int64_t now_ns)
{
	struct amount_list requests, limits;

	if (!pod_counts(pod, now_ns))
		return;
	requests = pod_resources_requests(pod, POD_RESOURCES_CHARGED, usage->arena);
	limits = pod_resources_limits(pod, POD_RESOURCES_CHARGED, usage->arena);
	measure_count(usage, STR("pods"), 1);
	add_compute(usage, &requests, &limits);
	add_others(usage, &requests);
}

static void measure_pod(const struct json *pod, int64_t now_ns, struct quota_item *item)
{
	const struct json *spec = json_getz(pod, "spec");

	use_pod(&item->usage, pod, now_ns);
	item->terminating = is_terminating(pod);
	item->best_effort = pod_resources_best_effort(pod);
	item->crosses_namespaces = crosses_namespaces(spec);
	item->priority_class = json_text_at(spec, "priorityClassName");
	for (size_t i = 0; i < QUOTA_REQUIRED && !pod_resources_whole(pod); i++)
		item->lacking[i] = list_lacking(spec, i, item->usage.arena);
}

/* --- services and volume claims --------------------------------------------------------------- */

static void measure_service(const struct json *service, struct amount_list *usage)
{
	const struct json *spec = json_getz(service, "spec"), *ports = json_getz(spec, "ports");
	struct str type = json_text_at(spec, "type");
	bool balanced = str_eqz(type, "LoadBalancer"), allocates = true;
	size_t n = 0;

	/* Nothing is allocated yet when the service is charged, so the requested ports count. */
	if (balanced && json_bool(json_getz(spec, "allocateLoadBalancerNodePorts"), &allocates) &&
	    !allocates) {
		JSON_FOREACH (port, ports)
			n += json_i64_at(port, "nodePort", 0) != 0;
	} else if (balanced || str_eqz(type, "NodePort")) {
		n = json_count(ports);
	}
	measure_count(usage, STR("services"), 1);
	measure_count(usage, STR("services.loadbalancers"), balanced);
	measure_count(usage, STR("services.nodeports"), n);
}

static struct quantity rounded_up(struct quantity q)
{
	return q.nano % 1000000000 ? quantity_of(quantity_value(q), q.format) : q;
}

/* Returns the requested storage, or the allocated one if an expansion made that larger. */
static bool storage_of(const struct json *claim, struct quantity *ret_q)
{
	const struct json *requests = json_getz(json_getz(json_getz(claim, "spec"), "resources"),
						"requests");
	const struct json *allocated = json_getz(json_getz(claim, "status"), "allocatedResources");
	struct quantity q, more;

	if (!quantity_read(json_getz(requests, "storage"), &q))
		return false;
	q = rounded_up(q);
	if (quantity_read(json_getz(allocated, "storage"), &more) && quantity_cmp(more, q) > 0)
		q = rounded_up(more);
	*ret_q = q;
	return true;
}

static struct str storage_class(const struct json *claim)
{
	const struct json *annotations = json_getz(json_getz(claim, "metadata"), "annotations");
	const struct json *old = json_getz(annotations, "volume.beta.kubernetes.io/storage-class");

	return old ? json_str(old) : json_text_at(json_getz(claim, "spec"), "storageClassName");
}

static void measure_volume_claim(const struct json *claim, struct quota_item *item)
{
	const struct json *status = json_getz(claim, "status");
	struct amount_list *usage = &item->usage;
	struct str class = storage_class(claim);
	struct str prefix = text2(usage->arena, class, STR(QUOTA_STORAGE_CLASS));
	struct quantity q;

	measure_count(usage, STR("persistentvolumeclaims"), 1);
	if (class.n)
		measure_count(usage, text2(usage->arena, prefix, STR("persistentvolumeclaims")), 1);
	if (storage_of(claim, &q)) {
		amount_list_set(usage, STR("requests.storage"), q);
		if (class.n)
			amount_list_set(usage, text2(usage->arena, prefix, STR("requests.storage")),
					q);
	}
	item->volume_classes[0] = json_text_at(json_getz(claim, "spec"),
					       "volumeAttributesClassName");
	item->volume_classes[1] = json_text_at(status, "currentVolumeAttributesClassName");
	item->volume_classes[2] = json_text_at(json_getz(status, "modifyVolumeStatus"),
					       "targetVolumeAttributesClassName");
}

/* --- device claims ------------------------------------------------------------------------- */

static struct amount devices_of(const struct json *request, struct arena *a)
{
	struct str mode = json_text_at(request, "allocationMode");
	struct str class = json_text_at(request, "deviceClassName");
	int64_t n = 0;

	if (str_eqz(mode, "All"))
		n = ALL_DEVICES;
	else if (!mode.n || str_eqz(mode, "ExactCount"))
		n = json_i64_at(request, "count", 1);
	return (struct amount){ text2(a, class, QUOTA_DEVICES),
				quantity_of(n, QUANTITY_DECIMAL_SI) };
}

/* For alternatives, the largest of each class counts, because the choice is not made yet. */
static void add_request(struct amount_list *usage, const struct json *request)
{
	const struct json *alternatives = json_getz(request, "firstAvailable");
	struct amount_list most = amount_list_new(usage->arena);
	struct amount one;

	if (!json_count(alternatives) && json_getz(request, "exactly")) {
		one = devices_of(json_getz(request, "exactly"), usage->arena);
		most = (struct amount_list){ usage->arena, &one, 1 };
	}
	JSON_FOREACH (it, alternatives) {
		struct amount alternative = devices_of(it, usage->arena);
		struct amount_list list = { usage->arena, &alternative, 1 };

		amount_list_max(&most, &list);
	}
	amount_list_add(usage, &most);
}

static const struct json *controller_of(const struct json *object)
{
	JSON_FOREACH (owner, json_getz(json_getz(object, "metadata"), "ownerReferences"))
		if (json_true_at(owner, "controller"))
			return owner;
	return NULL;
}

/*
 * Returns the pod whose extended resources this claim provides: the pod is charged for them
 * already. Upstream also looks for other claims of the pod before its status names this one.
 */
static const struct json *pod_behind(const struct quota_context *ctx, const struct json *claim)
{
	const struct json *meta = json_getz(claim, "metadata");
	const struct json *owner = controller_of(claim), *pod, *status;
	struct str mark = json_text_at(json_getz(meta, "annotations"),
				       "resource.kubernetes.io/extended-resource-claim");

	if (!ctx->pod || !str_eqz(mark, "true") || !str_eqz(json_text_at(owner, "kind"), "Pod") ||
	    !str_eqz(json_text_at(owner, "apiVersion"), "v1"))
		return NULL;
	pod = ctx->pod(ctx, json_text_at(meta, "namespace"), json_text_at(owner, "name"));
	if (!pod ||
	    !str_eq(json_text_at(json_getz(pod, "metadata"), "uid"), json_text_at(owner, "uid")))
		return NULL;
	status = json_getz(json_getz(pod, "status"), "extendedResourceClaimStatus");
	if (status &&
	    !str_eq(json_text_at(status, "resourceClaimName"), json_text_at(meta, "name")))
		return NULL;
	return pod;
}

/* Charges devices as the extended resources of their classes. */
static void add_extended(const struct quota_context *ctx, const struct json *claim,
			 struct amount_list *usage)
{
	struct arena *a = usage->arena;
	const struct json *pod = pod_behind(ctx, claim);
	struct amount_list extended = amount_list_new(a), charged = extended, left = extended;

	for (size_t i = 0; i < usage->n; i++) {
		struct str name = usage->v[i].name, class, resource;

		if (!str_ends(name, QUOTA_DEVICES) || name.n == QUOTA_DEVICES.n)
			continue;
		class = str_of(name.p, name.n - QUOTA_DEVICES.n);
		resource = ctx->resource_of ? ctx->resource_of(ctx, class) : STR("");
		amount_list_set(&extended, text2(a, QUOTA_IMPLICIT_DEVICES, class), usage->v[i].q);
		if (resource.n)
			amount_list_set(&extended, text2(a, QUOTA_REQUESTS, resource),
					usage->v[i].q);
	}
	if (pod)
		use_pod(&charged, pod, ctx->now_ns);
	for (size_t i = 0; i < extended.n; i++) {
		const struct quantity *q = amount_list_get(&charged, extended.v[i].name);
		struct quantity rest = extended.v[i].q;

		if (q)
			rest = quantity_sub(rest, *q);
		if (quantity_sign(rest) > 0)
			amount_list_set(&left, extended.v[i].name, rest);
	}
	amount_list_put(usage, &left);
}

static void measure_device_claim(const struct quota_context *ctx, const struct json *claim,
				 struct amount_list *usage)
{
	JSON_FOREACH (r, json_getz(json_getz(json_getz(claim, "spec"), "devices"), "requests"))
		add_request(usage, r);
	add_extended(ctx, claim, usage);
}

/* --- any object ----------------------------------------------------------------------------- */

void quota_measure(const struct quota_kind *k, const struct quota_context *ctx,
		   const struct json *object, struct arena *a, struct quota_item *ret_item)
{
	struct quota_item item = { .sort = k->sort, .usage = amount_list_new(a) };

	count_object(k, &item.usage);
	if (k->sort == QUOTA_PODS)
		measure_pod(object, ctx->now_ns, &item);
	else if (k->sort == QUOTA_SERVICES)
		measure_service(object, &item.usage);
	else if (k->sort == QUOTA_VOLUME_CLAIMS)
		measure_volume_claim(object, &item);
	else if (k->sort == QUOTA_DEVICE_CLAIMS)
		measure_device_claim(ctx, object, &item.usage);
	*ret_item = item;
}

static bool same_texts(const struct str *a, const struct str *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!str_eq(a[i], b[i]))
			return false;
	return true;
}

bool quota_item_equal(const struct quota_item *a, const struct quota_item *b)
{
	return a->sort == b->sort && amount_list_equal(&a->usage, &b->usage) &&
	       a->terminating == b->terminating && a->best_effort == b->best_effort &&
	       a->crosses_namespaces == b->crosses_namespaces &&
	       str_eq(a->priority_class, b->priority_class) &&
	       same_texts(a->volume_classes, b->volume_classes, QUOTA_VOLUME_CLASSES) &&
	       same_texts(a->lacking, b->lacking, QUOTA_REQUIRED);
}

/* --- writes that change usage ---------------------------------------------------------------- */

/* Whether a status changes the allocated storage, or the current class of volume attributes. */
static bool volume_claim_changes(const struct json *old, const struct json *claim)
{
	static const char *const names[] = { "allocatedResources",
					     "currentVolumeAttributesClassName",
					     "modifyVolumeStatus" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!json_equal(json_getz(json_getz(old, "status"), names[i]),
				json_getz(json_getz(claim, "status"), names[i])))
			return true;
	return false;
}

bool quota_concerns(const struct quota_kind *k, struct str subresource, const struct json *old,
		    const struct json *object)
{
	if (!object)
		return false;
	if (k->sort == QUOTA_PODS && old && str_eqz(subresource, "resize"))
		return true;
	if (k->sort == QUOTA_VOLUME_CLAIMS && old && str_eqz(subresource, "status"))
		return volume_claim_changes(old, object);
	if (subresource.n)
		return false;
	if (!old)
		return true;
	if (k->sort == QUOTA_PODS)
		return is_terminating(old) != is_terminating(object);
	return k->sort != QUOTA_COUNTED;
}
