/*
 * As upstream's root-ca-cert-publisher, it overwrites foreign data, and keeps foreign labels and
 * annotations.
 */
#include "controller/accounts/root_ca.h"

#include "base/json/json.h"
#include "controller/shared/context.h"
#include "controller/shared/per_namespace.h"

static const struct str description = STR(
	"Contains a CA bundle that can be used to verify the kube-apiserver when using internal "
	"endpoints such as the internal service IP or kubernetes.default.svc. No other usage is "
	"guaranteed across distributions of Kubernetes clusters.");
static const struct str description_key = STR("kubernetes.io/description");

static bool is_right(const struct json *now, struct str ca)
{
	const struct json *data = json_getz(now, "data");
	const struct json *annotations = json_getz(json_getz(now, "metadata"), "annotations");

	return json_count(data) == 1 && str_eq(json_text_at(data, "ca.crt"), ca) &&
	       json_str(json_get(annotations, description_key)).n > 0;
}

static struct json *want(void *arg, struct arena *a, struct str ns, struct json *now)
{
	const struct str *ca = arg;
	struct json *map = now ? now : json_make_object(a), *meta, *data;

	if (now && is_right(now, *ca))
		return NULL;
	json_put_str(a, map, "apiVersion", STR("v1"));
	json_put_str(a, map, "kind", STR("ConfigMap"));
	meta = json_need_object(a, map, "metadata");
	json_put_str(a, meta, "name", STR("kube-root-ca.crt"));
	json_put_str(a, meta, "namespace", ns);
	json_set(json_need_object(a, meta, "annotations"), description_key,
		 json_make_str(a, description));
	data = json_make_object(a);
	json_setz(map, "data", data);
	json_put_str(a, data, "ca.crt", *ca);
	return map;
}

struct per_namespace *root_ca_new(const struct context *ctx, const struct str *ca)
{
	struct per_namespace_opts o = {
		.queue = "root_ca_cert_publisher",
		.resource = resource_builtin("", "v1", "configmaps"),
		.name = "kube-root-ca.crt",
		.want = want,
		.arg = (void *)ca,
	};

	return per_namespace_new(ctx, &o);
}
