/*
 * crd_rule - rules in CEL of a schema (x-kubernetes-validations), compiled and run.
 *
 * Each node of a schema that has rules anywhere gets a struct crd_cel while it is compiled:
 * its type, and its rules as programs. A rule that does not compile keeps why: that is told
 * when its definition is written (crd/definition_rules.c), or, if such a definition is stored
 * nevertheless, when an object is.
 *
 * Rules of an object are run from the root down, each with `self`, the value of its node, and
 * `oldSelf`, the stored one. They share a budget of costs; when it is used up, the rest is
 * not run, and the object refused.
 *
 * Threads: compiled rules are immutable and shared; a run belongs to one thread.
 */
#ifndef API_CRD_RULE_H
#define API_CRD_RULE_H

#include "api/crd/crd_impl.h"
#include "cel/run/program.h"

/* What all rules together may cost when an object is written. */
#define CRD_RULES_COST_MAX INT64_C(10000000)

struct crd_rule {
	struct str text; /* trimmed */
	struct str message; /* trimmed; n 0: none was given */
	const struct cel_program *program; /* NULL: empty, or at fault */
	const char *fault; /* why it does not compile; or NULL */
	const struct cel_program *message_program; /* of messageExpression; or NULL */
	const char *message_fault;
	uint64_t cost, message_cost; /* at most, by estimate */
	bool uses_old; /* names oldSelf: it is about a change */
	bool optional_old; /* oldSelf is an optional, and the rule run without one, too */
	enum field_error_type reason;
	struct str field; /* of fieldPath: told behind the path of the value; n 0: none */
};

struct crd_cel {
	const struct cel_type *type; /* NULL: not seen by rules */
	int64_t min_size; /* of its JSON */
	const struct crd_rule *rules;
	size_t nrules;
	bool uses_old; /* one of the rules does */
};

/*
 * Sets s->resource and s->cel, and compiles the rules of the node; its children have theirs.
 * `props` is its JSON; `root`: the whole object; `number`: another one for each node;
 * `budget`: of compiling, or NULL.
 */
void crd_cel_build(struct arena *a, struct crd_schema *s, const struct json *props, bool root,
		   unsigned number, struct cel_budget *budget);

/* How often data of that size fits into a request, at most. */
uint64_t crd_cel_cardinality(int64_t min_size);

/*
 * Runs the rules of a node and all below it; faults go to v->errs. `budget` is what they may
 * cost, and what of it is left: below zero when it was used up. `ratchet`: what did not change
 * is warned of, not refused.
 */
void crd_rules_run(struct validation *v, const struct crd_schema *s, const struct json *value,
		   const struct json *old, const struct field_path *path, bool ratchet,
		   int64_t *budget);

/* --- values (crd/cel_value.c) ------------------------------------------------------- */

/* A tree as the schema has it, read in place. */
struct cel_value crd_cel_value(struct cel_eval *ev, const struct crd_schema *s,
			       const struct json *v);

#endif
