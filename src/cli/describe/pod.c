/*
 * A pod as kubectl describes it, plus the devices of its containers with their health (KEP-4680).
 */
#include "cli/describe/container.h"
#include "cli/describe/devices.h"

/* --- devices --------------------------------------------------------------------------------- */

static void device_rows(struct describe *d, struct str container, const struct json *entries)
{
	JSON_FOREACH (entry, entries) {
		JSON_FOREACH (it, json_getz(entry, "resources"))
			describe_line(d, 1, "%.*s\t%.*s\t%.*s\t%.*s\t%.*s", STR_ARG(container),
				      STR_ARG(json_text_at(entry, "name")),
				      STR_ARG(json_text_at(it, "resourceID")),
				      STR_ARG(describe_health(d, json_text_at(it, "health"))),
				      STR_ARG(json_text_at(it, "message")));
	}
}

static size_t count_devices(const struct json *entries)
{
	size_t n = 0;

	JSON_FOREACH (it, entries)
		n += json_count(json_getz(it, "resources"));
	return n;
}

static void describe_devices(struct describe *d)
{
	static const char *const lists[] = { "initContainerStatuses", "containerStatuses" };
	const struct json *own = json_getz(d->status, "allocatedResourcesStatus");
	size_t n = count_devices(own);

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		JSON_FOREACH (it, json_getz(d->status, lists[i]))
			n += count_devices(json_getz(it, "allocatedResourcesStatus"));
	}
	if (n == 0)
		return;
	describe_line(d, 0, "Devices:");
	describe_head(d, "Container\tResource\tDevice\tHealth\tMessage");
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		JSON_FOREACH (it, json_getz(d->status, lists[i]))
			device_rows(d, json_text_at(it, "name"),
				    json_getz(it, "allocatedResourcesStatus"));
	}
	device_rows(d, STR("<pod>"), own);
}

static struct str made_claim(const struct describe *d, struct str name)
{
	JSON_FOREACH (it, json_getz(d->status, "resourceClaimStatuses")) {
		if (str_eq(json_text_at(it, "name"), name))
			return json_text_at(it, "resourceClaimName");
	}
	return STR_NULL;
}

/* "driver/pool/device, .."; *ret_waits: the claim exists, but is not allocated yet. */
static struct str claim_devices(struct describe *d, struct str name, bool *ret_waits)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * 1024);
	struct resource claims;
	struct kube_query q = { .resource = &claims,
				.ns = json_text_at(d->metadata, "namespace"),
				.name = name };
	const struct json *allocation;
	struct json *claim;
	struct error err;

	if (name.n == 0 || device_view_resource(d->kube, "resourceclaims", &claims, &err) < 0 ||
	    kube_read(d->kube, &q, &claim, &err) < 0)
		return STR("<unknown>");
	allocation = json_getz(json_getz(claim, "status"), "allocation");
	*ret_waits = !allocation;
	JSON_FOREACH (it, json_getz(json_getz(allocation, "devices"), "results"))
		(void)buf_printf(&text, "%s%.*s/%.*s/%.*s", text.n > 0 ? ", " : "",
				 STR_ARG(json_text_at(it, "driver")),
				 STR_ARG(json_text_at(it, "pool")),
				 STR_ARG(json_text_at(it, "device")));
	return text.n > 0 ? arena_str(d->arena, buf_str(&text)) : STR("<none>");
}

static void describe_pod_claims(struct describe *d)
{
	const struct json *claims = json_getz(d->spec, "resourceClaims");
	struct str extended = json_text_at(json_getz(d->status, "extendedResourceClaimStatus"),
					   "resourceClaimName");
	bool waiting = false;

	if (json_count(claims) == 0 && extended.n == 0)
		return;
	describe_line(d, 0, "Resource Claims:");
	describe_head(d, "Name\tResourceClaim\tTemplate\tDevices");
	JSON_FOREACH (it, claims) {
		struct str name = json_text_at(it, "name");
		struct str claim = json_text_at(it, "resourceClaimName");
		struct str from = json_text_at(it, "resourceClaimTemplateName");
		bool waits = false;

		claim = claim.n > 0 ? claim : made_claim(d, name);
		describe_line(d, 1, "%.*s\t%.*s\t%.*s\t%.*s", STR_ARG(name),
			      STR_ARG(claim.n > 0 ? claim : STR("<none yet>")),
			      STR_ARG(from.n > 0 ? from : STR("<none>")),
			      STR_ARG(describe_clean(d, claim_devices(d, claim, &waits))));
		waiting |= waits;
	}
	if (extended.n > 0)
		describe_line(d, 1, "<extended resources>\t%.*s\t<none>\t%.*s", STR_ARG(extended),
			      STR_ARG(describe_clean(d, claim_devices(d, extended, &waiting))));
	if (waiting && json_text_at(d->spec, "nodeName").n == 0)
		describe_line(d, 1, "(%s explain-fit pod/%.*s -n %.*s says why it waits)",
			      d->kube->cli->program, STR_ARG(json_text_at(d->metadata, "name")),
			      STR_ARG(json_text_at(d->metadata, "namespace")));
}

