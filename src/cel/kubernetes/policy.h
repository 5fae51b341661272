/*
 * policy - CEL expressions of admission policies: their variables and result types.
 *
 * Variables are `object` and `oldObject` (null if absent), `request`, `namespaceObject`, and
 * optionally `params`, `authorizer` with `authorizer.requestResource`, and `variables`. The latter
 * are named expressions that are evaluated on first use.
 */
#ifndef CEL_KUBERNETES_POLICY_H
#define CEL_KUBERNETES_POLICY_H

#include "cel/run/program.h"

#define CEL_POLICY_COST_MAX          UINT64_C(1000000) /* of one evaluation */
#define CEL_POLICY_BUDGET            UINT64_C(10000000) /* of all validations of a binding */
#define CEL_POLICY_BUDGET_CONDITIONS UINT64_C(2500000) /* of all matchConditions */

/* Index of each variable's value. Variables that are not given have no name. */
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
	bool mutates; /* Object{}, JSONPatch{} and jsonpatch.escapeKey() (mutation.h) */
	const struct cel_type *named; /* type of `variables`, or NULL */
	struct cel_budget *budget; /* for compiling; NULL: no limit */
};

/*
 * The type of `variables`. They are declared one after the other, so that an expression only sees
 * those before it. `list` has all variables that will be declared, as { name: .. }, or is NULL. It
 * is copied; types are borrowed.
 */
struct cel_policy_named {
	struct cel_type type;
	struct cel_field *fields; /* of all variables; without a type: not declared yet */
};
void cel_policy_named_init(struct cel_policy_named *named, struct arena *a,
			   const struct json *list);
/* Declares a variable. `type` is NULL if its expression does not compile. */
void cel_policy_declare(struct cel_policy_named *named, struct str name,
			const struct cel_type *type);

/* The use of an expression, which defines its result type. */
enum cel_policy_use {
	CEL_POLICY_CONDITION, /* bool */
	CEL_POLICY_MESSAGE, /* string */
	CEL_POLICY_ANNOTATION, /* string or null */
	CEL_POLICY_VALUE, /* anything: a variable */
	CEL_POLICY_APPLY, /* Object; with `mutates`, as the next one */
	CEL_POLICY_PATCH, /* list(JSONPatch) */
};

/* Returns the program, in the arena, or NULL with upstream's message, in the arena. */
const struct cel_program *cel_policy_compile(struct cel_policy_options options, struct str text,
					     enum cel_policy_use use, struct arena *a,
					     const char **ret_fault);

#endif
