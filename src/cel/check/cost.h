/*
 * cost - what an expression costs, before it runs and while it does.
 *
 * Units are cel-go's and Kubernetes': about one per step, a tenth per character that is
 * looked at. The estimate is the least and the most that an evaluation can cost with
 * variables of the declared sizes; what is not bounded by its declaration is taken for
 * the largest there can be.
 */
#ifndef CEL_CHECK_COST_H
#define CEL_CHECK_COST_H

#include "cel/core/env.h"
#include "cel/parse/ast.h"

struct cel_cost {
	uint64_t min, max; /* saturate */
};

/* Of a checked expression. */
struct cel_cost cel_cost_estimate(const struct cel_env *env, const struct cel_expr *root);

/*
 * What a call really cost, by the overload; NULL: 1. Looked up once per call when a program is
 * made. `ev` is there to read lists with.
 */
typedef uint64_t (*cel_call_cost)(struct cel_eval *ev, const struct cel_value *args, size_t nargs,
				  const struct cel_value *result);
cel_call_cost cel_call_cost_find(const struct cel_overload *overload);

/*
 * The same of a call whose overload is found while it runs: upstream only knows the function
 * then, so that operators and cel-go's own functions cost 1, other than == and !=.
 */
cel_call_cost cel_call_cost_dynamic(const char *function);

enum {
	CEL_COST_SELECT = 1, /* also a variable */
	CEL_COST_LIST = 10,
	CEL_COST_MAP = 30,
	CEL_COST_STRUCT = 40,
};

#endif
