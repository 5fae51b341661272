/*
 * A claim from a template must not be created twice. Upstream lets the server choose the name and
 * remembers what it created; that does not help if the reply is lost, or the process. Here a hash
 * replaces the random letters, so the server itself rejects a second claim.
 */
#include "dra/claims/pod_claims.h"

#include "base/core/map.h"

/* --- a pod ----------------------------------------------------------------------------------- */

struct pod_claims_ref pod_claims_ref_of(const struct json *pod, const struct json *entry)
{
	const struct json *made = json_getz(json_getz(pod, "status"), "resourceClaimStatuses");
	struct pod_claims_ref ref = {
		.pod_claim = json_text_at(entry, "name"),
		.claim = json_text_at(entry, "resourceClaimName"),
		.template = json_text_at(entry, "resourceClaimTemplateName"),
	};
	const struct json *status;

	if (ref.claim.n > 0) {
		ref.template = STR_NULL;
		return ref;
	}
	if (ref.template.n == 0) {
		ref.state = POD_CLAIMS_REF_UNKNOWN;
		return ref;
	}
	status = json_find(made, "name", ref.pod_claim);
	ref.claim = json_text_at(status, "resourceClaimName");
	if (!status)
		ref.state = POD_CLAIMS_REF_MISSING;
	else if (ref.claim.n == 0)
		ref.state = POD_CLAIMS_REF_UNNEEDED;
	return ref;
}

struct str pod_claims_extended(const struct json *pod)
{
	return json_text_at(json_getz(json_getz(pod, "status"), "extendedResourceClaimStatus"),
			    "resourceClaimName");
}

/* --- a claim --------------------------------------------------------------------------------- */

static const struct json *controller_of(const struct json *claim)
{
	JSON_FOREACH (it, json_getz(json_getz(claim, "metadata"), "ownerReferences")) {
		if (json_true_at(it, "controller"))
			return it;
	}
	return NULL;
}

bool pod_claims_controlled_by(const struct json *claim, struct str uid)
{
	return uid.n > 0 && str_eq(json_text_at(controller_of(claim), "uid"), uid);
}

bool pod_claims_owner(const struct json *claim, struct str *ret_name, struct str *ret_uid)
{
	const struct json *owner = controller_of(claim);

	if (!str_eqz(json_text_at(owner, "apiVersion"), "v1") ||
	    !str_eqz(json_text_at(owner, "kind"), "Pod"))
		return false;
	*ret_name = json_text_at(owner, "name");
	*ret_uid = json_text_at(owner, "uid");
	return true;
}

bool pod_claims_made_for(const struct json *claim, struct str pod_uid, struct str pod_claim)
{
	const struct json *annotations = json_getz(json_getz(claim, "metadata"), "annotations");
	struct str name, uid;

	return pod_claims_owner(claim, &name, &uid) && str_eq(uid, pod_uid) &&
	       str_eq(json_text_at(annotations, POD_CLAIMS_ANNOTATION), pod_claim);
}

/* --- from a template ------------------------------------------------------------------------- */

struct str pod_claims_generate_name(struct arena *a, struct str pod, struct str pod_claim)
{
	size_t n = pod.n + pod_claim.n + 2;

	if (n <= POD_CLAIMS_BASE_MAX)
		return str_from(arena_printf(a, "%.*s-%.*s-", STR_ARG(pod), STR_ARG(pod_claim)));
	pod.n = pod.n * POD_CLAIMS_BASE_MAX / n;
	pod_claim.n = pod_claim.n * POD_CLAIMS_BASE_MAX / n;
	/* A dash follows, and no label may begin with one. */
	while (pod.n > 1 && pod.p[pod.n - 1] == '.')
		pod.n--;
	return str_from(arena_printf(a, "%.*s-%.*s", STR_ARG(pod), STR_ARG(pod_claim)));
}

/* The base and five letters in the style of the server. */
static struct str pod_claims_name_of(struct arena *a, struct str base, struct str pod_uid,
				     struct str pod_claim, unsigned attempt)
{
	static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
	enum { LETTERS = sizeof(letters) - 1, SUFFIX = 5 };
	char suffix[SUFFIX + 1] = "";
	uint64_t h = hash_bytes(
		str_from(arena_printf(a, "%.*s/%.*s", STR_ARG(pod_uid), STR_ARG(pod_claim))),
		attempt);

	for (size_t i = 0; i < SUFFIX; i++, h /= LETTERS)
		suffix[i] = letters[h % LETTERS];
	return str_from(arena_printf(a, "%.*s%s", STR_ARG(base), suffix));
}

static struct json *pod_claims_copy_of(struct arena *a, const struct json *v)
{
	struct json *copy;

	return v && json_copy(a, v, &copy, NULL) == 0 ? copy : json_make_object(a);
}

static struct json *pod_claims_owner_of(struct arena *a, const struct json *pod_meta)
{
	struct json *list = json_make_array(a), *owner = json_make_object(a);

	json_put_str(a, owner, "apiVersion", STR("v1"));
	json_put_str(a, owner, "kind", STR("Pod"));
	json_put_str(a, owner, "name", json_text_at(pod_meta, "name"));
	json_put_str(a, owner, "uid", json_text_at(pod_meta, "uid"));
	json_put_bool(a, owner, "controller", true);
	json_put_bool(a, owner, "blockOwnerDeletion", true);
	json_append(list, owner);
	return list;
}

struct json *pod_claims_make(struct arena *a, const struct json *pod, struct str pod_claim,
			     const struct json *template, unsigned attempt)
{
	const struct json *from = json_getz(template, "spec"), *meta = json_getz(pod, "metadata");
	struct str base = pod_claims_generate_name(a, json_text_at(meta, "name"), pod_claim);
	struct json *claim = json_make_object(a), *to = json_make_object(a);
	struct json *annotations = pod_claims_copy_of(
		a, json_getz(json_getz(from, "metadata"), "annotations"));
	const struct json *labels = json_getz(json_getz(from, "metadata"), "labels");

	json_put_str(a, claim, "apiVersion", STR("resource.k8s.io/v1"));
	json_put_str(a, claim, "kind", STR("ResourceClaim"));
	json_setz(claim, "metadata", to);
	json_put_str(a, to, "name",
		     pod_claims_name_of(a, base, json_text_at(meta, "uid"), pod_claim, attempt));
	json_put_str(a, to, "generateName", base);
	json_put_str(a, to, "namespace", json_text_at(meta, "namespace"));
	if (json_count(labels) > 0)
		json_setz(to, "labels", pod_claims_copy_of(a, labels));
	json_put_str(a, annotations, POD_CLAIMS_ANNOTATION, pod_claim);
	json_setz(to, "annotations", annotations);
	json_setz(to, "ownerReferences", pod_claims_owner_of(a, meta));
	json_setz(claim, "spec", pod_claims_copy_of(a, json_getz(from, "spec")));
	return claim;
}
