/*
 * admission_cel - evaluates expressions of policies and webhooks on a write.
 *
 * Expressions are compiled once, when their owner changes. If one does not compile, it keeps the
 * error and yields it at each evaluation. Evaluation is limited by upstream's cost budgets, per
 * expression and in total.
 *
 *	admission_cel_begin(&c, req, &attr);
 *	r = admission_conditions_hold(&c, &conditions, kind, NULL, NULL, &fault);
 *	admission_cel_end(&c);
 *
 * Threads: the state's loop, and with `unsure` any; compiled expressions are immutable.
 */
#ifndef SERVER_ADMISSION_CEL_H
#define SERVER_ADMISSION_CEL_H

#include "cel/kubernetes/policy.h"
#include "cel/lib/authz.h"
#include "server/admission/attr.h"

struct admission_expr {
	struct str name; /* of a condition or variable; for an audit annotation its key */
	struct str text;
	const struct cel_program *program; /* NULL: see fault; both NULL: no expression */
	const char *fault;
};

struct admission_exprs {
	const struct admission_expr *v;
	size_t n;
};

/* Compiles the expression `text`. The result is in the arena. */
struct admission_expr admission_expr(struct arena *a, struct str name, struct str text,
				     struct cel_policy_options options, enum cel_policy_use use);

/* Compiles matchConditions. `options.params` is set for a policy with a paramKind. */
struct admission_exprs admission_conditions(struct arena *a, const struct json *list,
					    struct cel_policy_options options);

/* The write in one version of its resource. */
struct admission_view {
	struct admission_view *next;
	const struct schema_kind *kind;
	struct cel_value object, old, request;
};

/* Evaluates expressions on one write. The caller provides the storage. */
struct admission_cel {
	struct admission_request *req;
	const struct admission_attr *attr;
	struct admission_view *views;
	struct cel_authorizer authorizer;
	bool *unsure; /* rights cannot be asked here: *unsure is set instead; NULL: they can */
	/* For one evaluation: */
	struct cel_eval ev;
	struct arena scratch;
	char block[8192]; /* the first block of `scratch` */
	/* For one run: */
	struct arena kept; /* values of variables */
	char kept_block[1024];
	struct cel_value vars[CEL_POLICY_VARIABLES];
	const struct admission_exprs *named; /* `variables` */
	struct cel_value *values; /* values of the variables used so far */
	bool *known;
	uint64_t named_cost; /* cost of variables that is not yet charged to the budget */
	unsigned depth; /* nesting of variables that use other variables */
};

void admission_cel_begin(struct admission_cel *c, struct admission_request *req,
			 const struct admission_attr *attr);
void admission_cel_end(struct admission_cel *c);

/* The trees of c->attr are other ones now. */
void admission_cel_renew(struct admission_cel *c);

/*
 * The variables that the following expressions see. admission_cel_run() begins a run with them
 * and frees the results of the previous run.
 */
struct admission_run {
	const struct schema_kind *kind; /* the version that matched */
	const struct json *params, *namespace_object; /* NULL: JSON null */
	const struct admission_exprs *named; /* or NULL */
	bool no_authorizer;
};
void admission_cel_run(struct admission_cel *c, const struct admission_run *run);

/*
 * Evaluates one expression. Returns false and sets *budget to 0 if the budget is used up. If the
 * expression fails, *ret_value is an error in upstream's wording. *ret_value is valid until the
 * next evaluation.
 */
bool admission_cel_evaluate(struct admission_cel *c, const struct admission_expr *e,
			    uint64_t *budget, struct cel_value *ret_value);

#define ADMISSION_OUT_OF_BUDGET                                                                  \
	"validation failed due to running out of cost budget, no further validation rules will " \
	"be run"

/*
 * Returns 1 if all conditions are true. Returns 0 if one is false, even if others fail; its name
 * is in *ret_name, which may be NULL. Returns -ERR_INVALID with a message in *ret_fault if none
 * is false and some fail (the message joins their errors as upstream does, in the write's arena),
 * or if the budget is used up.
 */
int admission_conditions_hold(struct admission_cel *c, const struct admission_exprs *conditions,
			      const struct schema_kind *kind, const struct json *params,
			      struct str *ret_name, const char **ret_fault);

#endif
