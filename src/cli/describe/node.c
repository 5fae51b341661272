/*
 * A node: the same as in kubectl, and for each extended resource and pool of devices how much is
 * used, and by which pods or claims.
 */
#include "api/schema/names.h"
#include "base/json/quantity.h"
#include "cli/describe/devices.h"

/* --- the object ------------------------------------------------------------------------------ */

static struct str roles_of(struct describe *d)
{
	struct str prefix = STR("node-role.kubernetes.io/"), list = STR_NULL;

	JSON_FOREACH (it, json_getz(d->metadata, "labels")) {
		struct str key = json_key(it), role = str_skip(key, prefix.n);

		if (str_starts(key, prefix) && role.n > 0)
			list = str_from(arena_printf(d->arena, "%.*s%s%.*s", STR_ARG(list),
						     list.n > 0 ? "," : "", STR_ARG(role)));
	}
	return list;
}

static void describe_taints(struct describe *d)
{
	const struct json *taints = json_getz(d->spec, "taints");
	const char *title = "Taints:";

	if (json_count(taints) == 0)
		describe_line(d, 0, "%s\t<none>", title);
	JSON_FOREACH (it, taints) {
		struct str taint = device_view_taint(d->arena, json_text_at(it, "key"),
						     json_text_at(it, "value"),
						     json_text_at(it, "effect"));

		describe_line(d, 0, "%s\t%.*s", title, STR_ARG(taint));
		title = "";
	}
}

static void describe_lease(struct describe *d, struct str name)
{
	struct resource leases = resource_builtin("coordination.k8s.io", "v1", "leases");
	struct kube_query q = { .resource = &leases, .ns = STR("kube-node-lease"), .name = name };
	const struct json *spec;
	struct json *lease;
	struct error err;
	struct str holder, acquired;

	if (kube_read(d->kube, &q, &lease, &err) < 0) {
		describe_line(d, 0, "Lease:\tFailed to get lease: %s", err.msg);
		return;
	}
	spec = json_getz(lease, "spec");
	holder = json_text_at(spec, "holderIdentity");
	acquired = json_text_at(spec, "acquireTime");
	describe_line(d, 0, "Lease:");
	describe_line(d, 1, "HolderIdentity:\t%.*s",
		      STR_ARG(holder.n > 0 ? holder : STR("<unset>")));
	describe_line(d, 1, "AcquireTime:\t%.*s",
		      STR_ARG(acquired.n > 0 ? describe_time(d, acquired) : STR("<unset>")));
	describe_line(d, 1, "RenewTime:\t%.*s",
		      STR_ARG(describe_time(d, json_text_at(spec, "renewTime"))));
}

static void describe_conditions(struct describe *d)
{
	const struct json *list = json_getz(d->status, "conditions");

	if (json_count(list) == 0)
		return;
	describe_line(d, 0, "Conditions:");
	describe_head(d, "Type\tStatus\tLastHeartbeatTime\tLastTransitionTime\tReason\tMessage");
	JSON_FOREACH (it, list)
		describe_line(
			d, 1, "%.*s \t%.*s \t%.*s \t%.*s \t%.*s \t%.*s",
			STR_ARG(json_text_at(it, "type")), STR_ARG(json_text_at(it, "status")),
			STR_ARG(describe_time(d, json_text_at(it, "lastHeartbeatTime"))),
			STR_ARG(describe_time(d, json_text_at(it, "lastTransitionTime"))),
			STR_ARG(json_text_at(it, "reason")), STR_ARG(json_text_at(it, "message")));
}

static void describe_info(struct describe *d)
{
	static const struct {
		const char *member, *title;
	} rows[] = { { "machineID", "Machine ID" },
		     { "systemUUID", "System UUID" },
		     { "bootID", "Boot ID" },
		     { "kernelVersion", "Kernel Version" },
		     { "osImage", "OS Image" },
		     { "operatingSystem", "Operating System" },
		     { "architecture", "Architecture" },
		     { "containerRuntimeVersion", "Container Runtime Version" },
		     { "kubeletVersion", "Kubelet Version" } };
	const struct json *info = json_getz(d->status, "nodeInfo");

	describe_line(d, 0, "System Info:");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		describe_line(d, 1, "%s:\t%.*s", rows[i].title,
			      STR_ARG(json_text_at(info, rows[i].member)));
}

