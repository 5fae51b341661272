/*
 * cost - estimates the cost of an expression before it runs, and counts it at run time.
 *
 * Units are those of cel-go and Kubernetes: about one per step, and a tenth per character that is
 * read. The estimate is the minimum and maximum cost with variables of the declared sizes. Values
 * without a declared size count with the largest possible size.
 */
#ifndef CEL_CHECK_COST_H
#define CEL_CHECK_COST_H

#include "cel/core/env.h"
#include "cel/parse/ast.h"

struct cel_cost {
	uint64_t min, max; /* saturate */
};

/* Estimates the cost of a checked expression. */
struct cel_cost cel_cost_estimate(const struct cel_env *env, const struct cel_expr *root);

/*
 * Returns the actual cost of a call. The function is looked up by overload when a program is
 * compiled; NULL means cost 1. `ev` is needed to read lists.
 */
typedef uint64_t (*cel_call_cost)(struct cel_eval *ev, const struct cel_value *args, size_t nargs,
				  const struct cel_value *result);
cel_call_cost cel_call_cost_find(const struct cel_overload *overload);

/*
 * The same for a call whose overload is only known at run time. Upstream then knows only the
 * function, so operators and cel-go's own functions cost 1, except == and !=.
 */
cel_call_cost cel_call_cost_dynamic(const char *function);

enum {
	CEL_COST_SELECT = 1, /* also for a variable */
	CEL_COST_LIST = 10,
	CEL_COST_MAP = 30,
	CEL_COST_STRUCT = 40,
};

#endif
