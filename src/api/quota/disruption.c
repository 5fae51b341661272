/*
 * The rules of upstream's eviction, in its order. A budget that its controller has not processed
 * yet allows no eviction.
 */
#include "api/quota/disruption.h"

#include "api/selector/label_selector.h"
#include "base/core/arena.h"
#include "base/json/json.h"
#include "base/time/timestamp.h"

#define DISRUPTED_MAX 2000 /* evictions that the controller has not confirmed */
#define RETRY_AFTER_S 10 /* the controller will have processed the budget by then */

static const char refusal[] = "Cannot evict pod as it would violate the pod's disruption budget.";

static const struct json *disruption_status_of(const struct json *object)
{
	return json_getz(object, "status");
}

static const struct json *disruption_condition_of(const struct json *object, const char *type)
{
	JSON_FOREACH (c, json_getz(disruption_status_of(object), "conditions"))
		if (str_eqz(json_text_at(c, "type"), type))
			return c;
	return NULL;
}

bool disruption_is_free(const struct json *pod)
{
	struct str phase = json_text_at(disruption_status_of(pod), "phase");

	return str_eqz(phase, "Succeeded") || str_eqz(phase, "Failed") ||
	       str_eqz(phase, "Pending") ||
	       json_getz(json_getz(pod, "metadata"), "deletionTimestamp");
}

bool disruption_covers(const struct json *budget, const struct json *pod)
{
	const struct json *selector = json_getz(json_getz(budget, "spec"), "selector");

	return label_selector_matches(selector, json_getz(json_getz(pod, "metadata"), "labels"));
}

/* Whether evicting an unhealthy pod is free: always, or while enough others are healthy. */
static bool is_not_missed(const struct json *budget, const struct json *pod)
{
	const struct json *status = disruption_status_of(budget);
	int64_t desired = json_i64_at(status, "desiredHealthy", 0);
	struct str policy = json_text_at(json_getz(budget, "spec"), "unhealthyPodEvictionPolicy");

	if (str_eqz(json_text_at(disruption_condition_of(pod, "Ready"), "status"), "True"))
		return false;
	return str_eqz(policy, "AlwaysAllow") ||
	       (desired > 0 && json_i64_at(status, "currentHealthy", 0) >= desired);
}

static const char *why_none(struct arena *a, const struct json *budget, struct str name)
{
	const struct json *c = disruption_condition_of(budget, "DisruptionAllowed"),
			  *status = disruption_status_of(budget);
	long long healthy = json_i64_at(status, "currentHealthy", 0);
	long long desired = json_i64_at(status, "desiredHealthy", 0);
	struct str reason = json_text_at(c, "reason"), words = json_text_at(c, "message");
	bool denied = words.n && str_eqz(json_text_at(c, "status"), "False");

	if (denied && str_eqz(reason, "SyncFailed"))
		return arena_printf(a,
				    "The disruption budget %.*s does not allow evicting pods "
				    "currently because it failed sync: %.*s",
				    STR_ARG(name), STR_ARG(words));
	if (healthy <= desired)
		return arena_printf(a,
				    "The disruption budget %.*s needs %lld healthy pods and has "
				    "%lld currently",
				    STR_ARG(name), desired, healthy);
	return arena_printf(a, "The disruption budget %.*s does not allow evicting pods currently",
			    STR_ARG(name));
}

/* Makes the patch: one disruption less, and this pod added to the pending evictions. */
static struct json *counted(struct arena *a, int64_t left, struct str pod, int64_t now_ns)
{
	struct json *patch = json_make_object(a), *status, *pods;
	char text[TIMESTAMP_SIZE];

	status = json_need_object(a, patch, "status");
	json_put_i64(a, status, "disruptionsAllowed", left);
	pods = json_need_object(a, status, "disruptedPods");
	json_add(pods, arena_str(a, pod),
		 json_make_str(a, arena_str(a, timestamp_print(now_ns, TIMESTAMP_SECONDS, text))));
	return patch;
}

int disruption_check(struct arena *a, const struct json *budget, const struct json *pod,
		     int64_t now_ns, struct json **ret_patch,
		     struct disruption_refusal *ret_refusal, struct error *err)
{
	const struct json *meta = json_getz(budget, "metadata"),
			  *status = disruption_status_of(budget);
	int64_t allowed = json_i64_at(status, "disruptionsAllowed", 0);
	struct str name = json_text_at(meta, "name");

	*ret_patch = NULL;
	*ret_refusal = (struct disruption_refusal){ 0 };
	if (is_not_missed(budget, pod))
		return 0;
	if (json_i64_at(status, "observedGeneration", 0) < json_i64_at(meta, "generation", 0)) {
		ret_refusal->cause = arena_printf(
			a,
			"The disruption budget %.*s is still being processed by "
			"the server.",
			STR_ARG(name));
		ret_refusal->retry_after_s = RETRY_AFTER_S;
		return error_set(err, ERR_TOO_MANY_REQUESTS, "%s", refusal);
	}
	if (allowed < 0 || json_count(json_getz(status, "disruptedPods")) > DISRUPTED_MAX) {
		ret_refusal->cause = arena_printf(
			a,
			"The disruption budget %.*s does not allow evicting pods "
			"currently: %s",
			STR_ARG(name),
			allowed < 0 ? "pdb disruptions allowed is negative"
				    : "too many pending evictions not confirmed "
				      "by PDB controller");
		return error_set(err, ERR_FORBIDDEN, "%s", refusal);
	}
	if (allowed == 0) {
		ret_refusal->cause = why_none(a, budget, name);
		return error_set(err, ERR_TOO_MANY_REQUESTS, "%s", refusal);
	}
	*ret_patch = counted(a, allowed - 1, json_text_at(json_getz(pod, "metadata"), "name"),
			     now_ns);
	return 0;
}

void disruption_mark(struct arena *a, struct json *pod, int64_t now_ns)
{
	struct json *status = json_need_object(a, pod, "status");
	struct json *list = json_getz(status, "conditions"), *c = NULL;
	char text[TIMESTAMP_SIZE];

	if (!json_is(list, JSON_ARRAY)) {
		list = json_make_array(a);
		json_set(status, STR("conditions"), list);
	}
	JSON_FOREACH (it, list)
		if (str_eqz(json_text_at(it, "type"), "DisruptionTarget"))
			c = it;
	if (!c) {
		c = json_make_object(a);
		json_append(list, c);
		json_put_str(a, c, "type", STR("DisruptionTarget"));
	}
	json_put_str(a, c, "status", STR("True"));
	json_put_str(a, c, "reason", STR("EvictionByEvictionAPI"));
	json_put_str(a, c, "message", STR("Eviction API: evicting"));
	json_put_str(a, c, "lastTransitionTime",
		     arena_str(a, timestamp_print(now_ns, TIMESTAMP_SECONDS, text)));
}
