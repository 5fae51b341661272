/*
 * admission_cel - expressions of policies and webhooks, evaluated on a write.
 *
 * Expressions are compiled when their owner changes and never again; one that does not compile
 * keeps why, and is an error whenever it is asked. Evaluating is bounded by upstream's budgets of
 * cost, each expression alone and all together.
 *
 *	admission_cel_begin(&c, req, &attr);
 *	r = admission_conditions_hold(&c, &conditions, kind, NULL);
 *	admission_cel_end(&c);
 *
 * Threads: the state's loop; compiled expressions are immutable.
 */
#ifndef SERVER_ADMISSION_CEL_H
#define SERVER_ADMISSION_CEL_H

#include "cel/kubernetes/policy.h"
#include "cel/lib/authz.h"
#include "server/admission/attr.h"

struct admission_expr {
	struct str name; /* of a condition or variable; the key of an annotation */
	struct str text;
	const struct cel_program *program; /* NULL: see fault; both NULL: there is none */
	const char *fault;
};

struct admission_exprs {
	const struct admission_expr *v;
	size_t n;
};

/* An expression as the text of its owner has it; all in the arena. */
struct admission_expr admission_expr(struct arena *a, struct str name, struct str text,
				     struct cel_policy_options options, enum cel_policy_use use);

/* matchConditions. `params`: those of a policy with a paramKind. */
struct admission_exprs admission_conditions(struct arena *a, const struct json *list,
					    struct cel_policy_options options);

/* The write at hand, in one version of its resource. */
struct admission_view {
	struct admission_view *next;
	const struct schema_kind *kind;
	struct cel_value object, old, request;
};

/* One write that expressions are evaluated on; the caller's storage. */
struct admission_cel {
	struct admission_request *req;
	const struct admission_attr *attr;
	struct admission_view *views;
	struct cel_authorizer authorizer;
	/* Of one evaluation: */
	struct cel_eval ev;
	struct arena scratch;
	char block[8192]; /* that scratch begins with */
	/* Of one run: */
	struct arena kept; /* values of variables */
	char kept_block[1024];
	struct cel_value vars[CEL_POLICY_VARIABLES];
	const struct admission_exprs *named; /* `variables` */
	struct cel_value *values; /* of them, as far as they were asked for */
	bool *known;
	uint64_t named_cost; /* that was not counted yet */
	unsigned depth; /* of variables that ask for others */
};

void admission_cel_begin(struct admission_cel *c, struct admission_request *req,
			 const struct admission_attr *attr);
void admission_cel_end(struct admission_cel *c);

/* What the next expressions see: begins a run, and frees what the one before made. */
struct admission_run {
	const struct schema_kind *kind; /* the version that matched */
	const struct json *params, *namespace_object; /* NULL: null */
	const struct admission_exprs *named; /* or NULL */
	bool no_authorizer;
};
void admission_cel_run(struct admission_cel *c, const struct admission_run *run);

/*
 * Evaluates one. False when the budget is used up, in which *budget is 0. *ret_value is an error
 * with upstream's words when that is what came of it; it lives until the next evaluation.
 */
bool admission_cel_evaluate(struct admission_cel *c, const struct admission_expr *e,
			    uint64_t *budget, struct cel_value *ret_value);

#define ADMISSION_OUT_OF_BUDGET                                                                  \
	"validation failed due to running out of cost budget, no further validation rules will " \
	"be run"

/*
 * Whether all conditions hold: 1, or 0 when one is false (*ret_name, which may be NULL, is its
 * name), whatever the others are; -ERR_INVALID with the errors of those that failed, joined as
 * upstream does, in the write's arena (*ret_fault), when none is false.
 */
int admission_conditions_hold(struct admission_cel *c, const struct admission_exprs *conditions,
			      const struct schema_kind *kind, const struct json *params,
			      struct str *ret_name, const char **ret_fault);

#endif
