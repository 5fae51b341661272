/*
 * check_admission - what policies and webhooks have in common.
 */
#ifndef API_CHECK_ADMISSION_H
#define API_CHECK_ADMISSION_H

#include "api/validate/validate.h"
#include "base/core/map.h"
#include "cel/kubernetes/policy.h"

/* RuleWithOperations: of webhooks, and within NamedRuleWithOperations. */
void check_admission_rule(struct validation *v, const struct json *rule,
			  const struct field_path *path);

/* MatchResources of policies and bindings. */
void check_match_resources(struct validation *v, const struct json *match,
			   const struct field_path *path);

/* matchConditions; `params`: the policy has a paramKind. */
void check_match_conditions(struct validation *v, const struct json *list, bool params,
			    const struct field_path *path);

/*
 * An expression that must compile to what it is for; `shown` is the text that a fault quotes. The
 * program, in the arena of the validation, or NULL.
 */
const struct cel_program *check_admission_expr(struct validation *v,
					       struct cel_policy_options options, struct str text,
					       struct str shown, enum cel_policy_use use,
					       const struct field_path *path);

/* Whether a text was there before; `seen` has them all then. */
bool check_admission_seen(struct map *seen, struct str text);

#endif