/* --- the rest -------------------------------------------------------------------------------- */

static void describe_ips(struct describe *d)
{
	const struct json *ips = json_getz(d->status, "podIPs");

	describe_line(d, 0, "IP:\t%.*s", STR_ARG(json_text_at(d->status, "podIP")));
	describe_line(d, 0, "IPs:%s", json_count(ips) == 0 ? "\t<none>" : "");
	JSON_FOREACH (it, ips)
		describe_line(d, 1, "IP:\t%.*s", STR_ARG(json_text_at(it, "ip")));
}

static void describe_controller(struct describe *d)
{
	JSON_FOREACH (it, json_getz(d->metadata, "ownerReferences")) {
		if (json_true_at(it, "controller"))
			describe_line(d, 0, "Controlled By:\t%.*s/%.*s",
				      STR_ARG(json_text_at(it, "kind")),
				      STR_ARG(json_text_at(it, "name")));
	}
}

static void describe_phase(struct describe *d)
{
	struct str phase = json_text_at(d->status, "phase");
	struct str deleted = json_text_at(d->metadata, "deletionTimestamp");

	if (deleted.n > 0 && !str_eqz(phase, "Failed") && !str_eqz(phase, "Succeeded")) {
		describe_line(d, 0, "Status:\tTerminating (lasts %.*s)",
			      STR_ARG(describe_age(d, deleted)));
		describe_line(d, 0, "Termination Grace Period:\t%llds",
			      (long long)json_i64_at(d->metadata, "deletionGracePeriodSeconds", 0));
	} else {
		describe_line(d, 0, "Status:\t%.*s", STR_ARG(phase));
	}
	describe_field(d, 0, "Reason", json_text_at(d->status, "reason"));
	describe_field(d, 0, "Message", json_text_at(d->status, "message"));
}

static void describe_first(struct describe *d)
{
	struct str node = json_text_at(d->spec, "nodeName");
	struct str start = json_text_at(d->status, "startTime");

	describe_line(d, 0, "Name:\t%.*s", STR_ARG(json_text_at(d->metadata, "name")));
	describe_line(d, 0, "Namespace:\t%.*s", STR_ARG(json_text_at(d->metadata, "namespace")));
	describe_field(d, 0, "Priority", describe_value(d, json_getz(d->spec, "priority")));
	describe_field(d, 0, "Priority Class Name", json_text_at(d->spec, "priorityClassName"));
	describe_field(d, 0, "Runtime Class Name", json_text_at(d->spec, "runtimeClassName"));
	describe_field(d, 0, "Service Account", json_text_at(d->spec, "serviceAccountName"));
	if (node.n == 0)
		describe_line(d, 0, "Node:\t<none>");
	else
		describe_line(d, 0, "Node:\t%.*s/%.*s", STR_ARG(node),
			      STR_ARG(json_text_at(d->status, "hostIP")));
	if (start.n > 0)
		describe_field(d, 0, "Start Time", describe_time(d, start));
	describe_labels(d, "Labels", json_getz(d->metadata, "labels"));
	describe_annotations(d);
}

static void describe_conditions(struct describe *d)
{
	const struct json *list = json_getz(d->status, "conditions");

	if (json_count(list) == 0)
		return;
	describe_line(d, 0, "Conditions:");
	describe_line(d, 1, "Type\tStatus");
	JSON_FOREACH (it, list)
		describe_line(d, 1, "%.*s \t%.*s ", STR_ARG(json_text_at(it, "type")),
			      STR_ARG(json_text_at(it, "status")));
}

/* The members shown of a volume's source, and the text for absent ones. */
static const struct volume_row {
	const char *source, *text;
	struct {
		const char *member, *title, *absent;
	} fields[2];
} volume_rows[] = {
	{ "emptyDir",
	  "EmptyDir (a temporary directory that shares a pod's lifetime)",
	  { { "medium", "Medium", "" }, { "sizeLimit", "SizeLimit", "<unset>" } } },
	{ "hostPath",
	  "HostPath (bare host directory volume)",
	  { { "path", "Path", "" }, { "type", "HostPathType", "<none>" } } },
	{ "configMap",
	  "ConfigMap (a volume populated by a ConfigMap)",
	  { { "name", "Name", "" }, { "optional", "Optional", "false" } } },
	{ "secret",
	  "Secret (a volume populated by a Secret)",
	  { { "secretName", "SecretName", "" }, { "optional", "Optional", "false" } } },
	{ "persistentVolumeClaim",
	  "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)",
	  { { "claimName", "ClaimName", "" }, { "readOnly", "ReadOnly", "false" } } },
	{ "downwardAPI",
	  "DownwardAPI (a volume populated by information about the pod)",
	  { { 0 } } },
};

