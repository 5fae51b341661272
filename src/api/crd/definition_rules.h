/*
 * check_crd_rules - checks the x-kubernetes-validations of a definition that is written.
 *
 * Private to the files that check definitions. Errors of form are reported with the schema's
 * errors. Errors of meaning are reported after all of those, and only for nodes whose schema is
 * valid from there down, because an invalid schema has no types.
 */
#ifndef API_CRD_DEFINITION_RULES_H
#define API_CRD_DEFINITION_RULES_H

#include "api/crd/definition.h"
#include "api/crd/rule.h"

/* The estimated cost of all rules of a schema. */
struct check_crd_costs {
	uint64_t total;
	struct {
		struct str path;
		uint64_t cost;
	} most[4]; /* the most expensive ones, sorted */
	size_t n;
};

/* The context of a node's rules. */
struct check_crd_scope {
	const struct crd_schema *node; /* compiled; NULL: rules are not checked */
	/* From this path down, oldSelf is unknown; or NULL. */
	const struct field_path *uncorrelatable;
	uint64_t cardinality; /* maximum number of such nodes in an object, if `bounded` */
	bool bounded;
	bool stored; /* the schema is stored unchanged: the cost of a single rule is not reported */
	struct check_crd_costs *costs;
	struct field_errors *errs; /* for errors of meaning */
};

/* Checks the form of a node's rules: required texts, line breaks, reasons, paths. */
void check_crd_rule_forms(struct validation *v, const struct json *schema,
			  const struct field_path *path);

/* Checks the meaning of a node's rules: types, costs, use of oldSelf. */
void check_crd_rules(struct validation *v, const struct json *schema,
		     const struct check_crd_scope *scope, const struct field_path *path);

/* The scope of a child. */
struct check_crd_scope check_crd_below(const struct check_crd_scope *scope,
				       const struct json *schema, const struct crd_schema *node);

/* Reports the total cost, at the path of the schema, if it is too high. */
void check_crd_costs(struct validation *v, const struct check_crd_costs *costs,
		     const struct field_path *path);

#endif
