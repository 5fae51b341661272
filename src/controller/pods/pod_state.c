/*
 * The rules are upstream's, of pod utilities and of its sort orders for pods to delete.
 */
#include "controller/pods/pod_state.h"

#include "base/time/timestamp.h"

#define DELETION_COST "controller.kubernetes.io/pod-deletion-cost"

static struct str phase_of(const struct json *pod)
{
	return json_text_at(json_getz(pod, "status"), "phase");
}

static bool is_deleted(const struct json *pod)
{
	return json_text_at(json_getz(pod, "metadata"), "deletionTimestamp").n > 0;
}

static int64_t time_at(const struct json *object, const char *key)
{
	struct str text = json_text_at(object, key);
	int64_t ns = 0;

	return text.n > 0 && timestamp_parse(text, &ns, NULL) == 0 ? ns : 0;
}

static const struct json *ready_condition(const struct json *pod)
{
	const struct json *c = json_find(json_getz(json_getz(pod, "status"), "conditions"), "type",
					 STR("Ready"));

	return str_eq(json_text_at(c, "status"), STR("True")) ? c : NULL;
}

bool pod_state_finished(const struct json *pod)
{
	struct str phase = phase_of(pod);

	return str_eq(phase, STR("Succeeded")) || str_eq(phase, STR("Failed"));
}

bool pod_state_active(const struct json *pod)
{
	return !pod_state_finished(pod) && !is_deleted(pod);
}

bool pod_state_terminating(const struct json *pod)
{
	return !pod_state_finished(pod) && is_deleted(pod);
}

bool pod_state_ready(const struct json *pod)
{
	return ready_condition(pod) != NULL;
}

int64_t pod_state_ready_since_ns(const struct json *pod)
{
	return time_at(ready_condition(pod), "lastTransitionTime");
}

bool pod_state_available(const struct json *pod, int64_t min_ready_s, int64_t now_ns,
			 int64_t *ret_wait_ns)
{
	int64_t since = pod_state_ready_since_ns(pod);
	int64_t wait = since ? since + min_ready_s * 1000000000 - now_ns : 0;

	if (ret_wait_ns)
		*ret_wait_ns = min_ready_s > 0 && wait > 0 ? wait : 0;
	if (!pod_state_ready(pod))
		return false;
	return min_ready_s <= 0 || (since && wait <= 0);
}

/* --- ranks ----------------------------------------------------------------------------------- */

static int compare_numbers(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static struct str node_of(const struct json *pod)
{
	return json_text_at(json_getz(pod, "spec"), "nodeName");
}

/* Other phases count as pending. */
static int phase_rank(const struct json *pod)
{
	struct str phase = phase_of(pod);

	if (str_eq(phase, STR("Running")))
		return 2;
	return str_eq(phase, STR("Unknown")) ? 1 : 0;
}

/* A cost that is not an integer of 32 bits, or is written with a sign or zeros first, is 0. */
static int64_t deletion_cost(const struct json *pod)
{
	struct str text = json_text_at(json_getz(json_getz(pod, "metadata"), "annotations"),
				       DELETION_COST);
	struct str digits = str_starts(text, STR("-")) ? str_skip(text, 1) : text;
	int64_t cost = 0;

	if (digits.n == 0 || (digits.p[0] == '0' && text.n > 1) || !str_to_i64(text, &cost))
		return 0;
	return cost >= INT32_MIN && cost <= INT32_MAX ? cost : 0;
}

/* The age's logarithm to the base 2, rounded down; -1 for none. */
static int age_rank(int64_t since, int64_t now)
{
	return now > since ? 63 - __builtin_clzll((uint64_t)(now - since)) : -1;
}

/* The younger first; no time counts as youngest. */
static int compare_ages(const struct pod_rank *a, const struct pod_rank *b, int64_t since_a,
			int64_t since_b)
{
	int by_age;

	if (since_a == since_b)
		return 0;
	if (!since_a || !since_b)
		return since_a ? 1 : -1;
	if (!a->now_ns)
		return compare_numbers(since_b, since_a);
	by_age = age_rank(since_a, a->now_ns) - age_rank(since_b, a->now_ns);
	if (by_age)
		return by_age;
	return str_cmp(json_text_at(json_getz(a->pod, "metadata"), "uid"),
		       json_text_at(json_getz(b->pod, "metadata"), "uid"));
}

static int64_t most_restarts(const struct json *statuses, const struct json *sidecars)
{
	int64_t most = 0;

	JSON_FOREACH (it, statuses) {
		const struct json *spec = sidecars ? json_find(sidecars, "name",
							       json_text_at(it, "name"))
						   : NULL;
		int64_t n = json_i64_at(it, "restartCount", 0);

		if (sidecars && !str_eq(json_text_at(spec, "restartPolicy"), STR("Always")))
			continue;
		most = n > most ? n : most;
	}
	return most;
}

/* More restarts first; those of sidecars count if the others are equal. */
static int compare_restarts(const struct json *a, const struct json *b)
{
	const struct json *sa = json_getz(a, "status"), *sb = json_getz(b, "status");
	int r = compare_numbers(most_restarts(json_getz(sb, "containerStatuses"), NULL),
				most_restarts(json_getz(sa, "containerStatuses"), NULL));

	if (r)
		return r;
	return compare_numbers(most_restarts(json_getz(sb, "initContainerStatuses"),
					     json_getz(json_getz(b, "spec"), "initContainers")),
			       most_restarts(json_getz(sa, "initContainerStatuses"),
					     json_getz(json_getz(a, "spec"), "initContainers")));
}

int pod_rank_compare(const void *a, const void *b)
{
	const struct pod_rank *ra = a, *rb = b;
	bool ready = pod_state_ready(ra->pod);
	int r = (node_of(ra->pod).n > 0) - (node_of(rb->pod).n > 0);

	if (!r)
		r = phase_rank(ra->pod) - phase_rank(rb->pod);
	if (!r)
		r = ready - pod_state_ready(rb->pod);
	if (!r)
		r = compare_numbers(deletion_cost(ra->pod), deletion_cost(rb->pod));
	if (!r)
		r = (ra->beside < rb->beside) - (ra->beside > rb->beside);
	if (!r && ready)
		r = compare_ages(ra, rb, pod_state_ready_since_ns(ra->pod),
				 pod_state_ready_since_ns(rb->pod));
	if (!r)
		r = compare_restarts(ra->pod, rb->pod);
	if (!r)
		r = compare_ages(ra, rb,
				 time_at(json_getz(ra->pod, "metadata"), "creationTimestamp"),
				 time_at(json_getz(rb->pod, "metadata"), "creationTimestamp"));
	return r;
}
