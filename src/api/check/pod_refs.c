/*
 * A table of volume sources and a few lists say where a pod has names; upstream reads the same
 * places.
 */
#include "api/check/pod_refs.h"

#include "base/core/arena.h"
#include "base/core/compiler.h"

/* A volume source that names a secret: in `ref`.name, or directly in `field`. */
static const struct {
	const char *source, *field, *ref;
} secret_sources[] = {
	{ "azureFile", "secretName", NULL }, { "cephfs", NULL, "secretRef" },
	{ "cinder", NULL, "secretRef" },     { "flexVolume", NULL, "secretRef" },
	{ "rbd", NULL, "secretRef" },        { "secret", "secretName", NULL },
	{ "scaleIO", NULL, "secretRef" },    { "iscsi", NULL, "secretRef" },
	{ "storageos", NULL, "secretRef" },  { "csi", NULL, "nodePublishSecretRef" },
};

static const char *const container_lists[] = { "initContainers", "containers",
					       "ephemeralContainers" };

static bool is(const struct json *value, struct str name)
{
	struct str text = json_str(value);

	return text.n && (!name.n || str_eq(text, name));
}

static bool name_is(const struct json *object, struct str name)
{
	return is(json_getz(object, "name"), name);
}

/* envFrom[].REF.name and env[].valueFrom.KEY_REF.name */
static bool container_has(const struct json *container, const char *ref, const char *key_ref,
			  struct str name)
{
	JSON_FOREACH (it, json_getz(container, "envFrom"))
		if (name_is(json_getz(it, ref), name))
			return true;
	JSON_FOREACH (it, json_getz(container, "env"))
		if (name_is(json_getz(json_getz(it, "valueFrom"), key_ref), name))
			return true;
	return false;
}

static bool containers_have(const struct json *spec, const char *ref, const char *key_ref,
			    struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(container_lists); i++)
		JSON_FOREACH (it, json_getz(spec, container_lists[i]))
			if (container_has(it, ref, key_ref, name))
				return true;
	return false;
}

static bool projected_has(const struct json *volume, const char *source, struct str name)
{
	JSON_FOREACH (it, json_getz(json_getz(volume, "projected"), "sources"))
		if (name_is(json_getz(it, source), name))
			return true;
	return false;
}

static bool volume_has_secret(const struct json *volume, struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(secret_sources); i++) {
		const struct json *source = json_getz(volume, secret_sources[i].source);

		if (secret_sources[i].field && is(json_getz(source, secret_sources[i].field), name))
			return true;
		if (secret_sources[i].ref &&
		    name_is(json_getz(source, secret_sources[i].ref), name))
			return true;
	}
	return projected_has(volume, "secret", name);
}

static bool has_secret(const struct json *spec, struct str name)
{
	JSON_FOREACH (it, json_getz(spec, "imagePullSecrets"))
		if (name_is(it, name))
			return true;
	JSON_FOREACH (it, json_getz(spec, "volumes"))
		if (volume_has_secret(it, name))
			return true;
	return containers_have(spec, "secretRef", "secretKeyRef", name);
}

static bool has_config_map(const struct json *spec, struct str name)
{
	JSON_FOREACH (it, json_getz(spec, "volumes"))
		if (name_is(json_getz(it, "configMap"), name) ||
		    projected_has(it, "configMap", name))
			return true;
	return containers_have(spec, "configMapRef", "configMapKeyRef", name);
}

struct str pod_refs_volume_claim(struct arena *a, const struct json *pod, const struct json *volume)
{
	struct str claim = json_str(
		json_getz(json_getz(volume, "persistentVolumeClaim"), "claimName"));
	struct str name = json_text_at(json_getz(pod, "metadata"), "name");

	if (claim.n || !json_getz(volume, "ephemeral"))
		return claim;
	return str_from(
		arena_printf(a, "%.*s-%.*s", STR_ARG(name), STR_ARG(json_text_at(volume, "name"))));
}

