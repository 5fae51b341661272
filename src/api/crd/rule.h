/*
 * crd_rule - compiles and runs the CEL rules of a schema (x-kubernetes-validations).
 *
 * If a schema has rules anywhere, each of its nodes gets a struct crd_cel when it is compiled: its
 * type, and its rules as programs. A rule that does not compile keeps the error. It is reported
 * when its definition is written (crd/definition_rules.c) or, if such a definition is stored
 * nevertheless, when an object is written.
 *
 * The rules of an object are run from the root down, each with `self`, the value of its node, and
 * `oldSelf`, the stored value. They share one cost budget. When it is used up, the remaining rules
 * are not run, and the object is rejected.
 *
 * Threads: compiled rules are immutable and shared; a run belongs to one thread.
 */
#ifndef API_CRD_RULE_H
#define API_CRD_RULE_H

#include "api/crd/crd_impl.h"
#include "cel/run/program.h"

/* The cost limit for all rules together when an object is written. */
#define CRD_RULES_COST_MAX INT64_C(10000000)

struct crd_rule {
	struct str text; /* trimmed */
	struct str message; /* trimmed; n 0: not set */
	const struct cel_program *program; /* NULL: empty, or it does not compile */
	const char *fault; /* why it does not compile; or NULL */
	const struct cel_program *message_program; /* of messageExpression; or NULL */
	const char *message_fault;
	uint64_t cost, message_cost; /* upper bounds, by estimate */
	bool uses_old; /* uses oldSelf: it is a transition rule */
	bool optional_old; /* oldSelf is an optional, and the rule also runs without an old value */
	enum field_error_type reason;
	struct str field; /* fieldPath: appended to the path of the value; n 0: none */
};

struct crd_cel {
	const struct cel_type *type; /* NULL: invisible to rules */
	int64_t min_size; /* minimum size of its JSON */
	const struct crd_rule *rules;
	size_t nrules;
	bool uses_old; /* one of the rules uses oldSelf */
};

/*
 * Sets s->resource and s->cel, and compiles the rules of the node; its children have theirs
 * already. `props` is its JSON. `root`: the node is the whole object. `number` must be unique per
 * node. `budget` limits compiling; may be NULL.
 */
void crd_cel_build(struct arena *a, struct crd_schema *s, const struct json *props, bool root,
		   unsigned number, struct cel_budget *budget);

/* How often data of that size can occur in a request, at most. */
uint64_t crd_cel_cardinality(int64_t min_size);

/*
 * Runs the rules of a node and of all nodes below it; adds errors to v->errs. `budget` is the cost
 * limit and is reduced by the cost; it is negative if it was exceeded. `ratchet`: violations in
 * unchanged values are warnings, not errors.
 */
void crd_rules_run(struct validation *v, const struct crd_schema *s, const struct json *value,
		   const struct json *old, const struct field_path *path, bool ratchet,
		   int64_t *budget);

/* --- values (crd/cel_value.c) ------------------------------------------------------- */

/* Makes a CEL value of a tree, by its schema. The tree is read in place, not copied. */
struct cel_value crd_cel_value(struct cel_eval *ev, const struct crd_schema *s,
			       const struct json *v);

#endif
