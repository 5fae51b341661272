/*
 * The decisions of the resource claim controller.
 *
 * A claim from a template must not be created twice. Upstream lets the server choose the name and
 * remembers what it created; that does not help if the reply is lost, or the process. Here a hash
 * replaces the random letters, so the server itself rejects a second claim.
 */
#include "controller/pod_claims/decide.h"

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

bool pod_claims_pod_done(const struct json *pod)
{
	struct str phase = json_text_at(json_getz(pod, "status"), "phase");

	return str_eqz(phase, "Succeeded") || str_eqz(phase, "Failed") ||
	       (json_getz(json_getz(pod, "metadata"), "deletionTimestamp") &&
		json_text_at(json_getz(pod, "spec"), "nodeName").n == 0);
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
	       str_eq(json_str(json_get(annotations, POD_CLAIMS_ANNOTATION)), pod_claim);
}

bool pod_claims_wants_reservation(const struct json *claim, struct str pod_uid)
{
	const struct json *status = json_getz(claim, "status");

	return json_is(json_getz(status, "allocation"), JSON_OBJECT) &&
	       !json_find(json_getz(status, "reservedFor"), "uid", pod_uid);
}

bool pod_claims_has_finalizer(const struct json *claim)
{
	return json_has_text(json_getz(json_getz(claim, "metadata"), "finalizers"),
			     POD_CLAIMS_FINALIZER);
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
static struct str name_of(struct arena *a, struct str base, struct str pod_uid,
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

static struct json *copy_of(struct arena *a, const struct json *v)
{
	struct json *copy;

	return v && json_copy(a, v, &copy, NULL) == 0 ? copy : json_make_object(a);
}

static struct json *owner_of(struct arena *a, const struct json *pod_meta)
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
	struct json *annotations = copy_of(a,
					   json_getz(json_getz(from, "metadata"), "annotations"));
	const struct json *labels = json_getz(json_getz(from, "metadata"), "labels");

	json_put_str(a, claim, "apiVersion", STR("resource.k8s.io/v1"));
	json_put_str(a, claim, "kind", STR("ResourceClaim"));
	json_setz(claim, "metadata", to);
	json_put_str(a, to, "name",
		     name_of(a, base, json_text_at(meta, "uid"), pod_claim, attempt));
	json_put_str(a, to, "generateName", base);
	json_put_str(a, to, "namespace", json_text_at(meta, "namespace"));
	if (json_count(labels) > 0)
		json_setz(to, "labels", copy_of(a, labels));
	json_set(annotations, POD_CLAIMS_ANNOTATION, json_make_str(a, pod_claim));
	json_setz(to, "annotations", annotations);
	json_setz(to, "ownerReferences", owner_of(a, meta));
	json_setz(claim, "spec", copy_of(a, json_getz(from, "spec")));
	return claim;
}

/* `claim` may be empty: the pod needs none. */
static void put_made(struct arena *a, struct json *list, struct str pod_claim, struct str claim)
{
	struct json *entry = json_find(list, "name", pod_claim);

	if (!entry) {
		entry = json_make_object(a);
		json_put_str(a, entry, "name", pod_claim);
		json_append(list, entry);
	}
	if (claim.n > 0)
		json_put_str(a, entry, "resourceClaimName", claim);
}

struct json *pod_claims_status_patch(struct arena *a, const struct json *pod,
				     const struct pod_claims_made *made)
{
	struct json *patch = json_make_object(a), *list = json_make_array(a);

	JSON_FOREACH (it, json_getz(json_getz(pod, "status"), "resourceClaimStatuses"))
		put_made(a, list, json_text_at(it, "name"), json_text_at(it, "resourceClaimName"));
	for (; made; made = made->next)
		put_made(a, list, made->pod_claim, made->claim);
	json_put_str(a, json_need_object(a, patch, "metadata"), "uid",
		     json_text_at(json_getz(pod, "metadata"), "uid"));
	json_setz(json_need_object(a, patch, "status"), "resourceClaimStatuses", list);
	return patch;
}

/* --- users of a claim ------------------------------------------------------------------------ */

enum pod_claims_verdict pod_claims_judge(const struct json *entry, bool gone,
					 const struct json *pod, bool asked)
{
	if (json_text_at(entry, "apiGroup").n > 0 ||
	    !str_eqz(json_text_at(entry, "resource"), "pods"))
		return POD_CLAIMS_KEEP;
	if (gone)
		return POD_CLAIMS_DROP;
	/* The known pod of that name may be older or newer than the entry's pod. */
	if (!pod ||
	    !str_eq(json_text_at(json_getz(pod, "metadata"), "uid"), json_text_at(entry, "uid")))
		return asked ? POD_CLAIMS_DROP : POD_CLAIMS_ASK;
	return pod_claims_pod_done(pod) ? POD_CLAIMS_DROP : POD_CLAIMS_KEEP;
}

/* Returns the number of removed entries. */
static size_t drop_users(struct json *status, const enum pod_claims_verdict *verdicts)
{
	struct json *list = json_getz(status, "reservedFor");
	size_t i = 0, dropped = 0;

	JSON_FOREACH_SAFE (it, list) {
		if (verdicts[i++] != POD_CLAIMS_DROP)
			continue;
		(void)json_unlink(list, it);
		dropped++;
	}
	if (dropped > 0 && json_count(list) == 0)
		(void)json_remove(status, STR("reservedFor"));
	return dropped;
}

/*
 * A claim loses its allocation only if it was in use and no longer is. One that was never reserved
 * may be about to be, by the component that allocated it.
 */
struct pod_claims_plan pod_claims_settle(struct json *claim,
					 const enum pod_claims_verdict *verdicts)
{
	struct json *status = json_getz(claim, "status");
	bool finalizer = pod_claims_has_finalizer(claim);
	bool deleting = json_getz(json_getz(claim, "metadata"), "deletionTimestamp") != NULL;
	bool dropped = drop_users(status, verdicts) > 0;
	struct pod_claims_plan plan = { .write_status = dropped };

	plan.unused = json_count(json_getz(status, "reservedFor")) == 0;
	if (finalizer && plan.unused && (dropped || deleting) && status &&
	    json_remove(status, STR("allocation")))
		plan.write_status = true;
	plan.drop_finalizer = finalizer && (dropped || (deleting && plan.unused));
	return plan;
}

void pod_claims_reserve(struct arena *a, struct json *claim, const struct json *pod)
{
	const struct json *meta = json_getz(pod, "metadata");
	struct json *entry = json_make_object(a);

	json_put_str(a, entry, "resource", STR("pods"));
	json_put_str(a, entry, "name", json_text_at(meta, "name"));
	json_put_str(a, entry, "uid", json_text_at(meta, "uid"));
	json_append(json_need_array(a, json_need_object(a, claim, "status"), "reservedFor"), entry);
}

void pod_claims_drop_finalizer(struct json *claim)
{
	struct json *meta = json_getz(claim, "metadata"), *list = json_getz(meta, "finalizers");

	JSON_FOREACH_SAFE (it, list) {
		if (str_eq(json_str(it), POD_CLAIMS_FINALIZER))
			(void)json_unlink(list, it);
	}
}

enum pod_claims_verdict pod_claims_judge_unused(const struct json *claim, const struct json *pod,
						bool asked)
{
	struct str name, uid;

	if (!pod || !pod_claims_owner(claim, &name, &uid) ||
	    json_getz(json_getz(claim, "metadata"), "deletionTimestamp"))
		return POD_CLAIMS_KEEP;
	if (!str_eq(json_text_at(json_getz(pod, "metadata"), "uid"), uid))
		return asked ? POD_CLAIMS_DROP : POD_CLAIMS_ASK;
	return pod_claims_pod_done(pod) ? POD_CLAIMS_DROP : POD_CLAIMS_KEEP;
}