/* --- devices --------------------------------------------------------------------------------- */

/*
 * A user who may not read slices sees the node without them, and the reason. A server may not have
 * slices at all.
 */
static void describe_slices(struct describe *d, struct str node)
{
	if (d->view)
		describe_node_devices(d, d->pools, d->npools, node, d->view->note);
	else if (d->unread && d->unread->code != ERR_NOT_FOUND && !d->hidden)
		describe_line(d, 0, "DRA Resources:\t<cannot be read: %s>", d->unread->msg);
}

/* --- pods ------------------------------------------------------------------------------------ */

static struct quantity quantity_at(const struct json *resources, struct str name)
{
	struct quantity q = { 0 };

	(void)quantity_read(json_get(resources, name), &q);
	return q;
}

static struct quantity larger(struct quantity a, struct quantity b)
{
	return quantity_cmp(a, b) < 0 ? b : a;
}

static struct quantity plus(struct quantity a, struct quantity b)
{
	a.format = a.nano == 0 ? b.format : a.format;
	return quantity_add(a, b);
}

/*
 * A pod's use: its containers and sidecars together, or an init container with the sidecars before
 * it, whichever is more; plus its overhead.
 */
static struct quantity pod_sum(const struct json *spec, const char *kind, struct str name)
{
	struct quantity sidecars = { 0 }, most = { 0 }, sum;

	JSON_FOREACH (it, json_getz(spec, "initContainers")) {
		struct quantity q = quantity_at(json_getz(json_getz(it, "resources"), kind), name);
		bool stays = str_eqz(json_text_at(it, "restartPolicy"), "Always");

		most = larger(most, plus(sidecars, q));
		if (stays)
			sidecars = plus(sidecars, q);
	}
	sum = sidecars;
	JSON_FOREACH (it, json_getz(spec, "containers"))
		sum = plus(sum, quantity_at(json_getz(json_getz(it, "resources"), kind), name));
	sum = larger(sum, most);
	if (sum.nano == 0)
		return sum;
	return plus(sum, quantity_at(json_getz(spec, "overhead"), name));
}

static struct str with_share(struct describe *d, struct quantity q, struct quantity of)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(1024);

	(void)quantity_print(q, &text);
	if (of.nano > 0)
		(void)buf_printf(&text, " (%d%%)", (int)((double)q.nano / (double)of.nano * 100));
	else
		(void)buf_addz(&text, " (0%)");
	return arena_str(d->arena, buf_str(&text));
}

static bool has_ended(const struct json *pod)
{
	struct str phase = json_text_at(json_getz(pod, "status"), "phase");

	return str_eqz(phase, "Succeeded") || str_eqz(phase, "Failed");
}

static void describe_one_pod(struct describe *d, const struct json *pod,
			     const struct json *allocatable)
{
	static const struct {
		const char *kind, *name;
	} columns[] = { { "requests", "cpu" },
			{ "limits", "cpu" },
			{ "requests", "memory" },
			{ "limits", "memory" } };
	const struct json *meta = json_getz(pod, "metadata"), *spec = json_getz(pod, "spec");
	struct str cells[ARRAY_SIZE(columns)];

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		struct str name = str_from(columns[i].name);

		cells[i] = with_share(d, pod_sum(spec, columns[i].kind, name),
				      quantity_at(allocatable, name));
	}
	describe_line(d, 1, "%.*s\t%.*s\t\t%.*s\t%.*s\t%.*s\t%.*s\t%.*s",
		      STR_ARG(json_text_at(meta, "namespace")), STR_ARG(json_text_at(meta, "name")),
		      STR_ARG(cells[0]), STR_ARG(cells[1]), STR_ARG(cells[2]), STR_ARG(cells[3]),
		      STR_ARG(describe_age(d, json_text_at(meta, "creationTimestamp"))));
}

static struct quantity all_pods(const struct json *pods, const char *kind, struct str name)
{
	struct quantity sum = { 0 };

