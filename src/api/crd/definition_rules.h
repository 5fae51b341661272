/*
 * check_crd_rules - x-kubernetes-validations of a definition that is written.
 *
 * Private to the files that check definitions. Faults of form are faults of the schema; those of
 * meaning are told behind all of them, and only where the schema is without fault from the
 * node on down, since types cannot be made of others.
 */
#ifndef API_CRD_DEFINITION_RULES_H
#define API_CRD_DEFINITION_RULES_H

#include "api/crd/definition.h"
#include "api/crd/rule.h"

/* What all rules of a schema cost. */
struct check_crd_costs {
	uint64_t total;
	struct {
		struct str path;
		uint64_t cost;
	} most[4]; /* the most expensive ones, in order */
	size_t n;
};

/* What holds for the rules of a node. */
struct check_crd_scope {
	const struct crd_schema *node; /* compiled; NULL: rules are not looked at */
	const struct field_path *uncorrelatable; /* oldSelf is not known from here on; or NULL */
	uint64_t cardinality; /* how often the node is in an object at most, when `bounded` */
	bool bounded;
	bool stored; /* the schema was stored as it is: what one rule costs is not told */
	struct check_crd_costs *costs;
	struct field_errors *errs; /* of meaning */
};

/* Form of a node's rules: required texts, line breaks, reasons, paths. */
void check_crd_rule_forms(struct validation *v, const struct json *schema,
			  const struct field_path *path);

/* Their meaning: types, costs, use of oldSelf. */
void check_crd_rules(struct validation *v, const struct json *schema,
		     const struct check_crd_scope *scope, const struct field_path *path);

/* The scope of a child. */
struct check_crd_scope check_crd_below(const struct check_crd_scope *scope,
				       const struct json *schema, const struct crd_schema *node);

/* The total, of the schema at the path. */
void check_crd_costs(struct validation *v, const struct check_crd_costs *costs,
		     const struct field_path *path);

#endif
