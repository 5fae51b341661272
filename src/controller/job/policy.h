/*
 * job_policy - spec.podFailurePolicy and spec.successPolicy.
 *
 * The rules are upstream's. Pure: trees in, verdicts out.
 */
#ifndef CONTROLLER_JOB_POLICY_H
#define CONTROLLER_JOB_POLICY_H

#include "base/json/json.h"

struct job_indexes;

enum job_action {
	JOB_NO_RULE, /* no rule matches: the failure counts */
	JOB_IGNORE, /* it does not count */
	JOB_COUNT,
	JOB_FAIL_JOB,
	JOB_FAIL_INDEX,
};

/* Upstream's name of the action: "FailJob". */
const char *job_action_name(enum job_action action);

struct job_verdict {
	enum job_action action;
	struct str message; /* of JOB_FAIL_JOB: for the condition; in the arena */
};

/* The first rule that the pod matches. Its phase does not matter. The policy may be NULL. */
struct job_verdict job_failure_policy(struct arena *a, const struct json *policy,
				      const struct json *pod);

/* Whether a rule is met; then *ret_message is the text for the condition. Policy may be NULL. */
bool job_success_policy(struct arena *a, const struct json *policy, int64_t completions,
			const struct job_indexes *succeeded, struct str *ret_message);

#endif
