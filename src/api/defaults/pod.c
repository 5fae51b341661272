/*
 * Defaults of pods that depend on more than the field itself. Those of the pod spec and its
 * containers also apply to templates. Those of the pod apply only to pods, so a template stays as
 * its owner wrote it.
 */
#include "api/defaults/defaults.h"

#include "api/validate/validate.h"
#include "base/json/index.h"

static bool is_unset(const struct json *object, const char *name)
{
	return validate_is_unset(json_getz(object, name));
}

/* An image without tag and digest means :latest, which is always pulled. */
static bool is_latest(struct str image)
{
	ptrdiff_t digest = str_chr(image, '@');
	struct str tag = STR_NULL, part;

	if (image.n == 0)
		return false;
	if (digest >= 0)
		image.n = (size_t)digest;
	while (str_split(&image, '/', &part)) {
		ptrdiff_t colon = str_chr(part, ':');

		tag = colon < 0 ? STR_NULL : str_skip(part, (size_t)colon + 1);
	}
	return tag.p ? str_eqz(tag, "latest") : digest < 0;
}

static void fill_pull_policy(struct arena *a, struct json *object, const char *policy,
			     const char *image)
{
	bool latest = is_latest(json_text_at(object, image));

	if (is_unset(object, policy))
		json_put_str(a, object, policy, latest ? STR("Always") : STR("IfNotPresent"));
}

void fill_container(struct arena *a, struct json *container, int64_t now_ns)
{
	(void)now_ns;
	fill_pull_policy(a, container, "imagePullPolicy", "image");
}

void fill_image_volume(struct arena *a, struct json *volume, int64_t now_ns)
{
	(void)now_ns;
	fill_pull_policy(a, volume, "pullPolicy", "reference");
}

/* A volume without a type is an empty directory. */
void fill_volume(struct arena *a, struct json *volume, int64_t now_ns)
{
	(void)now_ns;
	JSON_FOREACH (member, volume) {
		if (!str_eqz(json_key(member), "name") && member->type != JSON_NULL)
			return;
	}
	json_setz(volume, "emptyDir", json_make_object(a));
}

/* serviceAccount is the old name of serviceAccountName. */
void fill_pod_spec(struct arena *a, struct json *spec, int64_t now_ns)
{
	struct str name = json_text_at(spec, "serviceAccountName");

	(void)now_ns;
	if (name.n == 0)
		name = json_text_at(spec, "serviceAccount");
	if (name.n == 0)
		return;
	json_put_str(a, spec, "serviceAccountName", name);
	json_put_str(a, spec, "serviceAccount", name);
}

/* A resource with a limit and no request gets the limit as its request. */
static void fill_requests(struct arena *a, const struct json *containers)
{
	JSON_FOREACH (container, containers) {
		CLEANUP(json_index_release) struct json_index asked;
		struct json *resources = json_getz(container, "resources");
		struct json *limits = json_getz(resources, "limits");
		struct json *requests = json_getz(resources, "requests");

		json_index_init(&asked, NULL, NULL);
		if (json_count(limits) == 0)
			continue;
		if (!json_is(requests, JSON_OBJECT)) {
			requests = json_make_object(a);
			json_setz(resources, "requests", requests);
		}
		json_index_init(&asked, requests, NULL);
		JSON_FOREACH (limit, limits) {
			if (!json_index_get(&asked, json_key(limit)))
				json_add(requests, json_key(limit),
					 json_make_str(a, json_str(limit)));
		}
	}
}

static void fill_host_ports(struct arena *a, const struct json *containers)
{
	JSON_FOREACH (container, containers) {
		JSON_FOREACH (port, json_getz(container, "ports")) {
			int64_t n;

			if (is_unset(port, "hostPort") &&
			    json_i64(json_getz(port, "containerPort"), &n))
				json_put_i64(a, port, "hostPort", n);
		}
	}
}

void fill_pod(struct arena *a, struct json *pod, int64_t now_ns)
{
	struct json *spec = json_getz(pod, "spec");
	int64_t grace;

	(void)now_ns;
	if (json_i64(json_getz(spec, "terminationGracePeriodSeconds"), &grace) && grace < 0)
		json_put_i64(a, spec, "terminationGracePeriodSeconds", 1);
	/* Only for pods: templates leave it unset. */
	if (spec && !json_getz(spec, "enableServiceLinks"))
		json_put_bool(a, spec, "enableServiceLinks", true);
	fill_requests(a, json_getz(spec, "containers"));
	fill_requests(a, json_getz(spec, "initContainers"));
	if (!json_true_at(spec, "hostNetwork"))
		return;
	fill_host_ports(a, json_getz(spec, "containers"));
	fill_host_ports(a, json_getz(spec, "initContainers"));
}

/* podIP and the first of podIPs are the same; if they differ, podIP wins. */
void fill_pod_status(struct arena *a, struct json *status, int64_t now_ns)
{
	struct str ip = json_text_at(status, "podIP");
	struct json *ips = json_getz(status, "podIPs");
	struct str first = json_text_at(json_at(ips, 0), "ip");
	struct json *item;

	(void)now_ns;
	if (str_eq(ip, first))
		return;
	if (ip.n == 0) {
		json_put_str(a, status, "podIP", first);
		return;
	}
	item = json_make_object(a);
	json_put_str(a, item, "ip", ip);
	ips = json_make_array(a);
	json_append(ips, item);
	json_setz(status, "podIPs", ips);
}

/* Sets a copy of a map if the object has none. */
static void inherit(struct arena *a, struct json *object, const char *key, const struct json *map)
{
	struct json *copy;

	if (json_count(json_getz(object, key)) == 0 && json_copy(a, map, &copy, NULL) == 0)
		json_setz(object, key, copy);
}

/* Selector and labels default to those of the template. */
void fill_replication_controller(struct arena *a, struct json *controller, int64_t now_ns)
{
	struct json *spec = json_getz(controller, "spec");
	const struct json *meta = json_getz(json_getz(spec, "template"), "metadata");
	const struct json *labels = json_getz(meta, "labels");

	(void)now_ns;
	if (json_count(labels) == 0)
		return;
	inherit(a, spec, "selector", labels);
	if (json_getz(controller, "metadata"))
		inherit(a, json_getz(controller, "metadata"), "labels", labels);
}
