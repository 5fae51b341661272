/*
 * policy - expressions of admission: what they may name, and what they must yield.
 *
 * `object` and `oldObject` (null where there is none), `request`, `namespaceObject`, and, where
 * they are given, `params`, `authorizer` with `authorizer.requestResource`, and `variables`, which
 * are named expressions that are evaluated when they are first asked for.
 */
#ifndef CEL_KUBERNETES_POLICY_H
#define CEL_KUBERNETES_POLICY_H

#include "cel/run/program.h"

#define CEL_POLICY_COST_MAX          UINT64_C(1000000) /* of one evaluation */
#define CEL_POLICY_BUDGET            UINT64_C(10000000) /* of all validations of a binding */
#define CEL_POLICY_BUDGET_CONDITIONS UINT64_C(2500000) /* of all matchConditions */

/* Where each variable's value is; those that are not given have no name. */
enum cel_policy_variable {
	CEL_POLICY_OBJECT,
	CEL_POLICY_OLD_OBJECT,
	CEL_POLICY_REQUEST,
	CEL_POLICY_NAMESPACE,
	CEL_POLICY_PARAMS,
	CEL_POLICY_AUTHORIZER,
	CEL_POLICY_REQUEST_RESOURCE,
	CEL_POLICY_NAMED,
	CEL_POLICY_VARIABLES
};

struct cel_policy_options {
	bool params, authorizer;
	const struct cel_type *named; /* of `variables`; NULL: there are none */
	struct cel_budget *budget; /* of compiling; NULL: none */
};

struct cel_policy_env {
	struct cel_variable variables[CEL_POLICY_VARIABLES];
	struct cel_env env; /* of them: the struct must not move */
};

void cel_policy_env(struct cel_policy_env *e, struct cel_policy_options options);

/*
 * The type of `variables`, as one after the other is declared; it changes with each, so that an
 * expression sees those before it alone. `list` has all that will be declared, as { name: .. }, or
 * is NULL; it is copied, types are borrowed.
 */
struct cel_policy_named {
	struct cel_type type;
	struct cel_field *fields; /* of all of them; without a type: not declared yet */
};
void cel_policy_named_init(struct cel_policy_named *named, struct arena *a,
			   const struct json *list);
/* `type` NULL: of one that does not compile. */
void cel_policy_declare(struct cel_policy_named *named, struct str name,
			const struct cel_type *type);

/* What an expression is for. */
enum cel_policy_use {
	CEL_POLICY_CONDITION, /* bool */
	CEL_POLICY_MESSAGE, /* string */
	CEL_POLICY_ANNOTATION, /* string or null */
	CEL_POLICY_VALUE, /* anything: a variable */
};

/* The program, in the arena; or NULL with what is wrong, in upstream's words, in the arena. */
const struct cel_program *cel_policy_compile(struct cel_policy_options options, struct str text,
					     enum cel_policy_use use, struct arena *a,
					     const char **ret_fault);

#endif
