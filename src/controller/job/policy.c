/*
 * A rule has either exit codes or pod conditions; with both, the exit codes count, as upstream. A
 * rule whose action is unknown is skipped.
 */
#include "controller/job/policy.h"

#include "controller/job/indexes.h"

static const char *const action_names[] = {
	[JOB_NO_RULE] = "",         [JOB_IGNORE] = "Ignore",        [JOB_COUNT] = "Count",
	[JOB_FAIL_JOB] = "FailJob", [JOB_FAIL_INDEX] = "FailIndex",
};

const char *job_action_name(enum job_action action)
{
	return action_names[action];
}

static enum job_action action_of(const struct json *rule)
{
	struct str name = json_text_at(rule, "action");

	for (size_t i = JOB_IGNORE; i < ARRAY_SIZE(action_names); i++) {
		if (str_eqz(name, action_names[i]))
			return (enum job_action)i;
	}
	return JOB_NO_RULE;
}

/* --- exit codes ------------------------------------------------------------------------------ */

static bool has_code(const struct json *values, int64_t code)
{
	JSON_FOREACH (v, values) {
		int64_t n;

		if (json_i64(v, &n) && n == code)
			return true;
	}
	return false;
}

static bool code_matches(const struct json *rule, int64_t code)
{
	struct str op = json_text_at(rule, "operator");
	bool in = has_code(json_getz(rule, "values"), code);

	if (str_eqz(op, "In"))
		return in;
	return str_eqz(op, "NotIn") && !in;
}

static const struct json *terminated(const struct json *status)
{
	return json_getz(json_getz(status, "state"), "terminated");
}

/* The first container that ended with a code that the rule means. */
static const struct json *match_codes(const struct json *rule, const struct json *statuses)
{
	const struct json *only = json_getz(rule, "containerName");

	JSON_FOREACH (it, statuses) {
		int64_t code = json_i64_at(terminated(it), "exitCode", 0);

		if (code == 0 || (json_is(only, JSON_STRING) &&
				  !str_eq(json_str(only), json_text_at(it, "name"))))
			continue;
		if (code_matches(rule, code))
			return it;
	}
	return NULL;
}

static bool rule_codes(struct arena *a, const struct json *rule, const struct json *pod,
		       size_t index, struct str *ret_message)
{
	const struct json *codes = json_getz(rule, "onExitCodes"), *meta, *found;

	found = match_codes(codes, json_getz(json_getz(pod, "status"), "containerStatuses"));
	if (!found)
		found = match_codes(codes,
				    json_getz(json_getz(pod, "status"), "initContainerStatuses"));
	if (!found)
		return false;
	meta = json_getz(pod, "metadata");
	*ret_message = str_from(arena_printf(
		a,
		"Container %.*s for pod %.*s/%.*s failed with exit code %lld matching %.*s "
		"rule at index %zu",
		STR_ARG(json_text_at(found, "name")), STR_ARG(json_text_at(meta, "namespace")),
		STR_ARG(json_text_at(meta, "name")),
		(long long)json_i64_at(terminated(found), "exitCode", 0),
		STR_ARG(json_text_at(rule, "action")), index));
	return true;
}

/* --- conditions ------------------------------------------------------------------------------ */

static bool has_pattern(const struct json *patterns, const struct json *condition)
{
	JSON_FOREACH (it, patterns) {
		if (str_eq(json_text_at(it, "type"), json_text_at(condition, "type")) &&
		    str_eq(json_text_at(it, "status"), json_text_at(condition, "status")))
			return true;
	}
	return false;
}

static bool rule_conditions(struct arena *a, const struct json *rule, const struct json *pod,
			    size_t index, struct str *ret_message)
{
	const struct json *patterns = json_getz(rule, "onPodConditions");
	const struct json *meta = json_getz(pod, "metadata");

	JSON_FOREACH (it, json_getz(json_getz(pod, "status"), "conditions")) {
		if (!has_pattern(patterns, it))
			continue;
		*ret_message = str_from(arena_printf(
			a, "Pod %.*s/%.*s has condition %.*s matching %.*s rule at index %zu",
			STR_ARG(json_text_at(meta, "namespace")),
			STR_ARG(json_text_at(meta, "name")), STR_ARG(json_text_at(it, "type")),
			STR_ARG(json_text_at(rule, "action")), index));
		return true;
	}
	return false;
}

struct job_verdict job_failure_policy(struct arena *a, const struct json *policy,
				      const struct json *pod)
{
	size_t index = 0;

	JSON_FOREACH (rule, json_getz(policy, "rules")) {
		struct job_verdict verdict = { .action = action_of(rule) };
		bool codes = json_is(json_getz(rule, "onExitCodes"), JSON_OBJECT);

		if (verdict.action != JOB_NO_RULE &&
		    (codes ? rule_codes(a, rule, pod, index, &verdict.message)
			   : rule_conditions(a, rule, pod, index, &verdict.message)))
			return verdict;
		index++;
	}
	return (struct job_verdict){ .action = JOB_NO_RULE };
}

/* --- success --------------------------------------------------------------------------------- */

static bool success_rule(struct arena *a, const struct json *rule, int64_t completions,
			 const struct job_indexes *succeeded)
{
	int64_t count = json_i64_at(rule, "succeededCount", INT64_MAX);
	const struct json *text = json_getz(rule, "succeededIndexes");
	struct job_indexes wanted;
	int64_t common;

	if (!json_is(text, JSON_STRING))
		return job_indexes_total(succeeded) >= count;
	wanted = job_indexes_read(a, json_str(text), completions);
	if (wanted.n == 0)
		return false;
	common = job_indexes_common(&wanted, succeeded);
	return common == job_indexes_total(&wanted) || common >= count;
}

bool job_success_policy(struct arena *a, const struct json *policy, int64_t completions,
			const struct job_indexes *succeeded, struct str *ret_message)
{
	size_t index = 0;

	if (succeeded->n == 0)
		return false;
	JSON_FOREACH (rule, json_getz(policy, "rules")) {
		if (success_rule(a, rule, completions, succeeded)) {
			*ret_message = str_from(
				arena_printf(a, "Matched rules at index %zu", index));
			return true;
		}
		index++;
	}
	return false;
}
