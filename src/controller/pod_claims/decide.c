/*
 * The decisions of the resource claim controller.
 */
#include "controller/pod_claims/decide.h"

/* --- a pod ----------------------------------------------------------------------------------- */

bool pod_claims_pod_done(const struct json *pod)
{
	struct str phase = json_text_at(json_getz(pod, "status"), "phase");

	return str_eqz(phase, "Succeeded") || str_eqz(phase, "Failed") ||
	       (json_getz(json_getz(pod, "metadata"), "deletionTimestamp") &&
		json_text_at(json_getz(pod, "spec"), "nodeName").n == 0);
}

/* --- a claim --------------------------------------------------------------------------------- */

bool pod_claims_wants_reservation(const struct json *claim, struct str pod_uid)
{
	const struct json *status = json_getz(claim, "status");

	return json_is(json_getz(status, "allocation"), JSON_OBJECT) &&
	       !json_find(json_getz(status, "reservedFor"), "uid", pod_uid);
}

bool pod_claims_has_finalizer(const struct json *claim)
{
	return json_has_text(json_getz(json_getz(claim, "metadata"), "finalizers"),
			     STR(POD_CLAIMS_FINALIZER));
}

/* --- created claims -------------------------------------------------------------------------- */

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
		if (str_eq(json_str(it), STR(POD_CLAIMS_FINALIZER)))
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