static bool has_volume_claim(const struct json *pod, struct str name)
{
	char block[512] UNZEROED;
	struct arena a;
	bool found = false;

	arena_init_in(&a, SIZE_MAX, block, sizeof(block));
	JSON_FOREACH (it, json_getz(json_getz(pod, "spec"), "volumes")) {
		struct str claim = pod_refs_volume_claim(&a, pod, it);

		found = found || (claim.n && str_eq(claim, name));
	}
	arena_release(&a);
	return found;
}

/* The status names the claim that was made from a template. */
static bool has_made_claim(const struct json *status, struct str entry, struct str name)
{
	JSON_FOREACH (it, json_getz(status, "resourceClaimStatuses"))
		if (str_eq(json_text_at(it, "name"), entry))
			return is(json_getz(it, "resourceClaimName"), name);
	return false;
}

static bool has_resource_claim(const struct json *pod, struct str name)
{
	const struct json *status = json_getz(pod, "status");

	JSON_FOREACH (it, json_getz(json_getz(pod, "spec"), "resourceClaims")) {
		if (json_getz(it, "resourceClaimName")
			    ? is(json_getz(it, "resourceClaimName"), name)
			    : has_made_claim(status, json_text_at(it, "name"), name))
			return true;
	}
	return is(json_getz(json_getz(status, "extendedResourceClaimStatus"), "resourceClaimName"),
		  name);
}

bool pod_refs_has(const struct json *pod, enum pod_refs_what what, struct str name)
{
	const struct json *spec = json_getz(pod, "spec");

	switch (what) {
	case POD_REFS_SECRET:
		return has_secret(spec, name);
	case POD_REFS_CONFIG_MAP:
		return has_config_map(spec, name);
	case POD_REFS_VOLUME_CLAIM:
		return has_volume_claim(pod, name);
	case POD_REFS_RESOURCE_CLAIM:
		return has_resource_claim(pod, name);
	case POD_REFS_ACCOUNT:
		return is(json_getz(spec, "serviceAccountName"), name);
	}
	return false;
}

bool pod_refs_is_mirror(const struct json *pod)
{
	return json_getz(json_getz(json_getz(pod, "metadata"), "annotations"),
			 "kubernetes.io/config.mirror") != NULL;
}

/* --- pods that nodes make --------------------------------------------------------- */

/* Volumes that need the API, in upstream's order. */
static const struct {
	const char *source, *words;
} volume_words[] = {
	{ "configMap", "configmaps (via configmap volumes)" },
	{ "secret", "secrets (via secret volumes)" },
	{ "csi", "csidrivers (via CSI volumes)" },
	{ "glusterfs", "endpoints (via glusterFS volumes)" },
	{ "persistentVolumeClaim", "persistentvolumeclaims" },
	{ "ephemeral", "persistentvolumeclaims (via ephemeral volumes)" },
	{ "azureFile", "secrets (via azureFile volumes)" },
}, projected_words[] = {
	{ "configMap", "configmaps (via projected volumes)" },
	{ "secret", "secrets (via projected volumes)" },
	{ "serviceAccountToken", "serviceaccounts (via projected volumes)" },
	{ "clusterTrustBundle", "clustertrustbundles" },
	{ "podCertificate", "podcertificates" },
};

static const char *volume_any(const struct json *volume)
{
	for (size_t i = 0; i < ARRAY_SIZE(volume_words); i++)
		if (json_getz(volume, volume_words[i].source))
			return volume_words[i].words;
	JSON_FOREACH (it, json_getz(json_getz(volume, "projected"), "sources"))
		for (size_t i = 0; i < ARRAY_SIZE(projected_words); i++)
			if (json_getz(it, projected_words[i].source))
				return projected_words[i].words;
	return NULL;
}

const char *pod_refs_any(const struct json *pod)
{
	const struct json *spec = json_getz(pod, "spec");

	if (json_text_at(spec, "serviceAccountName").n)
		return "serviceaccounts";
	if (has_secret(spec, STR_NULL))
		return "secrets";
	if (has_config_map(spec, STR_NULL))
		return "configmaps";
	if (json_count(json_getz(spec, "resourceClaims")))
		return "resourceclaims";
	JSON_FOREACH (it, json_getz(spec, "volumes")) {
		const char *words = volume_any(it);

		if (words)
			return words;
	}
	return NULL;
}
