/*
 * endpoints/decide.c has the rules that secondary networks share.
 */
#include "controller/endpoint_slices/cluster.h"

#include "api/schema/tree.h"
#include "base/time/timestamp.h"

bool cluster_service_read(struct arena *a, const struct json *service,
			  struct network_service *ret_service)
{
	const struct json *spec = json_getz(service, "spec");
	struct str ip = json_text_at(spec, "clusterIP");
	struct network_service s = {
		.selects = json_count(json_getz(spec, "selector")) > 0,
		.headless = ip.n == 0 || str_eqz(ip, "None"),
		.publish_not_ready = json_true_at(spec, "publishNotReadyAddresses"),
	};

	if (!s.selects || str_eqz(json_text_at(spec, "type"), "ExternalName"))
		return false;
	s.selector = network_selector_of_map(a, json_getz(spec, "selector"));
	network_service_families(spec, &s);
	*ret_service = s;
	return true;
}

static bool wants_topology(const struct json *service)
{
	const struct json *notes = json_getz(json_getz(service, "metadata"), "annotations");
	const struct json *mode = json_get(notes,
					   STR("service.kubernetes.io/topology-aware-hints"));

	if (!mode)
		mode = json_get(notes, STR("service.kubernetes.io/topology-mode"));
	return str_eqz(json_str(mode), "Auto") || str_eqz(json_str(mode), "auto");
}

enum network_hints cluster_service_hints(const struct json *service)
{
	struct str how = json_text_at(json_getz(service, "spec"), "trafficDistribution");

	if (wants_topology(service))
		return NETWORK_HINTS_NONE;
	if (str_eqz(how, "PreferClose") || str_eqz(how, "PreferSameZone"))
		return NETWORK_HINTS_ZONE;
	return str_eqz(how, "PreferSameNode") ? NETWORK_HINTS_NODE : NETWORK_HINTS_NONE;
}

size_t cluster_pod_addresses(struct arena *a, const struct json *pod, struct str **ret_addresses)
{
	const struct json *status = json_getz(pod, "status");
	const struct json *list = json_getz(status, "podIPs");
	struct str phase = json_text_at(status, "phase");
	struct str *v = ARENA_ARRAY(a, struct str, json_count(list));
	size_t n = 0;

	*ret_addresses = v;
	if (str_eqz(phase, "Succeeded") || str_eqz(phase, "Failed"))
		return 0;
	JSON_FOREACH (it, list) {
		if (json_text_at(it, "ip").n > 0)
			v[n++] = json_text_at(it, "ip");
	}
	return n;
}

static int64_t cluster_time(const struct json *object, const char *key)
{
	struct str text = json_text_at(object, key);
	int64_t ns = 0;

	return text.n > 0 && timestamp_parse(text, &ns, NULL) == 0 ? ns : 0;
}

int64_t cluster_pod_trigger_ns(const struct json *pod)
{
	return cluster_time(
		json_find(json_getz(json_getz(pod, "status"), "conditions"), "type", STR("Ready")),
		"lastTransitionTime");
}

void cluster_trigger_pod(struct cluster_trigger *t, int64_t changed_ns)
{
	t->latest_ns = MAX(t->latest_ns, changed_ns);
	if (changed_ns > t->seen_ns && (!t->first_ns || changed_ns < t->first_ns))
		t->first_ns = changed_ns;
}

int64_t cluster_trigger_end(struct cluster_trigger *t, const struct json *service)
{
	int64_t ns = t->known ? t->first_ns
			      : cluster_time(json_getz(service, "metadata"), "creationTimestamp");

	*t = (struct cluster_trigger){ .known = true, .seen_ns = MAX(t->seen_ns, t->latest_ns) };
	return ns;
}