static void describe_projected(struct describe *d, const struct json *source)
{
	static const char *const kinds[][2] = { { "secret", "SecretName" },
						{ "configMap", "ConfigMapName" } };

	describe_line(d, 2,
		      "Type:\tProjected (a volume that contains injected data from multiple "
		      "sources)");
	JSON_FOREACH (it, json_getz(source, "sources")) {
		const struct json *token = json_getz(it, "serviceAccountToken");

		for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
			const struct json *ref = json_getz(it, kinds[i][0]);

			describe_field(d, 2, kinds[i][1], json_text_at(ref, "name"));
			if (ref)
				describe_line(d, 2, "Optional:\t%s",
					      json_true_at(ref, "optional") ? "true" : "false");
		}
		if (json_getz(it, "downwardAPI"))
			describe_line(d, 2, "DownwardAPI:\ttrue");
		if (token)
			describe_line(d, 2, "TokenExpirationSeconds:\t%lld",
				      (long long)json_i64_at(token, "expirationSeconds", 3600));
	}
}

static void describe_source(struct describe *d, const struct volume_row *row,
			    const struct json *source)
{
	describe_line(d, 2, "Type:\t%s", row->text);
	for (size_t i = 0; i < ARRAY_SIZE(row->fields) && row->fields[i].member; i++) {
		struct str value = describe_value(d, json_getz(source, row->fields[i].member));

		if (value.n == 0)
			value = str_from(row->fields[i].absent);
		describe_line(d, 2, "%s:\t%.*s", row->fields[i].title, STR_ARG(value));
	}
}

static void describe_volume(struct describe *d, const struct json *volume)
{
	const struct json *source = json_first(volume);

	while (source && str_eqz(json_key(source), "name"))
		source = source->next;
	describe_line(d, 1, "%.*s:", STR_ARG(json_text_at(volume, "name")));
	if (str_eqz(json_key(source), "projected")) {
		describe_projected(d, source);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(volume_rows); i++) {
		if (str_eqz(json_key(source), volume_rows[i].source)) {
			describe_source(d, &volume_rows[i], source);
			return;
		}
	}
	describe_line(d, 2, "Type:\t%.*s", STR_ARG(json_key(source)));
}

static void describe_volumes(struct describe *d)
{
	const struct json *volumes = json_getz(d->spec, "volumes");

	describe_line(d, 0, "Volumes:%s", json_count(volumes) == 0 ? "\t<none>" : "");
	JSON_FOREACH (it, volumes)
		describe_volume(d, it);
}

static struct str toleration_text(struct describe *d, const struct json *t)
{
	struct str value = json_text_at(t, "value"), effect = json_text_at(t, "effect");
	struct str seconds = describe_value(d, json_getz(t, "tolerationSeconds"));
	bool exists = str_eqz(json_text_at(t, "operator"), "Exists");

	return str_from(arena_printf(d->arena, "%.*s%s%.*s%s%.*s%s%s%.*s%s",
				     STR_ARG(json_text_at(t, "key")), value.n > 0 ? "=" : "",
				     STR_ARG(value), effect.n > 0 ? ":" : "", STR_ARG(effect),
				     exists ? " op=Exists" : "", seconds.n > 0 ? " for " : "",
				     STR_ARG(seconds), seconds.n > 0 ? "s" : ""));
}

static void describe_tolerations(struct describe *d)
{
	const struct json *list = json_getz(d->spec, "tolerations");
	const char *title = "Tolerations:";

	if (json_count(list) == 0)
		describe_line(d, 0, "%s\t<none>", title);
	JSON_FOREACH (it, list) {
		describe_line(d, 0, "%s\t%.*s", title, STR_ARG(toleration_text(d, it)));
		title = "";
	}
}

int describe_pod(struct describe *d, struct error *err UNUSED)
{
	describe_first(d);
	describe_phase(d);
	describe_ips(d);
	describe_controller(d);
	describe_field(d, 0, "NominatedNodeName", json_text_at(d->status, "nominatedNodeName"));
	describe_containers(d, "Init Containers", "initContainers", "initContainerStatuses");
	describe_containers(d, "Containers", "containers", "containerStatuses");
	describe_containers(d, "Ephemeral Containers", "ephemeralContainers",
			    "ephemeralContainerStatuses");
	describe_conditions(d);
	describe_pod_claims(d);
	describe_devices(d);
	describe_volumes(d);
	describe_field(d, 0, "QoS Class", json_text_at(d->status, "qosClass"));
	describe_labels(d, "Node-Selectors", json_getz(d->spec, "nodeSelector"));
	describe_tolerations(d);
	describe_events(d);
	return 0;
}
