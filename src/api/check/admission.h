/*
 * check_admission - checks that policies and webhooks share.
 */
#ifndef API_CHECK_ADMISSION_H
#define API_CHECK_ADMISSION_H

#include "api/validate/validate.h"
#include "base/core/map.h"
#include "cel/kubernetes/policy.h"

/* Checks a RuleWithOperations: of webhooks, and within NamedRuleWithOperations. */
void check_admission_rule(struct validation *v, const struct json *rule,
			  const struct field_path *path);

/* Checks MatchResources of policies and bindings. */
void check_match_resources(struct validation *v, const struct json *match,
			   const struct field_path *path);

/* Checks matchConditions; `params`: the policy has a paramKind. */
void check_match_conditions(struct validation *v, const struct json *list, bool params,
			    const struct field_path *path);

/*
 * Checks that an expression compiles to the type that its use needs. `shown` is the text that an
 * error quotes. Returns the program, in the arena of the validation, or NULL.
 */
const struct cel_program *check_admission_expr(struct validation *v,
					       struct cel_policy_options options, struct str text,
					       struct str shown, enum cel_policy_use use,
					       const struct field_path *path);

/* Whether the text was in `seen`; adds it. */
bool check_admission_seen(struct map *seen, struct str text);

#endif