	JSON_FOREACH (it, pods) {
		if (!has_ended(it))
			sum = plus(sum, pod_sum(json_getz(it, "spec"), kind, name));
	}
	return sum;
}

static struct str plain_text(struct describe *d, struct quantity q)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(1024);

	(void)quantity_print(q, &text);
	return arena_str(d->arena, buf_str(&text));
}

static void describe_allocated(struct describe *d, const struct json *pods,
			       const struct json *allocatable)
{
	static const char *const first[] = { "cpu", "memory", "ephemeral-storage" };
	size_t n;
	const struct json **v = describe_sorted(d, allocatable, &n);

	describe_line(d, 0, "Allocated resources:");
	describe_line(d, 1, "(Total limits may be over 100 percent, i.e., overcommitted.)");
	describe_head(d, "Resource\tRequests\tLimits");
	for (size_t i = 0; i < ARRAY_SIZE(first); i++) {
		struct str name = str_from(first[i]);
		struct quantity of = quantity_at(allocatable, name);

		describe_line(d, 1, "%s\t%.*s\t%.*s", first[i],
			      STR_ARG(with_share(d, all_pods(pods, "requests", name), of)),
			      STR_ARG(with_share(d, all_pods(pods, "limits", name), of)));
	}
	for (size_t i = 0; i < n; i++) {
		struct str name = json_key(v[i]);

		if (!names_is_extended_resource(name) && !str_starts(name, STR("hugepages-")))
			continue;
		describe_line(d, 1, "%.*s\t%.*s\t%.*s", STR_ARG(name),
			      STR_ARG(plain_text(d, all_pods(pods, "requests", name))),
			      STR_ARG(plain_text(d, all_pods(pods, "limits", name))));
	}
}

static void describe_pods(struct describe *d, struct str node)
{
	struct resource pods = resource_builtin("", "v1", "pods");
	const struct json *allocatable = json_getz(d->status, "allocatable");
	const struct json *list = describe_list(
		d, &pods, STR_NULL,
		str_from(arena_printf(d->arena, "spec.nodeName=%.*s", STR_ARG(node))));
	size_t n = 0;

	if (!list) {
		describe_line(d, 0, "Pods:\tnot authorized");
		return;
	}
	JSON_FOREACH (it, list)
		n += !has_ended(it);
	describe_line(d, 0, "Non-terminated Pods:\t(%zu in total)", n);
	describe_head(d, "Namespace\tName\t\tCPU Requests\tCPU Limits\tMemory Requests\t"
			 "Memory Limits\tAge");
	JSON_FOREACH (it, list) {
		if (!has_ended(it))
			describe_one_pod(d, it, allocatable);
	}
	describe_allocated(d, list, allocatable);
}

int describe_node(struct describe *d, struct error *err UNUSED)
{
	struct str name = json_text_at(d->metadata, "name");

	describe_line(d, 0, "Name:\t%.*s", STR_ARG(name));
	describe_field_or_none(d, 0, "Roles", roles_of(d));
	describe_labels(d, "Labels", json_getz(d->metadata, "labels"));
	describe_annotations(d);
	describe_field(d, 0, "CreationTimestamp",
		       describe_time(d, json_text_at(d->metadata, "creationTimestamp")));
	describe_taints(d);
	describe_line(d, 0, "Unschedulable:\t%s",
		      json_true_at(d->spec, "unschedulable") ? "true" : "false");
	describe_lease(d, name);
	describe_conditions(d);
	describe_line(d, 0, "Addresses:");
	JSON_FOREACH (it, json_getz(d->status, "addresses"))
		describe_line(d, 1, "%.*s:\t%.*s", STR_ARG(json_text_at(it, "type")),
			      STR_ARG(json_text_at(it, "address")));
	describe_line(d, 0, "Capacity:");
	describe_map(d, 1, json_getz(d->status, "capacity"));
	describe_line(d, 0, "Allocatable:");
	describe_map(d, 1, json_getz(d->status, "allocatable"));
	describe_info(d);
	describe_pods(d, name);
	describe_slices(d, name);
	describe_events(d);
	return 0;
}
